"""A plan in stages as a page of text, and as data."""

from __future__ import annotations

from collections.abc import Iterator

from ..cautions import HOST
from ..data import data
from ..estimates.activations import Checkpointing
from ..page import aligned, number_of, page, percent, size, time
from .plan import PipelinePlan


def page_of_stages(plan: PipelinePlan, *, bandwidth: float, flops: float, host: int = HOST) -> list[str]:
    """What `attnc shard` prints of stages: a row for each, then the plan of that which holds most."""
    first, most = plan.plans[0], plan.fullest
    lines = [
        f"{first.cost.name} on {number_of(plan.mesh.devices, 'device')}: {plan.mesh}",
        f"a step   a batch of {first.batch:,} in {number_of(plan.micro, 'micro-batch')}, {first.cost.dtype}",
        "",
        *aligned([HEAD, *_rows(plan)]),
        "",
    ]
    for path, by in plan.held.items():
        lines.append(f"shared     {path}: stages {', '.join(map(str, by))}; its gradients are summed")
    waits, seconds = len(plan.stages) - 1, plan.seconds(bandwidth, flops)
    turns = number_of(plan.micro + waits, "turn")
    lines += [
        f"bubble     {percent(plan.bubble, 1)} of a step a device waits: {waits} of {turns}",
        f"balance    most work of a stage: {plan.imbalance:.2f} times the mean",
        f"a step     {time(seconds)}, if nothing overlaps",
        *_cautions(plan),
        "",
        f"stage {most}, which holds most, by itself (memory with {_flight(plan.flight(most))}: above)",
    ]
    return [*lines, *page(plan.plans[most], bandwidth=bandwidth, flops=flops, host=host)]


HEAD = ("stage", "passes", "weights of a device", "work", "on their way", "all kept", "selective", "full", "sent on")


def _rows(plan: PipelinePlan) -> Iterator[tuple[str, ...]]:
    work = sum(each.flops for each in plan.plans)
    for number, (stage, each) in enumerate(zip(plan.stages, plan.plans, strict=True)):
        runs = [f"{name} {_run(first, count)}" for name, (first, count) in stage.passes.items()]
        memory = (size(plan.memory(number, how.value)) for how in Checkpointing)
        on = size(plan.sent[number][0] * plan.micro) if number < len(plan.sent) else ""
        yield (
            f"{number}", ", ".join(runs), f"{each.parameters:,}", percent(each.flops, work),
            f"{plan.flight(number)}", *memory, on,
        )  # fmt: skip


def _run(first: int, count: int) -> str:
    return f"{first}" if count == 1 else f"{first} to {first + count - 1}"


def _flight(count: int) -> str:
    return f"{number_of(count, 'micro-batch')} on {'its' if count == 1 else 'their'} way"


def _cautions(plan: PipelinePlan) -> list[str]:
    stages = len(plan.stages)
    if plan.micro >= stages:
        return []
    return [
        f"warning: {number_of(plan.micro, 'micro-batch')} for {number_of(stages, 'stage')}: devices wait "
        f"{percent(plan.bubble, 1)} of the time, and keep all micro-batches; --micro {4 * stages} leaves "
        f"{percent(stages - 1, 5 * stages - 1)}"
    ]


def data_of_stages(plan: PipelinePlan, *, bandwidth: float, flops: float, host: int) -> dict[str, object]:
    """All that a plan in stages says: as `data`, for each stage."""
    every = []
    for number, (stage, each) in enumerate(zip(plan.stages, plan.plans, strict=True)):
        sent = plan.sent[number] if number < len(plan.sent) else (0, 0)
        every.append(
            {
                "passes": {name: {"first": first, "count": count} for name, (first, count) in stage.passes.items()},
                "micro_batches_on_their_way": plan.flight(number),
                "total_memory": {how.value: plan.memory(number, how.value) for how in Checkpointing},
                "sent_on": sent[0] * plan.micro,
                "gradients_received": sent[1] * plan.micro,
                "plan": data(each, bandwidth=bandwidth, flops=flops, host=host),
            }
        )
    return {
        "model": plan.plans[0].cost.name,
        "stages": every,
        "shared": {path: list(by) for path, by in plan.held.items()},
        "bubble": plan.bubble,
        "imbalance": plan.imbalance,
        "seconds": plan.seconds(bandwidth, flops),
    }
