"""One graph while picks are followed in it (`follow.py`): what is known of its values, and how nodes are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....dsl.base.records import field, mutable, record, replace
from ....dsl.source import Span
from ...graph.extents import enough, holds
from ...graph.nodes import Apply, Constant, Graph, Node, Positions, values_of
from ...graph.traits import (
    Arrange,
    Choice,
    Complement,
    Conjunction,
    Disjunction,
    IndexMap,
    Meaning,
    OpTraits,
    Reduce,
    Validity,
)
from ...graph.typed_value import static_element
from ...graph.values import Role, Scalar, Type, Value
from ...ops import op_meaning
from ...problems.plain import PlainProblem
from ...sizes.axes import Axis, Literal, Static


@record
class Held:
    """What is known of a value that may hold picks of nothing.

    valid:   the truth value that it holds none, over some of the value's own axes.
    zero:    it is 0, or false, wherever it holds one.
    nothing: it is -1 there, as the pick itself is.
    """

    valid: Value
    zero: bool = False
    nothing: bool = False


def may_lack(node: Apply) -> bool:
    """Whether an op that picks may have fewer items to pick from than it picks."""
    reads = node.traits.reads
    if not isinstance(reads, Reduce) or not reads.indices or not node.traits.masked:
        return False
    if node.mask is not None:
        return True
    among = node.axes[0]
    if not node.made:
        return among.is_width and not among.extent
    return not holds(enough(node), {})


@mutable
class Making:
    """The nodes of the new graph. held: by the ids of values. same: what stands for a value of the old graph."""

    old: Graph
    problems: dict[PlainProblem, None]
    nodes: list[Node] = field(default_factory=list)
    held: dict[int, Held] = field(default_factory=dict)
    same: dict[int, Value] = field(default_factory=dict)
    _joined: dict[frozenset[int], Value] = field(default_factory=dict)
    _every: dict[Axis, Value] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self._next = max((value.id for value in values_of(self.old)), default=0)

    def fresh(self, type: Type, role: Role, name: str | None = None, span: Span | None = None) -> Value:
        self._next += 1
        return Value(self._next, type, role, name, span)

    def like(self, value: Value) -> Value:
        """A new value of the same kind, without its name."""
        return self.fresh(value.type, value.role, None, value.span)

    def apply(self, op: OpTraits | Meaning, operands: Sequence[Value], type: Type, *, axes: Sequence[Axis] = (),
              made: Sequence[Axis] = (), mask: Value | None = None, options: dict[str, Static] | None = None,
              span: Span | None = None) -> Value:  # fmt: skip
        out = self.fresh(type, max(value.role for value in operands), None, span)
        if type.axes:
            out = replace(out, role=max(out.role, Role.TABLE))
        traits = op if isinstance(op, OpTraits) else op_meaning(op)
        made_of = Apply(traits, tuple(operands), out, tuple(axes), tuple(made), mask=mask, span=span)
        self.nodes.append(replace(made_of, options=options or {}))
        return out

    def constant(self, number: float) -> Value:
        static = Literal(number)
        out = self.fresh(Type(static_element(static), ()), Role.CONSTANT)
        self.nodes.append(Constant(static, out))
        return out

    # -- truth values ------------------------------------------------------------------------------------------------

    def truth(self, meaning: Meaning, *operands: Value) -> Value:
        axes = tuple(dict.fromkeys(axis for value in operands for axis in value.type.axes))
        varies = {axis for value in operands for axis in value.type.varying}
        return self.apply(meaning, operands, Type(Scalar.BOOL, axes, frozenset(axes) - varies))

    def both(self, *truths: Value | None) -> Value | None:
        """All of these hold; None where there are none."""
        found = {truth.id: truth for truth in truths if truth is not None}
        if len(found) < 2:
            return next(iter(found.values()), None)
        key = frozenset(found)
        if key not in self._joined:
            first, *rest = found.values()
            for other in rest:
                first = self.truth(Conjunction(), first, other)
            self._joined[key] = first
        return self._joined[key]

    def either(self, c: Value, first: Value | None, second: Value | None) -> Value | None:
        """The first where c holds, else the second; None stands for what always holds."""
        if first is None and second is None:
            return None
        if second is None:
            assert first is not None
            return self.truth(Disjunction(), self.truth(Complement(), c), first)
        return self.truth(Disjunction(), c, second) if first is None else self.truth(Choice(), c, first, second)

    def every(self, axis: Axis) -> Value:
        """True at each item of an axis."""
        if axis not in self._every:
            at = self.fresh(Type(Scalar.INT, (axis,)), Role.TABLE)
            self.nodes.append(Positions(axis, at))
            self._every[axis] = self.apply(Validity(), (at,), Type(Scalar.BOOL, (axis,)))
        return self._every[axis]

    def spread(self, valid: Value | None, axes: Iterable[Axis]) -> Value:
        """The truth value with all of these axes."""
        missing = [axis for axis in axes if valid is None or axis not in valid.type.axes]
        return self.both(valid, *map(self.every, missing)) or self.constant(True)

    # -- values ------------------------------------------------------------------------------------------------------

    def cleared(self, value: Value, fill: float = 0) -> Value:
        """The value, with another number wherever it holds a pick of nothing."""
        held = self.held.get(value.id)
        if held is None or (fill == 0 and held.zero) or (fill == -1 and held.nothing):
            return value
        return self.chosen(held.valid, value, fill)

    def chosen(self, valid: Value, value: Value, fill: float) -> Value:
        """The value where the truth value holds, else a number."""
        if value.type.element is Scalar.BOOL:
            out = self.truth(Conjunction(), valid, value)
        else:
            axes = (*value.type.axes, *(axis for axis in valid.type.axes if axis not in value.type.axes))
            varying = set(valid.type.axes) - valid.type.broadcast_axes
            type = replace(value.type, axes=axes, broadcast_axes=value.type.broadcast_axes - varying)
            number = float(fill) if value.type.element is Scalar.REAL else int(fill)
            out = self.apply(Choice(), (valid, value, self.constant(number)), type, span=value.span)
        known = {-1: Held(valid, nothing=True), 0: Held(valid, zero=True)}
        self.held[out.id] = known.get(int(fill) if fill in known else 1, Held(valid))
        return out

    def arranged(self, node: Apply, valid: Value) -> Value:
        """The truth value, its axes arranged as the op arranges those of its operand."""
        here = [axis for axis in node.axes if axis in valid.type.axes]
        match node.traits.reads:
            case Arrange(IndexMap.NEW):
                return valid
            case _ if not here:
                return valid
            case Arrange(IndexMap.MIRRORED):
                return self.apply(node.traits, (valid,), valid.type, axes=here)
            case Arrange(IndexMap.NUMBER):
                valid = self.spread(valid, node.axes)
        gone = set(node.axes)
        first = next(place for place, axis in enumerate(valid.type.axes) if axis in gone)
        before, after = valid.type.axes[:first], valid.type.axes[first:]
        axes = (*before, *node.made, *(axis for axis in after if axis not in gone))
        type = Type(Scalar.BOOL, axes, valid.type.broadcast_axes & {*axes})
        return self.apply(node.traits, (valid,), type, axes=node.axes, made=node.made, options=dict(node.options))
