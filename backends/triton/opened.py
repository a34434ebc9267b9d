"""Blocks without weights are opened where they are called, so that a mask, scores and values are in one graph."""

from __future__ import annotations

from ...compiler.graph.nodes import Apply, Call, Constant, Graph, Positions, makes, owns
from ...compiler.graph.values import Value
from ...compiler.rewrites.tools.transport import TargetBody, Terms
from ...compiler.rewrites.tools.walk import Walk, with_names, with_operands
from ...dsl.base.records import replace


def opened(graph: Graph) -> Graph:
    """The graph with the calls of such blocks replaced by what they do."""
    return Walk(lambda _, new: _opened(new))(graph)


def _opens(node: object) -> bool:
    if not isinstance(node, Call) or node.graph.kind != "block" or owns(node.graph):
        return False
    return all(
        isinstance(inner, Constant | Positions) or (isinstance(inner, Apply) and not inner.traits.acts)
        for inner in node.graph.nodes
    )


def _opened(graph: Graph) -> Graph:
    if not any(map(_opens, graph.nodes)):
        return graph
    body = TargetBody(graph)
    same: dict[int, Value] = {}
    names: dict[int, str | None] = {}
    for old in graph.nodes:
        node = with_operands(old, same)
        if not isinstance(node, Call) or not _opens(node):
            body.add(node)
            continue
        values = {item.value.id: arg for item, arg in zip(node.graph.inputs, node.args, strict=True)}
        terms = Terms(body, node.graph, dict(node.axes), dict(node.consts), values)
        known = len(body.nodes)
        body.bring(node.graph.nodes, terms)
        made_here = {value.id for one in body.nodes[known:] for value in makes(one)}
        for output, out in zip(node.graph.outputs, node.outs, strict=True):
            same[out.id] = made = terms.values[output.value.id]
            if made.id in made_here and out.name is not None:
                names[made.id] = out.name
    outputs = tuple(replace(one, value=same.get(one.value.id, one.value)) for one in graph.outputs)
    nodes = tuple(with_names(node, names) for node in body.nodes)
    return replace(graph, nodes=nodes, outputs=outputs, axes=(*graph.axes, *body.new_axes))
