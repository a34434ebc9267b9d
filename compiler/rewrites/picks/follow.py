"""Picks of nothing, followed: `topk[past -> best](s where past <= seq)`, where fewer than |best| items are let through.

Such a pick is -1 when code runs, and what is read and computed of it is to count for nothing. This pass makes that
plain: beside each value that may hold picks of nothing there is a truth value, that it holds none (`Held`), and

    x[past = pick]                      reads 0
    pick == i, pick < i, ...            are false
    sum, mean, max, softmax, topk, ...  get it as a mask, where they act along the pick's axis
    dot, linear, l2norm, cumsum         read what adds nothing
    log, /, sqrt, exp                   read a harmless number, so that their gradient is a number
    select                              holds what the side that is taken does
    valid(pick)                         is that truth value
    a model's result that is an index   is -1

So the proof of causality, decoding, ragged widths and the backends need no rules of their own: they see masks and
choices, and three things alone that no spec writes otherwise: what `valid` says of a pick, the -1 of the ops that pick,
and a gather with a mask. A block that is given such values takes one more input for each of their truths that it reads,
and gives those of its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....dsl.base.records import field, mutable, record, replace
from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Graph, Input, Node, Output, Repeat, Scan, ops_in, reads
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...problems.plain import PlainProblem
from ...sizes.axes import Axis
from ..simplify.dead import alive
from ..tools.walk import with_operands
from .body import Held, Making, may_lack
from .ops import follow


def follow_picks(graph: Graph) -> tuple[Graph, list[PlainProblem]]:
    """The graph with its picks of nothing followed, and what stands in the way. See the module."""
    if not any(map(may_lack, ops_in(graph))):
        return graph, []
    whole = _PicksRewrite()
    found = whole.body(graph, _Entering()).at_the_border()
    return found, list(whole.problems)


@record
class HoldingInput:
    """An input that may hold picks of nothing. source: which of the further inputs says where; else as in `Held`."""

    place: int
    source: int
    zero: bool
    nothing: bool


Sources = tuple[tuple[tuple[Axis, ...], Role], ...]
"""The further inputs of a body: their axes, and their roles."""


class _PicksRewrite:
    """Each graph once for each choice of inputs that may hold picks of nothing."""

    def __init__(self) -> None:
        self.problems: dict[PlainProblem, None] = {}
        self._bodies: dict[object, _Body] = {}

    def body(self, graph: Graph, entering: _Entering) -> _Body:
        key = id(graph), *entering.key()
        if key not in self._bodies:
            self._bodies[key] = _Body(graph, self.problems, owner=self, wanted=key[1], given=key[2])
            self._bodies[key].run()
        return self._bodies[key]


@mutable
class _Source:
    """A truth that enters a body. value: what it is here, None where it always holds; axes: of the body's own.

    own: the input, one of those that go round, for which alone it is.
    """

    value: Value | None
    axes: tuple[Axis, ...]
    role: Role
    own: int | None = None


@mutable
class _Entering:
    """What a body is given: its further inputs, and which of its inputs these are for."""

    sources: list[_Source] = field(default_factory=list)
    given: dict[int, HoldingInput] = field(default_factory=dict)

    def key(self) -> tuple[Sources, tuple[HoldingInput, ...]]:
        return tuple((one.axes, one.role) for one in self.sources), tuple(self.given.values())

    def add(self, place: int, held: Held, axes: tuple[Axis, ...], own: bool) -> None:
        """An argument that holds picks of nothing, whose truth has these axes in the body; own: it goes round."""
        found = (n for n, one in enumerate(self.sources) if one.value is held.valid and one.axes == axes)
        number = None if own else next((n for n in found if self.sources[n].own is None), None)
        if number is None:
            number = len(self.sources)
            role = Role.DATA if own else held.valid.role
            self.sources.append(_Source(held.valid, axes, role, place if own else None))
        self.given[place] = HoldingInput(place, number, held.zero, held.nothing)

    def grow(self, made: Sequence[tuple[int, Held | None]]) -> bool:
        """Whether what a pass, or a step, makes of what goes round is more than was given; from now on it is given."""
        return sum(self._grow(place, held) for place, held in made if held is not None) > 0

    def _grow(self, place: int, made: Held) -> bool:
        known, axes = self.given.get(place), made.valid.type.axes
        if known is None:
            self.given[place] = HoldingInput(place, len(self.sources), made.zero, made.nothing)
            self.sources.append(_Source(None, axes, Role.DATA, place))
            return True
        source = self.sources[known.source]
        more = tuple(axis for axis in axes if axis not in source.axes)
        self.given[place] = replace(known, zero=known.zero and made.zero, nothing=known.nothing and made.nothing)
        source.axes += more
        return bool(more) or self.given[place] != known


@mutable
class _Body(Making):
    """One graph. sources: its further inputs. outputs: the values of its results."""

    owner: _PicksRewrite = field(kw_only=True)
    wanted: Sources = field(kw_only=True)
    given: tuple[HoldingInput, ...] = field(kw_only=True)
    sources: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    _changed: bool = False
    _finished: dict[object, tuple[Graph, list[int]]] = field(default_factory=dict)

    def run(self) -> None:
        for number, (axes, role) in enumerate(self.wanted):
            place = next(one.place for one in self.given if one.source == number)
            self.sources.append(self.fresh(Type(Scalar.BOOL, axes), role, f"{self.old.inputs[place].name}_valid"))
        for one in self.given:
            value = self.old.inputs[one.place].value
            self.held[value.id] = Held(self.sources[one.source], one.zero, one.nothing)
        for node in self.old.nodes:
            self._node(with_operands(node, self.same))
        self.outputs = [self.same.get(output.value.id, output.value) for output in self.old.outputs]
        same = len(self.nodes) == len(self.old.nodes) and not self.same
        self._changed = not same or any(a is not b for a, b in zip(self.nodes, self.old.nodes, strict=True))

    def _node(self, node: Node) -> None:
        some = any(value.id in self.held for value in reads(node))
        match node:
            case Apply() if some or may_lack(node):
                follow(self, node)
            case Call():
                self._call(node)
            case Repeat():
                self._repeat(node)
            case Scan():
                self._scan(node)
            case _:
                self.nodes.append(node)

    def valid(self, place: int) -> Value | None:
        """The truth of a result."""
        held = self.held.get(self.outputs[place].id)
        return None if held is None else held.valid

    def at_the_border(self) -> Graph:
        """The graph, its indices -1 where they are picks of nothing."""
        for place, value in enumerate(self.outputs):
            if isinstance(value.type.element, IndexInto):
                self.outputs[place] = self.cleared(value, -1)
                self._changed = self._changed or self.outputs[place] is not value
        return self.finish([])[0]

    def finish(
        self, exports: Sequence[Value], place: int | None = None, going: Sequence[int] = (), read: Iterable[int] = ()
    ) -> tuple[Graph, list[int]]:
        """The new graph, with these truths for further results; and which of its sources are inputs of it.

        place: where those stand that go round, `going`; the others come last: those that it needs, and of `read`.
        """
        key = tuple(value.id for value in exports), place, tuple(going), tuple(read)
        if key not in self._finished:
            self._finished[key] = self._finish(exports, place, going, set(key[3]))
        return self._finished[key]

    def _finish(
        self, exports: Sequence[Value], place: int | None, going: Sequence[int], also: set[int]
    ) -> tuple[Graph, list[int]]:
        if not (self._changed or exports or going or also):
            return self.old, []
        outputs = [replace(old, value=new) for old, new in zip(self.old.outputs, self.outputs, strict=True)]
        names = {output.name for output in outputs}
        for value in exports:
            told = (one.name for one in outputs if (held := self.held.get(one.value.id)) and held.valid is value)
            name = _free(f"{next(told, None) or 'result'}_valid", names)
            outputs.append(Output(name, value, value.type.axes))
        written = {*index_of(self.old).makers}  # of which there may be complaints
        graph = alive(replace(self.old, nodes=tuple(self.nodes), outputs=tuple(outputs)), written)
        ids = index_of(graph).used
        needed = [n for n, one in enumerate(self.sources) if n not in going and (n in also or one.id in ids)]
        taken = {item.name for item in self.old.inputs}
        first, last = (
            [Input(_free(str(self.sources[n].name), taken), self.sources[n]) for n in some] for some in (going, needed)
        )
        place = len(self.old.inputs) if place is None else place
        inputs = (*self.old.inputs[:place], *first, *self.old.inputs[place:], *last)
        return replace(graph, inputs=inputs), needed

    # -- nested graphs -----------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> None:
        if node.graph.target:  # what the user wrote knows no picks of nothing: it is given -1
            indices = [value for value in node.args if isinstance(value.type.element, IndexInto)]
            self.nodes.append(with_operands(node, {value.id: self.cleared(value, -1) for value in indices}))
            return
        entering = _Entering()
        for place, arg in enumerate(node.args):
            if arg.id in self.held:
                held = self.held[arg.id]
                entering.add(place, held, _inward(node, place, held.valid), False)
        body = self.owner.body(node.graph, entering)
        own = {source.id: one.value for source, one in zip(body.sources, entering.sources, strict=True)}
        exports, outs = self._results(node, body, own, [])
        graph, needed = body.finish(exports)
        if graph is node.graph:
            self.nodes.append(node)
            return
        args = (*node.args, *self._truths(entering, needed))
        self.nodes.append(replace(node, graph=graph, args=args, outs=(*node.outs, *outs)))

    def _truths(self, entering: _Entering, numbers: Iterable[int]) -> list[Value]:
        """What enters a body from here."""
        return [value for number in numbers if (value := entering.sources[number].value) is not None]

    def _results(
        self, node: Call | Scan, body: _Body, own: Mapping[int, Value | None], exports: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The truths that a body gives as further results, `exports` first, and what they are here.

        own: those of the body that are this graph's, which it need not give.
        """
        for made in body.outputs:
            held = body.held.get(made.id)
            if held is not None and held.valid.id not in own and all(held.valid is not one for one in exports):
                exports.append(held.valid)
        outward, along = dict(node.axes), (node.axis,) if isinstance(node, Scan) else ()
        outs: dict[int, Value] = {}
        for valid in exports:
            axes = tuple(outward.get(axis, axis) for axis in valid.type.axes)
            alike = frozenset(outward.get(axis, axis) for axis in valid.type.broadcast_axes)
            outs[valid.id] = self.fresh(Type(Scalar.BOOL, (*axes, *along), alike), Role.DATA)
        for out, made in zip(node.outs, body.outputs, strict=True):
            held = body.held.get(made.id)
            found = None if held is None else outs.get(held.valid.id) or own[held.valid.id]
            if held is not None and found is not None:
                self.held[out.id] = Held(found, held.zero, held.nothing)
        return exports, list(outs.values())

    def _repeat(self, node: Repeat) -> None:
        """What goes round takes its truth with it, unless that stays as it was."""
        entering = _Entering()
        for place, arg in enumerate(node.args):
            if arg.id in self.held:
                held = self.held[arg.id]
                entering.add(place, held, held.valid.type.axes, place < node.carried)
        while True:
            bodies = [self.owner.body(body, entering) for body in node.bodies]
            made = [(place, body.held.get(body.outputs[place].id)) for body in bodies for place in range(node.carried)]
            if not entering.grow(made):
                break
        round = {n: one.own for n, one in enumerate(entering.sources) if one.own is not None}
        going = [n for n, at in round.items() if any(body.valid(at) is not body.sources[n] for body in bodies)]
        exports = [[body.spread(body.valid(round[n]), body.wanted[n][0]) for n in going] for body in bodies]
        finished = [body.finish(some, node.carried, going) for body, some in zip(bodies, exports, strict=True)]
        needed = sorted({number for _, numbers in finished for number in numbers})
        graphs = tuple(
            body.finish(some, node.carried, going, needed)[0] for body, some in zip(bodies, exports, strict=True)
        )
        first = {n: self.spread(entering.sources[n].value, entering.sources[n].axes) for n in (*going, *needed)}
        outs = {n: self.fresh(first[n].type, Role.DATA) for n in going}
        args = (
            *node.args[: node.carried],
            *(first[n] for n in going),
            *node.args[node.carried :],
            *(first[n] for n in needed),
        )
        carried = node.carried + len(going)
        if going or needed or any(new is not old for new, old in zip(graphs, node.bodies, strict=True)):
            node = replace(node, bodies=graphs, args=args, carried=carried, outs=(*node.outs, *outs.values()))
        self.nodes.append(node)
        for n, place in round.items():
            valid, known = outs.get(n) or entering.sources[n].value, entering.given[place]
            if valid is not None:
                self.held[node.outs[place].id] = Held(valid, known.zero, known.nothing)

    def _scan(self, node: Scan) -> None:
        """What a step leaves to the next takes its truth with it."""
        states = dict(node.states)
        entering = _Entering()
        for place, arg in enumerate(node.args):
            if arg.id in self.held:
                held = self.held[arg.id]
                entering.add(place, held, _inward(node, place, held.valid), place in states)
        while True:
            body = self.owner.body(node.graph, entering)
            made = [(place, body.held.get(body.outputs[result].id)) for place, result in states.items()]
            if not entering.grow(made):
                break
        going = {n: one.own for n, one in enumerate(entering.sources) if one.own is not None}
        after = [body.spread(body.valid(states[place]), body.wanted[n][0]) for n, place in going.items()]
        own = {
            source.id: one.value for source, one in zip(body.sources, entering.sources, strict=True) if one.own is None
        }
        exports, outs = self._results(node, body, own, list({one.id: one for one in after}.values()))
        graph, needed = body.finish(exports, None, list(going))
        if graph is node.graph:
            self.nodes.append(node)
            return
        at = {one.id: place for place, one in enumerate(exports, len(node.outs))}
        before = [entering.sources[n].value or self.constant(True) for n in going]
        given = self._truths(entering, needed)
        more = tuple((place, at[one.id]) for place, one in enumerate(after, len(node.args)))
        behind = enumerate(given, len(node.args) + len(before))
        steps = tuple(place for place, one in behind if node.axis in one.type.axes)
        self.nodes.append(
            replace(
                node,
                graph=graph,
                args=(*node.args, *before, *given),
                outs=(*node.outs, *outs),
                steps=(*node.steps, *steps),
                states=(*node.states, *more),
            )
        )


def _inward(node: Call | Scan, place: int, valid: Value) -> tuple[Axis, ...]:
    """The axes of an argument's truth in the body; a step of a scan has no axis of steps."""
    formal = node.graph.inputs[place].value.type.axes
    back = {actual: axis for axis, actual in node.axes if axis in formal}
    gone = node.axis if isinstance(node, Scan) and place in node.steps else None
    return tuple(back.get(axis, axis) for axis in valid.type.axes if axis != gone)


def _free(name: str, taken: set[str | None] | set[str]) -> str:
    """A name that is not taken yet; it is then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
