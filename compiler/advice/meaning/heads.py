"""Heads that are cut in unlike order (W0527): what meets head for head was split, or is merged, one way and the other.

A `split` or `merge` numbers items: `[heads, key]` makes runs of features a head, `[key, heads]` takes every so many.
A model that is trained anew may learn either, but then queries ask keys of other features than the output map is
given back, and no weights of one layout fit: GGUF's reader permuted grouped keys as if they were queries (transformers,
issue 31766), and ONNX's attention tiled the groups that others interleave (onnx, pull request 7274). A map of all three
that is read in two layouts leaves features that nobody reads (the layouts of GPT-2 and of GPT-NeoX).

Both orders must be fixed by a reshape: a map that makes heads itself, `linear[model -> key, heads]`, says nothing of
order. Silent: axes that are widths (patches, chunks); a shuffle that names another axis (ShuffleNet, Zhang et al.
2018); axes of one item; what is given from outside along an axis of its own, for whoever gives it chose its layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.index import index_of
from ...graph.nodes import Apply, Graph, Node, nested
from ...graph.traits import Arrange, Gather, IndexMap, Reduce
from ...graph.values import Role
from ...problems.plain import Plain
from ...sizes.axes import Axis
from .flow import Follower

_SPLIT, _MERGE = IndexMap.DIGITS, IndexMap.NUMBER
Families = tuple[int, ...]
Cut = tuple[Span | None, Families]


class Order(NamedTuple):
    """In which order axes were cut out of one axis, `whole`: all in families of the first caller's axes.

    given: what was cut is an input of its graph. cut: where it was, and into what.
    """

    axes: Families
    whole: int
    given: bool
    cut: Cut


class Reshape(NamedTuple):
    """A `split` or `merge`: its parts as it names them, and in the families of the first caller's axes."""

    node: Apply
    parts: tuple[Axis, ...]
    axes: Families
    whole: int


Orders = tuple[Order, ...]


def heads_unlike(graph: Graph) -> Iterator[Problem]:
    """Of a block, or of a model and all that it calls: each `split` or `merge` that stands against the others."""
    graphs = [each for each in nested(graph) if any(map(_cuts, each.nodes))]
    if _may_differ(graphs):
        reading = _Heads()
        reading.follow(graph)
        yield from reading.unlike()
    for each in graphs:
        yield from _read_twice(each)


def _cuts(node: Node) -> bool:
    """Whether it splits or merges depths."""
    match node:
        case Apply(traits=traits) if isinstance(traits.reads, Arrange) and traits.reads.map in (_SPLIT, _MERGE):
            return not any(axis.is_width for axis in (*node.axes, *node.made))
        case _:
            return False


def _splits(node: Apply) -> bool:
    return node.traits.reads == Arrange(_SPLIT)


def _parts(node: Apply) -> tuple[tuple[Axis, ...], Axis]:
    """The parts of a `split` or `merge`, the slowest first, and the whole."""
    return (node.made, node.axes[0]) if _splits(node) else (node.axes, node.made[0])


def _may_differ(graphs: Sequence[Graph]) -> bool:
    """Whether two orders may be unlike: in one graph, or where heads come into one and are put together in another."""
    leaving = 0
    for graph in graphs:
        nodes = [node for node in graph.nodes if isinstance(node, Apply) and _cuts(node)]
        orders = {tuple(axis.family for axis in _parts(node)[0]) for node in nodes}
        if any(_unlike(one, other) for one, other in combinations(orders, 2)):
            return True
        made, merged = ({_parts(node) for node in nodes if _splits(node) is split} for split in (True, False))
        leaving += made != merged  # what is split and merged again in here is no affair of others
    return leaving > 1


def _unlike(one: Families, other: Families) -> tuple[int, int] | None:
    """Two axes that stand the other way round."""
    common = [axis for axis in one if axis in other]
    for first, second in combinations(common, 2):
        if other.index(first) > other.index(second):
            return first, second
    return None


