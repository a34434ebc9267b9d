"""Pipelines over gloo: losses, gradients, their norm and weights after steps of AdamW are those of one device."""

from __future__ import annotations

from typing import Any

import pytest

from . import processes
from .subjects import KINDS
from .test_processes import BATCH, DENSE

CASES: list[tuple[str, dict[str, int], dict[str, Any]]] = [
    ("zoo/decoder/decoder", {"pipe": 2}, {"micro": 4}),
    ("zoo/gpt2", {"pipe": 2}, {"micro": 2, "accumulate": 2}),  # tied embeddings
    ("transformer_loss", {"pipe": 2}, {"micro": 1, "checkpoint": True}),
    ("zoo/vit", {"pipe": 2}, {"micro": 2, "zero": 0}),
    ("transformer_loss", {"data": 2}, {"micro": 2, "accumulate": 2}),  # the same loop, without stages
    ("zoo/gpt2", {"model": 2}, {"micro": 4, "zero": 0}),
    ("transformer_loss", {"pipe": 4}, {"micro": 4, "steps": 10}),
    ("transformer", {"pipe": 4}, {"micro": 2}),
    ("zoo/gpt2", {"pipe": 2, "data": 2}, {"micro": 2, "checkpoint": True, "accumulate": 2}),
    ("transformer_loss", {"data": 2, "pipe": 2}, {"micro": 2, "zero": 2}),
    ("transformer", {"pipe": 2, "model": 2}, {"micro": 2}),
    ("zoo/gpt2", {"model": 2, "pipe": 2}, {"micro": 4, "zero": 0}),
    ("zoo/decoder/decoder", {"pipe": 2, "context": 2}, {"micro": 2}),
]


def check(world: int, cases: list[dict[str, Any]]) -> None:
    for found in processes.run(world, cases, 600.0):
        off = {what: found[what] for what in ("loss", "gradients", "norm", "weights")}
        assert max(off.values()) < 1e-10, (found["case"], off)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_pipelines(world: int) -> None:
    cases = []
    for seed, (name, mesh, more) in enumerate(CASES):
        splits = {"data": BATCH, "model": KINDS[name][1], "context": KINDS[name][2]}
        size = 1
        for count in mesh.values():
            size *= count
        if size == world:
            used = {axis: splits[axis] for axis in mesh if axis != "pipe"}
            cases.append({"name": name, "mesh": mesh, "splits": used, "seed": seed, **more})
    check(world, cases)


@pytest.mark.slow
def test_stages_of_parts() -> None:
    mesh = {"pipe": 2, "data": 2, "model": 2}
    check(8, [{"name": "transformer", "mesh": mesh, "splits": DENSE, "seed": 9, "micro": 2}])
