"""What a choice does not take spoils no gradient: `select(x > 0, log(x), 0)` takes the log of 1 elsewhere.

The gradient of the side that is not taken is 0, but times an infinite derivative that is no number. So the operand of
what may be infinite there is made harmless by the same condition before the op, as one would write by hand with two
choices; it changes no result. A factor that hangs on positions and sizes alone spoils the gradient of the other one:
there it is made harmless too. Ops on the way are made anew: pointwise ones, those that arrange (the condition is
arranged the other way round), and dropout that nothing else reads; those of blocks without weights too. So is what the
mask of a softmax or sum leaves out, where the operand varies as the mask does: a divisor that all pairs share stays as
it is. What it does not do: look through ops that reduce, contract or gather, or into repeats; look into blocks for a
mask.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, makes, reads
from ...graph.traits import (
    Choice,
    Complement,
    Function,
    Normalise,
    OpTraits,
    Pointwise,
    Power,
    Quotient,
    Reduce,
    Remainder,
)
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import OPS, op_meaning
from ...ops.undo import arranges, undone
from ...sizes.arithmetic import substitute
from ...sizes.axes import Arith, Axis, Literal, SizeOf, Static, known
from ..simplify.dead import alive
from ..tools.walk import Fresh, Walk, with_operands, with_results
from .finite import KnownTables

LARGEST = 1000  # of the blocks that are made anew: how many nodes


def guard(graph: Graph) -> Graph:
    """The graph with what its choices do not take made harmless."""
    blocks = _Blocks()
    return Walk(lambda _, new: _Guard(new, blocks).graph())(graph)


class _Guard:
    """Guards the choices of one body."""

    def __init__(self, graph: Graph, blocks: _Blocks) -> None:
        self.old = graph
        self.blocks = blocks
        self.fresh = Fresh(graph)
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.tables = KnownTables()
        self.reads = Counter(value.id for node in graph.nodes for value in reads(node))
        self.reads.update(output.value.id for output in graph.outputs)
        self.same: dict[int, Value] = {}  # results of calls that are made here now
        self.guarded: dict[tuple[int, int, bool], Value] = {}  # by value and condition
        self.conditions: dict[tuple[object, ...], Value] = {}  # by the op and operands that make them
        self.inlined: dict[int, tuple[Value, ...]] = {}  # results of calls that are made here too
        self.masked = False  # what is guarded is left out by the mask of a reduction

    def graph(self) -> Graph:
        for node in self.old.nodes:
            node = with_operands(node, self.same)
            if isinstance(node, Call) and self.chooses(node):
                results = zip(node.outs, self.here(node), strict=True)
                self.same |= {out.id: replace(result, name=out.name) for out, result in results}
            else:
                self.add(node)
        if len(self.nodes) == len(self.old.nodes):
            return self.old
        outputs = tuple(replace(o, value=self.same.get(o.value.id, o.value)) for o in self.old.outputs)
        return alive(replace(self.old, nodes=tuple(self.nodes), outputs=outputs))

    def add(self, node: Node) -> None:
        if _chooses(node) and node.out.type.element is Scalar.REAL:
            c, x, y = node.operands
            x = self.harmless(x, c)
            if self.risky(y):
                y = self.harmless(y, self.condition(op_meaning(Complement()), c, c.type.axes))
            node = replace(node, operands=(c, x, y))
        elif isinstance(node, Apply) and node.mask is not None and isinstance(node.traits.reads, Reduce | Normalise):
            self.masked, mask = True, node.mask
            node = replace(node, operands=tuple(self.harmless(operand, mask) for operand in node.operands))
            self.masked = False
        self.append(node)

    def append(self, node: Node) -> None:
        self.nodes.append(node)
        self.makers |= {out.id: node for out in makes(node)}
        self.tables.add(node)

    def harmless(self, value: Value, c: Value, alone: bool = True) -> Value:
        """The value where c holds; elsewhere some finite number with finite derivatives.

        alone: everything that reads results of the value is itself made harmless.
        """
        key = value.id, c.id, self.masked
        if key not in self.guarded:
            self.guarded[key] = self._harmless(value, c, alone) if self.risky(value, alone) else value
        return self.guarded[key]

    def _harmless(self, value: Value, c: Value, alone: bool) -> Value:
        node = self.makers[value.id]
        if isinstance(node, Call):
            if self.masked:
                return value
            return self.harmless(self.here(node)[node.outs.index(value)], c, alone)
        assert isinstance(node, Apply)
        alone = alone and self.reads[value.id] == 1
        hazard = self.hazard(node)
        operands = list(node.operands)
        for place, operand in enumerate(operands):
            dangerous = hazard is not None and hazard[0] == place
            spoils = operand.role <= Role.TABLE and not self.tables.is_finite(operand)
            if not (dangerous or spoils or self.risky(operand, alone)):
                continue
            before = self.before(c, node, place)
            shared = not {*before.type.varying} <= {*operand.type.varying}  # it is as dangerous where it is seen
            if self.masked and (shared or _chooses(self.makers.get(operand.id))):
                dangerous = spoils = False
            operand = self.harmless(operand, before, alone)
            if dangerous or spoils:
                number = hazard[1] if hazard is not None and dangerous else 1
                operand = self.chosen(before, operand, number)
            operands[place] = operand
        if tuple(operands) == node.operands:
            return value
        type = value.type if arranges(node) else _joined(value, *operands)
        out = self.fresh(replace(value, type=type, role=max(v.role for v in operands), name=None))
        self.append(replace(node, operands=tuple(operands), out=out))  # a choice has been guarded already
        return out

    def chosen(self, c: Value, x: Value, number: float) -> Value:
        """x, or the number where c does not hold. What is a table stays as exact as one."""
        node = self.makers.get(x.id)
        if _chooses(node) and node.operands[0].id == c.id:  # as it was written
            return x
        element = Scalar.INT if isinstance(x.type.element, IndexInto) else x.type.element
        if number % 1:
            element = Scalar.REAL
        other = self.number(Literal(int(number)) if element is Scalar.INT else Literal(float(number)), element, x)
        role = max(x.role, c.role)
        exact = x.exact or (x.is_table and role > Role.TABLE)
        out = self.fresh(replace(x, type=replace(_joined(x, c), element=element), role=role, name=None, exact=exact))
        self.append(Apply(op_meaning(Choice()), (c, x, other), out, span=x.span))
        return out

    def number(self, static: Static, element: Scalar, like: Value) -> Value:
        out = self.fresh(replace(like, type=Type(element, ()), role=Role.CONSTANT, name=None, exact=False))
        self.add(Constant(static, out))
        return out

    # -- conditions ------------------------------------------------------------------------------------------------

    def before(self, c: Value, node: Apply, place: int) -> Value:
        """The condition for an operand of an op: whether any result made of the item is taken."""
        if not arranges(node):
            return c
        c = self.any(
            c, [axis for axis in c.type.axes if axis not in node.out.type.axes or axis in c.type.broadcast_axes]
        )
        for step in undone(node, place, c.type.axes):
            others = () if step.behind is None else (self.positions_behind(step.made[0], step.behind),)
            type = c.type.axes if step.stays else _instead(c.type.axes, step.axes, step.made)
            c = self.condition(OPS[step.op], c, type, step.axes, step.made, others)
        return c

    def positions_behind(self, axis: Axis, behind: Sequence[Axis]) -> Value:
        """The positions of an axis's items where they stand behind all items of other axes."""
        first: Static = Literal(0)
        for other in behind:
            first = Arith("+", (first, SizeOf(other)))
        index = self.fresh(Value(0, Type(Scalar.INT, (axis,)), Role.TABLE, None, None))
        self.add(Positions(axis, index))
        return self.apply(Apply(OPS["+"], (index, self.number(first, Scalar.INT, index)), index))

    def any(self, c: Value, axes: Sequence[Axis]) -> Value:
        axes = tuple(axis for axis in axes if axis in c.type.axes)
        kept = tuple(axis for axis in c.type.axes if axis not in axes)
        return self.condition(OPS["any"], c, kept, axes) if axes else c

    def condition(
        self,
        op: OpTraits,
        c: Value,
        type: tuple[Axis, ...],
        axes: tuple[Axis, ...] = (),
        made: tuple[Axis, ...] = (),
        others: tuple[Value, ...] = (),
    ) -> Value:
        """The condition that an op makes of another, made once."""
        key = op.name, c.id, axes, made
        if key not in self.conditions:
            broadcast_axes = c.type.broadcast_axes & frozenset(type)
            role = max(value.role for value in (c, *others))
            like = replace(c, type=Type(Scalar.BOOL, type, broadcast_axes), role=role)
            self.conditions[key] = self.apply(Apply(op, (c, *others), like, axes, made, span=c.span))
        return self.conditions[key]

    def apply(self, node: Apply) -> Value:
        """Add the op, with a new result of the same type."""
        out = self.fresh(replace(node.out, name=None))
        self.add(replace(node, out=out))
        return out

    # -- what is looked at -----------------------------------------------------------------------------------------

    def hazard(self, node: Apply) -> tuple[int, float] | None:
        """The operand of an op that may make its result or derivative infinite, and what it may be instead."""
        match node.traits.reads, node.operands:
            case Pointwise(Function(harmless=float() | int() as number)), (x,):
                return (0, number) if x.role > Role.TABLE else None
            case Pointwise(Quotient(whole=False) | Remainder()), (_, divisor):
                return None if divisor.role <= Role.TABLE and self.tables.has_no_0(divisor) else (1, 1)
            case Pointwise(Power()), (base, exponent) if base.role <= Role.TABLE:
                return (1, 0) if exponent.role > Role.TABLE else None
            case Pointwise(Power()), (base, exponent):
                maker = self.makers.get(exponent.id)
                power = known(maker.value) if isinstance(maker, Constant) else None
                return None if isinstance(power, int) and power >= 1 else (0, 1)
            case _:
                return None

    def risky(self, value: Value, alone: bool = True) -> bool:
        """Whether a hazard stands behind the value, with nothing in between but what can be made anew."""
        todo, seen = [(value, alone)], set[int]()
        while todo:
            value, alone = todo.pop()
            node = self.makers.get(value.id)
            if value.id in seen or value.role <= Role.TABLE or node is None:
                continue
            seen.add(value.id)
            alone = alone and self.reads[value.id] == 1
            if isinstance(node, Apply) and _is_plain(node, alone):
                if self.hazard(node) is not None:
                    return True
                for operand in node.operands:
                    if operand.role <= Role.TABLE and not self.tables.is_finite(operand):
                        return True
                    todo.append((operand, alone))
            elif isinstance(node, Call) and self.blocks.are_plain(node.graph):
                if self.blocks.risky(node.graph, node.outs.index(value)):
                    return True
                todo += [(arg, False) for arg in node.args]
        return False

    def chooses(self, node: Call) -> bool:
        """Whether a block chooses, and what it chooses from may be infinite here."""
        plain = self.blocks.are_plain(node.graph) and self.blocks.choose(node.graph)
        return plain and any(map(self.risky, node.args))

    def here(self, node: Call) -> tuple[Value, ...]:
        """The results of a block, made here in place of a call."""
        if node.outs[0].id not in self.inlined:
            self.inlined[node.outs[0].id] = self._here(node)
        return self.inlined[node.outs[0].id]

    def _here(self, node: Call) -> tuple[Value, ...]:
        axes = dict(node.axes)
        sizes, numbers = {a.id: b for a, b in node.axes}, {const.id: static for const, static in node.consts}
        change = {item.value.id: arg for item, arg in zip(node.graph.inputs, node.args, strict=True)}

        def ours(theirs: Sequence[Axis]) -> tuple[Axis, ...]:
            return tuple(axes.get(axis, axis) for axis in theirs)

        def moved(value: Value) -> Value:
            element = value.type.element
            if isinstance(element, IndexInto):
                element = IndexInto(axes.get(element.axis, element.axis))
            made = Type(element, ours(value.type.axes), frozenset(ours(tuple(value.type.broadcast_axes))))
            return self.fresh(replace(value, type=made, name=None))

        for inner in node.graph.nodes:
            outs = tuple(map(moved, makes(inner)))
            copy = with_results(with_operands(inner, change), outs)
            match copy:
                case Constant(value):
                    self.add(replace(copy, value=substitute(value, sizes, numbers)))
                case Positions(axis):
                    self.add(replace(copy, axis=axes.get(axis, axis)))
                case Apply():
                    self.add(replace(copy, axes=ours(copy.axes), made=ours(copy.made)))
                case Call():
                    given = tuple((const, substitute(static, sizes, numbers)) for const, static in copy.consts)
                    of = tuple((theirs, axes.get(axis, axis)) for theirs, axis in copy.axes)
                    outs = self.here(replace(copy, axes=of, consts=given))
            change |= {old.id: new for old, new in zip(makes(inner), outs, strict=True)}
        return tuple(change[output.value.id] for output in node.graph.outputs)