class _Heads(Follower[Orders]):
    """The orders in which the axes of each value were cut."""

    def __init__(self) -> None:
        super().__init__()
        self.reshapes: dict[Cut, Reshape] = {}
        self.single: set[int] = set()
        self.against: list[tuple[Cut, Cut]] = []

    def of(self, node: Apply, known: list[Orders | None]) -> Orders | None:
        given = [orders or () for orders in known]
        if _cuts(node):
            return self._reshaped(node, given[0])
        if not any(given):
            return None
        eaten = self._families(node.axes)
        match node.traits.reads:
            case Arrange(IndexMap.SAME | IndexMap.NEW):
                return given[0] or None
            case Arrange(IndexMap.PARTS):
                made = self._families(node.made)[0]
                joined = [_put(each, (axis,), (made,)) for axis, each in zip(eaten, given, strict=True)]
                return tuple(dict.fromkeys(order for each in joined for order in each)) or None
            case Gather():
                along = node.operands[1].type.axes
                if node.operands[1].role <= Role.TABLE and len(along) == 1:  # a stretch of an axis
                    return _put(given[0], eaten, self._families(along)) or None
                return _without(given[0], eaten) or None
            case Arrange() | Reduce() as how if node.weights or isinstance(how, Arrange):
                return tuple(order for order in given[0] if not {*order.axes} & {*eaten}) or None
            case Reduce():
                self._meet(given)
                return _without(self._all(given), eaten) or None
            case _:
                self._meet(given)
                return self._all(given) or None

    def _families(self, axes: Sequence[Axis]) -> Families:
        named = self.named(axes)
        self.single.update(axis.family for axis in named if axis.extent == 1)
        return tuple(axis.family for axis in named)

    def _all(self, given: Sequence[Orders]) -> Orders:
        return tuple(dict.fromkeys(order for each in given for order in each))[:4]

    def _reshaped(self, node: Apply, given: Orders) -> Orders | None:
        parts, whole = _parts(node)
        axes, (made,) = self._families(parts), self._families((whole,))
        cut = node.span, axes
        self.reshapes[cut] = here = Reshape(node, parts, axes, made)
        if len({*axes}) < len(axes):
            return None
        if _splits(node):
            outside = any(entry.value.id == node.operands[0].id for entry in self.home.inputs)
            return (*_put(given, (made,), axes), Order(axes, made, outside, cut))
        for order in given:
            if self._differ(order.axes, axes) and (order.whole == made or self._split_so(here)):
                self.against.append((order.cut, cut))
        return _put(given, axes, (made,)) or None

    def _split_so(self, merged: Reshape) -> bool:
        """Whether the same axis was split into the same parts in this order."""
        return any(
            _splits(each.node) and each.whole == merged.whole and each.axes == merged.axes
            for each in self.reshapes.values()
        )

    def _differ(self, one: Families, other: Families) -> bool:
        return _unlike(*(tuple(axis for axis in each if axis not in self.single) for each in (one, other))) is not None

    def _meet(self, given: Sequence[Orders]) -> None:
        """Operands of an op that takes the same items of both."""
        for first, second in combinations(given, 2):
            for one in first:
                for other in second:
                    foreign = one.whole != other.whole and (one.given or other.given)
                    if not foreign and self._differ(one.axes, other.axes):
                        self.against.append((one.cut, other.cut))

    def unlike(self) -> Iterator[Problem]:
        for one, other in dict.fromkeys(self.against):
            turned = _unlike(one[1], other[1])
            if turned is None:  # what their parts were cut into was unlike
                continue
            here, there = self._fewer(self.reshapes[one], self.reshapes[other], turned)
            mended = iter(sorted((axis for axis in here.axes if axis in there.axes), key=there.axes.index))
            order = [next(mended) if axis in there.axes else axis for axis in here.axes]
            names = dict(zip(here.axes, (axis.name for axis in here.parts), strict=True))
            write = _written(here.node, [names[axis] for axis in order])
            yield Plain.HEADS_UNLIKE.at(here.node.span, _shown(here), _shown(there), write, there=there.node.span)

    def _fewer(self, one: Reshape, other: Reshape, axes: tuple[int, int]) -> tuple[Reshape, Reshape]:
        """Of two, the one that fewer others stand beside first; the one that stands later, if as many do."""
        for_one = sum({*axes} <= {*each.axes} and not _turned(each, axes) for each in self.reshapes.values())
        for_other = sum({*axes} <= {*each.axes} and _turned(each, axes) for each in self.reshapes.values())
        if for_one != for_other:
            return (one, other) if for_one < for_other else (other, one)
        later = _start(one) > _start(other) and _splits(one.node)
        return (one, other) if later else (other, one)


