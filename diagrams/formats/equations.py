"""A graph as equations in Named Tensor Notation (Chiang, Rush and Barak 2021), for LaTeX with amsmath and amssymb.

One row for each value that has a name or is read twice. An axis stands beneath the operator that acts on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...compiler.graph.nodes import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan, values_of
from ...compiler.graph.values import IndexInto, Scalar, Type, Value
from ...compiler.ops import OPS
from ...compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static, consts_in, evaluate
from ..scene.opening import uses
from ..scene.passes import passes_text
from .tikz import escaped

_NOTHING, _TO, _DOT, _SUM, _SCAN = r"\{\}", r" \to ", r"\odot", r"\sum", r"\mathrm{scan}"
_IN = r"\quad "
_SAID = {
    " even": r" \text{ even}", " odd": r" \text{ odd}", "mod": r"\bmod", "…": r", \ldots, ",
    "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
}  # fmt: skip
_LONG = 150  # an expression of so many characters of LaTeX gets a row of its own
# How tightly each operator binds, as readers of mathematics expect it. That differs from attnc's own rules: "mod" binds
# less than a sum, and the product of named tensors less than the dot between numbers.
_ANY, _LOGIC, _COMPARE, _MOD, _PLUS, _ODOT, _TIMES, _POWER, _FRACTION, _ATOM = range(10)
_INFIX = {
    "+": ("+", _PLUS), "-": ("-", _PLUS), "*": (r"\cdot", _TIMES), "%": (r"\bmod", _MOD),
    "<=": (r"\le", _COMPARE), ">=": (r"\ge", _COMPARE), "<": ("<", _COMPARE), ">": (">", _COMPARE),
    "==": ("=", _COMPARE), "!=": (r"\ne", _COMPARE), "and": (r"\wedge", _LOGIC), "or": (r"\vee", _LOGIC),
}  # fmt: skip
_WORDS = {
    "relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU", "layernorm": "LayerNorm",
    "rmsnorm": "RMSNorm", "l2norm": "L2Norm", "log_softmax": "logsoftmax", "logsumexp": "logsumexp",
    "cross_entropy": "CrossEntropy",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tex:
    """sign: the operator between its parts."""

    tex: str
    binds: int = _ATOM
    sign: str = ""

    def within(self, binds: int) -> str:
        return self.tex if self.binds >= binds else rf"\left({self.tex}\right)"

    def beside(self, sign: str, binds: int) -> str:
        """The term as an operand of `sign`, in parentheses where it would mix `and` with `or`."""
        mixed = self.binds == _LOGIC and self.sign != sign
        return rf"\left({self.tex}\right)" if mixed else self.within(binds)


@dataclass(slots=True)
class _Rows:
    """The equations of one body."""

    graph: Graph
    names: dict[str, int]  # how many values have each name so far
    indent: str = ""
    rows: list[str] = field(default_factory=list)
    spare: list[str] = field(default_factory=list)
    terms: dict[int, _Tex] = field(default_factory=dict)
    consts: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # what calls of a block give its consts

    def add(self, left: str, sign: str, right: str) -> None:
        """A row of the body. Indented rows are aligned at their left edge, so that one sees how deep they are."""
        self.rows.append(rf"&{self.indent}{left} {sign} {right}" if self.indent else f"{left} &{sign} {right}")

    def head(self, text: str) -> None:
        """A heading, such as `for i = 0, 1:`, over the rows that follow."""
        self.rows.append(rf"&{self.indent}{text}\colon")


def latex(graph: Graph) -> str:
    """An `align*` with a row for the signature and one for each named value."""
    rows = _Rows(graph, {}, consts=_consts(graph))
    shapes = [_space(entry.value.type) for entry in graph.inputs]
    results = [_space(output.value.type, output.axes) for output in graph.outputs]
    rows.rows.append(
        rf"{_upright(graph.name)} &\colon {_product(shapes) or _NOTHING} \to {_product(results) or _NOTHING}"
    )
    for entry in graph.inputs:
        rows.terms[entry.value.id] = _Tex(_fresh(rows, entry.name))
    if graph.kind == "op":
        rows.rows.append(rf"& \text{{computed by }} \texttt{{{escaped(graph.target)}}}")
    else:
        args = ", ".join(rows.terms[entry.value.id].tex for entry in graph.inputs)
        _body(rows)
        outs = ", ".join(rows.terms[output.value.id].tex for output in graph.outputs)
        rows.rows.append(rf"{_upright(graph.name)}({args}) &= {outs}")
    joint = " \\\\\n  "
    return f"\\begin{{align*}}\n  {joint.join(rows.rows)}\n\\end{{align*}}\n"


def axis_tex(axis: Axis) -> str:
    return rf"\mathsf{{{escaped(axis.name)}}}"


def _space(type: Type, axes: Sequence[Axis] | None = None) -> str:
    match type.element:
        case IndexInto(axis):
            base = rf"[{axis_tex(axis)}]"
        case Scalar.BOOL:
            base = r"\{0, 1\}"
        case Scalar.INT:
            base = r"\mathbb{Z}"
        case _:
            base = r"\mathbb{R}"
    named = [axis_tex(a) for a in (type.axes if axes is None else axes) if a not in type.thin]
    return rf"{base}^{{{_product(named)}}}" if named else base


def _product(spaces: Sequence[str]) -> str:
    return r" \times ".join(spaces)


def _upright(name: str) -> str:
    return rf"\mathrm{{{escaped(name)}}}"


def _named(name: str) -> str:
    """`x` in italics, a word set as one, `w_k` with a subscript."""
    base, _, sub = name.partition("_")
    if not base:
        base, sub = name, ""
    tex = escaped(base) if len(base) == 1 else rf"\mathit{{{escaped(base)}}}"
    return rf"{tex}_{{\mathrm{{{escaped(sub)}}}}}" if sub else tex


def _fresh(rows: _Rows, name: str) -> str:
    """A name not used before: a variable that is assigned again gets primes."""
    again = rows.names.get(name, 0)
    rows.names[name] = again + 1
    mark = "'" * again if again < 3 else rf"^{{({again})}}"
    return _named(name) + mark


def _spare(rows: _Rows) -> str:
    """A name for a value without one, which no other value has: primes would say that one is assigned again."""
    if not rows.spare:
        taken = {value.name for value in _all_values(rows.graph)}
        rows.spare.append(next((name for name in "tuvwsrz" if name not in taken), "t"))
    return rows.spare[0]


def _all_values(graph: Graph) -> Iterator[Value]:
    """The values of a graph, and of the bodies of its repeats, whose rows stand among its own."""
    yield from values_of(graph)
    for node in graph.nodes:
        for body in node.bodies if isinstance(node, Repeat) else ():
            yield from _all_values(body)


def _under(operator: str, axes: Sequence[Axis], made: Sequence[Axis] = ()) -> str:
    """The operator with the axes it acts on beneath it, and those it makes of them."""
    return _beneath(operator, _TO.join(", ".join(map(axis_tex, side)) for side in (axes, made) if side and axes))


def _beneath(operator: str, text: str) -> str:
    return rf"\mathop{{\underset{{{text}}}{{{operator}}}}}" if text else operator


def _function(
    word: str, args: Sequence[str], axes: Sequence[Axis] = (), made: Sequence[Axis] = (), label: str = ""
) -> _Tex:
    return _Tex(rf"{_under(_upright(word) + label, axes, made)}\left({', '.join(args)}\right)")


def _given(name: str, value: Static) -> str:
    return f"{_named(name)} = {_static(value).tex}"


def _static(value: Static) -> _Tex:
    match value:
        case Literal(bool() as truth):
            return _Tex(r"\mathrm{true}" if truth else r"\mathrm{false}")
        case Literal(float() as number):
            return _number(number)
        case Literal(number):
            return _Tex(str(number), _ATOM if number >= 0 else _PLUS)
        case SizeOf(axis):
            return _Tex(rf"|{axis_tex(axis)}|")
        case ConstOf(const):
            return _static(Literal(const.value)) if const.value is not None else _Tex(_named(const.name))
        case Arith(op, args):
            return _op(op, [_static(arg) for arg in args])


def _number(value: float) -> _Tex:
    if value == math.pi:
        return _Tex(r"\pi")
    text = f"{value:.6g}"
    if "e" not in text:
        return _Tex(text, _ATOM if value >= 0 else _PLUS)
    digits, _, power = text.partition("e")
    ten = f"10^{{{int(power)}}}"
    if digits in ("1", "-1"):
        return _Tex(f"{digits[:-1]}{ten}", _POWER if digits == "1" else _PLUS)
    return _Tex(rf"{digits} \cdot {ten}", _TIMES if value >= 0 else _PLUS)


def _op(op: str, args: Sequence[_Tex]) -> _Tex:
    """Arithmetic and functions as mathematicians write them."""
    match op:
        case "/" if len(args) == 2:
            return _Tex(rf"\frac{{{args[0].tex}}}{{{args[1].tex}}}", _FRACTION)
        case "//" if len(args) == 2:
            return _Tex(rf"\left\lfloor \frac{{{args[0].tex}}}{{{args[1].tex}}} \right\rfloor")
        case "^" if len(args) == 2:
            return _Tex(rf"{{{args[0].within(_ATOM)}}}^{{{args[1].tex}}}", _POWER)
        case "sqrt":
            return _Tex(rf"\sqrt{{{args[0].tex}}}")
        case "rsqrt":
            return _Tex(rf"\frac{{1}}{{\sqrt{{{args[0].tex}}}}}", _FRACTION)
        case "neg":
            return _Tex(rf"-{args[0].within(_ODOT)}", _PLUS)
        case "not":
            return _Tex(rf"\neg {args[0].within(_FRACTION)}", _FRACTION)
        case "abs":
            return _Tex(rf"\left|{args[0].tex}\right|")
        case "floor":
            return _Tex(rf"\left\lfloor {args[0].tex} \right\rfloor")
        case "ceil":
            return _Tex(rf"\left\lceil {args[0].tex} \right\rceil")
        case "sigmoid":
            return _Tex(rf"\sigma\left({args[0].tex}\right)")
        case "dropout":
            return args[0]
        case "select" if len(args) == 3:
            cases = rf"{args[1].tex} & \text{{if }} {args[0].tex} \\ {args[2].tex} & \text{{otherwise}}"
            return _Tex(rf"\begin{{cases}} {cases} \end{{cases}}", _ANY)
        case op if op in _INFIX and len(args) == 2:
            sign, level = _INFIX[op]
            left = {_COMPARE: _MOD, _MOD: _TIMES}.get(level, level)
            right = left + 1 if op == "-" or args[1].tex.startswith("-") else left
            return _Tex(f"{args[0].beside(sign, left)} {sign} {args[1].beside(sign, right)}", level, sign)
        case op if op in ("sin", "cos", "tanh", "exp", "log", "min", "max"):
            return _Tex(rf"\{op}\left({', '.join(a.tex for a in args)}\right)")
        case op:
            return _function(_WORDS.get(op, op), [a.tex for a in args])


# -- bodies ----------------------------------------------------------------------------------------------------


def _body(rows: _Rows) -> None:
    read = uses(rows.graph)
    for node in rows.graph.nodes:
        match node:
            case Constant(value, out):
                rows.terms[out.id] = _static(value)
            case Positions(axis, out):
                rows.terms[out.id] = _Tex(axis_tex(axis))
            case Parameter(weight, out):
                rows.terms[out.id] = _Tex(_named(weight.name))
            case Apply():
                _keep(rows, node.out, _apply(rows, node), read.get(node.out.id, 0))
            case Call() | Scan() | Repeat():
                _several(rows, node)


def _keep(rows: _Rows, value: Value, term: _Tex, read: int) -> None:
    """A row of its own for what has a name, is read twice or is long; otherwise it goes where it is read."""
    if value.name is None and (read < 2 or len(term.tex) < 12) and len(term.tex) < _LONG:
        rows.terms[value.id] = term
        return
    name = _fresh(rows, value.name or _spare(rows))
    rows.add(name, "=", term.tex)
    rows.terms[value.id] = _Tex(name)


def _apply(rows: _Rows, node: Apply) -> _Tex:
    args = [rows.terms[v.id] for v in node.operands]
    if node.mask is not None:
        mask = rows.terms[node.mask.id]
        args[0] = _Tex(rf"{args[0].within(_PLUS)} \text{{ where }} {mask.within(_PLUS)}", _ANY)
    match node.op:
        case "dot":
            over = _under(_DOT, node.axes)
            return _Tex(rf" \mathbin{{{over}}} ".join(a.within(_TIMES + 1) for a in args), _ODOT)
        case "linear":
            power = _label(node.name)
            term = rf"W{power} \mathbin{{{_under(_DOT, node.axes)}}} {args[0].within(_TIMES + 1)}"
            if any(w.name.endswith("bias") for w in node.weights):
                return _Tex(f"{term} + b{power}", _PLUS)
            return _Tex(term, _ODOT)
        case "embed":
            label = node.name.split(".")[-1] if node.name else "E"
            return _Tex(rf"{{{_named(label)}}}_{{{_into(node, args[0])}}}")
        case "gather":
            return _Tex(rf"{{{args[0].within(_ATOM)}}}_{{{axis_tex(node.axes[0])}({args[1].tex})}}")
        case "rename" | "split" | "merge":
            old, new = (", ".join(map(axis_tex, axes)) for axes in (node.axes, node.made))
            if len(node.axes) > 1:
                old = f"({old})"
            if len(node.made) > 1:
                new = f"({new})"
            return _Tex(rf"{{{args[0].within(_ATOM)}}}_{{{old} \to {new}}}")
        case "broadcast":
            return args[0]
        case "sum":
            return _Tex(rf"{_under(_SUM, node.axes)} {args[0].within(_TIMES)}", _ODOT)
        case "concat":
            axis = ", ".join(map(axis_tex, node.made))
            joined = r";\ ".join(a.tex for a in args)
            return _Tex(rf"\left[{joined}\right]_{{{axis}}}")
        case _ if node.axes:
            usual = {option.name: option.default for option in OPS[node.op].options}
            chosen = [_given(n, v) for n, v in node.options.items() if evaluate(v) != usual[n]]
            label = _label(node.name if node.weights else None)
            args_tex = [*(a.tex for a in args), *chosen]
            return _function(_WORDS.get(node.op, node.op), args_tex, node.axes, node.made, label)
        case op:
            return _op(op, args)


def _label(name: str | None) -> str:
    """The name of the weights as a superscript, which tells them from other weights."""
    return rf"^{{\mathit{{{escaped(name.split('.')[-1])}}}}}" if name else ""


def _into(node: Apply, index: _Tex) -> str:
    return f"{axis_tex(node.axes[0])}({index.tex})" if node.axes else index.tex


def _several(rows: _Rows, node: Call | Scan | Repeat) -> None:
    if isinstance(node, Repeat):
        _repeat(rows, node)
        return
    consts = [_given(c.name, v) for c, v in node.consts if _tells(rows, node, c, v)]
    args = ", ".join([*(rows.terms[v.id].tex for v in node.args), *consts])
    label = node.name.split(".")[-1]
    power = rf"^{{\mathrm{{{escaped(label)}}}}}" if label and label != node.graph.name else ""
    axes = [f"{axis_tex(theirs)} = {axis_tex(own)}" for theirs, own in node.axes if theirs.name != own.name]
    call = f"{_beneath(_upright(node.graph.name) + power, ', '.join(axes))}({args})"
    if isinstance(node, Scan):
        call = rf"{_under(_SCAN, [node.axis])}\ {call}"
    outs = node.outs
    if len(outs) == 1:
        read = uses(rows.graph).get(outs[0].id, 0)
        _keep(rows, outs[0], _Tex(call), read)
        return
    made = [_fresh(rows, v.name or _spare(rows)) for v in outs]
    rows.add(", ".join(made), "=", call)
    rows.terms.update((v.id, _Tex(name)) for v, name in zip(outs, made, strict=True))


def _tells(rows: _Rows, node: Call | Scan, const: Const, value: Static) -> bool:
    """Whether to write a const at a call: if it depends on the pass, or differs between the calls of the block."""
    values = rows.consts.get((node.graph.name, const.name), set())
    return len(values) > 1 or any(const.is_index for const in consts_in(value))


def _consts(graph: Graph) -> dict[tuple[str, str], set[str]]:
    """By block and const, the values that the calls pass."""
    given_values: dict[tuple[str, str], set[str]] = {}
    for node in graph.nodes:
        match node:
            case Call() | Scan():
                for const, value in node.consts:
                    given_values.setdefault((node.graph.name, const.name), set()).add(_static(value).tex)
            case Repeat():
                for body in node.bodies:
                    for key, values in _consts(body).items():
                        given_values.setdefault(key, set()).update(values)
            case _:
                pass
    return given_values


def _repeat(rows: _Rows, node: Repeat) -> None:
    """The rows of a repeat: of its body, or, where passes differ, of each body, with the passes that run it."""
    carried: list[str] = []
    for entry, value in zip(node.bodies[0].inputs, node.args[: node.carried], strict=False):
        carried.append(_fresh(rows, entry.name))
        rows.add(carried[-1], "=", rows.terms[value.id].tex)
    rows.head(_times(node))
    for number, body in enumerate(node.bodies):
        inner = _Rows(body, rows.names, rows.indent + _IN, rows.rows, [_spare(rows)], consts=rows.consts)
        if len(node.bodies) > 1:
            inner.head(_when(node, number))
            inner.indent += _IN
        inner.terms = {
            entry.value.id: rows.terms[value.id] for entry, value in zip(body.inputs, node.args, strict=True)
        }
        inner.terms |= {entry.value.id: _Tex(name) for entry, name in zip(body.inputs, carried, strict=False)}
        _body(inner)
        if carried:  # all assigned at once, since the body may exchange two of them
            ends = [inner.terms[output.value.id].tex for output in body.outputs]
            inner.add(", ".join(carried), r"\leftarrow", ", ".join(ends))
    rows.terms.update((value.id, _Tex(name)) for value, name in zip(node.outs, carried, strict=True))


def _times(node: Repeat) -> str:
    """The heading of a repeat: how often it runs, or which values its index has."""
    count, shown = evaluate(node.count), _static(node.count)
    note = r" \text{ (shared weights)}" if node.shared else ""
    if node.index is None or count == 0:
        return rf"{shown.tex} \text{{ {'time' if count == 1 else 'times'}}}{note}"
    last = _op("-", [shown, _Tex("1")]).tex if count is None else str(int(count) - 1)
    numbers = {"0": "0", "1": "0, 1"}.get(last, rf"0, \ldots, {last}")
    return rf"\text{{for }} {_named(node.index.name)} = {numbers}{note}"


def _when(node: Repeat, number: int) -> str:
    """Which passes run this body."""
    assert node.index is not None  # passes differ by it alone
    passes = [at for at, runs in enumerate(node.variant) if runs == number]
    text = passes_text("", passes, range(len(node.variant)), most=len(passes))
    for plain, tex in _SAID.items():
        text = text.replace(plain, tex)
    return rf"\text{{if }} {_named(node.index.name)}{text}"
