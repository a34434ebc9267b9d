"""A scan that is an LSTM, a GRU or a plain recurrent network, by the shape of its graph, becomes one op for all items.

PyTorch has kernels of its own for these, and NumPy gets a tight loop. Gates come from one map, whose first axis they
are along, in any order, or from a map each; those of the state likewise. In place of the maps stand their `weights`.

    lstm[t](x, weights.., h?, c?)    c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
    gru[t](x, weights.., h?)         h' = (1 - z) tanh(n + sigmoid(r) n') + z h;  z = sigmoid(..)
    rnn[t](x, weights.., h?)         h' = tanh(..)

What it leaves alone: a cell of which anything else is read than h', or in which anything else is learned of a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Scan, makes
from ...graph.traits import Function, Gather, OpTraits, Pointwise, Product, Sum
from ...graph.values import Role, Value
from ...ops import op_meaning, op_named
from ...sizes.axes import Axis, Literal, known
from ..simplify.dead import alive
from ..tools.walk import Fresh
from .replaced import Numbers, with_calls
from .widen import (
    WEIGHTS,
    Widened,
    along,
    behind,
    held_over,
    in_written_order,
    inputs_along,
    is_map,
    with_axis,
)

SIGMOID, TANH = op_meaning(Function(least=0, greatest=1, rising=True)), op_named("tanh")


def cells(graph: Graph) -> Graph:
    """The graph with such scans as one op."""

    def zeros(scan: Scan, numbers: Numbers) -> Numbers | None:
        every = all(known(number) == 0 for number in numbers.values())
        return numbers if every and 1 <= len(scan.states) <= 2 else None

    return with_calls(graph, zeros, lambda scan, numbers, outs: _Cell(scan, frozenset(numbers)).block(outs))


@dataclass(frozen=True, slots=True)
class _GatePart:
    """What a map makes, or of gates that it makes along an axis the one at a place."""

    map: Apply
    place: int | None = None


class _Cell:
    """One scan. zeros: the places of states that begin as 0."""

    def __init__(self, scan: Scan, zeros: frozenset[int]) -> None:
        self.scan, self.graph, self.axis, self.zeros = scan, scan.graph, scan.axis, zeros
        self.index = index_of(self.graph)
        self.held = held_over(scan)
        self.states = [self.graph.inputs[place].value for place, _ in scan.states]
        self.nexts = [self.graph.outputs[result].value for _, result in scan.states]

    # -- the shapes ----------------------------------------------------------------------------------------------

    def _op(self, value: Value, op: OpTraits) -> Value | None:
        match self.index.maker(value):
            case Apply(traits, (x,), mask=None) if traits is op:
                return x
            case _:
                return None

    def _two(self, value: Value, meaning: Product | Sum) -> tuple[Value, Value] | None:
        match self.index.maker(value):
            case Apply(traits, (x, y)) if traits.reads == Pointwise(meaning):
                return x, y
            case _:
                return None

    def _product_with(self, value: Value, factor: int) -> Value | None:
        """What a value of this id is multiplied with."""
        pair = self._two(value, Product()) or ()
        return next((other for one, other in zip(pair, pair[::-1], strict=True) if one.id == factor), None)

    def _parts(self, value: Value) -> list[_GatePart] | None:
        """Maps that sum up to a value."""
        made = self.index.maker(value)
        match made:
            case Apply(each=(), operands=(_,)) if is_map(made):
                return [_GatePart(made)]
            case Apply(traits, (x, at)) if traits.reads == Gather() and len(made.axes) == 1:
                number = self.index.maker(at)
                found = self._parts(x) or []
                place = known(number.value) if isinstance(number, Constant) else None
                picked = all(part.place is None and part.map.made[0] == made.axes[0] for part in found)
                return [_GatePart(part.map, place) for part in found] if picked and isinstance(place, int) else None
            case _:
                pair = self._two(value, Sum((1, 1)))
                one, other = (None, None) if pair is None else map(self._parts, pair)
                return None if one is None or other is None else one + other

    def _gate(self, value: Value) -> tuple[_GatePart, _GatePart] | None:
        """The part of a sum that is made of what enters, and that which is made of the state."""
        parts = self._parts(value) or []
        into = [part for part in parts if part.map.operands[0].id not in self.held]
        back = [part for part in parts if part.map.operands[0].id == self.states[self.h].id]
        return (into[0], back[0]) if len(into) == len(back) == 1 and len(parts) == 2 else None

    def _lstm(self) -> list[tuple[_GatePart, _GatePart] | None] | None:
        """The gates i, f, g, o."""
        for h, c in ((0, 1), (1, 0)):
            self.h, shown = h, self._two(self.nexts[h], Product()) or ()
            sums = self._two(self.nexts[c], Sum((1, 1))) or ()
            for o, state in zip(shown, shown[::-1], strict=True):
                out, inner = self._op(o, SIGMOID), self._op(state, TANH)
                if out is None or inner is None or inner.id != self.nexts[c].id:
                    continue
                for kept, written in zip(sums, sums[::-1], strict=True):
                    f, pair = self._product_with(kept, self.states[c].id), self._two(written, Product()) or ()
                    keep = None if f is None else self._op(f, SIGMOID)
                    for i, g in zip(pair, pair[::-1], strict=True):
                        write, new = self._op(i, SIGMOID), self._op(g, TANH)
                        if keep is not None and write is not None and new is not None:
                            return [self._gate(each) for each in (write, keep, new, out)]
        return None

    def _gru(self) -> list[tuple[_GatePart, _GatePart] | None] | None:
        """The gates r, z, n."""
        self.h, sums = 0, self._two(self.nexts[0], Sum((1, 1))) or ()
        for kept, more in zip(sums, sums[::-1], strict=True):
            z, pair = self._product_with(kept, self.states[0].id), self._two(more, Product()) or ()
            for rest, n in zip(pair, pair[::-1], strict=True):
                left, new = self._two(rest, Sum((1, -1))), self._op(n, TANH)
                if z is None or left is None or new is None or left[1].id != z.id or not self._is_one(left[0]):
                    continue
                update, added = self._op(z, SIGMOID), self._two(new, Sum((1, 1))) or ()
                for given, heard in zip(added, added[::-1], strict=True):
                    gated = self._two(heard, Product()) or ()
                    for r, back in zip(gated, gated[::-1], strict=True):
                        reset, into, said = self._op(r, SIGMOID), self._parts(given) or [], self._parts(back) or []
                        if update is None or reset is None or len(into) != 1 or len(said) != 1:
                            continue
                        if into[0].map.operands[0].id in self.held or said[0].map.operands[0].id != self.states[0].id:
                            continue
                        return [self._gate(reset), self._gate(update), (into[0], said[0])]
        return None

    def _rnn(self) -> list[tuple[_GatePart, _GatePart] | None] | None:
        self.h = 0
        inner = self._op(self.nexts[0], TANH)
        return None if inner is None else [self._gate(inner)]

    def _is_one(self, value: Value) -> bool:
        made = self.index.maker(value)
        return isinstance(made, Constant) and known(made.value) == 1

    # -- the block -----------------------------------------------------------------------------------------------

    def block(self, outs: Sequence[int]) -> Graph | None:
        """The block over all items; None where it is no such cell."""
        kind, gates = "rnn", self._rnn() if len(self.states) == 1 else None
        if gates is None:
            kind, gates = ("lstm", self._lstm()) if len(self.states) == 2 else ("gru", self._gru())
        found = [gate for gate in gates or [] if gate is not None]
        if gates is None or len(found) < len(gates):
            return None
        h = self.nexts[self.h]
        if len(h.type.axes) - len(self.graph.lifted) != 1 or self.graph.lifted or h.exact:
            return None
        if any(self.graph.outputs[place].value.id != h.id for place in outs):
            return None
        into, back = ([gate[side] for gate in found] for side in (0, 1))
        orders = [self._order(parts, h.type.axes[0]) for parts in (into, back)]
        learned = {id(part.map) for part in (*into, *back)}
        others = (node for node in self.graph.nodes if isinstance(node, Apply) and node.weights)
        given = {part.map.operands[0].id for part in into}
        if None in orders or len(given) != 1 or orders[0] != orders[1]:
            return None
        if any(id(node) not in learned and node.out.id in self.held for node in others):
            return None
        return self._made(kind, into, back, orders[0] or (), outs)

    def _order(self, parts: list[_GatePart], hidden: Axis) -> tuple[int, ...] | None:
        """Where each gate stands along the axis of the one map that makes them; () where each has a map."""
        maps = list({id(part.map): part.map for part in parts}.values())
        places = tuple(part.place for part in parts if part.place is not None)
        if len(maps) == 1 and len(places) == len(parts) and sorted(places) == list(range(len(parts))):
            gate, *rest = maps[0].made
            return places if rest == [hidden] and gate.extent == len(parts) else None
        own = len(maps) == len(parts) and not places and all(one.made == (hidden,) for one in maps)
        return () if own else None

    def _made(
        self, kind: str, into: list[_GatePart], back: list[_GatePart], order: tuple[int, ...], outs: Sequence[int]
    ) -> Graph | None:
        graph, widened, fresh = self.graph, Widened(self.axis), Fresh(self.graph)
        inputs = inputs_along(self.scan)
        values = {item.value.id: item.value for item in inputs if item.value.id not in self.held}
        maps = list({id(part.map): part.map for part in (*into, *back)}.values())
        nodes: list[Node] = []
        for node in graph.nodes:
            if any(node is one for one in maps) or any(out.id in self.held for out in makes(node)):
                continue
            now = widened.node(node, values) if all(x.id in values for x in _read(node)) else None
            if now is None:
                if isinstance(node, Apply) and node.weights:
                    return None
                continue
            nodes.append(now)
            values |= {out.id: out for out in makes(now)}
        x = values.get(into[0].map.operands[0].id)
        if x is None or self.axis not in x.type.axes:
            return None
        learned = [
            replace(one, traits=WEIGHTS, operands=(), out=fresh(replace(one.out, role=Role.WEIGHT, name=None)))
            for one in maps
        ]
        written = {node.name: None for node in graph.nodes if isinstance(node, Apply)}
        nodes += [one for name in written for one in learned if one.name == name]
        starts = [
            graph.inputs[place].value
            for place, _ in (self.scan.states if self.h == 0 else self.scan.states[::-1])
            if place not in self.zeros
        ]
        if starts and len(starts) < len(self.states):
            return None
        h = self.nexts[self.h]
        out = along(h, self.axis)
        options = {str(number): Literal(place) for number, place in enumerate(order)}
        nodes.append(
            Apply(
                op_named(kind),
                (x, *(one.out for one in learned), *starts),
                out,
                (self.axis,),
                (h.type.axes[0],),
                options=options,
            )
        )
        outputs = tuple(
            replace(graph.outputs[place], value=out, axes=behind(graph.outputs[place].axes, self.axis))
            for place in outs
        )
        entering = tuple(item for place, item in enumerate(inputs) if place not in self.zeros)
        whole = replace(
            with_axis(graph, self.axis), inputs=entering, nodes=tuple(in_written_order(graph, nodes)), outputs=outputs
        )
        return alive(whole)


def _read(node: Node) -> tuple[Value, ...]:
    return node.operands if isinstance(node, Apply) else node.args if isinstance(node, Call) else ()
