"""What is proved of random programs and of their neighbours stays as it is: a digest for each seed.

If one differs, print all of that seed here and at the commit before, compare, and settle each difference by a run:

    python -m tests.core.test_verdicts 17
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .verdicts import verdicts

COUNT, FEW, SLIPS = 400, 10, 4


@pytest.mark.parametrize("start", [pytest.param(n, marks=pytest.mark.slow if n else ()) for n in range(0, COUNT, FEW)])
def test_verdicts_are_as_before(start: int, golden: Callable[[Path, str], None]) -> None:
    lines = []
    for seed in range(start, start + FEW):
        told = list(verdicts(seed, picks=seed % 2 == 1, slips=SLIPS))
        proved = sum(line.endswith(": proved") for line in told)
        digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]
        lines.append(f"{seed}: {proved} of {len(told)} proved, {digest}\n")
    golden(Path("verdicts") / f"{start}.txt", "".join(lines))


if __name__ == "__main__":
    seed = int(sys.argv[1])
    print("\n".join(verdicts(seed, picks=seed % 2 == 1, slips=SLIPS)))
