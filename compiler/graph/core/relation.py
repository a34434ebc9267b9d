"""Which items of the inputs each item of a value reads: `access`, composed through the whole model.

`result[target, vocab] reads ids[target'] where target' <= target`. Beside the inputs each width whose size is known
only at run time is a source, `|target|`: what sums over it, or goes on behind its end, tells how many items there are.

Sound, not complete: what is said to be read may not be; what is not said is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from ...sizes import limits
from ...sizes.axes import Axis, Const, SizeOf
from ...sizes.forms import LinearForm
from ...sizes.polynomials import Poly, never_negative, poly
from ...sizes.predicates import ALWAYS, implies
from ..nodes import Apply, Call, Constant, Graph, Input, Parameter, Positions, Repeat, Scan
from ..values import IndexInto
from .access import ZERO
from .flow import Answer, Flow, Here, Leaf
from .following import Followed
from .index import OUTERMOST, Nest, Site
from .reading import OpReading
from .term import UNKNOWN, Term, constant, exactly
from .ways import ANY, NONE, NOTHING, By, Items, ItemSource, PlaceBounds, Way, Ways, Why, hull, united


class Relation(Flow[Items, object]):
    """Of each value what its items read, forward from the inputs.

    whole:   whether all that is known is followed, or no more than how far ahead is read: see `Followed`.
    counted: families of the outermost graph's widths whose number of items is followed; None for all.
    along:   the width of which it is asked which items are read: how many items there are is said along it.
    trusted: what is known of the ways of a result of which a block says that it is to be believed.
    """

    nothing = NOTHING

    def __init__(
        self,
        *,
        whole: bool = True,
        counted: Collection[int] | None = None,
        along: Axis | None = None,
        trusted: Callable[[Graph, int, Site, Ways], Ways] | None = None,
    ) -> None:
        super().__init__()
        self.following = Followed(whole, None if counted is None else frozenset(counted), along)
        self.trusted = trusted
        self._fuel = limits.PROOF

    def inside(self, node: Nest, here: Here[Items], number: int | None = None) -> Site:
        return self.following.counted_of(super().inside(node, here, number))

    def _run(self, here: Here[Items], given: tuple[Items, ...]) -> Answer[Items, object]:
        graph = here.index.graph
        self._fuel -= len(graph.nodes)
        if self._fuel >= 0:
            return super()._run(here, given)
        ways = self.following.anything(By.LIMIT, None, graph, given, graph.axes, here.site)
        return Answer((Items(ways),) * len(graph.outputs))

    def input(self, entry: Input, graph: Graph, number: int, places: Iterable[LinearForm]) -> Items:
        """What is known of an input of the outermost graph: each item is read where it stands; indices are 0 or more.

        places: what is followed of it, forms of its indices.
        """
        source = ItemSource(entry.name, number, tuple(dict.fromkeys(places)))
        exactly = (frozenset({form}) for form in source.places)
        at = tuple(PlaceBounds(form if self.following.whole else ANY, form) for form in exactly)
        lowers = (ZERO,) if isinstance(entry.value.type.element, IndexInto) else ()
        ways = Ways((Way(source, at, Why(By.INPUT, entry, graph, None, OUTERMOST, at=graph)),))
        return Items(ways, Term(lowers=lowers) if lowers else UNKNOWN)

    def default(self, entry: Input, graph: Graph) -> Iterable[Way]:
        """What an input of the outermost graph reads where it is left out: a size may stand in for it."""
        return () if entry.default is None else self.following.number(entry.default, entry, graph, OUTERMOST)

    # -- loops -----------------------------------------------------------------------------------------------------

    def join(self, one: Items, other: Items) -> Items:
        """Of what goes round, numbers are not followed: only what is 0 in every pass."""
        true = one.term.true if implies(other.term.true, one.term.true) else ALWAYS
        return Items(united(one.ways, other.ways), UNKNOWN if true == ALWAYS else Term(true))

    def widen(self, before: Items, after: Items, node: Repeat | Scan) -> Items:
        """One way for each source: with the bounds that every way had before, and has now."""
        found = []
        for source in dict.fromkeys(way.source for way in after.ways):
            old, new = ([way for way in one.ways if way.source == source] for one in (before, after))
            longest = max(new, key=lambda way: (way.bounded, way.steps))
            why = longest.why
            if why is not None and (why.by, why.node) != (By.LOOP, node):
                why = Why(By.LOOP, node, why.at, longest, why.site, at=why.at)
            wide = hull(old, [*old, *new])
            found.append(Way(wide.source, wide.at, why, wide.picked))
        return Items(Ways(found))

    def later(self, value: Items, axis: Axis) -> Items:
        """A state reads what the step before it made."""
        before = LinearForm.index(axis) - LinearForm.number(1)
        none: frozenset[Axis] = frozenset()
        moved = self.following.moved
        return Items(united([moved(way, {axis: before}, none, frozenset(), OUTERMOST, way.why) for way in value.ways]))

    # -- nodes -----------------------------------------------------------------------------------------------------

    def through(self, node: Leaf, given: tuple[Items, ...], here: Here[Items]) -> Answer[Items, object]:
        match node:
            case Constant(value):
                return Answer(
                    (
                        Items(
                            united(self.following.number(value, node, here.index.graph, here.site)),
                            constant(value, here.site),
                        ),
                    )
                )
            case Positions(axis):
                return Answer((Items(NONE, exactly(LinearForm.index(axis))),))
            case Parameter():
                return Answer((NOTHING,))
            case Apply():
                made = OpReading(self.following, node, here).made()
                told = [
                    way
                    for value in node.options.values()
                    for way in self.following.number(value, node, here.index.graph, here.site)
                ]
                return Answer((Items(united(made.ways, told), made.term) if told else made,))

    def unknown(self, node: Call, given: tuple[Items, ...], here: Here[Items]) -> Answer[Items, object]:
        axes = (axis for arg in node.args for axis in arg.type.axes)
        ways = self.following.anything(By.ANYTHING, node, here.index.graph, given, axes, here.site)
        return Answer((Items(ways),) * len(node.outs))

    # -- borders ---------------------------------------------------------------------------------------------------

    def entering(self, node: Nest, given: tuple[Items, ...], here: Here[Items], inner: Graph) -> tuple[Items, ...]:
        if isinstance(node, Repeat):
            round_ = (Items(one.ways, Term(one.term.true)) for one in given[: node.carried])
            return (*round_, *given[node.carried :])
        sizes = {actual.family: poly(SizeOf(formal)) for formal, actual in node.axes if _is_free(actual)}
        states = {into for into, _ in node.states} if isinstance(node, Scan) else ()
        found = []
        for number, (entry, one) in enumerate(zip(inner.inputs, given, strict=True)):
            back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
            term = UNKNOWN if number in states else one.term.renamed(back, sizes)
            found.append(Items(_renamed(one.ways, back, sizes), term))
        return tuple(found)

    def leaving(self, node: Nest, made: tuple[Items, ...], here: Here[Items], inner: Graph) -> tuple[Items, ...]:
        outer = here.index.graph
        if isinstance(node, Repeat):
            seen = (_of_any_pass(one, node.index) for one in made)
            return tuple(Items(_left(one.ways, inner, node, outer), one.term) for one in seen)
        axes = dict(node.axes)
        sizes = {formal.family: poly(SizeOf(actual)) for formal, actual in node.axes if _is_free(formal)}
        found = []
        for number, one in enumerate(made):
            ways = one.ways
            if self.trusted is not None and inner.outputs[number].trusted:
                ways = self.trusted(inner, number, here.site.inside(node), ways)
            term = UNKNOWN if isinstance(node, Scan) else one.term.renamed(axes, sizes)
            found.append(Items(_left(_renamed(ways, axes, sizes), inner, node, outer), term))
        return tuple(found)


def _renamed(ways: Ways, axes: Mapping[Axis, Axis], sizes: Mapping[int, Poly]) -> Ways:
    if not ways or not (axes or sizes):
        return ways
    return ways.changed(lambda form: form.renamed(axes, sizes))


def _left(ways: Ways, inner: Graph, node: Nest, outer: Graph) -> Ways:
    return Ways(way.left(inner, node, outer) for way in ways) if ways else ways


def _of_any_pass(items: Items, index: Const | None) -> Items:
    """What holds whatever the number of the pass: 0 or more. Only what it reads goes round, and where it is 0."""
    if index is None:
        return Items(items.ways, Term(items.term.true))

    def bound(form: LinearForm, sign: int) -> LinearForm | None:
        if index not in form.unknowns():
            return form
        by = form.coefficient(index)
        rest = form - (by.times(LinearForm.of({(index,): 1})) or ZERO)
        if index in rest.unknowns():  # in a number of a list: at least the least of them is taken away
            rest = rest.above() if sign > 0 else -(-rest).above()
        sure = never_negative((-by).poly if sign > 0 else by.poly)
        return rest if index not in rest.unknowns() and sure else None

    def kept(forms: Iterable[LinearForm], sign: int) -> frozenset[LinearForm]:
        return frozenset(new for form in forms if (new := bound(form, sign)) is not None)

    made = []
    for way in items.ways:
        at = tuple(PlaceBounds(kept(each.lowers, -1), kept(each.uppers, 1)) for each in way.at)
        made.append(Way(way.source, at, way.why, way.picked))
    return Items(united(made), Term(items.term.true))


def _is_free(axis: Axis) -> bool:
    return axis.extent is None and axis.size is None


# -- asked ---------------------------------------------------------------------------------------------------------


def relation(graph: Graph) -> tuple[Items, ...]:
    """What the items of each result of a graph read of its inputs, followed along widths."""
    flow, given = Relation(), []
    for number, entry in enumerate(graph.inputs):
        places = (LinearForm.index(axis) for axis in entry.value.type.axes if axis.is_width)
        one = flow.input(entry, graph, number, places)
        given.append(Items(united(one.ways, flow.default(entry, graph)), one.term))
    return flow.of(graph, given).values
