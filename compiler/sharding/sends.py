"""Collectives, and what else a model on many devices has, as ops of its graph.

Each with what the gradient takes in its place:

    gather   parts become the whole, on every device        gradients are summed, and scattered
    own      of the whole each device keeps its part        gradients are gathered
    enter    what is whole is used by parts: nothing sent   gradients are summed
    reduce   sums of parts are summed                       nothing is sent
    scatter  the same, and each device keeps a part of it   gradients are gathered
    exchange split along one axis, then along another       gradients go back
    settle   the largest (or smallest) of parts             has none
    counts   how many rows picked the experts of each       has none
    rows     rows go to the devices of their experts        gradients go back
    back     what these make of them comes back             gradients go there
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from ..graph.traits import Anything, OpTraits
from .placement import BATCH_AXIS


class SendKind(Enum):
    """What is sent; the value is what generated code calls it."""

    GATHER = "gather_parts"
    OWN = "own_part"
    ENTER = "enter_parts"
    REDUCE = "sum_parts"
    SCATTER = "sum_to_parts"
    EXCHANGE = "exchange_parts"
    SETTLE = "largest_of_parts"
    COUNTS = "sent_counts"
    ROWS = "sent_rows"
    BACK = "returned_rows"


@dataclass(frozen=True, slots=True, eq=False)
class Collective(OpTraits):
    """A collective as an op.

    mesh:     the number of the mesh axis along which it is done; `along`: its name.
    graded:   a gradient goes back through it.
    by_parts: of what is gathered: it is used by parts, so that its gradients are summed; of what each keeps its part
              of: the gradient of the whole is that of the part, with zeros around it.
    largest:  of what settles: the largest, or the smallest.
    """

    kind: SendKind = field(kw_only=True)
    mesh: int = field(kw_only=True)
    along: str = field(kw_only=True)
    graded: bool = field(default=False, kw_only=True)
    by_parts: bool = field(default=False, kw_only=True)
    largest: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class OwnPlace(OpTraits):
    """The number of the device along a mesh axis, as an op."""

    along: str = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class OwnFirst(OpTraits):
    """Where the items of the device begin, as an op without operands: `axes` is its part of an axis, split by these
    axes of the mesh; `along`: their names, and how many devices each has.
    """

    by: tuple[int, ...] = field(kw_only=True)
    along: tuple[tuple[str, int], ...] = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class RingAttention(OpTraits):
    """Attention whose queries are split along a mesh axis, and its keys and values, too: each device attends to those
    of one device after the other, such as it can see (`rings`).

    mesh: the number of the mesh axis; `along`: its name. graded: keys and values have a gradient.
    """

    mesh: int = field(kw_only=True)
    along: str = field(kw_only=True)
    graded: bool = field(kw_only=True)


RING = "ring"
"""What a figure calls a gather that is none: keys and values go to one device after the other."""
ENTERED = replace(BATCH_AXIS, id=-2)
"""Stands for whichever axis a graph that is called splits its work along."""
ADD_BIAS = OpTraits("add_bias", reads=Anything())
SHARE = "share"
"""The option of a dispatch whose rows are sent, or left to other devices: to how many they are left."""
