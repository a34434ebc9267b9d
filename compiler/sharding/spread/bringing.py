"""A value of the whole model's graph where an op needs it."""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply
from ...graph.values import Value
from ..placement import Placement
from .free import made
from .growing import GrowingGraph
from .moving import moved


def bring(here: GrowingGraph, value: Value, need: Placement, work: Placement) -> Value:
    """An old value where an op needs it that is split as `work`."""
    graded = value.id in here.graded
    entering = frozenset(m for m, axis in enumerate(need) if graded and axis is None and work[m] is not None)
    entering -= here.places.at_last(value)
    here.uses.setdefault(value.id, set()).add((need, entering))
    if value.id in here.free:
        return made(here, value, need)
    new, have = here.now[value.id]
    entering -= here.entered.get(value.id, frozenset())
    entering = frozenset(m for m in entering if have[m] is None)
    if entering and have == need and isinstance(node := here.makers.get(value.id), Apply):
        return _rearranged(here, node, need, work, entering)
    return moved(here, value, new, have, need, entering, work)


def _rearranged(here: GrowingGraph, node: Apply, need: Placement, work: Placement, entering: frozenset[int]) -> Value:
    """What only arranges another value: its gradient is summed with that of the other's other uses."""
    key = (node.out.id, entering)
    if key not in here.brought:
        first = node.operands[0]
        have = here.now[first.id][1]
        inner = bring(here, first, have, work)
        out = here.new(node.out, need)
        axes, behind = here.places.local(node.axes, have), here.places.local(node.made, need)
        here.nodes.append(replace(node, operands=(inner,), axes=axes, made=behind, out=out))
        here.brought[key] = out
    return here.brought[key]
