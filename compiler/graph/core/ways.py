"""Ways in which a value reads items: of which input, and between which bounds these stand.

What is followed of an input are *places*, forms over its indices; of each place bounds over the indices of the value
that reads it, a template domain (Sankaranarayanan, Sipma and Manna 2005). A way without bounds reads any item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto

from ....dsl.base.records import field, record, replace
from ...sizes.axes import Axis
from ...sizes.forms import LinearForm, holds, least
from ...sizes.limits import BOUNDS, ProofLimit, is_met
from ...sizes.polynomials import never_negative
from ...sizes.predicates import Facts
from ..nodes import Call, Graph, Input, Node, Repeat, Scan
from .index import Site
from .term import UNKNOWN, Term

Forms = frozenset[LinearForm]
ANY: Forms = frozenset()
Around = tuple[Call | Repeat | Scan, Graph]
"""What runs a graph, and the graph in which that node stands."""


@record
class ItemSource:
    """What may be read: an input of the outermost graph, or, without a number, how many items a width has.

    places: what is followed of the items that are read.
    """

    name: str
    number: int | None
    places: tuple[LinearForm, ...]


@record
class PlaceBounds:
    """Of one place: what it is at least, and at most, over the indices of the value that reads it."""

    lowers: Forms = ANY
    uppers: Forms = ANY

    @property
    def exact(self) -> LinearForm | None:
        """What it is, where that is known."""
        return next(iter(self.lowers & self.uppers), None)

    def within(self, other: PlaceBounds) -> bool:
        """Whether these bounds let nothing through that the others do not."""
        return all(any(_at_most(a, b) for a in self.uppers) for b in other.uppers) and all(
            any(_at_most(b, a) for a in self.lowers) for b in other.lowers
        )


UNBOUNDED = PlaceBounds()


class By(Enum):
    """Why something is read: what the last step of a way was."""

    INPUT = auto()  # it is an input
    NUMBER = auto()  # a size stands there
    READ = auto()  # an op reads other items than its own
    TELLS = auto()  # the number of items shows in what an op makes
    ANYTHING = auto()  # nothing is known of what is read
    LOOP = auto()  # each pass, or step, reads further
    LIMIT = auto()  # more than is followed


@record
class Why:
    """How a way came about: its last step, and the way as it was before.

    node:   of the step, in the graph `home` that runs at `site`; an input, where it begins there.
    before: None where the step is the first.
    case:   what holds wherever it is read; alone: there is no other case.
    limits: of an index that is looked up: what it is at most.
    along:  of an input: the axis along which it is followed, where that is one.
    at:     the graph in which the way is seen now; via: the nodes around the step, the innermost first, out to there.
    """

    by: By
    node: Node | Input | None
    home: Graph
    before: Way | None
    site: Site
    case: Facts = frozenset()
    alone: bool = True
    limits: tuple[LinearForm, ...] = ()
    along: Axis | None = None
    at: Graph = field(kw_only=True)
    via: tuple[Around, ...] = ()


@record
class Way:
    """Items of a source that are read, by the bounds of each of its places.

    picked: the indices, values of data, by which all that is read this way is looked up: their names in the text.
    """

    source: ItemSource
    at: tuple[PlaceBounds, ...]
    why: Why | None = field(default=None, compare=False, repr=False)
    picked: frozenset[str] = frozenset()

    def within(self, other: Way) -> bool:
        """Whether it reads nothing that the other one does not."""
        if self.source != other.source or not other.picked <= self.picked:
            return False
        return all(a.within(b) for a, b in zip(self.at, other.at, strict=True))

    @property
    def bounded(self) -> bool:
        """Whether anything is known of where it reads."""
        return any(bounds.lowers or bounds.uppers for bounds in self.at)

    @property
    def forms(self) -> Iterator[LinearForm]:
        return (form for bounds in self.at for side in (bounds.lowers, bounds.uppers) for form in side)

    @property
    def steps(self) -> int:
        """How many steps it has come about in."""
        found, way = 0, self
        while way.why is not None and way.why.before is not None:
            found, way = found + 1, way.why.before
        return found

    def left(self, inner: Graph, node: Call | Repeat | Scan, outer: Graph) -> Way:
        """The same, seen outside of a call or a loop."""
        why = self.why
        if why is None or why.at is not inner:
            return self
        return Way(self.source, self.at, replace(why, at=outer, via=(*why.via, (node, outer))), self.picked)


class Ways:
    """Several ways, in the order in which they were found; equal to others of the same ways in any order."""

    __slots__ = ("_hash", "each")

    def __init__(self, each: Iterable[Way] = ()) -> None:
        self.each = tuple(each)
        self._hash: int | None = None

    def __iter__(self) -> Iterator[Way]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ways) and (self.each == other.each or frozenset(self.each) == frozenset(other.each))

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.each))
        return self._hash

    def changed(self, change: Callable[[LinearForm], LinearForm]) -> Ways:
        """With other forms in the place of each."""
        made = []
        for way in self.each:
            at = (PlaceBounds(frozenset(map(change, one.lowers)), frozenset(map(change, one.uppers))) for one in way.at)
            made.append(Way(way.source, tuple(at), way.why, way.picked))
        return united(made)


NONE = Ways()


@record
class Items:
    """What is known of a value: what its items read, and what they are."""

    ways: Ways = NONE
    term: Term = UNKNOWN


NOTHING = Items()


def anywhere(source: ItemSource, why: Why | None = None) -> Way:
    """Any item of a source."""
    return Way(source, (UNBOUNDED,) * len(source.places), why)


def united(*some: Iterable[Way]) -> Ways:
    """All ways, without those that lie within another that is bounded; what is bounded is told beside what is not."""
    filled = [ways for ways in some if not isinstance(ways, Ways) or ways.each]
    if len(filled) == 1 and isinstance(filled[0], Ways):
        return filled[0]
    kept: dict[Way, None] = {}
    for way in (way for ways in filled for way in ways):
        if way in kept or any(other.bounded and way.within(other) for other in kept):
            continue
        for other in [other for other in kept if way.bounded and other.within(way)]:
            del kept[other]
        kept[way] = None
    if len(kept) > BOUNDS:
        is_met(ProofLimit.BOUNDS)
        last = {way.source: way for way in kept}
        return Ways(anywhere(source, way.why) for source, way in last.items())
    return Ways(kept)


def hull(known: Sequence[Way], ways: Sequence[Way]) -> Way:
    """A way within which all of these lie: of the bounds that were known, those that still hold of every one."""
    at = []
    for number, several in enumerate(zip(*(way.at for way in ways), strict=True)):
        uppers = (form for way in known for form in way.at[number].uppers)
        lowers = (form for way in known for form in way.at[number].lowers)
        above = frozenset(a for a in uppers if all(any(_at_most(b, a) for b in each.uppers) for each in several))
        below = frozenset(a for a in lowers if all(any(_at_most(a, b) for b in each.lowers) for each in several))
        at.append(PlaceBounds(below, above))
    return Way(ways[0].source, tuple(at), None, frozenset.intersection(*(way.picked for way in ways)))


def sharpest(uppers: Iterable[LinearForm]) -> Forms:
    """Of upper bounds those that no other is surely below."""
    return frozenset(least(uppers))


def _at_most(a: LinearForm, b: LinearForm) -> bool:
    if a == b:
        return True
    gap = b - a
    return never_negative(gap.poly) or (bool(gap.quotients) and holds(gap))
