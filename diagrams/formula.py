"""What is known without data (sizes, positions, masks): kept as a formula, written on an arrow or drawn as a pattern.

A mask that mixes positions with data keeps its data as leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..compiler.axes import Axis
from ..compiler.static import Arith, Const, ConstOf, Literal, Number, SizeOf, Static
from .text import Rich, Run, axis_label, italic, joined, plain, raised, roman

if TYPE_CHECKING:
    from .scene import Tensor

GRID = 8  # a pattern is drawn as GRID x GRID cells


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """`op` is `number`, `symbol`, `size`, `position`, `data`, `?` (past writing down) or an op of `args`."""

    op: str
    args: tuple[Formula, ...] = ()
    number: Number = 0
    axis: Axis | None = None
    text: str = ""
    data: Tensor | None = None
    axes: tuple[Axis, ...] = ()
    boolean: bool = False

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        """The data in it, left to right, each once."""
        found: dict[int, Tensor] = {}
        stack = [self]
        while stack:
            top = stack.pop()
            if top.data is not None:
                found.setdefault(id(top.data), top.data)
            stack.extend(reversed(top.args))
        return tuple(found.values())

    @property
    def truth(self) -> bool | None:
        """True or False where it is that and no more."""
        return bool(self.number) if self.op == "number" and (self.boolean or isinstance(self.number, bool)) else None


def number(value: Number) -> Formula:
    return Formula("number", number=value, boolean=isinstance(value, bool))


def of_static(static: Static, axes: Callable[[Axis], Axis], consts: Mapping[int, Formula]) -> Formula:
    match static:
        case Literal(value):
            return number(value)
        case SizeOf(axis):
            return Formula("size", axis=axes(axis))
        case ConstOf(const):
            return consts.get(const.id) or of_const(const)
        case Arith(op, args):
            return Formula(op, tuple(of_static(arg, axes, consts) for arg in args))


def of_const(const: Const) -> Formula:
    return number(const.value) if const.value is not None else Formula("symbol", text=const.name)


def renamed(formula: Formula, axes: Mapping[Axis, Axis], depth: int = 0) -> Formula:
    """The formula along other copies of its axes."""
    if depth > 60:
        return Formula("?", axes=tuple(axes.get(a, a) for a in formula.axes), boolean=formula.boolean)
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


def written(formula: Formula, most: int = 24) -> Rich:
    """The formula as a reader would write it; `…` where it is too long to be read on an arrow."""
    rich = joined(_write(formula, 0)[0])
    return rich if len(plain(rich)) <= most else roman("…")


def _write(formula: Formula, depth: int) -> tuple[Rich, int]:
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
            return axis_label(formula.axis.label, is_width=formula.axis.is_width), _ATOM
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


def applied(op: str, formula: Formula, *, flipped: bool = False) -> Rich:
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


def _tight(formula: Formula) -> Rich:
    rich, binds = _write(formula, 0)
    rich = joined(_closed(rich, binds, 6))
    return rich if len(plain(rich)) <= 24 else roman("…")


# -- a predicate as a picture -----------------------------------------------------------------------------------

Pattern = tuple[tuple[bool, ...], ...]  # rows, columns; True where the item is kept


def pattern(formula: Formula, rows: Axis | None, columns: Axis) -> Pattern | None:
    """The predicate on a small grid, its constants scaled so that they can be seen; None where it cannot be said."""
    largest = max(_constants(formula), default=0.0)
    scale = 1.0 if largest <= GRID / 2 else GRID / (3 * largest)
    try:
        grid = tuple(
            tuple(
                bool(_at(formula, {columns: j} if rows is None else {rows: i, columns: j}, scale)) for j in range(GRID)
            )
            for i in range(GRID if rows is not None else 1)
        )
    except (_Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError, RecursionError):
        return None
    return grid


class _Unknown(Exception):
    """The formula hangs on something that a small grid does not have."""


def _constants(formula: Formula) -> list[float]:
    """Whole numbers that indices are compared with."""
    out: list[float] = []
    stack = [formula]
    while stack:
        top = stack.pop()
        if top.op == "number" and not isinstance(top.number, bool):
            out.append(abs(float(top.number)))
        stack.extend(top.args)
    return out


_FUNCTIONS: dict[str, Callable[..., float | bool]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a**b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "neg": lambda a: -a,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "int": lambda a: a,
    "max": max,
    "min": min,
    "maximum": max,
    "minimum": min,
    "rename": lambda a: a,
    "select": lambda c, a, b: a if c else b,
}


def _at(formula: Formula, at: Mapping[Axis, int], scale: float) -> float | bool:
    match formula.op:
        case "number":
            value = formula.number
            if isinstance(value, bool) or value == 0 or scale == 1.0:
                return value
            return math.copysign(max(1, round(abs(value) * scale)), value)
        case "size":
            return GRID
        case "symbol":  # a const not known: three cells show what it does
            return 3
        case "position":
            if formula.axis is None or formula.axis not in at:
                raise _Unknown
            return at[formula.axis]
        case "data":
            return True  # what data decides is drawn as a wire of its own
        case op if op in _FUNCTIONS:
            return _FUNCTIONS[op](*(_at(arg, at, scale) for arg in formula.args))
        case _:
            raise _Unknown
