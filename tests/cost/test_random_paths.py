"""Longest paths of random stacks: items are told to meet just where the compiled module says that they do."""

from __future__ import annotations

import random

import pytest

from tests.cost.test_paths import model

torch = pytest.importorskip("torch")

ATTENDS = ["abs(seq - past) <= {n}", "past <= seq and seq - past <= {n}", "past >= seq and past - seq <= {n}", "true"]
OTHERS = [
    "linear.{name}[tap, model -> model](window[seq -> seq, tap](x, pad = {pad}))",
    "broadcast[seq](mean[seq](x))",
    "cumsum[seq](x)",
    "merge[chunk, place -> seq](broadcast[place](mean[place](split[seq -> chunk, place](x))))",
    "merge[chunk, place -> seq](cumsum[place](split[seq -> chunk, place](x)))",
    "merge[chunk, place -> seq](cumsum[chunk](split[seq -> chunk, place](x)))",
]
# Without `x +` they lose the items at an end, and what is left there does not go as far as elsewhere.
SHIFTS = ["x[seq = max(seq - {n}, 0)]", "x[seq = min(seq + {n}, |seq| - 1)]"]


def stack(rolls: random.Random) -> str:
    """Some layers, with and without what they are added to, one after another and in repeats."""
    lines: list[str] = []

    def layer() -> None:
        attend = "attend.{name}[seq, past, model, model](x, x[seq as past], x[seq as past], mask = {mask})"
        kind = rolls.choice([*ATTENDS, *ATTENDS, *OTHERS, *SHIFTS])
        adds = kind in SHIFTS or rolls.random() < 0.5
        layer = attend.replace("{mask}", kind) if kind in ATTENDS else kind
        layer = layer.format(name=f"layer{len(lines)}", n=rolls.randint(1, 5), pad=rolls.randint(0, 2))
        lines.append(f"x = {'x + ' if adds else ''}{layer}")

    repeats = ["two", "layers"]
    for _ in range(rolls.randint(1, 3)):
        if repeats and rolls.random() < 0.45:
            lines.append(f"repeat {repeats.pop()} {{")
            for _ in range(rolls.randint(1, 2)):
                layer()
            lines.append("}")
        else:
            layer()
    return "\n".join(["", *lines, "return x"])


def judge(seed: int) -> dict[int, object]:
    """Where the two differ: numbers of items, and what is told. A path that is no bound only must be one."""
    net = model(stack(random.Random(seed)))
    module = net.torch(seed=0, dtype=torch.float64)
    wrong: dict[int, object] = {}
    for n in (8, 16, 24):
        x = 0.1 * torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        depends = torch.autograd.functional.jacobian(lambda x: module(x).sum(-1), x).abs().sum(-1) > 0
        ends = [(depends[-1, 0], depends.tril(-1)), (depends[0, -1], depends.triu(1))]
        connected = all(end or not side.any() for end, side in ends) and any(end for end, _ in ends)
        path = net.cost(seq=n).paths["seq"]
        reached = path.hops is not None and path.passes <= path.there
        if reached != connected and (path.sure or connected):
            wrong[n] = path
    return wrong


def test_stacks() -> None:
    assert {seed: wrong for seed in range(8) if (wrong := judge(seed))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(8, 400, 98))
def test_many_stacks(start: int) -> None:
    assert {seed: wrong for seed in range(start, start + 98) if (wrong := judge(seed))} == {}
