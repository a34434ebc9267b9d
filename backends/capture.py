"""Looking inside: paths of values that the code returns besides its result (`decode.layers.1.cross.weights`)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..compiler.graph import Apply, Call, Graph, Parameter, Repeat, Scan, Value
from ..compiler.static import evaluate
from .plan import results

if TYPE_CHECKING:
    from .body import Body
    from .plan import Program


class CaptureError(ValueError):
    """A capture path that names no value of the model, or several."""


@dataclass(frozen=True, slots=True)
class Found:
    """One value in one instance: the way to it, and where."""

    path: str  # every segment written
    steps: tuple[tuple[Graph, int], ...]  # graph and place of the node in it, from the root inwards
    graph: Graph
    value: Value
    skipped: int  # segments of blocks without weights that the path leaves out


@dataclass(slots=True)
class Captures:
    """What to capture. marks: for `id(graph)` of the lowered graphs, the values to record."""

    wanted: dict[str, Found] = field(default_factory=dict)
    marks: dict[int, frozenset[int]] = field(default_factory=dict)
    lowered: Mapping[int, Graph] = field(default_factory=dict)  # from the graphs of `wanted`

    def entries(
        self, program: Program, bodies: Mapping[str, Body]
    ) -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
        """For each path as the user wrote it: where it is recorded, all its dimensions, and those it varies along."""
        for path, found in self.wanted.items():
            leading = []
            for graph, place in found.steps:
                lowered = self.lowered[id(graph)]
                plan = program.plan(lowered)
                own = program.bindings[id(lowered)][0]
                spread = bodies[plan.key].spreads.get(_node_key(graph, place, lowered), ())
                leading += [own.get(axis, axis) for axis in spread]
            lowered = self.lowered[id(found.graph)]
            plan = program.plan(lowered)
            own = program.bindings[id(lowered)][0]
            number = program.canonical(lowered, found.value.id)
            layout = bodies[plan.key].recorded[number]
            dims = [*leading, *(own.get(axis, axis) for axis in layout)]
            kept = [axis for axis in dims if axis in found.value.type.axes and axis not in found.value.type.thin]
            yield path, found.path, tuple(axis.name for axis in dims), tuple(axis.name for axis in dims if axis in kept)

    def lines(self, program: Program, body: Body) -> list[str]:
        """Entries of the dictionary that the root returns."""
        found = []
        for path, key, dims, kept in self.entries(program, body.file.bodies):
            found.append(f'    "{path}": captured(found["{key}"], {body.batch()}, {dims!r}, {kept!r}),')
        body.file.helpers["captured"] = None
        return found


def _node_key(graph: Graph, place: int, lowered: Graph) -> int:
    """The place of a call in the lowered graph: calls are never removed, so they keep their order."""
    before = sum(isinstance(node, Call | Repeat | Scan) for node in graph.nodes[:place])
    places = [i for i, node in enumerate(lowered.nodes) if isinstance(node, Call | Repeat | Scan)]
    return places[before]


def resolve(root: Graph, paths: tuple[str, ...]) -> dict[str, Found]:
    """The value that each path names. Raises CaptureError with near names."""
    weightless: dict[int, bool] = {}
    wanted = {}
    for path in paths:
        found = sorted(_search(root, path.split("."), (), (), 0, weightless), key=lambda one: one.skipped)
        exact = [one for one in found if one.skipped == found[0].skipped]
        if not found:
            raise CaptureError(_unknown(root, path))
        if len(exact) > 1:
            shown = ", ".join(f"`{one.path}`" for one in exact)
            raise CaptureError(f"capture: `{path}` could be any of {shown}: label the calls apart")
        wanted[path] = exact[0]
    return wanted


def _search(
    graph: Graph,
    segments: list[str],
    steps: tuple[tuple[Graph, int], ...],
    names: tuple[str, ...],
    skipped: int,
    weightless: dict[int, bool],
) -> Iterator[Found]:
    if not segments:
        return
    if len(segments) == 1:
        values = [value for node in graph.nodes for value in results(node) if value.name == segments[0]]
        if values:  # rebound names: the last
            yield Found(".".join([*names, segments[0]]), steps, graph, values[-1], skipped)
    for place, node in enumerate(graph.nodes):
        here = (*steps, (graph, place))
        match node:
            case Call():
                if node.name == "":
                    yield from _search(node.graph, segments, here, names, skipped, weightless)
                    continue
                inner = (*names, node.name)
                if node.name == segments[0]:
                    yield from _search(node.graph, segments[1:], here, inner, skipped, weightless)
                if _without_weights(node.graph, weightless):
                    yield from _search(node.graph, segments, here, inner, skipped + 1, weightless)
            case Repeat() if node.name == segments[0]:
                if node.shared:
                    yield from _search(node.bodies[0], segments[1:], here, (*names, node.name), skipped, weightless)
                elif len(segments) > 1 and segments[1].isdecimal() and int(segments[1]) < _count(node):
                    number = int(segments[1])
                    body = node.bodies[node.variant[number] if len(node.bodies) > 1 else 0]
                    yield from _search(body, segments[2:], here, (*names, node.name, str(number)), skipped, weightless)
            case _:
                pass


def _count(node: Repeat) -> int:
    count = evaluate(node.count)
    assert isinstance(count, int)
    return count


def _without_weights(graph: Graph, memo: dict[int, bool]) -> bool:
    if id(graph) not in memo:
        found = True
        for node in graph.nodes:
            match node:
                case Parameter():
                    found = False
                case Apply():
                    found = found and not node.weights
                case Call() | Scan():
                    found = found and _without_weights(node.graph, memo)
                case Repeat():
                    found = found and all(_without_weights(body, memo) for body in node.bodies)
        memo[id(graph)] = found
    return memo[id(graph)]


def capturable(graph: Graph, limit: int = 10_000) -> list[str]:
    """Paths of all named values, of repeats only the first pass; at most `limit`."""
    found: dict[str, None] = {}

    def walk(graph: Graph, prefix: str) -> None:
        for node in graph.nodes:
            if len(found) >= limit:
                return
            for value in results(node):
                if value.name is not None:
                    found[prefix + value.name] = None
            match node:
                case Call():
                    walk(node.graph, f"{prefix}{node.name}." if node.name else prefix)
                case Repeat():
                    if node.shared:
                        walk(node.bodies[0], f"{prefix}{node.name}.")
                    else:
                        for number in range(_count(node)):
                            walk(
                                node.bodies[node.variant[number] if len(node.bodies) > 1 else 0],
                                f"{prefix}{node.name}.{number}.",
                            )
                case _:
                    pass

    walk(graph, "")
    return list(found)


def _unknown(root: Graph, path: str) -> str:
    names = capturable(root)
    near = difflib.get_close_matches(path, names, 3, 0.5)
    tail = [name for name in names if name.split(".")[-1] == path.split(".")[-1] and name not in near]
    shown = [*near, *tail][:4] or names[:8]
    text = f"capture: there is no value `{path}`"
    if shown:
        text += "; did you mean " + " or ".join(f"`{name}`" for name in shown) + "?"
    return text
