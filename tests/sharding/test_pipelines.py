"""Steps in micro-batches over gloo, with stages and without: losses, gradients, their norm and weights after steps of
AdamW are those of one device, and what is sent and received is what the plan says.
"""

from __future__ import annotations

import math
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
    ("zoo/gpt2", {"data": 2}, {"micro": 2, "accumulate": 2, "zero": 2, "checkpoint": True}),
    ("zoo/gpt2", {"data": 2}, {"micro": 2, "accumulate": 2, "zero": 0}),
    ("zoo/gpt2", {"model": 2}, {"micro": 4, "zero": 0}),
    ("transformer_loss", {"pipe": 4}, {"micro": 4, "steps": 10}),
    ("transformer", {"pipe": 4}, {"micro": 2}),
    ("zoo/gpt2", {"pipe": 2, "data": 2}, {"micro": 2, "checkpoint": True, "accumulate": 2}),
    ("transformer_loss", {"data": 2, "pipe": 2}, {"micro": 2, "zero": 2}),
    ("zoo/gpt2", {"pipe": 2, "data": 2}, {"micro": 2, "zero": 0, "accumulate": 2}),
    ("transformer", {"pipe": 2, "model": 2}, {"micro": 2}),
    ("zoo/gpt2", {"model": 2, "pipe": 2}, {"micro": 4, "zero": 0}),
    ("zoo/decoder/decoder", {"pipe": 2, "context": 2}, {"micro": 2}),
    ("balanced", {"pipe": 2}, {"micro": 4, "checkpoint": True, "steps": 10}),
    ("balanced", {"expert": 2, "pipe": 2}, {"micro": 2, "steps": 10}),
    ("zoo/mixtral", {"pipe": 2, "expert": 2}, {"micro": 1, "zero": 0, "steps": 10}),
]
FLOAT64 = {"dtype": "float64"}
UNPIPED: list[tuple[str, dict[str, int], int, dict[str, Any]]] = [
    ("balanced", {"pipe": 2}, 2, FLOAT64),
    ("transformer_loss", {"pipe": 2}, 4, {**FLOAT64, "checkpoint": True}),
    ("zoo/gpt2", {"pipe": 2, "data": 2}, 2, FLOAT64),
    ("balanced", {"pipe": 2, "expert": 2}, 2, {**FLOAT64, "checkpoint": True}),
    ("zoo/gpt2", {"pipe": 2, "data": 2}, 2, {**FLOAT64, "computed_in": "float32"}),
]
"""Model, mesh, micro-batches, options: what trains with dropout, and computes in another precision."""


def check(world: int, cases: list[dict[str, Any]]) -> None:
    for found in processes.run(world, cases, 600.0):
        off = {what: found[what] for what in ("loss", "gradients", "norm", "weights")}
        assert max(off.values()) < 1e-10, (found["case"], off)
        assert not found["sent"], (found["case"], found["sent"])


def splits_of(name: str, mesh: dict[str, int]) -> dict[str, tuple[str, ...]]:
    _, depths, widths = KINDS.get(name, ({}, (), ()))
    splits = {"data": BATCH, "model": depths, "context": widths, "expert": ("batch", "expert")}
    return {axis: splits[axis] for axis in mesh if axis != "pipe"}


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_pipelines(world: int) -> None:
    cases = []
    for seed, (name, mesh, more) in enumerate(CASES):
        if math.prod(mesh.values()) == world:
            used = splits_of(name, mesh)
            cases.append({"name": name, "mesh": mesh, "splits": used, "seed": seed, **more})
    check(world, cases)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 4])
def test_stages_train_as_the_mesh_without_them(world: int) -> None:
    """Micro-batch by micro-batch dropout leaves out the same."""
    cases = [
        {"name": name, "mesh": mesh, "splits": splits_of(name, mesh), "seed": seed, "unpiped": True, "micro": micro,
         "options": options}
        for seed, (name, mesh, micro, options) in enumerate(UNPIPED)
        if math.prod(mesh.values()) == world
    ]  # fmt: skip
    for found in processes.run(world, cases, 600.0):
        near = 1e-5 if "computed_in" in found["case"]["options"] else 1e-10
        off = {what: found[what] for what in ("loss", "gradients", "norm", "weights")}
        assert max(off.values()) < near, (found["case"], off)


@pytest.mark.slow
def test_stages_of_parts() -> None:
    mesh = {"pipe": 2, "data": 2, "model": 2}
    check(8, [{"name": "transformer", "mesh": mesh, "splits": DENSE, "seed": 9, "micro": 2}])
