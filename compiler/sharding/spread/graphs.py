"""A graph and all that is nested in it, as one device has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...graph.nodes import Call, Graph, Node, Repeat, Scan, owns
from ...graph.values import Scalar, Value
from ...rewrites.simplify.inline import inline
from ...rewrites.tools.walk import Fresh
from ...sizes.axes import Axis
from ..experts.dispatched import dispatched
from ..mesh import Mesh
from ..placement import BATCH_AXIS, Claims, claimed, loops
from ..sends import ENTERED
from .bringing import bring
from .finished import GraphSpread
from .growing import GivenInput, GrowingGraph
from .moving import moved
from .placing import PartsOfAxes, ValuePlaces
from .rows import RowNodes


def spread(graph: Graph, mesh: Mesh, received: int = 0, beside: PartsOfAxes | None = None) -> GraphSpread:
    """The graph of one device of a mesh. Along all axes of it but those that split the batch each is given the same
    inputs, but for so many that come first, of a stage of a pipeline: of these each has what its type says. Raises
    Indivisible.

    beside: the parts of axes of a graph that has the same weights: a step has these, too, and whole results.
    """
    graph = dispatched(inline(graph, masks=True))  # masks are made where they are needed
    claims = claimed([*graph.axes, BATCH_AXIS], mesh)
    sent = tuple(GivenInput(each.value.type.element is Scalar.REAL, False) for each in graph.inputs[:received])
    given = (GivenInput(False, True),) * (len(graph.inputs) - received)
    if beside is None:
        return _Spreading(PartsOfAxes(mesh)).given(graph, claims, (*sent, *given))
    return _Spreading(replace(beside, mesh=mesh), graph).given(graph, claims, (*sent, *given))


@dataclass(eq=False)
class _Spreading:
    """One model on one mesh. Each graph is done once for each way in which its axes are split."""

    parts: PartsOfAxes
    whole: Graph | None = None  # whose results are given whole
    done: dict[object, GraphSpread] = field(default_factory=dict)

    def best(self, graph: Graph, claims: Claims, inputs: tuple[GivenInput, ...]) -> GraphSpread:
        """The graph for inputs that are given so. What it needs of them decides how they are given at last."""
        found = self.given(graph, claims, inputs)
        better = found.better()
        return found if better == inputs else self.given(graph, claims, better)

    def given(self, graph: Graph, claims: Claims, inputs: tuple[GivenInput, ...]) -> GraphSpread:
        """The graph for inputs that are given so."""
        key = (id(graph), tuple(sorted((axis.id, each) for axis, each in claims.items())), inputs)
        if key not in self.done:
            found = self._grown(graph, claims, inputs, {})
            if later := found.later():  # the same once more
                found = self._grown(graph, claims, inputs, later)
            self.done[key] = found
        return self.done[key]

    def _grown(
        self, graph: Graph, claims: Claims, inputs: tuple[GivenInput, ...], later: Mapping[int, frozenset[int]]
    ) -> GraphSpread:
        here = GrowingGraph(graph, ValuePlaces(self.parts, claims), Fresh(graph), later)
        found = GraphSpread(here, inputs)
        for entry, given in zip(graph.inputs, inputs, strict=True):
            here.enter(entry.value, given)
        plain = RowNodes(here)
        for node in graph.nodes:
            self._node(here, plain, found, node)
        found.finish(graph is self.whole)
        return found

    def _node(self, here: GrowingGraph, plain: RowNodes, found: GraphSpread, node: Node) -> None:
        match node:
            case Call() if node.graph.target:
                inner = self._opaque(here, node)
            case Scan():
                inner = self._opaque(here, node)
            case Call():
                inner = self._call(here, node)
            case Repeat():
                inner = self._repeat(here, node)
            case _:
                plain.visit(node)
                return
        if inner:
            found.inner.append((node, inner))

    def _opaque(self, here: GrowingGraph, node: Call | Scan) -> tuple[GraphSpread, ...]:
        """A scan, or an op of the user's own: every device that has the same part of the batch does all of it."""
        places = here.places
        args = tuple(bring(here, value, places.batched(value), places.nowhere) for value in node.args)
        inner: tuple[GraphSpread, ...] = ()
        if owns(node.graph):
            claims = {axis: each for axis, each in places.claims.items() if axis == BATCH_AXIS}
            given = tuple(GivenInput(value.id in here.graded, False) for value in node.args)
            inner = (self.given(node.graph, claims, given),)
        outs = tuple(here.new(out, places.batched(out)) for out in node.outs)
        here.nodes.append(replace(node, args=args, outs=outs))
        for out, made in zip(node.outs, outs, strict=True):
            if owns(node.graph) or any(value.id in here.graded for value in node.args):
                here.graded.add(out.id)
            here.now[out.id] = moved(here, out, made, places.batched(out), places.of(out)), places.of(out)
        return inner

    def _call(self, here: GrowingGraph, node: Call) -> tuple[GraphSpread, ...]:
        given = tuple(_giving(here, value) for value in node.args)
        claims = _claims_inside(here, node)
        freely = all(each.free for each in given) and not owns(node.graph)
        if freely:  # tables: made whole on every device
            claims = {axis: each for axis, each in claims.items() if axis == BATCH_AXIS}
        inner = self.best(node.graph, claims, given)
        args = _arguments(here, node.args, inner, dict(node.axes))
        outs = tuple(_result(here, out, [inner], number, freely) for number, out in enumerate(node.outs))
        axes = [*node.axes, *((axis, _there(axis, node)) for axis in inner.own)]
        for formal, actual in tuple(axes):
            for part, by in inner.parts_of(formal):
                axes.append((part, self.parts.of(actual, by)))
        here.nodes.append(replace(node, graph=inner.graph, args=args, outs=outs, axes=tuple(axes)))
        return (inner,)

    def _repeat(self, here: GrowingGraph, node: Repeat) -> tuple[GraphSpread, ...]:
        given = [_giving(here, value) for value in node.args]
        given[: node.carried] = [replace(each, free=False) for each in given[: node.carried]]

        def bodies() -> tuple[GraphSpread, ...]:
            return tuple(self.given(body, here.places.claims, tuple(given)) for body in node.bodies)

        while True:  # until all that has a gradient behind a pass has one before it
            inner = bodies()
            after = [any(body.has_gradient(n) for body in inner) for n in range(node.carried)]
            if all(given[n].graded or not later for n, later in enumerate(after)):
                break
            given = [replace(each, graded=each.graded or any(after[n : n + 1])) for n, each in enumerate(given)]
        wanted = [body.better() for body in inner]
        for n in range(node.carried, len(given)):
            if all(each[n] == wanted[0][n] for each in wanted):
                given[n] = wanted[0][n]
        inner = bodies()
        args = _arguments(here, node.args, inner[0], {})
        outs = tuple(_result(here, out, inner, number) for number, out in enumerate(node.outs))
        here.nodes.append(replace(node, bodies=tuple(one.graph for one in inner), args=args, outs=outs))
        return inner


