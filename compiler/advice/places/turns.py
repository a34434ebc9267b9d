"""Turns by places that do not tell a distance (W0526).

Queries and keys that are turned by their places, at the same rates and in the same pairs, have a product that hangs on
the distance (Su et al. 2021, equation 16). So it is tried: items of both are followed back to what a learned map makes,
as sums of that times numbers of places, and where query and key stand at one place the product is to be the same
everywhere. What is not known to be such a sum is not spoken of, nor what is turned along widths of unlike families.
Values that are turned are told unless the average is turned, too (Miyato et al. 2024 turn it back).

Features of a pair turned by unlike angles: pull request 15 of vjepa2, and issue 6 of
raiyanyahya/how-to-train-your-gpt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product as pairs
from typing import NamedTuple, TypeVar

from ....dsl.base.records import field, mutable
from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.kept import kept
from ...graph.nodes import Apply, Call, Graph, Parameter, Repeat
from ...graph.traits import Arrange, Gather, IndexMap, Normalise, Product, Quotient, Reduce, Sum
from ...graph.values import Role, Value, is_real
from ...problems.plain import Plain
from ...sizes.axes import Axis
from .concrete import GraphRun, Point, Tired, sized
from .tables import by_place, is_written, meets_places, widths

PLACES = (0, 1, 3)
Base = tuple[int, int, tuple[int | None, ...]]  # an item of a value, wherever along widths it stands
Terms = Mapping[Base, float]
B = TypeVar("B")


def turns(graph: Graph) -> Iterator[Problem]:
    """What is turned by its place, in a graph and all that it calls, and is not turned as it is meant."""
    if not _turns_places(graph):
        return
    try:
        top = next(sized(graph), None)
        if top is not None:
            yield from _Turns(graph).all(top)
    except (Tired, RecursionError):
        return


@kept
def _turns_places(graph: Graph) -> bool:
    return meets_places(graph, _turns)


def _turns(node: Apply) -> bool:
    return node.traits.meaning in (Product(), Quotient()) and any(map(by_place, node.operands))


class _Item(NamedTuple):
    """A number, as a sum of others times numbers. turns: where the place has a part in these."""

    terms: Terms
    turns: frozenset[GraphRun]


class _NoSum(Exception):
    """An item is no such sum."""


class _Turns:
    """What is turned in a file."""

    def __init__(self, graph: Graph) -> None:
        self.source = None if graph.span is None else graph.span.source
        self.items: dict[object, _Item] = {}
        self.inputs: set[tuple[int, int]] = set()  # of a block that stands alone, as those of bases

    def all(self, top: GraphRun) -> Iterator[Problem]:
        """Of all that is multiplied in a graph and the blocks that it calls."""
        if top.graph.kind == "block":
            self.inputs = {(id(top), entry.value.id) for entry in top.graph.inputs}
        for frame, node in top.ops(is_written):
            if not _multiplies(node):
                continue
            try:
                if any(axis.is_width for axis in node.axes):
                    yield from self._values(frame, node)
                elif (pair := self._pair(frame, node)) is not None:
                    yield from self._scores(pair)
            except _NoSum:
                continue

    # -- items -------------------------------------------------------------------------------------------------------

    def item(self, frame: GraphRun, value: Value, point: Point) -> _Item:
        """An item of data. Raises _NoSum."""
        key = (id(frame), value.id, *(point.get(axis) for axis in value.type.axes))
        if key not in self.items:
            self.items[key] = self._item(frame, value, point)
        return self.items[key]

    def _item(self, frame: GraphRun, value: Value, point: Point) -> _Item:
        found = frame.moved(value, point)
        if found is not None:
            return self.item(*found)
        match frame.maker(value):
            case Apply(operands=(one, *_), traits=traits) if traits.random:
                return self.item(frame, one, point)
            case Apply(operands=operands, traits=traits) if isinstance(traits.meaning, Sum):
                if all(operand.role > Role.TABLE for operand in operands):
                    items = [self.item(frame, operand, point) for operand in operands]
                    return _summed(traits.meaning.times, items)
            case Apply(operands=(one, other), traits=traits) if traits.meaning in (Product(), Quotient()):
                if one.role <= Role.TABLE and traits.meaning == Product():
                    one, other = other, one
                if other.role <= Role.TABLE:
                    return self._scaled(frame, (one, other), point, traits.meaning == Quotient())
        if not _plain(frame, value):
            raise _NoSum
        places = tuple(point.get(axis) for axis in value.type.axes if not axis.is_width)
        return _Item({(id(frame), value.id, places): 1.0}, frozenset())

    def _scaled(self, frame: GraphRun, operands: tuple[Value, Value], point: Point, divided: bool) -> _Item:
        by, item = frame.number(operands[1], point), self.item(frame, operands[0], point)
        if by is None or (divided and by == 0):
            raise _NoSum
        turns = item.turns | {frame} if by_place(operands[1]) else item.turns
        return _Item({base: number / by if divided else number * by for base, number in item.terms.items()}, turns)

    # -- what is multiplied ------------------------------------------------------------------------------------------

    def _pair(self, frame: GraphRun, node: Apply) -> _Meeting | None:
        """The first operand, of queries or of keys, with a width that the second has under another name."""
        sizes = [frame.extent(axis) for axis in node.axes]
        for one, other in (node.operands, node.operands[::-1]):
            for q, k in pairs(widths(one), widths(other)):
                if q.family == k.family and k not in one.type.axes and all(sizes):
                    return _Meeting(self, frame, node, (one, other), (q, k), [size or 1 for size in sizes])
        return None

    def _scores(self, pair: _Meeting) -> Iterator[Problem]:
        for last in (False, True):
            pair.begin(last)
            if any(pair.item(side, 1, 1).turns for side in (0, 1)):
                found = self._judged(pair)
                if found is not None:
                    yield found
                    return

    def _judged(self, pair: _Meeting) -> Problem | None:
        node, there = pair.node, pair.node.span
        sites = [self._site(pair.frame, pair.sides[side], pair.item(side, 1, 1).turns) for side in (0, 1)]
        for axis, site in zip([pair.along(side) for side in (0, 1)], sites, strict=True):
            if axis is not None and site is not None:
                text = re.sub(rf"\b{axis.name}\b(?=[^[]*\])", node.axes[0].name, site.text)
                return Plain.TURNED_ALONG.at(site, axis, node.axes[0], text, there=there)
        varies = [pair.varies(side) for side in (0, 1)]
        if all(_alike(pair.product(0, 0), pair.product(place, place)) for place in PLACES):
            idle = all(_alike(pair.product(0, 0), pair.product(*pair_)) for pair_ in ((0, 1), (1, 0), (3, 1)))
            if idle and all(varies) and sites[1] is not None:
                return Plain.TURNS_CANCEL.at(sites[1], pair.widths[0], pair.widths[1], there=there)
        elif all(varies):
            twice = len(pair.item(0, 1, 1).turns) > len(pair.item(1, 1, 1).turns)
            first, second = sites if twice else sites[::-1]
            if first is not None and second is not None:
                return Plain.TURNED_UNLIKE.at(first, there=second)
        elif any(varies):
            turned = varies.index(True)
            site, own = sites[turned], pair.widths[turned]
            if site is not None and not self._given(pair.item(1 - turned, 1, 1)):
                return Plain.TURNED_ALONE.at(site, own, _again(pair, site, 1 - turned), there=there)
        return None

    def _given(self, item: _Item) -> bool:
        """Whether a block is given it as it is: its callers may have turned it."""
        return any((frame, value) in self.inputs for frame, value, _ in item.terms)

    def _values(self, frame: GraphRun, node: Apply) -> Iterator[Problem]:
        """What shares average, and nothing turns back."""
        for shares, value in (node.operands, node.operands[::-1]):
            along = [axis for axis in node.axes if axis.is_width]
            if len(along) != 1 or not _are_shares(frame, shares, along[0]):
                continue
            ends = {axis: frame.extent(axis) or 1 for axis in value.type.axes if not axis.is_width}
            for last in (False, True):
                start = {
                    **dict.fromkeys(value.type.axes, 0),
                    **{axis: (size - 1) * last for axis, size in ends.items()},
                }
                items = [self.item(frame, value, {**start, along[0]: place}) for place in PLACES]
                site = self._site(frame, value, items[1].turns)
                if items[1].turns and not all(_alike(items[0].terms, each.terms) for each in items):
                    if site is not None and not _turned_back(frame, node.out):
                        yield Plain.VALUES_TURNED.at(site, along[0], there=node.span)
                    return

    def _site(self, frame: GraphRun, value: Value, turns: frozenset[GraphRun]) -> Span | None:
        """Where in this file it is turned: by a call, or by an op."""
        around = {outer for turn in turns for outer in _outwards(turn)}
        while turns:
            node = frame.maker(value)
            if isinstance(node, Call):
                here = frame.inside(node) in around
            else:
                here = isinstance(node, Apply) and frame in turns and not isinstance(node.traits.reads, Arrange)
            if here:
                spans = [getattr(each, "span", None) for each in (node, *(out.node for out in _outwards(frame)))]
                return next((span for span in spans if span is not None and span.source is self.source), None)
            if isinstance(node, Apply):
                value = next(operand for operand in node.operands if operand.role > Role.TABLE)
            elif (found := frame.moved(value, {})) is not None:
                frame, value, _ = found
            else:
                return None
        return None


@mutable
class _Meeting:
    """What is multiplied: the items of two operands that meet in one number, by the places of both."""

    turns: _Turns
    frame: GraphRun
    node: Apply
    sides: tuple[Value, Value]
    widths: tuple[Axis, Axis]
    sizes: list[int]
    start: tuple[int, ...] = ()
    near: list[tuple[int, ...]] = field(default_factory=list)

    def begin(self, last: bool) -> None:
        """With the first features, or with the last."""
        self.start = tuple((size - 1) * last for size in self.sizes)
        near = [self.start]
        for at, size in enumerate(self.sizes):  # what may be turned with them
            near += [
                (*self.start[:at], index, *self.start[at + 1 :])
                for index in (self.start[at] ^ 1, (self.start[at] + size // 2) % size)
                if index < size
            ]
        self.near = list(dict.fromkeys(near))

    def item(self, side: int, q: int, k: int, at: tuple[int, ...] = (), more: Point | None = None) -> _Item:
        point = {
            **dict.fromkeys(self.node.out.type.axes, 0),
            **dict(zip(self.node.axes, at or self.start, strict=True)),
        }
        return self.turns.item(
            self.frame, self.sides[side], {**point, self.widths[0]: q, self.widths[1]: k, **(more or {})}
        )

    def block(self, side: int) -> list[tuple[int, ...]]:
        """The features that are turned together."""
        own = self.item(side, 1, 1).terms.keys()
        return [at for at in self.near if self.item(side, 1, 1, at).terms.keys() & own]

    def along(self, side: int) -> Axis | None:
        """Another axis than those that are summed over, along which it is turned. Raises _NoSum if it is none."""
        own = {base for at in self.block(side) for base in self.item(side, 1, 1, at).terms}
        if len(own) == len(self.block(side)):
            return None
        for axis in self.sides[side].type.axes:
            size = self.frame.extent(axis) or 1
            if not axis.is_width and axis not in self.node.axes:
                others = [self.item(side, 1, 1, more={axis: index}).terms for index in {1 % size, size // 2} - {0}]
                if any(terms.keys() & own and terms != self.item(side, 1, 1).terms for terms in others):
                    return axis
        raise _NoSum

    def varies(self, side: int) -> bool:
        """Whether it is turned by places."""
        first = self.item(side, 0, 0).terms
        return not all(_alike(first, self.item(side, place, place).terms) for place in PLACES)

    def product(self, q: int, k: int) -> dict[tuple[Base, Base], float]:
        """How each number of the one counts with each of the other."""
        found: dict[tuple[Base, Base], float] = {}
        for at in set(self.block(0)) & set(self.block(1)):
            for (one, by), (other, times) in pairs(
                self.item(0, q, k, at).terms.items(), self.item(1, q, k, at).terms.items()
            ):
                if one in self.item(0, 1, 1).terms and other in self.item(1, 1, 1).terms:
                    found[one, other] = found.get((one, other), 0.0) + by * times
        return found


def _summed(times: tuple[int, ...], items: list[_Item]) -> _Item:
    terms: dict[Base, float] = {}
    for by, item in zip(times, items, strict=True):
        for base, number in item.terms.items():
            terms[base] = terms.get(base, 0.0) + by * number
    return _Item(terms, frozenset[GraphRun]().union(*(item.turns for item in items)))


def _alike(one: Mapping[B, float], other: Mapping[B, float]) -> bool:
    """Whether one is the other times a number."""
    largest = max(one, key=lambda key: abs(one[key]), default=None)
    if largest is None or not one[largest]:
        return not any(other.values())
    by = other.get(largest, 0.0) / one[largest]
    least = 1e-9 * max(map(abs, [*one.values(), *other.values()]))
    return all(abs(other.get(key, 0.0) - by * one.get(key, 0.0)) <= least for key in {*one, *other})


def _multiplies(node: Apply) -> bool:
    reads = node.traits.reads
    data = len(node.operands) == 2 and all(operand.role is Role.DATA for operand in node.operands)
    return data and isinstance(reads, Reduce) and reads.multiplies and not node.weights


def _outwards(frame: GraphRun | None) -> Iterator[GraphRun]:
    while frame is not None:
        yield frame
        frame = frame.outer


def _plain(frame: GraphRun, value: Value, behind: bool = False) -> bool:
    """Whether no number of a place has a part in it, back to where a learned map makes it of what is not turned.

    behind: it is what such a map is given, and places may be added to it.
    """
    node = frame.maker(value)
    match node:
        case Apply(weights=weights, traits=traits) if weights and isinstance(traits.reads, Reduce | Gather):
            return behind or all(_plain(frame, each, True) for each in node.operands if is_real(each))
        case Apply(operands=operands, traits=traits):
            real = [operand for operand in operands if is_real(operand)]
            data = [operand for operand in real if operand.role is Role.DATA]
            added = behind and isinstance(traits.meaning, Sum)
            if not added and any(widths(each) for each in real if each not in data):
                return False
            return all(_plain(frame, each, behind) for each in data)
        case Parameter() | Repeat():
            return True
        case None if frame.outer is None or isinstance(frame.node, Repeat):
            return True
        case Call() | None:
            found = frame.moved(value, {})
            return found is not None and _plain(*found[:2], behind)
        case _:
            return False


def _are_shares(frame: GraphRun, value: Value, along: Axis) -> bool:
    """Whether a softmax makes it, but for dropout and names."""
    while True:
        node = frame.maker(value)
        if isinstance(node, Apply) and isinstance(node.traits.reads, Normalise) and node.traits.reads.weights:
            return True
        if isinstance(node, Apply) and node.traits.random:
            value = node.operands[0]
        elif (found := frame.moved(value, {})) is not None:
            frame, value, _ = found
        else:
            return False


def _turned_back(frame: GraphRun, value: Value) -> bool:
    """Whether numbers of places have a part in it before a learned map takes it, or it is not known who takes it."""
    for node in frame.takers(value):
        match node:
            case Apply(weights=weights) if weights and isinstance(node.traits.reads, Reduce):
                continue
            case Apply():
                if any(map(by_place, node.operands)) or _turned_back(frame, node.out):
                    return True
            case Call():
                if any(_turned_back(*inner) for inner in frame.within(node, value)):
                    return True
            case _:
                return True
    outside = frame.around(value)
    return any(each is None or not isinstance(frame.node, Call) or _turned_back(*each) for each in outside)


def _again(pair: _Meeting, site: Span, side: int) -> str:
    """The same turn of the other operand, as it is written, if that has a name where this one is turned."""
    frame, value = pair.frame, pair.sides[side]
    written = re.fullmatch(r"([\w.]+\[[^]]*\])\((\w+)\)", site.text)
    named = re.findall(r"\w+", "" if written is None else written[1])
    while written is not None and (value.name is None or not any(axis.name in named for axis in widths(value))):
        node = frame.maker(value)
        if not isinstance(node, Apply) or node.traits.reads != Arrange(IndexMap.SAME):
            return ""
        value = node.operands[0]
    return "" if written is None else f": `{written[1]}({value.name})`"
