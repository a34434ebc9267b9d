"""Which values may be kept: those whose items depend on no item after them (`unsettled`, those that may still change).

The result of a causal model does; a value on the way to it need not. Inside a chunk of items each may see all of the
chunk, as long as what leaves the chunk does so later. The reach of each value says so, as in the proof of causality.

Where more items are wanted than there are, any will do of a value of which the proof takes an item to be as late as it
stands. Of one that is `early`, `x[seq = seq - 1]`, the next item is known, and an item at hand may depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..causality.proof import CausalClaim
from ..graph.core.index import index_of
from ..graph.core.ways import Forms, Items
from ..graph.nodes import Apply, Call, Graph, Repeat
from ..graph.traits import Arrange, Choice, Gather, IndexMap, OpTraits, Pointwise
from ..graph.values import Value
from ..sizes.arithmetic import replaced
from ..sizes.axes import Axis, SizeOf, Static
from ..sizes.forms import LinearForm, holds
from .facts import SiteFacts
from .sites import TIME, Cell, StepSite


@dataclass(frozen=True, slots=True)
class Finality:
    """Of the values made of items along time: those of which an item may still change with those after it, and those
    of which an item depends on none as late as it stands.
    """

    unsettled: frozenset[Cell] = frozenset()
    early: frozenset[Cell] = frozenset()


def finality(root: StepSite, time: Axis) -> Finality:
    claim = CausalClaim(root.graph, time)
    changing: set[tuple[int, int]] = set()  # of repeats, by id, and the numbers of what they carry

    def carried(site: StepSite, number: int) -> Items:
        """What goes round is taken to be settled until it is found not to be."""
        assert site.repeat is not None
        here = _place(site, site.graph.inputs[number].value)
        if here is None or (id(site.repeat), number) in changing:
            return claim.any_item
        return claim.up_to(here)

    while True:
        facts = SiteFacts(root, claim.inputs, claim.flow, carried)
        before = len(changing)
        for body, repeat in _bodies(root):
            for number in range(repeat.carried):
                if not _settled(facts, claim, body, body.graph.outputs[number].value):
                    changing.add((id(repeat), number))
        if len(changing) == before:
            break
    cells = [cell for site in root.walk() for cell in site.cells.values() if cell.kind == TIME]
    return Finality(
        frozenset(cell for cell in cells if not _settled(facts, claim, cell.site, cell.value)),
        frozenset(cell for cell in cells if _early(facts, claim, cell.site, cell.value) or _read_by_choice(cell)),
    )


def _bodies(root: StepSite) -> Iterator[tuple[StepSite, Repeat]]:
    for site in root.walk():
        if site.repeat is not None:
            yield site, site.repeat


def _read(facts: SiteFacts, claim: CausalClaim, site: StepSite, value: Value) -> list[list[Forms]]:
    """At each pass, what the places are at most that an item of a value reads."""
    return [[bound for _, _, bound in claim.places(values[value.id])] for values in facts.known[site]]


def _settled(facts: SiteFacts, claim: CausalClaim, site: StepSite, value: Value) -> bool:
    here = _place(site, value)
    reaches = _read(facts, claim, site, value)
    if here is None:
        return not any(reaches)
    none = -LinearForm.number(1)  # a place before the first item: of a prefix
    return all(any(holds(here - form) or holds(none - form) for form in bound) for reach in reaches for bound in reach)


def _early(facts: SiteFacts, claim: CausalClaim, site: StepSite, value: Value) -> bool:
    """Whether an item of a chunk to come may be needed before its first item of time is there."""
    last = _place(site, value)
    if last is None:
        return False
    first = last - LinearForm.number(site.paces[_paced(site, value)[0].family].size - 1)
    reaches = _read(facts, claim, site, value)
    return not all(any(all(holds(form - first) for form in bound) for bound in reach) for reach in reaches)


def _read_by_choice(cell: Cell) -> bool:
    """Whether it is another item, or made of one, on a side of a `select`: there less may be read of it than is known
    of the value alone, as of `x[seq = max(seq - 1, 0)]` where seq is more than 0.
    """
    graph, node = cell.site.graph, cell.node
    if not isinstance(node, Apply) or not any(_is_gather(cell.site, each) for each in _pointwise_above(graph, node)):
        return False
    made = {cell.value.id}
    for each in graph.nodes:
        match each:
            case Apply(traits=OpTraits(reads=Pointwise(meaning))) if any(one.id in made for one in each.operands):
                if meaning == Choice():
                    return True
                made.add(each.out.id)
            case Apply(traits=OpTraits(reads=Arrange(IndexMap.NEW))) if each.operands[0].id in made:
                made.add(each.out.id)
    return False


def _is_gather(site: StepSite, node: Apply) -> bool:
    return isinstance(node.traits.reads, Gather) and bool(site.time(node.axes))


def _pointwise_above(graph: Graph, node: Apply) -> Iterator[Apply]:
    """The op, and those of which it is made value by value."""
    todo, seen = [node.out], set[int]()
    while todo:
        value = todo.pop()
        above = index_of(graph).op(value)
        if above is not None and value.id not in seen:
            seen.add(value.id)
            yield above
            if above.traits.reads == Arrange(IndexMap.NEW) or isinstance(above.traits.reads, Pointwise):
                todo += above.operands


def _place(site: StepSite, value: Value) -> LinearForm | None:
    """The last item of time that an item of the value may depend on: what is in a chunk is kept once that is over."""
    axes = _paced(site, value)
    if not axes:
        return None
    pace = site.paces[axes[0].family]
    return replace(pace, before=_in_words_of(site, pace.before)).place(axes[0])


def _in_words_of(site: StepSite, size: Static) -> Static:
    """A size of those who call a block, in the axes that are given to it."""
    if site.parent is None:
        return size
    node = site.parent.graph.nodes[site.index]
    given = {actual: formal for formal, actual in node.axes} if isinstance(node, Call) else {}
    outer = _in_words_of(site.parent, size)
    return replaced(outer, lambda part: SizeOf(given.get(part.axis, part.axis)) if isinstance(part, SizeOf) else part)


def _paced(site: StepSite, value: Value) -> list[Axis]:
    return [axis for axis in site.time(value.type.axes) if axis.family in site.paces]
