"""The type that is written for a value, and the one it has."""

from __future__ import annotations

from ....dsl.source import Span
from ...graph.typed_value import TypedValue, fits
from ...graph.values import Type
from ...problems.axes import Namesakes
from ...problems.results import OtherResult, OtherType
from ..environment import Environment


def expected(
    env: Environment,
    wire: TypedValue,
    wanted: Type,
    span: Span,
    wanted_span: Span,
    name: str,
    of_block: bool | None = None,
) -> bool:
    """Whether the value has the type that is written for it (lifted axes apart). of_block: that of a result, which
    may have no name but that of the block.
    """
    lifted = set(env.signature.lifted)
    free = lifted | wire.type.broadcast_axes  # the written type may have a broadcast axis or not
    have = [axis for axis in wire.type.axes if axis not in free or axis in wanted.axes]
    lacks = set(wanted.axes) - set(have)
    # Where the block was checked alone, its written types are right: an axis is lacking since an argument lacks it.
    called = env.block in env.checker.alone
    same = set(have) <= set(wanted.axes) and (called or not lacks) and fits(wire.element, wanted.element)
    twins = [(a, b) for a in wanted.axes for b in have if a.name == b.name and a != b]
    around = env.surroundings if not same else None
    if twins and not same:
        env.problems.add(Namesakes(span, *twins[0], ((wanted_span, wanted),)))
    elif around is not None and of_block is None:
        env.problems.add(OtherType(span, name, wire, wanted, wanted_span, around))
    elif around is not None and of_block is not None:
        env.problems.add(OtherResult(span, name, wire, wanted, wanted_span, around, of_block))
    return same
