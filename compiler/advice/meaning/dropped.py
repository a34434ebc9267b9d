"""Dropout at a wrong place (W0528): where a dropped item is a 0 among others, and not left out.

Before a softmax, a cross-entropy or a pick a 0 may be the largest score; behind a cross-entropy whole losses are left
out and the others made larger. Srivastava et al. 2014 drop features, Vaswani et al. 2017 the weights of attention. A
dropped value is followed through what leaves a 0 what it is, but for numbers and weights: scales, offsets, masks.

Silent: a probability 0; noise that is made of no data (`dropout` of ones draws a mask at random, as in stochastic depth
and DropKey); a summand or a factor beside data, such as a residual branch or a bias of places; comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.nodes import Apply, Graph, ops_in
from ...graph.traits import Arrange, Choice, Function, Gather, Normalise, Pointwise, Product, Quotient, Reduce, Sum
from ...graph.values import Role, is_real
from ...problems.plain import Plain
from ...sizes.axes import evaluate
from .flow import Follower


class Dropped(NamedTuple):
    """What a dropout makes. loss: it is none, but what an op makes that is given logits."""

    at: Span | None
    loss: bool = False


def wrongly_dropped(graph: Graph) -> Iterator[Problem]:
    """Each dropout whose zeros are taken for scores, or that stands behind a loss."""
    if any(map(_is_dropout, ops_in(graph))):
        yield from _Zeros().told(graph)


def _is_dropout(node: Apply) -> bool:
    return (
        node.traits.random and node.out.role is Role.DATA and "p" in node.options and evaluate(node.options["p"]) != 0
    )


class _Zeros(Follower[Dropped]):
    def of(self, node: Apply, given: list[Dropped | None]) -> Dropped | None:
        reads, first = node.traits.reads, given[0] if given else None
        if first is not None and not first.loss:
            match reads:
                case Reduce(logits=True):
                    self.found.append(Plain.LOGITS_DROPPED.at(first.at, there=node.span))
                case Normalise(weights=True):
                    self.found.append(Plain.SCORES_DROPPED.at(first.at, node.op, there=node.span))
                case Reduce(indices=True):
                    self.found.append(Plain.PICKED_DROPPED.at(first.at, node.op, there=node.span))
        if isinstance(reads, Reduce) and reads.logits:
            return Dropped(node.span, loss=True)
        if not _is_dropout(node):
            return _through(node, given)
        if first is not None and first.loss:
            self.found.append(Plain.LOSS_DROPPED.at(node.span, there=first.at))
        return Dropped(node.span)


def _through(node: Apply, given: list[Dropped | None]) -> Dropped | None:
    """What the result comes from, if each item of it is one of such a value, scaled or moved by numbers or weights."""
    if not is_real(node.out) or node.traits.random:
        return None
    operands = node.operands
    match node.traits.reads:
        case Pointwise(Sum() | Product()):
            pass
        case Pointwise(Choice()):
            operands, given = operands[1:], given[1:]
        case Gather():  # its indices may be data
            operands, given = operands[:1], given[:1]
        case Pointwise(Quotient()) | Arrange() if given[0] is not None:
            pass
        case Pointwise(Function(zero=True, rising=True, greatest=greatest)) if greatest < float("inf"):  # a soft cap
            pass
        case _:
            return None
    origin = next((one for one in given if one is not None), None)
    alike = (one is not None and origin is not None and one.loss == origin.loss for one in given)
    beside = [value for value, same in zip(operands, alike, strict=True) if not same]
    return None if any(value.role is Role.DATA for value in beside) else origin
