"""From a typed graph to a module on a mesh of devices."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...compiler.graph.inventory import WeightSpec, inventory
from ...compiler.graph.nodes import Graph
from ...compiler.sharding.mesh import Mesh
from ..emit.file import Writing
from ..torch.parallel_file import parallel_code
from .init import initial_items
from .load import Texts, attributes, called, check_weights
from .memory import as_array, as_tensor

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh

    from ..runtime.parallel.torch_modules import Division
    from ..runtime.parallel.torch_weights import Fill, Items, Lies, Own


@dataclass(frozen=True)
class DivisionOptions:
    """How a model is divided, whichever mesh it is on: see `Model.parallelize`. asked: of its generated code."""

    dtype: torch.dtype
    asked: Writing
    weights: Mapping[str, Any] | None = None
    seed: int | None = 0
    computed_in: torch.dtype | None = None
    zero: int = 3
    checkpoint: bool = False


def build_parallel(graph: Graph, mesh: Mesh, devices: DeviceMesh, options: DivisionOptions) -> torch.nn.Module:
    """The model divided over `devices`, each of which has its parts of the weights alone: see `Model.parallelize`."""
    fill = fill_for(graph, options)
    return divided_module(*device_module(graph, mesh, options), devices, fill, options)


def divided_module(
    local: torch.nn.Module,
    division: Division,
    devices: DeviceMesh,
    fill: Fill | None,
    options: DivisionOptions,
    over: Collection[str] | None = None,
) -> torch.nn.Module:
    """The module of one device, which is on "meta", with its weights. over: see `divided`."""
    from ..runtime.parallel.torch_modules import divided

    return divided(
        local,
        devices,
        division,
        fill,
        zero=options.zero,
        checkpoint=options.checkpoint,
        dtype=options.computed_in,
        over=over,
    )


def device_module(
    graph: Graph, mesh: Mesh, options: DivisionOptions, received: int | None = None
) -> tuple[torch.nn.Module, Division]:
    """The module of one device, on "meta", and how it is divided. received: see `parallel_code`."""
    import torch

    from .undrawn import Undrawn

    code = parallel_code(graph, mesh, received, **options.asked)
    module, functions = Texts.of(code, "").run()
    kind = next(each for each in reversed(list(vars(module).values())) if _is_module(each, module.__name__))
    kind = called(kind, tuple(item.name for item in graph.inputs), functions)
    if code.no_step:
        kind = type(kind.__name__, (kind,), {"__module__": kind.__module__, "__getattr__": attributes(code.no_step)})
    with torch.device("meta"), Undrawn():
        return kind().to(dtype=options.dtype), module.DIVISION


def fill_for(graph: Graph, options: DivisionOptions) -> Fill | None:
    """Fills the parts of the weights of a model: with those that are given, or as a seed draws them; None: neither."""
    specs = inventory(graph)
    if options.weights is None:
        return None if options.seed is None else _drawn(specs, options.seed)
    check_weights(specs, options.weights)
    return _given(options.weights)


def _is_module(value: object, home: str) -> bool:
    import torch

    return isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == home


def _drawn(specs: Mapping[str, WeightSpec], seed: int) -> Fill:
    """The same first values as on one device."""
    import torch

    from ..runtime.parallel.torch_weights import filled_by

    def items(path: str, lies: Lies, shape: tuple[int, ...]) -> Items:
        give = initial_items(specs[path], seed)
        return lambda first, count: torch.from_numpy(give(first, count))

    return filled_by(items)


def _given(weights: Mapping[str, Any]) -> Fill:
    """Given weights: of what is mapped from a file no more is read than a device has, one piece at a time."""

    def fill(path: str, lies: Lies, own: Own, part: torch.Tensor) -> None:
        whole = as_array(weights[path])
        for there, here in own.boxes():
            piece, _ = as_tensor(whole[there])
            part[here].copy_(piece)

    return fill
