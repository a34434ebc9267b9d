"""What a model comes to on a mesh: weights, collectives and memory of each device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..base.names import did_you_mean, listed
from ..cost.bill import REALS
from ..cost.memory import Memory
from ..cost.polynomials.polynomial import Poly, largest, total
from ..cost.report import Cost, cost
from ..cost.work import Meter
from ..graph.inventory import extent
from ..graph.nodes import Call, Graph, Repeat
from ..rewrites.kernels.attention import fuse_attention
from ..rewrites.numerics.exact import mark_exact
from ..rewrites.simplify.constants import fold_truths
from ..sizes.axes import Number
from .choose import NoSplit, axes_named, splits_of
from .collectives import Means, Sending, sendings
from .mesh import BATCH, Mesh, mesh_of
from .spread import spread
from .weights import PlacedWeight, placed_weights

STATES = {"float64": 16, "float32": 8}
"""Bytes that an optimiser keeps for each weight: AdamW's two moments."""
HALF_STATES = 12  # of weights in half precision: the moments, and the weight, in float32


@dataclass(frozen=True)
class ShardingPlan:
    """A model on a mesh, what each device has and does.

    weights: every weight by its path. cost: of what one device does, in a batch of its own.
    batch:   of all devices together. stage: what of the optimiser (1), gradients (2) and weights (3) is scattered over
             the devices that split the batch (ZeRO: Rajbhandari et al. 2020); 0: nothing.
    """

    mesh: Mesh
    weights: Mapping[str, PlacedWeight]
    cost: Cost
    batch: int
    stage: int
    whole: int  # how many parameters the model has

    @property
    def copies(self) -> int:
        """How many devices split the batch."""
        return self.mesh.copies

    @cached_property
    def sent(self) -> tuple[Sending, ...]:
        """The collectives of a pass through the model, forward and backward, but for those of its weights."""
        return tuple(sendings(self.cost.graph, Meter(self.cost.scope, REALS[self.cost.dtype], self.cost.values)))

    def bytes_of(self, poly: Poly) -> int:
        return self.cost.figure(poly).value

    # -- weights -------------------------------------------------------------------------------------------------

    def items(self, path: str) -> int:
        """How many items of a weight a device has, not counted what is scattered over the batch."""
        placed = self.weights[path]
        count = _items(placed)
        for axis, by in zip(placed.place, self.mesh.axes, strict=True):
            if axis is not None:
                count //= by.size
        return count

    @cached_property
    def parameters(self) -> int:
        """How many items of all weights a device has."""
        return sum(map(self.items, self.weights))

    @cached_property
    def weight_sendings(self) -> tuple[tuple[str, int, Means, int], ...]:
        """What is sent of weights and their gradients in a step of training: why, along which mesh axis, how, and the
        bytes that a device gives.
        """
        size = REALS[self.cost.dtype]
        found = []
        for number, axis in enumerate(self.mesh.axes):
            items = sum(
                self.items(path)
                for path, placed in self.weights.items()
                if number in placed.partial and not placed.weight.frozen
            )
            if not items or axis.size == 1:
                continue
            given = items * size
            if BATCH in axis.splits and self.stage:
                found.append(("gradients", number, Means.REDUCE_SCATTER, given))
                times = ("weights, forward", "weights, backward") if self.stage == 3 else ("weights",)
                found += [(why, number, Means.ALL_GATHER, given // axis.size) for why in times]
            else:
                found.append(("gradients", number, Means.ALL_REDUCE, given))
        return tuple(found)

    # -- memory --------------------------------------------------------------------------------------------------

    @property
    def weight_bytes(self) -> int:
        return self._scattered(REALS[self.cost.dtype], 3)

    @property
    def gradient_bytes(self) -> int:
        return self._scattered(REALS[self.cost.dtype], 2)

    @property
    def optimiser_bytes(self) -> int:
        return self._scattered(STATES.get(self.cost.dtype, HALF_STATES), 1)

    def _scattered(self, each: int, stage: int) -> int:
        """Bytes of something that each weight has, scattered over the batch from this stage on."""
        return -(-self.parameters * each // (self.copies if self.stage >= stage else 1))

    @cached_property
    def activation_bytes(self) -> int:
        """What the gradients need of the forward pass, with fused attention."""
        return self.cost.fused_saved.value

    @cached_property
    def checkpointed_bytes(self) -> int:
        """The same where each pass of a repeat is done again for its gradients: what enters each pass, and one pass."""
        graph, _ = fuse_attention(fold_truths(self.cost.graph)[0])
        meter = Meter(self.cost.scope, REALS[self.cost.dtype], self.cost.values)
        results = total(result.bytes for result in self.cost.fused.results if result.saved)
        return self.bytes_of(_checkpointed(graph, self.cost.fused, meter) + results)

    def memory(self, checkpointed: bool = False) -> int:
        """The bytes of one device in a step of training."""
        activations = self.checkpointed_bytes if checkpointed else self.activation_bytes
        return self.weight_bytes + self.gradient_bytes + self.optimiser_bytes + activations

    # -- time ----------------------------------------------------------------------------------------------------

    @cached_property
    def flops(self) -> int:
        """Of one device in a step of training: forward and backward, of what masks keep."""
        work = self.cost.part.work
        return 2 * self.bytes_of(work.kept + work.kept_back)

    @cached_property
    def sent_bytes(self) -> int:
        """What a device sends in a step of training."""
        sizes = [axis.size for axis in self.mesh.axes]
        passing = sum(one.times * one.means.sent(self.bytes_of(one.given), sizes[one.mesh]) for one in self.sent)
        return passing + sum(means.sent(given, sizes[mesh]) for _, mesh, means, given in self.weight_sendings)

    def seconds(self, bandwidth: float, flops: float) -> float:
        """What a step of training takes where nothing overlaps. bandwidth: bytes a second; flops: of a device."""
        return self.flops / flops + self.sent_bytes / bandwidth


def _checkpointed(graph: Graph, memory: Memory, meter: Meter) -> Poly:
    """What is saved in a graph where each pass of a repeat keeps what enters it alone, and one pass all."""
    saved = memory.saved
    for place, node in enumerate(graph.nodes):
        below = memory.below.get(place)
        if below is None:
            continue
        if isinstance(node, Call):
            inner = Meter(meter.scope.inside(node), meter.real, meter.values)
            saved = saved - below.saved + _checkpointed(node.graph, below, inner)
        elif isinstance(node, Repeat):
            passes = [one.saved for one in below.passes or (below,)]
            count = meter.scope.number(node.count)
            every = passes[0] * count if len(passes) == 1 else total(passes)
            entering = total(meter.bytes(value) for value in node.args[: node.carried]) * count
            saved = saved - every + largest(passes, meter.values) + entering
    return saved


def plan(
    graph: Graph,
    mesh: Mesh,
    sizes: Mapping[str, Number] | None = None,
    *,
    batch: int | None = None,
    dtype: str = "bfloat16",
    stage: int = 3,
) -> ShardingPlan:
    """The plan of a model on a mesh. batch: of all devices; None: one item for each that splits it.

    Raises Indivisible for an axis that does not divide over the devices which split it, and CostError as a bill does.
    """
    batch = mesh.copies if batch is None else batch
    found = spread(graph, mesh)
    local = cost(mark_exact(found.graph), sizes, batch=max(batch // mesh.copies, 1), dtype=dtype)
    weights = placed_weights(found)
    whole = sum(_items(placed) for placed in weights.values())
    return ShardingPlan(mesh, weights, local, batch, stage, whole)


def _items(placed: PlacedWeight) -> int:
    return math.prod(extent(axis) for dim in placed.weight.dims for axis in dim)


def planned(
    graph: Graph,
    mesh: Mapping[str, int],
    splits: Mapping[str, Sequence[str]],
    sizes: Mapping[str, Number],
    *,
    batch: int | None,
    dtype: str,
    stage: int,
) -> ShardingPlan:
    """The plan on a mesh of these sizes, which splits what is named, and else what is best. Raises NoSplit, too."""
    for name in splits:
        if name not in mesh:
            raise NoSplit(f"there is no mesh axis `{name}` to split {listed(splits[name])}: there are {listed(mesh)}")
    _known(graph, splits)
    bill = cost(mark_exact(graph), sizes, dtype=dtype)
    found = splits_of(graph, mesh, splits, bill.scope, bill.values)
    return plan(graph, mesh_of(mesh, found), sizes, batch=batch, dtype=dtype, stage=stage)


def _known(graph: Graph, splits: Mapping[str, Sequence[str]]) -> None:
    names = {*axes_named(graph), BATCH}
    for mesh, axes in splits.items():
        for name in axes:
            if name not in names:
                near = did_you_mean(name, names)
                raise NoSplit(f"`{mesh}` splits `{name}`, but no axis is named so{near and ': ' + near}")
