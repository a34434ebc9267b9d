"""A part with weights that is named as a function of decoding is: it takes decoding away from its model (W0514)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...dsl.source import Span
from ..base.names import METHODS
from ..graph.nodes import Apply, Call, Graph, Parameter, Repeat, Scan, children, owns
from ..problems.plain import Plain, PlainProblem


def why_no_step(graph: Graph) -> str:
    """Why a causal model has no step, where a part of it is in the way; "" where none is, or it is not causal."""
    part = taken(graph)
    if part is None:
        return ""
    from ..hints.tell import tell

    return f"{tell(part).message}: give it another name or label"


def taken_step(graph: Graph) -> Iterator[PlainProblem]:
    """The part, if there is one, of a model."""
    part = taken(graph)
    if part is not None:
        yield part


def taken(graph: Graph) -> PlainProblem | None:
    """The part that takes decoding away from a causal model."""
    part = _named_as_function(graph) if any(output.causal for output in graph.outputs) else None
    return None if part is None else Plain.PART_TAKES_STEP.at(part[1], graph.name, part[0], there=graph.span)


def _named_as_function(graph: Graph) -> tuple[str, Span | None] | None:
    """The name of a part with weights that is one of these functions' too, and where it stands."""
    for node in graph.nodes:
        match node:
            case Call(name="") | Scan(name=""):  # a model, whose parts stand beside those of its caller
                inside = _named_as_function(node.graph)
                if inside is not None:
                    return inside
                continue
            case Apply(name=str(name), span=span):
                pass
            case Call(name=name, span=span) | Scan(name=name, span=span) | Repeat(name=name, span=span) if any(
                map(owns, children(node))
            ):
                pass
            case Parameter(weight=weight, out=out):
                name, span = weight.name.split(".")[0], out.span
            case _:
                continue
        if name in METHODS:
            return name, _head(span, name)
    return None


def _head(span: Span | None, name: str) -> Span | None:
    """The name itself where it stands, else the first line of it all: a call may be long."""
    if span is None:
        return None
    found = re.search(rf"\b{name}\b", span.text)
    first = span.text.partition("\n")[0]
    start, end = found.span() if found else (0, len(first))
    return Span(span.source, span.start + start, span.start + end)
