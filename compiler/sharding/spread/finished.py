"""A graph of one device that is done: which axes it has, and how it is given its inputs best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...graph.nodes import Apply, Call, Graph, Node, Repeat, Scan, Weight, values_of
from ...graph.values import Value
from ...sizes.axes import Axis
from ..placement import Placement
from ..sends import Collective
from .bringing import bring
from .growing import GivenInput, GrowingGraph
from .placing import PartsOfAxes


@dataclass(eq=False)
class GraphSpread:
    """One graph as one device has it.

    given: how its inputs are given. inner: the graphs nested in it, by the old nodes. own: axes that its values had of
    its callers, and now have of themselves.
    """

    grown: GrowingGraph
    given: tuple[GivenInput, ...]
    inner: list[tuple[Call | Repeat | Scan, tuple[GraphSpread, ...]]] = field(default_factory=list)
    graph: Graph = field(init=False)
    own: tuple[Axis, ...] = field(init=False, default=())

    @property
    def old(self) -> Graph:
        """The graph of the whole model."""
        return self.grown.old

    @property
    def weights(self) -> Mapping[str, tuple[Weight, Placement, frozenset[int]]]:
        """Its weights: where each lies, and the mesh axes along which its gradients are summed."""
        return self.grown.weights

    def place(self, value: Value) -> Placement:
        """Where an old value belongs."""
        return self.grown.places.of(value)

    def input_place(self, value: Value) -> Placement:
        """Where an input is given."""
        return self.grown.input_place(value)

    def has_gradient(self, number: int) -> bool:
        """Whether that one of its results has."""
        return self.old.outputs[number].value.id in self.grown.graded

    def parts_of(self, axis: Axis) -> list[tuple[Axis, tuple[int, ...]]]:
        """The parts of an axis that the graph has as parameters, and which axes of the mesh split it so."""
        mine = {*self.graph.axes[: self.graph.params]}
        return [(part, by) for part, by in self.grown.places.parts.all_of(axis) if part in mine]

    def better(self) -> tuple[GivenInput, ...]:
        """How the inputs are given best: free ones where all that reads them needs them; of those that all that reads
        them does by parts, the gradient is summed where they come from, together with that of other uses.
        """
        found = []
        for entry, given in zip(self.old.inputs, self.given, strict=True):
            uses = self.grown.uses.get(entry.value.id, set())
            if given.free and len({place for place, _ in uses}) == 1:
                given = replace(given, place=next(iter(uses))[0])
            elif given.graded and uses:
                whole = {m for m, axis in enumerate(self.input_place(entry.value)) if axis is None}
                given = replace(given, entered=frozenset.intersection(frozenset(whole), *(e for _, e in uses)))
            found.append(given)
        return tuple(found)

    def later(self) -> dict[int, frozenset[int]]:
        """Parameters that only parts are done with, and along which mesh axes: their gradients are summed at last."""
        found = {}
        for number in self.grown.parameters:
            if uses := self.grown.uses.get(number):
                all_of_them = frozenset.intersection(*(entered for _, entered in uses))
                if all_of_them:
                    found[number] = all_of_them
        return found

    def finish(self, whole: bool = False) -> None:
        """Make the graph, once all nodes are done. whole: each device has whole results, of its part of the batch."""
        here, old, parts = self.grown, self.old, self.grown.places.parts
        outputs = []
        for output in old.outputs:
            place = here.places.batched(output.value) if whole else self.place(output.value)
            value = bring(here, output.value, place, here.places.nowhere)
            axes = here.places.local(output.axes, place)
            outputs.append(replace(output, value=value, axes=axes, causal=()))
        inputs = tuple(
            replace(entry, value=here.places.at(entry.value, self.input_place(entry.value))) for entry in old.inputs
        )
        made = replace(old, inputs=inputs, nodes=tuple(here.nodes), outputs=tuple(outputs))
        sent = {axis for node in here.nodes for axis in _sent(node)}
        found = {axis: _stands_for(axis, made, parts) for axis in old.lifted}
        # what is sent along an axis must know its place: it is one of the block's own now, not a leading dimension
        self.own = tuple(axis for axis, each in found.items() if len(each) > 1 or sent & {*each})
        lifted = (part for axis, each in found.items() if axis not in self.own for part in each)
        params = (*old.axes[: old.params], *self.own)
        rest = old.axes[old.params :]
        passed = [part for axis in params for part in _stands_for(axis, made, parts) if part != axis]
        derived = [part for axis in rest for part in _stands_for(axis, made, parts) if part != axis]
        graph = replace(
            made,
            axes=(*params, *passed, *rest, *derived),
            params=len(params) + len(passed),
            lifted=tuple(lifted),
        )
        self.graph = _owning(graph, graph, {*self.own, *(part for axis in self.own for part, _ in parts.all_of(axis))})


def _owning(graph: Graph, around: Graph, own: set[Axis]) -> Graph:
    """The graph, or the body of a repeat in it, with axes that it had of a caller, and now has by itself. In results
    these come first.
    """
    if not own:
        return graph
    outputs = []
    for output in graph.outputs:
        first = (axis for axis in output.value.type.axes if axis in own and axis not in output.axes)
        outputs.append(replace(output, axes=(*first, *output.axes)))
    nodes = (
        replace(node, bodies=tuple(_owning(body, around, own) for body in node.bodies))
        if isinstance(node, Repeat)
        else node
        for node in graph.nodes
    )
    return replace(
        graph, axes=around.axes, params=around.params, lifted=around.lifted, nodes=tuple(nodes), outputs=tuple(outputs)
    )


def _stands_for(axis: Axis, made: Graph, parts: PartsOfAxes) -> list[Axis]:
    """An axis and its parts, such of these as values have."""
    there = _axes_of_values(made)
    return [each for each in (axis, *(part for part, _ in parts.all_of(axis))) if each in there]


def _axes_of_values(graph: Graph) -> set[Axis]:
    """The axes that values have, of the bodies of repeats too: these are those of the graph around."""
    bodies = (body for node in graph.nodes if isinstance(node, Repeat) for body in node.bodies)
    own = {axis for value in values_of(graph) for axis in value.type.axes}
    return own.union(*map(_axes_of_values, bodies))


def _sent(node: Node) -> tuple[Axis, ...]:
    """The axes along which a node sends items."""
    match node:
        case Call():
            return tuple(axis for axis, _ in node.axes)
        case Repeat():
            return tuple(axis for body in node.bodies for each in body.nodes for axis in _sent(each))
        case Apply(traits=Collective()) if node.axes:
            return (*node.axes, *node.out.type.axes)
        case _:
            return ()
