"""A scan whose states are linear in themselves is not done item by item: `S = a S + k v`, `S = a S + k (v - b k S)`.

In its place the block is called once, for all items. What its results read of a state, a sum over some of its axes,
becomes `linear_attention`, in which items meet in chunks and no state of an item is made; where a result reads the
state itself, or the decay differs by all of its axes, all states are made by `recurrence`. What it leaves alone: a
block in which a state is put through anything else, or hangs on another.

    linear_attention[t, d -> e](q, k, v, decay?, erase?, start?)   options say which there are; `before`
    recurrence[t](x, decay?, start?)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Graph, Node, Scan, makes, reads
from ...graph.values import Scalar, Value
from ...ops import op_named
from ...sizes.axes import Axis, Literal, known
from ..simplify.dead import alive
from .forms import Maker, RankOne, StateForm, Summand
from .replaced import Numbers, with_calls
from .sums import counted_beside
from .widen import (
    Widened,
    behind,
    held_over,
    in_written_order,
    inputs_along,
    with_axis,
)

MOST = 2  # products that are added to a state, each of which is an attention of its own


def linear_scans(graph: Graph) -> Graph:
    """The graph with such scans done for all items at once."""

    def zeros(scan: Scan, numbers: Numbers) -> Numbers:
        return {place: number for place, number in numbers.items() if known(number) == 0}

    return with_calls(graph, zeros, lambda scan, numbers, outs: _Linear(scan, frozenset(numbers)).block(outs), alive)


class _NotLinear(Exception):
    """There is a value that the scan needs, and that is not made for all items at once."""


@dataclass(frozen=True, slots=True)
class _State:
    """One state: its input, the value that is the next, and what that is made of."""

    input: Value
    next: Value
    form: StateForm
    start: Value | None


class _Linear:
    """One scan. zeros: the places of states that begin as 0."""

    def __init__(self, scan: Scan, zeros: frozenset[int]) -> None:
        self.scan, self.graph, self.axis, self.zeros = scan, scan.graph, scan.axis, zeros
        self.held = held_over(scan)
        self.inputs = inputs_along(scan)
        self.starts = [self.graph.inputs[place].value for place, _ in scan.states]
        self.make = Maker(self.graph, [value.type.axes for value in self.starts])
        self.widened = Widened(self.axis)
        states = {value.id for value in self.starts}
        self.values = {item.value.id: item.value for item in self.inputs if item.value.id not in states}
        self.index = index_of(self.graph)
        self.all: dict[tuple[int, bool], Value] = {}

    def block(self, outs: Sequence[int]) -> Graph | None:
        """The block over all items, with these results; None where it is not linear."""
        try:
            return self._block(outs)
        except _NotLinear:
            return None

    def _block(self, outs: Sequence[int]) -> Graph:
        graph = self.graph
        if any(value.type.element is not Scalar.REAL or value.exact for value in self.starts):
            raise _NotLinear
        for node in graph.nodes:
            if not any(out.id in self.held for out in makes(node)):
                self._widen(node)
        self.states = self._states()
        self.reads = self._forms(
            {state.next.id: StateForm(at, False, (Summand(),)) for at, state in enumerate(self.states)}
        )
        for node in graph.nodes:  # a weight is part of a model whether it is read or not
            if isinstance(node, Apply) and node.weights:
                self._over_all(node.out)
        results = [graph.outputs[place] for place in outs]
        outputs = [replace(one, value=self._over_all(one.value), axes=behind(one.axes, self.axis)) for one in results]
        if any(self.axis not in one.value.type.axes for one in outputs):
            raise _NotLinear
        inputs = tuple(item for place, item in enumerate(self.inputs) if place not in self.zeros)
        made = with_axis(graph, self.axis)
        whole = replace(
            made, inputs=inputs, nodes=tuple(in_written_order(graph, self.make.nodes)), outputs=tuple(outputs)
        )
        return alive(counted_beside(whole))

    def _widen(self, node: Node) -> None:
        """The node over all items, of what is known over all of them."""
        now = self.widened.node(node, self.values)
        if now is None:
            raise _NotLinear
        self.make.nodes.append(now)
        self.make.makers |= {out.id: now for out in makes(now)}
        self.values |= {out.id: out for out in makes(now)}

    # -- states --------------------------------------------------------------------------------------------------

    def _states(self) -> list[_State]:
        """The states, each linear in itself alone."""
        old = {value.id: StateForm(at, True, (Summand(),)) for at, value in enumerate(self.starts)}
        forms = self._forms({})
        found = []
        for at, (place, result) in enumerate(self.scan.states):
            item, after = self.graph.inputs[place].value, self.graph.outputs[result].value
            form = old[item.id] if after.id == item.id else forms.get(after.id)
            if form is None or form.state != at:
                raise _NotLinear
            found.append(_State(item, after, form, None if place in self.zeros else item))
        return found

    def _forms(self, after: dict[int, StateForm]) -> dict[int, StateForm]:
        """What each value that hangs on states is made of. after: of the states as an item leaves them."""
        forms = {value.id: StateForm(at, True, (Summand(),)) for at, value in enumerate(self.starts)} | after
        for node in self.graph.nodes:
            for out in makes(node):
                if out.id in self.held and out.id not in forms:
                    form = self.make.form(node, forms, self.values)
                    if form is not None:
                        forms[out.id] = form
        return forms

    # -- values over all items -----------------------------------------------------------------------------------

    def _over_all(self, value: Value) -> Value:
        if value.id not in self.values:
            self.values[value.id] = self._made(value)
        return self.values[value.id]

    def _made(self, value: Value) -> Value:
        for at, state in enumerate(self.states):
            if value.id == state.next.id:
                return self._all(at, before=False)
            if value.id == state.input.id:
                return self._all(at, before=True)
        node, form = self.index.made_by[value.id], self.reads.get(value.id)
        if form is not None and not form.scale and form.ranks and isinstance(node, Apply) and node.axes:
            read = self._read(form)
            if read is not None:
                return replace(read, name=value.name)
        for operand in reads(node):
            self._over_all(operand)
        self._widen(node)
        return self.values[value.id]

    def _all(self, at: int, before: bool) -> Value:
        """A state over all items: as each leaves it, or as it was before."""
        if (at, before) not in self.all:
            state = self.states[at]
            form = state.form
            if form.ranks or not form.plus:
                raise _NotLinear
            given = [self.make.total(form.plus)]
            options = {}
            if form.scale != (Summand(),):
                options["decay"] = Literal(1)
                given.append(self.make.total(form.scale) if form.scale else self.make.number(0))
            if state.start is not None:
                options["start"] = Literal(1)
                given.append(state.start)
            if before:
                options["before"] = Literal(1)
            out = self.make.fresh((self.axis, *self.make.states[at]), [*given, state.next], state.next.name)
            node = Apply(op_named("recurrence"), tuple(given), out, axes=(self.axis,), options=options)
            self.all[at, before] = self.make.apply(node)
        return self.all[at, before]

    def _read(self, form: StateForm) -> Value | None:
        """A sum over axes of a state, without any state of an item; None where these are to be made."""
        terms = [*form.plus]
        for rank in form.ranks:
            found = self._attention(form, rank)
            if found is None:
                return None
            terms += [rank.by.times((one,)) for one in found]
        return self.make.total(terms)

    def _attention(self, form: StateForm, rank: RankOne) -> list[Value] | None:
        state = self.states[form.state]
        own, change = {*self.make.states[form.state]}, state.form
        q = self.make.product(rank.of)
        if not rank.axes <= own or not _axes([q]) >= rank.axes or not 1 <= len(change.plus) <= MOST:
            return None
        if not change.scale:
            return None
        decay = None if change.scale == (Summand(),) else self.make.total(change.scale)
        erase = self._erased(change, rank.axes) if change.ranks else None
        if change.ranks and erase is None:
            return None
        shared = _axes([q, *([] if decay is None else [decay]), *([] if erase is None else [erase])])
        found: list[Value] = []
        for term in change.plus:
            keys, rest = term.having(rank.axes), term.without(rank.axes)
            value = own - rank.axes - shared - _axes(keys)
            if not _axes(keys) >= rank.axes or not value or not value <= _axes(rest):
                return None
            if erase is not None and rank.axes & _axes([] if decay is None else [decay]):
                return None
            given = [q, self.make.product(Summand(keys)), self.make.product(Summand(rest, term.sign))]
            options = {}
            for name, more in (("decay", decay), ("erase", erase)):
                if more is not None:
                    options[name] = Literal(1)
                    given.append(more)
            if state.start is not None and not found:
                options["start"] = Literal(1)
                given.append(state.start)
            if form.before:
                options["before"] = Literal(1)
            d = tuple(axis for axis in self.make.states[form.state] if axis in rank.axes)
            e = tuple(axis for axis in self.make.states[form.state] if axis in value)
            kept = (axis for axis in (self.axis, *(a for one in given for a in one.type.axes)) if axis not in d)
            out = self.make.fresh(kept, given)
            found.append(
                self.make.apply(
                    Apply(op_named("linear_attention"), tuple(given), out, (self.axis, *d), e, options=options)
                )
            )
        return found

    def _erased(self, change: StateForm, axes: frozenset[Axis]) -> Value | None:
        """What is taken out of a state with the keys that are put in, for each value of it."""
        if len(change.ranks) != 1 or len(change.plus) != 1 or change.ranks[0].axes != axes:
            return None
        (rank,), (plus,) = change.ranks, change.plus
        keys = rank.by.having(axes)
        if sorted(value.id for value in keys) != sorted(value.id for value in plus.having(axes)):
            return None
        by = Summand(rank.by.without(axes), -rank.by.sign)
        erase = self.make.product(by.times(rank.of.factors, rank.of.sign))
        return erase if _axes([erase]) >= axes else None


def _axes(values: Iterable[Value]) -> frozenset[Axis]:
    return frozenset(axis for value in values for axis in value.type.axes)


__all__ = ["linear_scans"]
