"""What a block makes of a state, where that is linear: sums of products of what does not hang on it.

    scale S + sum of u (p . S) + plus

S is a state as it was before the item, or as it leaves it; p . S a sum over some of its axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...graph.nodes import Apply, Constant, Graph, Node
from ...graph.traits import Arrange, IndexMap, Pointwise, Product, Quotient, Sum
from ...graph.values import Role, Scalar, Type, Value
from ...ops import op_meaning, op_named
from ...sizes.axes import Axis, Literal
from ..tools.walk import Fresh
from .widen import CONTRACT


@dataclass(frozen=True, slots=True)
class Summand:
    """A product of values, which may be none, times 1 or -1."""

    factors: tuple[Value, ...] = ()
    sign: int = 1

    def times(self, factors: Iterable[Value], sign: int = 1) -> Summand:
        return Summand((*self.factors, *factors), self.sign * sign)

    def having(self, axes: Iterable[Axis]) -> tuple[Value, ...]:
        """The factors with one of these axes."""
        return tuple(value for value in self.factors if {*axes}.intersection(value.type.axes))

    def without(self, axes: Iterable[Axis]) -> tuple[Value, ...]:
        return tuple(value for value in self.factors if not {*axes}.intersection(value.type.axes))


@dataclass(frozen=True, slots=True)
class RankOne:
    """`by` times the sum over `axes` of `of` times the state."""

    by: Summand
    of: Summand
    axes: frozenset[Axis]


@dataclass(frozen=True, slots=True)
class StateForm:
    """What is made of a state: the number of it among the states of a scan, and whether as it was before the item."""

    state: int
    before: bool
    scale: tuple[Summand, ...] = ()
    ranks: tuple[RankOne, ...] = ()
    plus: tuple[Summand, ...] = ()

    def times(self, factors: Sequence[Value], sign: int = 1) -> StateForm:
        return replace(
            self,
            scale=tuple(term.times(factors, sign) for term in self.scale),
            ranks=tuple(replace(rank, by=rank.by.times(factors, sign)) for rank in self.ranks),
            plus=tuple(term.times(factors, sign) for term in self.plus),
        )

    def added(self, other: StateForm) -> StateForm:
        return replace(
            self,
            scale=(*self.scale, *other.scale),
            ranks=(*self.ranks, *other.ranks),
            plus=(*self.plus, *other.plus),
        )


def is_product(node: Node | None) -> bool:
    """Whether it sums products over axes, and learns nothing."""
    return isinstance(node, Apply) and node.traits.reads == CONTRACT and not node.weights and node.mask is None


class Maker:
    """Makes nodes of a body. `makers`: what made each value, by its id. states: the axes of each state."""

    def __init__(self, graph: Graph, states: Sequence[Sequence[Axis]] = ()) -> None:
        self._fresh = Fresh(graph)
        self.states = states
        ops = [node for node in graph.nodes if isinstance(node, Apply)]
        self._contract = next((node.traits for node in ops if is_product(node)), None)
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}

    def add(self, node: Node, out: Value) -> Value:
        self.nodes.append(node)
        self.makers[out.id] = node
        return out

    def fresh(self, axes: Iterable[Axis], of: Sequence[Value], name: str | None = None) -> Value:
        """A real that hangs on these values."""
        role = max((value.role for value in of), default=Role.CONSTANT)
        value = Value(0, Type(Scalar.REAL, tuple(dict.fromkeys(axes))), role, name, of[0].span if of else None)
        return self._fresh(value)

    def number(self, number: int) -> Value:
        out = self._fresh(Value(0, Type(Scalar.INT, ()), Role.CONSTANT, None, None))
        return self.add(Constant(Literal(number), out), out)

    def apply(self, node: Apply) -> Value:
        return self.add(node, node.out)

    def _two(self, meaning: Product | Sum, x: Value, y: Value) -> Value:
        out = self.fresh((*x.type.axes, *y.type.axes), (x, y))
        return self.apply(Apply(op_meaning(meaning), (x, y), out))

    def product(self, term: Summand) -> Value:
        """The value of a term, the smallest factors first."""
        if not term.factors:
            return self.number(term.sign)
        first, *rest = sorted(term.factors, key=lambda value: len(value.type.axes))
        for value in rest:
            first = self._two(Product(), first, value)
        if term.sign < 0:
            first = self.apply(Apply(op_meaning(Sum((-1,))), (first,), self.fresh(first.type.axes, (first,))))
        return first

    def total(self, terms: Sequence[Summand]) -> Value:
        """The sum of terms: at least one."""
        first, *rest = sorted(terms, key=lambda term: -term.sign)
        made = self.product(first)
        for term in rest:
            made = self._two(Sum((1, term.sign)), made, self.product(replace(term, sign=1)))
        return made

    def dot(self, values: Sequence[Value], axes: Iterable[Axis]) -> Value:
        eaten = tuple(axes)
        kept = (axis for value in values for axis in value.type.axes if axis not in eaten)
        assert self._contract is not None  # what is contracted anew was contracted before
        return self.apply(Apply(self._contract, tuple(values), self.fresh(kept, values), axes=eaten))

    def factors(self, value: Value) -> Summand:
        """A value as a product: what multiplies or spreads is looked through."""
        match self.makers.get(value.id):
            case Apply(traits, (x, y)) if traits.reads == Pointwise(Product()) and _real(value):
                one, other = self.factors(x), self.factors(y)
                return one.times(other.factors, other.sign)
            case Apply(traits, (x,)) if traits.reads == Pointwise(Sum((-1,))) and _real(value):
                return self.factors(x).times((), -1)
            case Apply(traits, (x,)) if traits.reads == Arrange(IndexMap.NEW):
                return self.factors(x)
            case _:
                return Summand((value,))

    # -- what a node makes of a state ----------------------------------------------------------------------------

    def form(self, node: Node, forms: Mapping[int, StateForm], now: Mapping[int, Value]) -> StateForm | None:
        """What a node makes, if it is linear in one state.

        forms: of values that hang on one; now: the others, over all items.
        """
        if not isinstance(node, Apply) or node.mask is not None or node.weights or not _real(node.out):
            return None
        found = [forms.get(value.id) for value in node.operands]
        if any(form is None and value.id not in now for form, value in zip(found, node.operands, strict=True)):
            return None
        linear = [form for form in found if form is not None]
        free = [now[value.id] for form, value in zip(found, node.operands, strict=True) if form is None]
        match node.traits.reads:
            case Pointwise(Product()) if len(linear) == 1:
                term = self.factors(free[0])
                return linear[0].times(term.factors, term.sign)
            case Pointwise(Quotient(whole=False)) if found[0] is not None and len(linear) == 1:
                over = self.fresh(free[0].type.axes, free)
                one = self.number(1)
                return linear[0].times((self.apply(Apply(node.traits, (one, free[0]), over)),))
            case Pointwise(Sum(times)):
                made: StateForm | None = None
                for sign, form, value in zip(times, found, node.operands, strict=True):
                    if form is None:
                        term = self.factors(now[value.id])
                        form = replace(linear[0], scale=(), ranks=(), plus=(term,))
                    form = form.times((), sign)
                    if made is not None and (made.state, made.before) != (form.state, form.before):
                        return None
                    made = form if made is None else made.added(form)
                return made
            case _ if is_product(node) and len(linear) == 1:
                return self._contracted(linear[0], free, node.axes)
            case _:
                return None

    def _contracted(self, form: StateForm, free: Sequence[Value], axes: Sequence[Axis]) -> StateForm | None:
        given = Summand()
        for value in free:
            term = self.factors(value)
            given = given.times(term.factors, term.sign)
        ranks = []
        if form.scale:
            scale = form.scale[0] if len(form.scale) == 1 else self.factors(self.total(form.scale))
            ranks.append(RankOne(Summand(), given.times(scale.factors, scale.sign), frozenset(axes)))
        for rank in form.ranks:
            of = {*self.states[form.state], *(axis for value in rank.of.factors for axis in value.type.axes)}
            by = self._summed(rank.by.times(given.factors, given.sign), axes)
            if by is None or (of - rank.axes).intersection(axes):
                return None
            ranks.append(replace(rank, by=by))
        plus = [self._summed(term.times(given.factors, given.sign), axes) for term in form.plus]
        if None in plus:
            return None
        return replace(form, scale=(), ranks=tuple(ranks), plus=tuple(term for term in plus if term is not None))

    def _summed(self, term: Summand, axes: Sequence[Axis]) -> Summand | None:
        """A product summed over axes, each of which a factor has."""
        inside = term.having(axes)
        if not all(any(axis in value.type.axes for value in inside) for axis in axes):
            return None
        return Summand((*term.without(axes), self.dot(inside, axes)), term.sign)


def _real(value: Value) -> bool:
    return value.type.element is Scalar.REAL and not value.exact


def counting(attention: Apply, node: Apply) -> Apply:
    """What makes a node's result of an attention: the sum of what that weighs its values with."""
    return Apply(op_named("weighs"), (attention.out,), node.out, span=node.span)
