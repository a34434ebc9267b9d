"""What analyses, rewrites and backends ask of an op. It is data in the op's row (`compiler/ops`), and each node of a
graph carries it: whoever asks matches these classes, never the name of an op.

How an op reads its operands is one of eight classes, `Reads`. What a pointwise op computes of the items that it reads
is a `Meaning`, which numbers known at build time share (`sizes/functions.py`): proofs and bounds follow these.
"""

from __future__ import annotations

import math
from enum import Enum, auto

from ...dsl.base.records import field, record
from ..sizes.functions import (
    Alike,
    Choice,
    Compared,
    Complement,
    Conjunction,
    Connective,
    Disjunction,
    Extreme,
    Function,
    Limited,
    LogSum,
    Lookup,
    Magnitude,
    Meaning,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
    Validity,
)

__all__ = [  # beside what is below: whoever matches `Pointwise` asks for these too
    "Choice",
    "Compared",
    "Complement",
    "Conjunction",
    "Connective",
    "Disjunction",
    "Extreme",
    "Function",
    "Limited",
    "LogSum",
    "Lookup",
    "Magnitude",
    "Meaning",
    "Power",
    "Product",
    "Quotient",
    "Remainder",
    "Rounded",
    "Sum",
    "Validity",
]

# -- how the items along an axis are put together ------------------------------------------------------------------


@record
class Combination:
    """How items along an axis become one.

    neutral:  what is made of no items; None where there must be one.
    adds:     items are summed (a mean, too): what is 0 adds nothing, so it need not be read.
    logs:     it adds the exponentials, and takes the logarithm of the sum.
    averages: a sum is divided by the number of items.
    truths:   the items are truth values.
    largest:  True picks the largest, False the smallest; None where nothing is picked.
    """

    neutral: float | bool | None
    adds: bool = False
    logs: bool = False
    averages: bool = False
    truths: bool = False
    largest: bool | None = None


ADDED = Combination(0.0, adds=True)
AVERAGED = Combination(0.0, adds=True, averages=True)
LARGEST = Combination(-math.inf, largest=True)
SMALLEST = Combination(math.inf, largest=False)
LOG_ADDED = Combination(-math.inf, logs=True)
SOME_TRUE = Combination(False, truths=True, largest=True)
ALL_TRUE = Combination(True, truths=True, largest=False)


def joined(combination: Combination) -> Meaning | None:
    """What makes the result of all items of the results of two parts of them; None where these do not say enough."""
    match combination:
        case Combination(averages=True):  # how many items there were in each
            return None
        case Combination(truths=True, largest=bool(some)):
            return Disjunction() if some else Conjunction()
        case Combination(largest=bool(largest)):
            return Extreme(largest)
        case Combination(adds=True):
            return Sum((1, 1))
        case Combination(logs=True):
            return LogSum()
        case _:
            return None


# -- how an op reads its operands ----------------------------------------------------------------------------------


@record
class Pointwise:
    """Each item of the result is made of the same item of every operand."""

    meaning: Meaning


@record
class Reduce:
    """The axes in brackets go: an item of the result is made of all items along them.

    combination: None where it is none of the known ones.
    multiplies:  the operands (or the operand and a weight) are multiplied first.
    skips_zeros: it does not read an item that is 0 (or false), nor what else is multiplied by that.
    indices:     the result tells where items stand along the axis; along the axis that it makes, if any, in order.
    largest_first: whether that order begins with the largest, or with the smallest; the option `descending`, if it is
                 true, turns it round. None: it is another order.
    logits:      the items of the first operand are logits of shares, so that minus infinity takes an item out.
    """

    combination: Combination | None
    multiplies: bool = False
    skips_zeros: bool = False
    indices: bool = False
    largest_first: bool | None = None
    logits: bool = False


@record
class Running:
    """The axis in brackets stays: item i is made of the items up to i."""

    combination: Combination


@record
class Normalise:
    """The axes in brackets stay, and each item is set in proportion to all of them.

    weights:     the results are shares, which sum to one.
    logarithm:   of those.
    centred:     the mean is taken away first.
    squares:     each item is divided by the root of what their squares are together: the sum, or the mean (plus the
                 option `eps`). None: by something else.
    skips_zeros: an item that is 0 changes nothing for the others, and stays 0.
    """

    weights: bool = False
    logarithm: bool = False
    centred: bool = False
    squares: Combination | None = None
    skips_zeros: bool = False


class Gather(Alike):
    """Items of the first operand, at the indices that the second gives along the axis in brackets."""


class IndexMap(Enum):
    """Where an item of the result stands in the operand: of `a` before the arrow, `b` and `c` behind it.

    SAME     a = b
    NEW      for each index of the axes made the same item
    DIGITS   a = b |c| + c: one axis becomes several
    NUMBER   b = a |a'| + a': several become one
    PARTS    one operand's axis after the other's
    SHIFTED  a = b - left, a number outside of that; left is an option, 0 or more
    MIRRORED a = |a| - 1 - a: the last first
    """

    SAME = auto()
    NEW = auto()
    DIGITS = auto()
    NUMBER = auto()
    PARTS = auto()
    SHIFTED = auto()
    MIRRORED = auto()


