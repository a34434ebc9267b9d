"""A plan as a page of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields

from ..base.names import listed
from .cautions import HOST, cautions
from .estimates.activations import Checkpointing
from .estimates.memory import DeviceMemory
from .plan import ShardingPlan
from .weights import PlacedWeight

UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
HEADS = ("all kept", "selective", "full checkpointing")
PARTS = {"optimiser": "AdamW", "again": "a pass done again", "loss": "logits in the loss"}
SCATTERED = {1: "optimiser", 2: "optimiser and gradients", 3: "optimiser, gradients and weights"}


def page(plan: ShardingPlan, *, bandwidth: float, flops: float, host: int = HOST) -> list[str]:
    """What `attnc shard` prints. bandwidth: bytes that a device sends in a second; flops: what it computes in one.
    host: devices of one host.
    """
    sizes = {axis.name: plan.cost.sizes[axis.name] for axis in plan.cost.graph.axes if axis.name in plan.cost.sizes}
    shown = (f"{name} = {count:,}" for name, count in sizes.items() if not name.endswith("_part"))
    lines = [
        f"{plan.cost.name} on {number_of(plan.mesh.devices, 'device')}: {plan.mesh}",
        "splits   " + "; ".join(f"{axis.name}: {', '.join(axis.splits) or 'nothing'}" for axis in plan.mesh.axes),
        f"a step   a batch of {plan.batch:,}, {_shares(plan)}, {plan.cost.dtype}",
        "sizes    " + ", ".join(shown),
    ]
    if plan.cost.assumed:
        them = "it" if len(plan.cost.assumed) == 1 else "them"
        lines.append(f"assumed  {listed(plan.cost.assumed)}, as nobody set {them}")
    lines += ["", *_weights(plan), "", *_sent(plan), "", *_load(plan), *_memory(plan)]
    lines += ["", *_time(plan, bandwidth, flops)]
    return lines + [f"warning: {said}" for said in cautions(plan, host)]


def _shares(plan: ShardingPlan) -> str:
    parts = f" in {plan.micro:,} micro-batches" if plan.micro > 1 else ""
    return f"{plan.cost.batch * plan.micro:,} on a device{parts}"


def _weights(plan: ShardingPlan) -> list[str]:
    groups: dict[tuple[str, ...], int] = {}
    for path, placed in plan.weights.items():
        row = (re.sub(r"\.\d+\.", ".*.", path), *_where(placed))
        groups[row] = groups.get(row, 0) + plan.items(path)
    head = ("weights", "axes", *(axis.name for axis in plan.mesh.axes), "on a device")
    rows = [(*row, f"{count:,}") for row, count in groups.items()]
    total = ("", "", *("" for _ in plan.mesh.axes), f"{plan.parameters:,} of {plan.whole:,}")
    return aligned([head, *rows, total])


def _where(placed: PlacedWeight) -> tuple[str, ...]:
    """The axes of a weight, and for each mesh axis what it splits, or that gradients are summed along it."""
    dims = ", ".join(" ".join(axis.name for axis in dim) or "1" for dim in placed.weight.dims)
    summed = ("summed" if number in placed.partial else "whole" for number in range(len(placed.place)))
    places = (other if axis is None else axis.name for axis, other in zip(placed.place, summed, strict=True))
    return f"[{dims}]", *places


def _sent(plan: ShardingPlan) -> list[str]:
    groups: dict[tuple[str, str, str, str], tuple[int, int]] = {}
    for one in plan.sent:
        axis = plan.mesh.axes[one.mesh]
        key = one.path or plan.cost.name, "backward" if one.backward else "forward", one.means.value, axis.name
        times, sent = groups.get(key, (0, 0))
        more = one.times * one.means.sent(plan.bytes_of(one.given), axis.size)
        groups[key] = times + one.times * plan.micro, sent + more * plan.micro
    for why, mesh, means, given, times in plan.weight_sendings:
        axis = plan.mesh.axes[mesh]
        groups[why, "", means.value, axis.name] = 0, means.sent(given, axis.size) * times
    if not groups:
        return ["nothing is sent"]
    head = ("sent in a step", "", "", "along", "times", "by a device")
    rows = [(*key, f"{times:,}" if times else "", size(sent)) for key, (times, sent) in groups.items()]
    return aligned([head, *rows, ("", "", "", "", "", size(plan.sent_bytes))])


def _load(plan: ShardingPlan) -> list[str]:
    """Rows of experts: all else counts an even load of these."""
    said: dict[str, None] = {}
    for one in plan.loads:
        even, most, counts = map(plan.bytes_of, (one.even, one.most, one.counts))
        first = f"; {size(counts)} of counts go first" if counts else ""
        path = one.path or plan.cost.name
        said[
            f"load balance  {path}: {even:,} rows on a device if even, as is counted here, {most:,} at most{first}"
        ] = None
    return [*said, ""] if said else []


def _memory(plan: ShardingPlan) -> list[str]:
    held = [plan.held(how.value) for how in Checkpointing]
    rows: list[tuple[str, ...]] = [("memory of a device", *HEADS)]
    for part in fields(DeviceMemory):
        parts = [getattr(one, part.name) for one in held]
        if any(parts):
            rows.append((PARTS.get(part.name, part.name), *(size(each) if each else "" for each in parts)))
    lines = aligned([*rows, ("", *(size(one.all) for one in held))])
    if not plan.zero or not plan.copied:
        return lines
    return [*lines, f"{SCATTERED[plan.zero]} scattered over the devices that have the same of them"]


def _time(plan: ShardingPlan, bandwidth: float, flops: float) -> list[str]:
    working, sending = plan.flops / flops, plan.sent_bytes / bandwidth
    share = percent(sending, working + sending)
    again = ", ".join(
        f"{how.value} {plan.flops_again(how.value) / 1e12:,.3g} TFLOP and {size(plan.sent_again(how.value))}"
        for how in (Checkpointing.SELECTIVE, Checkpointing.FULL)
    )
    return [
        f"computing  {plan.flops / 1e12:,.3g} TFLOP on a device, {time(working)} at {flops / 1e12:,.4g} TFLOP/s",
        f"sending    {size(plan.sent_bytes)}, {time(sending)} at {size(int(bandwidth))}/s: {share} if nothing overlaps",
        f"again      with checkpointing, at most: {again}",
        f"balance    most work of a device: {plan.imbalance:.2f} times the mean; memory is the same on each",
        f"limited by {'computing' if working >= sending else 'sending'}",
    ]


def number_of(count: int, what: str) -> str:
    several = "es" if what.endswith(("ch", "sh")) else "s"
    return f"{count:,} {what}{'' if count == 1 else several}"


def percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"


def time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:,.3g} {name}"
    return f"{seconds * 1e6:,.3g} us"


def size(count: int) -> str:
    for unit, name in UNITS:
        if count >= unit:
            return f"{count / unit:,.3g} {name}"
    return f"{count} B"


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns, those of numbers to the right."""
    table = [list(row) for row in rows]
    columns = []
    for cells in zip(*table, strict=True):
        width, numbers = max(map(len, cells)), all(cell[:1].isdigit() for cell in cells[1:] if cell)
        columns.append([cell.rjust(width) if numbers else cell.ljust(width) for cell in cells])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
