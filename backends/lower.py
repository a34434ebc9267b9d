"""The rewrites that code generation wants, in order, and what they do to captured values."""

from __future__ import annotations

from ..compiler.graph import Graph
from ..compiler.rewrites import fold_truths, fuse_attention, place_masks, split_passes
from .capture import Captures, resolve


def lower(graph: Graph, capture: tuple[str, ...] = ()) -> tuple[Graph, Captures]:
    """The graph as the backends emit it. What is captured stays visible: no fused op swallows it, masks are made."""
    if not capture:
        graph, _ = fold_truths(split_passes(graph))
        graph, _ = fuse_attention(graph)
        return place_masks(graph), Captures()
    graph, _ = fold_truths(graph)
    wanted = resolve(graph, capture)
    keep: dict[int, set[int]] = {}
    for found in wanted.values():
        keep.setdefault(id(found.graph), set()).add(found.value.id)
    frozen = {key: frozenset(values) for key, values in keep.items()}
    graph, replaced = fuse_attention(graph, frozen)
    marks = {id(replaced[key]): values for key, values in frozen.items()}
    return graph, Captures(wanted, marks, replaced)