@record
class Arrange:
    """Each item of the result is an item of an operand, elsewhere."""

    map: IndexMap


class Window(Alike):
    """At each place the items around it: y[s, t] = x[s * stride + t - pad], 0 outside of x."""


class Anything(Alike):
    """It may read anything. Only ops that rewrites make are so: nothing is proved of a graph that has them."""


Reads = Pointwise | Reduce | Running | Normalise | Gather | Arrange | Window | Anything


def keeps_truths(reads: Reads) -> bool:
    """Whether each truth value of the result is one of an operand, at the same place, or joins such."""
    match reads:
        case Pointwise(meaning):
            return isinstance(meaning, Connective) or meaning == Sum((1,))
        case Arrange(IndexMap.SAME | IndexMap.NEW):
            return True
        case _:
            return False


# -- what one use of an op takes -----------------------------------------------------------------------------------


class Chunks(Alike):
    """A state that sums keys times values, for many items at once: in chunks."""


class Counts(Alike):
    """What the op that it reads counts beside: its call gives both."""


class RunningState(Alike):
    """All values of a state, number by number."""


@record
class CellKernel:
    """All of a recurrent network, by a kernel of its own.

    gates: maps of an item, and of the state; operations: what is done of them, for each number of the state.
    calls: as many calls from Python take as long as the kernel needs to go from one item to the next, at least.
    """

    gates: int
    operations: int
    calls: int


Kernel = Chunks | Counts | RunningState | CellKernel


@record
class OpCost:
    """What one use of an op takes beside its multiply-adds; `compiler/cost` adds it up.

    work:  operations for each item of the result, or of the first operand where `reads`; a function such as exp is one.
    moves: whether it reads its operands and writes a result; what only renames or reshapes does not: its result is
           another view of its operand.
    saves: what the gradient needs: "x" the operands (as they are masked), "other" those that the gradients of others
           need, "result", "divisor" the second operand if it has a gradient,
           "discrete" operands that are no reals, "mask" a byte for each item of the result, "copy" one more first
           operand, "count" how many items the mask keeps.
    spare: how many more arrays of the size of what is masked a mask takes while the op runs.
    makes_indices: it makes an index for each item of its result, too: where that stood. Its gradient goes there.
    kernel: how it is computed as a whole, and so what it takes (compiler/cost/computed).
    """

    work: int = 1
    reads: bool = False
    moves: bool = True
    saves: tuple[str, ...] = ()
    spare: int = 1
    makes_indices: bool = False
    kernel: Kernel | None = None


@record(eq=False)
class OpTraits:
    """What a node knows of its op. There is one object for each name.

    name:      of the op; for messages, and for the tables of the backends.
    reads:     how it reads its operands.
    cost:      what one use of it takes.
    random:    while a model is trained, each item is multiplied by a number drawn at random; else it is its operand.
    gradient:  a gradient passes through it.
    jumps:     a small change of an operand may change the result by a whole one.
    checks:    it makes nothing of use: it stops the run where its first operand is false.
    caches:    of decoding: its code asks the cache.
    remembers: what it gives or keeps hangs on the steps before: two uses are two.
    keeps:     it changes what later steps get: it is done though nothing reads its result.
    masked:    it takes a mask, and then reads nothing of the items that this leaves out.
    spends:    with the option `spend` it may compute in the memory of its first operand, which is lost.
    """

    name: str
    reads: Reads = field(kw_only=True)
    cost: OpCost = field(default=OpCost(), kw_only=True)
    random: bool = field(default=False, kw_only=True)
    gradient: bool = field(default=True, kw_only=True)
    jumps: bool = field(default=False, kw_only=True)
    checks: bool = field(default=False, kw_only=True)
    caches: bool = field(default=False, kw_only=True)
    remembers: bool = field(default=False, kw_only=True)
    keeps: bool = field(default=False, kw_only=True)
    masked: bool = field(default=False, kw_only=True)
    spends: bool = field(default=False, kw_only=True)

    @property
    def acts(self) -> bool:
        """Whether it is done though nothing reads its result."""
        return self.keeps or self.checks

    @property
    def meaning(self) -> Meaning | None:
        """What it computes of one item of each operand; None where it puts items together, or elsewhere."""
        return self.reads.meaning if isinstance(self.reads, Pointwise) else None

    @property
    def commutes(self) -> bool:
        """Whether its operands may stand in any order."""
        match self.reads:
            case Pointwise(Sum(times)):
                return len({*times}) == 1
            case Pointwise(Compared(sign)):
                return sign in ("==", "!=")
            case Pointwise(Product() | Extreme() | LogSum() | Conjunction() | Disjunction()):
                return True
            case Reduce(multiplies=multiplies):
                return multiplies
        return False
