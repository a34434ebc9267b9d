"""Steps of training in micro-batches, with stages of a pipeline and without, beside the whole model, in float64."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.utils.checkpoint import set_checkpoint_early_stop

from attnc.spec import Model

from .beside import both, far, full
from .sent import Sent, as_planned, stage_as_planned, told_by_all, unmet
from .subjects import inputs, model


def squares(*results: Tensor) -> Tensor:
    """A loss that hangs on every item of the results."""
    return torch.stack([x.square().sum() for x in results if x.is_floating_point()]).sum()


def piped(case: dict[str, Any]) -> dict[str, Any]:
    """Losses, gradients and weights of some steps of training beside those of one device: the worst of all stages; and
    what was sent otherwise than planned.
    """
    of, mesh, whole, net = both(case)
    for each in (whole, net):
        each.eval()
    optimisers = [torch.optim.AdamW(each.parameters(), lr=1e-3) for each in (whole, net)]
    wanted = dict(whole.named_parameters())
    worst = {"loss": 0.0, "gradients": 0.0, "norm": 0.0, "weights": 0.0}
    told = ""
    last = "pipe" not in case["mesh"] or mesh.get_local_rank("pipe") == case["mesh"]["pipe"] - 1
    for step in range(case.get("steps", 3)):
        for turn in range(case.get("accumulate", 1)):
            given = inputs(of, case["seed"] + 100 * step + turn)
            made = whole(**given)
            loss = squares(*(made if isinstance(made, tuple) else (made,)))
            loss.backward()
            parts = {name: net.batch_part(x) for name, x in given.items()}
            with Sent() as sent, set_checkpoint_early_stop(False):  # plans count passes to their end
                found = net.forward_backward(*parts.values(), loss=squares, micro=case["micro"])
            if step + turn == 0:
                told = unmet(sent)
                if "pipe" not in case["mesh"]:
                    told = as_planned(of, mesh, case, sent) or told
                else:
                    told = told_by_all(stage_as_planned(of, mesh, case, net, sent) or told)
            with torch.no_grad():
                alone = net.forward_backward(**parts, loss=squares, micro=case["micro"])
            worst["loss"] = max(worst["loss"], float((alone - found).abs() / loss.detach()))
            if last:
                for axis in sorted({*net._division.results[0]} & {*case["mesh"]}):
                    dist.all_reduce(found, group=mesh.get_group(axis))
                worst["loss"] = max(worst["loss"], float((found - loss.detach()).abs() / loss.detach()))
        least = 1e-3 * max(float(x.grad.std()) for x in wanted.values() if x.grad is not None and x.numel() > 1)
        for name, x in net.named_parameters():
            if step == 0 and wanted[name].grad is not None:
                worst["gradients"] = max(worst["gradients"], far(full(x.grad), wanted[name].grad, least))
        norms = torch.nn.utils.clip_grad_norm_(whole.parameters(), 1.0), net.clip_grad_norm_(1.0)
        worst["norm"] = max(worst["norm"], float((norms[0] - norms[1]).abs() / norms[0]))
        for each in optimisers:
            each.step()
            each.zero_grad()
    for name, x in net.named_parameters():
        worst["weights"] = max(worst["weights"], far(full(x.detach()), wanted[name].detach(), 1e-3))
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, (worst, sorted(dict(net.named_parameters()))))
    assert {*wanted} == {name for _, names in every for name in names}
    return {what: max(one[what] for one, _ in every) for what in worst} | {"sent": told}


def unpiped(case: dict[str, Any]) -> dict[str, Any]:
    """Ten steps of training on a mesh with stages, with dropout, beside as many on the same mesh without."""
    of = model(case["name"])
    mesh = init_device_mesh("cpu", tuple(case["mesh"].values()), mesh_dim_names=tuple(case["mesh"]))
    others = tuple(name for name in case["mesh"] if name != "pipe")
    alone = DeviceMesh("cpu", torch.arange(dist.get_world_size()).reshape(-1, 1), mesh_dim_names=("pipe", "data"))
    meshes = (mesh[others] if others else alone["data"], mesh)
    runs = [trained(of, on, case) for on in meshes]
    (losses, norms, gradients, weights), found = runs
    worst = {
        "loss": far(found[0], losses),
        "norm": far(found[1], norms),
        "gradients": max(far(x, gradients[name], 1e-4) for name, x in found[2].items()),
        "weights": max(far(x, weights[name], 1e-3) for name, x in found[3].items()),
    }
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, (worst, sorted(found[3])))
    assert {*weights} == {name for _, names in every for name in names}
    return {what: max(one[what] for one, _ in every) for what in worst}


Trained = tuple[Tensor, Tensor, dict[str, Tensor], dict[str, Tensor]]


def trained(of: Model, mesh: DeviceMesh, case: dict[str, Any]) -> Trained:
    """Losses and norms of ten steps, gradients of the first, and the weights at the end."""
    splits = {axis: names for axis, names in case["splits"].items() if axis in (mesh.mesh_dim_names or ())}
    net: Any = of.parallelize(mesh, splits=splits, seed=case["seed"], **case["options"])
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3, eps=1e-6)
    losses, norms, gradients = [], [], dict[str, Tensor]()
    for step in range(10):
        net.draw_from(step)
        given = {name: net.batch_part(x) for name, x in inputs(of, case["seed"] + step).items()}
        losses.append(net.forward_backward(**given, loss=squares, micro=case["micro"]))
        if not step:
            gradients = {name: full(x.grad).clone() for name, x in net.named_parameters() if x.grad is not None}
        norms.append(net.clip_grad_norm_(1.0))
        optimiser.step()
        optimiser.zero_grad()
    weights = {name: full(x.detach()).clone() for name, x in net.named_parameters()}
    return torch.stack(losses), torch.stack(norms), gradients, weights
