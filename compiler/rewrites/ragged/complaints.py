"""What the checker says of ragged widths in a graph: ops that mix padding in, and masks by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.nodes import Apply, Call, Graph, Repeat, Scan
from ...graph.traits import Arrange, Conjunction, Gather, IndexMap, Pointwise
from ...graph.values import Scalar
from ...problems.plain import Plain, PlainProblem
from ...sizes.arithmetic import with_parts
from .widths import pad_ragged


def complaints(graph: Graph) -> list[Problem]:
    """Of one model or block with ragged widths: ops that cannot leave padding out, and masks that do so by hand."""
    if not any(axis.ragged for axis in graph.axes):
        return []
    padded, problems = pad_ragged(graph)
    lengths = {entry.length_of.family: entry.name for entry in padded.inputs if entry.length_of is not None}
    return [*problems, *_by_hand(graph, lengths)]


def _by_hand(graph: Graph, lengths: Mapping[int, str]) -> Iterator[PlainProblem]:
    """Warnings for inputs of a model that say for each item of a ragged width whether it is real.

    lengths: the inputs that do say it, by the family of their width. A derived width is ragged if a part of it is.
    """
    for entry in graph.inputs if graph.kind == "model" else ():
        axes = entry.value.type.axes
        if entry.value.type.element is not Scalar.BOOL or len(axes) != 1:
            continue
        parts = {part.family for part in with_parts({axes[0]})}
        names = [name for family, name in lengths.items() if family in parts]
        if not names:
            continue
        place = next(_masks(graph, {entry.value.id}), None)
        if place is not None:
            yield Plain.MASKED_BY_HAND.at(entry.value.span, entry.name, axes[0], tuple(names), there=place)


def _masks(graph: Graph, tainted: set[int]) -> Iterator[Span | None]:
    """Places where a mask keeps only what one of these values keeps."""
    for node in graph.nodes:
        match node:
            case Apply():
                if node.mask is not None and node.mask.id in tainted:
                    yield node.span
                if _keeps_less(node) and any(value.id in tainted for value in node.operands):
                    tainted.add(node.out.id)
            case Call() | Scan():
                yield from _masks(node.graph, _inside(node.graph, node, tainted))
            case Repeat():
                for body in node.bodies:
                    yield from _masks(body, _inside(body, node, tainted))
            case _:
                pass


def _keeps_less(node: Apply) -> bool:
    """Whether a mask made of others keeps nothing that one of them does not."""
    match node.traits.reads:
        case Pointwise(Conjunction()) | Gather() | Arrange(IndexMap.SAME | IndexMap.NEW):
            return True
        case _:
            return False


def _inside(graph: Graph, node: Call | Scan | Repeat, tainted: set[int]) -> set[int]:
    """The inputs of a nested graph that are given one of these values."""
    return {entry.value.id for entry, arg in zip(graph.inputs, node.args, strict=False) if arg.id in tainted}
