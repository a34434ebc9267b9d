"""A model's border: annotations of arguments, names of results, and the call that checks what comes in."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field

from ...compiler.graph.nodes import Graph, Input
from ...compiler.graph.values import IndexInto, Scalar
from ...compiler.sizes.axes import Axis
from ..plan.plan import Plan, padded
from ..text.expressions import Code, Variable, call, joined
from ..text.names import Namer, plain
from ..text.statements import Block, Do, Let, Place, Statement, refusal
from ..text.values import FULL, NONE, PYTHON, Val
from ..text.writing import WIDTH
from .body import CodeBody
from .layout import shape_of

ROOM = WIDTH - 8  # for a statement of `forward`


@dataclass
class _Border:
    """What a model declares of its inputs: by axis, the code of sizes and bounds, and of which axis it is a copy."""

    rows: list[_Row] = field(default_factory=list)
    sizes: dict[str, Code] = field(default_factory=dict)
    bounds: dict[str, Code] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Row:
    """One input, `text` in the code. kind: "real", "bool", "int", or the axis that it is an index into."""

    name: str
    text: str
    kind: str
    is_index: bool
    axes: tuple[str, ...]
    optional: bool


def border(body: CodeBody) -> list[Statement]:
    """What checks a model's inputs: kinds, ranks, extents, batch axes, indices."""
    found = _declared(body)
    checks = (_full_check if body.file.checked else _short_check)(body, found) if found.rows else []
    return [*missing(body), *checks, *_lengths(body)]


def batch_of(body: CodeBody) -> list[Statement]:
    """`batch = ids.shape[:-1]`, where it is asked for: all inputs have these extents alike."""
    rows = _declared(body).rows
    return [Let(body.batch_shape, Code(_batch(rows)), place=Place.NAMED)] if rows else []


def _declared(body: CodeBody) -> _Border:
    found = _Border()
    seen: dict[int, str] = {}
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        element = item.value.type.element
        axes = body.core(item.value.type.axes)
        kind = val.kind.value
        mentioned = list(axes)
        # Where there is padding anything may stand; its readers check the rest.
        is_index = isinstance(element, IndexInto) and not padded(body.graph, item)
        if isinstance(element, IndexInto):
            kind = element.axis.name if is_index else Scalar.INT.value
            mentioned.append(element.axis)
        for axis in mentioned:
            known = seen.setdefault(axis.family, axis.name)
            if known != axis.name:
                found.copies[axis.name] = known
            if body.plan.static_size(axis):
                found.sizes[known] = body.size_code(axis)
            elif axis.bound is not None and axis not in body.plan.open:
                found.bounds[axis.name] = body.bound_code(axis)
        if body.checks_input(val):
            names = tuple(axis.name for axis in axes)
            found.rows.append(_Row(item.name, val.name, kind, is_index, names, item.default is not None))
    return found


def _full_check(body: CodeBody, found: _Border) -> list[Statement]:
    """`check_inputs(..)` of the runtime file."""
    lines: list[str | Code] = ["check_inputs(", f'    "{body.graph.name}",', "    {"]
    for row in found.rows:
        kind = (f"index {row.kind}" if row.is_index else row.kind) + "?" * row.optional
        lines.append(f'        "{row.name}": ({row.text}, "{kind}", "{" ".join(row.axes)}"),')
    lines.append("    },")
    quoted = {key: Code(f'"{value}"') for key, value in found.copies.items()}
    for name, entries in (("sizes", found.sizes), ("bounds", found.bounds), ("copies", quoted)):
        if entries:
            lines.append(Code.of("    {}={},", name, _table(entries)))
    if body.learner and body.plan.is_root and body.file.owns(body.graph):  # one that is called may be given tables
        lines.append(f"    weights={body.learner},")
    return [Do(joined([*lines, ")"], "\n"))]


def _short_check(body: CodeBody, found: _Border) -> list[Statement]:
    """`check(..)`, which stands in the file itself: `check("gpt2", "ids: vocab[seq]", ids, vocab=self.vocab)`."""
    texts = [_type(row, found.copies) for row in found.rows]
    given = [Code(row.text) for row in found.rows]
    odd = {axis: size for axis, size in found.sizes.items() if keyword.iskeyword(axis) or axis.startswith("__")}
    given += [Code.of("{}={}", axis, size) for axis, size in found.sizes.items() if axis not in odd]
    given += [Code.of("**{}", _table(odd))] if odd else []
    declared = f'"{", ".join(texts)}"'
    checked = call("check", f'"{body.graph.name}"', declared, *given)
    if len(plain(checked.named)) <= ROOM:
        return [Do(checked), *_bounded(body, found)]
    inputs = Variable("inputs")
    whole = declared if len(declared) + len("inputs = ") <= ROOM else _in_parts(texts)
    checked = call("check", f'"{body.graph.name}"', inputs.code, *given)
    return [Let(inputs, Code(whole), place=Place.LINE), Do(checked), *_bounded(body, found)]


def _type(row: _Row, copies: dict[str, str]) -> str:
    """An input as the spec declares it: `ids: vocab[seq]`; a `?` stands behind the name of one that may be left out."""
    kind = copies.get(row.kind, row.kind) if row.is_index else "" if row.kind == Scalar.REAL.value else row.kind
    axes = [f"{axis} like {copies[axis]}" if axis in copies else axis for axis in row.axes]
    return f"{row.name}{'?' if row.optional else ''}: {kind}[{', '.join(axes)}]"


def _in_parts(texts: list[str]) -> str:
    """A text of more than a line: each input where there is room for it."""
    parts = [""]
    for text in (*(f"{text}, " for text in texts[:-1]), texts[-1]):
        if parts[-1] and len(parts[-1]) + len(text) > ROOM - len('    ""'):
            parts.append("")
        parts[-1] += text
    return "\n".join(["(", *(f'    "{part}"' for part in parts), ")"])


