"""From a typed graph to the module of one stage of a pipeline, on the devices of that stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...compiler.graph.nodes import Graph
from ...compiler.graph.values import Value
from ...compiler.sharding.mesh import PIPE, Mesh
from ...compiler.sharding.stages import shape_of
from ..torch.stage_files import planned, sent_as
from .parallel import DivisionOptions, device_module, divided_module, fill_for

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh

    from ..runtime.parallel.torch_stages import SentTensor


def build_stage(graph: Graph, mesh: Mesh, devices: DeviceMesh, options: DivisionOptions) -> torch.nn.Module:
    """The stage of this device, divided over the other axes of the mesh: see `Model.parallelize`."""
    from ..runtime.parallel.torch_stages import SentTensor, StagePlace, mesh_of_stage, pipelined, whole_paths

    plan = planned(graph, mesh, devices.get_local_rank(PIPE))

    def sent(values: Sequence[Value]) -> tuple[SentTensor, ...]:
        return tuple(SentTensor(shape_of(each, graph, plan.mesh), _dtype(each)) for each in values)

    place = StagePlace(
        received=sent(plan.received),
        sends=sent(plan.sends),
        **plan.place,
    )
    fill, over = fill_for(graph, options), mesh_of_stage(devices, place.axes)
    local, division = whole_paths(*device_module(plan.graph, plan.mesh, options, len(plan.received)), place)
    net = divided_module(local, division, over, fill, options, place.alike)
    return pipelined(net, place, devices, options.computed_in or options.dtype)


def _dtype(value: Value) -> torch.dtype | None:
    import torch

    name = sent_as(value)
    return None if name is None else getattr(torch, name)
