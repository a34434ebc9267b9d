"""Masks of data that do not mask (W0525): turned round, too small, times zero, or put behind the softmax.

A truth value is followed from the input that it is. It says which items are padding if its name does, or if a softmax
has it for a mask: what is done with it elsewhere is told only then. PyTorch has masks of both conventions: where
`key_padding_mask` is true is padding, where the `attn_mask` of `scaled_dot_product_attention` is true is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.core.flow import Leaf
from ...graph.core.index import Index, Nest, index_of
from ...graph.nodes import Apply, Constant, Graph, Repeat
from ...graph.traits import (
    Arrange,
    Choice,
    Combination,
    Complement,
    Conjunction,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Product,
    Reduce,
    Sum,
)
from ...graph.values import Role, Scalar, Value
from ...problems.plain import Plain
from ...sizes.axes import Axis
from .flow import Follower, KnownNumber, KnownValues, known_number

# Names of inputs, and so of what is true: not to be read, or to be read.
_OUT = r"(is_)?(pad(s|ded|ding)?|ignored?)|((src|tgt|memory)_)?key_padding(_mask)?"
_IN = r"(is_)?(real|valid|present)|keep|kept|allowed|not_pad|attention_mask"
_DRAWN = "keep|kept"  # at random, maybe, as dropout does
LARGE = 100  # a penalty that shuts out: e ^ -100 is no number of float32
_SMALL = 10  # one that does not


def keeps_real(name: str) -> bool | None:
    """Whether an input of this name is true of what is real, or, False, of padding; None: its name does not say."""
    name = name.lower()
    return False if re.fullmatch(_OUT, name) else True if re.fullmatch(_IN, name) else None


class Truth(NamedTuple):
    """A truth value of an input: as it is, or its opposite.

    at: where it was given to a block that calls it otherwise.
    """

    name: str
    root: tuple[Graph, int]
    holds: bool
    at: Span | None

    @property
    def keeps(self) -> bool | None:
        """Whether it is true of what is to be read, as far as its name says."""
        keeps = keeps_real(self.name)
        return None if keeps is None else keeps is self.holds

    @property
    def out(self) -> bool:
        """Whether its name is that of padding."""
        return keeps_real(self.name) is False

    @property
    def opposite(self) -> Truth:
        return self._replace(holds=not self.holds)

    def mask(self, left_out: bool) -> str:
        """The mask that leaves out what it holds of, or what it does not hold of, as it is written."""
        return f"not {self.name}" if self.holds is left_out else self.name


class Truths(NamedTuple):
    """All of these hold, and more, unless it is one `alone`."""

    all: tuple[Truth, ...]
    alone: bool = True


class Two(NamedTuple):
    """One number where it holds, else another. axes: along which that varies."""

    where: Truth
    yes: float
    no: float


class Filled(NamedTuple):
    """A number where it holds, else something, of which this is known."""

    where: Truth
    number: float
    other: Kind | None
    axes: tuple[Axis, ...]  # along which that varies
    at: Span | None


class Shifted(NamedTuple):
    """Something plus one of two numbers, or times it."""

    two: Two
    axes: tuple[Axis, ...]
    times: bool
    at: Span | None


class SoftmaxShares(NamedTuple):
    """What a softmax makes whose mask, if it has one, is of places, or of an input.

    masks: that input.
    """

    axes: tuple[Axis, ...]
    masks: frozenset[tuple[Graph, int]]


class Signed(NamedTuple):
    """Numbers of both signs: what a learned map or a norm makes."""


Kind = KnownNumber | Truths | Two | Filled | Shifted | SoftmaxShares | Signed


def masks_of_data(graph: Graph) -> Iterator[Problem]:
    """What is left out, and read all the same, in a graph and all that it calls."""
    reading = _Masks()
    yield from reading.told(graph)
    yield from (problem for root, problem in reading.likely if root in reading.masks)


class _Masks(Follower[Kind]):
    """likely: what is wrong if the input is a mask of padding; masks: the inputs that surely are.

    mask: what is known of the mask of the op that is read; now: of the values of its graph.
    """

    def __init__(self) -> None:
        super().__init__()
        self.likely: list[tuple[tuple[Graph, int], Problem]] = []
        self.masks: set[tuple[Graph, int]] = set()
        self.mask: Kind | None = None
        self.now = KnownValues[Kind]({})

    def entering(self, given: tuple[Kind | None, ...]) -> Sequence[Kind | None]:
        return [
            self._entered(place, entry.name, of) if entry.value.type.element is Scalar.BOOL else of
            for place, (entry, of) in enumerate(zip(self.home.inputs, given, strict=True))
        ]

    def _entered(self, place: int, name: str, given: Kind | None) -> Kind:
        if isinstance(given, Truths) and not given.alone:
            return given
        root = given.all[0].root if isinstance(given, Truths) else (self.home, place)
        own = Truth(name, root, True, None)
        if own.keeps is not None:
            self.masks.add(root)
        if isinstance(given, Truths) and own.keeps is None:
            return given
        if isinstance(given, Truths) and given.all[0].at and given.all[0].keeps is (not own.keeps):
            self._turned(given.all[0], given.all[0].at)
        return Truths((own,))

    def passed(self, node: Nest, given: tuple[Kind | None, ...], known: KnownValues[Kind]) -> tuple[Kind | None, ...]:
        """A truth value is told where the block that has its name gives it away."""
        if isinstance(node, Repeat):
            return given
        declared = {entry.value.id for entry in self.home.inputs}
        at = [node.span if value.id in declared else value.span or node.span for value in node.args]
        return tuple(
            of._replace(all=tuple(one if one.at else one._replace(at=there) for one in of.all))
            if isinstance(of, Truths)
            else of
            for there, of in zip(at, given, strict=True)
        )

    def one(self, node: Leaf, known: KnownValues[Kind]) -> Kind | None:
        self.now = known
        if isinstance(node, Apply):
            self.mask = None if node.mask is None else known.get(node.mask.id)
            if isinstance(self.mask, Truths):
                self._masked(node, self.mask)
        return super().one(node, known)

    def number(self, node: Constant) -> Kind | None:
        return known_number(node)

    def of(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        match node.traits.reads:
            case Normalise(weights=True):
                return self._softmax(node, given[0])
            case Normalise(centred=True):
                return Signed()
            case Reduce(multiplies=True):
                for one, other, value in zip(given, given[::-1], node.operands, strict=False):
                    if not node.weights:
                        self._averaged(node, one, other, value)
                return Signed() if node.weights else None
            case Reduce(combination=Combination(largest=bool(), truths=False)):
                self._picked(node, given[0])
                return None
            case _ if not any(given):
                return None
            case Arrange(IndexMap.SAME) if isinstance(given[0], SoftmaxShares | Shifted):
                return given[0]._replace(axes=self.renamed(node, given[0].axes))
            case Arrange(IndexMap.SAME | IndexMap.NEW):
                return given[0]
            case Arrange() | Gather():
                return given[0] if isinstance(given[0], Truths | Signed) else None
            case Pointwise(meaning):
                return self._pointwise(node, meaning, given)
            case _:
                return None

    def _pointwise(self, node: Apply, meaning: object, given: list[Kind | None]) -> Kind | None:
        operands = node.operands
        if meaning in (Sum((1, 1)), Product()) and isinstance(given[0], Two):
            operands, given = operands[::-1], given[::-1]
        match meaning, given:
            case (Sum((1,)), [one]):
                return one
            case (Complement(), [Truths((one,), True)]):
                return Truths((one.opposite,))
            case (Conjunction(), [one, other]):
                every = (
                    *(one.all if isinstance(one, Truths) else ()),
                    *(other.all if isinstance(other, Truths) else ()),
                )
                return Truths(every, alone=False)
            case (Choice(), [Truths((where,), True), KnownNumber(yes), KnownNumber(no)]):
                return Two(where, yes, no)
            case (Choice(), [Truths((where,), True), KnownNumber(yes), other]):
                return Filled(where, yes, other, self._along(operands[0]), node.span)
            case (Choice(), [Truths((where,), True), other, KnownNumber(no)]):
                return Filled(where.opposite, no, other, self._along(operands[0]), node.span)
            case (Product(), [SoftmaxShares() as shares, Two(where, yes, no)]) if {yes, no} == {0, 1}:
                where = where if yes == 0 else where.opposite
                return Filled(where, 0, shares, self._along(operands[1]), node.span)
            case (Sum() | Product(), [Two(where, yes, no), KnownNumber(number)]):
                return Two(where, _made(meaning, yes, number), _made(meaning, no, number))
            case (Sum() | Product(), [KnownNumber(number), Two(where, yes, no)]):
                return Two(where, _made(meaning, number, yes), _made(meaning, number, no))
            case (Sum((-1,)), [Two(where, yes, no)]):
                return Two(where, -yes, -no)
            case (Sum((1, sign)), [_, Two(where, yes, no)]):
                return Shifted(Two(where, sign * yes, sign * no), self._along(operands[1]), False, node.span)
            case (Product(), [_, Two() as two]):
                return Shifted(two, self._along(operands[1]), True, node.span)
            case _:
                return None

    def _along(self, value: Value) -> tuple[Axis, ...]:
        return self.named(value.type.varying)

    def _masked(self, node: Apply, mask: Truths) -> None:
        """What a mask lets through is padding."""
        scores = isinstance(node.traits.reads, Normalise) and any(axis.is_width for axis in node.axes)
        if not scores and not (isinstance(node.traits.reads, Reduce) and node.operands[0].role is Role.DATA):
            return
        for one in mask.all:
            if scores and one.holds:
                self.masks.add(one.root)
            if one.keeps is False and (scores or one.holds):  # what is not kept may have a loss of its own
                self._turned(one, one.at or node.span)

    def _turned(self, where: Truth, at: Span | None) -> None:
        self.found.append((Plain.PADDING_READ if where.out else Plain.REAL_SHUT_OUT).at(at, where.name))

    def _softmax(self, node: Apply, given: Kind | None) -> Kind | None:
        axes = self.named(node.axes)
        if not all(axis.is_width for axis in node.axes):
            return None
        match given:
            case Filled(where, number, _, _, at) if number <= -LARGE and where.keeps:
                self._turned(where.opposite, where.at or at)
            case Filled(where, number, _, _, at) if number > -LARGE and node.mask is None:
                high = Plain.FILLED_HIGH.at(at, where.mask(left_out=True), axes[0], f"{number:g}", there=node.span)
                self.likely.append((where.root, high))
            case Shifted(Two(where, yes, no), along, times, at) if {*along} & {*axes}:
                if not times and yes - no <= -LARGE and where.keeps:
                    self._turned(where.opposite, where.at or at)
                elif not times and no - yes <= -LARGE and where.keeps is False:
                    self._turned(where, where.at or at)
                elif node.mask is None and times and 0 in (yes, no):
                    mask = where.mask(left_out=yes == 0)
                    times_zero = Plain.SCORES_TIMES_ZERO.at(at, mask, axes[0], there=node.span)
                    self.likely.append((where.root, times_zero))
                elif node.mask is None and not times and 0 < abs(yes - no) < _SMALL:
                    mask, less = where.mask(left_out=yes < no), f"{abs(yes - no):g}"
                    small = Plain.PENALTY_SMALL.at(at, mask, axes[0], less, there=node.span)
                    self.likely.append((where.root, small))
        if node.mask is None or node.mask.role is Role.TABLE:
            return SoftmaxShares(axes, frozenset())
        match self.mask:
            case Truths(every, True):
                return SoftmaxShares(axes, frozenset(one.root for one in every))
            case _:
                return None

    def _picked(self, node: Apply, given: Kind | None) -> None:
        """Zeros among what the largest, or the smallest, is picked of."""
        if node.mask is None and isinstance(given, Filled) and given.number == 0 and isinstance(given.other, Signed):
            mask = given.where.mask(left_out=True)
            self.likely.append((given.where.root, Plain.ZERO_PICKED.at(node.span, node.op, mask, there=given.at)))

    def _averaged(self, node: Apply, one: Kind | None, other: Kind | None, value: Value) -> None:
        """Shares that are set to zero, or that average values that are, where the softmax read all."""
        match one, other:
            case Filled(where, 0, SoftmaxShares() as shares, along, at), _:
                pass
            case SoftmaxShares() as shares, Filled(where, 0, _, along, at):
                pass
            case SoftmaxShares() as shares, Shifted(Two(where, yes, no), along, True, at) if {yes, no} == {0, 1}:
                where = where if yes == 0 else where.opposite
            case _:
                return
        if where.root in shares.masks or re.fullmatch(_DRAWN, where.name.lower()) or not {*shares.axes} & {*along}:
            return
        index = index_of(self.home)
        made = _since_softmax(index, value)
        if {*shares.axes} <= {*self.named(node.axes)} and _alone(index, made, node) and not self._scored(made, where):
            zeroed = Plain.SHARES_ZEROED.at(at, where.mask(left_out=True), there=node.span)
            self.likely.append((where.root, zeroed))

    def _scored(self, made: list[Apply], where: Truth) -> bool:
        """Whether it has a part in the scores of a softmax, too, item by item."""
        left, index = list(made[-1].operands), index_of(self.home)
        for value in left:  # grows as it goes
            known, maker = self.now.get(value.id), index.op(value)
            if isinstance(known, Truths) and any(one.root == where.root for one in known.all):
                return True
            if maker is not None and isinstance(maker.traits.reads, Pointwise | Arrange):
                left += maker.operands
        return False


def _made(meaning: object, one: float, other: float) -> float:
    return one * other if isinstance(meaning, Product) else one + (other if meaning == Sum((1, 1)) else -other)


def _alone(index: Index, made: list[Apply], node: Apply) -> bool:
    """Whether nothing but one node reads what was set to zero, or the shares before: they may be summed, and what is
    made of them divided by that.
    """
    known = {id(each) for each in (*made, node)}
    takers = (taker for each in made for taker in index.takers(each.out))
    returned = any(each.out.id in index.returned for each in made)
    return bool(made) and not returned and all(id(taker) in known for taker in takers)


def _since_softmax(index: Index, value: Value) -> list[Apply]:
    """The ops that make a value of shares, backwards; none if these are not made here."""
    node = index.op(value)
    if node is None or (isinstance(node.traits.reads, Normalise) and node.traits.reads.weights):
        return [] if node is None else [node]
    way = next((found for each in node.operands if (found := _since_softmax(index, each))), None)
    return [] if way is None else [node, *way]
