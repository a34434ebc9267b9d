"""Values brought from where they lie to where they are needed: by collectives, or by other names for their axes."""

from __future__ import annotations

from ...graph.nodes import Apply
from ...graph.traits import Anything, Arrange, IndexMap, OpCost
from ...graph.values import Value
from ...ops import op_reading
from ...sizes.axes import Axis
from ..placement import Placement
from ..sends import Collective, SendKind
from .growing import GrowingGraph


def between(a: Axis | None, b: Axis | None) -> SendKind:
    """What brings a value that is split along `a` to where it is split along another axis; None: whole."""
    if b is None:
        return SendKind.GATHER
    return SendKind.OWN if a is None else SendKind.EXCHANGE


def moved(
    here: GrowingGraph,
    value: Value,
    new: Value,
    have: Placement,
    need: Placement,
    entering: frozenset[int] = frozenset(),
    work: Placement = (),
) -> Value:
    """A value that lies at `have`, as `new`, where an op needs it that is split as `work`.

    entering: mesh axes along which it is whole, and used by parts.
    """
    for m, (a, b) in enumerate(zip(have, need, strict=True)):
        if a == b and m not in entering:
            continue
        have = (*have[:m], b, *have[m + 1 :])
        if value.type.broadcast_axes & {a, b}:
            new = _relabelled(here, value, new, have)
            continue
        kind = SendKind.ENTER if a == b else between(a, b)
        by_parts = kind is SendKind.GATHER and bool(work) and work[m] is not None
        key = (new.id, m, kind, b, by_parts)
        if key not in here.brought:
            op = collective(here, kind, m, value.id in here.graded, by_parts)
            here.brought[key] = send(here, op, new, here.new(value, have), (a, b))
        new = here.brought[key]
    return new


def _relabelled(here: GrowingGraph, value: Value, new: Value, place: Placement) -> Value:
    """The value with other axes where it is the same for all of their items: there is nothing to send."""
    key = (new.id, place)
    if key not in here.brought:
        out = here.new(value, place)
        pairs = [(a, b) for a, b in zip(new.type.axes, out.type.axes, strict=True) if a != b]
        axes, made = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        here.nodes.append(Apply(op_reading(Arrange(IndexMap.SAME)), (new,), out, axes, made, span=value.span))
        here.brought[key] = out
    return here.brought[key]


def collective(
    here: GrowingGraph, kind: SendKind, m: int, graded: bool, by_parts: bool = False, largest: bool = True
) -> Collective:
    along = here.places.mesh.axes[m].name
    return Collective(
        kind.value,
        reads=Anything(),
        cost=OpCost(work=0),
        kind=kind,
        mesh=m,
        along=along,
        graded=graded,
        by_parts=by_parts,
        largest=largest,
    )


def send(here: GrowingGraph, op: Collective, value: Value, out: Value, along: tuple[Axis | None, Axis | None]) -> Value:
    """The collective as a node. along: the axes that are split before it and behind it."""
    axes = tuple(axis for axis in along if axis is not None)
    here.nodes.append(Apply(op, (value,), out, axes, span=value.span))
    return out
