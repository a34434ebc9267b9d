"""Which sizes and numbers of a graph matter where it runs, and which of these its inputs tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..sizes.arithmetic import solved, with_parts
from ..sizes.axes import Axis, Const, Static, axes_in, consts_in
from .nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan, Weight, nested, values_of, weights_of
from .term import Number, parts


def untold(graph: Graph) -> list[Axis]:
    """Free widths that the graph needs the size of, but no input that must be given has (nor a copy of them)."""
    determined = {
        axis.family
        for entry in graph.inputs
        for axis in entry.value.type.axes
        # the size of an input that may be left out is not known
        if axis not in entry.value.type.broadcast_axes and entry.default is None
    }
    open = [axis for axis in graph.axes if axis.is_width and axis.extent is None and axis.size is None]
    given = [axis for axis in graph.axes if axis.family in determined and axis.size is not None]
    while new := {axis.family for axis in open for whole in given if _determines(whole, axis, determined)} - determined:
        determined |= new
    needed = _needed(graph, {})
    needed = with_parts(needed, lambda axis: axis.family not in determined)
    return [axis for axis in open if axis.family not in determined and axis in needed]


def _determines(whole: Axis, axis: Axis, determined: set[int]) -> bool:
    """Whether the size of a derived width determines that of one in its formula: nothing else there is unknown."""
    assert whole.size is not None

    def known(part: Axis) -> bool:
        if not part.is_width or part.extent is not None or part.family in determined:
            return True
        return part.family != axis.family and part.size is not None and all(map(known, axes_in(part.size)))

    others = (part for part in axes_in(whole.size) if part.family != axis.family)
    return all(map(known, others)) and solved(whole, axis) is not None


def _needed(graph: Graph, known: dict[int, set[Axis]]) -> set[Axis]:
    """The axes whose sizes running the graph takes: values run along them, or their sizes are read."""
    if id(graph) in known:
        return known[id(graph)]
    found = {axis for value in values_of(graph) for axis in value.type.varying}
    for node in graph.nodes:
        found |= {axis for static in _statics(node) for axis in axes_in(static)}
        if isinstance(node, Call | Scan):
            actual = dict(node.axes)
            found |= {actual.get(axis, axis) for axis in _needed(node.graph, known)}
        elif isinstance(node, Repeat):
            found = found.union(*(_needed(body, known) for body in node.bodies))
    known[id(graph)] = with_parts(found, set(graph.axes[graph.params :]).__contains__)  # no caller has its own
    return known[id(graph)]


def _statics(node: Node) -> Iterable[Static]:
    """The numbers that a node is made with."""
    match node:
        case Constant(value=value):
            return (value,)
        case Apply(options=options, seen=seen):
            terms = () if seen is None else (part for part in parts(seen.term) if isinstance(part, Number))
            return (*options.values(), *(number.static for number in terms))
        case Repeat(count=count):
            return (count,)
        case Call(consts=consts) | Scan(consts=consts):
            return (static for _, static in consts)
        case _:
            return ()


def mentioned(graph: Graph) -> tuple[dict[Axis, None], dict[Const, None]]:
    """The axes and consts that a graph mentions, and so the passes of its repeats, which have those of the graph."""
    axes = dict.fromkeys(axis for value in values_of(graph) for axis in value.type.axes)
    consts: dict[Const, None] = {}
    for node in graph.nodes:
        for static in _statics(node):
            axes |= dict.fromkeys(axes_in(static))
            consts |= dict.fromkeys(consts_in(static))
        if isinstance(node, Call | Scan):
            axes |= dict.fromkeys(axis for _, axis in node.axes)
        elif isinstance(node, Repeat):
            for inner, numbers in map(mentioned, node.bodies):
                axes |= inner
                consts |= {const: None for const in numbers if const != node.index}
    return axes, consts


def depends(graph: Graph, const: Const) -> bool:
    """Whether a size or what an op takes is made of a const, such as the index of a pass."""
    return any(_depends(each, const) for each in nested(graph))


def _depends(graph: Graph, const: Const) -> bool:
    axes = {axis for value in values_of(graph) for axis in value.type.axes} | {*graph.axes}
    axes |= {axis for _, axis in _weights_along(graph)}
    statics = [static for node in graph.nodes for static in _statics(node)]
    left, met = [*axes, *(axis for static in statics for axis in axes_in(static))], set(axes)
    while left:
        size = left.pop().size
        if size is not None:
            statics.append(size)
            left += (new := set(axes_in(size)) - met)
            met |= new
    return any(const in consts_in(static) for static in statics)


def weights_along(graph: Graph) -> Iterator[tuple[Weight, Axis]]:
    """Every weight below, with each of its axes; every graph once."""
    return (found for each in nested(graph) for found in _weights_along(each))


def _weights_along(graph: Graph) -> Iterator[tuple[Weight, Axis]]:
    weights = (weight for node in graph.nodes for weight in weights_of(node))
    return ((weight, axis) for weight in weights for dim in weight.dims for axis in dim)
