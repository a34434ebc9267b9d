"""The graph of the whole model with the collectives of a mesh in it, at the places where they stand: for figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...dsl.source import Span
from ..graph.core.index import index_of
from ..graph.nodes import Apply, Call, Graph, Node, Repeat, Scan, makes, ops_in, reads
from ..graph.values import Value
from ..rewrites.tools.walk import Fresh, with_operands, with_results
from .rings.rewrite import with_rings
from .sends import RING, Collective, SendKind
from .spread import GraphSpread

Chain = tuple[Apply, ...]


def with_collectives(found: GraphSpread) -> Graph:
    """Its collectives as ops between the others. Values have the axes of the whole model; what an op is made of where
    it is split (partial sums of a softmax, a lookup in a part) stays that op, with its collectives behind it.
    """
    whole = _gathers(found.graph)
    left = {node.span for node in _gathers(with_rings(found.graph, found.grown.places.parts))}
    return _with(found, frozenset(node.span for node in whole if node.span is not None) - left)


def _with(found: GraphSpread, rings: frozenset[Span | None]) -> Graph:
    return _Drawn(found, rings).graph()


def _gathers(graph: Graph) -> list[Apply]:
    ops = ops_in(graph)
    return [node for node in ops if isinstance(node.traits, Collective) and node.traits.kind is SendKind.GATHER]


def is_sent(op: Collective) -> bool:
    """Whether anything is sent, for values or for their gradients."""
    return op.kind not in (SendKind.OWN, SendKind.ENTER) or (op.graded and not op.by_parts)


class _Drawn:
    """One graph. after: behind which old value collectives stand; before: between a value and who reads it (a result of
    that node, or the number of an output). rings: where what is gathered goes round a ring, in place of that.
    """

    def __init__(self, found: GraphSpread, rings: frozenset[Span | None]) -> None:
        self.found, self.old, self.rings = found, found.old, rings
        self.back = {value.id: old for old, (value, _) in found.grown.now.items()}
        self.made = index_of(self.old).makers
        self.known = {*self.made, *index_of(self.old).inputs}
        self.readers = index_of(found.graph).readers
        self.after: dict[int, list[Apply]] = {}
        self.before: dict[tuple[int, object], Chain] = {}
        chains: dict[int, tuple[int, Chain]] = {}  # by what comes out: the old value that it began with
        for node in found.graph.nodes:
            if not (isinstance(node, Apply) and isinstance(node.traits, Collective) and is_sent(node.traits)):
                continue
            given, out = node.operands[0].id, node.out.id
            root, chain = chains.get(given, (self.back.get(given, -1), ()))
            if root not in self.known or self.back.get(out) in self.made:
                for old in self.lands(out):
                    if isinstance(old, int):
                        self.after.setdefault(old, []).append(node)
                    break
                continue
            chains[out] = root, (*chain, node)
            for reader, _ in self.readers.get(out, ()):
                if not (isinstance(reader, Apply) and isinstance(reader.traits, Collective)):
                    for old in {old for made in makes(reader) for old in self.lands(made.id)}:
                        self.before[root, old] = chains[out][1]
            for number, output in enumerate(found.graph.outputs):
                if output.value.id == out:
                    self.before[root, ("output", number)] = chains[out][1]

    def lands(self, value: int) -> Iterator[object]:
        """The old values that are made of it first."""
        old = self.back.get(value)
        if old in self.made:
            yield old
            return
        for reader, _ in self.readers.get(value, ()):
            for out in makes(reader):
                yield from self.lands(out.id)

    def graph(self) -> Graph:
        self.fresh, self.nodes = Fresh(self.old), list[Node]()
        self.once: dict[tuple[int, int], Value] = {}  # what several readers are sent alike
        inner = {id(node): spreads for node, spreads in self.found.inner}
        for node in self.old.nodes:
            outs = makes(node)
            change: dict[int, Value] = {}
            for value in reads(node):
                for out in outs:
                    if chain := self.before.get((value.id, out.id)):
                        change[value.id] = self.sent(value, chain)
            new = self.nested(with_operands(node, change), inner.get(id(node), ()))
            raw = tuple(replace(self.fresh(out), name=None) if out.id in self.after else out for out in outs)
            self.nodes.append(with_results(new, raw) if raw != outs else new)
            for value, out in zip(raw, outs, strict=True):
                if out.id in self.after:
                    self.sent(value, tuple(self.after[out.id]), out)
        outputs = []
        for number, output in enumerate(self.old.outputs):
            chain = self.before.get((output.value.id, ("output", number)), ())
            outputs.append(replace(output, value=self.sent(output.value, chain)))
        return replace(self.old, nodes=tuple(self.nodes), outputs=tuple(outputs))

    def sent(self, value: Value, chain: Chain, last: Value | None = None) -> Value:
        """The value behind these collectives, as `last` if that is given."""
        for number, each in enumerate(chain):
            if last is None and (value.id, each.out.id) in self.once:
                value = self.once[value.id, each.out.id]
                continue
            out = last if last is not None and number == len(chain) - 1 else replace(self.fresh(value), name=None)
            axes = tuple(dict.fromkeys(axis for axis in each.axes if axis in value.type.axes))
            op = each.traits
            ring = isinstance(op, Collective) and op.kind is SendKind.GATHER and each.span in self.rings
            traits = replace(op, name=RING) if ring else op
            self.nodes.append(Apply(traits, (value,), out, axes, span=each.span))
            if last is None:
                self.once[value.id, each.out.id] = out
            value = out
        return value

    def nested(self, node: Node, spreads: Sequence[GraphSpread]) -> Node:
        match node:
            case Call() | Scan() if spreads:
                return replace(node, graph=_with(spreads[0], self.rings))
            case Repeat() if spreads:
                return replace(node, bodies=tuple(_with(each, self.rings) for each in spreads))
            case _:
                return node
