"""What sizes and other numbers tell: a size that only a run knows says how many items come after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...dsl.source import Span
from ..graph.nodes import Call, Scan
from ..graph.values import Value
from ..sizes.arithmetic import never_negative, poly, substitute
from ..sizes.axes import Arith, Axis, Const, Literal, SizeOf, Static, axes_in, consts_in, known
from ..sizes.limits import TooMuch
from ..sizes.predicates import ALWAYS, NEVER, Linear
from .leak import Trace
from .reach import TOP, Info, Reach, everything


@dataclass(frozen=True, slots=True)
class Given:
    """What the axes and consts of a graph stand for where it is called.

    families: of the axes whose run-time size tells how many items there are.
    consts:   those without a value, each with what it is given in terms of the outermost graph.
    telling:  those that are given a run-time size, which tells how many items there are.
    wanted:   the axis that a bound is wanted of, where what is left out of a sum has several.
    """

    families: frozenset[int] = frozenset()
    consts: frozenset[tuple[Const, Static]] = frozenset()
    telling: frozenset[Const] = frozenset()
    wanted: Axis | None = None

    def inside(self, node: Call | Scan) -> Given:
        """The same for the graph that is called here."""
        families = {formal.family for formal, actual in node.axes if counts(actual, self)}
        families |= {axis.family for axis in node.graph.lifted if counts(axis, self)}
        open = [(formal, static) for formal, static in node.consts if formal.value is None]
        consts = frozenset((formal, found) for formal, static in open if (found := self.outermost(static)) is not None)
        telling = frozenset(formal for formal, static in open if counted(static, None, self))
        wanted = next((formal for formal, actual in node.axes if actual == self.wanted), None)
        return Given(frozenset(families), consts, telling, self.wanted if self.wanted in node.graph.lifted else wanted)

    def outermost(self, static: Static) -> Static | None:
        """A number with what its consts are given put in; None if that is too long to reason with."""
        try:
            return substitute(static, {}, {const.id: given for const, given in self.consts})
        except TooMuch:
            return None


def counts(axis: Axis, given: Given) -> bool:
    """Whether the number of an axis's items grows with the input's: who knows it knows how many come after."""
    seen, left = {axis}, [axis]
    while left:
        part = left.pop()
        if part.is_width and part.extent is None:
            if part.family in given.families or (part.size and given.telling.intersection(consts_in(part.size))):
                return True
            parts = set() if part.size is None else {*axes_in(part.size)} - seen
            seen |= parts
            left += parts
    return False


def anything(text: str, span: Span | None, infos: Iterable[Info], values: Iterable[Value], given: Given) -> Reach:
    """What may read any item of these values, and may tell how many there are."""
    read = everything(text, span, *(info.reach for info in infos))
    tells = any(counts(axis, given) for value in values for axis in value.type.axes)
    return read if read or not tells else {(TOP,): Trace(text, span, None)}


def _extent(size: Static) -> tuple[Axis, int] | None:
    """`(axis, n)` if this is `|axis| + n`."""
    match size:
        case SizeOf(axis):
            return axis, 0
        case Arith("+" | "-" as op, (first, Literal(int() as number))):
            found = _extent(first)
            return None if found is None else (found[0], found[1] + (number if op == "+" else -number))
        case _:
            return None


def counted(value: Static, span: Span | None, given: Given) -> Reach:
    """What a number tells: a size that is known at run time only says how many items there are."""
    told = any(counts(axis, given) for axis in axes_in(value)) or given.telling.intersection(consts_in(value))
    if known(value) is not None or not told:
        return {}
    shown = f"|{axes_in(value)[0].name}|" if isinstance(value, SizeOf) else "a size"
    return {(TOP,): Trace(f"{shown} tells how many items there are", span, None)}


def constant_info(value: Static, out: Value, given: Given) -> Info:
    number = known(value)
    if reach := counted(value, out.span, given):
        return Info(reach, extent=_extent(value))
    form = Linear((), number) if isinstance(number, int) and not isinstance(number, bool) else None
    true = NEVER if number is not None and not number else ALWAYS
    false = NEVER if number else ALWAYS
    whole = given.outermost(value) if number is None else None
    open = whole is not None and never_negative(poly(whole))
    return Info({}, true, false, form, (form,) if form else (), extent=_extent(value), never_negative=open)
