"""The nodes of a model in a row: blocks that have repeats are opened, and passes of repeats stand by themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Parameter, Positions, Repeat, makes, reads
from ...graph.values import Role, Value
from ...rewrites.tools.same import draws, pure
from ...rewrites.tools.walk import Fresh
from ...sizes.axes import evaluate

Path = tuple[int, ...]
"""Where a graph stands: the places of the calls that lead to it, each among the nodes of the graph around."""
Key = tuple[Path, int, int | None]
"""A value, where it is made: the graph, its id there, and the pass of a repeat behind which it is, but for the last."""


@dataclass(frozen=True, eq=False)
class DealtNode:
    """A node of the row. place: where it stands in its graph. number: of a pass. anew: see `NodeRow`."""

    path: Path
    place: int
    node: Node
    number: int | None
    reads: tuple[Key, ...]
    makes: tuple[Key, ...]
    anew: bool


@dataclass(eq=False)
class NodeRow:
    """The nodes of a model in a row.

    graphs: those that are opened. keys: of each of their values where it is made, by the graph and its id there.
    plain:  values that depend on inputs alone, by rules without weights and without chance. They are made anew in each
            stage that reads them, as are those that depend on weights alone; all others are sent.
    """

    root: Graph
    nodes: list[DealtNode] = field(default_factory=list)
    graphs: dict[Path, Graph] = field(default_factory=dict)
    keys: dict[tuple[Path, int], Key] = field(default_factory=dict)
    between: dict[Key, Value] = field(default_factory=dict)  # behind a pass that is not the last
    plain: set[Key] = field(default_factory=set)
    fresh: dict[Path, Fresh] = field(default_factory=dict)
    _anew: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        for entry in self.root.inputs:
            key = (), entry.value.id, None
            self.keys[(), entry.value.id] = key
            self.plain.add(key)
            self._anew.add(key)
        self._open((), self.root)

    @property
    def passes(self) -> list[int]:
        """The places of the passes in the row."""
        return [place for place, node in enumerate(self.nodes) if node.number is not None]

    @property
    def outputs(self) -> tuple[Key, ...]:
        return tuple(self.keys[(), output.value.id] for output in self.root.outputs)

    def name(self, path: Path) -> str:
        """What a graph that is opened puts before the names of its weights: `encode.`."""
        found, graph = "", self.root
        for place in path:
            node = graph.nodes[place]
            assert isinstance(node, Call)
            found, graph = found + (f"{node.name}." if node.name else ""), node.graph
        return found

    def _open(self, path: Path, graph: Graph) -> None:
        self.graphs[path], self.fresh[path] = graph, Fresh(graph)
        names = Counter(node.name for node in graph.nodes if isinstance(node, Call))
        for place, node in enumerate(graph.nodes):
            if isinstance(node, Call) and names[node.name] == 1 and _has_repeat(node.graph):
                inner = (*path, place)
                for entry, arg in zip(node.graph.inputs, node.args, strict=True):
                    self.keys[inner, entry.value.id] = self.keys[path, arg.id]
                self._open(inner, node.graph)
                for output, out in zip(node.graph.outputs, node.outs, strict=True):
                    self.keys[path, out.id] = self.keys[inner, output.value.id]
            elif isinstance(node, Repeat):
                self._passes(path, place, node)
            else:
                given = tuple(self.keys[path, value.id] for value in reads(node))
                made = tuple((path, out.id, None) for out in makes(node))
                self._add(DealtNode(path, place, node, None, given, made, self._is_anew(node, given)))
                self.keys.update({(path, out.id): key for out, key in zip(makes(node), made, strict=True)})
                if self.nodes[-1].anew and _is_plain(node) and self.plain.issuperset(given):
                    self.plain.update(made)

    def _passes(self, path: Path, place: int, node: Repeat) -> None:
        count = passes_of(node)
        given = tuple(self.keys[path, value.id] for value in node.args)
        carried, others = given[: node.carried], given[node.carried :]
        for number in range(count):
            made = tuple((path, out.id, None if number == count - 1 else number) for out in node.outs)
            self._add(DealtNode(path, place, node, number, (*carried, *others), made, False))
            if number < count - 1:
                self.between.update({key: self.fresh[path](out) for key, out in zip(made, node.outs, strict=True)})
            carried = made
        self.keys.update({(path, out.id): key for out, key in zip(node.outs, carried, strict=True)})

    def _add(self, node: DealtNode) -> None:
        self.nodes.append(node)
        if node.anew:
            self._anew.update(node.makes)

    def _is_anew(self, node: Node, given: tuple[Key, ...]) -> bool:
        """Whether it is done in each stage that needs it, rather than sent there."""
        if not self._anew.issuperset(given) or _is_random(node):
            return False
        if all(out.role is not Role.DATA for out in makes(node)):
            return True
        return _is_plain(node) and self.plain.issuperset(given)


def passes_of(node: Repeat) -> int:
    count = evaluate(node.count)
    assert isinstance(count, int), "the count of a repeat is known at build time"
    return count


def _has_repeat(graph: Graph) -> bool:
    return not graph.target and any(
        (isinstance(node, Repeat) and passes_of(node) > 0) or (isinstance(node, Call) and _has_repeat(node.graph))
        for node in graph.nodes
    )


def _is_plain(node: Node) -> bool:
    match node:
        case Constant() | Positions():
            return True
        case Apply():
            return not node.weights and not node.name
        case Call():
            return pure(node.graph)
        case _:
            return False


def _is_random(node: Node) -> bool:
    match node:
        case Apply():
            return draws(node)
        case Call():
            return bool(node.graph.target) or any(map(_is_random, node.graph.nodes))
        case Constant() | Positions() | Parameter():
            return False
        case _:
            return True
