"""From the values of a graph to terms: arithmetic of positions is read through, blocks that make masks too.

What is no term becomes a leaf: data, learned masks, arithmetic of reals. A leaf that varies with queries and keys both
is a dense mask; `Leaf.why` then says what kept it from being read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..graph.nodes import Apply, Call, Constant, Graph, Node, Positions
from ..graph.term import LONGEST, WORDS, Leaf, Number, Position, Term, TermOp, change, leaves, positional
from ..graph.traits import (
    Arrange,
    Extreme,
    IndexMap,
    Meaning,
    Pointwise,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ..graph.values import IndexInto, Role, Scalar, Value
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, known
from ..sizes.axes import Number as Plain
from ..sizes.functions import OPERATIONS


@dataclass(eq=False)
class Reader:
    """The terms of one graph's values. `input_terms`: those of its inputs, where a caller knows more than the value."""

    graph: Graph
    input_terms: Mapping[int, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._makers: dict[int, Node] = {}
        for node in self.graph.nodes:
            if isinstance(node, Constant | Positions | Apply):
                self._makers[node.out.id] = node
            elif isinstance(node, Call):
                self._makers.update((out.id, node) for out in node.outs)
        self._terms: dict[int, Term] = {}

    def term(self, value: Value) -> Term:
        """The term of a value; a leaf if nothing more is known of it."""
        if value.id not in self._terms:
            self._terms[value.id] = self._read(value)
        return self._terms[value.id]

    def _read(self, value: Value) -> Term:
        if value.id in self.input_terms:
            return self.input_terms[value.id]
        node = self._makers.get(value.id)
        match node:
            case Positions(axis, _):
                return Position(axis)
            case Constant(static, _):
                return Number(static)
            case Apply():
                return self._apply(node)
            case Call():
                return self._call(node, value)
            case _:
                return Leaf(value, value.name or "")

    def _apply(self, node: Apply) -> Term:
        out = node.out
        match node.traits.reads:
            case Arrange(IndexMap.NEW):
                return self._same(node)
            case Pointwise(Sum((1,))) if _whole(out) and not node.traits.random:
                return self._same(node)
            case Arrange(IndexMap.SAME):
                names = dict(zip(node.axes, node.made, strict=True))
                inner = self.term(node.operands[0])
                return _over(inner, names) or Leaf(out, inner.name if isinstance(inner, Leaf) else "")
            case _ if not _whole(out):
                return Leaf(out, why="it is no arithmetic of whole numbers")
            case Pointwise(Rounded(up=False)):
                rounds = "it rounds what is no quotient of a whole number by a number"
                return self._quotient(node) or Leaf(out, why=rounds)
            case Pointwise(meaning) if meaning in WORDS:
                return self._operation(node, meaning)
            case _:
                return Leaf(out, why=f"`{_shown(node)}` is not read through" if out.role is Role.TABLE else "")

    def _same(self, node: Apply) -> Term:
        """The term of an op that takes each item of its result unchanged from its operand."""
        inner = self.term(node.operands[0])
        return inner if positional(inner) else Leaf(node.out)

    def _operation(self, node: Apply, meaning: Meaning) -> Term:
        out = node.out
        if not all(_whole(part) or part.role is Role.CONSTANT for part in node.operands):
            return Leaf(out, why="it compares real numbers")
        args = tuple(map(self.term, node.operands))
        if isinstance(meaning, Remainder | Quotient) and not _divisor(args[1]):
            return Leaf(out, why=f"the divisor of `{WORDS[meaning]}` is not a number")
        if isinstance(meaning, Product) and not any(_single(arg) for arg in args):
            return Leaf(out, why="it multiplies two positions")
        term = TermOp(meaning, args)
        if term.long:
            return Leaf(out, why=f"it is longer than {LONGEST} operations")
        # What varies along one axis alone is cheap to make, and read no further unless positions are in it.
        return term if positional(term) or len(_axes(out)) > 1 else Leaf(out)

    def _quotient(self, node: Apply) -> Term | None:
        """`floor(a / b)` of whole numbers, or `floor(a)`, which is a itself."""
        inner = node.operands[0]
        if _whole(inner):
            return self.term(inner)
        ratio = self._makers.get(inner.id)
        if not isinstance(ratio, Apply) or ratio.traits.reads != Pointwise(Quotient()):
            return None
        if not all(map(_whole, ratio.operands)):
            return None
        args = tuple(map(self.term, ratio.operands))
        if not _divisor(args[1]):
            return None
        return TermOp(Quotient(whole=True), args) if positional(args[0]) else Leaf(node.out)

    def _call(self, node: Call, value: Value) -> Term:
        """A block that makes a mask of positions: its own term, in the caller's axes and numbers."""
        if node.graph.kind != "block" or node.graph.target or not isinstance(value.type.element, Scalar):
            return Leaf(value)
        place = next(place for place, out in enumerate(node.outs) if out.id == value.id)
        given: dict[int, Term] = {}
        back = {actual: formal for formal, actual in node.axes}
        for item, arg in zip(node.graph.inputs, node.args, strict=True):
            term = self.term(arg)
            found = _over(term, back) if not isinstance(term, Leaf) else None
            given[item.value.id] = found or Leaf(item.value)
        inner = Reader(node.graph, given).term(node.graph.outputs[place].value)
        if not positional(inner):
            return Leaf(value)
        entering = {item.value: arg for item, arg in zip(node.graph.inputs, node.args, strict=True)}
        sizes = {formal.id: actual for formal, actual in node.axes}
        consts = {const.id: static for const, static in node.consts}
        axes = dict(node.axes)

        def outside(part: Position | Number | Leaf) -> Term | None:
            match part:
                case Position(axis):
                    return Position(axes.get(axis, axis))
                case Number(static):
                    return Number(substitute(static, sizes, consts))
                case Leaf(of):
                    return self.term(entering[of]) if of in entering else None

        found = change(inner, outside)
        if found is None:
            return Leaf(value, why=f"`{node.graph.name}` makes a part of it that is not read through")
        return (
            Leaf(value, why=f"it is longer than {LONGEST} operations")
            if isinstance(found, TermOp) and found.long
            else found
        )


def _axes(value: Value) -> list[Axis]:
    return [axis for axis in value.type.axes if axis not in value.type.broadcast_axes]


def _whole(value: Value) -> bool:
    """Whether the elements are whole numbers or truth values."""
    return isinstance(value.type.element, IndexInto) or value.type.element in (Scalar.INT, Scalar.BOOL)


def _single(term: Term) -> bool:
    """A number, the same for all items."""
    return isinstance(term, Number) or (isinstance(term, Leaf) and term.value.role is Role.CONSTANT)


def _divisor(term: Term) -> bool:
    number: Plain | None = None
    if isinstance(term, Number):
        number = known(term.static)
        return number is None or number > 0
    return _single(term)


def _over(term: Term, names: Mapping[Axis, Axis]) -> Term | None:
    """The term over other axes; None if it has data, whose axes cannot be replaced."""
    if leaves(term):
        return None

    def other(part: Position | Number | Leaf) -> Term | None:
        return Position(names.get(part.axis, part.axis)) if isinstance(part, Position) else part

    return change(term, other)


def _shown(node: Apply) -> str:
    """The op as specs write it."""
    match node.traits.reads:
        case Pointwise(Extreme() as meaning):
            return next(word for word, operation in OPERATIONS.items() if operation.meaning == meaning)
        case _:
            return node.op
