"""What a mask or a branch leaves out spoils no gradient: `select(x > 0, log(x), 0)` takes the log of 1 elsewhere.

The gradient of what is left out is 0, but times an infinite derivative that is no number. So the operand of what may be
infinite there is made harmless before the op, where none of its results is used (`conditions.py`), as one would write
by hand with two choices; it changes no result. A factor that hangs on positions and sizes alone spoils the gradient of
the other one: there it is made harmless too. Ops on the way are made anew, those of blocks without weights too; what
puts items together, draws at random or has weights only where nothing else reads what is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TypeGuard

from ....dsl.base.records import record, replace
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, makes, reads
from ...graph.traits import (
    Choice,
    Combination,
    Function,
    Normalise,
    Pointwise,
    Power,
    Quotient,
    Reduce,
    Remainder,
)
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_meaning
from ...ops.undo import arranges
from ...sizes.axes import Literal, known
from ..simplify.dead import alive
from ..tools.same import pure
from ..tools.walk import Fresh, Walk, with_operands
from .conditions import Condition, both
from .uses import UsedInputs, UsedInputsOf, UsingBody


def guard(graph: Graph) -> Graph:
    """The graph with what its masks and choices leave out made harmless."""
    blocks = _Blocks()
    return Walk(lambda _, new: _Guard(new, blocks).graph())(graph)


class _Guard(UsingBody):
    """Guards the masks and choices of one body."""

    def __init__(self, graph: Graph, blocks: _Blocks) -> None:
        super().__init__(graph, blocks.uses_of)
        self.blocks = blocks
        self.risky: set[int] = set()  # values behind which a hazard stands, with nothing but ops and blocks in between
        self.readers: dict[int, list[Node | None]] = {}  # None: the result of the body
        for output in graph.outputs:
            self.readers.setdefault(output.value.id, []).append(None)
        for node in graph.nodes:
            self.read(node)
        self.guarded: dict[tuple[int, Condition], Value] = {}
        self.gone: set[int] = set()  # results of nodes that others stand for now
        self.changed = False

    def graph(self, place: int = 0, condition: Condition = ()) -> Graph:
        """The body with all guarded. condition: under which one of its results is used."""
        for node in self.old.nodes:
            self.add(node)
        outputs = list(self.old.outputs)
        if condition:
            value = outputs[place].value
            outputs[place] = replace(outputs[place], value=self.harmless(value, condition, [None]))
            self.changed |= outputs[place].value is not value
        if not self.changed:
            return self.old
        nodes = tuple(node for node in self.nodes if not any(out.id in self.gone for out in makes(node)))
        return alive(replace(self.old, nodes=nodes, outputs=tuple(outputs)))

    def read(self, node: Node, instead_of: Node | None = None) -> None:
        """Note what a node reads, and that another one is not needed any more."""
        for value in {*reads(node)}:
            self.readers.setdefault(value.id, []).append(node)
        for value in {*reads(instead_of)} if instead_of is not None else ():
            self.readers[value.id] = [reader for reader in self.readers[value.id] if reader is not instead_of]

    def add(self, node: Node) -> None:
        """Add a node of the body, with what it leaves out made harmless."""
        if any(value.id in self.risky for value in reads(node)):
            used: dict[int, Condition] = {}
            for value, condition in self.uses(node, [()] * len(makes(node))):
                used[value.id] = both(used.get(value.id, condition), condition)
            change = {value.id: self.harmless(value, used[value.id], [node]) for value in reads(node) if used[value.id]}
            now = with_operands(node, change)
            if now is not node:
                self.read(now, instead_of=node)
                self.changed, node = True, now
        self.append(node)

    def append(self, node: Node) -> None:
        super().append(node)
        match node:
            case Apply(out=out) if out.role > Role.TABLE and out.type.element is Scalar.REAL:
                if self.hazards(node) or any(value.id in self.risky for value in node.operands):
                    self.risky.add(out.id)
            case Call(graph=graph) if graph.kind == "block" and not graph.target:
                given = any(arg.id in self.risky for arg in node.args)
                inner = self.blocks.risky(graph)
                self.risky |= {out.id for out, risky in zip(node.outs, inner, strict=True) if risky or given}

    def harmless(self, value: Value, condition: Condition, readers: Sequence[Node | None]) -> Value:
        """The value where these truths hold; elsewhere some finite number with finite derivatives.

        readers: of the value, those for which it is made harmless.
        """
        if value.id not in self.risky:
            return value
        condition = self.anywhere(condition, value.type.varying)
        if not condition:
            return value
        key = value.id, condition
        if key not in self.guarded:
            self.guarded[key] = self._harmless(value, condition, readers)
        return self.guarded[key]

    def _harmless(self, value: Value, condition: Condition, readers: Sequence[Node | None]) -> Value:
        node = self.makers[value.id]
        alone = all(any(reader is known for known in readers) for reader in self.readers.get(value.id, ()))
        if isinstance(node, Call):
            return self.called(node, node.outs.index(value), condition, alone)
        assert isinstance(node, Apply)
        if not (_is_plain(node) or alone):
            return value
        hazards, operands = self.hazards(node), list(node.operands)
        for place, operand in enumerate(operands):
            if not (place in hazards or operand.id in self.risky):
                continue
            before = self.before(condition, node, place)
            if operand.role < Role.DATA:  # what all items share is used
                before = tuple(c for c in before if c in condition or {*c.type.axes} & {*operand.type.varying})
            operand = self.harmless(operand, before, [node] if alone else ())
            if before and place in hazards:
                operand = self.chosen(before, operand, hazards[place])
            operands[place] = operand
        if tuple(operands) == node.operands:
            return value
        out = self.fresh(replace(value, role=max(v.role for v in (*operands, value)), name=None))
        now = replace(node, operands=tuple(operands), out=out)
        self.read(now, instead_of=node if alone else None)
        self.append(now)
        if node.weights:
            self.gone.add(value.id)
        return out

    def chosen(self, condition: Condition, x: Value, number: float) -> Value:
        """x, or the number where not all of these hold. What is a table stays as exact as one."""
        node = self.makers.get(x.id)
        if _chooses(node):  # by some of these already
            instead = self.makers.get(node.operands[2].id)
            if isinstance(instead, Constant) and known(instead.value) == number:
                held = self.holds(node.operands[0])
                condition = tuple(truth for truth in condition if truth not in held)
        if not condition:
            return x
        c = self.joined(condition)
        element = Scalar.INT if isinstance(x.type.element, IndexInto) else x.type.element
        if number % 1:
            element = Scalar.REAL
        other = self.number(Literal(int(number)) if element is Scalar.INT else Literal(float(number)), element, x)
        role = max(x.role, c.role)
        exact = x.exact or (x.is_table and role > Role.TABLE)
        out = self.fresh(replace(x, type=replace(x.type, element=element), role=role, name=None, exact=exact))
        self.append(Apply(op_meaning(Choice()), (c, x, other), out, span=x.span))
        return out

    # -- what is looked at -----------------------------------------------------------------------------------------

    def hazards(self, node: Apply) -> dict[int, float]:
        """The operands of an op that may make its result or a derivative infinite, and what each may be instead.

        A number of positions and sizes alone that may be infinite is one: it spoils the gradients of other factors.
        """
        reads = node.traits.reads
        joins = isinstance(reads, Pointwise) or (isinstance(reads, Reduce) and reads.multiplies)
        tables = [place for place, x in enumerate(node.operands) if joins and x.role <= Role.TABLE]
        infinite = {place: 1 for place in tables if not self.tables.is_finite(node.operands[place])}
        return infinite | self._of_its_own(node)

    def _of_its_own(self, node: Apply) -> dict[int, float]:
        match node.traits.reads, node.operands:
            case Pointwise(Function(harmless=float() | int() as number)), (x,) if x.role > Role.TABLE:
                return {0: number}
            case Pointwise(Quotient(whole=False) | Remainder()), (_, divisor):
                return {} if divisor.role <= Role.TABLE and self.tables.has_no_0(divisor) else {1: 1}
            case Pointwise(Power()), (base, exponent) if base.role <= Role.TABLE:
                return {1: 0} if exponent.role > Role.TABLE else {}
            case Pointwise(Power()), (base, exponent):
                maker = self.makers.get(exponent.id)
                power = known(maker.value) if isinstance(maker, Constant) else None
                return {} if isinstance(power, int) and power >= 1 else {0: 1}
            case Normalise(squares=Combination(), centred=False), _ if known(node.options.get("eps", Literal(0))) == 0:
                return {0: 1}
            case _:
                return {}

    # -- blocks ----------------------------------------------------------------------------------------------------

    def called(self, node: Call, place: int, condition: Condition, alone: bool) -> Value:
        """A result of a block that is used under a condition, which the block is told where a hazard is in it."""
        value = node.outs[place]
        others = [out for out in node.outs if out is not value and self.readers.get(out.id)]
        condition = tuple(truth for truth in condition if _inside(node, truth.type) is not None)
        if not condition or not (pure(node.graph) or (alone and not others)):
            return value
        c = self.joined(condition)
        theirs = _inside(node, c.type)
        assert theirs is not None
        told = self.blocks.told(node.graph, place, replace(c, type=theirs))
        now = replace(node, args=(*node.args, c))
        args = tuple(
            self.harmless(arg, given, [node] if alone else ()) if given else arg
            for arg, given in zip(node.args, self.given(now, told.uses), strict=False)
        )
        if told.graph is None and args == node.args:
            return value
        graph = told.graph or node.graph
        outs = tuple(
            self.fresh(replace(out, role=max(out.role, output.value.role), name=None))
            for out, output in zip(node.outs, graph.outputs, strict=True)
        )
        now = replace(node, graph=graph, args=args if told.graph is None else (*args, c), outs=outs)
        self.read(now, instead_of=node if alone else None)
        self.append(now)
        if alone:
            self.gone.add(value.id)
        return outs[place]


def _inside(node: Call, type: Type) -> Type | None:
    """A type of the graph around in the axes of a block; None if it has an axis that is none there, or is two."""
    theirs = {axis: [axis] for axis in node.graph.lifted}
    for formal, actual in node.axes:
        theirs.setdefault(actual, []).append(formal)
    if any(len(theirs.get(axis, ())) != 1 for axis in type.axes):
        return None
    broadcast_axes = frozenset(theirs[axis][0] for axis in type.broadcast_axes)
    return replace(type, axes=tuple(theirs[axis][0] for axis in type.axes), broadcast_axes=broadcast_axes)


def _is_plain(node: Apply) -> bool:
    """Whether an op may be made anew though others read what it makes."""
    here = isinstance(node.traits.reads, Pointwise) and not (node.axes or node.made or node.weights)
    return arranges(node) or (here and not node.traits.random)


def _chooses(node: Node | None) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.traits.reads == Pointwise(Choice())


@record(eq=False)
class _ToldBlock:
    """A block that is told where one of its results is used. graph: None if it has nothing to guard."""

    graph: Graph | None
    uses: UsedInputs


class _Blocks:
    """What is known of the blocks of a file."""

    def __init__(self) -> None:
        self.uses_of = UsedInputsOf()
        self._risky: dict[Graph, list[bool]] = {}
        self._told: dict[tuple[Graph, int, Type, Role], _ToldBlock] = {}

    def risky(self, graph: Graph) -> list[bool]:
        """Of each result of a block, whether a hazard stands behind it in the block itself."""
        if graph not in self._risky:
            body = _Guard(graph, self)
            for node in graph.nodes:
                body.append(node)
            self._risky[graph] = [output.value.id in body.risky for output in graph.outputs]
        return self._risky[graph]

    def told(self, graph: Graph, place: int, like: Value) -> _ToldBlock:
        """A block that is given one more truth: where one of its results is used."""
        key = graph, place, like.type, like.role
        if key not in self._told:
            names = {item.name for item in graph.inputs}
            name = next(name for i in count(1) if (name := f"used_{i}" if i > 1 else "used") not in names)
            used = Fresh(graph)(replace(like, name=name))
            asked = replace(graph, inputs=(*graph.inputs, Input(name, used)))
            guarded = _Guard(asked, self).graph(place, (used,))
            uses = self.uses_of.where(asked, {graph.outputs[place].value.id: (used,)})
            self._told[key] = _ToldBlock(None if guarded is asked else guarded, uses)
        return self._told[key]
