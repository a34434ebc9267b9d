"""What a mask lets through, for readers of padding: which truth values of inputs surely hold where one that is made of
them does, and up to which place, counted by an input, there are items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ...graph.core.term import exactly, pointwise
from ...graph.nodes import Apply, Input
from ...graph.traits import Arrange, Complement, Conjunction, Disjunction, IndexMap, Pointwise, Sum
from ...sizes.axes import Axis, Kind
from ...sizes.forms import LinearForm
from ...sizes.predicates import Cases, shared

Named = Callable[[Iterable[Axis]], tuple[Axis, ...]]
Items = frozenset[tuple[Axis, int]]
"""Axes along which the items are those of a width of an input, by its number; by `-3 - number`, of its opposite."""

NONE: Items = frozenset()


class Known(NamedTuple):
    """items: whose items those of a value are, or which truth values have a part in it.

    true, false: which truth values surely hold where it is true, and where it is false, each along an axis.
    form: of a whole number, what it is in places and in inputs that are numbers of items.
    """

    items: Items = NONE
    true: Items = NONE
    false: Items = NONE
    form: LinearForm | None = None


NOTHING = Known()


def implied(node: Apply, known: list[Known], named: Named) -> tuple[Items, Items]:
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


class Counts:
    """The inputs that are whole numbers, by number, and what each says: `place < n + more`.

    units: what stands for one in forms. more: of each what has been seen.
    """

    def __init__(self, inputs: dict[int, Input]) -> None:
        self.units = {Axis(-1 - n, one.name, Kind.WIDTH, one.name, None, None, None, -1 - n, None): n
                      for n, one in inputs.items()}  # fmt: skip
        self.more: dict[int, set[int]] = {n: set() for n in inputs}

    def form(self, node: Apply, known: list[Known], named: Named) -> LinearForm | None:
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

    def compared(self, node: Apply, known: list[Known], items: Items) -> Known:
        """A comparison, which may say up to where, or from where on, there are items."""
        forms = [each.form for each in known if each.form is not None]
        if len(forms) < len(known) or node.traits.meaning is None:
            return Known(items)
        term = pointwise(node.traits.meaning, [exactly(form) for form in forms])
        true, false = self._ends(term.true), self._ends(term.false)
        return Known(items | true | frozenset((axis, -3 - n) for axis, n in false - true), true, false)

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
