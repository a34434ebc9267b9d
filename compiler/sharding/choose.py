"""Which axes of a model each axis of a mesh splits, where nobody says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..base.names import listed
from ..cost.polynomials.polynomial import Poly, Values
from ..cost.scope import SizeScope
from ..cost.work import Meter
from ..graph.inventory import inventory
from ..graph.nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, children
from ..graph.traits import Normalise, Reduce
from ..ops.internal import DISPATCH
from ..sizes.axes import Axis
from .collectives import passes, sendings
from .experts.counted import counted
from .experts.dispatched import dispatched
from .mesh import BATCH, PIPE, Indivisible, Mesh, mesh_of
from .spread import spread

KNOWN = {"data": "the batch", "model": "heads, inner layers, vocabularies", "expert": "experts", "context": "widths"}
FLOPS, BYTES = 4e14, 1.5e11  # of a device in a second: what it computes, what it sends to its neighbours
HELD = 18  # bytes for each weight, its gradient and its state: holding them counts as sending them does
BETTER = 0.995  # what one more axis must come to


class NoSplit(ValueError):
    """A mesh axis of which nobody says what it splits, or that has nothing to split."""


def splits_of(
    graph: Graph, sizes: Mapping[str, int], given: Mapping[str, Sequence[str]], scope: SizeScope, values: Values
) -> dict[str, tuple[str, ...]]:
    """For each mesh axis the names of the axes that it splits. given: those that somebody named.

    scope, values: the sizes of the model, for which `model` is chosen. Raises NoSplit.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in sizes:
        if name == PIPE and name in given:
            raise NoSplit("`pipe` splits no axis: its devices have stages, cut between passes of repeats")
        if name == PIPE:
            found[name] = ()
        elif name in given:
            found[name] = tuple(given[name])
            if BATCH in found[name][1:]:
                others = ",".join(axis for axis in found[name] if axis != BATCH)
                raise NoSplit(f"`{name}` splits the batch, which comes first: `--split {name}={BATCH},{others}`")
        elif name == "data":
            found[name] = (BATCH,)
        elif name == "context":
            found[name] = _some(name, input_widths(graph), "no input has a width")
        elif name == "expert":
            experts = _some(name, grouped(graph), "no map has weights of its own for each item of an axis")
            # rows go to the experts that they picked; where all are computed, each device does its own for all items
            found[name] = (BATCH, *experts) if picked(dispatched(graph)) else experts
        elif name != "model":
            raise NoSplit(
                f"what does the mesh axis `{name}` split? Say `--split {name}=AXIS,AXIS`; "
                f"{listed([*KNOWN, PIPE])} are known"
            )
    if "model" in sizes and "model" not in given:
        taken = {axis for names in found.values() for axis in names}
        found["model"] = _some(
            "model", _best(graph, sizes["model"], taken, scope, values), "no axis of its weights divides over it"
        )
    return {name: found[name] for name in sizes}


def _some(name: str, axes: Iterable[str], nothing: str) -> tuple[str, ...]:
    names = tuple(axes)
    if not names:
        raise NoSplit(f"the mesh axis `{name}` has nothing to split: {nothing}")
    return names


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


def _best(graph: Graph, size: int, taken: set[str], scope: SizeScope, values: Values) -> list[str]:
    """The axes whose split makes a step shortest, memory counted, one after another: each must make it shorter."""
    left = [name for name in depths_of_weights(graph) if name not in taken | streams(graph)]
    chosen: list[str] = []
    best = _seconds(graph, mesh_of({"model": size}, {"model": ()}), scope, values)
    assert best is not None
    while left:
        tried = {
            name: _seconds(graph, mesh_of({"model": size}, {"model": (*chosen, name)}), scope, values) for name in left
        }
        able = {name: time for name, time in tried.items() if time is not None}
        if not able:
            break
        name = min(able, key=lambda one: able[one])
        if chosen and able[name] > BETTER * best:
            break  # one is split, whatever it brings: somebody asked for it
        best = able[name]
        chosen.append(name)
        left.remove(name)
    return chosen


def _seconds(graph: Graph, mesh: Mesh, scope: SizeScope, values: Values) -> float | None:
    """What a step of training takes one device, roughly; None where an axis does not divide."""
    try:
        local = counted(spread(graph, mesh).graph)
    except Indivisible:
        return None
    meter = Meter(scope, 2, values)
    sent = sum(weight.size for weight in inventory(local).values()) * HELD
    for one in sendings(local, meter, mesh):
        sent += one.times * one.means.sent(int(one.given.at(values)), mesh.axes[one.mesh].size)
    return 6 * multiplied(local.nodes, meter, 1) / FLOPS + sent / BYTES


def multiplied(nodes: Iterable[Node], meter: Meter, times: int) -> float:
    """The multiply-adds of all contractions."""
    found = 0.0
    for node in nodes:
        match node:
            case Apply(traits=traits) if isinstance(traits.reads, Reduce) and traits.reads.multiplies:
                axes: dict[Axis, None] = {}
                for value in (*node.operands, node.out):
                    axes.update(dict.fromkeys(value.type.axes))
                axes.update(dict.fromkeys(node.axes))
                found += times * float(meter.scope.product(axes).at(meter.values))
            case Call():
                found += multiplied(node.graph.nodes, replace(meter, scope=meter.scope.inside(node)), times)
            case Repeat():
                for body, index, runs in passes(node):
                    turn = replace(meter, scope=meter.scope.turn(node.index, Poly.of(index)))
                    found += multiplied(body.nodes, turn, times * runs)
            case _:
                pass
    return found
