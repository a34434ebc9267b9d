"""What sizes and other numbers reveal: a size known only at run time says how many items come after."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...dsl.base.records import record
from ...dsl.source import Span
from ..graph.nodes import Call, Scan
from ..graph.values import Value
from ..problems.causality import Trace
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, Const, Number, SizeOf, Static, axes_in, consts_in, known
from ..sizes.forms import LinearForm
from ..sizes.limits import TooMuch
from ..sizes.predicates import ALWAYS, NEVER
from .reach import TOP, Info, Reach, exact, reach_of_everything

FINEST = 1024  # the parts of a whole that a number may have


@record
class CallerSizes:
    """What is known of the sizes that the callers of a graph give its axes and consts.

    families:  of the axes whose run-time size reveals how many items there are.
    consts:    those without a value, each with its number in terms of the outermost graph.
    revealing: those that stand for a run-time size, which reveals how many items there are.
    claimed:   the families of the axis that is claimed, and of what stands for it in the graph.
    """

    families: frozenset[int] = frozenset()
    consts: frozenset[tuple[Const, Static]] = frozenset()
    revealing: frozenset[Const] = frozenset()
    claimed: frozenset[int] = frozenset()

    def inside(self, node: Call | Scan) -> CallerSizes:
        """The same for the graph that is called here."""
        families = {formal.family for formal, actual in node.axes if reveals_length(actual, self)}
        families |= {axis.family for axis in node.graph.lifted if reveals_length(axis, self)}
        open = [(formal, static) for formal, static in node.consts if formal.value is None]
        consts = frozenset((formal, found) for formal, static in open if (found := self.outermost(static)) is not None)
        revealing = frozenset(formal for formal, static in open if reach_of_number(static, None, self))
        claimed = {formal.family for formal, actual in node.axes if actual.family in self.claimed}
        claimed |= {axis.family for axis in node.graph.lifted if axis.family in self.claimed}
        return CallerSizes(frozenset(families), consts, revealing, frozenset(claimed))

    def outermost(self, static: Static) -> Static | None:
        """A number with the numbers of its consts put in; None if that is too long to reason with."""
        try:
            return substitute(static, {}, {const.id: number for const, number in self.consts})
        except TooMuch:
            return None


def reveals_length(axis: Axis, sizes: CallerSizes) -> bool:
    """Whether the number of an axis's items grows with the input, so that it reveals how many come after."""
    seen, left = {axis}, [axis]
    while left:
        part = left.pop()
        if part.is_width and part.extent is None:
            if part.family in sizes.families or (part.size and sizes.revealing.intersection(consts_in(part.size))):
                return True
            parts = set() if part.size is None else {*axes_in(part.size)} - seen
            seen |= parts
            left += parts
    return False


def reach_of_anything(
    text: str, span: Span | None, infos: Iterable[Info], values: Iterable[Value], sizes: CallerSizes
) -> Reach:
    """The reach of what may read any item of these values, and may reveal how many there are."""
    read = reach_of_everything(text, span, *(info.reach for info in infos))
    reveals = any(reveals_length(axis, sizes) for value in values for axis in value.type.axes)
    return read if read or not reveals else {TOP: Trace(text, span, None)}


def reach_of_number(value: Static, span: Span | None, sizes: CallerSizes) -> Reach:
    """The reach of a number: a size known only at run time reveals how many items there are."""
    reveals = any(reveals_length(axis, sizes) for axis in axes_in(value))
    if known(value) is not None or not (reveals or sizes.revealing.intersection(consts_in(value))):
        return {}
    shown = f"|{axes_in(value)[0].name}|" if isinstance(value, SizeOf) else "a size"
    return {TOP: Trace(f"{shown} tells how many items there are", span, None)}


def _is_exact(number: Number | None) -> bool:
    """Whether what is computed with it in float32 says what it says exactly: 2.5 does, 0.9999999 may not."""
    if not isinstance(number, float):
        return True
    return math.isfinite(number) and number.as_integer_ratio()[1] <= FINEST


def constant_info(value: Static, out: Value, sizes: CallerSizes) -> Info:
    number, whole = known(value), sizes.outermost(value)
    true = NEVER if number is not None and not number else ALWAYS
    false = NEVER if number else ALWAYS
    reach = reach_of_number(value, out.span, sizes)
    if whole is None or isinstance(number, bool) or not _is_exact(number):
        return Info(reach, true, false)
    return exact(LinearForm.static(whole), reach, true, false)
