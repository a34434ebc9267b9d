"""A cross-entropy may compute in the memory of its logits, where nothing else reads them.

Such a `cross_entropy` gets the option `spend`, and so does any other op that says of itself that it `spends`. The
logits must be made by `dot` or `linear` (a sum of products, whose own gradient does not need its result), here or as a
result of a block or model called here. What it does not do: change any number but by rounding, or touch what a caller
could see.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Graph
from ...graph.traits import Combination, OpTraits, Reduce
from ...graph.values import Role, Value
from ...sizes.axes import Literal
from ..tools.walk import Walk

SPEND = Literal(True)


def spend_logits(graph: Graph) -> Graph:
    """The graph, its cross-entropies marked where their logits may be spent."""
    return Walk(lambda old, new: _mark(new))(graph)


def _mark(graph: Graph) -> Graph:
    nodes = tuple(
        replace(node, options={**node.options, "spend": SPEND})
        if isinstance(node, Apply) and node.traits.spends and _fresh(graph, node.operands[0])
        else node
        for node in graph.nodes
    )
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _fresh(graph: Graph, value: Value) -> bool:
    """Whether the value is a product of its own that is read or given back once in all."""
    index = index_of(graph)
    shown = sum(output.value.id == value.id for output in graph.outputs)
    if len(index.uses(value)) + shown != 1:
        return False
    match index.makers.get(value.id):
        case (Apply(OpTraits(reads=Reduce(Combination(adds=True), multiplies=True))) as node, _):
            arrays = [operand for operand in node.operands if operand.role >= Role.WEIGHT]
            return bool(node.weights) or (len(arrays) == 2 and bool(node.axes))
        case (Call(inner), place):
            return _fresh(inner, inner.outputs[place].value)
        case _:
            return False
