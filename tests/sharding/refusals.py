"""What a divided model is given wrongly, on each of two devices: what each of them says, and that both go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from .pipelines import squares
from .subjects import inputs, model


def said(do: Callable[[], Any]) -> str:
    try:
        do()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def refused(case: dict[str, Any]) -> dict[str, Any]:
    """By what was wrong, what both devices say of it; last, of what is right."""
    of = model(case["name"])
    mesh = init_device_mesh("cpu", tuple(case["mesh"].values()), mesh_dim_names=tuple(case["mesh"]))
    net: Any = of.parallelize(mesh, splits=case["splits"], dtype="float64")
    given = inputs(of, 0)
    whole, rest = next(iter(given.values())), dict([*given.items()][1:])
    second, wrong = dist.get_rank() == 1, dict[str, Callable[[], Any]]()

    def step(*positional: Any, micro: int = 2, **named: Any) -> Any:
        return net.forward_backward(*positional, loss=squares, micro=micro, **named)

    if "data" in case["mesh"]:
        wrong["batch"] = lambda: net.batch_part(whole[:3])
    if "context" in case["mesh"]:
        cut = {each: net.batch_part(x[:, :-1]) for each, x in given.items()}
        wrong["width"] = lambda: net(**cut)
        wrong["width in a step"] = lambda: step(**cut)
    if "pipe" in case["mesh"]:
        half = {each: x[:2] for each, x in given.items()}
        wrong["missing"] = lambda: step(**rest)
        wrong["missing on one"] = lambda: step(**(rest if second else given))
        wrong["unknown"] = lambda: step(**given, other=whole)
        wrong["twice"] = lambda: step(whole, **given)
        wrong["too many"] = lambda: step(*given.values(), whole)
        wrong["micro"] = lambda: step(**given, micro=3)
        wrong["other micro"] = lambda: step(**given, micro=4 if second else 2)
        wrong["other batch"] = lambda: step(**(half if second else given))
        wrong["other shape"] = lambda: step(**{each: x[:, : 4 if second else None] for each, x in given.items()})
        wrong["no gradients on one"] = torch.set_grad_enabled(not second)(lambda: step(**given))
    wrong["right"] = lambda: step(**{each: net.batch_part(x) for each, x in given.items()})
    found = {}
    for what, do in wrong.items():
        every: list[Any] = [None, None]
        dist.all_gather_object(every, said(do))
        found[what] = every
    return {"said": found}
