"""Makes one graph, node by node."""

from __future__ import annotations

from ...dsl.base.records import field, mutable
from ...dsl.source import Span
from ..graph.nodes import Constant, Input, Node, Positions
from ..graph.typed_value import Range, TypedValue, static_element
from ..graph.values import IndexInto, Role, Type, Value
from ..sizes.axes import Arith, Axis, Literal, SizeOf
from ..sizes.limits import RANK, Limit, TooMuch


@mutable
class Builder:
    """`parent` is the graph around the body of a repeat: values of it that the body reads become inputs."""

    parent: Builder | None = None
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    outside: list[TypedValue] = field(default_factory=list)  # what the inputs after the carried ones are, in the parent
    _next: int = 0
    _taken: dict[int, Value] = field(default_factory=dict)
    _positions: dict[int, Value] = field(default_factory=dict)

    def value(self, type: Type, role: Role, span: Span | None, name: str | None = None) -> Value:
        self._next += 1
        if len(type.axes) > RANK:
            raise TooMuch(Limit.RANK, len(type.axes), RANK, span=span)
        return Value(self._next, type, role, name, span)

    def input(self, name: str, type: Type, role: Role, span: Span) -> TypedValue:
        value = self.value(type, role, span, name)
        self.inputs.append(Input(name, value))
        return TypedValue(type, role, span, value, home=self)

    def take(self, wire: TypedValue) -> Value:
        """The value of the graph: constants are made here, values of the graph around enter as inputs."""
        if wire.value is None:
            assert wire.static is not None
            out = self.value(Type(static_element(wire.static), ()), Role.CONSTANT, wire.span)
            self.nodes.append(Constant(wire.static, out))
            return out
        if wire.home is self:
            return wire.value
        assert self.parent is not None
        outer = self.parent.take(wire)
        if outer.id not in self._taken:
            value = self.value(outer.type, outer.role, outer.span, outer.name)
            self.inputs.append(Input(outer.name or f"outer{outer.id}", value))
            self.outside.append(wire)
            self._taken[outer.id] = value
        return self._taken[outer.id]

    def positions(self, axis: Axis, span: Span) -> TypedValue:
        """The axis as its own index: `seq[seq]`."""
        type = Type(IndexInto(axis), (axis,))
        if axis.id not in self._positions:
            out = self.value(type, Role.TABLE, span, None)
            self.nodes.append(Positions(axis, out))
            self._positions[axis.id] = out
        limits = Range(Literal(0), Arith("-", (SizeOf(axis), Literal(1))), True)
        return TypedValue(
            type, Role.TABLE, span, self._positions[axis.id], range=limits, index_of=axis, power_of=(axis, 1), home=self
        )
