"""What is sent in a step of training, counted below all code of ours and of PyTorch's engine, beside the plan."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from .subjects import BATCH, WIDTH

TRADED = "all-to-all"
MEANS = {
    "allreduce_": "all-reduce",
    "_allgather_base_": "all-gather",
    "allgather_": "all-gather",
    "_reduce_scatter_base_": "reduce-scatter",
    "alltoall_base_": TRADED,
    "send": "send",
}
AGREED = "all-gather", 40  # what stages tell each other before a step
GREETING = 4  # bytes with which PyTorch makes neighbouring stages known to each other


class Sent(TorchDispatchMode):
    """calls: what this device gives to collectives of the model's code and of FSDP. summed: bytes of gradients that
    DTensors sum. messages: to whom it sends how many bytes; received: from whom.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[tuple[str, int]] = Counter()
        self.summed = 0
        self.messages: Counter[tuple[int, int]] = Counter()
        self.received: Counter[tuple[int, int]] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.split("::")[1]
        if func.namespace == "c10d" and name in (*MEANS, "recv_"):
            given = args[0] if name in ("allreduce_", "send", "recv_") else args[1]  # behind what is filled
            given = given[0] if isinstance(given, list | tuple) else given
            size = given.numel() * given.element_size()
            if name in MEANS:
                self.calls[MEANS[name], size] += 1
            if name in ("send", "recv_"):
                other = dist.get_global_rank(dist.ProcessGroup.unbox(args[1]), args[2])
                (self.messages if name == "send" else self.received)[other, size] += 1
        elif func.namespace == "_c10d_functional" and name == "all_reduce":
            self.summed += args[0].numel() * args[0].element_size()
        return func(*args, **(kwargs or {}))


def unmet(sent: Sent) -> str:
    """Messages that one device sent and another did not receive, or the other way round; in words."""
    own, every = dist.get_rank(), [None] * dist.get_world_size()
    dist.all_gather_object(every, (sent.messages, sent.received))
    gone: Counter[tuple[int, int, int]] = Counter()
    for rank, (messages, received) in enumerate(every):
        gone.update({(rank, to, size): times for (to, size), times in messages.items()})
        gone.subtract({(source, rank, size): times for (source, size), times in received.items()})
    wrong = {key: times for key, times in gone.items() if times}
    return f"sent and not received, from, to, bytes: {wrong}, as {own} knows" if wrong else ""


def widths(of: Any) -> dict[str, int]:
    """Of the widths of inputs their sizes here."""
    free = {name for port in of.inputs for name, size in zip(port.axes, port.shape, strict=True) if size is None}
    return dict.fromkeys(free, WIDTH)


def calls(plan: Any, checkpoint: bool) -> Counter[tuple[str, int]]:
    """The collectives of a step: by means and bytes. checkpoint: passes are done again for their gradients."""
    said: Counter[tuple[str, int]] = Counter()
    for one in plan.sent:
        again = checkpoint and one.repeated and not one.backward
        said[one.means.value, plan.bytes_of(one.given)] += one.times * plan.micro * (2 if again else 1)
    return said


def as_planned(of: Any, mesh: Any, case: dict[str, Any], sent: Sent) -> str:
    """What was sent in the first step beside the plan: what differs, in words."""
    sizes = dict(zip(mesh.mesh_dim_names, mesh.shape, strict=True))
    zero, checkpoint = case.get("zero", 3), case.get("checkpoint", False)
    how = {"batch": BATCH, "dtype": "float64", "zero": zero, "micro": case.get("micro", 1)}
    plan = of.plan(sizes, widths(of), splits=case["splits"], **how)
    return compared(plan, calls(plan, checkpoint), sent, zero)


def compared(plan: Any, said: Counter[tuple[str, int]], sent: Sent, zero: int) -> str:
    """said: what collectives of the code are given, by means and bytes."""
    found = sent.calls
    if plan.loads:  # rows of experts are as many as are picked: as often as planned, but not so many bytes
        often = [sum(times for (means, _), times in each.items() if means == TRADED) for each in (said, found)]
        if often[0] != often[1]:
            return f"all-to-all: {often[0]} planned, {often[1]} sent"
        said, found = (
            Counter({key: times for key, times in every.items() if key[0] != TRADED}) for every in (said, found)
        )
    rest = found - said
    missing = {key: times for key, times in (said - found).items() if key[0] != "send"}
    more = {key: times for key, times in rest.items() if key[0] == "send"}
    if missing or more:  # of a ring the plan has the device that sends most
        return f"not sent: {missing}; not planned: {more}"
    weights = Counter[str]()
    for _, _, means, given, times in plan.weight_sendings:
        weights[means.value] += given * times
    others = Counter[str]({"all-reduce": sent.summed})
    for (means, given), times in rest.items():
        others[means] += given * times
    if not zero or len(plan.copied) < 2:  # else FSDP has several axes as one
        return "" if +others == +weights else f"of weights {dict(+weights)} are planned, and {dict(+others)} were sent"
    return ""


def stage_as_planned(of: Any, mesh: Any, case: dict[str, Any], net: Any, sent: Sent) -> str:
    """What a stage sent and received in a step beside the plan, in words. Messages within it are those of rings."""
    sizes = dict(zip(mesh.mesh_dim_names, mesh.shape, strict=True))
    zero, micro, checkpoint = case.get("zero", 3), case["micro"], case.get("checkpoint", False)
    how = {"batch": BATCH, "dtype": "float64", "zero": zero, "micro": micro}
    whole = of.plan_stages(sizes, widths(of), splits=case["splits"], **how)
    number, last = mesh.get_local_rank("pipe"), sizes["pipe"] - 1
    before, after = (whole.sent[place] if 0 <= place < last else (0, 0) for place in (number - 1, number))
    mine = {*mesh.mesh.select(mesh.mesh_dim_names.index("pipe"), number).flatten().tolist()}
    wanted = [micro * (after[0] + before[1]), micro * (before[0] + after[1])]
    found = [
        sum(times * size for (to, size), times in each.items() if size > GREETING and to not in mine)
        for each in (sent.messages, sent.received)
    ]
    if found != wanted:
        return f"stage {number}: {wanted} bytes of activations to send and receive, and {found} were"
    sent.calls = Counter({key: times for key, times in sent.calls.items() if key[0] != "send"})
    said = calls(whole.plans[number], checkpoint)
    said[AGREED] += 1
    for path, stages in whole.held.items():  # a device's parts of their gradients
        if number in stages:
            grad = dict(net.named_parameters())[path].grad
            local = grad.to_local() if hasattr(grad, "to_local") else grad
            said["all-reduce", local.numel() * local.element_size()] += 1
    problem = compared(whole.plans[number], said, sent, zero)
    return f"stage {number}: {problem}" if problem else ""


def told_by_all(told: str) -> str:
    """What any device says."""
    every = [""] * dist.get_world_size()
    dist.all_gather_object(every, told)
    return "; ".join(sorted({each for each in every if each}))
