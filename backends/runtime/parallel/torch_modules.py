"""A module of one device as a module of a mesh: its weights are parts of those of the whole model.

Weights are DTensors of PyTorch, whose shapes and keys are those of the whole, so that optimisers, clipping and
checkpoints see one model; the code of a device, which is written for parts, reads the part that it has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Placement, Shard
from torch.utils.checkpoint import checkpoint as done_again

from .torch_draws import same_draws
from .torch_parts import gather_parts
from .torch_running import DividedRun, run_as, runs
from .torch_training import Loss, losses_and_gradients, refuse_uneven, total_norm
from .torch_weights import Fill, Lies, Own, drawn, filled_from


@dataclass(frozen=True)
class Division:
    """How a model is divided over a mesh, as its file says.

    mesh:    the axes of the mesh that split something else than the batch, with their sizes.
    batch:   the axes of the mesh that split the batch.
    weights: where each weight lies, by its path; a `*` in it stands for the number of a layer.
    results: of each result the dimensions that axes of the mesh split, counted from its end.
    """

    mesh: Mapping[str, int]
    batch: tuple[str, ...]
    weights: Mapping[str, Lies]
    results: tuple[Mapping[str, int], ...]

    def fits(self, mesh: DeviceMesh) -> None:
        """Raises ValueError for a mesh of other axes, or of another size where the code is written for that."""
        names = tuple(mesh.mesh_dim_names or ())
        wanted = {*self.mesh, *self.batch}
        if not wanted <= {*names} or not {*split_axes(mesh)} <= wanted:
            raise ValueError(f"the mesh has the axes {', '.join(names) or 'without names'}: it takes {_listed(wanted)}")
        for name, size in self.mesh.items():
            if mesh.size(names.index(name)) != size:
                raise ValueError(
                    f"`{name}` of the mesh has {mesh.size(names.index(name))} devices: this file is written for {size}"
                )

    def lies(self, path: str) -> Lies:
        found = self.weights.get(path)
        return self.weights[re.sub(r"(?<=\.)\d+(?=\.)", "*", path)] if found is None else found

    def copies(self, mesh: DeviceMesh) -> tuple[str, ...]:
        """Axes of the mesh along which devices have the same weights, each the gradient of its part of the work."""
        every = self.weights.values()
        return tuple(
            axis
            for axis in split_axes(mesh)
            if all(axis in lies.summed and lies.dimension(axis) is None for lies in every)
        )


def split_axes(mesh: DeviceMesh) -> tuple[str, ...]:
    """The axes of a mesh that have several devices."""
    return tuple(name for name, size in zip(mesh.mesh_dim_names or (), mesh.shape, strict=True) if size > 1)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def split_over(
    net: nn.Module,
    kind: Callable[..., nn.Module],
    sizes: Mapping[str, Any],
    mesh: DeviceMesh,
    division: Division,
    zero: int,
    checkpoint: bool,
    dtype: torch.dtype | None,
    seed: int,
) -> Any:
    """What `parallelize` of a file does. kind: makes the module of one device, with these sizes."""
    division.fits(mesh)
    weights = net.state_dict()
    local = made_like(partial(kind, **sizes), weights)
    fill = filling(local, division, mesh, weights, seed, True)
    check_sizes(net, sizes, "write what it was made with as arguments of `parallelize`, such as `{0}={1}`")
    return divided(local, mesh, division, fill, zero=zero, checkpoint=checkpoint, dtype=dtype)


def made_like(make: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> nn.Module:
    """A module on "meta", its reals of the type of these weights if they have one."""
    with torch.device("meta"):
        local = make()
    reals = {each.dtype for each in weights.values() if each.is_floating_point()}
    return local.to(dtype=reals.pop()) if len(reals) == 1 else local


def filling(
    local: nn.Module, division: Division, mesh: DeviceMesh, weights: Mapping[str, Tensor], seed: int, all_of: bool
) -> Fill:
    """Fills the weights of the module of one device with its parts of those of the whole model, or draws them where
    these are on "meta". all_of: it has all of them. Raises ValueError where they do not fit.
    """
    wanted = {path: division.lies(path).whole(each.shape, mesh) for path, _, _, each in _weights(local)}
    given = {path: tuple(each.shape) for path, each in weights.items() if all_of or path in wanted}
    if wanted != given:
        path = next(path for path in {**wanted, **given} if wanted.get(path) != given.get(path))
        has = f"has the shape {list(given[path])}" if path in given else "is not there"
        takes = f"takes {list(wanted[path])}" if path in wanted else "has none of that name"
        able = "give `parallelize` the sizes of `net`" if all_of else "stages have the sizes that they are written for"
        raise ValueError(f"`{path}` of `net` {has}, and this file {takes}: {able}")
    return drawn(seed) if any(each.is_meta for each in weights.values()) else filled_from(weights)


def check_sizes(net: nn.Module, sizes: Mapping[str, Any], able: str) -> None:
    """Raises ValueError where the model of one device was made with other sizes than these, which weights need not
    show: heads, say, or how much is dropped. able: what to do about `{0}`, which is `{1}`.
    """
    try:
        with torch.device("meta"):
            made = type(net)(**sizes)
    except TypeError:  # of a class of the user's own, that is made otherwise
        return
    known = dict(made.named_modules())
    for path, module in net.named_modules():
        wanted = vars(known.get(path, module))
        for name, has in vars(module).items():
            takes = wanted.get(name)
            if isinstance(takes, int | float) and name != "training" and not name.startswith("_") and has != takes:
                where = f"{path}.{name}" if path else name
                raise ValueError(f"`{where}` of `net` is {has}, and {takes} here: {able.format(name, has)}")


def divided(
    local: nn.Module,
    mesh: DeviceMesh,
    division: Division,
    fill: Fill | None,
    *,
    zero: int = 3,
    checkpoint: bool = False,
    dtype: torch.dtype | None = None,
    over: Collection[str] | None = None,
) -> nn.Module:
    """The module of one device, which is on "meta", with its parts of the weights: see `parallelize` of a file.

    fill: None leaves it on "meta": `net.to_empty(device=..)` gives it memory, which a checkpoint fills.
    over: axes of the mesh over which weights may be scattered, where not over all.

    Weights are scattered before they have memory, so that no device ever has more than its parts, and a block of one
    weight at a time.
    """
    division.fits(mesh)
    if zero not in (0, 2, 3):
        raise ValueError(f"zero is {zero}: it is 3, 2 or 0 (an optimiser's state is not scattered without gradients)")
    copies = tuple(axis for axis in division.copies(mesh) if over is None or axis in over) if zero else ()
    if dtype is not None and not copies:
        raise ValueError("a dtype to compute in is of weights that are scattered, and nothing is here: torch.autocast")
    mesh = _copies_first(mesh, copies)
    run = DividedRun(mesh, zero)
    shared = _flat(mesh, copies) if copies else None
    scattered, alone, own = _put_weights(local, run, division, copies, shared)
    _becomes(local, DividedModule, _run=run, _division=division)
    passes = [each for module in local.modules() if isinstance(module, nn.ModuleList) for each in module]
    if checkpoint:
        for each in _outermost(passes):
            _becomes(each, _DoneAgain, _run=run)
    if shared is not None and scattered:
        _scatter(local, passes, shared, scattered, alone, zero == 3, dtype)
    if fill is not None:
        local.to_empty(device=_device(mesh))
        with torch.no_grad():
            for path, _, _, weight in _weights(local):
                fill(path, division.lies(path), own[path], weight.to_local() if isinstance(weight, DTensor) else weight)
    return local


def _put_weights(
    local: nn.Module,
    run: DividedRun,
    division: Division,
    copies: tuple[str, ...],
    shared: DeviceMesh | None,
) -> tuple[dict[nn.Parameter, Shard], set[nn.Parameter], dict[str, Own]]:
    """Gives the module its weights, on "meta". shared: the axes `copies` of the mesh, as one.

    Returns those that are to be scattered over copies of the model, each with its dimension, and those that are not;
    and, by its path, what this device has of each when they are.
    """
    mesh, names = run.mesh, split_axes(run.mesh)
    others = tuple(name for name in names if name not in copies)
    each_copy, every = _meshes(mesh, copies, others, shared)
    scattered: dict[nn.Parameter, Shard] = {}
    alone: set[nn.Parameter] = set()
    own: dict[str, Own] = {}
    read: dict[nn.Module, dict[str, Gradient]] = {}
    for path, module, name, weight in _weights(local):
        lies = division.lies(path)
        whole = lies.whole(weight.shape, mesh)
        made = weight.detach()
        along = None if shared is None else _scattered_along(lies, made.shape, shared.size())
        own[path] = lies.own(whole, mesh, None if shared is None or along is None else (along.dim, shared))
        on, axes = every if along is None else each_copy
        if on is not None:
            made = DTensor.from_local(
                made,
                on,
                [lies.placement(axis) for axis in axes],
                run_check=False,
                shape=torch.Size(whole),
                stride=_strides(whole),
            )
            read.setdefault(module, {})[name] = [lies.gradient(axis) for axis in axes], along is None
        new = module._parameters[name] = nn.Parameter(made, requires_grad=weight.requires_grad)
        if along is not None:
            scattered[new] = along
        else:
            alone.add(new)
    for module, gradients in read.items():
        _read_locally(module, gradients, run)
    return scattered, alone, own


Axes = tuple[DeviceMesh | None, tuple[str, ...]]


def _meshes(
    mesh: DeviceMesh, copies: tuple[str, ...], others: tuple[str, ...], shared: DeviceMesh | None
) -> tuple[Axes, Axes]:
    """The axes of one copy of the model, and all: axes of copies are one, as FSDP has them, for optimisers want weights
    on one mesh.
    """
    if shared is None:
        on = mesh if others == mesh.mesh_dim_names else mesh[others] if others else None
        return (None, ()), (on, others)
    inner = mesh[others] if others else None
    if inner is None:
        return (None, ()), (shared, copies[:1])
    return (inner, others), (DeviceMesh._concatenate([shared, inner]), (copies[0], *others))


def _scatter(
    net: nn.Module,
    passes: Sequence[nn.Module],
    over: DeviceMesh,
    weights: Mapping[nn.Parameter, Shard],
    alone: set[nn.Parameter],
    freed: bool,
    dtype: torch.dtype | None,
) -> None:
    """Scatters weights over the copies of the model, those of each pass by themselves. freed: behind each pass, too."""
    policy = MixedPrecisionPolicy(dtype, next(iter(weights)).dtype) if dtype else MixedPrecisionPolicy()
    for module in (*reversed(passes), net):
        fully_shard(
            module,
            mesh=over,
            reshard_after_forward=freed,
            shard_placement_fn=weights.get,
            ignored_params=alone,
            mp_policy=policy,
        )
    for module in net.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)  # else float32 is multiplied by 1 as it is sent: gloo cannot
    net.register_forward_hook(_scattered_again)


def _scattered_again(net: nn.Module, *call: Any) -> None:
    """Behind a call that no gradients follow, which would free them, no whole weights stay."""
    if not torch.is_grad_enabled():
        for module in net.modules():
            if isinstance(module, FSDPModule):
                module.reshard()


def _weights(net: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Parameter]]:
    """Each parameter once: its path, the module that has it, and its name there."""
    for prefix, module in net.named_modules():
        for name, weight in list(module._parameters.items()):
            if weight is not None:
                yield f"{prefix}.{name}" if prefix else name, module, name, weight


def _device(mesh: DeviceMesh) -> torch.device:
    """That of this process."""
    if mesh.device_type == "cuda":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device(mesh.device_type)


def _copies_first(mesh: DeviceMesh, copies: tuple[str, ...]) -> DeviceMesh:
    """The mesh with the axes of copies before the others, the order that FSDP gives the meshes of weights. Raises
    ValueError for a part of a larger mesh in another order: only all devices together can make one.
    """
    names = tuple(mesh.mesh_dim_names or ())
    order = (*copies, *(name for name in names if name not in copies))
    if not copies or order == names:
        return mesh
    if mesh.size() != dist.get_world_size():
        raise ValueError(f"name the axes of the mesh in another order, these so: {', '.join(order)}")
    devices = mesh.mesh.permute([names.index(name) for name in order])
    return DeviceMesh(mesh.device_type, devices, mesh_dim_names=order)


def _flat(mesh: DeviceMesh, axes: tuple[str, ...]) -> DeviceMesh:
    return mesh[axes[0]] if len(axes) == 1 else mesh[axes]._flatten("_".join(axes))


def _scattered_along(lies: Lies, part: Sequence[int], over: int) -> Shard | None:
    """The dimension along which a part of a weight is scattered over copies of the model; None: there is none.

    Where nothing splits it the first may leave a rest: DTensors know none of what is split by another axis, too; nor
    of what is split block by block.
    """
    split = dict(found for axis in lies.split if (found := lies.dimension(axis)) is not None)  # dimension -> blocks
    even = [dim for dim, size in enumerate(part) if size and size % over == 0 and split.get(dim, 1) == 1]
    whole = [dim for dim in even if dim not in split]
    if 0 in even:
        return Shard(0)
    if even:
        return Shard((whole or even)[0])
    return Shard(0) if part and 0 not in split else None


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def _becomes(module: nn.Module, kind: type[nn.Module], **own: Any) -> None:
    """Makes a module one of a kind, too."""
    module.__class__ = type(type(module).__name__, (kind, type(module)), own)


Gradient = tuple[Sequence[Placement], bool]
"""What devices have of a gradient, and whether it is summed here: FSDP does it for what it scatters."""


def _read_locally(module: nn.Module, gradients: Mapping[str, Gradient], run: DividedRun) -> None:
    """Makes weights, read as attributes of a module while it computes, the parts of this device: to all else they are
    those of the whole model.
    """

    def reader(name: str, placements: Sequence[Placement], here: bool) -> property:
        def read(self: nn.Module) -> Tensor | None:
            weight: Tensor | None = self._parameters[name]
            if not (isinstance(weight, DTensor) and runs(run)):
                return weight
            # PyTorch types neither hooks nor attributes of tensors: hence the ignores
            if here and weight.requires_grad and not hasattr(weight, "total"):  # a new one, behind `to_empty`
                weight.total = weight.register_hook(partial(_total, run, weight.placements))  # type: ignore[attr-defined, no-untyped-call]
            return weight.to_local(grad_placements=placements)

        return property(read)

    own = {name: reader(name, *gradient) for name, gradient in gradients.items()}
    module.__class__ = type(type(module).__name__, (type(module),), own)


def _total(run: DividedRun, placements: Sequence[Placement], gradient: DTensor) -> DTensor:
    """The sum of the gradients that devices have, of all uses of a weight."""
    return gradient if run.sums_later else gradient.redistribute(placements=placements)


class _Computes(nn.Module):
    """A module whose code is that of one device."""

    _run: DividedRun

    def forward(self, *inputs: Any, **named: Any) -> Any:
        with run_as(self._run):
            return super().forward(*inputs, **named)


class _DoneAgain(_Computes):
    """A pass that keeps what enters it alone, and is done again for its gradients."""

    def forward(self, *inputs: Any, **named: Any) -> Any:
        draws = partial(same_draws, self._run.draws)
        return done_again(super().forward, *inputs, use_reentrant=False, context_fn=draws, **named)


def _outermost(passes: Sequence[nn.Module]) -> list[nn.Module]:
    inner = {part for each in passes for part in each.modules() if part is not each}
    return [each for each in passes if each not in inner]


class DividedModule(_Computes):
    """What a divided model has besides what its file says."""

    _division: Division

    def batch_part(self, x: Tensor) -> Tensor:
        """What this device is given of an input of the whole batch, whose first dimension that is. Raises ValueError
        for a batch that does not divide.
        """
        mesh = self._run.mesh
        sizes = dict(zip(mesh.mesh_dim_names or (), mesh.shape, strict=True))
        axes = [axis for axis in self._division.batch if sizes[axis] > 1]
        refuse_uneven("the batch", len(x), "` and `".join(axes), math.prod(sizes[axis] for axis in axes))
        for axis in axes:
            x = x.chunk(sizes[axis])[mesh.get_local_rank(axis)]
        return x

    def forward_backward(self, *inputs: Tensor, loss: Loss, micro: int = 1, **named: Tensor) -> Tensor:
        """Losses and gradients of a batch in so many micro-batches, one after another.

        inputs: [batch, ...] each, `batch_part` of the batch.
        loss:   from the results of the model for one micro-batch to a number.

        Adds the gradients of the sum of all losses to `.grad` of the weights, and returns that sum, float64: of this
        device's part of the batch. Without gradients (`torch.no_grad()`) there is the sum alone.

        Raises ValueError for a batch that does not divide into micro-batches, TypeError for inputs that are not the
        model's.
        """
        return losses_and_gradients(self, self._run, loss, micro, inputs, named)

    def clip_grad_norm_(self, largest: float) -> Tensor:
        """Scales the gradients so that their norm, over all devices, is at most `largest`; returns what it was."""
        weights = [x for x in self.parameters() if x.grad is not None]
        norm = total_norm([x.grad for x in weights if x.grad is not None])
        nn.utils.clip_grads_with_norm_(weights, largest, norm)
        return norm

    def draw_from(self, seed: int) -> None:
        """Lets dropout draw anew from a seed: from the number of a step, say, so that it can be gone on with."""
        self._run.draws.begin(seed)

    def whole_result(self, x: Tensor, number: int = 0) -> Tensor:
        """A result (of several the number) of the whole batch, of what each device has of it; without its gradient."""
        with run_as(self._run):
            for axis, dim in reversed([*self._division.results[number].items()]):
                x = gather_parts(x.detach(), dim, axis)
        return x
