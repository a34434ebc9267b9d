"""What to remember: a minimum cut between the new items and what is demanded for a visible range.

Each value demanded for a visible range is remembered, at the cost of its floats for each item, or made anew for the
range at every step, which costs a little for what is done pointwise and more for a product. So keys are cached after
their rotation and before they are spread over the queries that share them, and where keys and values come from a latent
that takes less than half of their room, the latent is.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

from ..graph.nodes import Apply
from ..graph.traits import Arrange, IndexMap, OpTraits, Reduce
from ..graph.values import Role, Scalar
from .demand import DemandAnalysis
from .sites import Cell

SCALE = 100
GUESS = 1 << 14  # for a width whose extent is known at run time only


def floats(cell: Cell) -> int:
    """What an item of the value takes, in floats times SCALE, over all passes of the repeats around it."""
    sizes = [axis.extent or GUESS for axis in cell.value.type.axes if axis not in cell.axes]
    sizes = [1 if axis in cell.value.type.broadcast_axes else size for axis, size in
             zip([a for a in cell.value.type.axes if a not in cell.axes], sizes, strict=True)]  # fmt: skip
    weight = SCALE // 4 if cell.value.type.element is Scalar.BOOL else SCALE
    return math.prod(sizes) * weight * cell.site.passes


def recompute_cost(cell: Cell) -> int:
    """What it costs to make it anew for the whole range at every step, on the same scale."""
    node = cell.node
    if not isinstance(node, Apply):
        return 0 if node is None else floats(cell) // 4
    match node.traits:
        case OpTraits(random=True):  # left out in a step
            return 0
        case OpTraits(reads=Arrange(IndexMap.SAME | IndexMap.NEW | IndexMap.DIGITS | IndexMap.NUMBER)):  # no copy
            return 0
        case OpTraits(reads=Reduce(multiplies=True)):
            heavy = bool(node.weights) or any(v.role is Role.WEIGHT for v in node.operands)
        case _:
            heavy = False
    return floats(cell) * (55 if heavy else 5) // 100


def remembered(analysis: DemandAnalysis) -> set[Cell]:
    """The cells to remember, of those that the walk found demanded for a visible range."""
    cells = list(analysis.made_of)
    source, sink = -1, -2
    flow: dict[int, dict[int, int]] = {source: {}, sink: {}}
    endless = 1 + sum(floats(cell) + recompute_cost(cell) for cell in cells)
    number = {cell: place for place, cell in enumerate(cells)}

    def edge(a: int, b: int, size: int) -> None:
        flow.setdefault(a, {})
        flow.setdefault(b, {})
        flow[a][b] = min(flow[a].get(b, 0) + size, endless)
        flow[b].setdefault(a, 0)

    for cell, place in number.items():
        made_of = analysis.made_of[cell]
        kept, ready = 2 * place, 2 * place + 1  # nodes of the flow: its new items; its whole range
        edge(kept, ready, endless if cell in analysis.unsettled else max(floats(cell), 1))
        edge(source, kept, endless if made_of is None else recompute_cost(cell))
        for operand in made_of or ():
            edge(2 * number[operand] + 1, kept, endless)
        if cell in analysis.sinks:
            edge(ready, sink, endless)
    _saturate(flow, source, sink)
    near = _reachable(flow, source)
    return {cell for cell, place in number.items() if 2 * place in near and 2 * place + 1 not in near}


def _reachable(flow: dict[int, dict[int, int]], source: int) -> dict[int, int]:
    """The nodes that still have capacity from the source, each with its distance in edges."""
    level = {source: 0}
    queue = deque([source])
    while queue:
        at = queue.popleft()
        for to, room in flow[at].items():
            if room > 0 and to not in level:
                level[to] = level[at] + 1
                queue.append(to)
    return level


def _saturate(flow: dict[int, dict[int, int]], source: int, sink: int) -> None:
    """Maximum flow: all shortest paths at once, as long as there are any (Dinitz 1970)."""
    while sink in (level := _reachable(flow, source)):
        onward = {at: [to for to in flow[at] if level.get(to) == depth + 1] for at, depth in level.items()}
        path = [source]
        while path:
            at = path[-1]
            if at == sink:
                edges = list(pairwise(path))
                room = min(flow[a][b] for a, b in edges)
                for a, b in edges:
                    flow[a][b] -= room
                    flow[b][a] += room
                path = [source]
                continue
            while onward[at] and not flow[at][onward[at][-1]]:
                onward[at].pop()
            if onward[at]:
                path.append(onward[at][-1])
            else:
                path.pop()
                if path:
                    onward[path[-1]].pop()
