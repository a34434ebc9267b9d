"""Whether calls of one set of weights are of one form: then one class serves them, and holds the weights once.

Two elaborations of a block are walked side by side. They may differ in sizes that are known at run time only, and in
names of axes; not in what decides the code of a class: which operands are numbers, which branches were taken, consts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .axes import Axis
from .graph import (
    Apply,
    Call,
    Constant,
    Element,
    Graph,
    IndexInto,
    Node,
    Parameter,
    Positions,
    Repeat,
    Role,
    Scalar,
    Scan,
    Value,
)
from .static import Arith, Const, ConstOf, Literal, Number, SizeOf, Static, axes_in, show_static


def told_apart(one: Graph, other: Graph) -> str | None:
    """How the second differs from the first, as the end of "at this call ..."; None if they are of one form."""
    if one is other:
        return None
    pair = _Pair(frozenset(one.lifted), frozenset(other.lifted))
    try:
        pair.graphs(one, other)
    except _Differs as found:
        return str(found)
    return None


class _Differs(Exception):
    """The message says how."""


_OTHERWISE = "its body comes out otherwise"


@dataclass
class _Pair:
    """What of one graph stands for what of the other."""

    lifted: frozenset[Axis]
    lifted_there: frozenset[Axis]
    axes: dict[Axis, Axis] = field(default_factory=dict)
    back: dict[Axis, Axis] = field(default_factory=dict)
    consts: dict[Const, Const] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)

    def graphs(self, one: Graph, other: Graph) -> None:
        taken, given = ([item.name for item in graph.inputs] for graph in (one, other))
        for name in [*taken, *given]:
            if (name in taken) != (name in given):
                raise _Differs(f"`{name}` is {'a number or truth value as written' if name in taken else 'a value'}")
        for mine, theirs in zip(one.inputs, other.inputs, strict=True):
            self.new(mine.value, theirs.value)
            self.all(mine.value.type.axes, theirs.value.type.axes)
        if len(one.nodes) != len(other.nodes):
            raise _Differs("it takes another branch of an `if`, or is of other steps")
        for a, b in zip(one.nodes, other.nodes, strict=True):
            self.nodes(a, b)
        for x, y in zip(one.outputs, other.outputs, strict=True):
            if one.target:  # made in Python, by no node
                self.new(x.value, y.value)
            self.value(x.value, y.value)
            self.all(x.axes, y.axes)
        for mine_, theirs_ in list(self.axes.items()):
            self._sizes(mine_, theirs_)

    def _sizes(self, one: Axis, other: Axis) -> None:
        if (one.bound is None) != (other.bound is None):
            bounded = one if other.bound is None else other
            raise _Differs(f"`{one.name}` is {'bounded' if bounded is other else 'not bounded'}")
        if one.size is not None and other.size is not None:
            known = set(axes_in(one.size)) <= set(self.axes), set(axes_in(other.size)) <= set(self.back)
            if known == (True, True):
                self.static(one.size, other.size)
            elif any(known):
                raise _Differs(f"`{one.name}` is derived otherwise")
        elif one.size is not None or other.size is not None:
            derived, known_axes = (one, set(self.axes)) if one.size is not None else (other, set(self.back))
            assert derived.size is not None
            inside = bool(axes_in(derived.size)) and set(axes_in(derived.size)) <= known_axes
            if derived.extent is None or inside:  # the class works it out from sizes that it is given
                raise _Differs(f"`{one.name}` is {'not derived' if derived is one else 'derived'}")

    def nodes(self, one: Node, other: Node) -> None:
        match one, other:
            case Constant(), Constant():
                self.static(one.value, other.value)
                self.new(one.out, other.out)
            case Positions(), Positions():
                self.axis(one.axis, other.axis)
                self.new(one.out, other.out)
            case Parameter(), Parameter():
                self.new(one.out, other.out)
            case Apply(), Apply():
                self._ops(one, other)
            case (Call() | Scan(), Call() | Scan()) if type(one) is type(other):
                self._calls(one, other)
            case Repeat(), Repeat():
                self._repeats(one, other)
            case _:
                raise _Differs(_OTHERWISE)

    def _ops(self, one: Apply, other: Apply) -> None:
        if one.op != other.op or len(one.operands) != len(other.operands) or (one.mask is None) != (other.mask is None):
            raise _Differs(_OTHERWISE)
        for a, b in zip(one.operands, other.operands, strict=True):
            self.value(a, b)
        if one.mask is not None and other.mask is not None:
            self.value(one.mask, other.mask)
        for mine, theirs in ((one.axes, other.axes), (one.made, other.made), (one.each, other.each)):
            self._built(*self.all(mine, theirs))
        for name in one.options:
            self.static(one.options[name], other.options[name])
        self.new(one.out, other.out)

    def _calls(self, one: Call | Scan, other: Call | Scan) -> None:
        if one.name != other.name:
            raise _Differs(_OTHERWISE)
        said = told_apart(one.graph, other.graph)
        if said is not None:
            raise _Differs(said)
        for a, b in zip(one.args, other.args, strict=True):
            self.value(a, b)
        for (_, mine), (_, theirs) in zip(one.axes, other.axes, strict=True):
            self.axis(mine, theirs)
        for (_, number), (_, another) in zip(one.consts, other.consts, strict=True):
            self.static(number, another)
        if isinstance(one, Scan) and isinstance(other, Scan):
            self.axis(one.axis, other.axis)
            if one.steps != other.steps or one.states != other.states:
                raise _Differs(_OTHERWISE)
        for out, their in zip(one.outs, other.outs, strict=True):
            self.new(out, their)

    def _repeats(self, one: Repeat, other: Repeat) -> None:
        if one.variant != other.variant or one.carried != other.carried or len(one.args) != len(other.args):
            raise _Differs("its repeats run otherwise")
        self.static(one.count, other.count)
        for a, b in zip(one.args, other.args, strict=True):
            self.value(a, b)
        if one.index is not None and other.index is not None:
            self.consts[one.index] = other.index
        for body, another in zip(one.bodies, other.bodies, strict=True):
            inner = _Pair(self.lifted, self.lifted_there, self.axes, self.back, self.consts)
            inner.graphs(body, another)
        for out, their in zip(one.outs, other.outs, strict=True):
            self.new(out, their)

    # -- what stands for what ------------------------------------------------------------------------------------

    def new(self, one: Value, other: Value) -> None:
        """A value made. What of it decides the code: its element, whether it is a number, or a float64 table."""
        name = f"`{one.name}`" if one.name else "a value of its body"
        self._elements(one.type.element, other.type.element, name)
        if (one.role is Role.CONSTANT) != (other.role is Role.CONSTANT):
            raise _Differs(f"{name} is {'a number' if other.role is Role.CONSTANT else 'no number'}")
        if one.type.element is Scalar.REAL and (one.role <= Role.TABLE) != (other.role <= Role.TABLE):
            tells = "depends on indices alone" if other.role <= Role.TABLE else "depends on more than indices"
            raise _Differs(f"{name} {tells}")
        self.values[one.id] = other.id

    def _elements(self, one: Element, other: Element, name: str) -> None:
        if isinstance(one, IndexInto) and isinstance(other, IndexInto):
            self.axis(one.axis, other.axis)
        elif one != other:
            raise _Differs(f"{name} has elements of another kind")

    def value(self, one: Value, other: Value) -> None:
        if self.values.get(one.id) != other.id:
            raise _Differs(_OTHERWISE)

    def axis(self, one: Axis, other: Axis) -> None:
        if self.axes.setdefault(one, other) != other or self.back.setdefault(other, one) != one:
            raise _Differs("two of its axes are one")

    def all(self, one: Sequence[Axis], other: Sequence[Axis]) -> tuple[list[Axis], list[Axis]]:
        """Those that the calls do not lift over, one for one."""
        mine = [axis for axis in one if axis not in self.lifted]
        theirs = [axis for axis in other if axis not in self.lifted_there]
        if len(mine) != len(theirs):
            raise _Differs(_OTHERWISE)
        for a, b in zip(mine, theirs, strict=True):
            self.axis(a, b)
        return mine, theirs

    def static(self, one: Static, other: Static) -> None:
        match one, other:
            case Literal(), Literal():
                if repr(one.value) != repr(other.value):
                    raise _Differs(f"a number is {_number(other.value)}, and not {_number(one.value)}")
            case SizeOf(), SizeOf():
                self.axis(one.axis, other.axis)
                self._built([one.axis], [other.axis])
            case ConstOf(), ConstOf():
                if self.consts.setdefault(one.const, other.const) != other.const:
                    raise _Differs(_OTHERWISE)
                if one.const.value != other.const.value:
                    mine, theirs = _number(one.const.value), _number(other.const.value)
                    raise _Differs(f"`{one.const.name}` is {theirs}, and not {mine}")
            case Arith(), Arith() if one.op == other.op and len(one.args) == len(other.args):
                for a, b in zip(one.args, other.args, strict=True):
                    self.static(a, b)
            case _:
                raise _Differs("a number is another")

    def _built(self, one: Iterable[Axis], other: Iterable[Axis]) -> None:
        """Sizes of depths are known when a class is made."""
        for a, b in zip(one, other, strict=False):
            if not a.is_width and a.extent != b.extent:
                mine, theirs = a.extent or "one that a call tells", b.extent or "that a call tells"
                raise _Differs(f"`{a.name}` has size {theirs}, and not {mine}")


def _number(value: Number | None) -> str:
    """A const, or a number as written, in words."""
    return "a number that depends on a pass or a run" if value is None else show_static(Literal(value))
