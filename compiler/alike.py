"""Whether calls of one set of weights make the same weights. What they compute with them may differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .graph import Apply, Call, Graph, Init, Parameter, Repeat, Scan, Weight


@dataclass(frozen=True)
class Made:
    """How a learned op or a `param` makes its weights."""

    op: str
    weights: Mapping[str, Weight]  # by their paths


def learned(graph: Graph, path: str = "") -> dict[str, Made]:
    """What makes the weights of a graph and of what it calls, by its path."""
    found: dict[str, Made] = {}
    told: set[tuple[str, Graph]] = set()  # one set of weights, however many calls: they might double
    for node in graph.nodes:
        match node:
            case Parameter(weight=weight):
                found[path + weight.name] = Made("param", {path + weight.name: weight})
            case Apply(weights=weights) if weights:
                found[f"{path}{node.name}"] = Made(node.op, {path + weight.name: weight for weight in weights})
            case Call(graph=inner, name=name) | Scan(graph=inner, name=name) if (name, inner) not in told:
                told.add((name, inner))
                found |= learned(inner, f"{path}{name}." if name else path)
            case Repeat(bodies=bodies, name=name):
                for body in bodies:
                    found |= learned(body, f"{path}{name}.")
            case _:
                pass
    return found


def weight_shapes(graph: Graph) -> dict[str, tuple[int | None, ...]]:
    """The extents of all weights of a graph and of what it calls, by their paths."""
    return {path: shape(weight) for made in learned(graph).values() for path, weight in made.weights.items()}


def shape(weight: Weight) -> tuple[int | None, ...]:
    return tuple(axis.extent for dim in weight.dims for axis in dim)


def told_apart(one: Graph, other: Graph) -> tuple[str, str] | None:
    """A code, and how weights of the second differ from those of the first, as the end of "but ..."; or None."""
    known, found = learned(one), learned(other)
    for path in {**found, **known}:
        if path not in known or path not in found:
            has, lacks = ("here", "at the other call") if path in found else ("at the other call", "here")
            return "E0414", f"`{path}` is learned {has} and not {lacks}"
        before, made = known[path], found[path]
        if before.op != made.op:
            return "E0414", f"`{path}` is a `{made.op}` here and a `{before.op}` at the other call"
        for name in {**before.weights, **made.weights}:
            if name not in made.weights or name not in before.weights:
                has, lacks = ("here", "at the other call") if name in made.weights else ("at the other call", "here")
                return "E0414", f"`{path}` has a `{name.rpartition('.')[2]}` {has} and none {lacks}"
            mine, theirs = made.weights[name], before.weights[name]
            if all(shape(mine)) and all(shape(theirs)) and shape(mine) != shape(theirs):
                return "E0412", f"`{name}` is {list(shape(mine))} here and {list(shape(theirs))} at the other call"
            if mine.frozen != theirs.frozen:
                here, there = ("frozen", "trained") if mine.frozen else ("trained", "frozen")
                return "E0414", f"`{name}` is {here} here and {there} at the other call"
            if _start(mine.init) != _start(theirs.init):
                here, there = _start(mine.init), _start(theirs.init)
                return "E0414", f"`{name}` begins as `{here}` here and as `{there}` at the other call"
    return None


def _start(init: Init) -> str:
    """An initialisation as it is written."""
    return init.kind + (f"({', '.join(f'{value:g}' for value in init.args)})" if init.args else "")
