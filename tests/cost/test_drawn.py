"""What random stacks of layers cost, as before: `drawn/*.txt`.

Each program, its longest path at three lengths (as `attnc cost` tells it), and a fingerprint of all else that is in its
bill. Whether paths and figures are right is asked in the files beside this one; here, whether a change that was to
change nothing has. `python -m tests.cost.test_drawn 17` prints a bill, to be compared with that of the commit before.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.compiler.cost.growth import rows
from attnc.compiler.cost.report import Cost
from attnc.compiler.cost.table import data, path_cells, text

from .drawn import drawn, spec

COUNT, FEW = 160, 20
LENGTHS = (8, 24, 40)


def path(cost: Cost) -> str:
    """The number of hops, what it comes from, how many passes of those that there are, and how it grows."""
    found = cost.paths["seq"]
    hops, told = path_cells(cost, "seq", found) if found.hops is not None else ("never", "")
    (row,) = rows(cost)
    return f"{hops} {told} ({found.passes} of {found.there}), {row[-1]}, by steps {row[-2]}"


def bill(cost: Cost) -> str:
    whole = "\n".join(text(cost, depth=None, per_op=False, training=False, symbolic="macs"))
    return f"{whole}\n{json.dumps(data(cost), indent=1)}\n{rows(cost)}"


def shown(seed: int) -> str:
    body = drawn(seed)
    model = attnc.loads(spec(body)).model("net")
    costs = {n: model.cost(seq=n, batch=2) for n in LENGTHS}
    paths = [f"| {n:2}: {path(cost)}" for n, cost in costs.items()]
    mark = hashlib.sha256(bill(costs[24]).encode()).hexdigest()[:8]
    return "\n".join([f"=== {seed}", body, *paths, f"| {mark}", ""])


@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=pytest.mark.slow if start // FEW % 4 else ()) for start in range(0, COUNT, FEW)]
)
def test_it_costs_what_it_cost(start: int, golden: Callable[[Path, str], None]) -> None:
    golden(Path("drawn") / f"{start}.txt", "\n".join(shown(seed) for seed in range(start, start + FEW)))


if __name__ == "__main__":
    body = drawn(int(sys.argv[1]))
    print(spec(body), bill(attnc.loads(spec(body)).model("net").cost(seq=24, batch=2)), sep="\n")