def _turned(each: Reshape, axes: tuple[int, int]) -> bool:
    return each.axes.index(axes[0]) > each.axes.index(axes[1])


def _start(each: Reshape) -> int:
    return each.node.span.start if each.node.span is not None else 0


def _put(given: Orders, old: Families, new: Families) -> Orders:
    """With axes in place of others that stand beside each other, in whichever order."""
    found = []
    for order in given:
        places = [place for place, axis in enumerate(order.axes) if axis in old]
        if not places:
            found.append(order)
        elif places[-1] - places[0] == len(places) - 1:
            axes = (*order.axes[: places[0]], *new, *order.axes[places[-1] + 1 :])
            if len({*axes}) == len(axes) > 1:
                found.append(order._replace(axes=axes))
    return tuple(found)


def _without(given: Orders, eaten: Families) -> Orders:
    kept = (order._replace(axes=tuple(axis for axis in order.axes if axis not in eaten)) for order in given)
    return tuple(order for order in kept if len(order.axes) > 1)


def _shown(each: Reshape) -> str:
    verb = "split into" if _splits(each.node) else "merged from"
    return f"`{_parts(each.node)[1].name}` is {verb} [{', '.join(axis.name for axis in each.parts)}]"


def _written(node: Apply, names: Sequence[str]) -> str:
    """The op with its parts in another order."""
    whole, parts = _parts(node)[1].name, ", ".join(names)
    inside = f"{whole} -> {parts}" if _splits(node) else f"{parts} -> {whole}"
    return f"{node.op}[{inside}]"


# -- one map, read in two layouts -------------------------------------------------------------------------------------


def _read_twice(graph: Graph) -> Iterator[Problem]:
    """One value split into the same parts in two orders, of each of which single items are read along one of them."""
    splits: dict[tuple[int, frozenset[Axis]], list[Apply]] = {}
    for node in graph.nodes:
        if isinstance(node, Apply) and _cuts(node) and _splits(node):
            splits.setdefault((node.operands[0].id, frozenset(node.made)), []).append(node)
    for found in splits.values():
        orders = [node.made for node in found]
        usual = max(orders, key=orders.count)
        others = [node for node in found if node.made != usual]
        if not others or not frozenset.intersection(*(_picked(graph, node) for node in found)):
            continue
        there = found[orders.index(usual)]
        for node in others:
            here, elsewhere = (f"[{', '.join(axis.name for axis in axes)}]" for axes in (node.made, usual))
            written = _written(there, [axis.name for axis in usual])
            yield Plain.SPLIT_TWO_WAYS.at(node.span, node.axes[0], here, elsewhere, written, there=there.span)


def _picked(graph: Graph, made: Apply) -> frozenset[Axis]:
    """Along which axes all that reads a value picks one item."""
    found = []
    for node in index_of(graph).takers(made.out):
        if not isinstance(node, Apply) or node.traits.reads not in (Gather(), Arrange(IndexMap.SAME)):
            return frozenset()
        found.append(frozenset(node.axes) if node.traits.reads == Gather() else _picked(graph, node))
    return frozenset.intersection(*found) if found else frozenset()
