"""Values known without data (sizes, positions, masks of positions): kept symbolic, then written or drawn as a pattern.

So a scale is written on the arrow of its contraction, and a causal mask is drawn as a square. A mask that mixes
positions with data has the data as leaves of its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...compiler.graph.traits import OpTraits
from ...compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, Number, SizeOf, Static
from ..base.text import Rich, Run, axis_label, italic, joined, plain, raised, roman
from .tensors import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Symbolic:
    """A formula. `op` is `number`, `symbol`, `size`, `position`, `data`, `?` (too large to write), or an op of `args`.

    made_by: of what the graph computes, the op.
    values: of a symbol that is the index of a repeat, the values that it has in the passes.
    block: whether `text` is the name of the block that made it.
    """

    op: str
    args: tuple[Symbolic, ...] = ()
    made_by: OpTraits | None = None
    number: Number = 0
    axis: Axis | None = None
    text: str = ""
    data: Tensor | None = None
    axes: tuple[Axis, ...] = ()
    boolean: bool = False
    values: tuple[int, ...] = ()
    block: bool = False

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        """The data in it, left to right, each once."""
        leaves: dict[int, Tensor] = {}
        stack = [self]
        while stack:
            top = stack.pop()
            if top.data is not None:
                leaves.setdefault(id(top.data), top.data)
            stack.extend(reversed(top.args))
        return tuple(leaves.values())

    @property
    def truth(self) -> bool | None:
        """True or False if the formula is that constant; else None."""
        return bool(self.number) if self.op == "number" and (self.boolean or isinstance(self.number, bool)) else None


def number(value: Number) -> Symbolic:
    return Symbolic("number", number=value, boolean=isinstance(value, bool))


def index(name: str, values: Sequence[int]) -> Symbolic:
    """The index of a repeat, in the passes that it has these values in."""
    return number(values[0]) if len(values) == 1 else Symbolic("symbol", text=name, values=tuple(values))


def of_static(static: Static, axes: Callable[[Axis], Axis], consts: Mapping[int, Symbolic]) -> Symbolic:
    match static:
        case Literal(value):
            return number(value)
        case SizeOf(axis):
            return Symbolic("size", axis=axes(axis))
        case ConstOf(const):
            return consts.get(const.id) or of_const(const)
        case Arith(op, args):
            return Symbolic(op, tuple(of_static(arg, axes, consts) for arg in args))


def of_const(const: Const) -> Symbolic:
    return number(const.value) if const.value is not None else Symbolic("symbol", text=const.name)


def renamed(formula: Symbolic, axes: Mapping[Axis, Axis], depth: int = 0) -> Symbolic:
    """The formula with its axes replaced."""
    if depth > 60:
        return Symbolic("?", axes=tuple(axes.get(a, a) for a in formula.axes), boolean=formula.boolean)
    return replace(
        formula,
        args=tuple(renamed(arg, axes, depth + 1) for arg in formula.args),
        axis=axes.get(formula.axis, formula.axis) if formula.axis is not None else None,
        axes=tuple(axes.get(a, a) for a in formula.axes),
    )


# -- writing it down -------------------------------------------------------------------------------------------

_INFIX = {
    "or": 1,
    "and": 2,
    "<=": 3,
    ">=": 3,
    "<": 3,
    ">": 3,
    "==": 3,
    "!=": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "//": 5,
    "%": 5,
}
_SIGN = {"<=": " ≤ ", ">=": " ≥ ", "==": " = ", "!=": " ≠ ", "*": " ", "-": " − ", "//": "/", "/": "/", "%": " mod "}
_ATOM = 9


def written(formula: Symbolic, most: int = 24) -> Rich:
    """The formula as a reader would write it; `…` where it is too long to be read on an arrow."""
    rich = joined(_write(formula, 0)[0])
    return rich if len(plain(rich)) <= most else roman("…")


def titled(formula: Symbolic, name: str) -> Symbolic:
    """A formula made by a block. Without a name and too long to be read, it is shown by the name of the block."""
    return (
        replace(formula, text=name, block=True) if not formula.text and plain(written(formula, 40)) == "…" else formula
    )


def _write(formula: Symbolic, depth: int) -> tuple[Rich, int]:
    """(text, how tightly it binds)."""
    if depth > 8:
        return roman("…"), _ATOM
    args = formula.args
    match formula.op:
        case "number":
            return roman(_decimal(formula.number)), _ATOM if formula.number >= 0 else 4
        case "symbol":
            return italic(formula.text), _ATOM
        case "size" if formula.axis is not None:
            label = axis_label(formula.axis.label, is_width=False)
            return ((*roman("|"), *label, *roman("|")) if formula.axis.is_width else label), _ATOM
        case "position" if formula.axis is not None:
            return axis_label(formula.axis.label, is_width=False), _ATOM
        case "data" if formula.data is not None:
            return italic(formula.data.name or "x"), _ATOM
        case "?":
            return roman("…"), _ATOM
        case "sqrt" | "rsqrt":
            inner, binds = _write(args[0], depth + 1)
            power = "1/2" if formula.op == "sqrt" else "−1/2"
            return (*_closed(inner, binds, _ATOM), Run(power, "", 1)), 7
        case "^" if len(args) == 2:
            base, binds = _write(args[0], depth + 1)
            power_text, _ = _write(args[1], depth + 1)
            return (*_closed(base, binds, _ATOM), *raised(power_text)), 7
        case "neg":
            inner, binds = _write(args[0], depth + 1)
            return (*roman("−"), *_closed(inner, binds, 5)), 4
        case "rename" | "broadcast" | "int" | "dropout":
            return _write(args[0], depth)
        case op if op in _INFIX and len(args) == 2:
            level = _INFIX[op]
            left, right = _write(args[0], depth + 1), _write(args[1], depth + 1)
            sign = _SIGN.get(op, f" {op} ")
            return (*_closed(*left, level), *roman(sign), *_closed(*right, level + 1)), level
        case op:
            rich: Rich = roman(op + "(")
            for i, arg in enumerate(args):
                rich = (*rich, *roman(", " if i else ""), *_write(arg, depth + 1)[0])
            return (*rich, *roman(")")), _ATOM


def _closed(rich: Rich, binds: int, needed: int) -> Rich:
    return rich if binds >= needed else (*roman("("), *rich, *roman(")"))


def _decimal(value: Number) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("-", "−")


def applied(op: str, formula: Symbolic, *, flipped: bool = False) -> Rich:
    """`x op formula` as it is written on an arrow: `× k^(-1/2)`, `+ 1`, `= 0`. `flipped`: the formula comes first."""
    if op == "/" and not flipped:
        if formula.op == "sqrt":
            base, binds = _write(formula.args[0], 0)
            return joined((*roman("× "), *_closed(base, binds, _ATOM), Run("−1/2", "", 1)))
        if formula.op == "size":
            return joined((*roman("× "), *_write(formula, 0)[0], Run("−1", "", 1)))
        return (*roman("÷ "), *_tight(formula))
    if flipped and op in ("/", "-", "^", "%"):
        return (*_tight(formula), *roman(_SIGN.get(op, f" {op} ").rstrip() + " ·"))
    sign = {"*": "× ", "^": "^ "}.get(op, _SIGN.get(op, f"{op} ").strip() + " ")
    return (*roman(sign), *_tight(formula))


def _tight(formula: Symbolic) -> Rich:
    rich, binds = _write(formula, 0)
    rich = joined(_closed(rich, binds, 6))
    return rich if len(plain(rich)) <= 24 else roman("…")
