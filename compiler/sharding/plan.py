"""What a model comes to on a mesh: weights, collectives and memory of each device."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..base.names import did_you_mean, listed
from ..cost.bill import REALS, sized
from ..cost.polynomials.polynomial import Poly
from ..cost.report import Cost, cost
from ..cost.work import BATCH as ONE_BATCH
from ..cost.work import Meter
from ..graph.flows.learning import learned
from ..graph.inventory import extent
from ..graph.nodes import Graph
from ..graph.values import IndexInto, Value
from ..rewrites.numerics.exact import mark_exact
from ..sizes.axes import Number
from .choose import NoSplit, axes_named, splits_of
from .collectives import Means, Sending, sendings
from .estimates.activations import Checkpointing, activations, work_again
from .estimates.balance import DeviceWork, device_work
from .estimates.memory import AHEAD, HALF_STATES, LOSS, LOSS_BY_PARTS, STATES, DeviceMemory, unit
from .experts.counted import counted
from .experts.load import ExpertLoad, loads
from .mesh import BATCH, PIPE, Mesh, mesh_of
from .rings.rewrite import with_rings
from .spread import GraphSpread, spread
from .weights import PlacedWeight, placed_weights


@dataclass(frozen=True)
class PlanOptions:
    """What is asked of a plan beside the model and the mesh, as `Model.plan` has it.

    Raises ValueError for a step that cannot be.
    """

    splits: Mapping[str, Sequence[str]]
    sizes: Mapping[str, Number]
    batch: int | None = None
    dtype: str = "bfloat16"
    stage: int = 3
    reduce: str | None = None
    micro: int = 1

    def __post_init__(self) -> None:
        if self.stage not in range(4):
            raise ValueError(f"the stage of ZeRO is {self.stage!r}: it is 0, 1, 2 or 3")
        if self.reduce is not None and self.reduce not in REALS:
            raise ValueError(f"gradients cannot be summed in {self.reduce!r}: in one of {listed(REALS)}")
        for what, count in (("micro-batches", self.micro), ("a batch", self.batch)):
            if count is not None and count < 1:
                raise ValueError(f"a step has {what} of {count} items" if what == "a batch" else f"{count} {what}")


@dataclass(frozen=True)
class ShardingPlan:
    """A model on a mesh, what each device has and does in a step of training.

    weights: every weight by its path. cost: of what one device does, in a micro-batch of its own.
    batch:   of all devices together. stage: what of the optimiser (1), gradients (2) and weights (3) is scattered over
             the devices that have the same of them (ZeRO: Rajbhandari et al. 2020); 0: nothing.
    whole:   how many parameters the model has. logits: the results of a device that are logits, each with the float32
             arrays of its size that cross-entropy makes of it.
    reduce:  the dtype in which gradients are summed and kept. micro: how many micro-batches a step has.
    ringed:  the graph of one device, as it is sent for: with attention as rings.
    """

    mesh: Mesh
    weights: Mapping[str, PlacedWeight]
    cost: Cost
    batch: int
    stage: int
    whole: int
    logits: tuple[tuple[Value, int], ...]
    reduce: str
    micro: int
    ringed: Graph

    @property
    def copies(self) -> int:
        """How many devices split the batch."""
        return self.mesh.copies

    @cached_property
    def meter(self) -> Meter:
        return Meter(self.cost.scope, REALS[self.cost.dtype], self.cost.values)

    @cached_property
    def sent(self) -> tuple[Sending, ...]:
        """The collectives of a pass through the model, forward and backward, but for those of its weights."""
        return tuple(sendings(self.ringed, self.meter, self.mesh))

    @cached_property
    def loads(self) -> tuple[ExpertLoad, ...]:
        """The rows that experts are given, where these are divided."""
        return tuple(loads(self.cost.graph, self.meter, [axis.size for axis in self.mesh.axes]))

    def with_step(self, batch: int, micro: int, stage: int) -> ShardingPlan:
        """The same weights on the same mesh, for another step."""
        each = max(batch // self.copies // micro, 1)
        cost = replace(self.cost, batch=each, values={**self.cost.values, ONE_BATCH: each})
        return self.like(cost=cost, batch=batch, micro=micro, stage=stage)

    def like(self, **changes: Any) -> ShardingPlan:
        """A plan of the same graph, with what was found out of it."""
        made = replace(self, **changes)
        same = ("work", "sent", "copied", "unsplit", "parameters", "_alike", "_units", "_formulas")
        made.__dict__.update({name: getattr(self, name) for name in same})
        return made

    def bytes_of(self, poly: Poly) -> int:
        return self.cost.figure(poly).value

    # -- weights -------------------------------------------------------------------------------------------------

    def items(self, path: str) -> int:
        """How many items of a weight a device has, not counted what is scattered over copies."""
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
    def copied(self) -> tuple[int, ...]:
        """The mesh axes along which weights can be scattered: devices have the same of all of them, and work of their
        own, a part of the batch or of a width. So `parallelize` does it, whose weights lie on one mesh: where experts
        are divided along an axis, the other weights are whole along it.
        """
        every = self.weights.values()
        several = [number for number, axis in enumerate(self.mesh.axes) if axis.size > 1 and every]
        return tuple(n for n in several if all(n in each.partial and each.place[n] is None for each in every))

    @cached_property
    def unsplit(self) -> frozenset[int]:
        """The mesh axes along which no weight is split."""
        split = {n for placed in self.weights.values() for n, axis in enumerate(placed.place) if axis is not None}
        return frozenset(range(len(self.mesh.axes))) - split

    @cached_property
    def weight_sendings(self) -> tuple[tuple[str, int, Means, int, int], ...]:
        """What is sent of weights and their gradients in a step of training: why, along which mesh axis, how, the bytes
        that a device gives, and how often. What is scattered along one axis is less along the next.
        """
        size, summed = REALS[self.cost.dtype], REALS[self.reduce]
        given: dict[tuple[str, int, Means, int], int] = {}

        def add(why: str, mesh: int, means: Means, times: int, bytes: int) -> None:
            given[why, mesh, means, times] = given.get((why, mesh, means, times), 0) + bytes

        copied, rounds = self.copied if self.stage else (), self.micro if self.stage > 1 else 1
        for (items, reached, partial), weights in self._alike.items():
            for number in sorted(partial, key=lambda number: (number in copied, number)):
                axis = self.mesh.axes[number]
                if axis.size == 1:
                    continue
                if reached:
                    means = Means.REDUCE_SCATTER if number in copied else Means.ALL_REDUCE
                    add("gradients", number, means, rounds, weights * items * summed)
                if number in copied:
                    items //= axis.size
                    for why in ("weights, forward", "weights, backward") if self.stage == 3 else ("weights",):
                        add(why, number, Means.ALL_GATHER, self.micro if self.stage == 3 else 1, weights * items * size)
        return tuple((why, mesh, means, bytes, times) for (why, mesh, means, times), bytes in given.items())

    @cached_property
    def _alike(self) -> Mapping[tuple[int, bool, frozenset[int]], int]:
        """How many weights have so many items on a device, have gradients or not, of parts along these mesh axes."""
        return Counter((self.items(path), each.learned, each.partial) for path, each in self.weights.items())

    @cached_property
    def _units(self) -> Mapping[str, int]:
        """The items of the weights that are gathered together."""
        found = Counter[str]()
        for path in self.weights:
            found[unit(path)] += self.items(path)
        return found

    # -- memory --------------------------------------------------------------------------------------------------

    @property
    def _cast(self) -> bool:
        """Whether weights are only there in float32, and cast when gathered: mixed precision of `fully_shard`."""
        return self.stage == 3 and REALS[self.reduce] > REALS[self.cost.dtype]

    @cached_property
    def weight_bytes(self) -> int:
        return self._scattered(REALS[self.reduce if self._cast else self.cost.dtype], 3)

    @cached_property
    def gradient_bytes(self) -> int:
        return self._scattered(REALS[self.reduce], 2, learned=True)

    @cached_property
    def optimiser_bytes(self) -> int:
        return self._scattered(STATES.get(self.reduce if self._cast else self.cost.dtype, HALF_STATES), 1, learned=True)

    def _scattered(self, each: int, stage: int, learned: bool = False) -> int:
        """Bytes of something that each weight has, scattered over its copies from this stage on."""
        devices = self._devices(stage)
        each_of = ((items, weights) for (items, reached, _), weights in self._alike.items() if reached or not learned)
        return sum(-(-items * each // devices) * weights for items, weights in each_of)

    def _devices(self, stage: int) -> int:
        """Over how many devices something of each weight is scattered, from this stage on."""
        return math.prod(self.mesh.axes[n].size for n in self.copied) if self.stage >= stage else 1

    @cached_property
    def gathered_bytes(self) -> int:
        """Weights that are scattered, while they are used, and gradients that are to be scattered: those of a unit."""
        size, units = REALS[self.cost.dtype], {**self._units} if self._devices(2) > 1 else {}
        always = units.pop("", 0)
        largest = max(units.values(), default=0)
        summed = largest * (size + REALS[self.reduce])
        return summed + (always + AHEAD * largest) * size if self.stage == 3 else summed

    @cached_property
    def activation_bytes(self) -> int:
        """What the gradients need of the forward pass of a micro-batch, with fused attention."""
        return self.cost.fused_saved.value - self._round[0]

    @cached_property
    def _round(self) -> tuple[int, int]:
        """Bytes of keys and values of other devices, which are counted as if gathered, and go round: of all attentions,
        and of one.
        """
        rings = [one for one in self.sent if one.rings]
        others = [self.bytes_of(one.given) * (self.mesh.axes[one.mesh].size - 1) for one in rings]
        return sum(each * one.rings for each, one in zip(others, rings, strict=True)), max(others, default=0)

    @cached_property
    def loss_bytes(self) -> int:
        return sum(self.bytes_of(self.meter.items(value)) * 4 * arrays for value, arrays in self.logits)

    def held(self, checkpointing: str = "none", flight: int = 1) -> DeviceMemory:
        """What one device holds, part by part. checkpointing: "none", "selective" or "full". flight: of how many
        micro-batches activations are kept at once.

        Raises ValueError for another word.
        """
        how = Checkpointing(checkpointing)
        kept, again = map(self.bytes_of, self._formulas[how][:2])
        every, one = self._round
        kept, again = (kept - every, again) if how is Checkpointing.NONE else (kept, max(again - one, 0))
        return DeviceMemory(
            self.weight_bytes,
            self.gradient_bytes,
            self.optimiser_bytes,
            self.gathered_bytes,
            kept * flight,
            again,
            self.loss_bytes,
        )

    @cached_property
    def _formulas(self) -> Mapping[Checkpointing, tuple[Poly, Poly, Poly]]:
        """Of one micro-batch: bytes that are kept, those of the largest pass done again, multiply-adds done again."""
        graph, meter = self.cost.graph, self.meter
        return {
            how: (*activations(graph, self.cost.fused, meter, how), work_again(self.work.part, graph, meter, how))
            for how in Checkpointing
        }

    def memory(self, checkpointing: str = "none", flight: int = 1) -> int:
        """The bytes of one device in a step of training, as `held`."""
        return self.held(checkpointing, flight).all

    # -- time ----------------------------------------------------------------------------------------------------

    @cached_property
    def work(self) -> DeviceWork:
        """What the device does that does most: which is that, and how even the work is."""
        return device_work(self.cost, self.mesh)

    @property
    def behind(self) -> tuple[str, ...]:
        """The mesh axes along which devices do not all do as much."""
        return self.work.behind

    @property
    def imbalance(self) -> float:
        """How many times as much as the mean the device does that does most."""
        return self.work.imbalance

    @cached_property
    def flops(self) -> int:
        """Of a device in a step of training, forward and backward, of what masks keep: of that which does most, where
        devices have parts of a sequence and go round a ring. What checkpointing does again is in `flops_again`.
        """
        work = self.work.part.work
        return 2 * self.bytes_of(work.kept + work.kept_back) * self.micro

    def flops_again(self, checkpointing: str) -> int:
        """What is done again for the gradients of passes of repeats, with "selective" or "full" checkpointing: at most,
        for PyTorch ends a pass where its gradients need no more.
        """
        return 2 * self.bytes_of(self._formulas[Checkpointing(checkpointing)][2]) * self.micro

    @cached_property
    def sent_bytes(self) -> int:
        """What a device sends in a step of training. What checkpointing sends again is in `sent_again`."""
        sizes = [axis.size for axis in self.mesh.axes]
        weights = sum(means.sent(given, sizes[mesh]) * times for _, mesh, means, given, times in self.weight_sendings)
        return self._passing(self.sent) + weights

    def sent_again(self, checkpointing: str) -> int:
        """What passes of repeats send again: all of it that is sent forward, or what selective checkpointing keeps no
        result of.
        """
        kept = {Checkpointing.SELECTIVE: (Means.REDUCE_SCATTER, Means.SEND)}.get(Checkpointing(checkpointing), ())
        again = [one for one in self.sent if one.repeated and not one.backward and one.means not in kept]
        return 0 if checkpointing == Checkpointing.NONE.value else self._passing(again)

    def _passing(self, sent: Sequence[Sending]) -> int:
        sizes = [axis.size for axis in self.mesh.axes]
        return self.micro * sum(one.times * one.means.sent(self.bytes_of(one.given), sizes[one.mesh]) for one in sent)

    def timed(self, bandwidth: float, flops: float, checkpointing: str = "none") -> tuple[float, float]:
        """What a step of training takes where nothing overlaps, in seconds, and which part of that is sending.
        bandwidth: bytes a second; flops: of a device.
        """
        sending = (self.sent_bytes + self.sent_again(checkpointing)) / bandwidth
        seconds = (self.flops + self.flops_again(checkpointing)) / flops + sending
        return seconds, sending / seconds if seconds else 0.0

    def seconds(self, bandwidth: float, flops: float, checkpointing: str = "none") -> float:
        """What a step of training takes where nothing overlaps, as `timed`."""
        return self.timed(bandwidth, flops, checkpointing)[0]


def plan(graph: Graph, mesh: Mesh, how: PlanOptions, received: int = 0) -> ShardingPlan:
    """The plan of a model on a mesh, whatever `how` splits; of no batch, one item a micro-batch for each copy.
    received: of a stage of a pipeline, how many of its inputs the stage before sends.

    Raises Indivisible for an axis that does not divide over the devices which split it, and CostError as a bill does.
    """
    batch, micro = how.batch or mesh.copies * how.micro, how.micro
    found = spread(graph, mesh, received)
    local = cost(
        mark_exact(counted(found.graph)), how.sizes, batch=max(batch // mesh.copies // micro, 1), dtype=how.dtype
    )
    ringed = with_rings(local.graph, found.grown.places.parts)
    reached = learned(graph)
    weights = {path: replace(each, learned=path in reached) for path, each in placed_weights(found).items()}
    whole = sum(_items(placed) for placed in weights.values())
    reduce = how.reduce or how.dtype
    return ShardingPlan(mesh, weights, local, batch, how.stage, whole, logits_of(found), reduce, micro, ringed)


def logits_of(found: GraphSpread) -> tuple[tuple[Value, int], ...]:
    """The results of a device that have an axis of which items of an input are the index: of a vocabulary."""
    words = {entry.value.type.element for entry in found.old.inputs}
    named = {element.axis.family for element in words if isinstance(element, IndexInto)}
    made = []
    for old, new in zip(found.old.outputs, found.graph.outputs, strict=True):
        axes = {axis for axis in old.value.type.axes if axis.family in named}
        if axes:
            parts = axes & {*found.place(old.value)}
            made.append((new.value, LOSS_BY_PARTS if parts else LOSS))
    return tuple(made)


def _items(placed: PlacedWeight) -> int:
    return math.prod(extent(axis) for dim in placed.weight.dims for axis in dim)


def planned(graph: Graph, mesh: Mapping[str, int], how: PlanOptions) -> ShardingPlan:
    """The plan on a mesh of these sizes, which splits what is named, and else what is best. Raises NoSplit, too."""
    if PIPE in mesh:
        raise NoSplit("a mesh with `pipe` has a plan for each stage: `Model.plan_stages`")
    return plan(graph, mesh_over(graph, mesh, how.splits, how.sizes), how)


def mesh_over(
    graph: Graph,
    mesh: Mapping[str, int],
    splits: Mapping[str, Sequence[str]],
    sizes: Mapping[str, Number] | None = None,
) -> Mesh:
    """The mesh of these sizes, which splits what is named, and else what is best for such sizes of the model."""
    for name in splits:
        if name not in mesh:
            raise NoSplit(f"there is no mesh axis `{name}` to split {listed(splits[name])}: there are {listed(mesh)}")
    _known(graph, splits)
    scope, values, _ = sized(graph, sizes or {})
    return mesh_of(mesh, splits_of(graph, mesh, splits, scope, {**values, ONE_BATCH: 1}))


def _known(graph: Graph, splits: Mapping[str, Sequence[str]]) -> None:
    names = {*axes_named(graph), BATCH}
    for mesh, axes in splits.items():
        for name in axes:
            if name not in names:
                near = did_you_mean(name, names)
                raise NoSplit(f"`{mesh}` splits `{name}`, but no axis is named so{near and ': ' + near}")
