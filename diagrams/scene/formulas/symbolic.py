"""Values known without data (sizes, positions, masks of positions): kept symbolic, then written or drawn as a pattern.

So a scale is written on the arrow of its contraction, and a causal mask is drawn as a square. A mask that mixes
positions with data has the data as leaves of its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ....compiler.graph.traits import (
    Arrange,
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Function,
    IndexMap,
    Magnitude,
    Meaning,
    OpTraits,
    Pointwise,
    Power,
    Product,
    Quotient,
    Remainder,
    Sum,
)
from ....compiler.ops import Brackets, Op
from ....compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, Number, SizeOf, Static, evaluate
from ....compiler.sizes.functions import OPERATIONS, Item, Length, Listing, Operation
from ...base.names import axis_label, name_text
from ...base.text import Rich, Run, joined, plain, raised, roman
from ..op_glyphs import name_of
from ..tensors import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Symbolic:
    """A formula. `op` is `number`, `symbol`, `size`, `position`, `data`, `?` (too large to write), or the name of what
    makes it of `args`: `made_by`, an operation on numbers known at build time, or an op of the graph.

    values: of a symbol that is the index of a repeat, the values that it has in the passes.
    block: whether `text` is the name of the block that made it; `given`: the numbers that its call gives.
    """

    op: str
    args: tuple[Symbolic, ...] = ()
    made_by: Operation | OpTraits | None = None
    number: Number = 0
    axis: Axis | None = None
    text: str = ""
    data: Tensor | None = None
    axes: tuple[Axis, ...] = ()
    boolean: bool = False
    values: tuple[int, ...] = ()
    block: bool = False
    given: tuple[tuple[str, Symbolic], ...] = ()

    @property
    def parts(self) -> list[Symbolic]:
        """All formulas in it, itself first, from left to right."""
        out, stack = [], [self]
        while stack:
            out.append(stack.pop())
            stack.extend(reversed(out[-1].args))
        return out

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        """The data in it, each once."""
        return tuple({id(part.data): part.data for part in self.parts if part.data is not None}.values())

    @property
    def meaning(self) -> Meaning | None:
        """What it computes, item by item; None where items are put together, or elsewhere."""
        return self.made_by.meaning if self.made_by is not None else None

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
        case Arith(meaning=Length()) if (length := evaluate(static)) is not None:
            return number(length)
        case Arith(op, args):
            made = [of_static(arg, axes, consts) for arg in args]  # of a list its numbers
            operands = tuple(each for one in made for each in (one.args if one.meaning == Listing() else (one,)))
            return Symbolic(op, operands, OPERATIONS[op])


def of_const(const: Const) -> Symbolic:
    if isinstance(const.value, tuple):
        return Symbolic("list", tuple(map(number, const.value)), OPERATIONS["list"])
    return number(const.value) if const.value is not None else Symbolic("symbol", text=const.name)


def leaf_of(tensor: Tensor) -> Symbolic:
    return Symbolic("data", data=tensor, axes=tensor.axes, text=tensor.name, boolean=tensor.boolean_input)


def looked_up(table: Symbolic, axis: Axis, index: Symbolic, axes: tuple[Axis, ...]) -> Symbolic:
    """A formula at an index along one of its axes."""

    def at(part: Symbolic) -> Symbolic | None:
        if part.op == "position" and part.axis == axis:
            return index
        inner = [at(arg) for arg in part.args]
        if any(arg is None for arg in inner) or (part.args and part.meaning is None and not copied(part)):
            return None  # it puts items together along an axis
        args = tuple(arg for arg in inner if arg is not None)
        own = tuple(dict.fromkeys(a for arg in args for a in arg.axes)) if args else part.axes
        return replace(part, args=args, axes=own)

    whole = at(table)
    if whole is None:
        return Symbolic("at", (table, index), axis=axis, axes=axes, boolean=table.boolean)
    return replace(whole, axes=axes)


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


def unordered(formula: Symbolic) -> bool:
    """Whether it is a sum or product, the operands of which have no order."""
    return isinstance(formula.meaning, Product) or formula.meaning == Sum((1, 1))


def key(formula: Symbolic, own: Callable[[Symbolic], str]) -> str:
    """Equal for equal formulas. own: what each part is, but for its operands."""
    args = [key(arg, own) for arg in formula.args]
    return f"{own(formula)}({','.join(sorted(args) if unordered(formula) else args)})"


# -- writing it down -------------------------------------------------------------------------------------------

_COMPARISONS = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠"}
_ATOM = 9


def written(formula: Symbolic) -> Rich:
    """The formula in full, as a reader would write it."""
    return joined(_write(formula)[0])


def is_short(formula: Symbolic, most: int) -> bool:
    """Whether the formula has at most so many characters, and none is left out of it."""
    parts = [formula]
    for part in parts:  # grows as it goes: what is in it several times counts several times
        if part.op == "?" or len(parts) > most:
            return False
        parts += part.args
    return len(plain(written(formula))) <= most


def titled(
    formula: Symbolic, name: str, axes: Sequence[Axis] = (), given: tuple[tuple[str, Symbolic], ...] = ()
) -> Symbolic:
    """A formula made by a block. If it is too long to be read, it is shown by the name of the block. axes: of the
    block, in the order in which it has them. given: the numbers that the call gives."""
    if is_short(formula, 40):
        return formula
    own = sorted(formula.axes, key=lambda axis: axes.index(axis) if axis in axes else len(axes))
    return replace(formula, text=name, block=True, axes=tuple(own), given=given)


def _parts(formula: Symbolic) -> tuple[Symbolic, ...]:
    """The operands as they are written: of a product a number first, of a sum last. Of those of numbers known at build
    time, which come as the spec has them, those that may be exchanged are put in an order that does not hang on that.
    """
    match formula.meaning:
        case Sum((1, 1)) | Product() as meaning if len(formula.args) == 2:
            given = isinstance(formula.made_by, OpTraits)
            args = formula.args if given else sorted(formula.args, key=lambda arg: key(arg, _shape))
            if isinstance(meaning, Product):  # a minus leads
                return tuple(sorted(args, key=lambda arg: (not _is_number(arg), arg.meaning != Sum((-1,)))))
            return tuple(sorted(args, key=_is_number))
        case _:
            return formula.args


def _is_number(formula: Symbolic) -> bool:
    return formula.op == "number" or (formula.meaning == Sum((-1,)) and _is_number(formula.args[0]))


def _shape(formula: Symbolic) -> str:
    """What a formula is, whatever things are called."""
    return f"{formula.op} {formula.number} {formula.axis.id if formula.axis is not None else None}"


def _write(formula: Symbolic) -> tuple[Rich, int]:
    """(text, how tightly it binds)."""
    if (leaf := _leaf(formula)) is not None:
        return leaf, _ATOM
    args = _parts(formula)
    if copied(formula):
        return _write(args[0])
    match formula.meaning:
        case _ if formula.op == "number":
            return _decimal(formula.number)
        case Function(power=float(power)):
            return (*_closed(*_write(args[0]), _ATOM), _exponent(power)), 7
        case Power():
            return _raised(*map(_write, args)), 7
        case Sum((-1,)):
            return (*roman("−"), *_closed(*_write(args[0]), 5)), 4
        case Magnitude() if args[0].op != "position":  # |x| is a size
            return (*roman("|"), *_write(args[0])[0], *roman("|")), _ATOM
        case Listing():
            return _listed(args), _ATOM
        case Item():
            return (*_listed(args[1:]), *roman("["), *_write(args[0])[0], *roman("]")), _ATOM
        case Complement():
            return (*roman("not "), *_closed(*_write(args[0]), 3)), 2
        case Choice() if _is_indicator(args):
            return (*roman("["), *_write(args[0])[0], *roman("]")), _ATOM
        case Choice():
            condition, yes, no = (_closed(*_write(arg), 1) for arg in args)
            return (*yes, *roman(" if "), *condition, *roman(" else "), *no), 0
        case meaning if operator := _operator(meaning):
            return _between(formula, args, *operator)
        case _:
            name = name_of(formula.made_by) if isinstance(formula.made_by, OpTraits) else formula.op
            return (*roman(name + "("), *_in_row(_write(arg)[0] for arg in args), *roman(")")), _ATOM


def _leaf(formula: Symbolic) -> Rich | None:
    """The text of what stands for itself: a size, a position, data, what a block makes."""
    match formula.op:
        case "symbol":
            return name_text(formula.text)
        case "size" if formula.axis is not None:
            return (*roman("|"), *axis_label(formula.axis.label, is_width=False), *roman("|"))
        case "position" if formula.axis is not None:
            return axis_label(formula.axis.label, is_width=False)
        case "data" if formula.data is not None:
            return name_text(formula.data.name or "x")
        case "along":
            labels = [axis_label(axis.label, is_width=False) for axis in formula.axes]
            labels += [(*name_text(name), *roman(" = "), *written(value)) for name, value in formula.given]
            return (*name_text(formula.text), *roman("("), *_in_row(labels), *roman(")"))
        case "at" if formula.axis is not None:
            label = axis_label(formula.axis.label, is_width=False)
            table, where = map(_write, formula.args)
            return (*_closed(*table, _ATOM), *roman("["), *label, *roman(" = "), *where[0], *roman("]"))
        case "?":
            return roman("…")
        case _:
            return None


def _raised(base: tuple[Rich, int], power: tuple[Rich, int]) -> Rich:
    if any(run.shift for run in power[0]):  # nothing is raised twice
        return (*_closed(*base, _ATOM), *roman("^"), *_closed(*power, _ATOM))
    return (*_closed(*base, _ATOM), *raised(power[0]))


def _between(formula: Symbolic, args: Sequence[Symbolic], sign: str, level: int) -> tuple[Rich, int]:
    """A sign between two operands."""
    minus = level == 5 and plain(_write(args[0])[0])[:1] == "−"  # −8 h: no brackets where it leads
    joins = unordered(formula) and args[1].meaning == formula.meaning  # a b c, a + b + c
    left = _closed(*_write(args[0]), 4 if minus else level)
    right = _closed(*_write(args[1]), level if joins else level + 1)
    if isinstance(formula.meaning, Product) and plain(right)[:1].isdigit():
        sign = " · "
    return (*left, *roman(sign), *right), 4 if minus else level


def _in_row(texts: Iterable[Rich]) -> Rich:
    return tuple(run for at, each in enumerate(texts) for run in (*roman(", " if at else ""), *each))


def _listed(numbers: Sequence[Symbolic]) -> Rich:
    """A list as the language writes it."""
    return (*roman("["), *_in_row(_write(each)[0] for each in numbers), *roman("]"))


def copied(formula: Symbolic) -> bool:
    """Whether it has the numbers of its operand."""
    return isinstance(formula.made_by, OpTraits) and as_it_is(formula.made_by)


def _is_indicator(args: Sequence[Symbolic]) -> bool:
    """Whether these are a mask that comes in, 1 and 0: `[real]`, as mathematicians write it."""
    mask, *numbers = args
    named = mask.data is not None and mask.data.boolean_input
    return named and [(arg.op, arg.number) for arg in numbers] == [("number", 1), ("number", 0)]


def as_it_is(op: OpTraits) -> bool:
    """Whether it gives the numbers of its operand, with nothing in brackets to show: `int`, or a copy of an axis."""
    match op.reads:
        case Pointwise(Sum((1,))):
            return isinstance(op, Op) and op.brackets is Brackets.NONE
        case Arrange(IndexMap.SAME | IndexMap.NEW):
            return True
        case _:
            return False


def _operator(meaning: Meaning | None) -> tuple[str, int] | None:
    """The sign that stands between two operands, and how tightly it binds."""
    match meaning:
        case Disjunction():
            return " or ", 1
        case Conjunction():
            return " and ", 2
        case Compared(sign):
            return f" {_COMPARISONS.get(sign, sign)} ", 3
        case Sum((1, 1)):
            return " + ", 4
        case Sum((1, -1)):
            return " − ", 4
        case Product():
            return " ", 5
        case Quotient():
            return "/", 5
        case Remainder():
            return " mod ", 5
        case _:
            return None


def _exponent(power: float) -> Run:
    return Run(str(Fraction(power).limit_denominator(100)).replace("-", "−"), "", 1)


def _closed(rich: Rich, binds: int, needed: int) -> Rich:
    return rich if binds >= needed else (*roman("("), *rich, *roman(")"))


def _decimal(value: Number) -> tuple[Rich, int]:
    """A number as it is written by hand, a power of ten with its exponent raised, and how tightly it binds."""
    if isinstance(value, bool):
        return roman("true" if value else "false"), _ATOM
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    digits, _, power = text.replace("-", "−").partition("e")
    sign = "−" if digits.startswith("−") else ""
    if not power:
        return roman(digits), 4 if sign else _ATOM
    ten = (*roman("10"), *raised(roman(power.replace("+", "").replace("−0", "−").lstrip("0"))))
    if digits in ("1", "−1"):
        return (*roman(sign), *ten), 4 if sign else 7
    return (*roman(f"{digits} · "), *ten), 4 if sign else 5


def applied(meaning: Meaning | None, formula: Symbolic, *, flipped: bool = False) -> Rich:
    """`x op formula` as it is written on an arrow: `× k^(-1/2)`, `+ 1`, `= 0`; empty where the op is no operator.

    flipped: the formula comes first.
    """
    sign, _ = (" ^ ", 0) if isinstance(meaning, Power) else _operator(meaning) or ("", 0)
    match meaning:
        case Quotient() if not flipped:
            return _over(formula)
        case Quotient() | Remainder() | Power() | Sum((1, -1)) | Compared() if flipped:
            return (*_tight(formula), *roman(f"{sign.rstrip()} ·"))
        case Product():
            return (*roman("× "), *_tight(formula, 5))
        case Sum((1, 1)) | Compared():
            return (*roman(f"{sign.strip()} "), *_tight(formula, 4))
        case Sum((1, -1)):
            return (*roman("− "), *_tight(formula, 5))
    return (*roman(f"{sign.strip()} "), *_tight(formula)) if sign else ()


def _over(divisor: Symbolic) -> Rich:
    """A division, as a factor where that reads well."""
    match divisor.meaning:
        case Function(power=float(power)) if power > 0:
            base, binds = _write(divisor.args[0])
            return joined((*roman("× "), *_closed(base, binds, _ATOM), _exponent(-power)))
        case _ if divisor.op == "size":
            return joined((*roman("× "), *_write(divisor)[0], _exponent(-1)))
        case _:
            return (*roman("÷ "), *_tight(divisor))


def _tight(formula: Symbolic, needed: int = 6) -> Rich:
    return joined(_closed(*_write(formula), needed))
