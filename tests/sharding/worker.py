"""One of the processes that run divided models beside the whole, in float64: `python -m tests.sharding.worker`.

It is given its rank, how many there are, a file to meet at, and a file of cases; the first of them prints what it found
for each, a line of JSON.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.checkpoint import set_checkpoint_early_stop

from tests.clock import now

from .beside import both, far, full
from .decoding import decoded
from .pipelines import piped, unpiped
from .refusals import refused
from .sent import Sent, as_planned, unmet
from .subjects import inputs, model
from .training import trained
from .turns import in_turn

STEPS = 10


def probed(made: Tensor | tuple[Tensor, ...], probes: list[Tensor | None]) -> Tensor:
    """A loss that hangs on every item of the results."""
    made = made if isinstance(made, tuple) else (made,)
    parts = [(x * probe).sum() for x, probe in zip(made, probes, strict=True) if probe is not None]
    return torch.stack(parts).sum()


def own(probe: Tensor, split: Any, net: Any, mesh: Any) -> Tensor:
    """What this device has of what is to be multiplied with a result."""
    for axis, dim in split.items():
        probe = probe.chunk(mesh.size(mesh.mesh_dim_names.index(axis)), dim)[mesh.get_local_rank(axis)]
    return probe


def run(case: dict[str, Any]) -> dict[str, Any]:
    """Losses, gradients and weights of ten steps of training beside those of one device."""
    of, mesh, whole, net = both(case)
    if case.get("empty"):  # memory comes later, and what fills it
        full_net, options = net, {"dtype": "float64", "zero": case.get("zero", 3)}
        net = of.parallelize(mesh, splits=case["splits"], seed=None, **options)
        net.to_empty(device="cpu")
        with torch.no_grad():
            for x, y in zip(net.parameters(), full_net.parameters(), strict=True):
                x.copy_(y)
    for each in (whole, net):
        each.eval()
    optimisers = [torch.optim.AdamW(each.parameters(), lr=1e-3, eps=1e-6) for each in (whole, net)]
    worst = {"loss": 0.0, "gradients": 0.0, "norm": 0.0, "weights": 0.0}
    told = ""
    rounds = case.get("accumulate", 1)
    for step in range(case.get("steps", STEPS)):
        for turn in range(rounds):
            given = inputs(of, case["seed"] + 100 * step + turn)
            parts = {name: net.batch_part(x) for name, x in given.items()}
            made = whole(**given)
            made = made if isinstance(made, tuple) else (made,)
            probes = [torch.randn(x.shape, dtype=x.dtype) if x.is_floating_point() else None for x in made]
            probed(made, probes).backward()
            mine = [p if p is None else own(p, net._division.results[n], net, mesh) for n, p in enumerate(probes)]
            with Sent() as sent, set_checkpoint_early_stop(False):  # plans count passes to their end
                probed(net(**parts), mine).backward()
            if step + turn == 0:
                told = unmet(sent)
                if dist.get_rank() == 0:  # a plan takes a second
                    told = as_planned(of, mesh, case, sent) or told
            if step == 0:
                with torch.no_grad():
                    found = net(**parts)
                found = found if isinstance(found, tuple) else (found,)
                for number, x in enumerate(made):
                    if x.is_floating_point():
                        worst["loss"] = max(worst["loss"], far(net.whole_result(found[number], number), x.detach()))
        gradients = {name: x.grad for name, x in net.named_parameters() if x.grad is not None}
        lost = [n for n, x in whole.named_parameters() if x.grad is not None and n not in gradients]
        assert not lost, lost
        if step == 0:
            least = 1e-3 * max(float(x.grad.std()) for x in whole.parameters() if x.grad is not None and x.numel() > 1)
            for name, x in whole.named_parameters():
                if name in gradients:
                    wanted = torch.zeros_like(x) if x.grad is None else x.grad
                    worst["gradients"] = max(worst["gradients"], far(full(gradients[name]), wanted, least))
        norms = [
            full(torch.nn.utils.clip_grad_norm_(each.parameters(), case.get("clip", 1.0))) for each in (whole, net)
        ]
        worst["norm"] = max(worst["norm"], abs(float(norms[0]) - float(norms[1])) / float(norms[0]))
        for each in optimisers:
            each.step()
            each.zero_grad()
    after = {name: full(x.detach()) for name, x in net.named_parameters()}
    assert after.keys() == dict(whole.named_parameters()).keys()
    for name, x in whole.named_parameters():
        worst["weights"] = max(worst["weights"], far(after[name], x.detach(), 1e-2))
    return {**worst, "sent": told}


def dropped(case: dict[str, Any]) -> dict[str, Any]:
    """Training with dropout: passes done again draw what they drew, and what devices have in common stays the same."""
    of = model(case["name"])
    mesh = init_device_mesh("cpu", tuple(case["mesh"].values()), mesh_dim_names=tuple(case["mesh"]))
    given = inputs(of, case["seed"])
    after = []
    for checkpoint in (False, True):
        net: Any = of.parallelize(mesh, splits=case["splits"], dtype="float64", checkpoint=checkpoint)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            net.draw_from(step)
            made = net(**{name: net.batch_part(x) for name, x in given.items()})
            sum(x.square().sum() for x in (made if isinstance(made, tuple) else (made,))).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
        after.append({name: full(x.detach()) for name, x in net.named_parameters()})
    apart = 0.0
    for x in after[0].values():  # each device made this of what it has itself
        every = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(every, x)
        apart = max(apart, *(float((x - other).abs().max()) for other in every))
    again = max(far(after[1][name], x, 1e-3) for name, x in after[0].items())
    return {"apart": apart, "again": again}


def work(case: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What is to be done for a case."""
    if "trained" in case:
        return trained
    if case.get("refused"):
        return refused
    if "turns" in case:
        return in_turn
    if "micro" in case:
        return unpiped if case.get("unpiped") else piped
    return decoded if case.get("decoded") else dropped if case.get("dropped") else run


def main(rank: int, world: int, meet: str, cases: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=world)
    with open(cases, encoding="utf-8") as file:
        todo = json.load(file)
    for case in todo:
        begun = now()
        try:
            found = work(case)(case)
        except Exception:
            found = {"failed": traceback.format_exc()}
        if rank == 0 or "failed" in found:
            wall, computing = (after - before for after, before in zip(now(), begun, strict=True))
            took = {"seconds": wall, "computing": computing}
            print(json.dumps({"case": case, "rank": rank, **took, **found}), flush=True)
        if "failed" in found:
            break  # the others wait for it
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5])
