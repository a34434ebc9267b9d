"""From a typed graph to a module on a mesh of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...compiler.graph.inventory import WeightSpec, inventory
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, Pass
from ...compiler.sharding.mesh import Mesh
from ..torch.parallel_file import parallel_code
from .init import initial_rows
from .load import Texts, check_weights
from .memory import as_array, as_tensor

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh

    from ..runtime.parallel.torch_modules import Division
    from ..runtime.parallel.torch_weights import Lies, Rows, Values


@dataclass(frozen=True)
class DivisionOptions:
    """How a model is divided, whichever mesh it is on: see `Model.parallelize`. header: of its generated code."""

    dtype: torch.dtype
    header: str = ""
    weights: Mapping[str, Any] | None = None
    seed: int | None = 0
    computed_in: torch.dtype | None = None
    zero: int = 3
    checkpoint: bool = False
    passes: Sequence[Pass] = PASSES


def build_parallel(graph: Graph, mesh: Mesh, devices: DeviceMesh, options: DivisionOptions) -> torch.nn.Module:
    """The model divided over `devices`, each of which has its parts of the weights alone: see `Model.parallelize`."""
    values = values_for(graph, devices, options)
    return divided_module(*device_module(graph, mesh, options), devices, values, options)


def divided_module(
    local: torch.nn.Module, division: Division, devices: DeviceMesh, values: Values | None, options: DivisionOptions
) -> torch.nn.Module:
    """The module of one device, which is on "meta", with its weights."""
    from ..runtime.parallel.torch_modules import divided

    return divided(
        local,
        devices,
        division,
        values,
        zero=options.zero,
        checkpoint=options.checkpoint,
        dtype=options.computed_in,
    )


def device_module(
    graph: Graph, mesh: Mesh, options: DivisionOptions, received: int = 0
) -> tuple[torch.nn.Module, Division]:
    """The module of one device, on "meta", and how it is divided. received: see `parallel_code`."""
    import torch

    from .undrawn import Undrawn

    code = parallel_code(graph, mesh, header=options.header, passes=options.passes, checked=True, received=received)
    module, _ = Texts.of(code, "").run()
    kind = next(each for each in reversed(list(vars(module).values())) if _is_module(each, module.__name__))
    with torch.device("meta"), Undrawn():
        return kind().to(dtype=options.dtype), module.DIVISION


def values_for(graph: Graph, devices: DeviceMesh, options: DivisionOptions) -> Values | None:
    """Gives the parts of the weights of a model: of those that are given, or as `seed` draws them; None: neither."""
    specs = inventory(graph)
    if options.weights is None:
        return None if options.seed is None else _drawn(devices, specs, options.seed)
    check_weights(specs, options.weights)
    return _parts(devices, options.weights)


def _is_module(value: object, home: str) -> bool:
    import torch

    return isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == home


def _drawn(devices: DeviceMesh, specs: Mapping[str, WeightSpec], seed: int) -> Values:
    """The same first values as on one device."""
    import torch

    from ..runtime.parallel.torch_weights import parts_by_rows

    def rows(path: str, lies: Lies, shape: tuple[int, ...]) -> Rows:
        give = initial_rows(specs[path], seed)
        return lambda first, count: torch.from_numpy(give(first, count))

    return parts_by_rows(devices, rows)


def _parts(devices: DeviceMesh, weights: Mapping[str, Any]) -> Values:
    """Parts of given weights: of what is mapped from a file, no more is read."""

    def value(path: str, lies: Lies, shape: tuple[int, ...]) -> torch.Tensor:
        tensor, _ = as_tensor(as_array(weights[path]))
        return lies.part(tensor, devices)

    return value
