"""A divided model beside the whole, with the same weights, and how far one is from the other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor

from attnc.spec import Model

from .devices import redrawn
from .subjects import model


def full(x: Tensor) -> Tensor:
    return x.full_tensor() if isinstance(x, DTensor) else x


def far(found: Tensor, wanted: Tensor, least: float = 0.0) -> float:
    """The largest difference in standard deviations."""
    spread = max(float(wanted.std(correction=0)), least) or 1.0
    return float((found - wanted).abs().max()) / spread


def both(case: dict[str, Any]) -> tuple[Model, DeviceMesh, torch.nn.Module, Any]:
    """The model of a case, the mesh, and its modules in float64: that of one device, and the divided one."""
    of = model(case["name"])
    mesh = init_device_mesh("cpu", tuple(case["mesh"].values()), mesh_dim_names=tuple(case["mesh"]))
    whole = of.torch(seed=case["seed"], dtype="float64")
    torch.manual_seed(case["seed"])
    redrawn(whole)
    weights = {name: x.detach().numpy().copy() for name, x in whole.state_dict().items()}
    net = of.parallelize(
        mesh, splits=case["splits"], weights=weights, dtype="float64", zero=case.get("zero", 3),
        checkpoint=case.get("checkpoint", False),
    )  # fmt: skip
    return of, mesh, whole, net
