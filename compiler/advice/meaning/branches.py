"""What the branches of a static `if` read that are not taken, or leave as it is where the one that is taken binds it
over: with other numbers it would not be idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....dsl import syntax as s
from ....dsl.parse import parse
from ...base.mentions import walk
from ...graph.nodes import Apply, Graph, children, makes


def left_out(graph: Graph) -> frozenset[str]:
    """The names that such branches of a block, or of the body of a repeat, read of the text around them, or leave."""
    if graph.span is None:
        return frozenset()
    file, _ = parse(graph.span.source)
    parts = (part for part in walk(file.items) if isinstance(part, s.BlockDecl | s.RepeatStatement))
    body = next((part.body for part in parts if part.head == graph.span), ())
    choices = [part for part in walk(body) if isinstance(part, s.If)]
    made = [*_places(graph)] if choices else []
    found: set[str] = set()
    for part in choices:
        for branch, other in ((part.then, part.otherwise), (part.otherwise, part.then)):
            if branch and not any(branch[0].span.start <= at < branch[-1].span.end for at in made):
                found |= _read(branch)
            elif branch:  # what it binds over goes on past the other
                found |= _bound(branch) - _surely_bound(other)
    return frozenset(found)


def _places(graph: Graph) -> Iterator[int]:
    """Where the text stands of which a graph is made: of a branch that is not taken nothing is."""
    for node in graph.nodes:
        spans = [value.span for value in makes(node)] + [node.span if isinstance(node, Apply) else None]
        yield from (span.start for span in spans if span is not None)
        for inner in children(node):
            if inner.kind == "repeat":
                yield from _places(inner)


def _bound(statements: Iterable[s.Statement]) -> set[str]:
    assigned = (part for each in statements for part in walk(each) if isinstance(part, s.Assign))
    return {target.text for each in assigned for target in each.targets}


def _surely_bound(statements: Iterable[s.Statement]) -> set[str]:
    """Names that are bound whichever branches inside are taken."""
    found = set[str]()
    for each in statements:
        if isinstance(each, s.If):
            found |= _surely_bound(each.then) & _surely_bound(each.otherwise)
        elif isinstance(each, s.Assign):
            found |= {target.text for target in each.targets}
    return found


def _read(statements: Iterable[s.Statement]) -> set[str]:
    """Names that statements read before they bind them."""
    found, bound = set[str](), set[str]()
    for each in statements:
        found |= {name.text for name in walk(each) if isinstance(name, s.Name)} - bound
        if isinstance(each, s.Assign):
            bound |= {target.text for target in each.targets}
    return found
