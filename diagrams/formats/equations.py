"""A graph as equations in Named Tensor Notation (Chiang, Rush and Barak 2021), for LaTeX with amsmath and amssymb.

One row for each value that has a name or is read twice. An axis stands beneath the operator that acts on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...compiler.graph.nodes import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan, values_of
from ...compiler.graph.traits import (
    Arrange,
    Extreme,
    Gather,
    IndexMap,
    Lookup,
    OpTraits,
    Pointwise,
    Quotient,
    Reduce,
    Sum,
)
from ...compiler.graph.values import IndexInto, Scalar, Type, Value
from ...compiler.ops import Op, op_named
from ...compiler.ops.table import Precedence
from ...compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static, as_static, consts_in, evaluate
from ...compiler.sizes.functions import Item, Length, Listing
from ...dsl.source import Span
from ..base.metrics import GREEK
from ..base.titles import Titles
from ..scene.opening import uses
from ..scene.passes import passes_text
from .tikz import escaped, words

_NOTHING, _TO, _DOT, _SCAN = r"\{\}", r" \to ", r"\odot", r"\mathrm{scan}"
_IN = r"\quad "
_SAID = {
    " even": r" \text{ even}", " odd": r" \text{ odd}", "mod": r"\bmod", "…": r", \ldots, ",
    "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
}  # fmt: skip
_PLACE = re.compile(r"\\place\{[0-9]+\}\{|\\endplace\}")
_LONG = 150  # an expression of so many characters of LaTeX gets a row of its own


Place = Callable[[Span | None], int | None]
"""A number for words of the spec, with which what they say is marked."""


@dataclass(frozen=True, slots=True)
class _Tex:
    """sign: the operator between its parts."""

    tex: str
    binds: int = Precedence.ATOM
    sign: str = ""

    def __format__(self, spec: str) -> str:
        """For the templates in the rows of ops: `{0:PLUS}` is in parentheses if it binds less than a sum."""
        return self.within(Precedence[spec]) if spec else self.tex

    def within(self, binds: int) -> str:
        return self.tex if self.binds >= binds else rf"\left({self.tex}\right)"

    @property
    def bare(self) -> str:
        """Without marks of places, so that no row hangs on them."""
        return _PLACE.sub("", self.tex)

    def beside(self, sign: str, binds: int) -> str:
        """The term as an operand of `sign`, in parentheses where it would mix two operators of logic."""
        mixed = self.binds == Precedence.LOGIC and self.sign != sign
        return rf"\left({self.tex}\right)" if mixed else self.within(binds)


@dataclass(slots=True)
class _Rows:
    """The equations of one body."""

    graph: Graph
    names: set[str]  # that values have so far, with an underscore at the end for each prime
    titles: Titles
    indent: str = ""
    rows: list[str] = field(default_factory=list)
    spare: list[str] = field(default_factory=list)
    terms: dict[int, _Tex] = field(default_factory=dict)
    consts: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # what calls of a block give its consts
    tints: dict[str, str] = field(default_factory=dict)  # by the name of a value: the colour behind its equation
    place: Place | None = None

    def add(self, left: str, sign: str, right: str) -> None:
        """A row of the body. Indented rows are aligned at their left edge, so that one sees how deep they are."""
        self.rows.append(rf"&{self.indent}{left} {sign} {right}" if self.indent else f"{left} &{sign} {right}")

    def head(self, text: str) -> None:
        """A heading, such as `for i = 0, 1:`, over the rows that follow."""
        self.rows.append(rf"&{self.indent}{text}\colon")


def latex(graph: Graph, tints: Mapping[str, str] | None = None) -> str:
    """An `align*` with a row for the signature and one for each named value.

    tints: colours (`#DCD2EE`) behind what values of these names are equal to; where a name is assigned again, behind
           the first. LaTeX then needs `xcolor`.
    """
    written = _equations(graph, dict(tints or {}), None)
    joint = " \\\\\n  "
    head = "% \\usepackage{amsmath, amssymb, xcolor}\n" if tints else ""
    return f"{head}\\begin{{align*}}\n  {joint.join(written)}\n\\end{{align*}}\n"


def marked(graph: Graph, place: Place) -> list[str]:
    r"""The rows alone; each term stands in `\place{12}{..\endplace}` for the words of the spec that say it."""
    return _equations(graph, {}, place)


def _equations(graph: Graph, tints: dict[str, str], place: Place | None) -> list[str]:
    rows = _Rows(graph, set(), Titles(graph), consts=_consts(graph), tints=tints, place=place)
    declared = ([axis for axis in entry.value.type.axes if axis not in graph.lifted] for entry in graph.inputs)
    shapes = [_space(entry.value.type, axes) for entry, axes in zip(graph.inputs, declared, strict=True)]
    results = [_space(output.value.type, output.axes) for output in graph.outputs]
    rows.rows.append(
        rf"{_callee(rows, graph)} &\colon {_product(shapes) or _NOTHING} \to {_product(results) or _NOTHING}"
    )
    for entry in graph.inputs:
        rows.terms[entry.value.id] = _placed(rows, entry.value.span, _Tex(_fresh(rows, entry.name)))
    if graph.kind == "op":
        rows.rows.append(rf"& \text{{computed by }} \texttt{{{escaped(graph.target)}}}")
    else:
        args = ", ".join(rows.terms[entry.value.id].tex for entry in graph.inputs)
        _body(rows)
        outs = ", ".join(rows.terms[output.value.id].tex for output in graph.outputs)
        rows.rows.append(rf"{_callee(rows, graph)}({args}) &= {outs}")
    return rows.rows


def axis_tex(axis: Axis) -> str:
    words = axis.name.strip("_") or axis.name
    tex = (GREEK.get(words) and rf"{{\{words}}}") or rf"\mathsf{{{escaped(words)}}}"
    return tex + "'" * (len(axis.name) - len(words))


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
    named = [axis_tex(a) for a in (type.axes if axes is None else axes) if a not in type.broadcast_axes]
    return rf"{base}^{{{_product(named)}}}" if named else base


def _product(spaces: Sequence[str]) -> str:
    return r" \times ".join(spaces)


def _upright(name: str) -> str:
    return rf"\mathrm{{{escaped(name)}}}"


def _callee(rows: _Rows, graph: Graph) -> str:
    """What a block is called: a word, or several words as text."""
    title = rows.titles.of(graph)
    return _upright(title) if title.isalnum() and title.isascii() else rf"\text{{{words(title)}}}"


def _named(name: str, primes: int = 0) -> str:
    """`x` in italics, a word set as one, `w_k` with a subscript, `alpha` as the letter, `x_` with a prime.

    More than three primes are hard to count, and a number would be a power: so `5th` stands there.
    """
    words = name.strip("_") or name
    primes += len(name) - len(words)
    base, _, sub = words.partition("_")
    if not base:
        base, sub = words, ""
    mark = "'" * primes if primes <= 3 else rf"^{{\text{{{ordinal(primes + 1)}}}}}"
    return (_letters(base, "mathit") + (f"_{{{_letters(sub, 'mathrm')}}}" if sub else "")) + mark


def ordinal(number: int) -> str:
    """`5th`, `21st`."""
    teen = number // 10 % 10 == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _letters(word: str, style: str) -> str:
    """A Greek letter, another letter in italics, or a word in one of TeX's styles."""
    if word in GREEK:
        return rf"{{\{word}}}"
    return escaped(word) if len(word) == 1 else rf"\{style}{{{escaped(word)}}}"


