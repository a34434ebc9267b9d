"""A device needs little more memory than its part of the weights while they are drawn or read."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.loading.init import initial, initial_items
from attnc.backends.runtime.parallel import torch_weights as runtime
from attnc.backends.runtime.parallel.torch_weights import DimensionRun, Items, Lies, Own, filled_by, filled_from

from . import processes


@pytest.mark.slow
def test_memory(tmp_path: Path) -> None:
    """Of a model of 957 MB on eight devices: the largest weight alone has 131 MB, a device 120 MB of all."""
    command = [sys.executable, "-m", "tests.sharding.drawing", str(tmp_path)]
    ran = subprocess.run(command, cwd=processes.ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout)
    assert found["other"] == [] and found["own"] < 0.13 * found["whole"], found
    assert max(found["drawn"], found["read"]) < found["own"] + 40_000_000, found
    assert found["stage"] < found["own_of_stage"] + 40_000_000 and found["own_of_stage"] < 0.13 * found["whole"], found


@pytest.mark.parametrize("law", ["normal(0.3)", "uniform(0.2)", "constant(2)"])
def test_some_at_a_time(law: str) -> None:
    """Each item is what it is in the whole, wherever one begins."""
    text = (
        "width t\ndepth m = 64, n = 36\nmodel f(x: [t, m]) -> [t, n] {{ param W: [m, n] ~ {}\n return dot[m](x, W) }}"
    )
    spec = attnc.loads(text.format(law)).model("f").weights["W"]
    whole, give, rng, ahead = initial(spec, 3).reshape(-1), initial_items(spec, 3), random.Random(0), 0
    while ahead < len(whole):
        count = min(rng.randint(1, 60), len(whole) - ahead)
        if rng.random() < 0.5:
            np.testing.assert_array_equal(give(ahead, count), whole[ahead : ahead + count])
        ahead += count


@pytest.mark.parametrize("seed", range(30))
def test_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts within parts, and of blocks, are those that `chunk` gives; made block by block, too, and none too large."""
    rng = random.Random(seed)
    shape = [rng.choice((4, 8, 12, 16)) for _ in range(rng.randint(1, 3))]
    whole = torch.arange(int(np.prod(shape))).reshape(shape)
    part, runs = whole, [(DimensionRun(0, 0, size),) for size in shape]
    for _ in range(rng.randint(0, 3)):
        dim, blocks, devices = rng.randrange(len(shape)), rng.choice((1, 2, 4)), rng.choice((2, 3, 4))
        size = part.shape[dim] // blocks
        if part.shape[dim] % blocks == 0 and (size % devices == 0 or (blocks == 1 and size > devices)):
            split = part.reshape(*part.shape[:dim], blocks, -1, *part.shape[dim + 1 :]).chunk(devices, dim + 1)
            number = rng.randrange(len(split))
            part = split[number].flatten(dim, dim + 1)
            runs[dim] = runtime._piece(runs[dim], blocks, devices, number)
    monkeypatch.setattr(runtime, "BLOCK", rng.choice((1, 3, 8, 20, 1000)))

    def items(path: str, lies: Lies, shape: tuple[int, ...]) -> Items:
        def give(first: int, count: int) -> torch.Tensor:
            assert count <= runtime.BLOCK
            return torch.arange(first, first + count)

        return give

    for fill in (filled_from({"x": whole}), filled_by(items)):
        found = torch.full(part.shape, -1)
        fill("x", Lies(), Own(tuple(shape), tuple(runs)), found)
        assert torch.equal(found, part)
