"""The wrong kind of number (W0524): shares or their logarithms where scores belong, and scales on the wrong side.

A value is followed as long as it is one of four kinds: what a learned map makes, and products of two such, with the
sizes that they are multiplied by; shares, which a softmax makes; their logarithms; and numbers between two bounds. What
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
    Combination,
    Extreme,
    Function,
    Gather,
    IndexMap,
    Limited,
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
from ...sizes.functions import LARGEST_EXPONENT, Power
from .bounded import ANY, Bounds, bounds
from .flow import Follower, KnownNumber, known_number

_UNIT = Normalise(squares=ADDED, skips_zeros=True)
_LOGARITHM = Function(above=0, harmless=1, rising=True)
_EXPONENTIAL = Function(least=0, below=LARGEST_EXPONENT, harmless=0, overflows=True, rising=True)
_LOGARITHM_OF = "their logarithm, `log(...)`"
_NARROW = 2  # what the logits of a loss may differ by, and hardly any class stands out

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


class Bounded(NamedTuple):
    """Numbers that never pass two bounds, each by itself.

    squashed: a function makes them so, one that goes from 0 to 1.
    source: what is to be used in their place.
    """

    low: float
    high: float
    squashed: bool
    source: str
    at: Span | None
    home: Graph


Kind = Factor | KnownNumber | Turn | Short | Mapped | Shares | Logs | Bounded


def wrong_numbers(graph: Graph) -> Iterator[Problem]:
    """What stands where another kind of number belongs, in a graph and all that it calls."""
    yield from _Numbers().told(graph)


class _Numbers(Follower[Kind]):
    def number(self, node: Constant) -> Kind | None:
        powers = _powers(node.value, self.names)
        if powers is not None:
            return Factor(_sorted(powers))
        return known_number(node)

    def of(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        if node.weights:
            plain = isinstance(node.traits.reads, Reduce) and not isinstance(given[0], Short)
            return Mapped((), (), None) if plain else None
        match node.traits.reads:
            case Normalise():
                return self._normalised(node, given[0])
            case Pointwise(meaning=Function(least=-1, greatest=1)) if node.out.role <= Role.TABLE:
                return Turn()
            case _ if not any(given):
                return self._bounded(node, given)
            case Reduce(multiplies=True):
                return self._summed(node, given)
            case Reduce(Combination(averages=True) | Combination(largest=bool(), truths=False)):
                return self._mixed(node, given[0])
            case Reduce(logits=True):
                self._as_scores(node, given[0])
                return None
            case Arrange() | Gather():
                return self._arranged(node, given)
            case Pointwise(Product() | Quotient()):
                return self._multiplied(node, given) or self._bounded(node, given)
            case Pointwise(meaning):
                if meaning == _LOGARITHM and isinstance(given[0], Shares):
                    return Logs(given[0].axes, node.span, self.home)
                if meaning == _EXPONENTIAL and isinstance(given[0], Logs):
                    return Bounded(0, 1, False, "the logits, from before the softmax", node.span, self.home)
                return _joined(meaning, given, node.operands) or self._bounded(node, given)
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
        loss = isinstance(node.traits.reads, Reduce)
        if isinstance(given, Bounded):
            if given.high - given.low <= _NARROW if loss else given.squashed:
                span, there, what = self._between(given, node, "taken")
                low, high = f"{given.low:g}", f"{given.high:g}"
                squashed = Plain.SQUASHED_SCORES.at(span, node.op, what, low, high, given.source, there=there)
                self.found.append(squashed)
        elif not isinstance(given, Logs) or not loss:
            return
        elif {*given.axes} == {*self.named(node.axes)}:
            span, there, what = self._between(given, node, "taken")
            self.found.append(Plain.LOGARITHMS_AS_SCORES.at(span, node.op, what, there=there))

    def _between(self, given: Bounded | Logs, node: Apply, used: str) -> tuple[Span | None, Span | None, str]:
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
            case [Shares(axes), other] | [other, Shares(axes)] if {*axes} == {*self.named(node.axes)}:
                return self._mixed(node, other)
            case _:
                return None

    def _mixed(self, node: Apply, given: Kind | None) -> Kind | None:
        """What is averaged, or picked, of numbers between bounds lies between these; but it sums to one no longer."""
        match given:
            case Shares(axes) if not {*axes} & {*self.named(node.axes)}:
                return Bounded(0, 1, False, _LOGARITHM_OF, node.span, self.home)
            case Bounded():
                return given._replace(squashed=False)
            case _:
                return None

    def _bounded(self, node: Apply, given: list[Kind | None]) -> Kind | None:
        """Numbers of data between two bounds: such as a function makes, or what is made of such."""
        meaning = node.traits.meaning
        if meaning is None or node.out.role is not Role.DATA:
            return None
        known = [one for one in given if isinstance(one, Shares | Bounded)]
        mixed = any(isinstance(one, Shares) or one.source == _LOGARITHM_OF for one in known)
        clips = isinstance(meaning, Limited | Extreme | Function)
        found = bounds(meaning, [_bounds(one) for one in given]) if clips or known else None
        if found is None:
            return None
        if not clips and not mixed and isinstance(known[0], Bounded):
            return known[0]._replace(low=found[0], high=found[1], squashed=False)
        source = _LOGARITHM_OF if mixed else f"what the {node.op} is given"
        return Bounded(*found, isinstance(meaning, Function) and found == (0, 1), source, node.span, self.home)

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


def _bounds(kind: Kind | None) -> Bounds:
    match kind:
        case KnownNumber(value):
            return value, value
        case Shares():
            return 0, 1
        case Bounded(low, high):
            return low, high
        case _:
            return ANY


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