def _fresh(rows: _Rows, name: str) -> str:
    """A name not used before: a variable that is assigned again gets primes."""
    words = name.strip("_") or name
    primes = len(name) - len(words)
    while words + "_" * primes in rows.names:
        primes += 1
    rows.names.add(words + "_" * primes)
    return _named(words, primes)


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


def _function(word: str, args: Sequence[_Tex]) -> _Tex:
    return _Tex(rf"{word}\left({', '.join(arg.tex for arg in args)}\right)")


def _setting(name: str, value: Static) -> str:
    return f"{_named(name)} = {_static(value).tex}"


def _static(value: Static) -> _Tex:
    match value:
        case Literal(bool() as truth):
            return _Tex(r"\mathrm{true}" if truth else r"\mathrm{false}")
        case Literal(float() as number):
            return _number(number)
        case Literal(number):
            return _Tex(str(number), Precedence.ATOM if number >= 0 else Precedence.PLUS)
        case SizeOf(axis):
            return _Tex(rf"|{axis_tex(axis)}|")
        case ConstOf(const):
            return _static(as_static(const.value)) if const.value is not None else _Tex(_named(const.name))
        case Arith(meaning=Listing(), args=args):
            return _Tex(rf"\left[{', '.join(_static(arg).tex for arg in args)}\right]", Precedence.ATOM)
        case Arith(meaning=Length(), args=(numbers,)):
            return _Tex(rf"|{_static(numbers).tex}|" if (length := evaluate(value)) is None else str(length))
        case Arith(meaning=Item(), args=(place, numbers)):
            return _Tex(f"{{{_static(numbers).tex}}}_{{{_static(place).tex}}}", Precedence.ATOM)
        case Arith(op, args):
            terms = [_static(arg) for arg in args]
            if isinstance(value.meaning, Extreme):  # the ops of these names act on axes
                return _function(rf"\{op}", terms)
            return _op(op_named(op), terms)


