"""Which items of its operands an op reads: the one place that says so.

`access(node)` relates the indices of the result to the indices of what is read. Where an item stands along each axis
of an operand is a form of the result's indices and of *free* indices, which run over their whole axis: those that are
summed over, those that a lookup picks, and, of an axis that the result keeps, a twin (in a softmax, item `k` reads
every `k'`). `given` are forms that are 0 or more wherever something is read, as in a polyhedral access relation
(Feautrier 1991); `when` says on which values it depends whether it is read at all.

Causality, decoding, halos, streams and costs follow from this: how far, how much, in which order, what a mask leaves
out, what a tile needs. Nothing here knows an op by its name: all comes from the traits of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto

from ....dsl.base.records import record, replace
from ...sizes.axes import Axis
from ...sizes.forms import LinearForm
from ...sizes.predicates import Facts
from ..nodes import Apply
from ..nodes import reads as operands_of
from ..traits import (
    Arrange,
    Choice,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Reduce,
    Running,
    Sum,
    Window,
)

ZERO, ONE = LinearForm.number(0), LinearForm.number(1)
ALWAYS: Facts = frozenset()


class Holds(Enum):
    """What has to hold of an item of an operand for another one to be read."""

    TRUE = auto()
    FALSE = auto()
    NOT_ZERO = auto()


@record
class Read:
    """One way in which a result reads an operand.

    operand: its place in `reads(node)`: the mask is last.
    at:      where along the axes of the operand; an axis that is not named, and is not free, passes through as it is.
    free:    indices that run over all of their axes; an axis of the operand among them is read at each index.
    picked:  (operand, index): of the free indices those that are numbers which another operand gives.
    given:   forms that are 0 or more wherever it is read.
    when:    (operand, what holds of its item): else it is not read. That item stands where the op reads that operand.
    tells:   axes of the operand whose number of items shows in the result, even where all items are alike.
    sized:   axes whose number of items decides where items stand: whatever stands there, it shows.
    behind:  axes of the operands before it, behind whose items it stands: where, hangs on how many there are up to it.
    moves:   the result's item is this item as it is: what is known of the one is known of the other.
    """

    operand: int
    at: Mapping[Axis, LinearForm] = {}
    free: frozenset[Axis] = frozenset()
    picked: tuple[tuple[int, Axis], ...] = ()
    given: Facts = ALWAYS
    when: tuple[tuple[int, Holds], ...] = ()
    tells: frozenset[Axis] = frozenset()
    sized: frozenset[Axis] = frozenset()
    behind: frozenset[Axis] = frozenset()
    moves: bool = False


def twin(axis: Axis) -> Axis:
    """Another index of the same axis: always the same one. Ids of axes are 0 or more, those of twins less."""
    return replace(axis, id=-1 - axis.id, name=f"{axis.name}'")


def digits(axes: Iterable[Axis]) -> LinearForm:
    """The index that several make together, the coarsest first: `|at| * chunk + at`."""
    total = ZERO
    for axis in axes:
        shifted = total.times(LinearForm.extent(axis))
        assert shifted is not None  # an extent has no index in it
        total = shifted + LinearForm.index(axis)
    return total


def within(form: LinearForm, axis: Axis) -> Facts:
    """That a form is an index of an axis."""
    return frozenset({form, LinearForm.extent(axis) - ONE - form})


def access(node: Apply) -> tuple[Read, ...]:
    """What an op reads, in the order of its operands; of one that may read anything, each operand at every index."""
    every = range(len(operands_of(node)))
    match node.traits.reads:
        case Pointwise(Choice()):
            return Read(0), Read(1, when=((0, Holds.TRUE),)), Read(2, when=((0, Holds.FALSE),))
        case Pointwise(meaning):
            return tuple(Read(place, moves=meaning == Sum((1,))) for place in every)
        case Reduce() as how:
            zeros = how.skips_zeros and (how.multiplies or len(node.operands) == 1)
            return _together(node, every, zeros, {})
        case Normalise(skips_zeros=zeros):
            return _together(node, every, zeros, {axis: twin(axis) for axis in node.axes})
        case Running():
            return _running(node.axes[0], every)
        case Gather():
            return _picked(node, every)
        case Window():
            return (_window(node),)
        case Arrange(map):
            return _arranged(node, map)
        case _:
            axes = {axis: LinearForm.index(twin(axis)) for each in operands_of(node) for axis in each.type.axes}
            return tuple(
                Read(place, axes, frozenset(twin(axis) for axis in axes), tells=frozenset(axes)) for place in every
            )


def _together(node: Apply, every: Sequence[int], zeros: bool, turned: Mapping[Axis, Axis]) -> tuple[Read, ...]:
    """All items along the op's axes, but for those that a mask leaves out, or where another factor is 0.

    turned: the twins of axes that the result keeps; without any the axes go.
    """
    at = {axis: LinearForm.index(other) for axis, other in turned.items()}
    free = frozenset(turned.values()) or frozenset(node.axes)
    when: tuple[tuple[int, Holds], ...] = () if node.mask is None else ((len(node.operands), Holds.TRUE),)
    if zeros:
        when += tuple((place, Holds.NOT_ZERO) for place in range(len(node.operands)))
    return tuple(Read(place, at, free, when=when, tells=frozenset(node.axes)) for place in every)


def _running(axis: Axis, every: Sequence[int]) -> tuple[Read, ...]:
    before = LinearForm.index(twin(axis))
    facts = frozenset({LinearForm.index(axis) - before})
    return tuple(Read(place, {axis: before}, frozenset({twin(axis)}), given=facts) for place in every)


def _picked(node: Apply, every: Sequence[int]) -> tuple[Read, ...]:
    axis = node.axes[0]
    index = twin(axis)
    when = () if node.mask is None else ((len(node.operands), Holds.TRUE),)
    item = Read(0, {axis: LinearForm.index(index)}, frozenset({index}), ((1, index),), when=when, moves=True)
    return item, *(Read(place) for place in every[1:])


def _window(node: Apply) -> Read:
    """Tap t of the window at s reads s * stride + t - pad; what lies outside is 0."""
    axis, (at, tap) = node.axes[0], node.made
    first = LinearForm.index(at).times(LinearForm.static(node.options["stride"]))
    if first is None:
        return Read(0, {axis: LinearForm.index(twin(axis))}, frozenset({twin(axis)}), tells=frozenset({axis}))
    there = first + LinearForm.index(tap) - LinearForm.static(node.options["pad"])
    return Read(0, {axis: there}, given=within(there, axis), tells=frozenset({axis}))


def _arranged(node: Apply, map: IndexMap) -> tuple[Read, ...]:
    axes, made = node.axes, node.made
    match map:
        case IndexMap.NEW:
            return (Read(0, moves=True),)
        case IndexMap.SAME:
            at = {a: LinearForm.index(b) for a, b in zip(axes, made, strict=True)}
            return (Read(0, at, moves=True),)
        case IndexMap.DIGITS:
            return (Read(0, {axes[0]: digits(made)}, sized=frozenset(made[1:]), moves=True),)
        case IndexMap.NUMBER:
            gap = LinearForm.index(made[0]) - digits(axes)
            facts, inner = frozenset({gap, -gap}), frozenset(axes[1:])
            return (Read(0, free=frozenset(axes), given=facts, sized=inner, moves=True),)
        case IndexMap.SHIFTED:
            there = LinearForm.index(made[0]) - LinearForm.static(node.options["left"])
            return (Read(0, {axes[0]: there}, given=within(there, axes[0]), tells=frozenset(axes)),)
        case IndexMap.MIRRORED:
            turned = {axis: LinearForm.extent(axis) - ONE - LinearForm.index(axis) for axis in axes}
            return (Read(0, turned, tells=frozenset(axes), sized=frozenset(axes), moves=True),)
        case IndexMap.PARTS:
            return tuple(_parts(axes, LinearForm.index(made[0])))


def _parts(axes: Sequence[Axis], index: LinearForm) -> Iterable[Read]:
    """Item i of a part stands behind all items of the parts before it; only the last part has no end that shows."""
    before = ZERO
    for place, axis in enumerate(axes):
        there = index - before
        ends = frozenset({axis} if place < len(axes) - 1 else ())
        yield Read(place, {axis: there}, given=within(there, axis), tells=ends, behind=frozenset(axes[:place]))
        before += LinearForm.extent(axis)
