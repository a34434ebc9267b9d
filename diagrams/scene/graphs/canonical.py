"""An order of nodes and operands that follows from what is computed, not from how it is written.

Sums and products have no order, so a figure must not change when their operands are exchanged, nor when things are
called otherwise. Where operands may be exchanged, what comes of an earlier input stands first; of one input, what more
is done to. Tables come after data, simple ones first, and numbers last. Nodes stand in the order in which their results
are needed, those that need only earlier inputs first. What is alike in all of that stays as it is written.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ....compiler.graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Node,
    Parameter,
    Positions,
    Repeat,
    Scan,
    makes,
    reads,
)
from ....compiler.graph.values import Value
from ....compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static
from ..op_glyphs import interchangeable, is_silent

_TABLE, _NUMBER = 1_000_000, 2_000_000  # in place of the number of an input


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """Where a value stands among others.

    first: the first input that it is made of.
    deep:  minus how many ops on data lie on the longest way to it, in blocks, too; of a table, how many ops make it.
    kept:  how many ops lie there that compute nothing: of queries and keys, the keys are along a copy of the axis.
    made:  of what it is made; used: for what.
    """

    first: int
    deep: int
    kept: int
    made: str
    used: str = ""


@dataclass(slots=True)
class _Ordering:
    """One graph while it is put in order."""

    graph: Graph
    axes: dict[Axis, str] = field(default_factory=dict)
    ranks: dict[int, Rank] = field(default_factory=dict)  # of values


class Canonical:
    """Keeps the orders of graphs, and the graphs that it makes: their ids must stay theirs."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[Graph, list[Node]]] = {}
        self._made: dict[int, tuple[Graph, tuple[Rank, ...]]] = {}

    def nodes(self, graph: Graph) -> list[Node]:
        """The nodes of a graph in order, with operands in order where they may be exchanged."""
        if id(graph) not in self._nodes:
            self._nodes[id(graph)] = graph, self._ordered(graph)
        return self._nodes[id(graph)][1]

    def _ordered(self, graph: Graph) -> list[Node]:
        reading = self._read(graph)
        used = _uses(graph, reading.ranks)
        ranks = {id: replace(rank, used=used.get(id, "")) for id, rank in reading.ranks.items()}
        return _scheduled(graph, [_in_order(node, ranks) for node in graph.nodes], ranks)

    def _results(self, graph: Graph) -> tuple[Rank, ...]:
        """Of what each result of a graph is made."""
        if id(graph) not in self._made:
            reading = self._read(graph)
            made = tuple(reading.ranks[output.value.id] for output in graph.outputs if output.value.id in reading.ranks)
            self._made[id(graph)] = graph, made or (Rank(_TABLE, 1, 0, _digest(graph.kind, len(graph.inputs))),)
        return self._made[id(graph)][1]

    def _read(self, graph: Graph) -> _Ordering:
        reading = _Ordering(graph)
        for number, entry in enumerate(graph.inputs):
            for axis in entry.value.type.axes:
                reading.axes.setdefault(axis, f"axis {len(reading.axes)}")
            reading.ranks[entry.value.id] = Rank(number, 0, 0, f"input {number}")
        for node in graph.nodes:
            self._rank(reading, node)
        return reading

    def _rank(self, reading: _Ordering, node: Node) -> None:
        ranks = reading.ranks

        def axis(a: Axis) -> str:
            return reading.axes.get(a) or f"{a.kind.value} {a.extent}"

        match node:
            case Constant(value, out):
                ranks[out.id] = Rank(_NUMBER, 0, 0, _static(value, axis))
            case Positions(at, out):
                ranks[out.id] = Rank(_TABLE, 0, 0, f"positions {axis(at)}")
            case Parameter(weight, out):
                dims = [[axis(a) for a in dim] for dim in weight.dims]
                ranks[out.id] = Rank(_TABLE, 0, 0, f"weight {dims}")
            case Apply():
                own = [ranks[value.id].made for value in node.operands]
                mask = ranks[node.mask.id].made if node.mask is not None else ""
                groups = [[axis(a) for a in group] for group in (node.axes, node.made, node.each)]
                options = sorted((name, _static(value, axis)) for name, value in node.options.items())
                weights = [weight.name.rpartition(".")[2] for weight in node.weights] if node.name else []
                own = sorted(own) if interchangeable(node.traits) else own
                made = _digest(node.op, own, mask, groups, options, weights)
                ranks[node.out.id] = _above(ranks, reads(node), made, int(not is_silent(node.traits)))
            case Call() | Scan():
                renamed = sorted((a.id, axis(b)) for a, b in node.axes)
                consts = [_static(value, axis) for _, value in node.consts]
                own = [ranks[value.id].made for value in node.args]
                steps = (axis(node.axis), node.steps, node.states) if isinstance(node, Scan) else ()
                inside = self._results(node.graph)
                for number, out in enumerate(node.outs):
                    result = inside[number % len(inside)]
                    text = _digest(result.made, own, [b for _, b in renamed], consts, steps)
                    ranks[out.id] = _above(ranks, node.args, text, abs(result.deep))
            case Repeat():
                carried = [ranks[value.id].made for value in node.args[: node.carried]]
                outside = sorted(ranks[value.id].made for value in node.args[node.carried :])
                nodes, count = [len(body.nodes) for body in node.bodies], _static(node.count, axis)
                for number, out in enumerate(node.outs):
                    text = _digest("repeat", number, carried, outside, nodes, node.variant, count, node.shared)
                    ranks[out.id] = _above(ranks, node.args, text, max(nodes))


