"""Where a claim stands that is not proved.

The mistake stands where the last step of the path was taken; of an op with a mask, where that mask is made: in the
block of the op, or in one that calls it. So a mask turned round is underlined itself, however many blocks it went
through.
"""

from __future__ import annotations

from ...dsl.source import Span
from ..graph.nodes import Constant, Graph
from ..graph.values import Value
from ..problems.causality import Around, Trace


def leak_span(trace: Trace, claim: Span) -> Span:
    """Where the last step was taken, in the file of the claim; else the claim."""
    if trace.again and trace.before is not None:
        trace = trace.before
    span, via = trace.span, list(trace.via)
    mask = trace.node.mask if trace.node else None
    if mask is not None and trace.home is not None:
        span, via = _mask_origin(mask, trace.home, via)
    places = (span, *(node.span for node, _ in via))
    return next((place for place in places if place is not None and place.source is claim.source), claim)


def _mask_origin(mask: Value, graph: Graph, via: list[Around]) -> tuple[Span | None, list[Around]]:
    """Where a mask is made, and what is around there: one that a block is given, where its caller made it."""
    while via:
        number = next((n for n, entry in enumerate(graph.inputs) if entry.value.id == mask.id), None)
        if number is None:
            break
        (node, graph), *via = via
        mask = node.args[number]
    number_put_in = any(isinstance(node, Constant) and node.out.id == mask.id for node in graph.nodes)
    return (None if number_put_in else mask.span), via  # a default: the call that left it out