def _number(value: float) -> _Tex:
    if value == math.pi:
        return _Tex(r"\pi")
    text = f"{value:.6g}"
    if "e" not in text:
        return _Tex(text, Precedence.ATOM if value >= 0 else Precedence.PLUS)
    digits, _, power = text.partition("e")
    ten = f"10^{{{int(power)}}}"
    if digits in ("1", "-1"):
        return _Tex(f"{digits[:-1]}{ten}", Precedence.POWER if digits == "1" else Precedence.PLUS)
    return _Tex(rf"{digits} \cdot {ten}", Precedence.TIMES if value >= 0 else Precedence.PLUS)


def _op(op: OpTraits, args: Sequence[_Tex]) -> _Tex:
    """Arithmetic and functions as mathematicians write them."""
    if op.reads == Pointwise(Quotient(whole=True)):
        return _Tex(rf"\left\lfloor \frac{{{args[0]}}}{{{args[1]}}} \right\rfloor")
    if not isinstance(op, Op):
        return _function(_upright(op.name), args)
    if op.has_template:
        return _Tex(op.latex.format(*args), op.binds)
    if op.binds == Precedence.ATOM or len(args) != 2:
        return _function(_word(op), args)
    left = {Precedence.COMPARE: Precedence.MOD, Precedence.MOD: Precedence.TIMES}.get(op.binds, op.binds)
    right = left + 1 if op.reads == Pointwise(Sum((1, -1))) or args[1].bare.startswith("-") else left
    tex = f"{args[0].beside(op.latex, left)} {op.latex} {args[1].beside(op.latex, right)}"
    return _Tex(tex, op.binds, op.latex)


def _word(op: OpTraits) -> str:
    """What stands before the operands: a command of LaTeX, or a word in roman letters."""
    latex = op.latex if isinstance(op, Op) else ""
    return latex if latex.startswith("\\") else _upright(latex or op.name)


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
                _keep(rows, node.out, _placed(rows, node.span, _apply(rows, node)), read.get(node.out.id, 0))
            case Call() | Scan() | Repeat():
                _several(rows, node)


def _placed(rows: _Rows, span: Span | None, term: _Tex) -> _Tex:
    number = None if rows.place is None else rows.place(span)
    return term if number is None else _Tex(rf"\place{{{number}}}{{{term.tex}\endplace}}", term.binds, term.sign)


def _keep(rows: _Rows, value: Value, term: _Tex, read: int) -> None:
    """A row of its own for what has a name, is read twice or is long; otherwise it goes where it is read."""
    if value.name is None and (read < 2 or len(term.bare) < 12) and len(term.bare) < _LONG:
        rows.terms[value.id] = term
        return
    name = _fresh(rows, value.name or _spare(rows))
    color = rows.tints.pop(value.name or "", None)
    rows.add(name, "=", term.tex if color is None else _tinted(term.tex, color))
    rows.terms[value.id] = _Tex(name)


def _tinted(tex: str, color: str) -> str:
    return rf"{{\fboxsep=2pt\colorbox[HTML]{{{color.removeprefix('#')}}}{{$\displaystyle {tex}$}}}}"


