"""Masks of places that do not mask (W0525): a comparison that holds at all places, or at none, whatever the sizes; and
an offset to scores that is 0 wherever the mask lets through.

Places are bounded by the sizes of their axes, and nothing else is known: numbers that a config may set, and sizes that
are other numbers elsewhere, decide nothing here. A place that is compared with the ends of its own axis is left alone:
that is written as a reminder, `0 <= past`.

And, for readers of padding, what masks let through: which truth values of inputs surely hold where one made of them
does, and up to which place, counted by an input, there are items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ....dsl.base.records import replace
from ...base.problems import Problem
from ...graph.core.index import index_of
from ...graph.core.kept import kept
from ...graph.core.term import UNKNOWN, ZERO, Term, exactly, larger_of, pointwise
from ...graph.nodes import Apply, Constant, Graph, Input, Positions, nested
from ...graph.traits import (
    Arrange,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Function,
    IndexMap,
    Limited,
    Magnitude,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Sum,
)
from ...graph.values import Role, Value
from ...problems.plain import Plain
from ...sizes.axes import Arith, Axis, Kind, Literal, SizeOf, Static
from ...sizes.forms import LinearForm, holds, upper_bounds
from ...sizes.predicates import Cases, Facts, shared

_CLIPS = (Extreme, Limited, Function)


def masks_of_places(graph: Graph) -> Iterator[Problem]:
    """What compares places in vain, in a graph and all that it calls."""
    for each in nested(graph):
        yield from _compared(each)


@kept
def _compared(graph: Graph) -> tuple[Problem, ...]:
    return tuple(_Places(graph).problems())


class _Places:
    def __init__(self, graph: Graph) -> None:
        self.index = index_of(graph)
        self.ops = [node for node in graph.nodes if isinstance(node, Apply)]
        self.terms: dict[int, Term] = {}

    def problems(self) -> Iterator[Problem]:
        for node in self.ops:
            match node.traits.meaning:
                case Compared(sign) if node.out.role is Role.TABLE and len(node.out.type.axes) > 1:
                    always = _always(sign, *map(self.term, node.operands))
                    if always is not None:
                        yield Plain.COMPARED_IN_VAIN.at(node.span, "all places" if always else "no place")
        if any(node.out.role is Role.TABLE and isinstance(node.traits.meaning, _CLIPS) for node in self.ops):
            for node in self.ops:
                if isinstance(node.traits.reads, Normalise) and node.mask is not None:
                    yield from self._offsets(node, self.term(node.mask).true)

    def term(self, value: Value) -> Term:
        """What is known of a number or a truth value of places."""
        if value.id not in self.terms:
            self.terms[value.id] = self._term(value)
        return self.terms[value.id]

    def _term(self, value: Value) -> Term:
        match self.index.maker(value):
            case Positions(axis):
                return exactly(LinearForm.index(_open(axis)))
            case Constant(static):
                form = _of_sizes(static)
                return UNKNOWN if form is None else exactly(form)
            case Apply() as node if isinstance(node.traits.reads, Arrange | Pointwise):
                return self._made(node, [self.term(operand) for operand in node.operands])
            case _:
                return UNKNOWN

    def _made(self, node: Apply, given: list[Term]) -> Term:
        match node.traits.reads:
            case Arrange(IndexMap.NEW):
                return given[0]
            case Arrange(IndexMap.SAME):
                return given[0].renamed(dict(zip(node.axes, map(_open, node.made), strict=True)), {})
            case Pointwise(Magnitude()) if (form := given[0].form) is not None:
                return Term(lowers=(ZERO,), uppers=larger_of(_most(form), _most(-form)))
            case Pointwise(Sum() | Compared() | Conjunction() as meaning):
                return pointwise(meaning, given)
            case _:
                return UNKNOWN

    def _offsets(self, softmax: Apply, cases: Cases) -> Iterator[Problem]:
        """Differences of places that are clipped to 0 on the side that the mask lets through."""
        summands = [softmax.operands[0]]
        for each in summands:  # grows as it goes
            node = self.index.op(each)
            if node is None:
                continue
            if isinstance(node.traits.meaning, Sum | Product | Quotient) or isinstance(node.traits.reads, Arrange):
                summands += node.operands
            elif (turned := self._zero_in(node, cases)) is not None:
                less, more, text = turned
                yield Plain.OFFSET_ZERO.at(node.span, less, more, text, there=softmax.span)

    def _zero_in(self, node: Apply, cases: Cases) -> tuple[Axis, Axis, str] | None:
        """Of a clipped difference of two places that is 0 in all these cases: the one that is less there, the other,
        and the difference turned round.
        """
        meaning, parts = self._clip(node)
        if meaning is None or not cases or not all(_is_zero(pointwise(meaning, parts, case), case) for case in cases):
            return None
        for form in (part.form for part in parts if part.form is not None):
            by = {form.coefficient(axis).value: axis for axis in form.indices}
            falls, rises = (all(holds(each, case) for case in cases) for each in (-form, form))
            if len(form.items) == 2 and by.keys() == {1, -1} and falls is not rises:
                less, more = (by[1], by[-1]) if falls else (by[-1], by[1])
                return less, more, f"{by[-1].name} - {by[1].name}"
        return None

    def _clip(self, node: Apply) -> tuple[Extreme | None, list[Term]]:
        """What cuts numbers off, if it does, as the larger or the smaller of these."""
        terms = [self.term(operand) for operand in node.operands]
        match node.traits.meaning, terms:
            case Extreme() as meaning, _:
                return meaning, terms
            case Limited(), [one, low, high]:
                return Extreme(low.form == ZERO), [one, low if low.form == ZERO else high]
            case Function(zero=True, least=0, straight=True), _:
                return Extreme(largest=True), [*terms, exactly(ZERO)]
            case _:
                return None, terms


def _most(form: LinearForm) -> tuple[LinearForm, ...]:
    """What it is at most, whatever the places."""
    return upper_bounds(form, form.indices, (), lambda axis: True)


def _is_zero(term: Term, case: Facts) -> bool:
    lowest = any(holds(form, case) for form in term.lowers)
    return lowest and any(holds(-form, case) for form in term.uppers)


def _always(sign: str, one: Term, other: Term) -> bool | None:
    """Whether a comparison holds everywhere, or nowhere; None if neither is known."""
    if sign in (">", ">="):
        one, other = other, one
    gap = pointwise(Sum((1, -1)), (one, other))

    def least(number: int) -> bool:
        return any(holds(form - LinearForm.number(number)) for form in gap.lowers)

    def most(number: int) -> bool:
        return any(holds(LinearForm.number(number) - form) for form in gap.uppers)

    if sign in ("==", "!="):
        return sign == "!=" if least(1) or most(-1) else None
    strict = "=" not in sign
    return True if most(-strict) else False if least(1 - strict) else None


def _open(axis: Axis) -> Axis:
    """The same of any size: what it is here says nothing of elsewhere."""
    return replace(axis, extent=None, size=None)


def _of_sizes(static: Static) -> LinearForm | None:
    """A number made of sizes, and of 0 and 1: any other may be a setting."""
    match static:
        case Literal(value=0 | 1 | -1 as number):
            return LinearForm.number(int(number))
        case SizeOf(axis):
            return LinearForm.extent(_open(axis))
        case Arith(meaning=Sum(times), args=args):
            parts = [_of_sizes(arg) for arg in args]
            return pointwise(Sum(times), [UNKNOWN if part is None else exactly(part) for part in parts]).form
        case _:
            return None


# -- what a mask lets through ------------------------------------------------------------------------------------------

Named = Callable[[Iterable[Axis]], tuple[Axis, ...]]
Items = frozenset[tuple[Axis, int]]
"""Axes along which the items are those of a width of an input, by its number; by `-3 - number`, of its opposite."""

NONE: Items = frozenset()


class KnownTruth(NamedTuple):
    """items: whose items those of a value are, or which truth values have a part in it.

    true, false: which truth values surely hold where it is true, and where it is false, each along an axis.
    form: of a whole number, what it is in places and in inputs that are numbers of items.
    """

    items: Items = NONE
    true: Items = NONE
    false: Items = NONE
    form: LinearForm | None = None


NOTHING = KnownTruth()


def implied(node: Apply, known: list[KnownTruth], named: Named) -> tuple[Items, Items]:
    """Which truth values surely hold where a result is true, and where it is false."""
    if not any(each.true or each.false for each in known):
        return NONE, NONE
    one, *others = known
    match node.traits.reads:
        case Pointwise(Complement()):
            return one.false, one.true
        case Pointwise(Conjunction()):
            return one.true | others[0].true, one.false & others[0].false
        case Pointwise(Disjunction()):
            return one.true & others[0].true, one.false | others[0].false
        case Arrange(IndexMap.SAME):
            names = dict(zip(named(node.axes), named(node.made), strict=True))
            true, false = (frozenset((names.get(axis, axis), n) for axis, n in of) for of in (one.true, one.false))
            return true, false
        case Pointwise(Sum((1,))) | Arrange(IndexMap.NEW):
            return one.true, one.false
        case _:
            return NONE, NONE


class ItemCounts:
    """The inputs that are whole numbers, by number, and what each says: `place < n + more`.

    units: what stands for one in forms. more: of each what has been seen.
    """

    def __init__(self, inputs: dict[int, Input]) -> None:
        self.units = {Axis(-1 - n, one.name, Kind.WIDTH, one.name, None, None, None, -1 - n, None): n
                      for n, one in inputs.items()}  # fmt: skip
        self.more: dict[int, set[int]] = {n: set() for n in inputs}

    def form(self, node: Apply, known: list[KnownTruth], named: Named) -> LinearForm | None:
        """Of a number made of places and counts."""
        forms = [each.form for each in known if each.form is not None]
        if len(forms) < len(known) or not forms:
            return None
        match node.traits.reads:
            case Pointwise(meaning):
                return pointwise(meaning, [exactly(form) for form in forms]).form
            case Arrange(IndexMap.NEW):
                return forms[0]
            case Arrange(IndexMap.SAME):
                return forms[0].renamed(dict(zip(named(node.axes), named(node.made), strict=True)), {})
            case _:
                return None

    def compared(self, node: Apply, known: list[KnownTruth], items: Items) -> KnownTruth:
        """A comparison, which may say up to where, or from where on, there are items."""
        forms = [each.form for each in known if each.form is not None]
        if len(forms) < len(known) or node.traits.meaning is None:
            return KnownTruth(items)
        term = pointwise(node.traits.meaning, [exactly(form) for form in forms])
        true, false = self._ends(term.true), self._ends(term.false)
        return KnownTruth(items | true | frozenset((axis, -3 - n) for axis, n in false - true), true, false)

    def _ends(self, cases: Cases) -> Items:
        found = set[tuple[Axis, int]]()
        for fact in shared(cases) if cases else ():
            by = {axis: fact.coefficient(axis).value for axis in fact.indices}
            units, places = [axis for axis in by if axis in self.units], [axis for axis in by if axis not in self.units]
            if len(units) == len(places) == 1 and {by[units[0]], by[places[0]]} == {1, -1}:
                n, ends = self.units[units[0]], by[units[0]] == 1  # place <= n + constant, or place >= n - constant
                self.more[n].add(int(fact.constant) + 1 if ends else -int(fact.constant))
                found.add((places[0], n if ends else -3 - n))
        return frozenset(found)
