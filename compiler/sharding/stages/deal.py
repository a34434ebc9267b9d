"""Which passes each stage of a pipeline has: those in a row, so that the stage that has most to do has least."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ...cost.bill import sized
from ...cost.polynomials.polynomial import Poly
from ...cost.scope import SizeScope
from ...cost.work import BATCH as ONE_BATCH
from ...cost.work import Meter
from ...graph.nodes import Call, Repeat
from ..choose import multiplied
from .row import NodeRow, Path


def work(row: NodeRow) -> list[float]:
    """What is multiplied in each node of the row, for one item of the batch, at the sizes of the spec; free widths are
    at their bounds, or as a bill takes them: so the same, wherever the model is used.
    """
    scope, values, _ = sized(row.root)
    scopes: dict[Path, SizeScope] = {(): scope}
    for path in row.graphs:  # callers come first
        if path:
            call = row.graphs[path[:-1]].nodes[path[-1]]
            assert isinstance(call, Call)
            scopes[path] = scopes[path[:-1]].inside(call)
    found = []
    for one in row.nodes:
        meter = Meter(scopes[one.path], 2, {**values, ONE_BATCH: 1})
        if isinstance(one.node, Repeat) and one.number is not None:
            turn = Meter(meter.scope.turn(one.node.index, Poly.of(one.number)), 2, meter.values)
            found.append(multiplied(one.node.bodies[one.node.runs(one.number)].nodes, turn, 1))
        else:
            found.append(0.0 if one.anew else multiplied((one.node,), meter, 1))
    return found


def dealt(row: NodeRow, stages: int) -> list[int]:
    """The stage of each pass, in order. What stands between passes counts with the next, and at last with the last."""
    costs, ahead = [], 0.0
    for one, cost in zip(row.nodes, work(row), strict=True):
        ahead += cost
        if one.number is not None:
            costs.append(ahead)
            ahead = 0.0
    costs[-1] += ahead
    if not any(costs):
        costs = [1.0] * len(costs)
    sizes = balanced(costs, stages)
    return [stage for stage, size in enumerate(sizes) for _ in range(size)]


def balanced(costs: Sequence[float], groups: int) -> list[int]:
    """How many of the costs, in a row, each of so many groups has: the largest sum is the least that can be, and the
    groups are as even as they can be then. There are as many costs as groups, or more.
    """
    sums = [0.0, *accumulate(costs)]

    def best(limit: float, worst: bool) -> tuple[float, list[int]] | None:
        """worst: what counts is the largest sum, not all of their squares."""
        found: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]  # for each end the value, and where the group began
        for group in range(groups):
            here: dict[int, tuple[float, int]] = {}
            for start, (value, _) in found[-1].items():
                for end in range(start + 1, len(costs) - (groups - group - 1) + 1):
                    own = sums[end] - sums[start]
                    if own > limit:
                        break
                    total = max(value, own) if worst else value + own * own
                    if end not in here or total < here[end][0]:
                        here[end] = total, start
            found.append(here)
        if len(costs) not in found[-1]:
            return None
        end, sizes = len(costs), []
        for ends in reversed(found[1:]):
            start = ends[end][1]
            sizes.append(end - start)
            end = start
        return found[-1][len(costs)][0], sizes[::-1]

    least = best(float("inf"), True)
    assert least is not None
    even = best(least[0] * (1 + 1e-9), False)
    assert even is not None
    return even[1]
