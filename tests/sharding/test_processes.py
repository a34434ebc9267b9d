"""Divided models as processes over gloo: losses, gradients and weights after ten steps are those of one device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import processes, training
from .pairs import pairs, told, worst
from .subjects import KINDS

BATCH = ("batch",)


def right(found: dict[str, Any]) -> None:
    """Equal to one device, and what was sent is what the plan says."""
    off = {what: found[what] for what in ("loss", "gradients", "norm", "weights")}
    assert max(off.values()) < 1e-10, (found["case"], off)
    assert not found["sent"], (found["case"], found["sent"])


def net(name: str, mesh: dict[str, int], **options: Any) -> dict[str, Any]:
    """One of several nets that take turns in a process."""
    known = {"data": BATCH, "expert": ("batch", "expert")}
    if name in KINDS:
        _, known["model"], known["context"] = KINDS[name]
    splits = {axis: known[axis] for axis in mesh if axis != "pipe"}
    return {"name": name, "mesh": mesh, "splits": splits, "seed": len(options), "options": options}


def took_turns(found: dict[str, Any]) -> None:
    """Each has given, to the bit, what it gives alone."""
    assert not found["other"] and min(found["given"]) > 10, found


def test_two_processes(tmp_path: Path) -> None:
    """One net beside the whole; two that take turns; and examples/gpt/train.py, with which one process goes on."""
    pytest.importorskip("rich", reason='the examples need rich: pip install ".[demo]"')
    name = "zoo/decoder/decoder"
    nets = [net(name, {"data": 1, "model": 2}, zero=0), net(name, {"data": 2, "model": 1}, zero=0)]
    case = {"name": name, "mesh": {"model": 2}, "splits": {"model": KINDS[name][1]}, "seed": 0, "steps": 2}
    training.texts(tmp_path / "library")
    one, several, trained = processes.run(2, [case, {"turns": nets}, {"trained": str(tmp_path)}])
    right(one)
    took_turns(several)
    wanted, found = trained["losses"], training.gone_on_with(tmp_path)
    assert found[: training.KEPT] == wanted[: training.KEPT]
    assert max(abs(a - b) / a for a, b in zip(wanted, found, strict=True)) < 1e-10


@pytest.mark.slow
def test_nets_of_two_processes() -> None:
    """Two nets on two meshes of the same devices; a ring, experts, stages and passes done again beside them."""
    gpt, decoder = "zoo/gpt2", "zoo/decoder/decoder"
    nets = [
        net(gpt, {"data": 1, "model": 2}),
        net(gpt, {"data": 2, "model": 1}, zero=0),
        net(gpt, {"data": 2}, checkpoint=True),
        net(decoder, {"context": 2}, zero=0),
        net("zoo/mixtral", {"expert": 2}, zero=0) | {"decodes": True},
        net(gpt, {"pipe": 2}),
        net(gpt, {"model": 2}, checkpoint=True) | {"decodes": True},
    ]
    took_turns(*processes.run(2, [{"turns": nets}]))


@pytest.mark.slow
def test_nets_of_four_processes() -> None:
    """The same names, with other devices along them."""
    gpt, decoder = "zoo/gpt2", "zoo/decoder/decoder"
    nets = [
        net(gpt, {"data": 2, "model": 2}) | {"decodes": True},
        net(gpt, {"model": 2, "data": 2}, zero=0, checkpoint=True) | {"decodes": True},
        net(decoder, {"context": 2, "data": 2}),
        net(decoder, {"data": 2, "context": 2}, checkpoint=True),
        net("zoo/mixtral", {"expert": 2, "model": 2}, zero=0) | {"decodes": True},
        net("zoo/mixtral", {"model": 2, "expert": 2}, zero=0) | {"decodes": True},
        net("balanced", {"pipe": 2, "expert": 2}),
        net("balanced", {"expert": 2, "pipe": 2}, checkpoint=True),
        net(gpt, {"pipe": 2, "data": 2}),
    ]
    took_turns(*processes.run(4, [{"turns": nets}]))


DENSE = {"data": BATCH, "model": ("heads", "inner", "vocab")}
KNOWN = [
    {"name": "transformer_loss", "mesh": {"data": 2, "model": 2}, "splits": DENSE, "seed": 1, "zero": 2},
    {"name": "zoo/gpt2", "mesh": {"data": 2, "model": 2}, "splits": DENSE, "seed": 2, "zero": 0, "accumulate": 2},
    {
        "name": "zoo/decoder/decoder",
        "mesh": {"data": 2, "context": 2},
        "splits": {"data": BATCH, "context": ("seq",)},
        "seed": 3,
        "checkpoint": True,
    },
    {"name": "zoo/gpt2", "mesh": {"data": 2, "model": 2}, "splits": DENSE, "seed": 6, "zero": 0, "empty": True},
    {"name": "transformer", "mesh": {"data": 2, "model": 2}, "splits": DENSE, "seed": 7, "empty": True},
    {"name": "zoo/vit", "mesh": {"data": 4}, "splits": {"data": BATCH}, "seed": 4, "accumulate": 2},
]


@pytest.mark.slow
def test_four_processes() -> None:
    """Each way of scattering, passes done again, gradients of several rounds, norms by parts, padded batches."""
    for found in processes.run(4, KNOWN, 300.0):
        right(found)


@pytest.mark.slow
def test_dropout() -> None:
    meshes = ({"data": 2, "model": 2}, {"model": 4})
    cases: list[dict[str, Any]] = [
        {"name": name, "mesh": mesh, "splits": {axis: DENSE[axis] for axis in mesh}, "seed": 5, "dropped": True}
        for name in ("transformer", "zoo/gpt2")
        for mesh in meshes
    ]
    for found in processes.run(4, cases, 300.0):
        assert found["apart"] == 0.0 and found["again"] < 1e-12, found


@pytest.mark.slow
@pytest.mark.parametrize(("world", "count"), [(2, 70), (4, 70), (8, 60)])
def test_random_meshes(world: int, count: int) -> None:
    """Pairs of model and mesh, each kind of parallelism alone and with each other (`pytest -s` prints a line for each).

    A pool of processes does twenty: each group of devices has threads that stay, and PyTorch's caches name groups that
    are gone. Behind a failure a new one goes on, and all are told in the end.
    """
    todo, wrong = pairs(world, count), list[str]()
    while todo:
        for found in processes.each_found(world, todo[:20], 600.0):
            todo = [case for case in todo if case["seed"] != found["case"]["seed"]]
            print(told(found), json.dumps(found), sep="\n", flush=True)
            if "failed" in found or found.get("sent") or not worst(found) < 1e-10:
                wrong.append(f"{told(found)}\n{found.get('failed', '')}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_16384_devices() -> None:
    """Shards and collectives of a large mesh are those of the plan, without memory."""
    command = [sys.executable, "-m", "tests.sharding.large"]
    ran = subprocess.run(command, cwd=processes.ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout)
    assert found["items"] == found["planned"] > 1e9 and found["calls"] > 10 and not found["other"], found
