"""One op in the relation of items: what its result reads, from what its operands read, by `access`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import reduce

from ....dsl.base.records import record, replace
from ...sizes.axes import Axis
from ...sizes.forms import LinearForm, holds, upper_bounds
from ...sizes.predicates import ALWAYS, Cases, Facts, at_least_zero, both, put, shared, without
from ..nodes import Apply
from ..nodes import reads as operands_of
from ..traits import Arrange, Choice, Gather, IndexMap, Normalise, Pointwise, Reduce, Running, Validity, Window
from ..values import Role, Value
from .access import ZERO, Holds, Read, access
from .flow import Here
from .following import Followed
from .term import UNKNOWN, Term, at_least, larger_of, pointwise, relevant
from .ways import NOTHING, By, Forms, Items, PlaceBounds, Way, Ways, Why, united

Condition = tuple[tuple[int, Holds], ...]


@record(eq=False)
class OperandRead:
    """One operand as it is read: its ways, those of them that are changed, and the axes whose number of items shows.

    told: where the item that is read is the last one that shows; sized: whichever is read.
    behind: where the item that is read stands behind them.
    at, free, given: as in `Read`, with what is known of what a lookup picks; limits: what that is at most; picked: the
    name of the index, where data say which items that is.
    """

    ways: Ways
    changed: Set[Way]
    told: tuple[Axis, ...]
    sized: tuple[Axis, ...]
    at: Mapping[Axis, LinearForm]
    free: frozenset[Axis]
    given: Facts
    limits: tuple[LinearForm, ...]
    behind: tuple[Axis, ...] = ()
    picked: frozenset[str] = frozenset()


@record(eq=False)
class OpReading:
    """One op, in the graph that `here` says. given: what holds wherever its result is read."""

    following: Followed
    node: Apply
    here: Here[Items]
    given: Facts = frozenset()

    def made(self) -> Items:
        """What is known of the result."""
        node = self.node
        parts = [self.here.known[value.id] for value in operands_of(node)]
        if node.traits.checks:
            return NOTHING
        match node.traits.reads:
            case Pointwise(Validity()):
                return Items(parts[0].ways, Term(self._ranks(node.operands[0], parts[0].term)))
            case Pointwise():
                return self._pointwise(parts)
            case Reduce() | Normalise() | Running() | Gather() | Window() | Arrange():
                reads = access(node)
                return Items(united(self._ways(reads, parts)), self._number(parts, reads))
            case _:
                axes = [axis for value in operands_of(node) for axis in value.type.axes]
                graph, site = self.here.index.graph, self.here.site
                return Items(self.following.anything(By.ANYTHING, node, graph, parts, axes, site))

    # -- item by item ----------------------------------------------------------------------------------------------

    def _pointwise(self, parts: Sequence[Items]) -> Items:
        """What each operand is where it is read; one that cannot matter, such as a size above an index, is not read."""
        meaning = self.node.traits.meaning
        assert meaning is not None
        parts = list(parts)
        for read in access(self.node) if meaning == Choice() else ():
            cases = _cases(parts, read.when)
            if cases and read.when:
                parts[read.operand] = self._again(self.node.operands[read.operand], self.given | shared(cases))
        terms = [part.term for part in parts]
        ways = united(*(parts[place].ways for place in relevant(meaning, terms, self.given)))
        term = pointwise(meaning, terms, self.given)
        return Items(ways, Term(term.true) if self.node.traits.random else term)  # multiplied: 0 stays 0

    def _again(self, value: Value, given: Facts) -> Items:
        """What is known of a value where these facts hold: made again, as far back as that is of use."""
        found, node = self.here.known[value.id], self.here.index.op(value)
        if not given or node is None or node.traits.random:
            return found
        step = replace(self, node=node, given=given)
        match node.traits.reads:
            case Pointwise():
                known = {each.id: self._again(each, given) for each in node.operands}
                found = replace(step, here=self._knowing(known)).made()
            case Gather():
                index = node.operands[1]
                found = replace(step, here=self._knowing({index.id: self._again(index, given)})).made()
            case Arrange(IndexMap.NEW):
                found = self._again(node.operands[0], given)
        return Items(Ways(_raised(way, given) for way in found.ways), found.term)

    def _knowing(self, known: Mapping[int, Items]) -> Here[Items]:
        return Here(self.here.index, self.here.site, {**self.here.known, **known})

    # -- across items ----------------------------------------------------------------------------------------------

    def _ways(self, reads: Sequence[Read], parts: Sequence[Items]) -> Iterator[Way]:
        """What is read: in each case in which anything is, of one operand after the other."""
        conditions: dict[Condition, list[OperandRead]] = {}
        seen = {axis for part in parts for way in part.ways for form in way.forms for axis in form.indices}
        for read in reads:
            conditions.setdefault(read.when, []).append(self._moving(read, parts, seen))
        for when, several in conditions.items():
            cases = _cases(parts, when) if any(one.changed or one.told or one.sized for one in several) else ALWAYS
            for case in cases:
                for look in (self._in_case, self._tells):
                    for one in several:
                        yield from look(one, case, len(cases) == 1)
            if not cases:
                for one in several:
                    yield from self._never(one)

    def _moving(self, read: Read, parts: Sequence[Items], seen: Set[Axis]) -> OperandRead:
        """The same read at hand: with what a lookup picks, and which of the ways it changes.

        seen: the axes along which an operand reads items.
        """
        ways, axes, at, given = parts[read.operand].ways, read.at.keys() | read.free, dict(read.at), set(read.given)
        limits: tuple[LinearForm, ...] = ()
        picked = frozenset[str]()
        for operand, index in read.picked:
            limits = self._picked(at, given, index, operand, parts[operand].term)
            if self.following.whole and (by := operands_of(self.node)[operand]).role > Role.TABLE:
                picked = frozenset({_called(by)})
        changed = {way for way in ways if any(form.indices & axes for form in way.forms)} if seen & axes else set()
        told, sized = (tuple(sorted(some, key=lambda axis: axis.id)) for some in (read.tells - read.sized, read.sized))
        told = tuple(axis for axis in told if self._is_news(axis, ways))
        behind = tuple(sorted(read.behind, key=lambda axis: axis.id)) if self.following.whole else ()
        return OperandRead(ways, changed, told, sized, at, read.free, frozenset(given), limits, behind, picked)

    def _in_case(self, one: OperandRead, case: Facts, alone: bool) -> Iterator[Way]:
        """The items of an operand that are read."""
        graph, site, at = self.here.index.graph, self.here.site, one.at
        facts = one.given | {fact.put(at) for fact in case} if one.changed else one.given
        for way in one.ways:
            if way in one.changed:
                why = Why(By.READ, self.node, graph, way, site, case, alone, one.limits, at=graph)
                way = self.following.moved(way, at, one.free, facts, site, why, one.picked)
            if way.source.number is not None or not self._is_there_anyway(way):
                yield way

    def _tells(self, one: OperandRead, case: Facts, alone: bool) -> Iterator[Way]:
        """That there are items up to those that are read: of an axis whose end shows, even where they are all alike."""
        graph, site, at = self.here.index.graph, self.here.site, one.at
        why = Why(By.TELLS, self.node, graph, None, site, case, alone, at=graph)
        facts = one.given | {fact.put(at) for fact in case} if one.told else one.given
        for axis in one.told:
            last = self.following.highest((LinearForm.index(axis),), at, one.free, facts, site)
            if not self._is_own(axis, last):
                yield from self.following.sizes((axis,), site, last, why)
        yield from self.following.sizes(one.sized, site, why=why)
        for axis in one.behind:
            yield from self.following.sizes((axis,), site, frozenset({LinearForm.index(self.node.made[0])}), why)

    def _never(self, one: OperandRead) -> Iterator[Way]:
        """Where nothing is read: of items that there are, none."""
        none = dict.fromkeys(one.free, ZERO)
        at = {axis: form.put(none) for axis, form in one.at.items()} | none
        for way in one.ways:
            yield self.following.moved(way, at, frozenset(), frozenset(), self.here.site, way.why)

    def _is_there_anyway(self, way: Way) -> bool:
        """Whether it says of items before the result's own that they are there: that they are is no news."""
        (whole,) = way.source.places[0].indices
        return self._is_own(whole, way.at[0].uppers)

    def _is_news(self, axis: Axis, ways: Ways) -> bool:
        """Whether it says more that an item is there than that it is read, of a width whose number is followed."""
        if axis.extent is not None:
            return False
        there = self.following.told_along(axis, self.here.site)
        if there is not None:
            read = (way.at[0].uppers for way in ways if way.source.number is not None)
            if any(uppers and all(form == there or holds(form - there) for form in uppers) for uppers in read):
                return False
        return bool(self.following.sizes((axis,), self.here.site))

    def _is_own(self, axis: Axis, uppers: Forms) -> bool:
        """Whether items of an axis up to there are no more than those up to the result's own."""
        family = self.here.site.axis(axis).family
        own = (form.offset for form in uppers)
        return any(one is not None and one[1] <= 0 and self.here.site.axis(one[0]).family == family for one in own)

    def _picked(
        self, at: dict[Axis, LinearForm], given: set[LinearForm], index: Axis, operand: int, known: Term
    ) -> tuple[LinearForm, ...]:
        """Puts in what is known of an index, and gives what it is at most. One less than 0 would count from the end."""
        sure = operands_of(self.node)[operand].role <= Role.TABLE or at_least(known, ZERO)
        if sure and known.form is not None:
            at[self.node.axes[0]] = known.form
        elif sure:
            given |= {upper - LinearForm.index(index) for upper in known.uppers}
            given |= {LinearForm.index(index) - lower for lower in known.lowers}
        return known.uppers if sure else ()

    # -- what the result is ----------------------------------------------------------------------------------------

    def _number(self, parts: Sequence[Items], reads: Sequence[Read]) -> Term:
        node, mask = self.node, parts[-1].term if self.node.mask is not None else None
        match node.traits.reads:
            case Reduce() as how:
                return self._reduced(how, reads[0], parts)
            case Normalise(weights=True, logarithm=False) if mask is not None:
                return Term(mask.true)
            case Gather():
                x, index, axes = parts[0].term, parts[1].term.form, {node.axes[0]}
                if index is None:
                    return Term(without(x.true, axes), ALWAYS if mask else without(x.false, axes))
                where = {node.axes[0]: index}
                return Term(put(x.true, where), ALWAYS if mask else put(x.false, where))
            case Arrange() if reads[0].moves:
                return self._carried(parts[0].term, reads[0])
            case _:
                return UNKNOWN

    def _carried(self, term: Term, read: Read) -> Term:
        """Of the same item, elsewhere."""
        if self.node.traits.reads in (Arrange(IndexMap.SAME), Arrange(IndexMap.NEW)):
            names = dict(zip(self.node.axes, self.node.made, strict=True)) if read.at else {}
            return term.renamed(names, {})
        true, false = (tuple(case | read.given for case in put(cases, read.at)) for cases in (term.true, term.false))
        gone = set(read.free)
        return Term(without(true, gone), without(false, gone)) if gone else Term(true, false)

    def _reduced(self, how: Reduce, read: Read, parts: Sequence[Items]) -> Term:
        node, axes = self.node, set(self.node.axes)
        biased = len(node.weights) > how.multiplies  # something is added to the product
        zero = how.skips_zeros and not biased and how.combination is not None and how.combination.neutral == 0
        true = without(_cases(parts, read.when), axes) if zero else ALWAYS
        if not how.indices:
            return Term(true)
        at, kept = LinearForm.index(node.axes[0]), parts[-1].term.true if node.mask is not None else ALWAYS
        found = [
            upper_bounds(at, axes, case, lambda axis: self.following.is_bound(axis, self.here.site)) for case in kept
        ]  # of a pick of something; else there is none
        return Term(true, lowers=(ZERO,), uppers=reduce(larger_of, found) if found else (ZERO,))

    def _ranks(self, pick: Value, term: Term) -> Cases:
        """Where there are picks of something: items up to u are no more than u + 1, so that their ranks are up to u."""
        maker, found = self.here.index.op(pick), ALWAYS
        if maker is None or not isinstance(maker.traits.reads, Reduce) or not maker.made:
            return found
        for upper in term.uppers:
            found = both(found, at_least_zero(upper - LinearForm.index(maker.made[0])))
        return found


def _called(value: Value) -> str:
    """The name of a value, or the text that makes it."""
    return value.name or ("" if value.span is None else " ".join(value.span.text.split()))


def _cases(parts: Sequence[Items], when: Condition) -> Cases:
    """What holds where this does."""
    found = ALWAYS
    for operand, holds_so in when:
        known = parts[operand].term
        found = both(found, known.false if holds_so is Holds.FALSE else known.true)
    return found


def _raised(way: Way, given: Facts) -> Way:
    """Where these facts hold: what is a number is at most as much as an index that is at least that."""
    at = []
    for each in way.at:
        more = (form + fact for form in each.uppers if form.value is not None for fact in given)
        at.append(
            PlaceBounds(each.lowers, each.uppers | {form for form in more if form.constant <= 0 and form.indices})
        )
    return Way(way.source, tuple(at), way.why, way.picked)
