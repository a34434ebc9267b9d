"""The model with what is picked computed alone, before it is split over devices."""

from __future__ import annotations

from ...graph.nodes import Graph
from ...rewrites.dispatch.rows import dispatch
from ...rewrites.simplify.constants import fold_truths
from ...rewrites.simplify.inline import inline


def dispatched(graph: Graph) -> Graph:
    """The graph with rows where experts are picked; the very graph where none are."""
    plain = inline(fold_truths(graph)[0])  # what the rewrite looks for is plain then
    found = dispatch(plain)
    return graph if found is plain else found
