"""Which states of a scan stay finite of themselves, however long the padding that its steps run over (`ragged.py`).

A state is left alone if its next value is bounded (`tanh` of anything), or is at most the state before and something
bounded: `f * c + i * g` of an LSTM, `c + k * v` of linear attention. Then it grows by no more than a fixed amount a
step. All others are held where an example has ended, at the price of a choice for each state and step.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from ..graph import Apply, Constant, Graph, Node, Scalar, Value, makes, reads
from ..static import known


class Bound(IntEnum):
    """How large a number gets. Each is also all that follow."""

    SHARE = 0  # from 0 to 1
    UNIT = 1  # from -1 to 1
    SOME = 2  # finite, and no larger after many steps than after one


_OF_ANYTHING = {
    "sigmoid": Bound.SHARE,
    "softmax": Bound.SHARE,
    "tanh": Bound.UNIT,
    "sin": Bound.UNIT,
    "cos": Bound.UNIT,
    "erf": Bound.UNIT,
}
_WITHIN = (
    "maximum",
    "minimum",
    "broadcast",
    "rename",
    "merge",
    "split",
    "gather",
)  # no larger than the largest operand
_FROM_BOUNDED = ("+", "-", "*", "neg", "abs", "relu", "dot", "linear", "sum", "mean", "concat")


def bounded(graph: Graph, states: Sequence[tuple[int, int]]) -> set[int]:
    """The places of those states of a step that need not be held, of these (place of the input, of the result)."""
    return _Growth(graph, [graph.inputs[into].value for into, _ in states]).places(states)


class _Growth:
    def __init__(self, graph: Graph, states: Sequence[Value]) -> None:
        self.graph = graph
        self.hang = {state.id for state in states}  # what is made of a state
        self.bounds: dict[int, Bound] = {}
        self.follows = {state.id: state.id for state in states}  # is at most that state and something bounded
        for node in graph.nodes:
            self._node(node)

    def places(self, states: Sequence[tuple[int, int]]) -> set[int]:
        found = set()
        for into, made in states:
            state, after = self.graph.inputs[into].value, self.graph.outputs[made].value
            real = state.type.element is Scalar.REAL is after.type.element
            if real and (self._of(after) is not None or self.follows.get(after.id) == state.id):
                found.add(made)
        return found

    def _of(self, value: Value) -> Bound | None:
        """The bound of a value; None if it may grow with every step."""
        if value.id in self.bounds:
            return self.bounds[value.id]
        return None if value.id in self.hang and value.type.element in (Scalar.REAL, Scalar.INT) else Bound.SOME

    def _node(self, node: Node) -> None:
        if any(value.id in self.hang for value in reads(node)):
            self.hang |= {value.id for value in makes(node)}
        if isinstance(node, Constant):
            number = known(node.value)
            if number is not None and abs(number) <= 1:
                self.bounds[node.out.id] = Bound.SHARE if number >= 0 else Bound.UNIT
        elif isinstance(node, Apply):
            bound = self._bound(node)
            if bound is not None:
                self.bounds[node.out.id] = bound
            elif (state := self._followed(node)) is not None:
                self.follows[node.out.id] = state

    def _bound(self, node: Apply) -> Bound | None:
        if node.op in _OF_ANYTHING:
            return _OF_ANYTHING[node.op]
        operands = node.operands[1:] if node.op in ("select", "clamp") else node.operands  # of values, of limits
        bounds = [bound for bound in map(self._of, operands) if bound is not None]
        if len(bounds) < len(operands):
            return None
        largest = max(bounds, default=Bound.SOME)
        if node.op in (*_WITHIN, "select", "clamp", "*"):
            return largest
        if node.op == "-" and largest is Bound.SHARE:
            return Bound.UNIT
        return Bound.SOME if node.op in _FROM_BOUNDED or node.out.id not in self.hang else None

    def _followed(self, node: Apply) -> int | None:
        """The state that the result is at most, but for something bounded."""
        match node.op, node.operands:
            case "*", (a, b):
                pairs = [(a, self._of(b)), (b, self._of(a))]
                return next((self.follows.get(of.id) for of, by in pairs if by in (Bound.SHARE, Bound.UNIT)), None)
            case "+" | "-", (a, b) if self._of(a) is not None or self._of(b) is not None:
                return self.follows.get(b.id if self._of(a) is not None else a.id)
            case "select", (_, *choices):
                states = {self.follows.get(choice.id) for choice in choices if self._of(choice) is None}
                return states.pop() if len(states) == 1 else None
            case _:
                return None
