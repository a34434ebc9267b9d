"""Looking inside: paths of values that the code returns besides its result (`decode.layers.1.cross.weights`).

A path names blocks and repeats from the outside in, then a value; blocks without weights may be left out. A value
without a name is called as its op is (`softmax`). Of several values of one name in a block the name alone is the last,
and `name:1` the first; calls of a block without weights that nothing tells apart are `attend:1`, `attend:2`, and so are
repeats without weights.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from ...compiler.graph.nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, children, makes
from ...compiler.graph.values import Value
from ...compiler.sizes.axes import evaluate
from ...dsl.source import Span


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
    node: Node | None = None  # what makes the value
    label: str = ""  # the end of the path: what it is called where it is recorded


@dataclass(slots=True)
class Captures:
    """What to capture. marks: for `id(graph)` of the lowered graphs, the values to record."""

    wanted: dict[str, Found] = field(default_factory=dict)
    marks: dict[int, frozenset[int]] = field(default_factory=dict)
    lowered: Mapping[int, Graph] = field(default_factory=dict)  # from the graphs of `wanted`
    labels: dict[tuple[int, int], str] = field(default_factory=dict)  # for a lowered graph and one of its values

    def label(self, lowered: Graph, value: Value) -> str:
        """What a recorded value is called in its block."""
        return self.labels[id(lowered), value.id]


def resolve(root: Graph, paths: tuple[str, ...]) -> dict[str, Found]:
    """The value that each path names. Raises CaptureError with near names."""
    weightless: dict[int, bool] = {}
    wanted = {}
    for path in paths:
        found = sorted(_search(_CaptureWay(root, path.split(".")), weightless), key=lambda one: one.skipped)
        if not found:
            raise CaptureError(_unknown(root, path))
        near = [one for one in found if one.skipped == found[0].skipped]
        exact = [one for one in near if one.path == path] or near
        if len(exact) > 1:
            names = [f"`{name}`" for name in dict.fromkeys(one.path for one in exact)]
            if len(names) == 1:
                raise CaptureError(f"capture: {len(exact)} values are called {names[0]}, in models that this one calls")
            raise CaptureError(f"capture: `{path}` could be any of {', '.join(names)}")
        wanted[path] = exact[0]
    return wanted


def recorded(found: Found) -> Iterator[tuple[Graph, int]]:
    """Where a value is recorded: its graph, and those of calls that share its weights, which make one class with it."""
    weightless: dict[int, bool] = {}
    way = [*(graph for graph, _ in found.steps), found.graph]
    alike = way[:1]
    for (graph, place), inner in zip(found.steps, way[1:], strict=True):
        nodes = [(one, one.nodes[place]) for one in alike]
        alike = []
        for one, node in nodes:
            if isinstance(node, Call):
                shared = node.name != "" and not _without_weights(node.graph, weightless)
                alike += [graph for call in (_alike(one, node) if shared else [node]) for graph in children(call)]
            elif isinstance(node, Repeat):
                found_in = graph.nodes[place]
                assert isinstance(found_in, Repeat)  # graphs that are alike have the same nodes
                alike.append(node.bodies[[body is inner for body in found_in.bodies].index(True)])
        alike = [one for one in dict.fromkeys(alike) if _outline(one) == _outline(inner)]
    places = [(i, j) for i, node in enumerate(found.graph.nodes) for j, x in enumerate(makes(node)) if x == found.value]
    yield from ((graph, makes(graph.nodes[i])[j].id) for graph in alike for i, j in places)


def _outline(graph: Graph) -> list[tuple[str, str, int]]:
    """What of two graphs is the same if their nodes stand for one another."""
    return [(type(node).__name__, getattr(node, "op", ""), len(makes(node))) for node in graph.nodes]


def everything(root: Graph) -> Iterator[Found]:
    """Every value that can be captured, in the order of the spec: not what a `scan` makes item by item.

    Of a shared repeat and of calls that share weights, it is what the last pass or call makes.
    """
    yield from _inside(root, (), (), {})


def _inside(
    graph: Graph,
    steps: tuple[tuple[Graph, int], ...],
    names: tuple[str, ...],
    weightless: dict[int, bool],
    holder: str = "",
    later: frozenset[str] = frozenset(),
) -> Iterator[Found]:
    """holder: what stands before the names of values in the body of a repeat whose nodes have it in theirs.

    later: what the graphs around call again, behind this one.
    """
    labels = _labels(graph)
    for place, node in enumerate(graph.nodes):
        for value in makes(node):
            if value.id in labels:
                label = holder + labels[value.id]
                yield Found(".".join([*names, label]), steps, graph, value, 0, node, label)
        here = (*steps, (graph, place))
        match node:
            case Call() if node.name == "":
                if _alike(graph, node)[-1] is node:  # of a model's calls the last, as of others that share weights
                    yield from _inside(node.graph, here, names, weightless)
            case Call() if node.name not in later and _reached(graph, node, weightless):
                yield from _inside(node.graph, here, (*names, segment(graph, node, weightless)), weightless)
            case Repeat(beside=True) if _count(node):
                body = node.bodies[node.runs(_count(node) - 1)]
                again = later | _called_behind(graph, place)
                yield from _inside(body, here, names, weightless, f"{node.name}.", again)
            case Repeat():
                for number in _passes(node):
                    body = node.bodies[node.runs(int(number or 0))]
                    own = segment(graph, node, weightless)
                    yield from _inside(body, here, (*names, own, *([number] if number else [])), weightless)
            case _:
                pass


def _labels(graph: Graph) -> dict[int, str]:
    """What each value that a graph makes is called in a path, by its id."""
    named: dict[str, list[int]] = {}
    for node in graph.nodes:
        for value in makes(node):
            name = value.name or (node.op if isinstance(node, Apply) else None)
            if name is not None:
                named.setdefault(name, []).append(value.id)
    return {
        number: name if place == len(numbers) else f"{name}:{place}"
        for name, numbers in named.items()
        for place, number in enumerate(numbers, 1)
    }


def segment(graph: Graph, node: Call | Repeat, weightless: dict[int, bool] | None = None) -> str:
    """What a call or a repeat adds to the paths of what is made in it."""
    alike, known = _alike(graph, node), {} if weightless is None else weightless
    if len(alike) == 1 or not all(_without_weights(child, known) for child in children(node)):
        return node.name
    return f"{node.name}:{1 + next(place for place, one in enumerate(alike) if one is node)}"


def _alike(graph: Graph, node: Call | Repeat) -> list[Call | Repeat]:
    """The calls, or the repeats, of one name; of models, which have none, those of the same one."""
    return _namesakes(graph)[_kind(node)]


def _kind(node: Call | Repeat) -> tuple[type, str, frozenset[Span | None]]:
    return type(node), node.name, frozenset() if node.name else frozenset(child.span for child in children(node))


@lru_cache(maxsize=8)  # of one graph each node is asked for in turn
def _namesakes(graph: Graph) -> Mapping[tuple[type, str, frozenset[Span | None]], list[Call | Repeat]]:
    found: dict[tuple[type, str, frozenset[Span | None]], list[Call | Repeat]] = {}
    for node in graph.nodes:
        if isinstance(node, Call | Repeat):
            found.setdefault(_kind(node), []).append(node)
    return found


def _reached(graph: Graph, call: Call, weightless: dict[int, bool]) -> bool:
    """Of calls that share weights only the last is: what the others make is overwritten."""
    return _without_weights(call.graph, weightless) or graph.nodes[_last_calls(graph)[call.name]] is call


@lru_cache(maxsize=8)
def _last_calls(graph: Graph) -> Mapping[str, int]:
    """By the names of calls the place of the node that makes the last: a repeat may call shares of the graph."""
    found: dict[str, int] = {}
    for place, node in enumerate(graph.nodes):
        if isinstance(node, Call):
            found[node.name] = place
        elif isinstance(node, Repeat) and node.beside:
            found |= {name: place for body in node.bodies for name in _last_calls(body)}
    return found


def _called_behind(graph: Graph, place: int) -> frozenset[str]:
    return frozenset(name for name, last in _last_calls(graph).items() if last > place)


def _passes(node: Repeat) -> list[str]:
    """What stands in a path for each pass of a repeat; nothing where the passes share their weights."""
    return [str(number) for number in range(_count(node))] if not node.shared else [""] * (_count(node) > 0)


@dataclass(frozen=True, slots=True)
class _CaptureWay:
    """How a search has come to a graph. `left`: the segments of the path that it has not met yet; the rest as in
    `_inside` and `Found`.
    """

    graph: Graph
    left: list[str]
    steps: tuple[tuple[Graph, int], ...] = ()
    names: tuple[str, ...] = ()
    skipped: int = 0
    holder: str = ""
    later: frozenset[str] = frozenset()

    def into(self, graph: Graph, place: int, met: int = 0, *names: str, skipped: int = 0) -> _CaptureWay:
        """On into a graph that the node at this place has; `met`: the segments that say so."""
        steps = (*self.steps, (self.graph, place))
        return _CaptureWay(graph, self.left[met:], steps, (*self.names, *names), self.skipped + skipped)


def _search(way: _CaptureWay, weightless: dict[int, bool]) -> Iterator[Found]:
    if not way.left:
        return
    yield from _called(way)
    graph = way.graph
    for place, node in enumerate(graph.nodes):
        match node:
            case Call() if node.name == "":
                if _alike(graph, node)[-1] is node:
                    yield from _search(way.into(node.graph, place), weightless)
            case Call() if node.name not in way.later and _reached(graph, node, weightless):
                for on in _into_call(way, place, node, weightless):
                    yield from _search(on, weightless)
            case Repeat(beside=True) if _count(node):
                on = way.into(node.bodies[node.runs(_count(node) - 1)], place)
                again = way.later | _called_behind(graph, place)
                yield from _search(replace(on, holder=f"{node.name}.", later=again), weightless)
            case Repeat() if way.left[0] in (node.name, own := segment(graph, node, weightless)):
                for on in _into_passes(way, place, node, own):
                    yield from _search(on, weightless)
            case _:
                pass


def _called(way: _CaptureWay) -> Iterator[Found]:
    """The values of a graph that are called as the rest of the path says."""
    if len(way.left) != 1 + way.holder.count("."):
        return
    wanted, labels = ".".join(way.left), _labels(way.graph)
    for node in way.graph.nodes:
        for value in makes(node):
            # the last of several may be written with its number, too
            known = [] if value.id not in labels else [labels[value.id], _numbered(labels, value.id)]
            if wanted in (way.holder + label for label in known):
                label = way.holder + known[0]
                path = ".".join([*way.names, label])
                yield Found(path, way.steps, way.graph, value, way.skipped, node, label)


def _into_call(way: _CaptureWay, place: int, node: Call, weightless: dict[int, bool]) -> Iterator[_CaptureWay]:
    """By its name; and past it, where it has no weights."""
    own = segment(way.graph, node, weightless)
    parts = 1 + own.count(".")
    if ".".join(way.left[:parts]) in (node.name, own):
        yield way.into(node.graph, place, parts, own)
    if _without_weights(node.graph, weightless):
        yield way.into(node.graph, place, 0, own, skipped=1)


def _into_passes(way: _CaptureWay, place: int, node: Repeat, own: str) -> Iterator[_CaptureWay]:
    """Into the passes that the segment behind the name of a repeat says; none does where they share their weights."""
    for number in _passes(node):
        body = node.bodies[node.runs(int(number or 0))]
        if not number:
            yield way.into(body, place, 1, own)
        elif way.left[1:2] == [number]:
            yield way.into(body, place, 2, own, number)


def _numbered(labels: Mapping[int, str], number: int) -> str:
    name = labels[number].partition(":")[0]
    alike = [one for one, label in labels.items() if label.partition(":")[0] == name]
    return f"{name}:{1 + alike.index(number)}"


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
    """Paths of all values that have names of their own; at most `limit`."""
    named = (found.path for found in everything(graph) if found.value.name is not None)
    return list(islice(dict.fromkeys(named), limit))


def _unknown(root: Graph, path: str) -> str:
    names = capturable(root, 2_000)
    scores = {name: _likeness(path, name) for name in names}
    near = [name for name in heapq.nlargest(3, names, key=scores.__getitem__) if scores[name] >= 1.1]
    shown = near or names[:8]
    text = f"capture: there is no value `{path}`"
    if shown:
        text += ("; did you mean " if near else "; there are ") + (" or " if near else ", ").join(
            f"`{name}`" for name in shown
        )
        text += "?" if near else ""
    return text


def _likeness(path: str, name: str) -> float:
    """From 0 to 2: of the whole, and of the last name, which blocks that are left out do not blur."""
    pairs = ((path, name), (path.rpartition(".")[2], name.rpartition(".")[2]))
    return sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in pairs)
