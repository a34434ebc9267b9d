"""Conditions: truths of a graph that all hold, and what they come to for the operands of an op.

Of a value that is used where some truths hold, an operand is used where that is so of anything made of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce

from ...graph.core.access import ZERO
from ...graph.nodes import Apply, Constant, Graph, Node, Positions, makes, reads
from ...graph.traits import (
    LARGEST,
    SOME_TRUE,
    Anything,
    Arrange,
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Gather,
    IndexMap,
    OpTraits,
    Product,
    Reduce,
    Running,
    Sum,
    Window,
)
from ...graph.values import Element, Role, Scalar, Type, Value
from ...ops import OPS, op_meaning, op_reading
from ...ops.internal import PICKED
from ...ops.undo import arranges, copied_along, undone
from ...sizes.axes import Arith, Axis, Literal, Static, known
from ...sizes.forms import LinearForm
from ...sizes.predicates import NEVER
from ..tools.walk import Fresh
from .finite import KnownTables
from .places import AtPlace

Condition = tuple[Value, ...]  # truths that all hold; of none of them: always
NO_AXES = frozenset[Axis]()
NOT, AND, OR = op_meaning(Complement()), op_meaning(Conjunction()), op_meaning(Disjunction())
PLUS, TIMES, CHOICE = op_meaning(Sum((1, 1))), op_meaning(Product()), op_meaning(Choice())
ANY_OF = op_reading(Reduce(SOME_TRUE, skips_zeros=True))
BACKWARDS, LARGEST_SO_FAR = op_reading(Arrange(IndexMap.MIRRORED)), op_reading(Running(LARGEST))


class ConditionedBody:
    """A body that nodes are added to, conditions among them."""

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        self.fresh = Fresh(graph)
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.tables = KnownTables()
        self._made: dict[tuple[object, ...], Value] = {}  # by what makes them
        self._joined: dict[Condition, Value] = {}
        self._anywhere: dict[tuple[Condition, frozenset[Axis]], Condition] = {}
        self._under: dict[int, Condition] = {}  # conditions under which nodes are made, by their results' ids

    def append(self, node: Node) -> None:
        self.nodes.append(node)
        self.makers |= {out.id: node for out in makes(node)}
        self.tables.add(node)

    # -- conditions --------------------------------------------------------------------------------------------------

    def holds(self, truth: Value) -> Condition:
        """That a truth holds, as it is written: of `a and b` that both do."""
        condition = all_of([truth]) if (parts := self.parts(truth, Conjunction())) is None else all_of(parts)
        self._joined.setdefault(condition, truth)
        return condition

    def fails(self, truth: Value) -> Condition:
        """That it does not hold: of `a or b` that neither does."""
        node = self.makers.get(truth.id)
        if isinstance(node, Apply) and node.traits.meaning == Complement():
            return self.holds(node.operands[0])
        parts = self.parts(truth, Disjunction()) or [truth]
        return all_of(self.truth(NOT, (part,), part.type.axes) for part in parts)

    def parts(self, truth: Value, joins: Conjunction | Disjunction) -> list[Value] | None:
        """What it joins so; None if it joins nothing so."""
        node = self.makers.get(truth.id)
        if not isinstance(node, Apply) or node.traits.meaning != joins:
            return None
        return [part for operand in node.operands for part in self.parts(operand, joins) or [operand]]

    def joined(self, condition: Condition) -> Value:
        """A truth that holds where all of these do."""
        if condition not in self._joined:
            found, *rest = condition
            for truth in rest:
                axes = (*found.type.axes, *(axis for axis in truth.type.axes if axis not in found.type.axes))
                found = self.truth(AND, (found, truth), axes)
            self._joined[condition] = found
        return self._joined[condition]

    def either(self, a: Condition, b: Condition) -> Condition:
        """What holds where one of two conditions does: what they have in common, and the rest of either."""
        common = both(a, b)
        if len(common) in (len(a), len(b)):
            return common
        x, y = (self.joined(tuple(truth for truth in one if truth not in common)) for one in (a, b))
        axes = (*x.type.axes, *(axis for axis in y.type.axes if axis not in x.type.axes))
        return all_of((*common, self.truth(OR, (x, y), axes)))

    def anywhere(self, condition: Condition, kept: Collection[Axis]) -> Condition:
        """That all hold at any item of the axes that are not kept."""
        key = condition, frozenset(kept)
        if key not in self._anywhere:
            self._anywhere[key] = self._found_anywhere(condition, kept)
        return self._anywhere[key]

    def _found_anywhere(self, condition: Condition, kept: Collection[Axis]) -> Condition:
        found = [truth for truth in condition if {*truth.type.axes} <= {*kept}]
        rest = [truth for truth in condition if truth not in found]
        while rest:
            together, gone = [rest.pop(0)], set[Axis]()
            for truth in together:  # with all that vary along an axis of it that goes
                gone |= {*truth.type.axes} - {*kept}
                together += [other for other in rest if gone & {*other.type.axes}]
                rest = [other for other in rest if other not in together]
            if not self._is_somewhere(together, gone, kept):
                truth = self.joined(all_of(together))
                axes = tuple(axis for axis in truth.type.axes if axis in gone)
                left = tuple(axis for axis in truth.type.axes if axis not in gone)
                found.append(self.truth(ANY_OF, (truth,), left, axes))
        return all_of(found)

    def before(self, condition: Condition, node: Apply, place: int) -> Condition:
        """The condition for an operand of an op: that any result made of the item is used."""
        if not condition:
            return ()
        operand = node.operands[place]
        if arranges(node):
            condition = self.anywhere(condition, {*node.out.type.varying} - {*copied_along(node)})
            return self.anywhere(all_of(self._arranged(c, node, place) for c in condition), operand.type.varying)
        kept = {*operand.type.varying} - {*node.axes, *node.made, *node.each}
        match node.traits.reads, node.axes, node.made:
            case Gather(), (axis,), _ if place == 0:
                index = node.operands[1]
                over = tuple(each for each in index.type.axes if each == axis or each not in operand.type.axes)
            case Window(), (axis,), (at, tap) if any({*c.type.axes} & {at, tap} for c in condition):
                first = Arith("*", (Literal(-1), node.options["pad"]))
                index, over = self._place({at: node.options["stride"], tap: Literal(1)}, first), node.made
            case Anything(), _, _:  # of other devices, too
                return ()
            case Running(), (axis,), _:
                return self.or_later(self.anywhere(condition, {*operand.type.varying}), axis)
            case _:
                return self.anywhere(condition, kept)
        return self.picked(self.anywhere(condition, kept.union(index.type.varying, over)), index, axis, over)

    def picked(self, there: Condition, index: Value, axis: Axis, over: Sequence[Axis]) -> Condition:
        """That an index names the item along the axis, over some axes, where these hold."""
        if not there:
            return ()
        c = self.joined(there)
        left = (each for each in dict.fromkeys((*c.type.axes, *index.type.axes)) if each not in over)
        return (self.truth(PICKED, (c, index), (axis, *left), tuple(over), (axis,)),)

    # -- what may be known before a node is made ---------------------------------------------------------------------

    def earlier(self, node: Node, outs: Sequence[Condition | None]) -> list[Condition | None]:
        """Conditions of its results that can be known before a node is made: what they come to without these."""
        made = {out.id for out in makes(node)}
        found = [out and all_of(c for truth in out for c in self._without(truth, made)) for out in outs]
        every = all_of(truth for out in found for truth in out or ())
        self._under |= dict.fromkeys(made, every)
        return found

    def _hangs(self, value: Value, made: Collection[int]) -> bool:
        """Whether a value hangs on any of these: by what it is made of, or by the conditions under which that is."""
        todo, seen = [value], set[int]()
        while todo:
            each = todo.pop()
            if each.id in made:
                return True
            if each.id not in seen and (node := self.makers.get(each.id)) is not None:
                todo += [*reads(node), *self._under.get(each.id, ())]
            seen.add(each.id)
        return False

    def _without(self, truth: Value, made: Collection[int]) -> Condition:
        """What surely holds where a truth does, and hangs on none of these values."""
        if not self._hangs(truth, made):
            return (truth,)
        node = self.makers.get(truth.id)
        if not isinstance(node, Apply):
            return ()
        parts = [self._without(operand, made) for operand in node.operands if operand.type.element is Scalar.BOOL]
        if node.traits == PICKED:
            return self._picked_without(node, parts[0], made)
        match node.traits.meaning, node.traits.reads:
            case Conjunction(), _:
                return all_of(c for part in parts for c in part)
            case Disjunction(), _:
                return reduce(self.either, parts)
            case _, Reduce(combination) if combination == SOME_TRUE and node.mask is None:
                return self.anywhere(parts[0], node.out.type.axes)
            case _:
                return ()

    def _picked_without(self, node: Apply, there: Condition, made: Collection[int]) -> Condition:
        """Of an index that hangs on them, too: a pick under a mask names only what the mask lets through."""
        (axis,), index = node.made, node.operands[1]
        if not self._hangs(index, made):
            return self.picked(there, index, axis, node.axes)
        match self.makers.get(index.id):
            case Apply(traits=OpTraits(reads=Reduce(indices=True)), axes=(over,), mask=Value() as mask) if over == axis:
                if axis not in node.axes and not self._hangs(mask, made):
                    return self.anywhere(all_of((*there, *self.holds(mask))), node.out.type.axes)
        return ()

    def or_later(self, condition: Condition, axis: Axis) -> Condition:
        """That it holds there, or at a later item along the axis."""
        there = tuple(c for c in condition if axis in c.type.varying)
        if not there:
            return condition
        c, one, none = self.joined(there), self.number(Literal(1)), self.number(Literal(0))
        number = self.made(CHOICE, (c, one, none), Scalar.INT, c.type.axes)
        for op in (BACKWARDS, LARGEST_SO_FAR, BACKWARDS):
            number = self.made(op, (number,), Scalar.INT, c.type.axes, (axis,))
        later = self.truth(op_meaning(Compared(">")), (number, none), c.type.axes)
        return all_of((later, *(c for c in condition if c not in there)))

    def _arranged(self, c: Value, node: Apply, place: int) -> Value:
        for step in undone(node, place, c.type.axes):
            others = () if step.behind is None else (self._place({step.made[0]: Literal(1)}, step.behind),)
            axes = c.type.axes if step.stays else _instead(c.type.axes, step.axes, step.made)
            c = self.truth(OPS[step.op], (c, *others), axes, step.axes, step.made)
        return c

    # -- what is made for them, each once ----------------------------------------------------------------------------

    def _place(self, times: Mapping[Axis, Static], first: Static) -> Value:
        """Where an item stands: a multiple of its number along each of these axes, and how many stand before."""
        found = self.number(first)
        for axis, by in times.items():
            index = self._once(Positions(axis, self._like(Scalar.INT, (axis,), Role.TABLE)), ("positions", axis))
            if known(by) != 1:
                index = self.made(TIMES, (self.number(by), index), Scalar.INT, (axis,))
            found = self.made(PLUS, (index, found), Scalar.INT, (*found.type.axes, axis))
        return found

    def number(self, static: Static, element: Element = Scalar.INT) -> Value:
        """A number known when the code is written."""
        out = self._like(element, (), Role.CONSTANT)
        return self._once(Constant(static, out), ("number", repr(static), element))

    def truth(
        self,
        op: OpTraits,
        operands: tuple[Value, ...],
        axes: tuple[Axis, ...],
        over: tuple[Axis, ...] = (),
        made: tuple[Axis, ...] = (),
    ) -> Value:
        """The truth that an op makes."""
        return self.made(op, operands, Scalar.BOOL, axes, over, made)

    def made(
        self,
        op: OpTraits,
        operands: tuple[Value, ...],
        element: Element,
        axes: tuple[Axis, ...],
        over: tuple[Axis, ...] = (),
        made: tuple[Axis, ...] = (),
    ) -> Value:
        """What an op makes."""
        varying = {axis for value in operands for axis in value.type.varying} | {*made}
        out = self._like(element, axes, max(value.role for value in operands), frozenset(axes) - varying)
        node = Apply(op, operands, out, over, made, span=operands[0].span)
        return self._once(node, (op.name, tuple(value.id for value in operands), axes, over, made))

    def _like(
        self, element: Element, axes: tuple[Axis, ...], role: Role, broadcast: frozenset[Axis] = NO_AXES
    ) -> Value:
        return self.fresh(Value(0, Type(element, axes, broadcast), role, None, None))

    def _once(self, node: Apply | Constant | Positions, key: tuple[object, ...]) -> Value:
        if key not in self._made:
            self.append(node)
            self._made[key] = node.out
        return self._made[key]

    # -- what is true somewhere of itself ----------------------------------------------------------------------------

    def _is_somewhere(self, truths: Sequence[Value], gone: Collection[Axis], kept: Collection[Axis]) -> bool:
        """Whether all hold at some item of the axes that go, wherever these have items: each item of a width sees
        itself under `t <= s`. Tried are the items of the same number along an axis that is kept, and the first ones.
        """
        for first in (False, True):
            at = {}
            for axis in gone:
                like = None if first else next((other for other in kept if other.family == axis.family), None)
                at[axis] = ZERO if like is None else LinearForm.index(like)
            there = AtPlace(self.makers, at)
            if all(there(truth).false == NEVER for truth in truths):
                return True
        return False


def all_of(truths: Iterable[Value]) -> Condition:
    """That all of these hold."""
    return tuple(sorted(dict.fromkeys(truths), key=lambda truth: truth.id))


def both(a: Condition, b: Condition) -> Condition:
    """What surely holds where one of two conditions does."""
    return tuple(truth for truth in a if truth in b)


def _instead(axes: tuple[Axis, ...], old: Sequence[Axis], new: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes, with the new ones in place of the old: where the first of these stood, or in front."""
    first = next((place for place, axis in enumerate(axes) if axis in old), 0)
    return (*axes[:first], *new, *(axis for axis in axes[first:] if axis not in old))