def _apply(rows: _Rows, node: Apply) -> _Tex:
    args = [rows.terms[v.id] for v in node.operands]
    if node.mask is not None:
        mask = rows.terms[node.mask.id]
        args[0] = _Tex(rf"{args[0]:PLUS} \text{{ where }} {mask:PLUS}", Precedence.ANY)
    op = node.traits
    match op.reads:
        case _ if isinstance(op, Op) and op.has_template:
            return _Tex(op.latex.format(*args, axes=", ".join(map(axis_tex, node.axes))), op.binds)
        case _ if op.random:
            return args[0]
        case Reduce(multiplies=True) if node.weights:
            power = _label(node.name)
            term = rf"W{power} \mathbin{{{_under(_DOT, node.axes)}}} {args[0]:POWER}"
            if any(w.name.endswith("bias") for w in node.weights):
                return _Tex(f"{term} + b{power}", Precedence.PLUS)
            return _Tex(term, Precedence.ODOT)
        case Reduce(multiplies=True):
            over = _under(_DOT, node.axes)
            return _Tex(rf" \mathbin{{{over}}} ".join(f"{a:POWER}" for a in args), Precedence.ODOT)
        case Pointwise(Lookup()):
            label = node.name.split(".")[-1] if node.name else "E"
            return _Tex(rf"{{{_named(label)}}}_{{{_into(node, args[0])}}}")
        case Gather():
            return _Tex(rf"{{{args[0]:ATOM}}}_{{{axis_tex(node.axes[0])}({args[1]})}}")
        case Arrange(IndexMap.SAME | IndexMap.DIGITS | IndexMap.NUMBER):
            old, new = (", ".join(map(axis_tex, axes)) for axes in (node.axes, node.made))
            if len(node.axes) > 1:
                old = f"({old})"
            if len(node.made) > 1:
                new = f"({new})"
            return _Tex(rf"{{{args[0]:ATOM}}}_{{{old} \to {new}}}")
        case Arrange(IndexMap.NEW):
            return args[0]
        case Arrange(IndexMap.PARTS):
            axis = ", ".join(map(axis_tex, node.made))
            joined = r";\ ".join(a.tex for a in args)
            return _Tex(rf"\left[{joined}\right]_{{{axis}}}")
        case _ if node.axes or node.options:
            return _over_axes(node, args)
        case _:
            return _op(op, args)


def _over_axes(node: Apply, args: Sequence[_Tex]) -> _Tex:
    """An op with the axes that it acts on beneath, if any: a big operator before its operand, or a function."""
    op = node.traits
    word = _word(op)
    if node.axes and isinstance(op, Op) and op.binds != Precedence.ATOM:
        return _Tex(rf"{_under(word, node.axes)} {args[0].within(op.binds + 1)}", op.binds)
    usual = {option.name: option.default for option in op.options} if isinstance(op, Op) else {}
    chosen = [_Tex(_setting(n, v)) for n, v in node.options.items() if evaluate(v) != usual.get(n)]
    label = _label(node.name if node.weights else None)
    return _function(_under(word + label, node.axes, node.made), [*args, *chosen])


def _label(name: str | None) -> str:
    """The name of the weights as a superscript, which tells them from other weights."""
    return rf"^{{\mathit{{{escaped(name.split('.')[-1])}}}}}" if name else ""


def _into(node: Apply, index: _Tex) -> str:
    return f"{axis_tex(node.axes[0])}({index.tex})" if node.axes else index.tex


def _several(rows: _Rows, node: Call | Scan | Repeat) -> None:
    if isinstance(node, Repeat):
        _repeat(rows, node)
        return
    consts = [_setting(c.name, v) for c, v in node.consts if _tells(rows, node, c, v)]
    args = ", ".join([*(rows.terms[v.id].tex for v in node.args), *consts])
    label = node.name.split(".")[-1]
    power = rf"^{{\mathrm{{{escaped(label)}}}}}" if label and label != node.graph.name else ""
    axes = [f"{axis_tex(theirs)} = {axis_tex(own)}" for theirs, own in node.axes if theirs.name != own.name]
    call = f"{_beneath(_callee(rows, node.graph) + power, ', '.join(axes))}({args})"
    if isinstance(node, Scan):
        call = rf"{_under(_SCAN, [node.axis])}\ {call}"
    call = _placed(rows, node.span, _Tex(call)).tex
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
        inner = _Rows(body, rows.names, rows.titles, rows.indent + _IN, rows.rows, [_spare(rows)], consts=rows.consts,
                      tints=rows.tints, place=rows.place)  # fmt: skip
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
    last = rf"{shown:PLUS} - 1" if count is None else str(int(count) - 1)
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
