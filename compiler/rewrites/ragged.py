"""Ragged widths: padding left out by construction (`width source ragged`).

A batch of examples of different lengths lies in arrays of one extent, padded at the end. This pass gives a graph an
input `source_lengths` (one number for each example) for each family of ragged widths, and changes every op that would
mix what is padding into what is not:

    sum, mean, max, softmax, ...     get the mask `source < length`
    dot, window, l2norm, ...         read 0 where there is padding
    layernorm, rmsnorm               are written out, with a mean that leaves padding out
    argsort, topk                    rank padding last
    |source|                         is the example's own length, and so is the size of what derives from it
    x[source = i], split, topk, ...  are held to each example's own length (`within`, `demand`; backends/demands.py)

So each example comes out as if it ran alone, whatever stands in the padding of the inputs; in the results it is 0. What
would be refused alone is refused in a batch. The pass does *not* look at blocks' signatures: a width parameter is
ragged in a call that gives it a ragged width. A block that is lifted over one, or scanned along one, is told where that
is padding, if there is anything in it that padding could spoil.

Where there is no such reading (padding in the middle of a concatenation, an op of the user's own) a diagnostic is
given back, and the graph is of no use.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...dsl.diagnostic import Diagnostic, error
from ...dsl.source import Span
from ..axes import Axis
from ..extents import at_least_0, claim_of, demand_of, fraction, holds, inexact, negative, quotients
from ..graph import (
    Apply,
    Call,
    Constant,
    Graph,
    IndexInto,
    Input,
    Node,
    Positions,
    Repeat,
    Role,
    Scalar,
    Scan,
    Type,
    Value,
    values_of,
)
from ..ops import OPS
from ..static import Arith, Literal, SizeOf, Static, axes_in, known
from ..wires import static_element
from .ragged_ops import RULES


def pad_ragged(graph: Graph) -> tuple[Graph, list[Diagnostic]]:
    """The graph with a length for each family of ragged widths, and what stands in the way. See the module."""
    families: dict[int, Axis] = {}
    for axis in graph.axes:
        if axis.ragged:
            families.setdefault(axis.family, axis)
    if not families:
        return graph, []
    pass_ = _Pass()
    body = pass_.body(graph, tuple(families), root=True)
    return body.finish(tuple(families)), list(pass_.problems.values())


@dataclass(frozen=True, slots=True)
class Around:
    """A ragged axis of a caller's: the body is lifted over it, or is called at each index of it (`step`).

    zeros, ones: the places of the inputs that are 0, or 1, where it is padding.
    """

    axis: Axis
    step: bool
    zeros: tuple[int, ...] = ()
    ones: tuple[int, ...] = ()


Told = int | Axis  # what a body is told: the lengths of a family, or where an axis around it is none of padding


class _Pass:
    """All graphs of one model: each is rewritten once for each set of families that are ragged in it."""

    def __init__(self) -> None:
        self.problems: dict[object, Diagnostic] = {}
        self._bodies: dict[object, Body] = {}
        self._graphs: dict[object, Graph] = {}

    def body(
        self, graph: Graph, families: tuple[int, ...], around: tuple[Around, ...] = (), *, root: bool = False
    ) -> Body:
        """A graph in which these families are ragged, called over or along these axes."""
        key = (id(graph), families, around)
        if key not in self._bodies:
            self._bodies[key] = Body(self, graph, families, around, root)
            self._bodies[key].run()
        return self._bodies[key]

    def graph(self, body: Body, wanted: tuple[Told, ...]) -> Graph:
        key = (id(body), wanted)
        if key not in self._graphs:
            self._graphs[key] = body.finish(wanted)
        return self._graphs[key]


@dataclass
class Body:
    """One graph on its way. `families` are ragged in it, and what is `around` it is; what it needs to be told of these
    becomes inputs.
    """

    owner: _Pass
    old: Graph
    families: tuple[int, ...]
    around: tuple[Around, ...]
    root: bool
    nodes: list[Node] = field(default_factory=list)
    lengths: dict[int, Value] = field(default_factory=dict)  # by family: inputs, and what derives from them
    outside: dict[Axis, Value] = field(default_factory=dict)  # of an axis around: whether this is none of its padding
    used: dict[Told, None] = field(default_factory=dict)
    same: dict[int, Value] = field(default_factory=dict)  # old value -> the new one that stands for it
    zero: dict[int, set[Axis]] = field(default_factory=dict)  # axes along which a value is 0 where there is padding
    one: dict[int, set[Axis]] = field(default_factory=dict)  # axes along which it is 1 there
    sizes: dict[int, Static] = field(default_factory=dict)  # numbers of each example, that hang on its extents
    _valid: dict[Axis, Value] = field(default_factory=dict)
    _positions: dict[Axis, Value] = field(default_factory=dict)
    _is_ragged: dict[Axis, bool] = field(default_factory=dict)
    _outputs: list[Value] = field(default_factory=list)
    _next: int = 0

    def run(self) -> None:
        self._next = max((value.id for value in values_of(self.old)), default=0)
        for family in self.families:
            axis = self._named(family)
            name, span = ("lengths", None) if axis is None else (f"{axis.name}_lengths", axis.span)
            self.lengths[family] = self._value(Type(Scalar.INT, ()), Role.DATA, span, name)
        for one in self.around:
            type = Type(Scalar.BOOL, () if one.step else (one.axis,))
            self.outside[one.axis] = self._value(type, Role.DATA, one.axis.span, f"{one.axis.name}_valid")
            for filled, places in ((self.zero, one.zeros), (self.one, one.ones)):
                for place in places:
                    filled.setdefault(self.old.inputs[place].value.id, set()).add(one.axis)
        if self.root:
            self._clean_inputs()
        for node in self.old.nodes:
            self._node(node)
        for output in self.old.outputs:
            value = self.now(output.value)
            self._outputs.append(self.cleared(value, value.type.axes) if self.root else value)

    def finish(self, wanted: tuple[Told, ...]) -> Graph:
        """The new graph, told these things by further inputs."""
        taken = {entry.name for entry in self.old.inputs}
        extra = []
        for told in wanted:
            value = self.outside[told] if isinstance(told, Axis) else self.lengths[told]
            name = value.name or "lengths"
            while name in taken:
                name += "_"
            taken.add(name)
            extra.append(
                Input(name, value, length_of=self._named(told) if self.root and isinstance(told, int) else None)
            )
        outputs = tuple(replace(old, value=new) for old, new in zip(self.old.outputs, self._outputs, strict=True))
        return replace(self.old, inputs=(*self.old.inputs, *extra), nodes=tuple(self.nodes), outputs=outputs)

    def refuse(self, message: str, span: Span | None, help: str) -> None:
        """Say that something would mix padding in."""
        self.owner.problems.setdefault((span, message), error("E0802", message, span, help=help))

    # -- lengths -----------------------------------------------------------------------------------------------------

    def _named(self, family: int) -> Axis | None:
        """The axis of this graph that a length is named after: of several copies the one declared first."""
        return self._first.get(family)

    @cached_property
    def _first(self) -> dict[int, Axis]:
        found: dict[int, Axis] = {}
        mentioned = (axis for value in values_of(self.old) for axis in value.type.axes)
        for axis in sorted((*self.old.axes, *mentioned), key=_start):
            found.setdefault(axis.family, axis)
        return found

    def length(self, axis: Axis) -> Value | None:
        """Each example's own extent along an axis; None where all have the array's."""
        if axis.family in self.families:
            self.used[axis.family] = None
            return self.lengths[axis.family]
        if axis.family in self.lengths:
            return self.lengths[axis.family]
        if axis.size is not None and self._ragged(axis.size):
            self.lengths[axis.family] = self._derived(axis, axis.size)
            return self.lengths[axis.family]
        return None

    def _derived(self, axis: Axis, size: Static) -> Value:
        """The length of each example along an axis whose size derives from others; it is one (D1), or is refused."""
        for above, below in quotients(size):
            if self._ragged(above) or self._ragged(below):
                self._divides(axis, above, below)
        found = self._number(size)
        if found.type.element is Scalar.REAL:  # it is made of a const that may be 2.5
            whole = self.apply("floor", (found,), Type(Scalar.INT, ()))
            self.demand(self.apply("==", (whole, found), Type(Scalar.BOOL, ())), fraction(axis, size), found)
            found = whole
        if not at_least_0(size, {}):
            some = self.apply(">=", (found, self.constant(Literal(0))), Type(Scalar.BOOL, ()))
            self.demand(some, negative(axis, size), found)
        return found

    def _divides(self, axis: Axis, above: Static, below: Static) -> None:
        a, b = self._number(above), self._number(below)
        divisor = self.apply("maximum", (b, self.constant(Literal(1))), b.type) if self._ragged(below) else b
        rest = self.apply("%", (a, divisor), Type(Scalar.INT, ()))
        ok = self.apply("==", (rest, self.constant(Literal(0))), Type(Scalar.BOOL, ()))
        if divisor is not b:
            ok = self.both(ok, self.apply(">=", (b, self.constant(Literal(1))), Type(Scalar.BOOL, ())))
        self.demand(ok, inexact(axis, (above, below)), a, b)

    def is_ragged(self, axis: Axis) -> bool:
        """`length(axis) is not None`, without making anything."""
        if axis not in self._is_ragged:
            derived = axis.size is not None and self._ragged(axis.size)
            self._is_ragged[axis] = axis in self.outside or axis.family in self.lengths or derived
        return self._is_ragged[axis]

    def _ragged(self, static: Static) -> bool:
        return any(self.is_ragged(axis) for axis in axes_in(static))

    def _number(self, static: Static, some: Container[int] = ()) -> Value:
        """A size for each example: static arithmetic over lengths, which count as 1 at least of families in `some`."""
        if not self._ragged(static):
            return self.constant(static)
        match static:
            case SizeOf(axis):
                found = self.length(axis)
                assert found is not None
                if axis.family in some:
                    return self.apply("maximum", (found, self.constant(Literal(1))), Type(Scalar.INT, ()))
                return found
            case Arith("//", (a, b)):
                quotient = self.apply("/", (self._number(a, some), self._number(b, some)), Type(Scalar.REAL, ()))
                return self.apply("floor", (quotient,), Type(Scalar.INT, ()))
            case Arith(op, args):
                name = {"max": "maximum", "min": "minimum"}.get(op, op)
                numbers = tuple(self._number(arg, some) for arg in args)
                return self.apply(name, numbers, Type(static_element(static), ()))
        raise AssertionError(static)

    def _beside_items(self, node: Apply) -> Apply:
        """Beside items of a width its size is 1 at least: what an empty example is divided by is all padding, and must
        make no NaN there, which gradients would spread.
        """
        families = {axis.family for axis in node.out.type.axes if _varies(node.out, axis) and self.is_ragged(axis)}

        def at_least_one(value: Value) -> Value:
            static = self.sizes.get(value.id)
            if static is None or not any(axis.family in families for axis in axes_in(static)):
                return value
            return self._number(static, families)

        return replace(node, operands=tuple(map(at_least_one, node.operands)))

    def valid(self, axes: Iterable[Axis]) -> Value | None:
        """True where none of these axes is in its padding; None if none of them is ragged."""
        found: Value | None = None
        for axis in axes:
            if not self.is_ragged(axis):
                continue
            if axis in self.outside:
                self.used[axis] = None
                self._valid[axis] = self.outside[axis]
            elif axis not in self._valid:
                length = self.length(axis)
                assert length is not None
                positions = self._position(axis)
                self._valid[axis] = self.apply("<", (positions, length), Type(Scalar.BOOL, (axis,)), "valid")
            found = self._valid[axis] if found is None else self.both(found, self._valid[axis])
        return found

    @property
    def steps(self) -> tuple[Axis, ...]:
        """The axes along which this body is called index by index."""
        return tuple(one.axis for one in self.around if one.step)

    # -- what would be refused of an example alone ------------------------------------------------------------------

    def demand(self, ok: Value, says: str, *shown: Value) -> None:
        """Refuse a batch in which this is false of an example; the message shows what these are of it."""
        ok = self._unless_padding(ok, self.steps)
        self.nodes.append(Apply("demand", (ok, *shown), self._value(ok.type, ok.role), says=says))

    def demand_items(self, axis: Axis, out: Value) -> None:
        """Refuse to choose one of no items, where there is something that the choice is for."""
        length = self.length(axis)
        assert length is not None
        some = self.apply(">=", (length, self.constant(Literal(1))), Type(Scalar.BOOL, ()))
        outer = [other for other in out.type.axes if _varies(out, other)]
        says = f"argmax[{axis.name}]: there is no item to choose; give at least one"
        self.demand(self._unless_padding(some, outer), says)

    def within(self, index: Value, axis: Axis) -> Value:
        """The index, which must lie within each example's own items of the axis, if it is none of padding."""
        if index.role is not Role.CONSTANT:
            index = self.settled(index)
        length = self.length(axis) if self.is_ragged(axis) else None
        if length is None:
            return index
        valid = self.valid((*(axis for axis in index.type.axes if _varies(index, axis)), *self.steps))
        return self.apply("within", (index, length), index.type, axes=(axis,), mask=valid)

    def _unless_padding(self, ok: Value, axes: Iterable[Axis]) -> Value:
        valid = self.valid(axes)
        if valid is None:
            return ok
        padding = self.apply("not", (valid,), valid.type)
        type = Type(Scalar.BOOL, (*valid.type.axes, *(axis for axis in ok.type.axes if axis not in valid.type.axes)))
        return self.apply("or", (ok, padding), type)

    def _fits(self, node: Apply) -> None:
        """What an op takes for granted of extents (extents.py) it takes for granted of each example's own."""
        claim = claim_of(node)
        if claim is None or holds(claim, {}):
            return
        left, relation, right = claim
        if not self._ragged(right) and (relation == "<=" or not self._ragged(left)):
            return  # at most what is the same for all: the arrays' own extents are held to it
        a, b = self._number(left), self._number(right)
        self.demand(self.apply(relation, (a, b), Type(Scalar.BOOL, ())), demand_of(node, claim), a, b)

    # -- making nodes --------------------------------------------------------------------------------------------

    def _value(self, type: Type, role: Role, span: Span | None = None, name: str | None = None) -> Value:
        self._next += 1
        return Value(self._next, type, role, name, span)

    def apply(
        self,
        op: str,
        operands: tuple[Value, ...],
        type: Type,
        name: str | None = None,
        *,
        axes: tuple[Axis, ...] = (),
        mask: Value | None = None,
    ) -> Value:
        role = max(value.role for value in operands)
        out = self._value(type, role, None, name)
        self.nodes.append(Apply(op, operands, out, axes=axes, mask=mask))
        return out

    def constant(self, static: Static) -> Value:
        out = self._value(Type(static_element(static), ()), Role.CONSTANT)
        self.nodes.append(Constant(static, out))
        return out

    def _position(self, axis: Axis) -> Value:
        if axis not in self._positions:
            self._positions[axis] = self._value(Type(IndexInto(axis), (axis,)), Role.TABLE)
            self.nodes.append(Positions(axis, self._positions[axis]))
        return self._positions[axis]

    def both(self, a: Value, b: Value) -> Value:
        axes = (*b.type.axes, *(axis for axis in a.type.axes if axis not in b.type.axes))
        thin = {axis for axis in axes if not any(_varies(value, axis) for value in (a, b))}
        return self.apply("and", (a, b), Type(Scalar.BOOL, axes, frozenset(thin)))

    def cleared(self, value: Value, axes: Iterable[Axis], fill: Static | float | int = 0) -> Value:
        """The value, with `fill` where one of these axes is in its padding."""
        static = Literal(fill) if isinstance(fill, float | int) else fill
        number = known(static)
        filled = self.zero if number == 0 else self.one if number == 1 else {}
        axes = [
            axis
            for axis in axes
            if (_varies(value, axis) or axis in self.steps) and axis not in filled.get(value.id, ())
        ]
        valid = self.valid(axes)
        if valid is None:
            return value
        if value.type.element is Scalar.BOOL:
            return self.both(value, valid)
        out = self.apply("select", (valid, value, self.constant(static)), value.type)
        filled[out.id] = filled.get(value.id, set()) | set(axes)
        return out

    def settled(self, value: Value, fill: float | int = 0) -> Value:
        """The value, with `fill` wherever it is padding: its own, or a caller's."""
        return self.cleared(value, (*value.type.axes, *self.steps), fill)

    def _clean_inputs(self) -> None:
        """Reals read 1, not 0: dividing by it or taking its logarithm makes no NaN, which gradients would spread."""
        for entry in self.old.inputs:
            fill = 1 if entry.value.type.element is Scalar.REAL else 0
            self.same[entry.value.id] = self.cleared(entry.value, entry.value.type.axes, fill)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def now(self, value: Value) -> Value:
        return self.same.get(value.id, value)

    def _node(self, node: Node) -> None:
        match node:
            case Constant():
                if self._ragged(node.value):
                    size = self.same[node.out.id] = self._number(node.value)
                    self.sizes[size.id] = node.value
                else:
                    self.nodes.append(node)
            case Positions():
                self._positions.setdefault(node.axis, node.out)
                self.nodes.append(node)
            case Apply():
                mask = None if node.mask is None else self.now(node.mask)
                node = replace(node, operands=tuple(map(self.now, node.operands)), mask=mask)
                self._op(self._beside_items(node) if node.out.type.element is Scalar.REAL else node)
            case Call():
                self._call(node)
            case Scan():
                self._scan(node)
            case Repeat():
                self._repeat(node)
            case _:
                self.nodes.append(node)

    def _op(self, node: Apply) -> None:
        if any(self._ragged(option) for option in node.options.values()):
            self.refuse(
                f"`{node.op}` is given the size of a ragged width, which is another in each example",
                node.span,
                "give it a number, or the size of an axis that is not ragged",
            )
        self._fits(node)
        acts = [axis for axis in node.axes if self.is_ragged(axis)]
        if node.op == "argmax" and acts:
            self.demand_items(acts[0], node.out)
        rule = RULES.get(node.op)
        if rule is not None:
            rule(self, node, acts)
        elif acts and OPS[node.op].masked:
            self._masked(node, acts)
        else:
            self.nodes.append(node)

    def _masked(self, node: Apply, acts: list[Axis]) -> None:
        valid = self.valid(acts)
        assert valid is not None
        mask = valid if node.mask is None else self.both(node.mask, valid)
        if node.op == "log_softmax":  # minus infinity is nothing to go on with
            inner = self.apply(node.op, node.operands, node.out.type, axes=node.axes, mask=mask)
            self.nodes.append(Apply("select", (valid, inner, self.constant(Literal(0.0))), node.out, span=node.span))
        else:
            self.nodes.append(replace(node, mask=mask))
        if node.op in ("softmax", "log_softmax"):
            self.zero[node.out.id] = set(acts)

    def _call(self, node: Call) -> None:
        families, args = self._into(node.graph, node.axes, node.consts, node.span), tuple(map(self.now, node.args))
        if node.graph.kind == "op":
            named = next((mine for _, mine in node.axes if self.is_ragged(mine)), None)
            if named is not None:
                self.refuse(
                    f"`{node.graph.name}` is an op of your own: it would be given the padding of `{named.name}`",
                    node.span,
                    f"declare `{named.name}` without `ragged`, and give the op a mask",
                )
            self.nodes.append(replace(node, args=args))
            return
        body = self.owner.body(node.graph, tuple(families), self._around(node.graph.lifted, args))
        wanted = tuple(body.used)
        given = tuple(self._given(told, families) for told in wanted)
        self.nodes.append(replace(node, graph=self.owner.graph(body, wanted), args=(*args, *given)))

    def _scan(self, node: Scan) -> None:
        families, args = self._into(node.graph, node.axes, node.consts, node.span), tuple(map(self.now, node.args))
        around = self._around(node.graph.lifted, args)
        if self.is_ragged(node.axis):
            inside = self._in_padding(node.axis, args, step=True)
            zeros, ones = ([place for place in places if place in node.steps] for places in (inside.zeros, inside.ones))
            around += (replace(inside, zeros=tuple(zeros), ones=tuple(ones)),)
        body = self.owner.body(node.graph, tuple(families), around)
        wanted = tuple(body.used)
        given = tuple(self._given(told, families) for told in wanted)
        steps = tuple(place for place, told in enumerate(wanted, len(args)) if told == node.axis)
        graph = self.owner.graph(body, wanted)
        self.nodes.append(replace(node, graph=graph, args=(*args, *given), steps=(*node.steps, *steps)))

    def _around(self, lifted: Iterable[Axis], args: Sequence[Value]) -> tuple[Around, ...]:
        """The ragged axes that a block called stands in: those that the call lifts over, and the steps around it."""
        lifts = tuple(self._in_padding(axis, args) for axis in lifted if self.is_ragged(axis))
        return lifts + tuple(self._in_padding(axis, args, step=True) for axis in self.steps)

    def _in_padding(self, axis: Axis, args: Sequence[Value], *, step: bool = False) -> Around:
        def filled(known: Mapping[int, set[Axis]]) -> tuple[int, ...]:
            return tuple(place for place, arg in enumerate(args) if axis in known.get(arg.id, ()))

        return Around(axis, step, filled(self.zero), filled(self.one))

    def _repeat(self, node: Repeat) -> None:
        """The bodies' axes are ours. What one of them needs, all are given: they have the same inputs."""
        families = {family: family for family in self.lengths}
        bodies = [self.owner.body(body, tuple(families), self.around) for body in node.bodies]
        wanted = tuple(dict.fromkeys(told for body in bodies for told in body.used))
        given = tuple(self._given(told, families) for told in wanted)
        graphs = tuple(self.owner.graph(body, wanted) for body in bodies)
        self.nodes.append(replace(node, bodies=graphs, args=(*map(self.now, node.args), *given)))

    def _into(
        self,
        inner: Graph,
        axes: tuple[tuple[Axis, Axis], ...],
        consts: Iterable[tuple[object, Static]],
        span: Span | None,
    ) -> dict[int, int]:
        """Families that are ragged in a block called, each with ours that it stands for."""
        if any(self._ragged(static) for _, static in consts):
            self.refuse(
                f"a const of `{inner.name}` is the size of a ragged width, which is another in each example",
                span,
                "pass it as an argument",
            )
        found = {theirs.family: ours.family for theirs, ours in axes if self.is_ragged(ours)}
        for _, ours in axes:  # lengths of derived widths exist before they are handed on
            if ours.family not in self.lengths:
                self.length(ours)
        return found  # what the call lifts over nothing in the block acts on

    def _given(self, told: Told, families: Mapping[int, int]) -> Value:
        """What a body called is told, as it is here."""
        if isinstance(told, Axis):
            valid = self.valid((told,))
            assert valid is not None
            return valid
        family = families[told]
        if family in self.families:
            self.used[family] = None
        return self.lengths[family]


def _varies(value: Value, axis: Axis) -> bool:
    return axis in value.type.axes and axis not in value.type.thin


def _start(axis: Axis) -> int:
    return axis.span.start if axis.span is not None else 0
