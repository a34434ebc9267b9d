"""Structural equality of what makes weights: whether calls of one set make the same. What they compute may differ."""

from __future__ import annotations

import math

from ...dsl.base.records import record
from ..sizes.axes import evaluate
from .nodes import Apply, Call, Graph, Init, Parameter, Repeat, Scan, Weight, children, owns

Maker = Parameter | Apply | Call | Scan | Repeat


@record(slots=False)
class ModelPath:
    """`name` begins the names of the model's weights, that of a block, repeat or share; empty where it is called."""

    name: str
    model: Graph


ModelPaths = dict[object, ModelPath]
"""How a graph comes to models with weights, by where these are declared."""


def models(graph: Graph) -> list[Graph]:
    """A graph, and the models that it calls: these add nothing to the names of their weights (D11)."""
    found = [graph]
    for model in found:  # grows as it goes
        called = (node.graph for node in model.nodes if isinstance(node, Call | Scan) and not node.name)
        found += [inner for inner in dict.fromkeys(called) if inner not in found]
    return found


def makers(graph: Graph, owners: dict[Graph, bool]) -> dict[str, Maker]:
    """What makes the weights of a graph, by its name in it; those of models that it calls are not among them."""
    found: dict[str, Maker] = {}
    for node in graph.nodes:
        match node:
            case Parameter(weight=weight):
                found[weight.name] = node
            case Apply(name=str(name), weights=weights) if weights:
                found[name] = node
            case Repeat(beside=True, bodies=bodies):
                for body in bodies:
                    found = {**makers(body, owners), **found}
            case Call(name=name) | Scan(name=name) | Repeat(name=name) if name:
                if any(owns(child, owners) for child in children(node)):
                    found.setdefault(name, node)  # the calls of one share have been compared
            case _:
                pass
    return found


def first_difference(one: Graph, other: Graph, owners: dict[Graph, bool]) -> tuple[str, str] | None:
    """The code of an error, and where weights of the second first differ from those of the first; None if nowhere."""
    return _Comparison(owners).graphs(one, other, "")


class _Comparison:
    def __init__(self, owners: dict[Graph, bool]) -> None:
        self._owners = owners
        self._done: set[tuple[Graph, Graph]] = set()

    def graphs(self, one: Graph, other: Graph, path: str) -> tuple[str, str] | None:
        if one is other or (one, other) in self._done:
            return None
        self._done.add((one, other))
        known, found = self._makers(one), self._makers(other)
        for name in {**found, **known}:
            if name not in known or name not in found:
                has, lacks = ("here", "at the other call") if name in found else ("at the other call", "here")
                return "E0414", f"`{path}{name}` is learned {has} and not {lacks}"
            difference = self._one_name(known[name], found[name], path + name)
            if difference is not None:
                return difference
        return None

    def _makers(self, graph: Graph) -> dict[str, Maker]:
        return {name: maker for model in models(graph) for name, maker in makers(model, self._owners).items()}

    def _one_name(self, one: Maker, other: Maker, path: str) -> tuple[str, str] | None:
        if _kind(one) != _kind(other):
            return "E0414", f"`{path}` is {_kind(other)} here and {_kind(one)} at the other call"
        match one, other:
            case Parameter(), Parameter():
                return _weights(one.weight, other.weight, path)
            case Apply(), Apply():
                return _ops(one, other, path)
            case Repeat(), Repeat():
                return self._repeats(one, other, path)
            case Call() | Scan(), Call() | Scan():
                return self.graphs(one.graph, other.graph, f"{path}.")
        raise AssertionError("makers of one kind are of one class")

    def _repeats(self, one: Repeat, other: Repeat, path: str) -> tuple[str, str] | None:
        if one.shared:
            return self.graphs(one.bodies[0], other.bodies[0], f"{path}.")
        here, there = evaluate(other.count), evaluate(one.count)  # None: they depend on the number of a pass around
        if None not in (here, there) and here != there:
            return "E0414", f"`{path}` runs {here} times here and {there} at the other call"
        for number in range(max(len(one.variant), len(other.variant), 1)):
            bodies = one.bodies[one.runs(number)], other.bodies[other.runs(number)]
            difference = self.graphs(*bodies, f"{path}.{number}.")
            if difference is not None:
                return difference
        return None


def _kind(maker: Maker) -> str:
    match maker:
        case Parameter():
            return "a `param`"
        case Apply(op=op):
            return f"a `{op}`"
        case Repeat(shared=shared):
            return "a `shared` repeat" if shared else "a repeat"
        case _:
            return f"a call of `{maker.graph.name}`"


def _ops(one: Apply, other: Apply, path: str) -> tuple[str, str] | None:
    before, made = ({weight.name: weight for weight in node.weights} for node in (one, other))
    for name in {**before, **made}:
        if name not in made or name not in before:
            has, lacks = ("here", "at the other call") if name in made else ("at the other call", "here")
            return "E0414", f"`{path}` has a `{name.rpartition('.')[2]}` {has} and none {lacks}"
        difference = _weights(before[name], made[name], f"{path}.{name.rpartition('.')[2]}")
        if difference is not None:
            return difference
    return None


def _weights(one: Weight, other: Weight, path: str) -> tuple[str, str] | None:
    here, there = shape(other), shape(one)
    if None not in (*here, *there) and here != there:
        return "E0412", f"`{path}` is {list(here)} here and {list(there)} at the other call"
    if one.frozen != other.frozen:
        mine, theirs = ("frozen", "trained") if other.frozen else ("trained", "frozen")
        return "E0414", f"`{path}` is {mine} here and {theirs} at the other call"
    if (one.init.kind, one.init.args) != (other.init.kind, other.init.args):
        return "E0414", f"`{path}` begins as `{_start(other.init)}` here and as `{_start(one.init)}` at the other call"
    return None


def shape(weight: Weight) -> tuple[int | None, ...]:
    """As it is stored: a bounded width counts at its bound (D14). None where a size depends on the number of a pass."""
    sizes = [[axis.bound if axis.extent is None else axis.extent for axis in dim] for dim in weight.dims]
    return tuple(None if None in dim else math.prod(size or 1 for size in dim) for dim in sizes)


def _start(init: Init) -> str:
    """An initialisation as it is written."""
    return init.kind + (f"({', '.join(f'{value!r}' for value in init.args)})" if init.args else "")
