"""A choice by the sign of a number between two halves that meet at 0 is the sum of both: no choice is made.

    select(x > 0, x + 1, exp(min(x, 0)))  ->  relu(x) + exp(-relu(-x))
    select(x > 0, x, exp(x) - 1)          ->  relu(x) + (exp(-relu(-x)) - 1)

A choice of each number for itself is what a processor guesses wrong half of the time: it costs ten sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...graph.nodes import Apply, Constant, Graph, Node, makes
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
    makers = {out.id: node for node in graph.nodes for out in makes(node)}
    fresh = Fresh(graph)
    nodes: list[Node] = []

    def made(node: Apply, *operands: Value) -> Value:
        one = replace(node, operands=operands, out=fresh(replace(node.out, name=None)))
        nodes.append(one)
        return one.out

    changed = False
    for node in graph.nodes:
        found = _halves(node, makers) if isinstance(node, Apply) else None
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


def _halves(node: Apply, makers: dict[int, Node]) -> _Halves | None:
    match node:
        case Apply(traits, (c, above, below)) if traits.reads == Pointwise(Choice()) and not node.out.is_table:
            test = makers.get(c.id)
        case _:
            return None
    if not isinstance(test, Apply) or test.traits.reads not in (Pointwise(Compared(">")), Pointwise(Compared(">="))):
        return None
    x, zero = test.operands
    if _number(makers, zero) != 0 or x.type.element is not Scalar.REAL:
        return None
    first, second = _with_number(makers, above), _with_number(makers, below)
    if first[0].id != x.id:
        return None
    exp = makers.get(second[0].id)
    if not isinstance(exp, Apply) or exp.traits is not EXP or first[1] != 1 + second[1]:
        return None
    inner = makers.get(exp.operands[0].id)
    least = isinstance(inner, Apply) and inner.traits.reads == Pointwise(Extreme(largest=False))
    given = inner.operands if least and isinstance(inner, Apply) else exp.operands
    others = [y for y in given if y.id != x.id]
    if len(others) != len(given) - 1 or any(_number(makers, y) != 0 for y in others):
        return None
    added = makers.get(below.id)
    return _Halves(x, exp, None if added is exp or not isinstance(added, Apply) else added)


def _number(makers: dict[int, Node], value: Value) -> float | None:
    made = makers.get(value.id)
    number = known(made.value) if isinstance(made, Constant) else None
    return number if isinstance(number, int | float) else None


def _with_number(makers: dict[int, Node], value: Value) -> tuple[Value, float]:
    """A value as another and a number added to it."""
    match makers.get(value.id):
        case Apply(OpTraits(reads=Pointwise(Sum((1, 1)))), (x, y)):
            for one, other in ((x, y), (y, x)):
                if (number := _number(makers, other)) is not None:
                    return one, number
        case Apply(OpTraits(reads=Pointwise(Sum((1, -1)))), (x, y)) if (number := _number(makers, y)) is not None:
            return x, -number
        case _:
            pass
    return value, 0
