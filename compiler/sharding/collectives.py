"""What is sent: each collective of a model on a mesh, forward and backward, with its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ..cost.polynomials.polynomial import Poly
from ..cost.walk import reached
from ..cost.work import Meter
from ..graph.nodes import Apply, Call, Graph, Repeat
from ..sizes.axes import evaluate
from .sends import Collective, SendKind


class Means(Enum):
    """The collectives of a communication library. `share`: what of its bytes a device sends, of `n` in a ring."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"

    def sent(self, given: int, devices: int) -> int:
        """The bytes that a device sends, where it gives so many: as rings do it (Patarasu and Yuan 2009)."""
        match self:
            case Means.ALL_REDUCE:
                return 2 * given * (devices - 1) // devices
            case Means.ALL_GATHER:
                return given * (devices - 1)
            case _:
                return given * (devices - 1) // devices


@dataclass(frozen=True, slots=True)
class Sending:
    """One collective of the graph of one device.

    path:     of the block that it is in. mesh: the number of the mesh axis along which it is done.
    given:    the bytes that each device gives to it.
    times:    how often it is done in a pass through the model.
    backward: whether it is of the gradients.
    """

    path: str
    mesh: int
    means: Means
    given: Poly
    times: int
    backward: bool


_FORWARD = {
    SendKind.GATHER: Means.ALL_GATHER,
    SendKind.REDUCE: Means.ALL_REDUCE,
    SendKind.SCATTER: Means.REDUCE_SCATTER,
    SendKind.EXCHANGE: Means.ALL_TO_ALL,
    SendKind.SETTLE: Means.ALL_REDUCE,
    SendKind.COUNTS: Means.ALL_TO_ALL,
    SendKind.ROWS: Means.ALL_TO_ALL,
    SendKind.BACK: Means.ALL_TO_ALL,
}
_BACKWARD = {
    SendKind.OWN: Means.ALL_GATHER,
    SendKind.ENTER: Means.ALL_REDUCE,
    SendKind.SCATTER: Means.ALL_GATHER,
    SendKind.EXCHANGE: Means.ALL_TO_ALL,
    SendKind.ROWS: Means.ALL_TO_ALL,
    SendKind.BACK: Means.ALL_TO_ALL,
}


def sendings(
    graph: Graph, meter: Meter, path: str = "", times: int = 1, used: Sequence[bool] = ()
) -> Iterator[Sending]:
    """All collectives of the graph of one device, blocks and repeats within it too. used: which of its results are."""
    differentiated = reached(graph, used or [True] * len(graph.outputs))
    for node in graph.nodes:
        match node:
            case Apply(traits=Collective() as op):
                given, made = meter.bytes(node.operands[0]), meter.bytes(node.out)
                if op.kind in _FORWARD:
                    yield Sending(path, op.mesh, _FORWARD[op.kind], given, times, False)
                back = Means.REDUCE_SCATTER if op.kind is SendKind.GATHER and op.by_parts else _BACKWARD.get(op.kind)
                if op.graded and back is not None and node.out.id in differentiated:
                    yield Sending(path, op.mesh, back, given if op.kind is SendKind.ENTER else made, times, True)
            case Call():
                inner = replace(meter, scope=meter.scope.inside(node))
                gradients = [out.id in differentiated for out in node.outs]
                yield from sendings(node.graph, inner, _join(path, node.name), times, gradients)
            case Repeat():
                for body, index, runs in passes(node):
                    turn = replace(meter, scope=meter.scope.turn(node.index, Poly.of(index)))
                    yield from sendings(body, turn, _join(path, node.name), times * runs)
            case _:
                pass


def passes(node: Repeat) -> Iterator[tuple[Graph, int, int]]:
    """The bodies of a repeat, the first pass that runs each, and how many do."""
    count = evaluate(node.count)
    assert isinstance(count, int)
    for number, body in enumerate(node.bodies):
        runs = [each for each in range(count) if node.runs(each) == number]
        if runs:
            yield body, runs[0], len(runs)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}".strip(".") if name else path
