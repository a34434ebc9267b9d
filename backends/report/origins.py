"""Which words of the spec each line of the generated PyTorch comes from.

Code is not marked while it is written: lines are found again by what they call and assign. A node whose name stands in
a line has that line; one without a name has that in which its value is read. What is fused has the line of the whole.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...compiler.graph.nodes import NESTS, Apply, Call, Graph, Input, Node, Repeat, Scan, children, makes, reads
from ...dsl.source import Span

_Body = ast.ClassDef | ast.FunctionDef


@dataclass(slots=True)
class _Statement:
    """A statement: its lines, the names that it assigns and reads, and those that it reads of `self` or calls."""

    first: int
    last: int
    assigns: set[str]
    reads: set[str]
    uses: set[str]
    returns: bool


@dataclass
class Origins:
    """spans: by line (from 1), in the order of the graph."""

    code: str
    spans: dict[int, dict[Span, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bodies = [node for node in ast.parse(self.code).body if isinstance(node, _Body)]
        self.bodies = {body.name: body for body in bodies}
        self.done: set[str] = set()

    def of(self, graph: Graph) -> list[tuple[str, list[Span]]]:
        """Each line, with its words of the spec. The model is the last class of the code."""
        if self.bodies:
            self._body(graph, list(self.bodies)[-1])
        return [(line, list(self.spans.get(k, ()))) for k, line in enumerate(self.code.splitlines(), 1)]

    def _body(self, graph: Graph, name: str) -> None:
        """The lines of a class or function, which does what a graph says."""
        if name in self.done:
            return
        self.done.add(name)
        body = self.bodies[name]
        parts, forward = _parts(body) if isinstance(body, ast.ClassDef) else ({}, body)
        if forward is not None:
            matching = _Matching(self, list(_lines(forward.body)), parts)
            matching.graph(graph, None)
            matching.helpers()
            for entry in graph.inputs:
                matching.input(entry)

    def add(self, node: Node, line: _Statement) -> None:
        span = getattr(node, "span", None)
        if span is not None:
            for number in range(line.first, line.last + 1):
                self.spans.setdefault(number, {})[span] = None


@dataclass
class _Matching:
    """The lines of one function, and the graphs whose nodes stand in them. parts: the class of each part of `self`."""

    origins: Origins
    lines: list[_Statement]
    parts: dict[str, str]
    at: dict[str, int] = field(default_factory=dict)  # behind which line a name was assigned last

    def graph(self, graph: Graph, whole: _Statement | None) -> None:
        """whole: the line in which all of it stands that has none of its own."""
        named = [self._named(node) for node in graph.nodes]
        ends = [line for line in self.lines if line.returns][-1:]
        found: dict[int, _Statement] = {}  # by place in the graph
        readers: dict[int, int] = {}
        for k, node in reversed(list(enumerate(graph.nodes))):
            read = [found[readers[v.id]] for v in makes(node) if v.id in readers and readers[v.id] in found]
            own = named[k] or [*read[:1], *([whole] if whole is not None else ends)]
            if own:  # of several lines with its name, the one in which it is read
                found[k] = next((line for line in own if any(line is each for each in read)), own[0])
            for value in reads(node):
                readers[value.id] = k
        for k, node in enumerate(graph.nodes):
            if k in found:
                self.origins.add(node, found[k])
                for inner in children(node):
                    self._inside(node, inner, found[k])

    def _inside(self, node: Node, inner: Graph, line: _Statement) -> None:
        named = self.parts.get(node.name) if isinstance(node, NESTS) else None
        own = inner.name.lower().replace("_", "")
        known = (name for name in sorted(line.uses) if name in self.origins.bodies)
        called = named or next((name for name in known if name.lower().replace("_", "") == own), None)
        if called is not None:
            self.origins._body(inner, called)
        elif isinstance(node, Repeat):  # a loop, whose lines are among these
            self.graph(inner, line)
        else:
            _Matching(self.origins, [line], {}).graph(inner, line)

    def _named(self, node: Node) -> list[_Statement]:
        """The lines that use the node's weights or call its part, or else the next that assigns the value it makes."""
        name = node.name if isinstance(node, Apply | Call | Repeat | Scan) else None
        last = name.split(".")[-1] if name else ""
        if last and (lines := [line for line in self.lines if last in line.uses]):
            return lines
        for made in (value.name for value in makes(node) if value.name):
            for k, line in enumerate(self.lines[self.at.get(made, 0) :], self.at.get(made, 0)):
                if made in line.assigns:
                    self.at[made] = k + 1
                    return [line]
        return []

    def input(self, entry: Input) -> None:
        """The lines that read an input: after another value has got its name, none does."""
        span, spans = entry.value.span, self.origins.spans
        end = next((k for k, line in enumerate(self.lines, 1) if entry.name in line.assigns), len(self.lines))
        for line in self.lines[:end]:
            if span is not None and entry.name in line.reads:
                for number in range(line.first, line.last + 1):
                    spans[number] = {span: None, **spans.get(number, {})}

    def helpers(self) -> None:
        """Lines that no node has, such as those of indices, come from what the next line that reads them comes from."""
        spans = self.origins.spans
        for k, line in reversed(list(enumerate(self.lines))):
            reader = next((later for later in self.lines[k + 1 :] if line.assigns & later.reads), None)
            if line.first not in spans and reader is not None and reader.first in spans:
                for number in range(line.first, line.last + 1):
                    spans[number] = spans[reader.first]


def _parts(body: ast.ClassDef) -> tuple[dict[str, str], ast.FunctionDef | None]:
    """What the constructor makes of which class, and `forward`."""
    methods = {node.name: node for node in body.body if isinstance(node, ast.FunctionDef)}
    parts: dict[str, str] = {}
    for made in ast.walk(methods["__init__"]) if "__init__" in methods else ():
        if isinstance(made, ast.Assign) and isinstance(target := made.targets[0], ast.Attribute):
            for call in ast.walk(made.value):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id[:1].isupper():
                    parts[target.attr] = call.func.id
    return parts, methods.get("forward")


def _lines(body: Sequence[ast.stmt]) -> Iterator[_Statement]:
    """The statements of a function, those within loops and branches behind their heads."""
    for made in body:
        inner = [each for name in ("body", "orelse") for each in getattr(made, name, ())]
        last = inner[0].lineno - 1 if inner else made.end_lineno or made.lineno
        held = {id(part) for each in inner for part in ast.walk(each)}
        own = [part for part in ast.walk(made) if id(part) not in held]
        assigns = {part.id for part in own if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        read = {part.id for part in own if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
        uses = {part.attr for part in own if isinstance(part, ast.Attribute) and _is_self(part.value)}
        uses |= {part.func.id for part in own if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
        yield _Statement(made.lineno, max(last, made.lineno), assigns, read, uses, isinstance(made, ast.Return))
        yield from _lines(inner)


def _is_self(part: ast.expr) -> bool:
    return isinstance(part, ast.Name) and part.id == "self"
