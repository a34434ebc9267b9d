"""Nodes of a body in the terms of who calls it: its arguments, axes and numbers put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, makes
from ...graph.term import Leaf, Number, Position, Predicate, Term, change, leaves
from ...graph.values import IndexInto, Type, Value
from ...sizes.arithmetic import substitute
from ...sizes.axes import Axis, Const, Static, axes_in
from ...sizes.ids import BROUGHT
from .same import spelling
from .walk import Fresh, with_predicate, with_results

_ids = count(BROUGHT)


class TargetBody:
    """A body under construction. A node that is brought into it is not made again if the body has an equal one.

    new_axes: axes that stand for own axes of the bodies that nodes come from.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.new_axes: list[Axis] = []
        self._fresh = Fresh(graph)
        self._known: dict[object, tuple[Value, ...]] = {}
        self._local: dict[object, Axis] = {}

    def add(self, node: Node) -> None:
        key = spelling(node)
        if key is not None:
            self._known.setdefault(key, makes(node))
        self.nodes.append(node)

    def bring(self, nodes: Sequence[Node], terms: Terms) -> None:
        """Makes these nodes of another body here; `terms.values` then says what became of their values."""
        for node in nodes:
            moved = terms.over(node)
            key = spelling(moved)
            outs = self._known.get(key)  # nodes without a spelling are never reused
            if outs is None:
                outs = tuple(map(self._fresh, makes(moved)))
                self.add(with_results(moved, outs))
            terms.values.update(zip((out.id for out in makes(node)), outs, strict=True))

    def local(self, key: object, make: Axis) -> Axis:
        """The axis of this body that stands for one of another; axes that are alike share it."""
        if key not in self._local:
            self._local[key] = make
            self.new_axes.append(make)
        return self._local[key]


@dataclass
class Terms:
    """What stands for the axes, numbers and values of a body where it is called.

    own: whether it has axes of its own; those of the body of a repeat are those around it.
    """

    caller: TargetBody
    graph: Graph
    axes: dict[Axis, Axis]
    consts: Mapping[Const, Static]
    values: dict[int, Value]
    own: bool = True

    def axis(self, axis: Axis) -> Axis:
        if axis not in self.axes and self.own and axis in self.graph.axes:
            size = None if axis.size is None else self.static(axis.size)
            number = next(_ids)
            family = next((a for a in self.graph.axes if a.id == axis.family and a != axis), None)
            made = replace(axis, id=number, size=size, family=(
                self.axis(family).family if family is not None else number if axis.family == axis.id else axis.family
            ))  # fmt: skip
            likeness = made.family if made.family != number else None
            self.axes[axis] = self.caller.local((self.graph.name, axis.name, axis.extent, size, likeness), made)
        return self.axes.get(axis, axis)

    def static(self, static: Static) -> Static:
        axes = {axis.id: self.axis(axis) for axis in axes_in(static)}
        return substitute(static, axes, {const.id: given for const, given in self.consts.items()})

    def type(self, type: Type) -> Type:
        element = type.element
        return Type(
            IndexInto(self.axis(element.axis)) if isinstance(element, IndexInto) else element,
            tuple(map(self.axis, type.axes)),
            frozenset(map(self.axis, type.broadcast_axes)),
        )

    def _predicate(self, seen: Predicate) -> Predicate:
        def moved(part: Position | Number | Leaf) -> Term:
            match part:
                case Position(axis):
                    return Position(self.axis(axis))
                case Number(static):
                    return Number(self.static(static))
                case Leaf(value):
                    return replace(part, value=self.values[value.id])

        term = change(seen.term, moved)
        assert term is not None
        return Predicate(self.axis(seen.q), self.axis(seen.k), term)

    def over(self, node: Node) -> Node:
        """The node in the caller's terms; what it makes still has the ids of the body."""
        outs = tuple(replace(out, type=self.type(out.type)) for out in makes(node))
        match node:
            case Constant():
                return replace(node, value=self.static(node.value), out=outs[0])
            case Positions():
                return replace(node, axis=self.axis(node.axis), out=outs[0])
            case Apply():
                moved = replace(
                    node,
                    operands=tuple(self.values[value.id] for value in node.operands),
                    mask=None if node.mask is None else self.values[node.mask.id],
                    out=outs[0],
                    axes=tuple(map(self.axis, node.axes)),
                    made=tuple(map(self.axis, node.made)),
                    each=tuple(map(self.axis, node.each)),
                    options={name: self.static(value) for name, value in node.options.items()},
                    seen=None if node.seen is None else self._predicate(node.seen),
                )
                if node.seen is None or moved.seen is None:
                    return moved
                own = len(node.operands) - len(leaves(node.seen.term))
                return with_predicate(replace(moved, operands=moved.operands[:own]), moved.seen)
            case Call():
                return replace(
                    node,
                    args=tuple(self.values[value.id] for value in node.args),
                    outs=outs,
                    axes=tuple((formal, self.axis(actual)) for formal, actual in node.axes),
                    consts=tuple((const, self.static(static)) for const, static in node.consts),
                )
            case _:
                raise AssertionError(f"{type(node).__name__} makes no table")
