"""From a typed graph to the module of one stage of a pipeline, on the devices of that stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...compiler.graph.inventory import inventory
from ...compiler.graph.nodes import Graph
from ...compiler.graph.values import Scalar, Value
from ...compiler.sharding.mesh import BATCH, PIPE, Mesh, MeshAxis
from ...compiler.sharding.stages import Stage, holders, shape_of, stages
from ..torch.parallel_file import copies
from .parallel import DivisionOptions, device_module, divided_module, fill_for

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh

    from .stage_module import SentTensor


def build_stage(graph: Graph, mesh: Mesh, devices: DeviceMesh, options: DivisionOptions) -> torch.nn.Module:
    """The stage of this device, divided over the other axes of the mesh: see `Model.parallelize`."""
    from .stage_module import StagePlace, groups_of_stages, pipelined

    every = stages(graph, mesh.stages)
    number, group = devices.get_local_rank(PIPE), devices.get_group(PIPE)
    stage, before = every[number], every[number].graph.inputs[: every[number].received]
    inner, over = _of_stage(graph, mesh, devices)
    fill = fill_for(graph, options)
    local, division = device_module(stage.graph, inner, options, stage.received)
    _number_passes(local, stage)
    own = {stage.path(path) if "*" not in path else path: lies for path, lies in division.weights.items()}
    held = {path: by for path, by in holders(every).items() if len(by) > 1}
    division = replace(division, weights=own)
    net = divided_module(local, division, over, fill, options, _alike(every, inner, number, held))

    def sent(each: Value) -> SentTensor:
        return _sent(each, graph, inner, options.computed_in or options.dtype)

    held = {path: by for path, by in held.items() if number in by}
    place = StagePlace(
        group=group,
        number=number,
        count=len(every),
        received=tuple(sent(entry.value) for entry in before),
        sends=tuple(sent(each.value) for each in stage.graph.outputs),
        inputs=tuple(entry.name for entry in graph.inputs),
        own=tuple(entry.name for entry in stage.graph.inputs[stage.received :]),
        held=held,
        draws=stage.draws,
        groups=groups_of_stages(group, held.values()),
    )
    return pipelined(net, place)


def _alike(
    every: Sequence[Stage], mesh: Mesh, number: int, held: Mapping[str, tuple[int, ...]]
) -> Collection[str] | None:
    """Axes of the mesh over which a stage may scatter its weights: those that all have which have some in common, so
    that devices have the same parts of these. None: whichever it has itself.
    """
    sharing = {stage for by in held.values() for stage in by}
    if number not in sharing:
        return None
    each = [copies(every[stage].graph, mesh, every[stage].received) for stage in sorted(sharing)]
    return set[str].intersection(*each)


def _of_stage(graph: Graph, mesh: Mesh, devices: DeviceMesh) -> tuple[Mesh, DeviceMesh]:
    """The mesh of one stage; where it has no other axis, one of a single copy.

    Axes along which weights may be scattered come first, as FSDP has them: all devices together give them that order.
    """
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh

    inner = mesh.of_stage()
    kind, names = devices.device_type, devices.mesh_dim_names or ()
    if not inner.axes:
        copies = Mesh((MeshAxis("data", 1, (BATCH,)),))
        return copies, DeviceMesh(kind, devices.mesh.reshape(-1, 1), mesh_dim_names=(PIPE, "data"))["data"]
    whole = {axis.name for spec in inventory(graph).values() for dim in spec.dims for axis in dim}
    last = {axis.name: (axis.splits != (BATCH,)) + 2 * bool(whole & {*axis.splits}) for axis in inner.axes}
    order = sorted(last, key=last.__getitem__)
    if order != [*last] and devices.size() == dist.get_world_size():
        every = (*(name for name in names if name not in last), *order)
        placed = devices.mesh.permute([names.index(name) for name in every])
        devices = DeviceMesh(kind, placed, mesh_dim_names=every)
        return inner, devices[tuple(order)]
    return inner, devices[tuple(last)]


def _number_passes(local: torch.nn.Module, stage: Stage) -> None:
    """Gives the modules of passes the numbers that they have in the whole model."""
    paths = [path for path, _ in local.named_modules()]
    for prefix, first in stage.numbered.items():
        if prefix in paths:
            passes = local.get_submodule(prefix)
            passes._modules = {str(first + number): each for number, each in enumerate(passes.children())}


def _sent(value: Value, graph: Graph, mesh: Mesh, real: torch.dtype) -> SentTensor:
    import torch

    from .stage_module import SentTensor

    match value.type.element:
        case Scalar.BOOL:
            dtype = torch.bool
        case Scalar.REAL:
            dtype = torch.float64 if value.exact else real
        case _:
            dtype = torch.int64
    return SentTensor(shape_of(value, graph, mesh), dtype)
