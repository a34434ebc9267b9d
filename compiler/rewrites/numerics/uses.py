"""Under which condition each value of a graph is used, through all that is nested in it.

Blocks, bodies of repeats and of scans are told where their results are used, by inputs of their own (`Told`), and so
say where they use their arguments. What goes round in a loop is used in all passes where it is used behind them, if
the body uses it under no other condition. A state of a scan is used where this step's results or later ones are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import count

from ....dsl.base.records import record, replace
from ...graph.core.index import Nest
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Repeat, Scan, children, makes, reads
from ...graph.traits import Choice, Disjunction, Gather, Pointwise
from ...graph.values import Scalar, Type, Value
from ...ops.undo import arranges
from ...sizes.axes import Axis, consts_in, known
from ..tools.same import pure, spelling
from ..tools.transport import TargetBody, Terms
from ..tools.walk import Fresh, with_results
from .conditions import Condition, ConditionedBody, all_of, both


@record(eq=False)
class Told:
    """A nested graph that is told where its results are used: it has one more input for each such truth.

    origin: as it was. truths: of each result that input, if it has one. body: makes the conditions.
    uses: where each input is used; None if nowhere. unread: the results that nothing reads.
    """

    origin: Graph
    graph: Graph
    truths: tuple[Value | None, ...]
    body: UsingBody
    uses: tuple[Condition | None, ...]
    unread: frozenset[int]

    @property
    def more(self) -> int:
        """How many inputs it has more, behind its own."""
        return len(self.graph.inputs) - len(self.origin.inputs)

    @property
    def results(self) -> dict[int, Condition | None]:
        """Where results are used, by their values' ids."""
        return _results(self.graph, self.truths, self.unread)


@record(eq=False)
class UsedArguments:
    """What a node holds, told where its results are used. given: these truths here. args: where it uses arguments."""

    told: tuple[Told, ...]
    given: tuple[Value, ...]
    args: tuple[Condition, ...]


class ToldGraphs:
    """Graphs that are told, each once."""

    def __init__(self) -> None:
        self._told: dict[tuple[object, ...], Told] = {}

    def __call__(self, graph: Graph, like: Sequence[Value | None], unread: frozenset[int]) -> Told:
        """like: of each result a truth in axes of the graph: it gets one such input for each. unread: none of them."""
        each = list(dict.fromkeys(c for c in like if c is not None))
        key = graph, tuple(c and each.index(c) for c in like), tuple((c.type, c.role) for c in each), unread
        if key not in self._told:
            fresh, names = Fresh(graph), {item.name for item in graph.inputs}
            free = (name for i in count(1) if (name := f"used_{i}" if i > 1 else "used") not in names)
            made = {c: fresh(replace(c, name=next(free))) for c in each}
            more = tuple(Input(str(value.name), value) for value in made.values())
            asked = replace(graph, inputs=(*graph.inputs, *more)) if more else graph
            truths, body = tuple(c and made[c] for c in like), UsingBody(asked, self)
            for node in asked.nodes:
                body.append(node)
            found = body.demanded(_results(asked, truths, unread))
            uses = tuple(found.get(item.value.id) for item in asked.inputs)
            self._told[key] = Told(graph, asked, truths, body, uses, unread)
        return self._told[key]


def _results(graph: Graph, truths: Sequence[Value | None], unread: frozenset[int]) -> dict[int, Condition | None]:
    found: dict[int, Condition | None] = {output.value.id: None for output in graph.outputs}
    for place, (output, truth) in enumerate(zip(graph.outputs, truths, strict=True)):
        if place not in unread:
            condition, known = () if truth is None else (truth,), found[output.value.id]
            found[output.value.id] = condition if known is None else both(known, condition)
    return found


