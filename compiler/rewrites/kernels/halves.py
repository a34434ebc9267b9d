"""A choice by the sign of a number between two halves that meet at 0 is the sum of both: no choice is made.

    select(x > 0, x + 1, exp(min(x, 0)))  ->  relu(x) + exp(-relu(-x))
    select(x > 0, x, exp(x) - 1)          ->  relu(x) + (exp(-relu(-x)) - 1)

A choice of each number for itself is what a processor guesses wrong half of the time: it costs ten sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...graph.core.index import Index, index_of
from ...graph.nodes import Apply, Constant, Graph, Node
from ...graph.traits import Choice, Compared, Extreme, Function, OpTraits, Pointwise, Sum
from ...graph.values import Scalar, Value
from ...ops import op_meaning
from ...sizes.axes import known
from ..simplify.dead import alive
from ..tools.walk import Fresh, Walk

EXP = op_meaning(Function(least=0, below=80.0, harmless=0, overflows=True, rising=True))
RELU = op_meaning(Function(zero=True, least=0, rising=True, straight=True))


@dataclass(frozen=True, slots=True)
class _Halves:
    """x, and what is chosen where it is negative: exp(x), with a number added by `node` where there is one."""

    x: Value
    exp: Apply
    node: Apply | None


def halves(graph: Graph) -> Graph:
    """The graph with such choices as sums."""
    return Walk(lambda _, new: _summed(new))(graph)


def _summed(graph: Graph) -> Graph:
    index = index_of(graph)
    fresh = Fresh(graph)
    nodes: list[Node] = []

    def made(node: Apply, *operands: Value) -> Value:
        one = replace(node, operands=operands, out=fresh(replace(node.out, name=None)))
        nodes.append(one)
        return one.out

    changed = False
    for node in graph.nodes:
        found = _halves(node, index) if isinstance(node, Apply) else None
        if found is None or not isinstance(node, Apply):
            nodes.append(node)
            continue
        changed = True
        minus, relu = (replace(found.exp, traits=one) for one in (op_meaning(Sum((-1,))), RELU))
        below = made(found.exp, made(minus, made(relu, made(minus, found.x))))
        if found.node is not None:
            below = made(found.node, *(below if x.id == found.exp.out.id else x for x in found.node.operands))
        nodes.append(replace(node, traits=op_meaning(Sum((1, 1))), operands=(made(relu, found.x), below)))
    return alive(replace(graph, nodes=tuple(nodes))) if changed else graph


def _halves(node: Apply, index: Index) -> _Halves | None:
    match node:
        case Apply(traits, (c, above, below)) if traits.meaning == Choice() and not node.out.is_table:
            test = index.maker(c)
        case _:
            return None
    if not isinstance(test, Apply) or test.traits.meaning not in (Compared(">"), Compared(">=")):
        return None
    x, zero = test.operands
    if _number(index, zero) != 0 or x.type.element is not Scalar.REAL:
        return None
    first, second = _with_number(index, above), _with_number(index, below)
    if first[0].id != x.id:
        return None
    exp = index.maker(second[0])
    if not isinstance(exp, Apply) or exp.traits is not EXP or first[1] != 1 + second[1]:
        return None
    inner = index.maker(exp.operands[0])
    least = isinstance(inner, Apply) and inner.traits.meaning == Extreme(largest=False)
    given = inner.operands if least and isinstance(inner, Apply) else exp.operands
    others = [y for y in given if y.id != x.id]
    if len(others) != len(given) - 1 or any(_number(index, y) != 0 for y in others):
        return None
    added = index.maker(below)
    return _Halves(x, exp, None if added is exp or not isinstance(added, Apply) else added)


def _number(index: Index, value: Value) -> float | None:
    made = index.maker(value)
    number = known(made.value) if isinstance(made, Constant) else None
    return number if isinstance(number, int | float) else None


def _with_number(index: Index, value: Value) -> tuple[Value, float]:
    """A value as another and a number added to it."""
    match index.maker(value):
        case Apply(OpTraits(reads=Pointwise(Sum((1, 1)))), (x, y)):
            for one, other in ((x, y), (y, x)):
                if (number := _number(index, other)) is not None:
                    return one, number
        case Apply(OpTraits(reads=Pointwise(Sum((1, -1)))), (x, y)) if (number := _number(index, y)) is not None:
            return x, -number
        case _:
            pass
    return value, 0
