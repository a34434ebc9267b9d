"""Attention over keys of many devices as a ring: each device has one device's keys at a time, and of these only such as
its mask can let it see.

Found in the graph of one device where the keys and the values of an attention are gathered along a mesh axis that
splits its queries. What it computes stays the same: the gathers may as well stay, and do where scores have a bias or
weights are dropped at random, and where queries or keys are split by another mesh axis, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...graph.core.index import Index, index_of
from ...graph.nodes import Apply, Graph
from ...graph.term import leaves
from ...graph.traits import Anything, OpCost
from ...rewrites.kernels.attention import fuse_attention
from ...rewrites.kernels.place_masks import place_masks
from ...rewrites.simplify.constants import fold_truths
from ...rewrites.simplify.dead import alive
from ...rewrites.simplify.numbers import fold_numbers
from ...rewrites.tools.walk import Walk, with_nodes
from ...sizes.axes import Axis, Literal
from ..sends import Collective, RingAttention, SendKind
from ..spread.placing import PartsOfAxes

NONE = Literal(0), Literal(0.0)
COST = OpCost(saves=("x", "result"), spare=0)


def with_rings(graph: Graph, parts: PartsOfAxes) -> Graph:
    """The graph of one device with attention as rings, where that is possible. parts: of axes that it has."""
    by = {part: by for (axis, by), part in parts.made.items() if axis.is_width}
    if not by:
        return graph
    # what adds 0 goes first, as before other fusing: it is no bias
    fused, _ = fuse_attention(fold_numbers(fold_truths(graph)[0]))
    return Walk(lambda _, new: _rings(new, by))(place_masks(fused))


def _rings(graph: Graph, by: Mapping[Axis, tuple[int, ...]]) -> Graph:
    nodes = [_ring(node, index_of(graph), by) or node if isinstance(node, Apply) else node for node in graph.nodes]
    found = with_nodes(graph, nodes)
    return graph if found is graph else alive(found)


def _ring(node: Apply, index: Index, by: Mapping[Axis, tuple[int, ...]]) -> Apply | None:
    """The ring in place of an attention, if its keys and values are gathered for it."""
    if node.op != "attention" or node.options.get("p", NONE[0]) not in NONE or "cap" in node.options:
        return None
    data = len(leaves(node.seen.term)) if node.seen is not None else 0
    if len(node.operands) != 3 + data:  # it has a bias
        return None
    Q, K, V, *rest = node.operands
    q, k = node.made[0], node.axes[1]
    keys, values = (_gathered(index.op(x), k, by.get(q)) for x in (K, V))
    if keys is None or values is None:
        return None
    op = keys.traits
    assert isinstance(op, Collective)
    ring = RingAttention("ring_attention", reads=Anything(), cost=COST, mesh=op.mesh, along=op.along, graded=op.graded)
    operands = (Q, *keys.operands, *values.operands, *rest)
    return replace(node, traits=ring, operands=operands, options={"scale": node.options["scale"]})


def _gathered(node: Apply | None, k: Axis, by: tuple[int, ...] | None) -> Apply | None:
    """What gathered a value along this axis, along the one mesh axis that splits the queries."""
    match node:
        case Apply(traits=Collective(kind=SendKind.GATHER, mesh=mesh), axes=axes) if axes == (k,) and by == (mesh,):
            return node
        case _:
            return None
