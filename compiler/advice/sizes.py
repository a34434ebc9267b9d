"""Whether a graph can be compiled as it stands: every depth and every weight has a size.

A block may be checked and drawn with sizes left open (`block attend[q: width, k: width, d: depth]`); a program that
runs needs them (D1).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...dsl.errors import AttnError
from ..base.problems import Problem
from ..graph.nodes import Graph
from ..graph.sized import untold, weights_along
from ..problems.plain import Plain, PlainProblem
from ..problems.sizes import OpenWidth
from ..sizes.axes import Axis


def require_sizes(graph: Graph) -> None:
    """Raises AttnError that names each depth or const without a value, each width that no input has, and each weight
    along a width that is not bounded.
    """
    problems: list[Problem] = [*_open(graph)] or [*unsized_widths(graph)] or [*_unbounded(graph)]
    if problems:
        from ..hints.tell import tell

        raise AttnError([tell(problem) for problem in problems])


def unsized_widths(graph: Graph) -> Iterator[OpenWidth]:
    """A mistake for each free width whose size is needed, and which no input has."""
    for axis in untold(graph):
        yield OpenWidth(axis.span, graph.name, axis, _bracketed(graph, axis))


def _open(graph: Graph) -> Iterator[PlainProblem]:
    """Depths and consts without a value."""
    for axis in graph.axes:
        if not axis.is_width and axis.extent is None:
            yield Plain.OPEN_DEPTH.at(axis.span, axis.name, graph.name)
    for const in graph.consts:
        if const.value is None:
            yield Plain.OPEN_CONST.at(graph.span, const.name, graph.name)


def _unbounded(graph: Graph) -> Iterator[PlainProblem]:
    """Weights along a width that is not bounded: of each width the first."""
    seen = set[Axis]()
    for weight, axis in weights_along(graph):
        if axis.extent is None and axis.bound is None and axis not in seen:
            seen.add(axis)
            yield Plain.OPEN_WEIGHT.at(weight.span, weight.name, axis.name, there=axis.span)


def _bracketed(graph: Graph, axis: Axis) -> bool:
    """Whether an axis stands in the head of its block."""
    head, here = graph.span, axis.span
    return head is not None and here is not None and head.source is here.source and head.start <= here.start < head.end
