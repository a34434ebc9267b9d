"""The axes of a model by what they are: widths of inputs, depths of weights, experts, streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from ...graph.nodes import Apply, Call, Graph, Node, Repeat, Scan, children, makes, reads, weights_of
from ...graph.traits import Normalise, Reduce
from ...ops.internal import DISPATCH
from ...sizes.axes import Axis


def input_widths(graph: Graph) -> list[str]:
    """The widths of inputs, those alone whose size is not fixed, where there are such. A width comes before those whose
    items are put together for each of its own, queries before keys: so devices keep their queries, and keys go round.
    Else those of results come first.
    """
    results = {axis.name for output in graph.outputs for axis in output.axes}
    axes = [axis for entry in graph.inputs for axis in entry.value.type.axes if axis.is_width]
    axes = sorted([each for each in axes if each.extent is None] or axes, key=lambda one: one.name not in results)
    left, looks, found = {axis.name: axis.family for axis in axes}, _looks(graph), list[str]()
    while left:
        seen = {name: sum((other, left[name]) in looks for other in left.values()) for name in left}
        found.append(min(left, key=lambda name: seen[name]))
        del left[found[-1]]
    return found


def _looks(graph: Graph) -> set[tuple[int, int]]:
    """Pairs of widths, by their families: for each item of the first those of the other are put together."""
    found = set[tuple[int, int]]()
    for node, stands_for in _nodes(graph, {}, set()):
        if isinstance(node, Apply) and isinstance(node.traits.reads, Normalise | Reduce):
            gone = {stands_for.get(axis, axis) for axis in node.axes if axis.is_width}
            there = {stands_for.get(axis, axis) for value in reads(node) for axis in value.type.axes if gone}
            found |= {(one.family, other.family) for one in there - gone for other in gone if one.is_width}
    return {(one, other) for one, other in found if one != other}


def grouped(graph: Graph) -> list[str]:
    """Axes for each of whose items a map has weights of its own: experts."""
    found = (
        stands_for.get(axis, axis).name
        for node, stands_for in _nodes(graph, {}, set())
        if isinstance(node, Apply)
        for axis in node.each
    )
    return list(dict.fromkeys(found))


def picked(graph: Graph) -> bool:
    """Whether only experts that were picked are computed, anywhere in it."""
    return any(isinstance(node, Apply) and node.traits is DISPATCH for node, _ in _nodes(graph, {}, set()))


def free_depths(graph: Graph, taken: Set[str]) -> dict[str, Axis]:
    """The depths that weights have, by name, in order, but for streams and those taken; what a block calls otherwise by
    its caller's name.
    """
    found: dict[str, Axis] = {}
    for node, stands_for in _nodes(graph, {}, set()):
        axes = (stands_for.get(axis, axis) for axis in _axes_of_weights(node))
        found |= {axis.name: axis for axis in axes if not axis.is_width}
    no = taken | streams(graph)
    return {name: axis for name, axis in found.items() if name not in no}


def _axes_of_weights(node: Node) -> list[Axis]:
    return [axis for weight in weights_of(node) for dim in weight.dims for axis in dim]


def streams(graph: Graph) -> set[str]:
    """The axes of what repeats hand on, and of what is normalised: all that reads it needs it whole."""
    found: set[str] = set()
    for node, stands_for in _nodes(graph, {}, set()):
        if isinstance(node, Repeat):
            found |= {stands_for.get(axis, axis).name for value in node.outs for axis in value.type.axes}
        elif isinstance(node, Apply) and isinstance(node.traits.reads, Normalise):
            found |= {stands_for.get(axis, axis).name for axis in node.axes}
    return found


def axes_named(graph: Graph) -> dict[str, Axis]:
    """The axes that values and weights have, by name, in order; of blocks, too, what stands for none of them."""
    found = {axis.name: axis for entry in graph.inputs for axis in entry.value.type.axes}
    for node, stands_for in _nodes(graph, {}, set()):
        axes = (*_axes_of_weights(node), *(axis for value in (*reads(node), *makes(node)) for axis in value.type.axes))
        for axis in axes:
            found.setdefault(stands_for.get(axis, axis).name, stands_for.get(axis, axis))
    return found


def with_sizes(axes: Mapping[str, Axis]) -> str:
    """`heads` (8), `inner` (2,048)."""
    sizes = {name: "" if axis.extent is None else f" ({axis.extent:,})" for name, axis in axes.items()}
    return ", ".join(f"`{name}`{size}" for name, size in sizes.items())


StandsFor = Mapping[Axis, Axis]
"""For axes of a block those of the model that they stand for."""


def _nodes(graph: Graph, stands_for: StandsFor, seen: set[object]) -> Iterator[tuple[Node, StandsFor]]:
    """All nodes, those of blocks once for each way in which their axes stand for others."""
    key = id(graph), tuple(stands_for.get(axis, axis) for axis in graph.axes)
    if key in seen:
        return
    seen.add(key)
    for node in graph.nodes:
        yield node, stands_for
        pairs = node.axes if isinstance(node, Call | Scan) else ()
        known = {**stands_for, **{formal: stands_for.get(actual, actual) for formal, actual in pairs}}
        for child in children(node):
            yield from _nodes(child, known, seen)
