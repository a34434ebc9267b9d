"""What figures and equations call blocks: by their display name, else by their name in words. Two definitions that
would be called the same are numbered, so that no reader takes one for the other."""

from __future__ import annotations

from ...compiler.graph.nodes import Call, Graph, Scan, children
from .names import spaced

Definition = tuple[str, int]


def definition(graph: Graph) -> Definition:
    """Which block this is a specialisation of."""
    return (graph.span.source.name, graph.span.start) if graph.span is not None else (graph.name, 0)


class Titles:
    """The titles of a graph and of all blocks that are called under it, and the tints of these."""

    def __init__(self, graph: Graph) -> None:
        self._titles: dict[Definition, str] = {}
        self._tints: dict[str, int] = {}
        taken: set[str] = set()
        seen: set[int] = set()
        todo = [graph]
        while todo:
            inner = todo.pop()
            if id(inner) in seen:
                continue
            seen.add(id(inner))
            if inner.kind != "repeat" and definition(inner) not in self._titles:
                self._add(inner, taken)
            todo += [child for node in reversed(inner.nodes) for child in reversed(tuple(children(node)))]

    def _add(self, graph: Graph, taken: set[str]) -> None:
        title = plain = graph.display or spaced(graph.name)
        number = 2
        while title.casefold() in taken:
            title, number = f"{plain} {number}", number + 1
        taken.add(title.casefold())
        self._titles[definition(graph)] = title
        self._tints[title] = graph.rank if graph.rank is not None else len(self._tints)

    def of(self, graph: Graph) -> str:
        return self._titles[definition(graph)]

    def tint(self, title: str) -> int:
        """A number for a block's colour: the same wherever it is drawn, in every figure of the file."""
        return self._tints[title]

    def call(self, node: Call | Scan) -> str:
        """`multihead.self` is called "multihead (self)"; a label that is the block's own name is not said twice."""
        title, label = self.of(node.graph), node.name.split(".")[-1]
        if not label or label == node.graph.name or spaced(label).casefold() == title.casefold():
            return title
        return f"{title} ({spaced(label)})"