class UsingBody(ConditionedBody):
    """A body, and what is nested in it."""

    def __init__(self, graph: Graph, telling: ToldGraphs) -> None:
        super().__init__(graph)
        self.telling = telling
        self._target = TargetBody(graph)
        self._known: dict[tuple[int, ConditionedBody], dict[int, Value | None]] = {}  # values of nested graphs here

    def demanded(self, results: Mapping[int, Condition | None]) -> dict[int, Condition]:
        """Under which condition each value of the body is used, by its id, where some results are used under these, or
        nowhere.
        """
        found: dict[int, Condition] = {}

        def use(value: Value, condition: Condition) -> None:
            found[value.id] = self.either(found.get(value.id, condition), condition)

        for output in self.old.outputs:
            if (condition := results.get(output.value.id, ())) is not None:
                use(output.value, condition)
        for node in reversed(self.old.nodes):
            if isinstance(node, Apply) and not node.traits.acts and node.out.id not in found:
                continue  # nothing reads it
            outs = self.outs(node, found)
            if not is_plain(node):
                outs = self.earlier(node, outs)
                found |= {out.id: c for out, c in zip(makes(node), outs, strict=True) if c is not None}
            for value, condition in self.uses(node, outs):
                use(value, condition)
        return found

    def outs(self, node: Node, found: Mapping[int, Condition]) -> list[Condition | None]:
        """Where the results of a node are used; None for those that nothing reads, if others are read. One that goes
        round is used where the others are.
        """
        read = [found[out.id] for out in makes(node) if out.id in found]
        other = reduce(self.either, read) if read else ()
        rounds = {place for _, place in _rounds(node)} if isinstance(node, Repeat | Scan) else set()
        unread = [None if read and place not in rounds else other for place in range(len(makes(node)))]
        return [found.get(out.id, none) for out, none in zip(makes(node), unread, strict=True)]

    def uses(self, node: Node, outs: Sequence[Condition | None]) -> list[tuple[Value, Condition]]:
        """What a node reads, and under which condition, where its results are used under these."""
        match node:
            case Apply(mask=mask):
                looks_up, after = mask is not None and node.traits.reads == Gather(), outs[0] or ()
                after = all_of((*after, *self.holds(mask))) if mask is not None and looks_up else after
                own = [()] * len(node.operands) if looks_up else self.leaves_out(node)
                found = [
                    (value, all_of((*self.before(after, node, place), *self.anywhere(here, value.type.varying))))
                    for place, (value, here) in enumerate(zip(node.operands, own, strict=True))
                ]
                return found if mask is None else [*found, (mask, ())]
            case Call() | Repeat() | Scan():
                return list(zip(node.args, self.used(node, outs).args, strict=True))
            case _:
                return [(value, ()) for value in reads(node)]

    def leaves_out(self, node: Apply) -> list[Condition]:
        """Where an op itself uses each of its operands."""
        if node.mask is not None:
            return [self.holds(node.mask)] * len(node.operands)
        if node.traits.meaning == Choice() and node.out.type.element is Scalar.REAL:
            return [(), self.holds(node.operands[0]), self.fails(node.operands[0])]
        return [()] * len(node.operands)

    def used(self, node: Nest, outs: Sequence[Condition | None]) -> UsedArguments:
        """What is nested in a node, told where its results are used, as far as that can be said there."""
        if isinstance(node, Call) and node.graph.target:  # it may read anything along its own axes
            condition = self.anywhere(reduce(self.either, (out for out in outs if out is not None)), node.graph.lifted)
            return UsedArguments((), (), (condition,) * len(node.args))
        unread = frozenset(place for place, out in enumerate(outs) if out is None)
        truths = [self.joined(condition) if condition else None for condition in self._said(node, outs)]
        while True:
            like = [c and replace(c, type=_inside(node, c.type) or c.type) for c in truths]
            told = tuple(self.telling(graph, like, unread) for graph in children(node))
            lost = {
                out for into, out in _rounds(node) if truths[out] and not all(_stays(t, into, out, node) for t in told)
            }
            if not lost:
                break
            truths = [None if place in lost else c for place, c in enumerate(truths)]
        given = tuple(dict.fromkeys(c for c in truths if c is not None))
        args = []
        for place, arg in enumerate(node.args):
            condition = reduce(both, (self._brought(node, each, given, place) for each in told))
            if isinstance(node, Repeat) and place < node.carried and not _surely_runs(node):
                condition = both(condition, outs[place] or ())  # without a pass it is the result
            args.append(tuple(truth for truth in condition if truth.role <= arg.role))
        return UsedArguments(told, given, tuple(args))

    def _said(self, node: Nest, outs: Sequence[Condition | None]) -> list[Condition]:
        """Where results are used, by truths that have a meaning in what is nested; states of a scan: from there on."""
        said = [tuple(c for c in out or () if _inside(node, c.type) is not None) for out in outs]
        if isinstance(node, Scan) and node.states:
            read = [here for here, out in zip(said, outs, strict=True) if out is not None]
            later = self.or_later(reduce(self.either, read), node.axis)
            for _, place in node.states:
                said[place] = later
        return said

    def _brought(self, node: Nest, told: Told, given: Sequence[Value], place: int) -> Condition:
        """Where a nested graph uses an argument, by truths that can be made here."""
        known = self._known.setdefault((node.outs[0].id, told.body), {})
        if not known:
            rounds = {into for into, _ in _rounds(node)}
            for at, (item, arg) in enumerate(zip(told.graph.inputs, (*node.args, *given), strict=True)):
                known[item.value.id] = None if at in rounds else arg
        here = [self._copied(node, told, truth, known) for truth in told.uses[place] or ()]
        return all_of(truth for truth in here if truth is not None)

    def _copied(self, around: Nest, told: Told, value: Value, known: dict[int, Value | None]) -> Value | None:
        if value.id not in known:
            known[value.id] = None
            node = told.body.makers.get(value.id)
            if node is not None and _may_stand_around(node, around):
                values = {each.id: self._copied(around, told, each, known) for each in reads(node)}
                found = {key: new for key, new in values.items() if new is not None}
                if len(found) == len(values):
                    outs = self._brought_out(node, around, told, found)
                    known |= {old.id: new for old, new in zip(makes(node), outs, strict=True)}
        return known[value.id]

    def _brought_out(self, node: Node, around: Nest, told: Told, values: dict[int, Value]) -> tuple[Value, ...]:
        axes, consts = ({}, {}) if isinstance(around, Repeat) else (dict(around.axes), dict(around.consts))
        copy = Terms(self._target, told.graph, axes, consts, values, own=False).over(node)
        steps: tuple[Axis, ...] = ()
        if isinstance(around, Scan) and any(around.axis in value.type.varying for value in values.values()):
            steps = (around.axis,)
        outs = []
        for out in makes(copy):
            type = replace(out.type, axes=(*steps, *out.type.axes))
            outs.append(self.fresh(replace(out, type=type, name=None)))
        self.append(with_results(copy, tuple(outs)))
        return tuple(outs)


