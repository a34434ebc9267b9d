"""Dropout at a wrong place (W0528): where a dropped item is a 0 among others, and not left out.

Before a softmax, a cross-entropy or a pick a 0 may be the largest score; behind a cross-entropy whole losses are left
out and the others made larger. Srivastava et al. 2014 drop features, Vaswani et al. 2017 the weights of attention. A
dropped value is followed through what leaves a 0 what it is, but for numbers and weights: scales, offsets, masks.

Silent: a probability 0; noise that is made of no data (`dropout` of ones draws a mask at random, as in stochastic depth
and DropKey); a summand or a factor beside data, such as a residual branch or a bias of places; comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...base.problems import Problem
from ...graph.nodes import Apply, Call, Graph, Repeat, children
from ...graph.traits import (
    Arrange,
    Choice,
    Function,
    Gather,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Sum,
)
from ...graph.values import Role, Value, is_real
from ...problems.plain import Plain
from ...sizes.axes import evaluate

Origins = dict[int, Apply]
"""By the ids of values: the dropout that they come from, or the op that made them losses."""
Given = tuple[Apply | None, ...]


def wrongly_dropped(graph: Graph) -> Iterator[Problem]:
    """Each dropout whose zeros are taken for scores, or that stands behind a loss."""
    if _draws(graph, {}):
        yield from _Dropped().of(graph, (None,) * len(graph.inputs), (None,) * len(graph.inputs))


def _draws(graph: Graph, known: dict[int, bool]) -> bool:
    """Whether there is any dropout."""
    if id(graph) not in known:
        known[id(graph)] = any(
            _is_dropout(node) if isinstance(node, Apply) else any(_draws(child, known) for child in children(node))
            for node in graph.nodes
        )
    return known[id(graph)]


def _is_dropout(node: Apply) -> bool:
    return (
        node.traits.random and node.out.role is Role.DATA and "p" in node.options and evaluate(node.options["p"]) != 0
    )


class _Dropped:
    """Graphs forward, once for each choice of their inputs that are dropped, or are losses."""

    def __init__(self) -> None:
        self.done: dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[Given, Given, list[Problem]]] = {}

    def of(self, graph: Graph, dropped: Given, losses: Given) -> list[Problem]:
        return self._results(graph, dropped, losses)[2]

    def _results(self, graph: Graph, dropped: Given, losses: Given) -> tuple[Given, Given, list[Problem]]:
        """Of each result what it comes from, and what is found."""
        key = id(graph), tuple(map(id, dropped)), tuple(map(id, losses))
        if key not in self.done:
            zeros: Origins = _origins(graph, dropped)
            costs: Origins = _origins(graph, losses)
            found: list[Problem] = []
            for node in graph.nodes:
                match node:
                    case Apply():
                        found += _apply(node, zeros, costs)
                    case Call(graph=callee) if not callee.target:
                        given = _given(node.args, zeros), _given(node.args, costs)
                        found += self._pass(node.outs, self._results(callee, *given), zeros, costs)
                    case Repeat(carried=carried):  # what comes round is not known to be dropped
                        fresh: Given = (None,) * carried
                        given = fresh + _given(node.args[carried:], zeros), fresh + _given(node.args[carried:], costs)
                        for body in node.bodies:
                            found += self._pass(node.outs, self._results(body, *given), zeros, costs)
            results = [output.value for output in graph.outputs]
            self.done[key] = _given(results, zeros), _given(results, costs), found
        return self.done[key]

    def _pass(
        self, outs: tuple[Value, ...], results: tuple[Given, Given, list[Problem]], zeros: Origins, costs: Origins
    ) -> list[Problem]:
        for kept, origins in ((results[0], zeros), (results[1], costs)):
            for out, origin in zip(outs, kept, strict=True):
                if origin is not None:
                    origins[out.id] = origin
        return results[2]


def _origins(graph: Graph, given: Given) -> Origins:
    return {entry.value.id: one for entry, one in zip(graph.inputs, given, strict=True) if one is not None}


def _given(values: list[Value] | tuple[Value, ...], origins: Origins) -> Given:
    return tuple(origins.get(value.id) for value in values)


def _apply(node: Apply, zeros: Origins, costs: Origins) -> Iterator[Problem]:
    first = node.operands[0] if node.operands else None
    dropout = zeros.get(first.id) if first is not None else None
    reads = node.traits.reads
    if isinstance(reads, Reduce) and reads.logits:
        costs[node.out.id] = node
    if dropout is not None:
        match reads:
            case Reduce(logits=True):
                yield Plain.LOGITS_DROPPED.at(dropout.span, there=node.span)
            case Normalise(weights=True):
                yield Plain.SCORES_DROPPED.at(dropout.span, node.op, there=node.span)
            case Reduce(indices=True):
                yield Plain.PICKED_DROPPED.at(dropout.span, node.op, there=node.span)
    if _is_dropout(node) and first is not None:
        if first.id in costs:
            yield Plain.LOSS_DROPPED.at(node.span, there=costs[first.id].span)
        zeros[node.out.id] = node
        return
    for origins in (zeros, costs):
        origin = _through(node, origins)
        if origin is not None:
            origins[node.out.id] = origin


def _through(node: Apply, origins: Origins) -> Apply | None:
    """What the result comes from, if each item of it is one of such a value, scaled or moved by numbers or weights."""
    if not is_real(node.out) or node.traits.random:
        return None
    match node.traits.reads:
        case Pointwise(Sum() | Product()):
            needed, others = node.operands, 0
        case Pointwise(Choice()):
            needed, others = node.operands[1:], 0
        case Pointwise(Quotient()) | Gather() | Arrange():
            needed, others = node.operands, 1
        case Pointwise(Function(zero=True, rising=True, greatest=greatest)) if greatest < float("inf"):  # a soft cap
            needed, others = node.operands, 1
        case _:
            return None
    found = [origins.get(value.id) for value in needed]
    if others and found[0] is None:
        return None
    beside = [value for value, origin in zip(needed, found, strict=True) if origin is None]
    if isinstance(node.traits.reads, Gather):  # its indices may be data
        beside = beside[:0]
    if any(value.role is Role.DATA for value in beside):
        return None
    return next((origin for origin in found if origin is not None), None)
