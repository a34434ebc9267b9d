"""What is taken for granted of the extents of axes: proved when the code is made, else checked when it runs.

An op wants extents that fit one another (`claim_of`), and a size that derives from others is a whole number from 0 up
(`quotients`, `at_least_0`). In a ragged batch the same holds of each example's own extents (rewrites/ragged.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...dsl.base.records import record
from ..sizes.arithmetic import at_most, difference, substitute
from ..sizes.axes import Arith, Axis, ConstOf, Literal, SizeOf, Static, known, once
from ..sizes.functions import OPERATIONS, Extreme, Function, Power, Product, Quotient, Remainder, Rounded, Sum
from ..sizes.polynomials import never_negative_of_none, poly
from .nodes import Apply
from .traits import Arrange, IndexMap

Claim = tuple[Static, str, Static]  # left, "==" or "<=", right


def claim_of(node: Apply) -> Claim | None:
    """What must hold for the op to have the result that the checker says it has."""
    match node.traits.reads:
        case Arrange(IndexMap.DIGITS):
            return SizeOf(node.axes[0]), "==", _joined("*", node.made)
        case Arrange(IndexMap.NUMBER):
            return SizeOf(node.made[0]), "==", _joined("*", node.axes)
        case Arrange(IndexMap.PARTS):
            return SizeOf(node.made[0]), "==", _joined("+", node.axes)
        case Arrange(IndexMap.SHIFTED):
            short, left = SizeOf(node.axes[0]), node.options["left"]
            return short if left == Literal(0) else Arith("+", (short, left)), "<=", SizeOf(node.made[0])
        case _:
            return None


def enough(node: Apply) -> Claim:
    """What holds where an op that ranks items has as many as it picks."""
    return SizeOf(node.made[0]), "<=", SizeOf(node.axes[0])


def _joined(op: str, axes: Sequence[Axis]) -> Static:
    whole: Static = SizeOf(axes[0])
    for axis in axes[1:]:
        whole = Arith(op, (whole, SizeOf(axis)))
    return whole


def holds(claim: Claim, axes: Mapping[Axis, Axis]) -> bool:
    """Whether it surely holds where a class is used with these axes in place of its own."""
    left, relation, right = claim
    own = {axis.id: other for axis, other in axes.items()}
    left, right = substitute(left, own, {}), substitute(right, own, {})
    gap = difference(left, right)
    if relation == "==" or not gap:
        return not gap
    # `at_most` takes it that there are items; of none the gap is what does not depend on a size.
    return at_most(left, right) and gap.get((), 0) <= 0


def demand_of(node: Apply, claim: Claim) -> str:
    """The message of a claim that does not hold: `{}` stands for what either side is."""
    left, relation, right = claim
    brackets = f"{', '.join(a.name for a in node.axes)} -> {', '.join(a.name for a in node.made)}"
    needs = f"{written(left, '|{}|')} {'=' if relation == '==' else 'at most'} {written(right, '|{}|')}"
    return f"{node.op}[{brackets}] needs {needs}, but these are {{}} and {{}}"


def quotients(size: Static) -> list[tuple[Static, Static]]:
    """Numerator and denominator of each division in a size that must be exact (D1), the innermost first."""
    match size:
        case Arith("//", args):
            return [pair for arg in args for pair in quotients(arg)] + [(args[0], args[1])]
        case Arith(_, args):
            return [pair for arg in args for pair in quotients(arg)]
        case _:
            return []


def at_least_0(size: Static, axes: Mapping[Axis, Axis]) -> bool:
    """Whether a size is surely not negative, also where there are no items; `axes` as in `holds`."""
    own = {axis.id: other for axis, other in axes.items()}
    return takes_nothing_away(size) or never_negative_of_none(poly(substitute(size, own, {})))


@once
def takes_nothing_away(size: Static) -> bool:
    """Whether a size is made of others in a way that is never negative, whatever these are."""
    match size:
        case SizeOf():
            return True
        case Literal(value):
            return value >= 0
        case Arith(meaning=Extreme(largest=True), args=args):
            return any(map(takes_nothing_away, args))
        case Arith(meaning=Power(), args=(base, _)):
            return takes_nothing_away(base)
        case Arith(meaning=Sum((1, 1)) | Product() | Quotient() | Remainder() | Extreme() | Rounded(), args=args):
            return all(map(takes_nothing_away, args))
        case Arith(meaning=Function(zero=True, rising=True), args=args):
            return all(map(takes_nothing_away, args))
        case _:
            return False


@record
class Restricted:
    """A part of a size that must be above 0, or not below it where `zero`. use: what the size does with it."""

    part: Static
    use: str
    zero: bool = False


def undefined(size: Static) -> list[Restricted]:
    """The parts of a size that not all numbers may be. A power may be a quotient, or a root."""
    match size:
        case Arith("/" | "%", (a, b)):
            return [*undefined(a), *undefined(b), Restricted(b, "divides by")]
        case Arith("^", (a, b)) if isinstance(power := known(b), int | float) and power < 0:
            return [*undefined(a), Restricted(a, "divides by")]
        case Arith("^", (a, b)) if isinstance(power := known(b), int | float) and power % 1:
            return [*undefined(a), Restricted(a, "takes the root of", zero=True)]
        case Arith(op, (a,)) if isinstance(function := size.meaning, Function) and function.above > -math.inf:
            part = a if function.above == 0 else Arith("-", (a, Literal(function.above)))
            use = f"takes the {OPERATIONS[op].noun or op} of"
            fits = function.closed and takes_nothing_away(a)
            return [*undefined(a), *([] if fits else [Restricted(part, use, function.closed)])]
        case Arith(_, args):
            return [part for arg in args for part in undefined(arg)]
        case _:
            return []


def no_number(axis: Axis, size: Static, below: Restricted) -> str:
    """The message of a size that is no number, for this part of it is what it must not be: `{}` stands for it."""
    return f"{axis.name} = {written(size)} {below.use} {written(below.part)}, which is {{}}"


def inexact(axis: Axis, quotient: tuple[Static, Static]) -> str:
    """The message of a division that leaves a remainder: `{}` stands for what either part is."""
    above, below = (written(part, level=_LEVELS["//"] + place) for place, part in enumerate(quotient))
    return f"{axis.name} = {above} / {below} does not divide: {{}} / {{}}"


def unlike(axis: Axis, size: Static, name: str) -> str:
    """The message of an input, of that name, that has another extent than the size: `{}` stands for each."""
    return f"`{name}` has {axis.name} = {{}}, but {axis.name} = {written(size)} is {{}}"


def negative(axis: Axis, size: Static) -> str:
    """The message of a size below 0: `{}` stands for it."""
    return f"{axis.name} = {written(size)} is {{}}"


def fraction(axis: Axis, size: Static) -> str:
    """The message of a size that is no whole number: `{}` stands for it."""
    return f"{axis.name} = {written(size)} is no whole number: {{}}"


_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "^": 4}
_NEGATED = 3


def written(size: Static, axis: str = "{}", level: int = 0) -> str:
    """A size as a declaration writes it; in brackets where it binds less than `level`."""
    match size:
        case Literal(value):
            return str(value).lower()
        case SizeOf(of):
            return axis.format(of.name)
        case ConstOf(const):
            return const.name
        case Arith(meaning=Sum((-1,)), args=(a,)):
            own = _NEGATED
            text = f"-{written(a, axis, own)}"
        case Arith(op, (a, b)) if op in _LEVELS:
            own = _LEVELS[op]
            text = f"{written(a, axis, own)} {op.replace('//', '/')} {written(b, axis, own + 1)}"
        case Arith(op, args):
            return f"{op}({', '.join(written(arg, axis) for arg in args)})"
    return f"({text})" if own < level else text
