"""What a model comes to in stages: each a model of its own on the rest of the mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...graph.nodes import Graph
from ...graph.values import Scalar
from ..mesh import BATCH, PIPE, Mesh, MeshAxis
from ..plan import PlanOptions, ShardingPlan, mesh_over, plan
from .stages import Stage, holders, stages


@dataclass(frozen=True)
class PipelinePlan:
    """A model on a mesh with `pipe`.

    stages, plans: what each stage is, and comes to on the devices that it has. sent: the bytes that one device of each
    stage but the last sends to the next of one micro-batch, and gets of gradients. held: weights that several stages
    have, and which: their gradients are summed.
    """

    mesh: Mesh
    stages: tuple[Stage, ...]
    plans: tuple[ShardingPlan, ...]
    sent: tuple[tuple[int, int], ...]
    held: Mapping[str, tuple[int, ...]]

    @property
    def micro(self) -> int:
        return self.plans[0].micro

    def flight(self, number: int) -> int:
        """Of how many micro-batches a stage keeps activations at once: where forward and backward take turns, of those
        that later stages have not given back (Narayanan et al. 2021, section 2.2.1); else of all.
        """
        count = len(self.stages)
        return min(count - number, self.micro) if self.micro >= count else self.micro

    def memory(self, number: int, checkpointing: str = "none") -> int:
        """The bytes of one device of a stage."""
        return self.plans[number].memory(checkpointing, self.flight(number))

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

    def seconds(self, bandwidth: float, flops: float) -> float:
        """What a step takes: the slowest stage does all micro-batches, and waits while the first and the last of them
        pass through the others. Nothing overlaps.
        """
        slowest = max(
            each.seconds(bandwidth, flops) + self.micro * sum(sent) / bandwidth
            for each, sent in zip(self.plans, (*self.sent, (0, 0)), strict=True)
        )
        return slowest / (1 - self.bubble)


def planned_stages(graph: Graph, mesh: Mapping[str, int], how: PlanOptions) -> PipelinePlan:
    """The plan of a model in stages on a mesh with `pipe`. Raises NoSplit, and what a plan raises."""
    whole = mesh_over(graph, mesh, how.splits, how.sizes)
    every = stages(graph, mesh[PIPE])
    inner = whole.of_stage()
    inner = inner if inner.axes else Mesh((MeshAxis("data", 1, (BATCH,)),))
    plans, sent = [], []
    for number, each in enumerate(every):
        made = plan(each.graph, inner, how, each.received)
        if number < len(every) - 1:
            outs = [output.value for output in made.cost.graph.outputs]
            each_way = [made.bytes_of(made.meter.bytes(value)) for value in outs]
            back = [bytes for value, bytes in zip(outs, each_way, strict=True) if value.type.element is Scalar.REAL]
            sent.append((sum(each_way), sum(back)))
            made = replace(made, logits=())
        plans.append(replace(made, weights={each.path(path): placed for path, placed in made.weights.items()}))
    shared = {path: by for path, by in holders(every).items() if len(by) > 1}
    return PipelinePlan(whole, every, tuple(plans), tuple(sent), shared)
