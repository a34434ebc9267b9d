"""Random programs with a provably causal result: step by step what they give at once, or a reason why not."""

from __future__ import annotations

import numpy as np
import pytest

import attnc

from .programs import causal
from .steps import check_steps

GROUPS = 6


def run(seeds: range) -> tuple[int, list[str]]:
    """How many programs decode, and why others do not."""
    done, reasons = 0, []
    for seed in seeds:
        for text, model, values in causal(seed):
            found = model.decoding
            if found.step is None or found.prepare is None:
                assert found.reason
                reasons.append(found.reason)
                continue
            names = {item.name for graph in (found.step, found.prepare) for item in graph.inputs}
            given = {name: x for name, x in values.items() if name in names}
            try:
                with np.errstate(all="ignore"):
                    check_steps(model, seeds=(0, 2), dtypes=("float64",), values=given)
            except Exception as error:
                error.add_note(f"seed {seed}\n{text}")
                raise
            done += 1
    return done, reasons


@pytest.mark.parametrize("group", range(GROUPS))
def test_random(group: int) -> None:
    done, _ = run(range(group * 24, group * 24 + 24))
    assert done >= 3


def test_how_many_come_after() -> None:
    """Of a width of a given size it is known; the steps counted to the newest item."""
    model = attnc.loads(
        "width seq = 3\nwidth past like seq\n"
        "model net(x: [past]) -> int[past] causal past {\n    return sum[seq](1 where not (seq <= past))\n}\n"
    ).model("net")
    check_steps(model, seeds=(0, 2), values={"x": np.zeros(3)})


@pytest.mark.slow
@pytest.mark.parametrize("group", range(40))
def test_random_more(group: int) -> None:
    run(range(1000 + group * 25, 1000 + group * 25 + 25))
