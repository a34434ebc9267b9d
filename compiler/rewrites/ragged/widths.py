"""Ragged widths: padding left out by construction (`width source ragged`).

A batch of examples of different lengths lies in arrays of one extent, padded at the end. This pass gives a graph an
input `source_lengths` (one number for each example) for each family of ragged widths, and changes every op that would
mix what is padding into what is not:

    sum, mean, max, softmax, ...     get the mask `source < length`
    dot, window, l2norm, ...         read 0 where there is padding
    layernorm, rmsnorm               are written out, with a mean that leaves padding out
    argsort, topk                    rank padding last
    |source|                         is the example's own length, and so is the size of what derives from it
    x[source = i], split, topk, ...  are held to each example's own length (`within`, `demand`; emit/demands.py)

So each example comes out as if it ran alone, whatever stands in the padding of the inputs; in the results it is 0. What
would be refused alone is refused in a batch. The pass does *not* look at blocks' signatures: a width parameter is
ragged in a call that gives it a ragged width. A block that is lifted over one, or scanned along one, knows where that
is padding, if there is anything in it that padding could spoil.

Where there is no such reading (padding in the middle of a concatenation, an op of the user's own) a diagnostic is
given back, and the graph is of no use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....dsl.base.records import field, mutable, replace
from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.index import index_of
from ...graph.extents import unlike
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Positions, Repeat, Scan
from ...graph.traits import Choice, Compared
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...problems.plain import Plain
from ...sizes.axes import Axis, Literal, SizeOf, Static, axes_in
from ..simplify.dead import alive
from .growth import finite
from .infinite import Infinite
from .lengths import NOTHING, CallerAxis, ExtraInput, InputFacts, Lengths, varies
from .ops import leave_padding_out


def pad_ragged(graph: Graph) -> tuple[Graph, list[Problem]]:
    """The graph with a length for each family of ragged widths, and what stands in the way. See the module."""
    families: dict[int, Axis] = {}
    for axis in graph.axes:
        if axis.ragged:
            families.setdefault(axis.family, axis)
    if not families:
        return graph, []
    pass_ = _ModelRewrite()
    body = pass_.body(graph, tuple(families), root=True)
    return body.finish(tuple(families)), list(pass_.problems)


class _ModelRewrite:
    """All graphs of one model: each is rewritten once for each set of families that are ragged in it."""

    def __init__(self) -> None:
        self.problems: dict[Problem, None] = {}
        self._bodies: dict[object, RaggedBody] = {}
        self._graphs: dict[object, Graph] = {}

    def body(
        self,
        graph: Graph,
        families: tuple[int, ...],
        around: tuple[CallerAxis, ...] = (),
        given: InputFacts = NOTHING,
        *,
        states: tuple[tuple[int, int], ...] = (),
        seen: frozenset[int] = frozenset(),
        root: bool = False,
    ) -> RaggedBody:
        """A graph in which these families are ragged, called over or along these axes, and given this.

        states, seen: of the step of a scan, as `Scan.states`, and which of its results someone reads.
        """
        key = (id(graph), families, around, given, states, seen)
        if key not in self._bodies:
            self._bodies[key] = RaggedBody(
                graph, families, around, given, self.problems, owner=self, states=states, seen=seen, root=root
            )
            self._bodies[key].run()
        return self._bodies[key]

    def graph(self, body: RaggedBody, wanted: tuple[ExtraInput, ...]) -> Graph:
        key = (id(body), wanted)
        if key not in self._graphs:
            self._graphs[key] = body.finish(wanted)
        return self._graphs[key]


@mutable
class RaggedBody(Lengths):
    """One graph, rewritten node by node."""

    owner: _ModelRewrite = field(kw_only=True)
    states: tuple[tuple[int, int], ...] = field(kw_only=True)
    seen: frozenset[int] = field(kw_only=True)
    root: bool = field(kw_only=True)
    infinite: Infinite = field(init=False)
    _used: frozenset[int] = field(init=False)
    outputs: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.infinite = Infinite(self)
        self._used = index_of(self.old).used

    def run(self) -> None:
        self.begin()
        if self.root:
            self._clean_inputs()
        live = set(map(id, alive(self.old).nodes))
        for node in sorted(self.old.nodes, key=lambda node: id(node) not in live):
            self.idle = id(node) not in live
            self._node(node)
        self.idle = False
        for output in self.old.outputs:
            value = self.now(output.value)
            self.outputs.append(self.cleared_over(value, output.axes) if self.root else value)
        free = finite(self.old, self.states, self.seen)
        for into, made in self.states:
            if made in free and not self.infinite.may_be_infinite(self.outputs[made]):
                continue
            self.outputs[made] = self._held(self.now(self.old.inputs[into].value), self.outputs[made])

    def _held(self, before: Value, after: Value) -> Value:
        """The state after a step; where that is padding it stays as it was, and so does not grow without end."""
        axes = [one.axis for one in self.around if one.step or varies(after, one.axis)]
        valid = self.valid(dict.fromkeys((*axes, *(axis for axis in after.type.axes if varies(after, axis)))))
        if valid is None or after is before:
            return after
        broadcast_axes = {
            axis for axis in after.type.axes if not any(varies(one, axis) for one in (valid, before, after))
        }
        held = self.apply(
            Choice(), (valid, after, before), replace(after.type, broadcast_axes=frozenset(broadcast_axes))
        )
        node = self.nodes[-1]
        assert isinstance(node, Apply)
        self.infinite.note(node, [])
        return held

    def finish(self, wanted: tuple[ExtraInput, ...]) -> Graph:
        """The new graph, with further inputs for these things."""
        taken = {entry.name for entry in self.old.inputs}
        extra = []
        for extra_input in wanted:
            value = self.outside[extra_input] if isinstance(extra_input, Axis) else self.lengths[extra_input]
            name = value.name or "lengths"
            while name in taken:
                name += "_"
            taken.add(name)
            extra.append(
                Input(
                    name,
                    value,
                    length_of=self._named(extra_input) if self.root and isinstance(extra_input, int) else None,
                )
            )
        inputs = list(self.old.inputs)
        for place in self.input_facts.numbers:
            inputs[place] = replace(inputs[place], value=replace(inputs[place].value, role=Role.DATA))
        outputs = tuple(replace(old, value=new) for old, new in zip(self.old.outputs, self.outputs, strict=True))
        return replace(self.old, inputs=(*inputs, *extra), nodes=tuple(self.nodes), outputs=outputs)

    def _clean_inputs(self) -> None:
        """Reals read 1, not 0: dividing by it or taking its logarithm makes no NaN, which gradients would spread."""
        for entry in self.old.inputs:
            element = entry.value.type.element
            value = self.cleared(entry.value, entry.value.type.axes, 1 if element is Scalar.REAL else 0)
            if isinstance(element, IndexInto) and self.is_ragged(element.axis):
                value = self.within(value, element.axis)
            self.same[entry.value.id] = value
            for axis in entry.value.type.axes:
                if axis.size is not None and self._ragged(axis.size):
                    self._has_room(entry, axis, axis.size)

    def _has_room(self, entry: Input, axis: Axis, size: Static) -> None:
        """Refuse an input that is shorter than what its width derives from says of an example."""
        length, extent = self.length(axis), self.constant(SizeOf(axis))
        assert length is not None
        ok = self.apply(Compared("<="), (length, extent), Type(Scalar.BOOL, ()))
        self.demand(ok, unlike(axis, size, entry.name), extent, length)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def now(self, value: Value) -> Value:
        return self.same.get(value.id, value)

    def _node(self, node: Node) -> None:
        match node:
            case Constant():
                if self._ragged(node.value):
                    size = self.same[node.out.id] = self._number(node.value)
                    self.sizes[size.id] = node.value
                    self.infinite.size(size, node.value)
                else:
                    self.nodes.append(node)
            case Positions():
                self._positions.setdefault(node.axis, node.out)
                self.nodes.append(node)
            case Apply():
                mask = None if node.mask is None else self.now(node.mask)
                operands = tuple(map(self.now, node.operands))
                node = replace(node, operands=operands, out=self._result(node.out, operands), mask=mask)
                self._op(self._beside_items(node) if node.out.type.element is Scalar.REAL else node)
            case Call():
                self._call(node)
            case Scan():
                self._scan(node)
            case Repeat():
                self._repeat(node)
            case _:
                self.nodes.append(node)

    def _beside_items(self, node: Apply) -> Apply:
        """The op with 1 for a number made of a width's size where an example has no items of that width: all of its
        items there are padding, and dividing them by 0 would make NaN, which gradients would spread.
        """
        families = {axis.family for axis in node.out.type.axes if varies(node.out, axis) and self.is_ragged(axis)}

        def of_items(value: Value) -> Value:
            static = self.sizes.get(value.id)
            axes = [] if static is None else [axis for axis in axes_in(static) if axis.family in families]
            some: Value | None = None
            for axis in axes:
                one = self.some_items(axis)
                some = one if some is None else self.both(some, one)
            if some is None:
                return value
            assert static is not None
            number = self._number(static, families)
            found = self.apply(Choice(), (some, number, self.constant(Literal(1))), value.type)
            self.sizes[found.id] = static
            if value.id in self.infinite.infinite_in_items:
                self.infinite.infinite_in_items.add(found.id)
            return found

        return replace(node, operands=tuple(map(of_items, node.operands)))

    def _result(self, out: Value, of: Sequence[Value]) -> Value:
        """A result: data, not a constant, where it is made of a number of which each example has its own."""
        if out.role is Role.CONSTANT and any(value.role is not Role.CONSTANT for value in of):
            self.same[out.id] = out = replace(out, role=max(value.role for value in of))
        return out

    def _op(self, node: Apply) -> None:
        if any(self._ragged(option) for option in node.options.values()):
            self.refuse(Plain.RAGGED_OPTION.at(node.span, node.op))
        self.demand_extents(node)
        acts = [axis for axis in node.axes if self.is_ragged(axis)]
        node = self.infinite.made_finite(node)
        leave_padding_out(self, node, acts)
        self.infinite.note(node, acts)

    def _call(self, node: Call) -> None:
        families, args = self._into(node.graph, node.axes, node.consts, node.span), tuple(map(self.now, node.args))
        if node.graph.kind == "op":
            named = next((mine for _, mine in node.axes if self.is_ragged(mine)), None)
            if named is not None:
                self.refuse(Plain.OWN_OP_PADDED.at(node.span, node.graph.name, named.name))
            self.nodes.append(replace(node, args=args))
            return
        around = self._around(node.graph.lifted, args, range(len(args)))
        body = self.owner.body(node.graph, tuple(families), around, self._said(node.graph, args))
        wanted = tuple(body.used)
        extras = tuple(self._extra_input(one, families) for one in wanted)
        outs = tuple(self._result(out, [made]) for out, made in zip(node.outs, body.outputs, strict=True))
        self.nodes.append(replace(node, graph=self.owner.graph(body, wanted), args=(*args, *extras), outs=outs))
        self.infinite.called(outs, body.infinite.of(enumerate(body.outputs)))

    def _scan(self, node: Scan) -> None:
        families, args = self._into(node.graph, node.axes, node.consts, node.span), tuple(map(self.now, node.args))
        states = {place for place, _ in node.states}  # which each step changes
        around = self._around(node.graph.lifted, args, [place for place in range(len(args)) if place not in states])
        if self.is_ragged(node.axis):
            around += (self._in_padding(node.axis, args, node.steps, step=True),)
        seen = frozenset(place for place, out in enumerate(node.outs) if out.id in self._used)
        given: InputFacts | None = None
        found = self._said(node.graph, args)
        lacking = found.infinite_in_items.difference(node.steps)  # the axis of the steps
        found |= InputFacts(infinite_in_padding=lacking)
        while found != given:  # what a step makes infinite the next one takes
            given = found
            body = self.owner.body(node.graph, tuple(families), around, given, states=node.states, seen=seen)
            found |= body.infinite.of((into, body.outputs[made]) for into, made in node.states)
        wanted = tuple(body.used)
        extras = tuple(self._extra_input(one, families) for one in wanted)
        steps = tuple(place for place, one in enumerate(wanted, len(args)) if one == node.axis)
        graph = self.owner.graph(body, wanted)
        self.nodes.append(replace(node, graph=graph, args=(*args, *extras), steps=(*node.steps, *steps)))
        self.infinite.called(node.outs, body.infinite.of(enumerate(body.outputs)))

    def _around(self, lifted: Iterable[Axis], args: Sequence[Value], places: Sequence[int]) -> tuple[CallerAxis, ...]:
        """The ragged axes that a block called stands in: those that the call lifts over, and the steps around it."""
        lifts = tuple(self._in_padding(axis, args, places) for axis in lifted if self.is_ragged(axis))
        return lifts + tuple(self._in_padding(axis, args, places, step=True) for axis in self.steps)

    def _in_padding(
        self, axis: Axis, args: Sequence[Value], places: Sequence[int], *, step: bool = False
    ) -> CallerAxis:
        """What a body called along an axis knows of its arguments at these places."""

        def filled(known: Mapping[int, set[Axis]]) -> tuple[int, ...]:
            return tuple(place for place in places if axis in known.get(args[place].id, ()))

        return CallerAxis(axis, step, filled(self.zero), filled(self.one))

    def _repeat(self, node: Repeat) -> None:
        """The bodies have the axes of this graph. What one of them needs, all are given: they have the same inputs."""
        families = {family: family for family in self.lengths}
        args = tuple(map(self.now, node.args))
        fixed = range(node.carried, len(args))  # what is carried each pass changes
        around = tuple(self._in_padding(one.axis, args, fixed, step=one.step) for one in self.around)
        given: InputFacts | None = None
        found = self._said(node.bodies[0], args)
        while found != given:  # what a pass makes infinite, or a number of each example, the next one takes
            given = found
            bodies = [self.owner.body(body, tuple(families), around, given) for body in node.bodies]
            for body in bodies:
                made = body.outputs[: node.carried]
                found |= InputFacts(_numbers(body.old, made)) | body.infinite.of(enumerate(made))
        wanted = tuple(dict.fromkeys(each for body in bodies for each in body.used))
        extras = tuple(self._extra_input(one, families) for one in wanted)
        graphs = tuple(self.owner.graph(body, wanted) for body in bodies)
        outs = tuple(
            self._result(out, [args[place], *(body.outputs[place] for body in bodies)])
            for place, out in enumerate(node.outs)
        )
        self.nodes.append(replace(node, bodies=graphs, args=(*args, *extras), outs=outs))
        self.infinite.called(outs, self.infinite.of(enumerate(args[: node.carried])))
        for body in bodies:
            self.infinite.called(outs, body.infinite.of(enumerate(body.outputs)))

    def _said(self, inner: Graph, args: Sequence[Value]) -> InputFacts:
        """What is known of the arguments of a body."""
        return InputFacts(_numbers(inner, args)) | self.infinite.of(enumerate(args))

    def _into(
        self,
        inner: Graph,
        axes: tuple[tuple[Axis, Axis], ...],
        consts: Iterable[tuple[object, Static]],
        span: Span | None,
    ) -> dict[int, int]:
        """Families that are ragged in a called block, each with the family here that it stands for."""
        if any(self._ragged(static) for _, static in consts):
            self.refuse(Plain.RAGGED_CONST.at(span, inner.name))
        found = {theirs.family: ours.family for theirs, ours in axes if self.is_ragged(ours)}
        for _, ours in axes:  # lengths of derived widths exist before they are handed on
            if ours.family not in self.lengths:
                self.length(ours)
        return found  # what the call lifts over nothing in the block acts on

    def _extra_input(self, wanted: ExtraInput, families: Mapping[int, int]) -> Value:
        """The value here of an extra input of a called body."""
        if isinstance(wanted, Axis):
            valid = self.valid((wanted,))
            assert valid is not None
            return valid
        family = families[wanted]
        if family in self.families:
            self.used[family] = None
        return self.lengths[family]


def _numbers(inner: Graph, args: Sequence[Value]) -> frozenset[int]:
    """The places where a body takes a number, of the first that it is given, and each example has its own."""
    places = enumerate(zip(inner.inputs, args, strict=False))
    return frozenset(p for p, (e, a) in places if e.value.role is Role.CONSTANT and a.role is not Role.CONSTANT)