def _joined(value: Value, *others: Value) -> Type:
    """The type of the value, with the axes of the others too."""
    types = [value.type, *(other.type for other in others)]
    axes = tuple(dict.fromkeys(axis for type in types for axis in type.axes))
    varies = {axis for type in types for axis in type.varying}
    return replace(value.type, axes=axes, broadcast_axes=frozenset(axes) - varies)


def _instead(axes: tuple[Axis, ...], old: Sequence[Axis], new: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes, with the new ones in place of the old: where the first of these stood, or in front."""
    first = next((place for place, axis in enumerate(axes) if axis in old), 0)
    return (*axes[:first], *new, *(axis for axis in axes[first:] if axis not in old))


def _is_plain(node: Apply, alone: bool = False) -> bool:
    """Whether an op may be made anew. alone: it replaces the one there is, so it may draw at random."""
    here = isinstance(node.traits.reads, Pointwise) and not (node.axes or node.made or node.weights)
    return arranges(node) or (here and (alone or not node.traits.random))


def _chooses(node: Node | None) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.traits.reads == Pointwise(Choice())


class _Blocks:
    """Blocks that may be made anew in place of a call: of numbers, positions, ops as above and calls of such blocks.

    What arranges in them must do it along axes that callers give.
    """

    def __init__(self) -> None:
        self._sizes: dict[Graph, float] = {}
        self._chooses: dict[Graph, bool] = {}
        self._risky: dict[Graph, list[bool]] = {}

    def are_plain(self, graph: Graph) -> bool:
        return self._size(graph) <= LARGEST

    def _size(self, graph: Graph) -> float:
        """How many nodes such a block has, those of calls in it included; of others infinitely many."""
        if graph not in self._sizes:
            plain = graph.kind == "block" and not graph.target
            given = {*graph.axes[: graph.params], *graph.lifted}
            self._sizes[graph] = sum(self._count(node, given) for node in graph.nodes) if plain else math.inf
        return self._sizes[graph]

    def _count(self, node: Node, given: set[Axis]) -> float:
        match node:
            case Call():
                return self._size(node.graph)
            case Apply():
                return 1 if _is_plain(node) and {*node.axes, *node.made} <= given else math.inf
            case _:
                return 1 if isinstance(node, Constant | Positions) else math.inf

    def choose(self, graph: Graph) -> bool:
        """Whether there is a choice in a block."""
        if graph not in self._chooses:
            self._chooses[graph] = any(
                _chooses(node) or (isinstance(node, Call) and self.choose(node.graph)) for node in graph.nodes
            )
        return self._chooses[graph]

    def risky(self, graph: Graph, place: int) -> bool:
        """Whether a hazard stands behind a result of a block, in the block itself."""
        if graph not in self._risky:
            body = _Guard(graph, self)
            for node in graph.nodes:
                body.append(node)
            self._risky[graph] = [body.risky(output.value) for output in graph.outputs]
        return self._risky[graph][place]
