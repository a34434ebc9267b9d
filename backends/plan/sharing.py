"""Which calls have one set of weights, and how they differ.

Calls of a `share` are calls of one module. Their graphs may come out differently: one is given a mask and another none,
or their axes differ in size. The first graph is the *home* of the others: its class makes the weights, and theirs are
further methods of it. What the calls give differently is not known when the module is built.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ...compiler.graph.nodes import NESTS, Call, Graph, Node, Repeat, Scan, children, owns
from ...compiler.sizes.axes import Axis, Const, ConstOf, show_static

Site = tuple[int, str]
"""A module of a graph: the graph's id, and what the module is called in it."""


class Homes:
    """The homes of the graphs that are nested in a model and in its steps; a graph without one is its own."""

    def __init__(self, root: Graph, steps: Iterable[Graph] = ()) -> None:
        self._home: dict[int, Graph] = {}
        self._order: dict[int, int] = {}
        self._around: dict[int, Graph] = {}
        self._owners: dict[Graph, bool] = {}
        self._sites: dict[Site, Site] = {}  # each with one that is the same module
        self._calls: dict[Site, list[Call | Scan]] = {}
        self._visit(root)
        for step in steps:
            self._visit_step(step)

    def of(self, graph: Graph) -> Graph:
        while id(graph) in self._home:
            graph = self._home[id(graph)]
        return graph

    def twins(self, graph: Graph) -> tuple[dict[Axis, Axis], dict[Const, Const]]:
        """The axes and consts of a graph's home, each with that of the graph which stands for it."""
        home = self.of(graph)
        if graph.stepped is not None:  # it has the axes of what it is a step of
            return {}, {}
        home, graph = self.around(home), self.around(graph)
        axes = {a: b for a, b in zip(home.axes, graph.axes, strict=False) if a.name == b.name}  # own ones may differ
        return axes, dict(zip(home.consts, graph.consts, strict=True))

    def around(self, graph: Graph) -> Graph:
        """The block or model whose axes and consts a graph has: those of a pass are those of the graph around."""
        while graph.kind == "repeat":
            graph = self._around[id(graph)]
        return graph

    def modules(self) -> Iterator[list[Call | Scan]]:
        """The calls of each module."""
        found: dict[Site, list[Call | Scan]] = {}
        for site, calls in self._calls.items():
            found.setdefault(self._module(site), []).extend(calls)
        yield from found.values()

    def _module(self, site: Site) -> Site:
        while site in self._sites:
            site = self._sites[site]
        return site

    def learns(self, node: Call | Scan | Repeat) -> bool:
        """Whether what a node calls has weights, or is a step of what has them."""
        origins = [child if child.stepped is None else child.stepped.origin for child in children(node)]
        return any(owns(origin, self._owners) for origin in origins if origin is not None)

    def _visit(self, graph: Graph) -> None:
        if id(graph) in self._order:
            return
        first: dict[Site, Graph] = {}
        for node in graph.nodes:
            for child in children(node):
                self._visit(child)
                self._around[id(child)] = graph
            if isinstance(node, Call | Scan) and self.learns(node):
                site = (id(graph), _named(node))
                self._calls.setdefault(site, []).append(node)
                self._pair(first.setdefault(site, node.graph), node.graph)
            elif isinstance(node, Repeat) and node.shared and self.learns(node):  # passes that differ have one module
                for body in node.bodies[1:]:
                    self._pair(node.bodies[0], body)
            for body in _beside(node):  # what it calls are modules of this graph
                for inner in self._called_beside(body):
                    site = (id(graph), _named(inner))
                    self._sites[id(body), _named(inner)] = site
                    self._pair(first.setdefault(site, inner.graph), inner.graph)
        self._order[id(graph)] = len(self._order)

    def _visit_step(self, graph: Graph) -> None:
        """A step also calls blocks whole: copies of those that the model calls, made by other passes."""
        assert graph.stepped is not None
        origin = graph.stepped.origin
        if origin is None or id(graph) in self._order:
            return
        whole = self._learning(origin)
        for node in graph.nodes:
            for child in children(node):
                if child.stepped is None:
                    self._visit(child)
                    self._around.setdefault(id(child), graph)
                else:
                    self._visit_step(child)
        for name, node in self._learners(graph):
            site, twin = (id(graph), name), self._module((id(origin), name))
            if isinstance(node, Call | Scan) and node.graph.stepped is None:
                self._calls.setdefault(site, []).append(node)
                self._sites[site] = twin
            for mine, theirs in _side_by_side(whole.get(name), node):
                if theirs.stepped is None:
                    self._pair(mine, theirs)
        self._order[id(graph)] = len(self._order)

    def _pair(self, one: Graph, other: Graph) -> None:
        """Both have the same weights, and so has what is nested in them under the same names."""
        one, other = sorted((self.of(one), self.of(other)), key=lambda graph: self._order[id(graph)])
        if one is other:
            return
        self._home[id(other)] = one
        nested = self._learning(one)
        for name, node in self._modules_of(other):
            mine, theirs = (self._module((id(graph), name)) for graph in (one, other))
            if mine != theirs:
                self._sites[theirs] = mine
            for a, b in _side_by_side(nested.get(name), node):
                self._pair(a, b)

    def _learning(self, graph: Graph) -> dict[str, Call | Scan | Repeat]:
        """The first node of each name."""
        first: dict[str, Call | Scan | Repeat] = {}
        for name, node in self._modules_of(graph):
            first.setdefault(name, node)
        return first

    def _called_beside(self, body: Graph) -> Iterator[Call | Scan]:
        """The calls with weights in a graph whose weights stand beside those of the graph around."""
        return (node for _, node in self._modules_of(body) if isinstance(node, Call | Scan) and not _beside(node))

    def _modules_of(self, graph: Graph) -> Iterator[tuple[str, Call | Scan | Repeat]]:
        """The nodes with weights of a graph, and of those whose weights stand beside its own."""
        for name, node in self._learners(graph):
            yield name, node
            for inner in _beside(node):
                yield from self._modules_of(inner)

    def _learners(self, graph: Graph) -> Iterator[tuple[str, Call | Scan | Repeat]]:
        """The nodes whose graphs have weights, with the name of these. Others may go by any name."""
        for node in graph.nodes:
            if isinstance(node, NESTS) and self.learns(node):
                yield _named(node), node


