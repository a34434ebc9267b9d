"""Which parameters of a model its steps were written for: how far a mask or window reaches is a number in their code.

A class may be built with other sizes and consts than its spec has, and computes with these. What its steps keep for
later, though, was worked out from the spec's: from the numbers in truth values of positions in time, in lookups and
windows along it, and in sizes that follow from its own, and from truth values known at build time. A step with others
would lack items, so it is refused.
"""

from __future__ import annotations

from contextlib import suppress

from ..graph.core.access import Read, access
from ..graph.core.flow import Answer, Flow, Here, Leaf
from ..graph.core.index import Nest, Site
from ..graph.nodes import Apply, Constant, Graph, Repeat
from ..graph.values import Role, Scalar
from ..sizes.axes import Axis, Const, SizeOf, Static, axes_in, consts_in, known
from ..sizes.limits import TooMuch

Numbers = frozenset[Axis | Const]


def written_for(graph: Graph, families: frozenset[int]) -> tuple[Axis | Const, ...]:
    """The parameters of a model that its steps hang on, in order. families: those of its axes of time, if steps keep
    a number of items; none if they keep all.
    """
    found = _Written(families).of(graph, (frozenset(),) * len(graph.inputs)).found
    own = (axis for axis in reversed(graph.axes[: graph.params]) if axis.extent is not None and axis.size is None)
    axes = {axis.family: axis for axis in own}  # of copies the first
    wanted = {each.family for each in found if isinstance(each, Axis)}
    return (
        *(axes[each] for each in reversed(axes) if each in wanted),
        *(each for each in graph.consts if each in found),
    )


class _Written(Flow[Numbers, Axis | Const]):
    """Forward: the parameters in the numbers that a value is made of, if it is made of no data."""

    nothing: Numbers = frozenset()

    def __init__(self, families: frozenset[int]) -> None:
        super().__init__()
        self.families = families
        self.passes: dict[Const, Numbers] = {}  # the index of a repeat: what its passes are counted by

    def join(self, one: Numbers, other: Numbers) -> Numbers:
        return one | other

    def inside(self, node: Nest, here: Here[Numbers], number: int | None = None) -> Site:
        if isinstance(node, Repeat) and node.index is not None:
            self.passes[node.index] = self._numbers(node.count, here.site)
        if isinstance(node, Repeat):
            return here.site
        consts = ((const, here.site.outermost(static)) for const, static in node.consts)  # those with a value, too
        return Site(here.site.axes_inside(node).axes, frozenset(consts))

    def through(self, node: Leaf, given: tuple[Numbers, ...], here: Here[Numbers]) -> Answer[Numbers, Axis | Const]:
        site = here.site
        sized = (axis.size for axis in node.out.type.axes if axis.size is not None and self._is_time(axis, site))
        found = self.nothing.union(*(self._numbers(size, site) for size in sized))
        if isinstance(node, Constant):
            made = self._numbers(node.value, site)
            return Answer((made,), tuple(found | made if node.out.type.element is Scalar.BOOL else found))
        if not isinstance(node, Apply):
            return Answer((self.nothing,), tuple(found))
        made = self.nothing.union(*given) if node.out.role < Role.DATA else self.nothing
        timed = any(self._is_time(axis, site) for axis in (*node.axes, *node.out.type.axes))
        if timed and node.out.type.element is Scalar.BOOL:
            found |= made
        return Answer((made,), tuple(found.union(*(self._places(node, read, given, site) for read in access(node)))))

    def _places(self, node: Apply, read: Read, given: tuple[Numbers, ...], site: Site) -> Numbers:
        """Of where along time an op reads: of an index that is looked up, of windows and shifts."""
        along = [form for axis, form in read.at.items() if self._is_time(axis, site)]
        if not along:
            return self.nothing
        others = (axis for form in along for axis in form.indices if not self._is_time(axis, site))
        numbers = [*(SizeOf(axis) for axis in others), *(each for each in node.options.values() if _is_whole(each))]
        picked = (given[operand] for operand, _ in read.picked)
        return self.nothing.union(*picked, *(self._numbers(one, site) for one in numbers))

    def _is_time(self, axis: Axis, site: Site) -> bool:
        return site.axis(axis).family in self.families

    def _numbers(self, static: Static, site: Site) -> Numbers:
        """The parameters of the outermost graph that a number is made of."""
        with suppress(TooMuch):
            static = site.outermost(static)
        found = self.nothing
        for const in consts_in(static):
            found |= self.passes.get(const, {const})
        for axis in axes_in(static):
            found |= {axis} if axis.size is None else self._numbers(axis.size, site)
        return found


def _is_whole(static: Static) -> bool:
    number = known(static)
    return isinstance(number, int) and not isinstance(number, bool)
