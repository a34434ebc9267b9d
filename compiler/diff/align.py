"""Which node of one graph stands for which of another."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from ..graph.nodes import Apply, Call, Constant, Graph, Node, Parameter, Positions, Repeat, Scan

Pair = tuple[Node | None, Node | None]


def aligned(old: Graph, new: Graph) -> Iterator[Pair]:
    """The nodes of both, those that stand for one another as one pair, in order: what is left of the old ones before
    what is left of the new. Numbers and places are no parts of their own: they belong to what reads them.
    """
    before, after = _parts(old), _parts(new)
    matcher = SequenceMatcher(None, [called(node) for node in before], [called(node) for node in after], False)
    for tag, i, j, k, m in matcher.get_opcodes():
        yield from zip(before[i:j], after[k:m], strict=True) if tag == "equal" else _replaced(before[i:j], after[k:m])


def _replaced(old: list[Node], new: list[Node]) -> Iterator[Pair]:
    """What stands in the place of what: another op or block of the same name."""
    names = [
        [getattr(node, "name", None) or f"{side} {at}" for at, node in enumerate(nodes)]
        for side, nodes in enumerate((old, new))
    ]
    for tag, i, j, k, m in SequenceMatcher(None, names[0], names[1], False).get_opcodes():
        if tag == "equal":
            yield from zip(old[i:j], new[k:m], strict=True)
        else:
            yield from ((node, None) for node in old[i:j])
            yield from ((None, node) for node in new[k:m])


def _parts(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if not isinstance(node, Constant | Positions)]


def called(node: Node) -> tuple[str, ...]:
    """What makes two nodes parts of one name."""
    match node:
        case Apply(op=op, name=name):
            return "op", op, name or ""
        case Call(graph=graph, name=name):
            return "call", graph.name, name
        case Scan(graph=graph, name=name):
            return "scan", graph.name, name
        case Repeat(name=name):
            return "repeat", name
        case Parameter(weight=weight):
            return "param", weight.name
        case Constant() | Positions():
            return ()
