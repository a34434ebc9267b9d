"""The wrong kind of number (W0524): shares or their logarithms where scores belong, and scales on the wrong side.

A value is followed as long as it is one of four kinds: what a learned map makes, and products of two such, with the
sizes that they are multiplied by; shares, which a softmax makes; their logarithms; and numbers between 0 and 1. What
does anything else to it, such as a norm of queries, a temperature or a sum that shares are divided by, makes nothing
known of it: then nothing is said.

Scores of n products grow with the root of n, which is why they are divided by it (Vaswani et al. 2017, section 3.2.1).
That `cross_entropy` takes the softmax itself is the first thing that users of PyTorch's are told in its forum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.nodes import Apply, Constant, Graph
from ...graph.traits import (
    ADDED,
    Arrange,
    Choice,
    Function,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Sum,
)
from ...graph.values import Role, Value
from ...problems.plain import Plain
from ...sizes.axes import Arith, Axis, Literal, SizeOf, Static, known
from ...sizes.functions import Power
from .flow import Follower

_UNIT = Normalise(squares=ADDED, skips_zeros=True)
_LOGARITHM = Function(above=0, harmless=1, rising=True)

Powers = tuple[tuple[Axis, float], ...]  # of the sizes of axes


class Factor(NamedTuple):
    """A product of powers of sizes."""

    powers: Powers


class Turn(NamedTuple):
    """A number between -1 and 1 that no data decides: a sine of a place."""


class Short(NamedTuple):
    """Vectors of length one: what is made of them is small, and may be multiplied."""


class Mapped(NamedTuple):
    """What a learned map makes, times powers of sizes; or, `over` axes, the sum of products of two such.

    grown: where it was last multiplied by a size.
    """

    over: tuple[Axis, ...]
    powers: Powers
    grown: Span | None


class Shares(NamedTuple):
    """What a softmax makes. `over`: what its scores were summed over, if that is all they are."""

    axes: tuple[Axis, ...]
    over: tuple[Axis, ...]
    at: Span | None
    home: Graph


class Logs(NamedTuple):
    """Logarithms of shares along these axes."""

    axes: tuple[Axis, ...]
    at: Span | None
    home: Graph


class Squashed(NamedTuple):
    """Numbers between 0 and 1, each by itself."""

    at: Span | None
    home: Graph


Kind = Factor | Turn | Short | Mapped | Shares | Logs | Squashed


def wrong_numbers(graph: Graph) -> Iterator[Problem]:
    """What stands where another kind of number belongs, in a graph and all that it calls."""
    yield from _Numbers().told(graph)


class _Numbers(Follower[Kind]):
    def number(self, node: Constant) -> Kind | None:
        powers = _powers(node.value, self.names)
        return None if powers is None else Factor(_sorted(powers))

    def of(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        if node.weights:
            plain = isinstance(node.traits.reads, Reduce) and not isinstance(given[0], Short)
            return Mapped((), (), None) if plain else None
        match node.traits.reads:
            case Normalise():
                return self._normalised(node, given[0])
            case Pointwise(meaning=Function(least=-1, greatest=1)):
                return Turn() if node.out.role <= Role.TABLE else None
            case _ if not any(given):
                return Squashed(node.span, self.home) if _squashes(node) else None
            case Reduce(multiplies=True):
                return self._summed(node, given)
            case Reduce(logits=True):
                self._as_scores(node, given[0])
                return None
            case Arrange() | Gather():
                return self._arranged(node, given)
            case Pointwise(Product() | Quotient()):
                return self._multiplied(node, given)
            case Pointwise(meaning):
                if _squashes(node):
                    return Squashed(node.span, self.home)
                if meaning == _LOGARITHM and isinstance(given[0], Shares):
                    return Logs(given[0].axes, node.span, self.home)
                return _joined(meaning, given, node.operands)
            case _:
                return None

    def _normalised(self, node: Apply, given: Kind | None) -> Kind | None:
        reads = node.traits.reads
        if not isinstance(reads, Normalise) or not reads.weights:
            return Short() if reads == _UNIT else None
        if all(axis.is_width for axis in node.axes):  # a router's weights may be of gates
            self._as_scores(node, given)
        if reads.logarithm:
            return Logs(self.named(node.axes), node.span, self.home)
        over: tuple[Axis, ...] = ()
        if isinstance(given, Mapped) and given.over:
            own = [power for axis, power in given.powers if axis in given.over]
            if len(own) == len(given.powers) and own and min(own) >= 0:
                sizes = " * ".join(f"|{axis.name}|" for axis in given.over)
                self.found.append(Plain.SCORES_GROWN.at(given.grown, sizes, there=node.span))
            over = given.over if not own else ()
        return Shares(self.named(node.axes), over, node.span, self.home)

    def _as_scores(self, node: Apply, given: Kind | None) -> None:
        """What an op takes the softmax of."""
        if isinstance(given, Squashed):
            span, there, what = self._between(given, node, "taken")
            self.found.append(Plain.SQUASHED_SCORES.at(span, node.op, what, there=there))
        elif not isinstance(given, Logs) or not isinstance(node.traits.reads, Reduce):
            return
        elif {*given.axes} == {*self.named(node.axes)}:
            span, there, what = self._between(given, node, "taken")
            self.found.append(Plain.LOGARITHMS_AS_SCORES.at(span, node.op, what, there=there))

    def _between(self, given: Squashed | Logs, node: Apply, used: str) -> tuple[Span | None, Span | None, str]:
        """Told where a value is made, if that is in this block, else where it is used: here, there, what that is."""
        return (given.at, node.span, used) if given.home is self.home else (node.span, given.at, "made")

    def _summed(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        if len(given) != 2:
            return None
        for place, (one, other) in enumerate((given, given[::-1])):
            values, logs = node.operands[1 - place], node.operands[place]
            match one:
                case Logs(axes) if {*axes} <= {*self.named(node.axes)} and _averaged(values, logs, node, other):
                    span, there, what = self._between(one, node, "averaged with")
                    self.found.append(Plain.LOGARITHMS_AVERAGED.at(span, axes[0], what, there=there))
        match given:
            case [Mapped((), first, grown), Mapped((), second, grown_too)]:
                return Mapped(self.named(node.axes), _times(first, second), grown_too or grown)
            case _:
                return None

    def _multiplied(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        divides = node.traits.reads == Pointwise(Quotient())
        match given:
            case [Mapped() as one, Turn()] | [Turn(), Mapped() as one] if not divides:
                return one
            case [one, Factor(powers)]:
                powers = _times((), powers, -1) if divides else powers
            case [Factor(powers), one] if not divides:
                pass
            case _:
                return None
        match one:
            case Mapped(over, before, grown):
                grows = bool(powers) and min(power for _, power in powers) > 0
                return Mapped(over, _times(before, powers), node.span if grows else grown)
            case Shares(over=over) if over and powers and all(a in over and power < 0 for a, power in powers):
                sizes = " * ".join(f"|{axis.name}|" for axis in over)
                self.found.append(Plain.SHARES_SCALED.at(node.span, sizes, there=one.at))
            case Factor(before):
                return Factor(_times(before, powers))
        return None

    def _arranged(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        """Items elsewhere, of which the same is known."""
        first = given[0]
        match node.traits.reads:
            case Arrange(IndexMap.SAME) if isinstance(first, Shares | Logs):
                return first._replace(axes=self.renamed(node, first.axes))
            case Arrange(IndexMap.PARTS):
                same = first and all(isinstance(one, Mapped) and one[:2] == first[:2] for one in given)
                return first if same else None
            case _:
                return None if isinstance(first, Shares | Logs) and {*first.axes} & {*self.named(node.axes)} else first


def _averaged(values: Value, logs: Value, node: Apply, other: Kind | None) -> bool:
    """Whether vectors of data are averaged, by what has no share in their features."""
    features = set(values.type.axes) - set(logs.type.axes) - set(node.axes)
    along = any(axis.is_width for axis in node.axes)
    return (
        along
        and values.role is Role.DATA
        and not isinstance(other, Shares | Logs)
        and any(not axis.is_width for axis in features)
    )


def _squashes(node: Apply) -> bool:
    """Whether it makes numbers between 0 and 1 of data, item by item."""
    match node.traits.reads:
        case Pointwise(Function(least=0, greatest=1)):
            return node.out.role is Role.DATA
        case _:
            return False


def _joined(meaning: object, given: list[Kind | None], operands: tuple[Value, ...]) -> Kind | None:
    """Of a sum or a choice."""
    match meaning, given:
        case (Sum((1,)), [one]):
            return one
        case (Sum((-1,)), [Mapped() as one]):
            return one
        case (Sum(), [Mapped() as one, Mapped() as other]) | (Choice(), [_, Mapped() as one, Mapped() as other]):
            return one if one[:2] == other[:2] else None
        case (Sum(), [Mapped() as one, _]) | (Choice(), [_, Mapped() as one, _]):
            return one if one.over or operands[-1].role <= Role.WEIGHT else None
        case (Sum((1, 1)), [_, Mapped() as one]) | (Choice(), [_, _, Mapped() as one]):
            return one if one.over or operands[-2].role <= Role.WEIGHT else None
        case _:
            return None


def _powers(static: Static, names: Mapping[Axis, Axis]) -> dict[Axis, float] | None:
    """The powers of sizes that a number is the product of; None if it is not."""
    match static:
        case SizeOf(axis):
            return {names.get(axis, axis): 1.0}
        case Arith(meaning=Function(power=float(power)), args=(one,)):
            return _raised(one, power, names)
        case Arith(meaning=Power(), args=(one, exponent)):
            number = known(exponent)
            return _raised(one, float(number), names) if isinstance(number, int | float) else None
        case Arith(meaning=Product() | Quotient() as meaning, args=(one, other)):
            first = {} if one == Literal(1) else _powers(one, names)
            second = _powers(other, names)
            if first is None or second is None:
                return None
            sign = -1 if isinstance(meaning, Quotient) else 1
            return dict(_times(_sorted(first), _sorted(second), sign))
        case _:
            return None


def _raised(static: Static, power: float, names: Mapping[Axis, Axis]) -> dict[Axis, float] | None:
    inner = _powers(static, names)
    return None if inner is None else {axis: each * power for axis, each in inner.items()}


def _times(first: Powers, second: Powers, sign: float = 1) -> Powers:
    found = dict(first)
    for axis, power in second:
        found[axis] = found.get(axis, 0.0) + sign * power
    return _sorted({axis: power for axis, power in found.items() if abs(power) > 1e-9})


def _sorted(powers: Mapping[Axis, float]) -> Powers:
    return tuple(sorted(powers.items(), key=lambda each: each[0].id))
