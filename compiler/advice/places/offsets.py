"""Offsets to scores, and rows of tables, that say nothing of places (W0526).

An offset to scores that is the same for all keys of a query adds nothing to a softmax; one that rises with the distance
is ALiBi (Press et al. 2022) with the wrong sign; and a table is in vain if all pairs that may look read one row of it.

ALiBi's sign: pull request 86 of meta-pytorch/attention-gym.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.kept import kept
from ...graph.nodes import Apply, Graph, nested
from ...graph.traits import Gather, Normalise, Quotient, Sum
from ...graph.values import Role, Value
from ...problems.plain import Plain
from ...sizes.axes import Axis
from .concrete import GraphRun, Point, Tired, sized
from .tables import by_place, is_written, meets_places, widths

FAR = 4096  # a size at which buckets of distances differ


def offsets(graph: Graph) -> Iterator[Problem]:
    """What is added to scores, or to items, in a graph and all that it calls, and tells no place."""
    for each in nested(graph):
        yield from _first_places(each)
    if not _adds_places(graph):
        return
    try:
        far = next(sized(graph, range(FAR, FAR + 200)), None)
        if far is not None:
            yield from _offsets(graph, far)
    except (Tired, RecursionError):
        return


@kept
def _adds_places(graph: Graph) -> bool:
    return meets_places(graph, _adds)


def _adds(node: Apply) -> bool:
    """Whether numbers of places are added, or say which row of a table is meant."""
    if isinstance(node.traits.meaning, Sum):
        return any(map(by_place, node.operands))
    index = node.operands[1] if isinstance(node.traits.reads, Gather) else None
    return index is not None and index.role is Role.TABLE and len(widths(index)) > 1


class _Summand(NamedTuple):
    """A number of places that is added to scores, or the index of a row that is."""

    frame: GraphRun
    value: Value
    number: float
    rows: int  # of the table; 0 for a number


def _offsets(graph: Graph, top: GraphRun) -> Iterator[Problem]:
    """Of each softmax over keys, by pairs that may look at each other."""
    source = None if graph.span is None else graph.span.source
    for frame, node in top.ops(is_written):
        if not isinstance(node.traits.reads, Normalise) or not node.traits.reads.weights:
            continue
        scores, (k, *more) = node.operands[0], node.axes
        queries = [q for q in widths(scores) if q.family == k.family and q != k]
        size = frame.extent(k) or 0
        if not k.is_width or more or len(queries) != 1 or size < FAR:
            continue
        rows: dict[tuple[int, int], dict[int, list[_Summand]]] = {}
        for query in (size - 1, size // 2, size // 3):
            for key in (0, 1, query // 2, query - 1, query):
                point = {**dict.fromkeys(scores.type.axes, 0), queries[0]: query, k: key}
                if node.mask is None or frame.number(node.mask, point) is not False:
                    for one in _summands(frame, scores, point, 1):
                        rows.setdefault((id(one.frame), one.value.id), {}).setdefault(query, []).append(one)
        for found in rows.values():
            value = next(iter(found.values()))[0]
            maker = value.frame.maker(value.value)
            span = getattr(maker, "span", None)
            if span is not None and span.source is source:
                yield from _said([*found.values()], span, queries[0], k, node)


def _said(rows: list[list[_Summand]], span: Span, q: Axis, k: Axis, node: Apply) -> Iterator[Problem]:
    numbers = [[one.number for one in row] for row in rows]
    if len(rows) < 3 or min(map(len, rows)) < 3:
        return
    alike = all(len(set(row)) == 1 for row in numbers)
    if rows[0][0].rows:
        if alike and numbers[0][0] == numbers[1][0] and rows[0][0].rows > 1:
            yield Plain.ONE_ROW.at(span, q, k, there=node.span)
    elif alike and numbers[0][0] != numbers[1][0]:
        yield Plain.SAME_FOR_KEYS.at(span, k, node.op, there=node.span)
    elif all(one > other for row in numbers for one, other in pairwise(row)):
        yield Plain.FAR_COUNTS.at(span, q, k, there=node.span)


def _summands(frame: GraphRun, value: Value, point: Point, sign: float) -> Iterator[_Summand]:
    """The numbers of places that are added, and the rows of tables."""
    node = frame.maker(value)
    match node:
        case _ if value.role <= Role.TABLE:
            number = frame.number(value, point) if by_place(value) else None
            if number is not None:
                yield _Summand(frame, value, sign * number, 0)
        case Apply(operands=(table, index)) if isinstance(node.traits.reads, Gather):
            number = frame.number(index, point) if index.role is Role.TABLE and table.role is Role.WEIGHT else None
            if number is not None:
                yield _Summand(frame, index, number, frame.extent(node.axes[0]) or 0)
        case Apply(operands=operands, traits=traits) if isinstance(traits.meaning, Sum):
            for by, operand in zip(traits.meaning.times, operands, strict=True):
                yield from _summands(frame, operand, point, by * sign)
        case Apply(operands=(one, other), traits=traits) if (
            traits.meaning == Quotient() and other.role is Role.CONSTANT
        ):
            yield from _summands(frame, one, point, sign)
        case _:
            found = frame.moved(value, point)
            if found is not None:
                yield from _summands(*found, sign)


@kept
def _first_places(graph: Graph) -> tuple[Problem, ...]:
    return tuple(_rows_added(graph))


def _rows_added(graph: Graph) -> Iterator[Problem]:
    """One row of a table of places, added to the items of all."""
    rows = {}
    for node in graph.nodes:
        match node:
            case Apply(operands=(table, index), axes=(axis,)) if isinstance(node.traits.reads, Gather):
                if axis.is_width and table.role is Role.WEIGHT and index.role is Role.CONSTANT:
                    rows[node.out.id] = node
            case Apply(operands=operands) if isinstance(node.traits.meaning, Sum):
                for row in (rows[operand.id] for operand in operands if operand.id in rows):
                    if any(other.role is Role.DATA and row.axes[0] in other.type.axes for other in operands):
                        yield Plain.FIRST_PLACE.at(row.span, row.axes[0], there=node.span)
