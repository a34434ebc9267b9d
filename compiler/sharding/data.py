"""A plan as plain data, for `--json`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from .cautions import cautions
from .estimates.activations import Checkpointing
from .estimates.memory import DeviceMemory

if TYPE_CHECKING:
    from .plan import ShardingPlan


def data(plan: ShardingPlan, *, bandwidth: float, flops: float, host: int) -> dict[str, object]:
    """All that a plan says: bytes and FLOP of one device in a step of training, times in seconds."""
    names = [axis.name for axis in plan.mesh.axes]
    sizes = [axis.size for axis in plan.mesh.axes]
    weights = {
        path: {
            "axes": [[axis.name for axis in dim] for dim in placed.weight.dims],
            "placed": {
                name: axis.name for name, axis in zip(names, placed.place, strict=True) if axis is not None
            },
            "summed": [names[number] for number in sorted(placed.partial)],
            "scattered": [names[number] for number in plan.copied] if plan.zero else [],
            "items": plan.items(path),
        }
        for path, placed in plan.weights.items()
    }  # fmt: skip
    sent = [
        {
            "block": one.path, "backward": one.backward, "collective": one.means.value, "along": names[one.mesh],
            "times": one.times * plan.micro, "given": plan.bytes_of(one.given),
            "sent": one.means.sent(plan.bytes_of(one.given), sizes[one.mesh]) * one.times * plan.micro,
        }
        for one in plan.sent
    ]  # fmt: skip
    sent_weights = [
        {
            "why": why, "collective": means.value, "along": names[mesh], "times": times, "given": given,
            "sent": means.sent(given, sizes[mesh]) * times,
        }
        for why, mesh, means, given, times in plan.weight_sendings
    ]  # fmt: skip
    memory = {}
    for how in Checkpointing:
        held = plan.held(how.value)
        memory[how.value] = {part.name: getattr(held, part.name) for part in fields(DeviceMemory)} | {"total": held.all}
    return {
        "model": plan.cost.name,
        "mesh": {axis.name: {"devices": axis.size, "splits": axis.splits} for axis in plan.mesh.axes},
        "batch": plan.batch,
        "micro_batches": plan.micro,
        "batch_of_a_device": plan.cost.batch,
        "dtype": plan.cost.dtype,
        "gradients_summed_in": plan.reduce,
        "zero": plan.zero,
        "weights": weights,
        "parameters": {"device": plan.parameters, "model": plan.whole},
        "sent": sent,
        "sent_of_weights": sent_weights,
        "memory": memory,
        "flops": plan.flops,
        "sent_bytes": plan.sent_bytes,
        "done_again": {
            how.value: {"flops": plan.flops_again(how.value), "sent_bytes": plan.sent_again(how.value)}
            for how in Checkpointing
        },
        "imbalance": plan.imbalance,
        "seconds": {"computing": plan.flops / flops, "sending": plan.sent_bytes / bandwidth},
        "warnings": cautions(plan, host),
    }