def _bounded(body: CodeBody, found: _Border) -> list[Statement]:
    """Lines that refuse more items than a bounded width has room for: of one input, where one is always given."""
    lines: list[Statement] = []
    for axis, bound in found.bounds.items():
        having = sorted((row for row in found.rows if axis in row.axes), key=lambda row: row.optional)
        for row in having if not having or having[0].optional else having[:1]:
            extent = f"{row.text}.shape[{row.axes.index(axis) - len(row.axes)}]"
            text = f"{body.graph.name}: `{row.name}` has {axis} = {{{extent}}}, but {axis} is at most {{{{}}}}"
            given = f"{row.text} is not None and " if row.optional else ""
            lines.append(refusal(Code.of(f"{given}{extent} > {{}}", bound), Code.of(text, bound)))
    return lines


def _batch(rows: list[_Row]) -> str:
    """The extents of the batch axes, which all inputs have alike."""
    shapes = [f"{row.text}.shape[:-{len(row.axes)}]" if row.axes else f"{row.text}.shape" for row in rows]
    always = next((shape for row, shape in zip(rows, shapes, strict=True) if not row.optional), None)
    if always is not None:
        return always
    return " else ".join([*(f"{s} if {row.text} is not None" for row, s in zip(rows, shapes, strict=True)), "()"])


def _lengths(body: CodeBody) -> list[Statement]:
    """The call that checks each length of a ragged width against the extent."""
    lines: list[Statement] = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item.length_of is None:
            continue
        extents = [
            f"{other.name}.shape[{place - len(axes)}]"
            for other, entry in zip(body.inputs, body.graph.inputs, strict=True)
            if entry.default is None
            for axes in [body.core(entry.value.type.axes)]
            for place, axis in enumerate(axes)
            if axis.family == item.length_of.family
        ]
        if not extents:  # the function is given nothing that runs along it
            continue
        names = (f'"{body.graph.name}"', f'"{item.name}"')
        checked = call("check_lengths", *names, val.code, f'"{item.length_of.name}"', extents[0])
        lines.append(Do(checked, (val.code.variable,)))
    return lines


def defaults(body: CodeBody) -> list[Statement]:
    """The lines that fill in what is not given."""
    lines: list[Statement] = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item.default is not None:
            dtype = body.dtype if val.kind is Scalar.REAL else None
            full = body.filled(shape_of(["1"] * len(val.axes)), body.static(item.default), val.kind, dtype)
            checks = _default_index(body, val, item)
            if checks:
                lines.append(Block(Code.of("if {} is None", val.code), [Do(full, (val.code.variable,)), *checks]))
            else:
                lines.append(Do(Code.of("{} if {} is None else {}", full, val.code, val.code), (val.code.variable,)))
    return lines


def _default_index(body: CodeBody, val: Val, item: Input) -> list[Statement]:
    """Refuses a default that is an index into a width with fewer items; one into a fixed axis the checker has seen.

    Of a width without items none is: what reads it there is refused where it does.
    """
    element = item.value.type.element
    if not isinstance(element, IndexInto) or body.plan.static_size(element.axis) or padded(body.graph, item):
        return []
    where = f'"{body.graph.name}: the default of `{item.name}`: index into {element.axis.name}"'
    extent = body.extent(element.axis)
    return [Block(Code.of("if {}", extent), [Do(call("check_index", val.code, extent, where))])]


def behind_default(graph: Graph) -> list[Input]:
    """Inputs without a default that follow one with a default: Python wants one of these too."""
    first = next((place for place, item in enumerate(graph.inputs) if item.default is not None), len(graph.inputs))
    return [item for item in graph.inputs[first:] if item.default is None]


def missing(body: CodeBody) -> list[Statement]:
    """Refuses a call without one of these."""
    late = behind_default(body.graph)
    lines: list[Statement] = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item in late:
            refused = Do(Code(f'raise TypeError("{body.graph.name}: `{item.name}` is missing")'))
            lines.append(Block(Code.of("if {} is None", val.code), [refused]))
    return lines


def _table(entries: dict[str, Code]) -> Code:
    return Code.of("{}{}{}", "{", joined(Code.of('"{}": {}', *entry) for entry in entries.items()), "}")


def output_names(plan: Plan) -> list[str]:
    """Names of a model's results, fit for a NamedTuple."""
    namer = Namer()
    wishes = [output.name or f"out_{place}" for place, output in enumerate(plan.graph.outputs)]
    return [namer.give(wish.lstrip("_") or "out") for wish in wishes]


def annotation(body: CodeBody, val: Val, array: str) -> str:
    """`Float[Tensor, "*batch q d"]`."""
    if val.number:
        return PYTHON[val.kind].__name__
    kind = PYTHON[val.kind].__name__.capitalize()
    names = {axis.name for axis in body.plan.axes}
    batch = next(name for name in ("batch", "lead", "leading", "several") if name not in names or name == "several")
    leading = [] if val.leading == NONE else [f"*{batch}" if val.leading == FULL else f"*#{batch}"]
    axes = [f"#{_dimension(axis)}" if axis in val.broadcast else _dimension(axis) for axis in val.axes]
    return f'{kind}[{array}, "{" ".join([*leading, *axes])}"]'


def _dimension(axis: Axis) -> str:
    """The name of an axis as jaxtyping takes it, which reads a `_` in front; a keyword would read as code."""
    name = f"axis{axis.name}" if axis.name.startswith("_") else axis.name
    return f"{name}_" if keyword.iskeyword(name) else name
