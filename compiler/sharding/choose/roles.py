"""The axes of a model by what they are: widths of inputs, depths of weights, experts, streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...graph.nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, children
from ...graph.traits import Normalise
from ...ops.internal import DISPATCH
from ...sizes.axes import Axis


def input_widths(graph: Graph) -> list[str]:
    """The widths of inputs, those alone whose size is not fixed, where there are such. Those of results come first, for
    their items look at others.
    """
    results = {axis.name for output in graph.outputs for axis in output.axes}
    axes = [axis for entry in graph.inputs for axis in entry.value.type.axes if axis.is_width]
    free = [axis for axis in axes if axis.extent is None]
    names = dict.fromkeys(axis.name for axis in free or axes)
    return sorted(names, key=lambda name: name not in results)


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


def depths_of_weights(graph: Graph) -> list[str]:
    """The names of the depths that weights have, in order; what a block calls otherwise by its caller's name."""
    found: dict[str, None] = {}
    for node, stands_for in _nodes(graph, {}, set()):
        weights = (node.weight,) if isinstance(node, Parameter) else node.weights if isinstance(node, Apply) else ()
        axes = (stands_for.get(axis, axis) for weight in weights for dim in weight.dims for axis in dim)
        found.update((axis.name, None) for axis in axes if not axis.is_width)
    return list(found)


def streams(graph: Graph) -> set[str]:
    """The axes of what repeats hand on, and of what is normalised: all that reads it needs it whole."""
    found: set[str] = set()
    for node, stands_for in _nodes(graph, {}, set()):
        if isinstance(node, Repeat):
            found |= {stands_for.get(axis, axis).name for value in node.outs for axis in value.type.axes}
        elif isinstance(node, Apply) and isinstance(node.traits.reads, Normalise):
            found |= {stands_for.get(axis, axis).name for axis in node.axes}
    return found


def axes_named(graph: Graph) -> set[str]:
    """The names of all axes of a model, those of its blocks too that stand for none of its own."""
    found = {axis.name for axis in graph.axes}
    for node, _ in _nodes(graph, {}, set()):
        if isinstance(node, Call | Repeat | Scan):
            given = {formal for formal, _ in node.axes} if isinstance(node, Call | Scan) else set()
            found |= {axis.name for child in children(node) for axis in child.axes if axis not in given}
    return found


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
