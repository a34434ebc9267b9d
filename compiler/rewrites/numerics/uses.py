"""Under which condition a block or the body of a repeat uses each of its inputs, and what that is where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....dsl.base.records import record, replace
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, Repeat, makes, reads
from ...graph.traits import Choice
from ...graph.values import IndexInto, Scalar, Type, Value
from ...sizes.arithmetic import substitute
from ...sizes.axes import Axis, Static, consts_in
from ..tools.same import spelling
from ..tools.walk import with_operands, with_results
from .conditions import Condition, ConditionedBody, all_of


@record(eq=False)
class UsedInputs:
    """What is used of the inputs of a nested graph. `body` makes the truths of the conditions, one for each input."""

    body: ConditionedBody
    inputs: tuple[Condition, ...]


class UsedInputsOf:
    """What nested graphs use of their inputs, found once for each."""

    def __init__(self) -> None:
        self._found: dict[Graph, UsedInputs] = {}

    def __call__(self, graph: Graph) -> UsedInputs:
        if graph not in self._found:
            self._found[graph] = self.where(graph, {})
        return self._found[graph]

    def where(self, graph: Graph, results: Mapping[int, Condition]) -> UsedInputs:
        """The same where some results, by their values' ids, are used under a condition alone."""
        body = UsingBody(graph, self)
        for node in graph.nodes:
            body.append(node)
        found = body.demanded(results)
        return UsedInputs(body, tuple(found.get(item.value.id, ()) for item in graph.inputs))


class UsingBody(ConditionedBody):
    """A body, and what is nested in it."""

    def __init__(self, graph: Graph, uses_of: UsedInputsOf) -> None:
        super().__init__(graph)
        self.uses_of = uses_of
        self._known: dict[
            tuple[int, ConditionedBody], dict[int, Value | None]
        ] = {}  # what values of a nested graph are here

    def demanded(self, results: Mapping[int, Condition]) -> dict[int, Condition]:
        """Under which condition each value of the body is used, by its id, where some results are used under these."""
        found: dict[int, Condition] = {}

        def use(value: Value, condition: Condition) -> None:
            found[value.id] = self.either(found.get(value.id, condition), condition)

        for output in self.old.outputs:
            use(output.value, results.get(output.value.id, ()))
        for node in reversed(self.old.nodes):
            for value, condition in self.uses(node, [found.get(out.id, ()) for out in makes(node)]):
                use(value, condition)
        return found

    def uses(self, node: Node, outs: Sequence[Condition]) -> list[tuple[Value, Condition]]:
        """What a node reads, and under which condition, where its results are used under these."""
        match node:
            case Apply():
                own = self.leaves_out(node)
                found = [
                    (value, all_of((*self.before(outs[0], node, place), *self.anywhere(here, value.type.varying))))
                    for place, (value, here) in enumerate(zip(node.operands, own, strict=True))
                ]
                return found if node.mask is None else [*found, (node.mask, ())]
            case Call() | Repeat():
                return list(zip(node.args, self.given(node), strict=True))
            case _:
                return [(value, ()) for value in reads(node)]

    def leaves_out(self, node: Apply) -> list[Condition]:
        """Where an op itself uses each of its operands."""
        if node.mask is not None:
            return [self.holds(node.mask)] * len(node.operands)
        if node.traits.meaning == Choice() and node.out.type.element is Scalar.REAL:
            return [(), self.holds(node.operands[0]), self.fails(node.operands[0])]
        return [()] * len(node.operands)

    def given(self, node: Call | Repeat, uses: UsedInputs | None = None) -> list[Condition]:
        """Where what is nested uses each of its arguments, as far as that can be said here."""
        if isinstance(node, Repeat) and len(node.bodies) > 1:
            return [()] * len(node.args)
        uses = uses or self.uses_of(node.graph if isinstance(node, Call) else node.bodies[0])
        found = []
        for arg, condition in zip(node.args, uses.inputs, strict=False):
            here = [self.brought(node, uses.body, truth) for truth in condition]
            truths = all_of(truth for truth in here if truth is not None)
            found.append(tuple(truth for truth in truths if truth.role <= arg.role))
        return found

    def brought(self, node: Call | Repeat, body: ConditionedBody, truth: Value) -> Value | None:
        """A truth of a nested graph made here; None where that cannot be."""
        known = self._known.setdefault((node.outs[0].id, body), {})
        if not known:
            passed = node.carried if isinstance(node, Repeat) else 0
            for place, (item, arg) in enumerate(zip(body.old.inputs, node.args, strict=True)):
                known[item.value.id] = arg if place >= passed else None
        return self._copied(node, body, truth, known)

    def _copied(
        self, node: Call | Repeat, body: ConditionedBody, value: Value, known: dict[int, Value | None]
    ) -> Value | None:
        if value.id not in known:
            known[value.id] = None
            maker = body.makers.get(value.id)
            copy = None if maker is None else _moved(node, maker)
            if copy is not None:
                operands = {old.id: self._copied(node, body, old, known) for old in reads(copy)}
                given = {id: new for id, new in operands.items() if new is not None}
                if len(given) == len(operands):
                    outs = tuple(self.fresh(replace(out, name=None)) for out in makes(copy))
                    self.append(with_results(with_operands(copy, given), outs))
                    known |= {old.id: new for old, new in zip(makes(copy), outs, strict=True)}
        return known[value.id]


def _moved(around: Call | Repeat, node: Node) -> Node | None:
    """A node of a nested graph in the axes and numbers of the graph around; None if it cannot stand there."""
    if isinstance(around, Repeat):
        indexed = isinstance(node, Constant) and around.index is not None and around.index in consts_in(node.value)
        return None if indexed or spelling(node) is None else node
    axes = dict(around.axes)
    sizes, numbers = {a.id: b for a, b in around.axes}, {const.id: static for const, static in around.consts}
    reachable = {*axes, *around.graph.lifted}

    def ours(theirs: Sequence[Axis]) -> tuple[Axis, ...]:
        return tuple(axes.get(axis, axis) for axis in theirs)

    def number(static: Static) -> Static:
        return substitute(static, sizes, numbers)

    def moved(value: Value) -> Value:
        element = value.type.element
        if isinstance(element, IndexInto):
            element = IndexInto(axes.get(element.axis, element.axis))
        broadcast_axes = frozenset(ours(tuple(value.type.broadcast_axes)))
        return replace(value, type=Type(element, ours(value.type.axes), broadcast_axes))

    if spelling(node) is None or not {axis for out in makes(node) for axis in out.type.axes} <= reachable:
        return None
    node = with_results(node, tuple(map(moved, makes(node))))
    match node:
        case Constant(value):
            return replace(node, value=number(value))
        case Positions(axis):
            return replace(node, axis=axes.get(axis, axis))
        case Apply() if {*node.axes, *node.made} <= reachable:
            options = {name: number(static) for name, static in node.options.items()}
            return replace(node, axes=ours(node.axes), made=ours(node.made), options=options)
        case Call():
            consts = tuple((const, number(static)) for const, static in node.consts)
            return replace(node, axes=tuple((theirs, axes.get(a, a)) for theirs, a in node.axes), consts=consts)
        case _:
            return None
