"""A stage of a pipeline as a module: `torch.distributed.pipelining` runs it, beside the stages of other devices."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor

from .torch_draws import part_of_draws
from .torch_modules import Division, check_sizes, divided, filling, made_like
from .torch_running import DividedRun
from .torch_training import Loss, beside_gradients, micro_batch_size, micro_batches, total_norm

Shapes = Mapping[str, Sequence[int]]
"""Of each input of the model its shape."""


_OF_A_STEP = (
    "stage {0} refuses what it is given, and says why",
    "numbers of micro-batches differ, from the first stage to the last {1}",
    "batches differ, from the first stage to the last {1}",
    "stages do not agree whether it is one with gradients",
    "shapes of inputs differ",
)
"""Of the numbers that stages tell each other before each step, what it means where they differ."""


_BROKEN_OFF = (
    "This was in the middle of a step of stage {}. The others wait for it until this process ends, or the timeout of "
    "the process group is over: end it. Where a connection was closed, another stage ended first, and says why."
)

_OWN = "input "
"""Stands before the names of inputs in calls of a schedule, which has arguments of its own, such as `target`."""


@dataclass(frozen=True)
class SentTensor:
    """What one stage sends to the next. shape: by the shapes of the inputs; dtype: None, that of all reals."""

    shape: Callable[[Shapes], tuple[int, ...]]
    dtype: torch.dtype | None = None

    def example(self, shapes: Shapes, batch: Sequence[int], real: torch.dtype) -> Tensor:
        """Without memory, as `torch.distributed.pipelining` is told of it."""
        made = torch.empty((*batch, *self.shape(shapes)), dtype=self.dtype or real, device="meta")
        return made.requires_grad_(made.is_floating_point())


@dataclass(frozen=True)
class StagePlace:
    """A stage among the others.

    received: what the stage before sends. sends: what this one does, or the results of the model.
    inputs:   of the whole model. own: those that this stage reads. optional: those that may be left out.
    held:     its weights that other stages have, too, by the stages that do.
    draws:    those of it, of all that the model draws at random, and how many these are; None: it draws its own.
    numbered: of repeats whose passes have weights of their own, the number of the first that it has.
    alike:    axes of the mesh over which its weights may be scattered, where not over all.
    axes:     of the mesh, of its devices, those over which weights may be scattered first.
    """

    number: int
    count: int
    received: Sequence[SentTensor]
    sends: Sequence[SentTensor]
    inputs: Sequence[str]
    own: Sequence[str]
    optional: Sequence[str]
    held: Mapping[str, tuple[int, ...]]
    draws: tuple[tuple[int, ...], int] | None
    numbered: Mapping[str, int]
    alike: Collection[str] | None
    axes: Sequence[str]

    @property
    def is_last(self) -> bool:
        return self.number == self.count - 1

    def path(self, path: str) -> str:
        """The path of one of its weights in the whole model, where passes count from its first."""
        for prefix, first in self.numbered.items():
            number, _, rest = path.removeprefix(f"{prefix}.").partition(".")
            if path.startswith(f"{prefix}.") and number.isdigit():
                return f"{prefix}.{int(number) + first}.{rest}"
        return path


@dataclass(frozen=True)
class WrittenStage:
    """A stage as its file has it. make: gives the module of one device."""

    make: Callable[[], nn.Module]
    division: Division
    place: StagePlace


def split_stages(
    net: nn.Module,
    stages: Sequence[WrittenStage],
    mesh: DeviceMesh,
    zero: int,
    checkpoint: bool,
    dtype: torch.dtype | None,
    seed: int,
) -> Any:
    """What `parallelize` of a file with stages does: the stage of this device."""
    names = tuple(mesh.mesh_dim_names or ())
    if "pipe" not in names or mesh.size(names.index("pipe")) != len(stages):
        raise ValueError(f"the mesh takes an axis `pipe` of {len(stages)} devices: there are as many stages")
    stage = stages[mesh.get_local_rank("pipe")]
    over, weights = mesh_of_stage(mesh, stage.place.axes), net.state_dict()
    local, division = whole_paths(made_like(stage.make, weights), stage.division, stage.place)
    fill = filling(local, division, over, weights, seed, False)
    check_sizes(net, {}, "stages have the sizes that they are written for")
    real = dtype or next(x.dtype for x in weights.values() if x.is_floating_point())
    own = divided(local, over, division, fill, zero=zero, checkpoint=checkpoint, dtype=dtype, over=stage.place.alike)
    return pipelined(own, stage.place, mesh, real)


def mesh_of_stage(mesh: DeviceMesh, axes: Sequence[str]) -> DeviceMesh:
    """The devices of one stage; where it has no axes, along one of a single copy.

    Axes along which weights may be scattered come first, as FSDP has them: all devices together give them that order.
    """
    kind, names = mesh.device_type, tuple(mesh.mesh_dim_names or ())
    if not axes:
        return DeviceMesh(kind, mesh.mesh.reshape(-1, 1), mesh_dim_names=("pipe", "data"))["data"]
    own = tuple(name for name in names if name in axes)
    if own != tuple(axes) and mesh.size() == dist.get_world_size():
        every = (*(name for name in names if name not in axes), *axes)
        mesh = DeviceMesh(kind, mesh.mesh.permute([names.index(name) for name in every]), mesh_dim_names=every)
        return mesh[tuple(axes)]
    return mesh[own]


def whole_paths(local: nn.Module, division: Division, place: StagePlace) -> tuple[nn.Module, Division]:
    """The module of a stage, and where its weights lie, by their paths in the whole model."""
    paths = {path for path, _ in local.named_modules()}
    for prefix in {*place.numbered} & paths:
        passes, first = local.get_submodule(prefix), place.numbered[prefix]
        passes._modules = {str(first + number): each for number, each in enumerate(passes.children())}
    weights = {path if "*" in path else place.path(path): lies for path, lies in division.weights.items()}
    return local, replace(division, weights=weights)


def groups_of_stages(group: dist.ProcessGroup, sets: Collection[tuple[int, ...]]) -> dict[tuple[int, ...], Any]:
    """For each set of stages that have a weight in common the devices of these; every device makes those it is in."""
    ranks = dist.get_process_group_ranks(group)
    found: dict[tuple[int, ...], Any] = {}
    for stages in sorted({*sets}):
        if len(stages) == len(ranks):
            found[stages] = group
        else:
            found[stages] = dist.new_group([ranks[each] for each in stages], use_local_synchronization=True)
    return found


def pipelined(net: nn.Module, place: StagePlace, mesh: DeviceMesh, real: torch.dtype) -> nn.Module:
    """The module of one stage, which is run with those of the others. real: the type of reals that stages send."""
    group = mesh.get_group("pipe")
    own = {
        "_pipe_place": place,
        "_pipe_group": group,
        "_pipe_groups": groups_of_stages(group, place.held.values()),
        "_pipe_real": real,
    }
    net.__class__ = type(type(net).__name__, (PipelinedModule, type(net)), own)
    made: Any = net
    if place.draws is None:
        made._run.draws.begin(place.number)
    return net


class WithinSchedule(nn.Module):
    """A stage as a schedule knows it: not as a module of FSDP, all of whose weights and gradients that would keep whole
    until the last micro-batch, whatever is to be scattered.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.net(*inputs, **named)


