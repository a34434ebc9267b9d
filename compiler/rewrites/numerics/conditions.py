"""Conditions: truths of a graph that all hold, and what they come to for the operands of an op.

Of a value that is used where some truths hold, an operand is used where that is so of anything made of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ....dsl.base.records import replace
from ...graph.nodes import Apply, Constant, Graph, Node, Positions, makes
from ...graph.term import WORDS, Number, Position, Term, TermOp
from ...graph.traits import Compared, Complement, Conjunction, Disjunction, OpTraits
from ...graph.values import Role, Scalar, Type, Value
from ...masks.read import Reader
from ...ops import OPS, op_meaning
from ...ops.undo import arranges, copied_along, undone
from ...sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static
from ...sizes.polynomials import never_negative, poly
from ..tools.walk import Fresh
from .finite import KnownTables

Condition = tuple[Value, ...]  # truths that all hold; of none of them: always
NOT, AND, OR = op_meaning(Complement()), op_meaning(Conjunction()), op_meaning(Disjunction())


class ConditionedBody:
    """A body that nodes are added to, conditions among them."""

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        self.fresh = Fresh(graph)
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.tables = KnownTables()
        self._made: dict[tuple[object, ...], Value] = {}  # truths, by the op and operands that make them
        self._joined: dict[Condition, Value] = {}
        self._anywhere: dict[tuple[Condition, frozenset[Axis]], Condition] = {}

    def append(self, node: Node) -> None:
        self.nodes.append(node)
        self.makers |= {out.id: node for out in makes(node)}
        self.tables.add(node)

    # -- conditions --------------------------------------------------------------------------------------------------

    def holds(self, truth: Value) -> Condition:
        """That a truth holds, as it is written: of `a and b` that both do."""
        condition = all_of([truth]) if (parts := self._parts(truth, Conjunction())) is None else all_of(parts)
        self._joined.setdefault(condition, truth)
        return condition

    def fails(self, truth: Value) -> Condition:
        """That it does not hold: of `a or b` that neither does."""
        node = self.makers.get(truth.id)
        if isinstance(node, Apply) and node.traits.meaning == Complement():
            return self.holds(node.operands[0])
        parts = self._parts(truth, Disjunction()) or [truth]
        return all_of(self.truth(NOT, (part,), part.type.axes) for part in parts)

    def _parts(self, truth: Value, joins: Conjunction | Disjunction) -> list[Value] | None:
        node = self.makers.get(truth.id)
        if not isinstance(node, Apply) or node.traits.meaning != joins:
            return None
        return [part for operand in node.operands for part in self._parts(operand, joins) or [operand]]

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
                found.append(self.truth(OPS["any"], (truth,), left, axes))
        return all_of(found)

    def before(self, condition: Condition, node: Apply, place: int) -> Condition:
        """The condition for an operand of an op: that any result made of the item is used."""
        if not condition:
            return ()
        operand = node.operands[place]
        if not arranges(node):
            return self.anywhere(condition, {*operand.type.varying} - {*node.axes, *node.made, *node.each})
        condition = self.anywhere(condition, {*node.out.type.varying} - {*copied_along(node)})
        return self.anywhere(all_of(self._arranged(truth, node, place) for truth in condition), operand.type.varying)

    def _arranged(self, c: Value, node: Apply, place: int) -> Value:
        for step in undone(node, place, c.type.axes):
            others = () if step.behind is None else (self._behind(step.made[0], step.behind),)
            axes = c.type.axes if step.stays else _instead(c.type.axes, step.axes, step.made)
            c = self.truth(OPS[step.op], (c, *others), axes, step.axes, step.made)
        return c

    def _behind(self, axis: Axis, behind: Sequence[Axis]) -> Value:
        """The positions of an axis's items where they stand behind all items of other axes."""
        first: Static = Literal(0)
        for other in behind:
            first = Arith("+", (first, SizeOf(other)))
        index = self.fresh(Value(0, Type(Scalar.INT, (axis,)), Role.TABLE, None, None))
        self.append(Positions(axis, index))
        number = self.number(first, Scalar.INT, index)
        out = self.fresh(index)
        self.append(Apply(OPS["+"], (index, number), out))
        return out

    def number(self, static: Static, element: Scalar, like: Value) -> Value:
        out = self.fresh(replace(like, type=Type(element, ()), role=Role.CONSTANT, name=None, exact=False))
        self.append(Constant(static, out))
        return out

    def truth(
        self,
        op: OpTraits,
        operands: tuple[Value, ...],
        axes: tuple[Axis, ...],
        over: tuple[Axis, ...] = (),
        made: tuple[Axis, ...] = (),
    ) -> Value:
        """The truth that an op makes, made once."""
        key = op.name, operands[0].id, *(value.id for value in operands[1:] if made == ()), over, made
        if key not in self._made:
            varying = {axis for value in operands for axis in value.type.varying} | {*made}
            role = max(value.role for value in operands)
            like = replace(operands[0], role=role, name=None, exact=False)
            out = self.fresh(replace(like, type=Type(Scalar.BOOL, axes, frozenset(axes) - varying)))
            self.append(Apply(op, operands, out, over, made, span=operands[0].span))
            self._made[key] = out
        return self._made[key]

    # -- what is true somewhere of itself ----------------------------------------------------------------------------

    def _is_somewhere(self, truths: Sequence[Value], gone: Collection[Axis], kept: Collection[Axis]) -> bool:
        """Whether all hold at some item of the axes that go, wherever these have items: each item of a width sees
        itself under `t <= s`. Tried are the items of the same number along an axis that is kept, and the first ones.
        """
        if any(truth.role > Role.TABLE for truth in truths):
            return False
        places = tuple(node for node in self.nodes if all(out.role <= Role.TABLE for out in makes(node)))
        reader = Reader(replace(self.old, nodes=places))
        for first in (False, True):
            at: dict[Axis, Static] = {axis: _position(axis) for axis in kept}
            for axis in gone:
                like = None if first else next((other for other in kept if other.family == axis.family), None)
                at[axis] = Literal(0) if like is None else _position(like)
            if all(_holds(reader.term(truth), at) for truth in truths):
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


