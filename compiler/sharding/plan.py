"""What a model comes to on a mesh: weights, collectives and memory of each device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..cost.bill import CostError, sized
from ..cost.polynomials.polynomial import Poly
from ..cost.report import Cost, cost
from ..cost.work import BATCH as ONE_BATCH
from ..cost.work import Meter
from ..graph.flows.learning import learned
from ..graph.nodes import Graph
from ..graph.values import IndexInto, Value
from ..rewrites.numerics.exact import mark_exact
from ..sizes.axes import Number
from .choose import NoSplit, mesh_over
from .collectives import Means, Sending
from .estimates.activations import Checkpointing
from .estimates.device import DeviceGraph
from .estimates.memory import LOSS, LOSS_BY_PARTS, DeviceMemory
from .estimates.parts import WeightParts
from .estimates.scattered import ScatteredWeights, WeightSending
from .experts.counted import counted
from .experts.load import ExpertLoad
from .mesh import PIPE, Indivisible, Mesh
from .options import PlanOptions
from .rings.rewrite import with_rings
from .spread import GraphSpread, spread
from .weights import PlacedWeight, placed_weights


@dataclass(frozen=True)
class ShardingPlan:
    """A model on a mesh, what each device has and does in a step of training.

    parts:  of every weight. device: what one does, in a micro-batch. cost: that of a micro-batch of its own.
    batch:  of all devices together. zero, reduce, micro: as in `PlanOptions`.
    """

    parts: WeightParts
    device: DeviceGraph
    cost: Cost
    batch: int
    zero: int
    reduce: str
    micro: int

    @property
    def mesh(self) -> Mesh:
        return self.parts.mesh

    @property
    def copies(self) -> int:
        """How many devices split the batch."""
        return self.mesh.copies

    @property
    def meter(self) -> Meter:
        return self.device.meter

    @property
    def sent(self) -> tuple[Sending, ...]:
        """The collectives of a pass through the model, forward and backward, but for those of its weights."""
        return self.device.sent

    @property
    def loads(self) -> tuple[ExpertLoad, ...]:
        """The rows that experts are given, where these are divided."""
        return self.device.loads

    def with_step(self, batch: int, micro: int, zero: int, reduce: str | None = None) -> ShardingPlan:
        """The same weights on the same mesh, for another step."""
        each = max(batch // self.copies // micro, 1)
        cost = replace(self.cost, batch=each, values={**self.cost.values, ONE_BATCH: each})
        return replace(self, cost=cost, batch=batch, micro=micro, zero=zero, reduce=reduce or self.reduce)

    def renamed(self, path: Callable[[str], str]) -> ShardingPlan:
        """The same, its weights under other paths."""
        return replace(self, parts=self.parts.renamed(path))

    @property
    def dtype(self) -> str:
        """Of what is computed."""
        return self.cost.dtype

    @property
    def scatters(self) -> bool:
        """Whether weights can be scattered."""
        return bool(self.copied)

    def bytes_of(self, poly: Poly) -> int:
        return self.cost.figure(poly).value

    # -- weights -------------------------------------------------------------------------------------------------

    @property
    def weights(self) -> Mapping[str, PlacedWeight]:
        """Where each lies, by its path."""
        return self.parts.placed

    def items(self, path: str) -> int:
        """How many items of a weight a device has, not counted what is scattered over copies."""
        return self.parts.items(path)

    @property
    def parameters(self) -> int:
        """How many items of all weights a device has."""
        return self.parts.parameters

    @property
    def whole(self) -> int:
        """How many parameters the model has."""
        return self.parts.whole

    @property
    def copied(self) -> tuple[int, ...]:
        """The mesh axes along which weights can be scattered."""
        return self.parts.copied

    @cached_property
    def scattered(self) -> ScatteredWeights:
        return ScatteredWeights(self.parts, self.zero, self.micro, self.dtype, self.reduce)

    @property
    def weight_sendings(self) -> tuple[WeightSending, ...]:
        """What is sent of weights and their gradients in a step of training."""
        return self.scattered.sendings

    # -- memory --------------------------------------------------------------------------------------------------

    @property
    def weight_bytes(self) -> int:
        return self.scattered.weights

    @property
    def gradient_bytes(self) -> int:
        return self.scattered.gradients

    @property
    def optimiser_bytes(self) -> int:
        return self.scattered.optimiser

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
        return sum(self.bytes_of(self.meter.items(value)) * 4 * arrays for value, arrays in self.device.logits)

    def held(self, checkpointing: str = "none", flight: int = 1) -> DeviceMemory:
        """What one device holds, part by part. checkpointing: "none", "selective" or "full". flight: of how many
        micro-batches activations are kept at once.

        Raises ValueError for another word.
        """
        how = Checkpointing(checkpointing)
        kept, again = map(self.bytes_of, self.device.kept(how)[:2])
        every, one = self._round
        kept, again = (kept - every, again) if how is Checkpointing.NONE else (kept, max(again - one, 0))
        return DeviceMemory(
            self.weight_bytes,
            self.gradient_bytes,
            self.optimiser_bytes,
            self.scattered.gathered,
            kept * flight,
            again,
            self.loss_bytes,
        )

    def memory(self, checkpointing: str = "none", flight: int = 1) -> int:
        """The bytes of one device in a step of training, as `held`."""
        return self.held(checkpointing, flight).all

    # -- time ----------------------------------------------------------------------------------------------------

    @property
    def behind(self) -> tuple[str, ...]:
        """The mesh axes along which devices do not all do as much."""
        return self.device.work.behind

    @property
    def imbalance(self) -> float:
        """How many times as much as the mean the device does that does most."""
        return self.device.work.imbalance

    @cached_property
    def flops(self) -> int:
        """Of a device in a step of training, forward and backward, of what masks keep: of that which does most, where
        devices have parts of a sequence and go round a ring. What checkpointing does again is in `flops_again`.
        """
        work = self.device.work.part.work
        return 2 * self.bytes_of(work.kept + work.kept_back) * self.micro

    def flops_again(self, checkpointing: str) -> int:
        """What is done again for the gradients of passes of repeats, with "selective" or "full" checkpointing: at most,
        for PyTorch ends a pass where its gradients need no more.
        """
        return 2 * self.bytes_of(self.device.kept(Checkpointing(checkpointing))[2]) * self.micro

    @cached_property
    def sent_bytes(self) -> int:
        """What a device sends in a step of training. What checkpointing sends again is in `sent_again`."""
        return self._passing(self.sent) + self.scattered.sent

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


def planned(graph: Graph, mesh: Mapping[str, int], how: PlanOptions) -> ShardingPlan:
    """The plan on a mesh of these sizes, which splits what is named, and else what is best. Raises NoSplit, too."""
    if PIPE in mesh:
        raise NoSplit("a mesh with `pipe` has a plan for each stage: `Model.plan_stages`")
    return plan(graph, mesh_over(graph, mesh, how.splits or {}), how)


def plan(graph: Graph, mesh: Mesh, how: PlanOptions, received: int = 0) -> ShardingPlan:
    """The plan of a model on a mesh, whatever `how` splits; of no batch, one item a micro-batch for each copy.
    received: of a stage of a pipeline, how many of its inputs the stage before sends.

    Raises Indivisible for an axis that does not divide over the devices which split it, and CostError as a bill does.
    """
    batch, micro = how.batch or mesh.copies * how.micro, how.micro
    found = spread(graph, mesh, received)
    each = max(batch // mesh.copies // micro, 1)
    try:
        local = cost(mark_exact(counted(found.graph)), how.sizes, batch=each, dtype=how.dtype)
    except CostError:
        _require_whole_parts(graph, found, how.sizes)
        raise
    reached = learned(graph)
    weights = {path: replace(each, learned=path in reached) for path, each in placed_weights(found).items()}
    device = DeviceGraph(mesh, local, with_rings(local.graph, found.grown.places.parts), logits_of(found))
    return ShardingPlan(WeightParts(mesh, weights), device, local, batch, how.zero, how.reduce or how.dtype, micro)


def _require_whole_parts(graph: Graph, found: GraphSpread, sizes: Mapping[str, Number]) -> None:
    """Raises Indivisible for a width of these sizes that does not divide."""
    scope, values, _ = sized(graph, sizes)
    parts = found.grown.places.parts
    for axis, by in parts.made:
        devices = parts.devices(by)
        size = scope.size(axis).at(values) if axis in graph.axes else 0
        if size % devices:
            raise Indivisible(axis, [parts.mesh.axes[number] for number in by], devices, int(size))


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