def differing(calls: list[Call | Scan]) -> Iterator[tuple[Graph, list[Axis], list[Const]]]:
    """Of each graph that is called: axes and consts of it that the calls give different sizes and values."""
    sizes, values = defaultdict(set), defaultdict(set)
    for call in calls:
        for place, axis in enumerate(call.graph.axes):
            sizes[place, axis.name].add((axis.extent, axis.bound))
        given = dict(call.consts)
        for place, const in enumerate(call.graph.consts):
            told = show_static(given.get(const, ConstOf(const))) if const.value is None else repr(const.value)
            values[place].add(told)
    for graph in dict.fromkeys(call.graph for call in calls):
        axes = [axis for place, axis in enumerate(graph.axes) if len(sizes[place, axis.name]) > 1]
        yield graph, axes, [const for place, const in enumerate(graph.consts) if len(values[place]) > 1]


def _beside(node: Node) -> tuple[Graph, ...]:
    """The graphs of a node whose weights stand beside those of the graph around: rewrites make a scan's of a part."""
    match node:
        case Repeat(beside=True):
            return node.bodies
        case Scan(name=""):
            return (node.graph,)
        case _:
            return ()


def _named(node: Call | Scan | Repeat) -> str:
    """What the weights of a node go by in its graph; calls of models have no name of their own."""
    return node.name if isinstance(node, Repeat) else node.name or f"model {node.graph.name}"


def _side_by_side(one: Node | None, other: Node) -> dict[tuple[Graph, Graph], None]:
    """The graphs of two nodes that have the same weights: of repeats those that one pass runs."""
    match one, other:
        case Call() | Scan(), Call() | Scan():
            return {(one.graph, other.graph): None}
        case Repeat(), Repeat():
            passes = range(1 if one.shared else max(len(one.variant), len(other.variant), 1))
            return {(one.bodies[one.runs(i)], other.bodies[other.runs(i)]): None for i in passes}
        case _:
            return {}
