"""Truth values known at build time go into the blocks that they are passed to, and masks that keep everything vanish.

So a block with `mask: bool[q, k] = true` has no mask at all where none is given. Numbers are left alone: they become
ordinary arguments of the generated code, so that calls with different numbers share a class.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Repeat, Scan, owns
from ...graph.traits import Arrange, Complement, Conjunction, Disjunction, IndexMap, Pointwise, Sum
from ...graph.values import Value
from ...sizes.axes import Literal, known


def fold_truths(graph: Graph) -> tuple[Graph, dict[int, list[Graph]]]:
    """The graph with truth values folded, and what became of each nested graph, by id: one for each way of calling."""
    folder = _Folder()
    return folder.specialise(graph, ()), folder.replaced


class _Folder:
    def __init__(self) -> None:
        self._memo: dict[tuple[int, tuple[tuple[int, bool], ...]], Graph] = {}
        self._keep: list[Graph] = []
        self.replaced: dict[int, list[Graph]] = {}

    def specialise(self, graph: Graph, given: tuple[tuple[int, bool], ...]) -> Graph:
        """The graph with these inputs (place, truth value) made constants."""
        key = (id(graph), given)
        if key not in self._memo:
            self._keep.append(graph)
            self._memo[key] = self._fold(graph, dict(given))
            self.replaced.setdefault(id(graph), []).append(self._memo[key])
        return self._memo[key]

    def _fold(self, graph: Graph, given: dict[int, bool], unlike: frozenset[str] = frozenset()) -> Graph:
        """unlike: calls that share weights, and so one class, but are not all given the same truths."""
        ways: dict[str, set[object]] = {}
        settled: dict[int, bool] = {}  # value -> the truth that it is
        same: dict[int, Value] = {}  # value -> the one that it equals
        nodes: list[Node] = []
        inputs: list[Input] = []
        for place, item in enumerate(graph.inputs):
            if place in given:
                settled[item.value.id] = given[place]
                nodes.append(Constant(Literal(given[place]), item.value))
            else:
                inputs.append(item)

        def now(value: Value) -> Value:
            return same.get(value.id, value)

        def truths(args: tuple[Value, ...], start: int = 0) -> tuple[tuple[int, bool], ...]:
            return tuple((i, settled[v.id]) for i, v in enumerate(args) if v.id in settled and i >= start)

        for node in graph.nodes:
            match node:
                case Constant(value, out) if isinstance(truth := known(value), bool):
                    settled[out.id] = truth
                case Apply():
                    node = replace(
                        node,
                        operands=tuple(map(now, node.operands)),
                        mask=None if node.mask is None else now(node.mask),
                    )
                    if node.mask is not None and settled.get(node.mask.id) is True:
                        node = replace(node, mask=None)
                    result = _truth(node, settled)
                    if isinstance(result, bool):
                        settled[node.out.id] = result
                        nodes.append(Constant(Literal(result), node.out))
                        continue
                    if isinstance(result, Value):
                        same[node.out.id] = result
                        continue
                case Call():
                    args = tuple(map(now, node.args))
                    fixed = () if node.graph.target else truths(args)  # what the user wrote takes all that it declares
                    if owns(node.graph):
                        ways.setdefault(node.name, set()).add(fixed)
                    if node.name in unlike:
                        fixed = ()
                    taken = dict(fixed)
                    node = replace(
                        node,
                        graph=self.specialise(node.graph, fixed),
                        args=tuple(v for i, v in enumerate(args) if i not in taken),
                    )
                case Repeat():
                    args = tuple(map(now, node.args))
                    fixed = truths(args, node.carried)
                    taken = dict(fixed)
                    node = replace(
                        node,
                        bodies=tuple(self.specialise(body, fixed) for body in node.bodies),
                        args=tuple(v for i, v in enumerate(args) if i not in taken),
                    )
                case Scan():
                    node = replace(node, graph=self.specialise(node.graph, ()), args=tuple(map(now, node.args)))
                case _:
                    pass
            nodes.append(node)
        if found := frozenset(name for name, some in ways.items() if len(some) > 1) - unlike:
            return self._fold(graph, given, unlike | found)
        outputs = tuple(replace(output, value=now(output.value)) for output in graph.outputs)
        if not same and not given and all(a is b for a, b in zip(nodes, graph.nodes, strict=True)):
            return graph
        return replace(graph, inputs=tuple(inputs), nodes=tuple(nodes), outputs=outputs)


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
