"""A model's border: annotations of arguments, names of results, and the call that checks what comes in."""

from __future__ import annotations

import keyword

from ...compiler.graph.nodes import Graph, Input
from ...compiler.graph.values import IndexInto, Scalar
from ...compiler.sizes.axes import Axis
from ..plan.plan import Plan, padded
from ..text.names import Namer
from ..text.values import FULL, NONE, PYTHON, Val
from .body import CodeBody


def border(body: CodeBody) -> list[str]:
    """The call that checks a model's inputs: kinds, ranks, extents, batch axes, indices."""
    rows = []
    families: dict[str, str] = {}
    seen: dict[int, str] = {}
    sizes: dict[str, str] = {}
    bounds: dict[str, str] = {}
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        element = item.value.type.element
        axes = body.core(item.value.type.axes)
        kind = val.kind.value
        mentioned = list(axes)
        if isinstance(element, IndexInto):
            # Where there is padding anything may stand; its readers check the rest.
            kind = Scalar.INT.value if padded(body.graph, item) else f"index {element.axis.name}"
            mentioned.append(element.axis)
        for axis in mentioned:
            known = seen.setdefault(axis.family, axis.name)
            if known != axis.name:
                families[axis.name] = known
            if body.plan.static_size(axis):
                sizes[known] = body.size_code(axis)
            elif axis.bound is not None and axis not in body.plan.open:
                bounds[axis.name] = body.bound_code(axis)
        if not body.checks_input(val):
            continue
        rows.append(f'"{item.name}": ({val.text}, "{kind}", "{" ".join(axis.name for axis in axes)}")')
    if not rows:
        return _lengths(body)
    quoted = {key: f'"{value}"' for key, value in families.items()}
    lines = [
        "batch = check_inputs(",
        f'    "{body.graph.name}",',
        "    {",
        *(f"        {row}," for row in rows),
        "    },",
    ]
    for name, entries in (("sizes", sizes), ("bounds", bounds), ("copies", quoted)):
        if entries:
            lines.append(f"    {name}={_table(entries)},")
    lines.append(")")
    return [*lines, *_lengths(body)]


def _lengths(body: CodeBody) -> list[str]:
    """The call that checks each length of a ragged width against the extent."""
    lines = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item.length_of is None:
            continue
        extents = [
            f"{other.text}.shape[{place - len(axes)}]"
            for other, entry in zip(body.inputs, body.graph.inputs, strict=True)
            if entry.default is None
            for axes in [body.core(entry.value.type.axes)]
            for place, axis in enumerate(axes)
            if axis.family == item.length_of.family
        ]
        if not extents:  # the function is given nothing that runs along it
            continue
        lines.append(
            f'{val.text} = check_lengths("{body.graph.name}", "{item.name}", {val.text}, '
            f'"{item.length_of.name}", {extents[0]})'
        )
    return lines


def defaults(body: CodeBody) -> list[str]:
    """The lines that fill in what is not given."""
    lines = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item.default is not None:
            shape = f"({', '.join('1' for _ in val.axes)}{',' if len(val.axes) == 1 else ''})"
            dtype = body.dtype if val.kind is Scalar.REAL else ""
            full = body.filled(shape, body.static(item.default).text, val.kind, dtype)
            within = [f"{val.text} = {full}", *_default_index(body, val, item)]
            lines += [f"if {val.text} is None:", *(f"    {line}" for line in within)]
    return lines


def _default_index(body: CodeBody, val: Val, item: Input) -> list[str]:
    """Refuses a default that is an index into a width with fewer items; one into a fixed axis the checker has seen.

    Of a width without items none is: what reads it there is refused where it does.
    """
    element = item.value.type.element
    if not isinstance(element, IndexInto) or body.plan.static_size(element.axis) or padded(body.graph, item):
        return []
    body.helper("check_index")
    where = f"{body.graph.name}: the default of `{item.name}`: index into {element.axis.name}"
    extent = body.extent(element.axis).text
    return [f"if {extent}:", f'    check_index({val.text}, {extent}, "{where}")']


def behind_default(graph: Graph) -> list[Input]:
    """Inputs without a default that follow one with a default: Python wants one of these too."""
    first = next((place for place, item in enumerate(graph.inputs) if item.default is not None), len(graph.inputs))
    return [item for item in graph.inputs[first:] if item.default is None]


def missing(body: CodeBody) -> list[str]:
    """Refuses a call without one of these."""
    late = behind_default(body.graph)
    lines = []
    for val, item in zip(body.inputs, body.graph.inputs, strict=True):
        if item in late:
            lines += [f"if {val.text} is None:", f'    raise TypeError("{body.graph.name}: `{item.name}` is missing")']
    return lines


def _table(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{key}": {value}' for key, value in entries.items()) + "}"


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
