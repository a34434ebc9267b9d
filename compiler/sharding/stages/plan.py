"""What a model comes to in stages: each a model of its own on the rest of the mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...graph.nodes import Graph
from ...graph.values import Scalar
from ..choose import mesh_over
from ..mesh import BATCH, PIPE, Mesh, MeshAxis
from ..options import PlanOptions
from ..plan import ShardingPlan, plan
from .stages import Stage, holders, stages


@dataclass(frozen=True)
class PipelinePlan:
    """A model on a mesh with `pipe`.

    stages, plans: what each stage is, and comes to on the devices that it has. held: weights that several stages have,
    and which: their gradients are summed.
    """

    mesh: Mesh
    stages: tuple[Stage, ...]
    plans: tuple[ShardingPlan, ...]
    held: Mapping[str, tuple[int, ...]]

    @property
    def micro(self) -> int:
        return self.plans[0].micro

    @property
    def batch(self) -> int:
        return self.plans[0].batch

    @property
    def zero(self) -> int:
        """As of a plan."""
        return self.plans[0].zero

    @cached_property
    def unlike(self) -> tuple[int, ...]:
        """Of stages that do the same the first, which has most micro-batches on their way."""
        first: dict[object, int] = {}
        return tuple(dict.fromkeys(first.setdefault(each.like, number) for number, each in enumerate(self.stages)))

    @cached_property
    def sent(self) -> tuple[tuple[int, int], ...]:
        """The bytes that one device of each stage but the last sends to the next of one micro-batch, and gets of
        gradients.
        """
        return tuple(map(self._sent, range(len(self.stages) - 1)))

    def _sent(self, number: int) -> tuple[int, int]:
        if number == len(self.stages) - 1:
            return 0, 0
        plan = self.plans[number]
        outs = [(plan.bytes_of(plan.meter.bytes(one.value)), one.value) for one in plan.cost.graph.outputs]
        back = (bytes for bytes, value in outs if value.type.element is Scalar.REAL)
        return sum(bytes for bytes, _ in outs), sum(back)

    @property
    def dtype(self) -> str:
        return self.plans[0].dtype

    @property
    def reduce(self) -> str:
        return self.plans[0].reduce

    @property
    def scatters(self) -> bool:
        """Whether weights of all stages can be scattered."""
        return all(each.scatters for each in self.plans)

    def with_step(self, batch: int, micro: int, zero: int, reduce: str | None = None) -> PipelinePlan:
        """The same weights on the same mesh, for another step."""
        return replace(self, plans=tuple(each.with_step(batch, micro, zero, reduce) for each in self.plans))

    def flight(self, number: int) -> int:
        """Of how many micro-batches a stage keeps activations at once: where forward and backward take turns, of those
        that later stages have not given back (Narayanan et al. 2021, section 2.2.1); else of all.
        """
        count = len(self.stages)
        return min(count - number, self.micro) if self.micro >= count else self.micro

    def memory(self, number: int, checkpointing: str = "none") -> int:
        """The bytes of one device of a stage."""
        return self.plans[number].memory(checkpointing, self.flight(number))

    def needs(self, checkpointing: str = "none") -> int:
        """The bytes of a device that holds most."""
        return max(self.memory(number, checkpointing) for number in self.unlike)

    @property
    def fullest(self) -> int:
        """The stage whose devices hold most, where all is kept."""
        return max(range(len(self.stages)), key=self.memory)

    @property
    def bubble(self) -> float:
        """The part of a step in which a device waits, where all stages take as long: (p - 1) / (m + p - 1)."""
        waits = len(self.stages) - 1
        return waits / (self.micro + waits)

    @property
    def imbalance(self) -> float:
        """How many times as much as the mean the stage does that does most."""
        work = [each.flops for each in self.plans]
        return max(work) * len(work) / (sum(work) or 1)

    def timed(self, bandwidth: float, flops: float, checkpointing: str = "none") -> tuple[float, float]:
        """What a step takes, in seconds, and which part of that is sending: the slowest stage does all micro-batches,
        and waits while the first and the last of them pass through the others. Nothing overlaps.
        """

        def stage(number: int) -> tuple[float, float]:
            seconds, sending = self.plans[number].timed(bandwidth, flops, checkpointing)
            more = self.micro * sum(self._sent(number)) / bandwidth
            return seconds + more, sending * seconds + more

        seconds, sending = max(map(stage, self.unlike))
        return seconds / (1 - self.bubble), sending / seconds * (1 - self.bubble) if seconds else 0.0

    def seconds(self, bandwidth: float, flops: float, checkpointing: str = "none") -> float:
        """What a step takes, as `timed`."""
        return self.timed(bandwidth, flops, checkpointing)[0]


def planned_stages(
    graph: Graph, mesh: Mapping[str, int], how: PlanOptions, every: tuple[Stage, ...] | None = None
) -> PipelinePlan:
    """The plan of a model in stages on a mesh with `pipe`. every: its stages, if they are known. Raises NoSplit, and
    what a plan raises.
    """
    whole = mesh_over(graph, mesh, how.splits or {})
    every = every or stages(graph, mesh[PIPE])
    inner = whole.of_stage()
    inner = inner if inner.axes else Mesh((MeshAxis("data", 1, (BATCH,)),))
    made: dict[object, ShardingPlan] = {}
    plans = []
    for each in every:
        if each.like not in made:
            found = plan(each.graph, inner, how, each.received)
            if each is not every[-1]:
                found = replace(found, device=replace(found.device, logits=()))
            made[each.like] = found
        plans.append(made[each.like].renamed(each.path))
    shared = {path: by for path, by in holders(every).items() if len(by) > 1}
    sharing = {stage for by in shared.values() for stage in by}
    if sharing:  # devices have the same parts of what stages share: scattered along axes that all of these have
        over = frozenset.intersection(*(frozenset(plans[number].copied) for number in sharing))
        for number in sharing:
            if over != {*plans[number].copied}:
                plans[number] = replace(plans[number], parts=replace(plans[number].parts, over=over))
    return PipelinePlan(whole, every, tuple(plans), shared)
