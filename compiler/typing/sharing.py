"""A model has one set of weights (D11): what would make a second one is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...dsl.base.records import replace
from ...dsl.source import Span
from ..base.problems import location_key
from ..graph.equality import ModelPath, ModelPaths, first_difference, makers
from ..graph.nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, children, owns
from ..problems.names import OwnedTwice
from ..problems.results import SecondSet, SharedDifferently
from .environment import Caller, Environment

Calling = Call | Scan | Repeat


def ways(graph: Graph, checker: Caller) -> ModelPaths:
    """The first path to each model with weights: by calls of it, and of blocks that call it."""
    known = checker.ways
    if graph not in known:
        known[graph] = {}
        for node in _callers(graph.nodes):
            for declared, way in _ways_of(node, checker):
                known[graph].setdefault(declared, way)
    return known[graph]


def _callers(nodes: Iterable[Node]) -> Iterator[Calling]:
    return (node for node in nodes if isinstance(node, Calling))


def _ways_of(node: Calling, checker: Caller) -> Iterator[tuple[object, ModelPath]]:
    for child in children(node):
        if child.kind == "model" and owns(child, checker.owners):
            yield location_key(child.span), ModelPath(node.name, child)
        for declared, way in ways(child, checker).items():
            here = "" if isinstance(node, Repeat) and node.beside else node.name
            yield declared, ModelPath(here or way.name, way.model)  # a model adds nothing to names


def beside(graph: Graph, name: str, lent: frozenset[str]) -> Graph:
    """The body of a repeat that calls shares of the graph around: all else has the name of the repeat in its own."""

    def named(node: Node) -> Node:
        match node:
            case Parameter(weight=weight):
                return replace(node, weight=replace(weight, name=f"{name}.{weight.name}"))
            case Apply(weights=weights) if weights:
                mine = tuple(replace(weight, name=f"{name}.{weight.name}") for weight in weights)
                return replace(node, name=f"{name}.{node.name}", weights=mine)
            case Repeat(beside=True, bodies=bodies):
                inner = tuple(beside(body, name, lent) for body in bodies)
                return replace(node, name=f"{name}.{node.name}", bodies=inner)
            case Call() | Scan() | Repeat() if node.name and node.name not in lent:
                return replace(node, name=f"{name}.{node.name}")
            case _:
                return node

    return replace(graph, nodes=tuple(map(named, graph.nodes)))


def without(graph: Graph, lent: frozenset[str]) -> Graph:
    """What a body learns itself: without the calls of shares that the graph around has."""
    kept = (node for node in graph.nodes if not (isinstance(node, Call | Scan) and node.name in lent))
    return replace(graph, nodes=tuple(kept))


def claim(env: Environment, name: str, span: Span) -> None:
    """Something named `name` owns weights here: a second one is an error (D11)."""
    named = env.outcome.named
    if name in named:
        env.problems.add(OwnedTwice(span, name, named[name]))
    named[name] = span


def own_model(env: Environment, model: Graph, span: Span) -> bool:
    """A called model's weights stand here under the names that they have in it, once for all of its calls. Whether
    this call makes them as the others do.
    """
    owners, named = env.checker.owners, env.outcome.named
    known, there = env.outcome.models.setdefault(location_key(model.span), (model, span))
    if known is not model:
        difference = first_difference(known, model, owners)
        if difference is None:
            return True
        return env.problems.refuse(SharedDifferently(span, difference, model.name, there))
    if there is not span:
        return True
    for name in makers(model, owners):
        if name in named:
            env.problems.add(OwnedTwice(span, name, named[name], model.name))
        named.setdefault(name, span)
    return True


def own(env: Environment, name: str, span: Span) -> None:
    """The last node owns weights under this name (D11). Where the name is taken by what comes to the same model, a
    label would help nobody: the model would get a second set.
    """
    *before, node = _callers(env.builder.nodes)
    mine = dict(_ways_of(node, env.checker))
    for other in before:
        both = [way for declared, way in _ways_of(other, env.checker) if declared in mine]
        if other.name == name and both:
            _second(env, both[0].model, node, other, span)
            return
    claim(env, name, span)


def check_one_set(env: Environment) -> None:
    """Report a call that reaches a model by another path than an earlier one: each path has weights of its own."""
    first: dict[object, tuple[ModelPath, Calling]] = {}
    reported: set[str] = set()
    for node in _callers(env.builder.nodes):
        for declared, way in _ways_of(node, env.checker):
            before, there = first.setdefault(declared, (way, node))
            if before.name != way.name and node.span is not None and way.name not in reported:
                reported.add(way.name)
                _second(env, way.model, node, there, node.span)


def _second(env: Environment, model: Graph, node: Calling, first: Calling, span: Span) -> None:
    same = isinstance(node, Call) and isinstance(first, Call) and node.graph.name == first.graph.name
    once = node.graph.name if same and isinstance(node, Call) else ""
    env.problems.add(SecondSet(span, model.name, model.span, first.span, once))
