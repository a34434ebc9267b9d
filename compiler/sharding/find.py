"""Which meshes of so many devices are best for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .choose import NoSplit
from .mesh import Indivisible
from .page import aligned, percent, size, time
from .plan import ShardingPlan

SHOWN = 5


def found(
    planned: Callable[[Mapping[str, int]], ShardingPlan], devices: int, memory: float, *, bandwidth: float, flops: float
) -> list[str]:
    """A page of the meshes on which a step takes least, those first on which each device has memory for it, all kept
    or with checkpointing. Meshes of `data` and `model` are tried, those with all devices in one of the two, too.
    """
    plans = []
    for model in (n for n in range(1, devices + 1) if devices % n == 0):
        mesh = {name: count for name, count in (("data", devices // model), ("model", model)) if count > 1}
        try:
            plans.append(planned(mesh or {"data": 1}))
        except (Indivisible, NoSplit):
            continue  # that many do not divide its axes
    plans.sort(key=lambda plan: (plan.memory("full") > memory, plan.seconds(bandwidth, flops) / plan.batch))
    head = ("mesh", "a step", "of an item", "sending", "memory, all kept", "full checkpointing", "")
    rows = [
        (
            str(plan.mesh),
            time(plan.seconds(bandwidth, flops)),
            time(plan.seconds(bandwidth, flops) / plan.batch),
            percent(plan.sent_bytes / bandwidth, plan.seconds(bandwidth, flops)),
            size(plan.memory()),
            size(plan.memory("full")),
            "" if plan.memory() <= memory else "with checkpointing" if plan.memory("full") <= memory else "too large",
        )
        for plan in plans[:SHOWN]
    ]
    return aligned([head, *rows])