def _position(axis: Axis) -> Static:
    """The number of an item of an axis: some whole number of 0 or more."""
    return ConstOf(Const(-1 - axis.id, axis.name, None, is_index=True))


def _holds(term: Term, at: Mapping[Axis, Static]) -> bool:
    """Whether a term surely holds with these numbers for positions."""
    match term:
        case TermOp(Conjunction(), args):
            return all(_holds(arg, at) for arg in args)
        case TermOp(Disjunction(), args):
            return any(_holds(arg, at) for arg in args)
        case TermOp(Compared(sign), (a, b)):
            left, right = _number(a, at), _number(b, at)
            return left is not None and right is not None and _compares(left, sign, right)
        case _:
            return False


def _number(term: Term, at: Mapping[Axis, Static]) -> Static | None:
    match term:
        case Position(axis):
            return at.get(axis)
        case Number(static):
            return static
        case TermOp(meaning, args):
            numbers = [number for arg in args if (number := _number(arg, at)) is not None]
            return Arith(WORDS[meaning], tuple(numbers)) if len(numbers) == len(args) else None
        case _:
            return None


def _compares(a: Static, sign: str, b: Static) -> bool:
    """Whether two whole numbers surely compare so."""
    match sign:
        case "<=":
            return never_negative(poly(Arith("-", (b, a))))
        case "<":
            return _compares(Arith("+", (a, Literal(1))), "<=", b)
        case "==":
            return not poly(Arith("-", (a, b)))
        case "!=":
            return _compares(a, "<", b) or _compares(b, "<", a)
        case _:
            return _compares(b, sign.replace(">", "<"), a)
