"""Values brought from where they lie to where they are needed: by collectives, or by other names for their axes."""

from __future__ import annotations

from ...graph.nodes import Apply
from ...graph.traits import Anything, Arrange, IndexMap, OpCost
from ...graph.values import Value
from ...ops import op_reading
from ...sizes.axes import Axis, Literal, Static
from ..placement import BATCH_AXIS, Placement
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
    whole = _whole_between(have, need)
    if whole != need:
        apart = tuple(axis if need[m] == whole[m] else None for m, axis in enumerate(work))
        new = moved(here, value, new, have, whole, frozenset(), apart)
        have = whole
    left = [m for m, (a, b) in enumerate(zip(have, need, strict=True)) if a is not None and a != b]
    for m in (*reversed(left), *(m for m in range(len(need)) if m not in left)):
        a, b = have[m], need[m]
        if a == b and m not in entering:
            continue
        before, have = have, (*have[:m], b, *have[m + 1 :])
        if value.type.broadcast_axes & {a, b}:
            new = _relabelled(here, value, new, have)
            continue
        kind = SendKind.ENTER if a == b else between(a, b)
        graded, at_last = value.id in here.graded, m in here.places.at_last(value)
        by_parts = kind is SendKind.GATHER and (at_last or (bool(work) and work[m] is not None))
        by_parts = graded and (by_parts or (kind is SendKind.OWN and at_last))
        key = (new.id, m, kind, b, by_parts)
        if key not in here.brought:
            op = collective(here, kind, m, graded, by_parts)
            given = here.places.local([a], before) if a is not None and b is not None else ()
            here.brought[key] = send(here, op, new, here.new(value, have), (a, b), given)
        new = here.brought[key]
    return new


def _whole_between(have: Placement, need: Placement) -> Placement:
    """Where a value has to be on the way. Parts of an axis lie one within another, by mesh axes in their order: what is
    within parts that change is put together first, and parts are made within parts that are there.
    """
    found = list(need)
    for m, axis in enumerate(need):
        if axis is None or axis == BATCH_AXIS:
            continue
        before = [(a, b) for a, b in zip(have[:m], need[:m], strict=True) if a != b]
        kept = axis == have[m] and any(axis in (a, b) for a, b in before)
        if kept or (have[m] not in (None, axis) and any(axis == b for _, b in before)):
            found[m] = None
    return tuple(found)


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


def send(
    here: GrowingGraph,
    op: Collective,
    value: Value,
    out: Value,
    along: tuple[Axis | None, Axis | None],
    given: tuple[Axis, ...] = (),
) -> Value:
    """The collective as a node. along: the axes that are split before it and behind it; given: of one that exchanges
    them what the value has of the first.
    """
    axes = tuple(axis for axis in along if axis is not None)
    here.nodes.append(Apply(op, (value,), out, axes, given, options=told_apart(op), span=value.span))
    return out


def told_apart(op: Collective) -> dict[str, Static]:
    """Collectives of one name that are not the same differ by these options of theirs."""
    return {"mesh": Literal(op.mesh), "by_parts": Literal(op.by_parts), "largest": Literal(op.largest)}
