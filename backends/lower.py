"""The rewrites that code generation wants, in order, and what they do to captured values."""

from __future__ import annotations

from collections.abc import Callable

from ..compiler.graph import Graph
from ..compiler.rewrites import fold_truths, fuse_attention, place_masks, split_passes
from .capture import Captures, resolve

PASSES: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
    ("split_passes", split_passes),
    ("fold_truths", lambda graph: fold_truths(graph)[0]),
    ("fuse_attention", lambda graph: fuse_attention(graph)[0]),
    ("place_masks", lambda graph: place_masks(graph)),
)


def lower(graph: Graph, capture: tuple[str, ...] = ()) -> tuple[Graph, Captures]:
    """The graph as the backends emit it.

    What is captured stays visible: no fused op swallows it, and its paths stay as the spec has them, so that masks are
    made and passed on.
    """
    if not capture:
        for _, rewrite in PASSES:
            graph = rewrite(graph)
        return graph, Captures()
    graph, _ = fold_truths(graph)
    wanted = resolve(graph, capture)
    keep: dict[int, set[int]] = {}
    for found in wanted.values():
        keep.setdefault(id(found.graph), set()).add(found.value.id)
    frozen = {key: frozenset(values) for key, values in keep.items()}
    graph, replaced = fuse_attention(graph, frozen)
    marks = {id(replaced[key]): values for key, values in frozen.items()}
    return graph, Captures(wanted, marks, replaced)
