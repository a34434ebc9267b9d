"""Blocks that say where items stand: they make a table of positions (sinusoids, ALiBi), or turn vectors (rotary).

They are known by what they compute, not by their names. A figure shows each as one glyph until it is opened by name.
"""

from __future__ import annotations

from ....compiler.graph.nodes import Apply, Call, Graph, Positions, reads
from ....compiler.graph.traits import Arrange, Choice, Gather, Pointwise, Product, Quotient, Reduce, Sum
from ....compiler.graph.values import Role, Value
from ....compiler.sizes.axes import Axis


def makes_table(graph: Graph) -> bool:
    """Whether a block takes no tensor and learns nothing: all that it makes is known before there are data."""
    return graph.kind != "op" and not graph.inputs and all(out.value.role <= Role.TABLE for out in graph.outputs)


def turns(graph: Graph) -> bool:
    """Whether a block is a linear map of its one tensor, known before there are data, that gives the tensor's own axes
    and differs from place to place along one of its widths."""
    if graph.kind == "op" or len(graph.inputs) != 1 or len(graph.outputs) != 1:
        return False
    entry, result = graph.inputs[0].value, graph.outputs[0].value
    same = set(entry.type.axes) == set(result.type.axes)
    return same and _linear(graph) and bool({a for a in entry.type.axes if a.is_width} & _places(graph))


def _linear(graph: Graph) -> bool:
    """Whether each result of a body is a linear map of its one input, with coefficients that need no data."""
    linear = {graph.inputs[0].value.id}
    for node in graph.nodes:
        if not isinstance(node, Apply | Call):
            continue
        outs = [node.out] if isinstance(node, Apply) else node.outs
        if any(value.id in linear for value in reads(node)):
            if not _keeps(node, linear):
                return False
            linear.update(out.id for out in outs)
        elif not all(map(_known, outs)):
            return False
    return all(output.value.id in linear for output in graph.outputs)


def _keeps(node: Apply | Call, linear: set[int]) -> bool:
    """Whether what is made of what is linear is linear."""
    if isinstance(node, Call):
        return len(node.args) == 1 and node.graph.kind != "op" and _linear(node.graph)
    told = [value.id in linear for value in node.operands]
    others = [value for value in node.operands if value.id not in linear]
    if node.weights or node.mask is not None or not all(map(_known, others)):
        return False
    match node.traits.reads:
        case Pointwise(Product()) | Reduce(multiplies=True):
            return sum(told) == 1
        case Pointwise(Quotient(whole=False)) | Gather():
            return told == [True, False]
        case Pointwise(Sum()) | Arrange():
            return all(told)
        case Pointwise(Choice()):
            return told == [False, True, True]
        case _:
            return False


def _known(value: Value) -> bool:
    return value.role <= Role.TABLE


def _places(graph: Graph) -> set[Axis]:
    """The axes whose positions are read, in the graph's own terms."""
    found: set[Axis] = set()
    for node in graph.nodes:
        match node:
            case Positions(axis, _):
                found.add(axis)
            case Call():
                own = dict(node.axes)
                found |= {own.get(axis, axis) for axis in _places(node.graph)}
    return found
