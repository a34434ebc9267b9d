"""What the branches of a static `if` read that are not taken: with other numbers it would not be idle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....dsl import syntax as s
from ....dsl.parse import parse
from ...base.mentions import walk
from ...graph.nodes import Apply, Graph, children, makes


def left_out(graph: Graph) -> frozenset[str]:
    """The names that such branches of a block, or of the body of a repeat, read of the text around them."""
    if graph.span is None:
        return frozenset()
    file, _ = parse(graph.span.source)
    parts = (part for part in walk(file.items) if isinstance(part, s.BlockDecl | s.RepeatStatement))
    body = next((part.body for part in parts if part.head == graph.span), ())
    branches = [branch for part in walk(body) if isinstance(part, s.If) for branch in (part.then, part.otherwise)]
    made = [*_places(graph)] if branches else []
    found: set[str] = set()
    for branch in branches:
        if branch and not any(branch[0].span.start <= at < branch[-1].span.end for at in made):
            found |= _read(branch)
    return frozenset(found)


def _places(graph: Graph) -> Iterator[int]:
    """Where the text stands of which a graph is made: of a branch that is not taken nothing is."""
    for node in graph.nodes:
        spans = [value.span for value in makes(node)] + [node.span if isinstance(node, Apply) else None]
        yield from (span.start for span in spans if span is not None)
        for inner in children(node):
            if inner.kind == "repeat":
                yield from _places(inner)


def _read(statements: Iterable[s.Statement]) -> set[str]:
    """Names that statements read before they bind them."""
    found, bound = set[str](), set[str]()
    for each in statements:
        found |= {name.text for name in walk(each) if isinstance(name, s.Name)} - bound
        if isinstance(each, s.Assign):
            bound |= {target.text for target in each.targets}
    return found
