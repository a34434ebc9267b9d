"""Truth values known at build time go into the blocks that they are passed to, and masks that keep everything vanish.

So a block with `mask: bool[q, k] = true` has no mask at all where none is given. Numbers are left alone: they become
ordinary arguments of the generated code, so that calls with different numbers share a class.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan, owns
from ...graph.traits import Arrange, Complement, Conjunction, Disjunction, IndexMap, Pointwise, Sum
from ...graph.values import Value
from ...sizes.axes import Literal, known

Truths = tuple[tuple[int, bool], ...]
"""Which of a graph's inputs are known, by their places, and what they are."""


def fold_truths(graph: Graph) -> tuple[Graph, dict[int, list[Graph]]]:
    """The graph with truth values folded, and what became of each nested graph, by id: one for each way of calling."""
    folder = _Folder()
    return folder.specialise(graph, ()), folder.replaced


class _Folder:
    def __init__(self) -> None:
        self._memo: dict[tuple[int, Truths], Graph] = {}
        self._keep: list[Graph] = []
        self.replaced: dict[int, list[Graph]] = {}

    def specialise(self, graph: Graph, given: Truths) -> Graph:
        """The graph with these inputs (place, truth value) made constants."""
        key = (id(graph), given)
        if key not in self._memo:
            self._keep.append(graph)
            self._memo[key] = self._fold(graph, dict(given))
            self.replaced.setdefault(id(graph), []).append(self._memo[key])
        return self._memo[key]

    def _fold(self, graph: Graph, given: dict[int, bool]) -> Graph:
        unlike = frozenset[str]()
        while True:
            folding = _Folding(self, graph, given, unlike)
            for node in graph.nodes:
                folding.visit(node)
            if not (found := folding.unequal() - unlike):
                return folding.folded()
            unlike |= found


class _Folding:
    """One graph being folded.

    unlike: calls that share weights, and so one class, but are not all given the same truths.
    """

    def __init__(self, folder: _Folder, graph: Graph, given: dict[int, bool], unlike: frozenset[str]) -> None:
        self.folder, self.graph, self.given, self.unlike = folder, graph, given, unlike
        self.ways: dict[str, set[Truths]] = {}  # calls that own weights -> the truths that they are given
        self.settled: dict[int, bool] = {}  # value -> the truth that it is
        self.same: dict[int, Value] = {}  # value -> the one that it equals
        self.nodes: list[Node] = []
        for place, truth in given.items():
            self._settle(graph.inputs[place].value, truth)

    def unequal(self) -> frozenset[str]:
        return frozenset(name for name, some in self.ways.items() if len(some) > 1)

    def folded(self) -> Graph:
        graph = self.graph
        if not self.same and not self.given and all(a is b for a, b in zip(self.nodes, graph.nodes, strict=True)):
            return graph
        inputs = tuple(item for place, item in enumerate(graph.inputs) if place not in self.given)
        outputs = tuple(replace(output, value=self._now(output.value)) for output in graph.outputs)
        return replace(graph, inputs=inputs, nodes=tuple(self.nodes), outputs=outputs)

    def visit(self, node: Node) -> None:
        match node:
            case Constant(value, out) if isinstance(truth := known(value), bool):
                self.settled[out.id] = truth
            case Apply():
                self._apply(node)
                return
            case Call():
                node = self._call(node)
            case Repeat():
                args = self._all_now(node.args)
                fixed = self._truths(args, node.carried)
                bodies = tuple(self.folder.specialise(body, fixed) for body in node.bodies)
                node = replace(node, bodies=bodies, args=_without(args, fixed))
            case Scan():
                node = replace(node, graph=self.folder.specialise(node.graph, ()), args=self._all_now(node.args))
            case _:
                pass
        self.nodes.append(node)

    def _apply(self, node: Apply) -> None:
        mask = None if node.mask is None else self._now(node.mask)
        if mask is not None and self.settled.get(mask.id) is True:
            mask = None
        node = replace(node, operands=self._all_now(node.operands), mask=mask)
        match _truth(node, self.settled):
            case bool(truth):
                self._settle(node.out, truth)
            case Value() as other:
                self.same[node.out.id] = other
            case None:
                self.nodes.append(node)

    def _call(self, node: Call) -> Call:
        args = self._all_now(node.args)
        fixed = () if node.graph.target else self._truths(args)  # what the user wrote takes all that it declares
        if owns(node.graph):
            self.ways.setdefault(node.name, set()).add(fixed)
        if node.name in self.unlike:
            fixed = ()
        return replace(node, graph=self.folder.specialise(node.graph, fixed), args=_without(args, fixed))

    def _settle(self, value: Value, truth: bool) -> None:
        self.settled[value.id] = truth
        self.nodes.append(Constant(Literal(truth), value))

    def _now(self, value: Value) -> Value:
        return self.same.get(value.id, value)

    def _all_now(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(map(self._now, values))

    def _truths(self, args: tuple[Value, ...], start: int = 0) -> Truths:
        return tuple((i, self.settled[v.id]) for i, v in enumerate(args) if v.id in self.settled and i >= start)


def _without(args: tuple[Value, ...], fixed: Truths) -> tuple[Value, ...]:
    taken = dict(fixed)
    return tuple(value for place, value in enumerate(args) if place not in taken)


def _truth(node: Apply, settled: dict[int, bool]) -> bool | Value | None:
    """What known truths come to, joined or at other places: a truth, or the other operand."""
    known = [settled.get(value.id) for value in node.operands]
    match node.traits.reads, known:
        case Pointwise(Conjunction() | Disjunction() as joins), [_, _]:
            neutral = isinstance(joins, Conjunction)
            for truth, other in zip(known, reversed(node.operands), strict=True):
                if truth is not None:
                    return other if truth is neutral else not neutral
        case Pointwise(Complement()), [bool(truth)]:
            return not truth
        case ((Pointwise(Sum((1,))) | Arrange(IndexMap.SAME | IndexMap.NEW | IndexMap.MIRRORED)), [bool(truth)]):
            return truth
    return None
