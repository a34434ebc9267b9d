"""Which sizes of a graph matter where it runs, and which of these its inputs tell."""

from __future__ import annotations

from collections.abc import Iterable

from ..sizes.arithmetic import solved, with_parts
from ..sizes.axes import Axis, Const, Static, axes_in, consts_in
from .nodes import Apply, Call, Constant, Graph, Node, Parameter, Repeat, Scan, Weight, children, values_of


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
        case Apply(options=options):
            return options.values()
        case Repeat(count=count):
            return (count,)
        case Call(consts=consts) | Scan(consts=consts):
            return (static for _, static in consts)
        case _:
            return ()


def depends(graph: Graph, const: Const, seen: set[int] | None = None) -> bool:
    """Whether a size or what an op takes is made of a const, such as the index of a pass."""
    seen = set() if seen is None else seen
    if id(graph) in seen:
        return False
    seen.add(id(graph))
    axes = {axis for value in values_of(graph) for axis in value.type.axes} | {*graph.axes}
    axes |= {axis for _, axis in weights_along(graph, set())}
    statics = [static for node in graph.nodes for static in _statics(node)]
    left, met = [*axes, *(axis for static in statics for axis in axes_in(static))], set(axes)
    while left:
        size = left.pop().size
        if size is not None:
            statics.append(size)
            left += (new := set(axes_in(size)) - met)
            met |= new
    inner = (child for node in graph.nodes for child in children(node))
    return any(const in consts_in(static) for static in statics) or any(depends(each, const, seen) for each in inner)


def weights_along(graph: Graph, seen: set[int]) -> list[tuple[Weight, Axis]]:
    """Every weight below, with each of its axes; every graph once."""
    if id(graph) in seen:
        return []
    seen.add(id(graph))
    found: list[tuple[Weight, Axis]] = []
    for node in graph.nodes:
        match node:
            case Parameter(weight=weight):
                found += [(weight, axis) for dim in weight.dims for axis in dim]
            case Apply(weights=weights):
                found += [(weight, axis) for weight in weights for dim in weight.dims for axis in dim]
            case Call(graph=inner) | Scan(graph=inner):
                found += weights_along(inner, seen)
            case Repeat(bodies=bodies):
                for body in bodies:
                    found += weights_along(body, seen)
            case _:
                pass
    return found
