"""Arithmetic with numbers known at build time, done at build time.

What changes nothing goes (`x + 0`, `x * 1`), and factors in a row become one: `x * a / b` is `x * (a / b)`. What it
does not do: reorder anything else; join factors in tables and where a body rounds or compares, where the last bit may
decide; join factors whose product is no number that floating point holds.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Constant, Graph, Node
from ...graph.traits import OpTraits, Pointwise, Product, Quotient, Sum
from ...graph.values import Role, Scalar, Type, Value
from ...sizes.axes import Arith, Static, known
from ..tools.walk import Fresh, Walk, with_names, with_operands
from .dead import alive


def fold_numbers(graph: Graph) -> Graph:
    """The graph with less arithmetic with numbers."""
    return Walk(lambda _, new: _folded(new))(graph)


def _folded(graph: Graph) -> Graph:
    numbers: dict[int, Static] = {}
    products: dict[int, tuple[Value, OpTraits, Static]] = {}  # x, the op (times or over), and the number
    same: dict[int, Value] = {}
    names: dict[int, str] = {}
    index = index_of(graph)
    exact = any(
        isinstance(node, Apply) and node.traits.jumps and any(map(_real, node.operands)) for node in graph.nodes
    )
    fresh = Fresh(graph)
    nodes: list[Node] = []
    for old in graph.nodes:
        node = with_operands(old, same)
        if isinstance(node, Constant):
            numbers[node.out.id] = node.value
        found = _by_number(node, numbers)
        if isinstance(node, Apply) and found is not None:
            x, number = found
            if known(number) == _neutral(node.traits) and _same_type(x, node.out):
                same[node.out.id] = x
                if node.out.name is not None and x.name is None:
                    names[x.id] = node.out.name
                continue
            inner = products.get(x.id) if index.alone(x) and x.name is None else None
            joined = _joined(inner[1], inner[2], node.traits, number) if inner is not None else None
            if inner is not None and joined is not None:
                x, (traits, number) = inner[0], joined
                factor = fresh(Value(0, Type(Scalar.REAL, ()), Role.CONSTANT, None, None))
                nodes.append(Constant(number, factor))
                node = replace(node, traits=traits, operands=(x, factor))
            if _real(node.out) and not exact:
                products[node.out.id] = x, node.traits, number
        nodes.append(node)
    if len(nodes) == len(graph.nodes) and all(a is b for a, b in zip(nodes, graph.nodes, strict=True)):
        return graph
    outputs = tuple(replace(output, value=same.get(output.value.id, output.value)) for output in graph.outputs)
    return alive(replace(graph, nodes=tuple(with_names(node, names) for node in nodes), outputs=outputs))


def _by_number(node: Node, numbers: dict[int, Static]) -> tuple[Value, Static] | None:
    """x and the number, of reals `x + n`, `n + x`, `x - n`, `x * n`, `n * x` and `x / n`."""
    if not isinstance(node, Apply) or node.out.type.element is not Scalar.REAL or _neutral(node.traits) is None:
        return None
    x, y = node.operands
    if y.id not in numbers and node.traits.meaning in (Sum((1, 1)), Product()):
        x, y = y, x
    return (x, numbers[y.id]) if y.id in numbers and x.id not in numbers else None


def _neutral(traits: OpTraits) -> int | None:
    """The second operand that changes nothing, if there is one."""
    match traits:
        case OpTraits(reads=Pointwise(Sum((1, 1) | (1, -1))), random=False, gradient=True):
            return 0
        case OpTraits(reads=Pointwise(Product() | Quotient(whole=False)), random=False, gradient=True):
            return 1
        case _:
            return None


def _real(value: Value) -> bool:
    return value.type.element is Scalar.REAL and not value.is_table


def _same_type(x: Value, out: Value) -> bool:
    same = x.type.element == out.type.element and set(x.type.axes) == set(out.type.axes)
    return same and x.type.broadcast_axes == out.type.broadcast_axes and x.role == out.role


def _joined(first: OpTraits, a: Static, then: OpTraits, b: Static) -> tuple[OpTraits, Static] | None:
    """Two factors in a row as one; None where floating point has no such number."""
    match first.reads, then.reads:
        case (Pointwise(Product()), Pointwise(Product())) | (Pointwise(Quotient()), Pointwise(Quotient())):
            traits, number = first, Arith("*", (a, b))
        case Pointwise(Product()), Pointwise(Quotient()):
            traits, number = first, Arith("/", (a, b))
        case Pointwise(Quotient()), Pointwise(Product()):
            traits, number = then, Arith("/", (b, a))
        case _:
            return None
    value = known(number)
    return (traits, number) if value and math.isfinite(value) else None
