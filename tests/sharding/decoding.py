"""A divided model that decodes, beside the whole: scores of steps, and items that are generated, on every device."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from attnc.spec import Model

from .beside import both, far
from .subjects import WIDTH, inputs

PROMPTS = [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]]  # rows that two devices do not share evenly, of several lengths
DRAWN = {"temperature": 0.9, "top_k": 12, "top_p": 0.95, "seed": 3}
OPTIONS: list[dict[str, Any]] = [{}, DRAWN, {"beams": 3, "length_penalty": 0.7}]


def prompt_of(of: Model, seed: int) -> tuple[Tensor, dict[str, Tensor]]:
    """Items for steps, and the model's other inputs."""
    given, name = inputs(of, seed), of.decoding.prompt or ""
    along = {port.name: {*port.axes} for port in of.inputs}
    ids = given.pop(name)
    return ids, {other: x for other, x in given.items() if not along[other] & along[name]}


def stepped(net: Any, ids: Tensor, given: dict[str, Tensor]) -> list[Tensor]:
    """The scores of several items at once, then of one after another, then of the last of two."""
    cache = net.prepare(**given)
    found = [net.step(ids[:, :4], cache), *(net.step(ids[:, i : i + 1], cache) for i in range(4, WIDTH - 2))]
    return [*found, net.step(ids[:, WIDTH - 2 :], cache, last=1)]


def decoded(case: dict[str, Any]) -> dict[str, Any]:
    """How far scores are from those of one device, and calls of `generate` that gave other items."""
    of, _, whole, net = both(case)
    whole.eval()
    net.eval()
    ids, given = prompt_of(of, case["seed"])
    found = stepped(net, net.batch_part(ids), {name: net.batch_part(x) for name, x in given.items()})
    off = max(far(x, net.batch_part(y)) for x, y in zip(found, stepped(whole, ids, given), strict=True))
    rows = {name: x[: len(PROMPTS)] for name, x in given.items()}
    others = []
    for options in OPTIONS:
        free = whole.generate(PROMPTS, 6, **rows, **options)
        for more in ({}, {"eos": int(free[0, 2])}):
            wanted = whole.generate(PROMPTS, 6, **rows, **options, **more)
            if not torch.equal(net.generate(PROMPTS, 6, **rows, **options, **more), wanted):
                others.append({**options, **more})
    one = {name: x[0] for name, x in rows.items()}
    if [*net.stream(PROMPTS[0], 3, **one)] != [*whole.stream(PROMPTS[0], 3, **one)]:
        others.append({"streamed": True})
    drawn = net.generate(PROMPTS, 6, **rows, temperature=1.0)  # without a seed all have drawn the same
    every = [torch.empty_like(drawn) for _ in range(dist.get_world_size())]
    dist.all_gather(every, drawn)
    worst = torch.tensor([off, len(others), sum(not torch.equal(drawn, each) for each in every)])
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return {"scores": float(worst[0]), "wrong": worst[1:].tolist(), "others": others}
