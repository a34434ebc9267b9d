"""The docstring that a generated file begins with: what it is, where it comes from, and how data flows through it.

transformer: written by attnc 0.1.0 from transformer.attn (sha256 8e8b652e844ab8ec). Needs torch and jaxtyping alone.

The Transformer of Vaswani et al. 2017, "Attention Is All You Need".
    source_ids -> Place -> Encode(real) -> memory
    target_ids -> Place -> Decode(memory, real) -> [target, vocab]
A comment at the end of a line gives the axes of its result, without the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from ...compiler.graph.nodes import NESTS, Call, Graph, Repeat, Scan, makes, reads
from ...compiler.sizes.axes import known
from ..text.docstrings import columns
from ..text.names import plain
from ..text.writing import WIDTH

LINES = 8  # of data flow: more of them say less
PARTS = 40  # beyond so many a model is no picture

AXES = "A comment at the end of a line gives the axes of its result, without the batch."


def about(words: str, graph: Graph, called: Callable[[Graph], str]) -> str:
    """What a file says of its model, not yet escaped: the spec's own words, how data flows, how to read the code.

    graph: the model as it is emitted. called: how the file calls what a graph became.
    """
    flow = [f"    {line}" for line in data_flow(graph, called)]
    said = [words.rstrip(), *([] if flow else [""])] if words.strip() else []
    return "\n".join([*said, *flow, AXES])


Root = tuple[int, int]  # an input: (-1, its place); a result of a part: (the part, which of its results)


@dataclass(slots=True)
class _Part:
    """A call or repeat. args: the roots of each argument that has any, the main one first."""

    node: Call | Scan | Repeat
    name: str
    args: Sequence[tuple[Root, ...]]
    before: set[Root]  # all that it is made of
    labels: dict[int, str]  # what its results are called
    readers: list[tuple[_Part | None, bool]] = field(default_factory=list)  # by whom it is read; as the main argument
    results: list[str] = field(default_factory=list)  # those of the model that are made of this part alone

    @property
    def reader(self) -> _Part | None:
        """The part that alone reads this one, and as what it works on."""
        reader, main = self.readers[0] if len(self.readers) == 1 else (None, False)
        return reader if main else None

    @property
    def is_said_where_read(self) -> bool:
        """Whether what it gives has no name, and is read once."""
        return not self.labels and not self.results and len(self.readers) == 1 and len(self.node.outs) == 1


def data_flow(graph: Graph, called: Callable[[Graph], str]) -> list[str]:
    """A line for each chain of calls and repeats, from what it reads to what it is called; none if they say nothing.

        target_ids -> Place -> Decode(memory, real) -> [target, vocab]

    The ops between them are left out, and so is what goes round one of them: `x + f(x)` is made by `f`.
    """
    found = [node for node in graph.nodes if isinstance(node, NESTS)]
    alone = len(found) == 1 and isinstance(found[0], Call)  # that says no more than its code
    if not found or alone or len(found) > PARTS or len(graph.inputs) > PARTS:
        return []
    lines = _Flow(graph, called).lines()
    start = max(len(line[0]) for line in lines)
    shown = [" -> ".join([line[0].ljust(start), *line[1:]] if line[0] else line[1:]) for line in lines]
    return shown if len(shown) <= LINES and max(map(columns, shown)) <= WIDTH - 4 else []


class _Flow:
    def __init__(self, graph: Graph, called: Callable[[Graph], str]) -> None:
        self.graph = graph
        self.parts: list[_Part] = []
        roots: dict[int, tuple[Root, ...]] = {}  # of each value: what it is made of, the ops between left out
        for place, item in enumerate(graph.inputs):
            roots[item.value.id] = ((-1, place),)
        for node in graph.nodes:
            if isinstance(node, NESTS):
                self._add(node, _name(node, called), roots)
                continue
            union = self._latest(dict.fromkeys(root for value in reads(node) for root in roots.get(value.id, ())))
            roots.update((value.id, union) for value in makes(node))
        self.results: list[tuple[str, tuple[Root, ...]]] = []
        for output in graph.outputs:
            label = output.name or f"[{', '.join(axis.name for axis in output.axes)}]"
            self.results.append((label, roots.get(output.value.id, ())))
        self._read()

    def _add(self, node: Call | Scan | Repeat, name: str, roots: dict[int, tuple[Root, ...]]) -> None:
        args = [(arg, found) for arg in node.args if (found := roots.get(arg.id, ()))]
        for arg, (root, *others) in args:
            if arg.name and not others and root[0] >= 0:  # what its readers call it, behind the ops between
                self.parts[root[0]].labels[root[1]] = arg.name
        labels = {place: out.name for place, out in enumerate(node.outs) if out.name}
        for place, out in enumerate(node.outs):
            roots[out.id] = ((len(self.parts), place),)
        direct = [root for _, found in args for root in found]
        before = set(direct).union(*(self.parts[number].before for number, _ in direct if number >= 0))
        self.parts.append(_Part(node, name, [found for _, found in args], before, labels))

    def _latest(self, roots: Collection[Root]) -> tuple[Root, ...]:
        """Those that none of the others is made of."""
        parts = [self.parts[number] for number, _ in roots if number >= 0]
        return tuple(root for root in roots if not any(root in part.before for part in parts))

    def _read(self) -> None:
        """Notes of each part who reads it."""
        for part in self.parts:
            for place, arg in enumerate(part.args):
                for number in dict.fromkeys(number for number, _ in arg if number >= 0):
                    self.parts[number].readers.append((part, place == 0 and len(arg) == 1))
        for label, roots in self.results:
            for number in dict.fromkeys(number for number, _ in roots if number >= 0):
                self.parts[number].readers.append((None, False))
                if len(roots) == 1:
                    self.parts[number].results.append(label)

    def lines(self) -> list[list[str]]:
        """Each chain: what it begins with, its parts, what it gives."""
        chains: list[list[_Part]] = []
        for part in self.parts:
            before = next((chain for chain in chains if chain[-1].reader is part), None)
            if before is None:
                chains.append([part])
            else:
                before.append(part)
        lines = []
        for chain in sorted(chains, key=lambda chain: self.parts.index(chain[-1])):
            if not chain[-1].is_said_where_read:
                end = self._end(chain[-1])
                lines.append([self._listed(chain[0].args[:1]), *map(self._shown, chain), *([end] if end else [])])
        for label, roots in self.results:
            if len(roots) > 1 and any(number >= 0 for number, _ in roots):
                lines.append([self._listed([roots]), label])
        return lines

    def _end(self, part: _Part) -> str:
        """What a chain ends with."""
        if part.results and len(part.readers) == len(part.results):
            return ", ".join(part.results)
        return ", ".join(dict.fromkeys(part.labels[place] for place in sorted(part.labels)))

    def _listed(self, args: Sequence[tuple[Root, ...]]) -> str:
        return ", ".join(dict.fromkeys(self._label(root) for arg in args for root in arg))

    def _shown(self, part: _Part, first: int = 1) -> str:
        """A part with its arguments, from one of them on."""
        others = self._listed(part.args[first:])
        along = f" along {part.node.axis.name}" if isinstance(part.node, Scan) else ""
        return f"{part.name}({others}){along}" if others else f"{part.name}{along}"

    def _label(self, root: Root) -> str:
        number, place = root
        if number < 0:
            return self.graph.inputs[place].name
        part = self.parts[number]
        if part.is_said_where_read:
            return self._shown(part, 0)
        return part.labels.get(place, part.name)


def _name(node: Call | Scan | Repeat, called: Callable[[Graph], str]) -> str:
    """`Encode`, `12 x Layer`."""
    if not isinstance(node, Repeat):
        return plain(called(node.graph))
    count, name = known(node.count), " or ".join(dict.fromkeys(plain(called(body)) for body in node.bodies))
    return f"{'n' if count is None else count} x {name}"
