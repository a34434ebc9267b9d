"""Wrong inputs of divided models are refused on all devices at once: none waits for another; the next step is done."""

from __future__ import annotations

from typing import Any

import pytest

from attnc.backends.runtime.parallel.torch_training import refuse_uneven

from . import processes
from .test_processes import BATCH

STAGES = "TypeError: the inputs of the model, the same on every stage, are ids, target, real: "
NONE = "ValueError: no stage does this step: "
WIDTH = "ValueError: `seq` has 7 items, which 2 devices along `context` do not divide: 6 or 8 would do"
WANTED: list[tuple[str, dict[str, int], dict[str, Any], dict[str, str | tuple[str, str]]]] = [
    (
        "gpt/gpt",
        {"data": 2},
        {"data": BATCH},
        {"batch": "ValueError: the batch has 3 items, which 2 devices along `data` do not divide: 2 or 4 would do"},
    ),
    ("zoo/decoder/decoder", {"context": 2}, {"context": ("seq",)}, {"width": WIDTH, "width in a step": WIDTH}),
    (
        "balanced",
        {"pipe": 2},
        {},
        {
            "missing": STAGES + "`ids` is missing",
            "missing on one": (NONE + "stage 1 refuses what it is given, and says why", STAGES + "`ids` is missing"),
            "unknown": STAGES + "there is no `other`",
            "twice": STAGES + "`ids` is there twice",
            "too many": STAGES + "4 are too many",
            "micro": "ValueError: a batch of 4 does not divide into 3 micro-batches",
            "other micro": NONE + "numbers of micro-batches differ, from the first stage to the last [2, 4]",
            "other batch": NONE + "batches differ, from the first stage to the last [4, 2]",
            "other shape": NONE + "shapes of inputs differ",
            "no gradients on one": NONE + "stages do not agree whether it is one with gradients",
        },
    ),
]


@pytest.mark.slow
def test_all_devices_refuse_at_once() -> None:
    cases = [
        {"name": name, "mesh": mesh, "splits": splits, "refused": True, "seed": 0} for name, mesh, splits, _ in WANTED
    ]
    for found, (*_, wanted) in zip(processes.run(2, cases, 60.0), WANTED, strict=True):
        said = {what: [told] * 2 if isinstance(told, str) else [*told] for what, told in wanted.items()}
        assert found["said"] == said | {"right": ["", ""]}


def test_sizes_that_would_do() -> None:
    refuse_uneven("`seq`", 8, "context", 4)
    for size, would in ((9, "8 or 12"), (3, "4")):
        with pytest.raises(ValueError, match=f"`seq` has {size} items, .* 4 devices along `context` .*: {would} would"):
            refuse_uneven("`seq`", size, "context", 4)