def _above(ranks: Mapping[int, Rank], operands: Iterable[Value], made: str, ops: int) -> Rank:
    """Of what is made of these operands by so many ops, one after the other."""
    below = [ranks[value.id] for value in operands]
    first = min((r.first for r in below), default=_TABLE)
    kept = max((r.kept for r in below), default=0) + (not ops)
    if first >= _TABLE:
        return Rank(first, max((r.deep for r in below), default=0) + ops, kept, made)
    return Rank(first, min(r.deep for r in below if r.first < _TABLE) - ops, kept, made)


def _uses(graph: Graph, ranks: Mapping[int, Rank]) -> dict[int, str]:
    """For what each value is used: of values that are made alike, those that are used otherwise differ."""
    uses: dict[int, list[str]] = {}
    for number, output in enumerate(graph.outputs):
        uses.setdefault(output.value.id, []).append(f"output {number}")
    for node in reversed(graph.nodes):
        made = [(ranks[out.id].made, sorted(uses.get(out.id, ()))) for out in makes(node)]
        alike = isinstance(node, Apply) and interchangeable(node.traits)
        for place, value in enumerate(reads(node)):
            uses.setdefault(value.id, []).append(_digest("" if alike else place, made))
    return {id: _digest(sorted(told)) for id, told in uses.items()}


def _in_order(node: Node, ranks: Mapping[int, Rank]) -> Node:
    """The node, with its operands in order where they may be exchanged."""
    match node:
        case Apply() if interchangeable(node.traits):
            return replace(node, operands=tuple(sorted(node.operands, key=lambda value: ranks[value.id])))
        case Repeat():  # what enters from outside stands in the order in which the body reads it
            order = sorted(range(node.carried, len(node.args)), key=lambda at: ranks[node.args[at].id])
            order = [*range(node.carried), *order]
            if order == sorted(order):
                return node
            bodies = tuple(replace(body, inputs=tuple(body.inputs[at] for at in order)) for body in node.bodies)
            return replace(node, bodies=bodies, args=tuple(node.args[at] for at in order))
        case _:
            return node


def _scheduled(graph: Graph, nodes: list[Node], ranks: Mapping[int, Rank]) -> list[Node]:
    """The nodes, each after those that it needs."""
    maker = {out.id: at for at, node in enumerate(nodes) for out in makes(node)}
    needs = [[maker[value.id] for value in reads(node) if value.id in maker] for node in nodes]
    wanted: dict[int, int] = {}  # node -> its place in the order in which results are needed
    roots = [maker[output.value.id] for output in graph.outputs if output.value.id in maker]
    for root in (*roots, *range(len(nodes))):
        stack = [(root, iter(needs[root]))]
        while stack:
            at, rest = stack[-1]
            below = next((other for other in rest if other not in wanted), None) if at not in wanted else None
            if below is None:
                wanted.setdefault(at, len(wanted))
                stack.pop()
            else:
                stack.append((below, iter(needs[below])))
    left = [len(set(below)) for below in needs]
    readers: list[list[int]] = [[] for _ in nodes]
    for at, below in enumerate(needs):
        for other in set(below):
            readers[other].append(at)
    first = [min((ranks[out.id].first for out in makes(node)), default=_NUMBER) for node in nodes]
    for at in sorted(range(len(nodes)), key=lambda at: -wanted[at]):
        if first[at] >= _TABLE:  # known before there are data: as late as may be
            first[at] = min((first[reader] for reader in readers[at]), default=first[at])
    ready = [(first[at], wanted[at], at) for at in range(len(nodes)) if not left[at]]
    heapq.heapify(ready)
    out = []
    while ready:
        at = heapq.heappop(ready)[-1]
        out.append(nodes[at])
        for reader in readers[at]:
            left[reader] -= 1
            if not left[reader]:
                heapq.heappush(ready, (first[reader], wanted[reader], reader))
    return out


def _static(value: Static, axis: Callable[[Axis], str]) -> str:
    match value:
        case Literal(number):
            return repr(number)
        case SizeOf(of):
            return f"|{axis(of)}|"
        case ConstOf(const):
            return _const(const)
        case Arith(op, args):
            return f"{op}({', '.join(_static(arg, axis) for arg in args)})"


def _const(const: Const) -> str:
    return repr(const.value) if const.value is not None else "const"


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
