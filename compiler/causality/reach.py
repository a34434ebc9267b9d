"""What is known of a value in the proof of causality: above all its reach, which input items it depends on.

A *reach* is a set of upper bounds of input indices, along the family in question. A bound is a number in mixed radix
whose digits are the value's own axes plus an offset (one digit, until an axis is split).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...dsl.source import Span
from ..sizes.axes import Axis
from ..sizes.predicates import ALWAYS, Cases, Linear, over
from .leak import Trace


@dataclass(frozen=True, slots=True)
class Digit:
    """`axis + offset`; without an axis the largest index there is (`TOP`), or 0 (`ZERO`)."""

    axis: Axis | None
    offset: int = 0
    zero: bool = False


TOP = Digit(None)
ZERO = Digit(None, zero=True)
Bound = tuple[Digit, ...]
RIVALS = 8  # bounds kept that differ in the offsets of several digits alone
Reach = dict[Bound, Trace]


@dataclass(frozen=True, slots=True)
class Info:
    """What is known of a value: its reach; what holds where it is true or not zero, and where it is false; its form."""

    reach: Reach
    true: Cases = ALWAYS
    false: Cases = ALWAYS
    linear: Linear | None = None
    uppers: tuple[Linear, ...] = ()  # each is an upper bound of the value
    absolute: Linear | None = None  # the value is the absolute value of this
    extent: tuple[Axis, int] | None = None  # the value is the run-time size of this axis, plus a number
    never_negative: bool = False  # it is 0 or more, though not known: the number of a pass


def unite(*reaches: Reach) -> Reach:
    """All bounds; of two along the same digits only the larger, and of many one that is as large as they are."""
    out: Reach = {}
    alike: dict[object, list[Bound]] = {}
    for reach in reaches:
        for bound, trace in reach.items():
            rivals = alike.setdefault(tuple((d.axis, d.zero) for d in bound), [])
            if any(_at_most(bound, other) for other in rivals):
                continue
            if len(rivals) == RIVALS:
                bound = tuple(max(digits, key=lambda d: d.offset) for digits in zip(bound, *rivals, strict=True))
            for other in [other for other in rivals if _at_most(other, bound)]:
                rivals.remove(other)
                del out[other]
            rivals.append(bound)
            out[bound] = trace
    return out


def _at_most(a: Bound, b: Bound) -> bool:
    """Of two bounds along the same digits."""
    return all(x.offset <= y.offset for x, y in zip(a, b, strict=True))


def reach_of_everything(text: str, span: Span | None, *reaches: Reach, again: bool = False) -> Reach:
    """The reach of what may read every item, if it reads any of these."""
    found = [(max(digit.offset for digit in bound), trace) for reach in reaches for bound, trace in reach.items()]
    return {(TOP,): Trace(text, span, max(found, key=lambda item: item[0])[1], again=again)} if found else {}


def over_info(info: Info, names: Mapping[Axis, Axis]) -> Info:
    """The same in the axes on the other side of a block's border."""

    def digit(d: Digit) -> Digit:
        return Digit(names.get(d.axis, d.axis), d.offset, d.zero) if d.axis else d

    return Info(
        {tuple(map(digit, bound)): trace for bound, trace in info.reach.items()},
        over(info.true, names),
        over(info.false, names),
        info.linear.over(names) if info.linear else None,
        tuple(form.over(names) for form in info.uppers),
        info.absolute.over(names) if info.absolute else None,
        (names.get(info.extent[0], info.extent[0]), info.extent[1]) if info.extent else None,
        info.never_negative,
    )
