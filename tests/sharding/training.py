"""Steps of examples/gpt/train.py: by the processes of a pool, and gone on with by one process, on another mesh."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from .subjects import EXAMPLES

STEPS, KEPT = 5, 3  # the last step, and that of the checkpoint
MESH = {"data": 2}


def texts(folder: Path) -> Path:
    """A little library: that of Python takes seconds to read."""
    folder.mkdir()
    for number in range(11):
        said = " ".join(f"{number * k % 97} times {k} leaves {number * k % 13}." for k in range(9))
        (folder / f"module{number:02}.py").write_text(f'"""Of the number {number}. {said}"""\n', encoding="utf-8")
    return folder


def command(folder: Path) -> list[str]:
    sizes = {"drop": 0, "layers": 1, "model": 16, "inner": 16, "groups": 2}
    return [
        f"--out={folder / 'out'}", f"--library={folder / 'library'}", "--dtype=float64", f"--steps={STEPS}",
        f"--every={KEPT}", "--batch=4", "--width=16", *(f"--set={name}={size}" for name, size in sizes.items()),
    ]  # fmt: skip


def losses(folder: Path) -> list[float]:
    """Of each step."""
    lines = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    return [line["loss"] for line in lines]


def trained(case: dict[str, Any]) -> dict[str, Any]:
    """By all processes of a pool: the losses."""
    train = _script()
    folder, mesh = Path(case["trained"]), init_device_mesh("cpu", tuple(MESH.values()), mesh_dim_names=tuple(MESH))
    ranks = train.Ranks(dist.HashStore(), dist.get_rank(), dist.get_world_size())
    with mock.patch.object(train.Log, "plot", return_value=False):  # to import matplotlib takes a second
        assert train.Run(train.parsed(command(folder)), ranks, mesh).train() == 0
    return {"losses": losses(folder) if dist.get_rank() == 0 else []}


def gone_on_with(folder: Path) -> list[float]:
    """By this process, after the first checkpoint: the losses."""
    train = _script()
    shutil.rmtree(folder / "out" / "checkpoints" / f"step-{STEPS:08}")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with mock.patch.object(train.Log, "plot", return_value=False):
            assert train.main([*command(folder), "--resume"]) == 0
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return losses(folder)


def _script() -> Any:
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    from gpt import train

    return train