class PipelinedModule(nn.Module):
    """What a stage has besides the module of one device."""

    _run: DividedRun
    _pipe_place: StagePlace
    _pipe_group: dist.ProcessGroup
    _pipe_groups: Mapping[tuple[int, ...], dist.ProcessGroup]
    _pipe_real: torch.dtype
    _pipe_ready: tuple[object, Any] | None = None
    _pipe_loss: Loss | None = None

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """One micro-batch: what was received, and the inputs of the model that this stage reads, by name."""
        draws = self._pipe_place.draws
        with nullcontext() if draws is None or not self.training else part_of_draws(self._run.draws, *draws):
            made = super().forward(*inputs, **{name.removeprefix(_OWN): x for name, x in named.items()})
        results = tuple(made) if isinstance(made, tuple) else (made,)
        if self._pipe_place.is_last:
            return results
        return tuple(
            x.to(sent.dtype or self._pipe_real).contiguous()
            for x, sent in zip(results, self._pipe_place.sends, strict=True)
        )

    def forward_backward(self, *inputs: Tensor, loss: Loss, micro: int = 1, **named: Tensor) -> Tensor:
        """Losses and gradients of a batch in so many micro-batches, one after another through all stages.

        inputs: of the whole model, [batch, ...] each, the same on the devices of all stages: `batch_part` of the batch.
        loss:   from the results of the model for one micro-batch to a number; the last stage asks it.

        Adds the gradients of the sum of all losses to `.grad` of the weights, and returns that sum, on every stage.
        Without gradients (`torch.no_grad()`) there is the sum alone. With fewer micro-batches than stages all are
        done forward first (GPipe: Huang et al. 2019), else forward and backward by turns (1F1B: Narayanan et al. 2019).

        Raises ValueError for a batch that does not divide into micro-batches, TypeError for inputs that are not the
        model's; both, too, on a stage that is given what it should while another is not: before anything is sent that
        it would wait for.
        """
        given = self._agreed(inputs, named, micro)
        learns = torch.is_grad_enabled()
        schedule = self._schedule(given, micro, learns)
        losses: list[Tensor] = []
        self._pipe_loss = loss
        own = {f"{_OWN}{name}": x for name, x in given.items() if name in self._pipe_place.own}
        target = torch.zeros(micro) if self._pipe_place.is_last else None
        run = schedule.step if learns else schedule.eval
        try:
            with beside_gradients(self):  # a schedule that is new takes away what it finds
                with micro_batches(self, self._run):
                    run(target=target, losses=losses if self._pipe_place.is_last else None, return_outputs=False, **own)
                if learns:
                    self._sum_tied()
        except Exception as error:
            error.add_note(_BROKEN_OFF.format(self._pipe_place.number))
            raise
        finally:
            self._pipe_loss = None
        device = next(iter(given.values())).device
        total = torch.stack([each.detach() for each in losses]).sum() if losses else torch.zeros((), device=device)
        total = total.to(torch.float64)
        dist.broadcast(total, group=self._pipe_group, group_src=self._pipe_place.count - 1)
        return total

    def clip_grad_norm_(self, largest: float) -> Tensor:
        """Scales the gradients of all stages so that their norm is at most `largest`; returns what it was."""
        weights = [x for x in self.parameters() if x.grad is not None]
        once = [
            x.grad
            for name, x in self.named_parameters()
            if x.grad is not None
            and self._pipe_place.held.get(name, (self._pipe_place.number,))[0] == self._pipe_place.number
        ]
        norm = total_norm(once)
        square = norm.double().square()
        dist.all_reduce(square, group=self._pipe_group)
        total = square.sqrt().to(norm.dtype)
        nn.utils.clip_grads_with_norm_(weights, largest, total)
        return total

    def draw_from(self, seed: int) -> None:
        """As without stages; where nobody knows how much a stage draws, each of them draws its own."""
        place = self._pipe_place
        self._run.draws.begin(seed if place.draws is not None else seed * place.count + place.number)

    def _agreed(self, inputs: Sequence[Tensor], named: Mapping[str, Tensor], micro: int) -> dict[str, Tensor]:
        """The inputs by name, when all stages are about to do the same step: they tell each other what they are given,
        40 bytes each, and raise ValueError where that differs.
        """
        place, wrong = self._pipe_place, None
        given: dict[str, Tensor] = {}
        step = [1, 0, 0, 0, 0]
        try:
            given = self._named(inputs, named)
            size = micro_batch_size([*given.values()], micro)
            shapes = zlib.crc32(str([(name, *given[name].shape) for name in place.inputs if name in given]).encode())
            step = [0, micro, micro * size, int(torch.is_grad_enabled()), shapes]
        except (TypeError, ValueError) as error:
            wrong = error
        own = torch.tensor(step, device=next(self.parameters(), torch.empty(0)).device)
        every = [torch.empty_like(own) for _ in range(place.count)]
        dist.all_gather(every, own, group=self._pipe_group)
        if wrong is not None:
            raise wrong
        for what, told in zip(_OF_A_STEP, torch.stack(every, 1).tolist(), strict=True):
            if len({*told}) > 1:
                raise ValueError(f"no stage does this step: {what.format(told.index(max(told)), told)}")
        return given

    def _named(self, inputs: Sequence[Tensor], named: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Raises TypeError where one is missing, too much, or there twice."""
        names, optional = self._pipe_place.inputs, self._pipe_place.optional
        given = dict(zip(names, inputs, strict=False))
        wrong = [f"`{name}` is missing" for name in names if name not in {*given, *named, *optional}]
        wrong += [f"there is no `{name}`" for name in named if name not in names]
        wrong += [f"`{name}` is there twice" for name in named if name in given]
        wrong += [f"{len(inputs)} are too many"] * (len(inputs) > len(names))
        if wrong:
            raise TypeError(f"the inputs of the model, the same on every stage, are {', '.join(names)}: {wrong[0]}")
        return given | dict(named)

    def _schedule(self, given: Mapping[str, Tensor], micro: int, learns: bool) -> Any:
        """The schedule for inputs of these shapes; that of the last ones is kept."""
        size = micro_batch_size(list(given.values()), micro)
        key = micro, learns, tuple((name, x.shape) for name, x in given.items())
        if self._pipe_ready is None or self._pipe_ready[0] != key:
            shapes = {name: x.shape for name, x in given.items()}
            place, batch_size = self._pipe_place, (size,)
            device = next(iter(given.values())).device
            stage = PipelineStage(
                WithinSchedule(self),
                place.number,
                place.count,
                device,
                input_args=tuple(each.example(shapes, batch_size, self._pipe_real) for each in place.received),
                output_args=tuple(each.example(shapes, batch_size, self._pipe_real) for each in place.sends),
                group=self._pipe_group,
            )
            kind = Schedule1F1B if micro >= place.count and learns else ScheduleGPipe
            self._pipe_ready = key, kind(stage, micro, loss_fn=self._asked, scale_grads=False)
        return self._pipe_ready[1]

    def _asked(self, results: Any, _: Tensor) -> Tensor:
        assert self._pipe_loss is not None
        return self._pipe_loss(*results)

    def _tied(self) -> list[tuple[str, nn.Parameter]]:
        own = dict(self.named_parameters())
        return [(name, own[name]) for name in sorted(self._pipe_place.held) if own[name].requires_grad]

    def _sum_tied(self) -> None:
        """Sums the gradients of weights that several stages have."""
        for name, weight in self._tied():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            local = weight.grad.to_local() if isinstance(weight.grad, DTensor) else weight.grad
            dist.all_reduce(local, group=self._pipe_groups[self._pipe_place.held[name]])
