"""What is sent: each collective of a model on a mesh, forward and backward, with its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from ..cost.polynomials.polynomial import Poly
from ..cost.walk import reached
from ..cost.work import Meter
from ..graph.nodes import Apply, Call, Constant, Graph, Repeat
from ..graph.term import Leaf
from ..graph.term import Number as NumberTerm
from ..graph.values import Value
from ..sizes.axes import Number, evaluate
from .mesh import Mesh
from .rings.sights import sight
from .sends import Collective, OwnFirst, RingAttention, SendKind


class Means(Enum):
    """The collectives of a communication library. `share`: what of its bytes a device sends, of `n` in a ring."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND = "send"  # from one device to another

    def sent(self, given: int, devices: int) -> int:
        """The bytes that a device sends, where it gives so many: as rings do it (Patarasu and Yuan 2009)."""
        match self:
            case Means.ALL_REDUCE:
                return 2 * given * (devices - 1) // devices
            case Means.ALL_GATHER:
                return given * (devices - 1)
            case Means.SEND:
                return given
            case _:
                return given * (devices - 1) // devices


@dataclass(frozen=True, slots=True)
class Sending:
    """One collective of the graph of one device.

    path:     of the block that it is in. mesh: the number of the mesh axis along which it is done.
    given:    the bytes that each device gives to it.
    times:    how often it is done in a pass through the model; of what is sent to single devices: by the one that
              sends most.
    backward: whether it is of the gradients.
    messages: of what is sent to single devices, how many each of those along the mesh axis sends.
    rings:    of keys and values: how often they go round. They are not kept whole, as what is gathered is.
    repeated: whether it is in a pass of a repeat.
    """

    path: str
    mesh: int
    means: Means
    given: Poly
    times: int
    backward: bool
    messages: tuple[int, ...] = ()
    rings: int = 0
    repeated: bool = False


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


Known = Mapping[int, Number | OwnFirst]
"""Of values, by their ids: numbers, and where the device's part of an axis begins."""


def sendings(graph: Graph, meter: Meter, mesh: Mesh) -> Iterator[Sending]:
    """All collectives of the graph of one device, blocks and repeats within it too."""
    return _sendings(graph, _Inside(meter, mesh, "", 1, False, {}), [True] * len(graph.outputs))


@dataclass(frozen=True, slots=True)
class _Inside:
    """Where a graph stands in the model, how often it is done, and what is known of its inputs."""

    meter: Meter
    mesh: Mesh
    path: str
    times: int
    repeated: bool
    known: Known

    def called(self, node: Call) -> _Inside:
        meter = replace(self.meter, scope=self.meter.scope.inside(node))
        return replace(self, meter=meter, path=_join(self.path, node.name))

    def turn(self, node: Repeat, index: int, runs: int) -> _Inside:
        meter = replace(self.meter, scope=self.meter.scope.turn(node.index, Poly.of(index)))
        return replace(self, meter=meter, path=_join(self.path, node.name), times=self.times * runs, repeated=True)

    def given(self, graph: Graph, args: Sequence[Value], known: Known) -> _Inside:
        pairs = zip(graph.inputs, args, strict=True)
        return replace(self, known={entry.value.id: known[arg.id] for entry, arg in pairs if arg.id in known})


def _sendings(graph: Graph, here: _Inside, used: Sequence[bool]) -> Iterator[Sending]:
    """used: which of its results are."""
    differentiated = reached(graph, used)
    known = dict(here.known)
    for node in graph.nodes:
        match node:
            case Constant(value, out):
                with suppress(KeyError, ZeroDivisionError):
                    known[out.id] = _plain(here.meter.scope.number(value).at(here.meter.values))
            case Apply(traits=OwnFirst() as own, out=out):
                known[out.id] = own
            case Apply(traits=Collective() as op):
                yield from _collective(node, op, here, node.out.id in differentiated)
            case Apply(traits=RingAttention() as ring):
                yield from _ring(node, ring, replace(here, known=known), node.out.id in differentiated)
            case Call():
                gradients = [out.id in differentiated for out in node.outs]
                yield from _sendings(node.graph, here.called(node).given(node.graph, node.args, known), gradients)
            case Repeat():
                for body, index, runs in passes(node):
                    turn = here.turn(node, index, runs).given(body, node.args, known)
                    yield from _sendings(body, turn, [True] * len(body.outputs))
            case _:
                pass


def _collective(node: Apply, op: Collective, here: _Inside, differentiated: bool) -> Iterator[Sending]:
    given, made = here.meter.bytes(node.operands[0]), here.meter.bytes(node.out)
    if op.kind in _FORWARD:
        yield Sending(here.path, op.mesh, _FORWARD[op.kind], given, here.times, False, repeated=here.repeated)
    back = Means.REDUCE_SCATTER if op.kind is SendKind.GATHER and op.by_parts else _BACKWARD.get(op.kind)
    alone = op.kind is SendKind.OWN and op.by_parts
    if op.graded and back is not None and differentiated and not alone:
        yield Sending(here.path, op.mesh, back, given if op.kind is SendKind.ENTER else made, here.times, True)


def _ring(node: Apply, ring: RingAttention, here: _Inside, differentiated: bool) -> Iterator[Sending]:
    """Keys and values go to all devices that can see them; for gradients once more, and theirs come back."""
    meter, times, count = here.meter, here.times, here.mesh.axes[ring.mesh].size
    given = meter.bytes(node.operands[1]) + meter.bytes(node.operands[2])
    queries, keys = (int(meter.scope.size(axis).at(meter.values)) for axis in (node.made[0], node.axes[1]))
    seen = [[_sees(node, i, j, (queries, keys // count), here) for j in range(count)] for i in range(count)]
    sends = [sum(seen[i][j] for i in range(count) if i != j) * times for j in range(count)]
    backs = [sends[i] + sum(seen[i][j] for j in range(count) if i != j) * times for i in range(count)]
    yield Sending(here.path, ring.mesh, Means.SEND, given, max(sends), False, tuple(sends), times, here.repeated)
    if ring.graded and differentiated:
        yield Sending(here.path, ring.mesh, Means.SEND, given, max(backs), True, tuple(backs))


def _sees(node: Apply, viewer: int, owner: int, sizes: tuple[int, int], here: _Inside) -> bool:
    """Whether a device may see any of the keys of another. sizes: the queries and keys of each."""
    if node.seen is None:
        return True
    n, m = sizes

    def number(part: NumberTerm | Leaf) -> float | None:
        if isinstance(part, NumberTerm):
            with suppress(KeyError, ZeroDivisionError):
                return _plain(here.meter.scope.number(part.static).at(here.meter.values))
            return None
        found = part.known if part.known is not None else here.known.get(part.value.id)
        return viewer * n if isinstance(found, OwnFirst) else found

    places = {node.seen.q: (0.0, n - 1.0), node.seen.k: (owner * m * 1.0, owner * m + m - 1.0)}
    return sight(node.seen.term, places, number)[1]


def _plain(number: Number | Fraction) -> Number:
    return int(number) if int(number) == number else float(number)


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
