"""300 random attentions that ought to stream: kernels in Triton's interpreter beside float64 and plain PyTorch.

All results and gradients; of a tenth in bfloat16; what is moved, beside what `attnc cost --streams` says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")

from .drawn import drawn
from .judge import judge

COUNT, EACH = 300, 10
TINY = (0, 6)


def right(seed: int, tiny: bool = False) -> None:
    one = drawn(seed, tiny)
    try:
        found = judge(one, traffic=True)
    except Exception as failure:
        raise AssertionError(f"{failure!r}\n{one}") from failure
    assert not found.wrong, f"{'; '.join(found.wrong)}\n{one}"
    assert found.kernels, f"{'; '.join(found.reasons)}\n{one}"
    assert not found.reasons, f"{'; '.join(found.reasons)}\n{one}"


@pytest.mark.parametrize("seed", TINY)
def test_tiny(seed: int) -> None:
    """In `make test`."""
    right(seed, tiny=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, COUNT, EACH))
def test_as_float64(start: int) -> None:
    for seed in range(start, start + EACH):
        right(seed)


@pytest.mark.slow
def test_they_compile() -> None:
    """As Triton compiles them for a GPU, which needs none: types, which the interpreter does not ask for."""
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.fused.compiled", "0:60"]
    done = subprocess.run(command, capture_output=True, text=True, env=kept, cwd=Path(__file__).parents[2])
    assert not done.returncode, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= 180
