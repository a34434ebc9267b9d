"""Several divided models in one process, used in turn: each computes, to the bit, what it does alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh

from .beside import full
from .pipelines import squares
from .subjects import inputs, model

STEPS = 2
Turn = Callable[[], None]


def made(case: dict[str, Any]) -> Any:
    """The divided model of a case: name, mesh, splits, options of `parallelize`."""
    mesh = init_device_mesh("cpu", tuple(case["mesh"].values()), mesh_dim_names=tuple(case["mesh"]))
    return model(case["name"]).parallelize(mesh, splits=case["splits"], dtype="float64", **case["options"])


def turns(net: Any, case: dict[str, Any], found: dict[str, Tensor]) -> Iterator[Turn]:
    """What a training script does with a model, in the order in which it does it: dropout, gradients, steps, items."""
    of = model(case["name"])
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    kept: list[Tensor] = []
    net.draw_from(case["seed"])
    for step in range(STEPS):
        given = {name: net.batch_part(x) for name, x in inputs(of, case["seed"] + step).items()}

        def forward(step: int = step, given: dict[str, Tensor] = given) -> None:
            results = net(**given)
            results = results if isinstance(results, tuple) else (results,)
            for number, x in enumerate(results):
                found[f"result {number} of step {step}"] = net.whole_result(x, number)
            kept.append(squares(*results))

        def all_stages(step: int = step, given: dict[str, Tensor] = given) -> None:
            found[f"loss of step {step}"] = net.forward_backward(**given, loss=squares, micro=2)

        if "pipe" in case["mesh"]:
            yield all_stages
        else:
            yield forward
            yield lambda: kept.pop().backward()

        def learn(step: int = step) -> None:
            found[f"norm of step {step}"] = net.clip_grad_norm_(1.0)
            optimiser.step()
            optimiser.zero_grad()

        yield learn
    if case.get("decodes"):

        def decode() -> None:
            net.eval()
            found["items"] = net.generate([[1, 2, 3], [4, 5]], 4, temperature=1.0, seed=7)

        yield decode


def in_turn(case: dict[str, Any]) -> dict[str, Any]:
    """What several nets give otherwise than each of them alone, one after another; and how much each gives."""
    cases = case["turns"]
    alone: list[dict[str, Tensor]] = [{} for _ in cases]
    for each, found in zip(cases, alone, strict=True):
        net = made(each)
        for turn in turns(net, each, found):
            turn()
        found |= weights(net)
    beside: list[dict[str, Tensor]] = [{} for _ in cases]
    nets = [made(each) for each in cases]
    waiting = [turns(*each) for each in zip(nets, cases, beside, strict=True)]
    while waiting:  # now one is first, now another
        waiting = [each for each in reversed(waiting) if taken(each)]
    for found, net in zip(beside, nets, strict=True):
        found |= weights(net)
    other = [
        f"{name} of {number}"
        for number, (one, two) in enumerate(zip(alone, beside, strict=True))
        for name, x in one.items()
        if not torch.equal(x, two[name])
    ]
    return {"other": other, "given": [len(each) for each in alone]}


def taken(turns: Iterator[Turn]) -> bool:
    """Whether there was a turn to take."""
    turn = next(turns, None)
    if turn is not None:
        turn()
    return turn is not None


def weights(net: torch.nn.Module) -> dict[str, Tensor]:
    return {name: full(x.detach()).clone() for name, x in net.named_parameters()}