def is_plain(node: Node) -> bool:
    """Whether a node may be made anew for each condition under which it is read: it costs little, and draws nothing."""
    match node:
        case Call():
            return pure(node.graph)
        case Apply():
            pointwise = isinstance(node.traits.reads, Pointwise) and not (node.axes or node.made or node.weights)
            return arranges(node) or (pointwise and not node.traits.random)
        case _:
            return False


def _may_stand_around(node: Node, around: Nest) -> bool:
    """Whether a node of what is nested has a meaning in the graph around it."""
    if spelling(node) is None:
        return False
    if isinstance(around, Repeat):
        return not (isinstance(node, Constant) and around.index is not None and around.index in consts_in(node.value))
    if isinstance(around, Scan) and (isinstance(node, Call) or any(ours == around.axis for _, ours in around.axes)):
        return False
    axes = {axis for out in makes(node) for axis in out.type.axes}
    axes.update((*node.axes, *node.made) if isinstance(node, Apply) else ())
    return axes <= {*dict(around.axes), *around.graph.lifted}


def _inside(node: Nest, type: Type) -> Type | None:
    """A type of the graph around in the axes of what is nested; None if an axis is none there, or is two."""
    if isinstance(node, Repeat):
        return type
    theirs = {axis: [axis] for axis in node.graph.lifted}
    for formal, actual in node.axes:
        theirs.setdefault(actual, []).append(formal)
    outer = [axis for axis in type.axes if not (isinstance(node, Scan) and axis == node.axis)]
    if any(len(theirs.get(axis, ())) != 1 for axis in outer):
        return None
    broadcast_axes = frozenset(theirs[axis][0] for axis in type.broadcast_axes if axis in outer)
    return replace(type, axes=tuple(theirs[axis][0] for axis in outer), broadcast_axes=broadcast_axes)


def _rounds(node: Nest) -> tuple[tuple[int, int], ...]:
    """What goes round: which input is given which result."""
    match node:
        case Repeat(carried=carried):
            return tuple((place, place) for place in range(carried))
        case Scan(states=states):
            return states
        case _:
            return ()


def _stays(told: Told, into: int, out: int, node: Nest) -> bool:
    """Whether what goes round is used in the next pass only where it is said to be used."""
    enough = told.truths if isinstance(node, Scan) else (told.truths[out],)
    either = (told.body.parts(truth, Disjunction()) or [truth] for truth in told.uses[into] or ())
    return told.uses[into] is None or any(all(part in enough for part in parts) for parts in either)


def _surely_runs(node: Repeat) -> bool:
    passes = known(node.count)
    return passes is not None and passes >= 1
