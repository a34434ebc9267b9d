"""A step of training: a batch in micro-batches, and the norm of all gradients, whichever mesh the model is on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from .torch_running import DividedRun

Loss = Callable[..., Tensor]
"""From the results of a model for one micro-batch to a number."""


def refuse_uneven(name: str, size: int, axis: str, devices: int) -> None:
    """Raises ValueError for so many items that the devices along an axis of the mesh do not divide; all of them do so
    alike, before they would send parts that do not fit each other, which ends some processes and hangs others.
    """
    if rest := size % devices:
        would = f"{size - rest} or {size - rest + devices}" if size > devices else f"{devices}"
        raise ValueError(
            f"{name} has {size} items, which {devices} devices along `{axis}` do not divide: {would} would do"
        )


def micro_batch_size(inputs: Sequence[Tensor], micro: int) -> int:
    """How many examples each of so many micro-batches has. Raises ValueError where they are not equal."""
    batch = {x.shape[0] for x in inputs}
    if len(batch) != 1 or micro < 1 or min(batch) % micro:
        told = ", ".join(map(str, sorted(batch)))
        raise ValueError(f"a batch of {told} does not divide into {micro} micro-batches")
    return min(batch) // micro


@contextmanager
def beside_gradients(net: nn.Module) -> Iterator[None]:
    """In it there are no gradients; those that there were are added in the end. What fails leaves them as they were."""
    before = {x: x.grad for x in net.parameters() if x.grad is not None}
    for weight in before:
        weight.grad = None
    try:
        yield
    except BaseException:
        for weight in net.parameters():
            weight.grad = before.get(weight)
        raise
    for weight, gradient in before.items():
        weight.grad = gradient if weight.grad is None else gradient.add_(weight.grad)


@contextmanager
def micro_batches(net: nn.Module, run: DividedRun) -> Iterator[None]:
    """In it, beside no other gradients, the parts of a step are done, and what `zero` scatters nowhere is sent once for
    all of them: gradients of whole weights (0) are summed behind the last part, and weights whose gradients alone are
    scattered (2) stay gathered until then.
    """
    gathered = [each for each in net.modules() if isinstance(each, FSDPModule) and run.zero == 2]
    for module in gathered:
        module.set_reshard_after_backward(False, recurse=False)
    run.sums_later = run.zero == 0
    try:
        yield
    finally:
        run.sums_later = False
        for module in gathered:
            module.set_reshard_after_backward(True, recurse=False)
            module.reshard()
    for weight in net.parameters() if run.zero == 0 else ():
        if isinstance(weight, DTensor) and isinstance(weight.grad, DTensor):
            weight.grad = weight.grad.redistribute(placements=weight.placements)


def losses_and_gradients(
    net: nn.Module, run: DividedRun, loss: Loss, micro: int, inputs: Sequence[Tensor], named: Mapping[str, Tensor]
) -> Tensor:
    """The sum of the losses of all micro-batches, float64; its gradients are added to those of the weights."""
    size = micro_batch_size([*inputs, *named.values()], micro)
    learns = torch.is_grad_enabled()
    losses = []
    with ExitStack() as around:
        if learns and micro > 1:
            around.enter_context(beside_gradients(net))
            around.enter_context(micro_batches(net, run))
        for first in range(0, micro * size, size):
            parts = {name: x.narrow(0, first, size) for name, x in named.items()}
            made = net(*(x.narrow(0, first, size) for x in inputs), **parts)
            one = loss(*made) if isinstance(made, tuple) else loss(made)
            if learns:
                torch.autograd.backward(one)
            losses.append(one.detach())
    return torch.stack(losses).sum().to(torch.float64)


def total_norm(gradients: Sequence[Tensor]) -> Tensor:
    """The norm of all these gradients, of which a device may have parts; the same on each device."""
    parts: dict[tuple[dist.ProcessGroup, ...], list[Tensor]] = {}  # by the devices that have the other parts
    for each in gradients:
        apart: tuple[dist.ProcessGroup, ...] = ()
        if isinstance(each, DTensor):
            mesh, lies = each.device_mesh, enumerate(each.placements)
            apart = tuple(mesh.get_group(dim) for dim, one in lies if not one.is_replicate())
            each = each.to_local()
        parts.setdefault(apart, []).append(each)
    total = torch.zeros((), dtype=torch.float64, device=gradients[0].device if gradients else None)
    for apart, own in parts.items():
        square = nn.utils.get_total_norm(own).double().square()
        for group in apart:
            dist.all_reduce(square, group=group)
        total += square
    return total.sqrt().to(reduce(torch.promote_types, (each.dtype for each in gradients), torch.float32))