def _giving(here: GrowingGraph, value: Value) -> GivenInput:
    return GivenInput(value.id in here.graded, value.id in here.free)


def _there(axis: Axis, node: Call) -> Axis:
    """What stands for an axis that a block lifts over where it is called: a step has new items in place of all."""
    for inner, outer in zip((entry.value for entry in node.graph.inputs), node.args, strict=True):
        known = {dict(node.axes).get(each, each) for each in inner.type.axes}
        new = [each for each in outer.type.axes if each not in known]
        if axis in inner.type.axes and axis not in outer.type.axes and len(new) == 1:
            return new[0]
    return axis


def _claims_inside(here: GrowingGraph, node: Call) -> Claims:
    """The claims on the axes of a block: those on what its axes stand for, and on its own by name."""
    graph, outside = node.graph, here.places.claims
    claims = {axis: outside[axis] for axis in graph.lifted if axis in outside}
    claims |= {formal: outside[actual] for formal, actual in node.axes if actual in outside}
    given = {formal for formal, _ in node.axes}
    claims |= claimed([axis for axis in graph.axes[graph.params :] if axis not in given], here.places.mesh)
    if BATCH_AXIS in outside:
        claims[BATCH_AXIS] = outside[BATCH_AXIS]
    return claims


def _arguments(
    here: GrowingGraph, args: Sequence[Value], inner: GraphSpread, names: Mapping[Axis, Axis]
) -> tuple[Value, ...]:
    """The arguments of a nested graph, where its inputs are given. names: what its axes stand for."""
    found = []
    for value, entry, given in zip(args, inner.old.inputs, inner.given, strict=True):
        have = loops(value)
        place = (axis and names.get(axis, axis) for axis in inner.input_place(entry.value))
        need = tuple(axis if axis in have else None for axis in place)
        work = tuple(ENTERED if m in given.entered else None for m in range(len(need)))
        found.append(bring(here, value, need, work))
    return tuple(found)


def _result(here: GrowingGraph, out: Value, inner: Sequence[GraphSpread], number: int, freely: bool = False) -> Value:
    """A result of a nested graph. freely: it is free."""
    place = here.places.batched(out) if freely else here.places.of(out)
    value = here.places.at(out, place)
    if freely:
        here.free[out.id] = {place: value}
    else:
        here.now[out.id] = value, place
    if any(one.has_gradient(number) for one in inner):
        here.graded.add(out.id)
    return value
