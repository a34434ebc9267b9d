"""How much memory a device needs while its weights are made: `python -m tests.sharding.drawing FOLDER`.

A model of some 1,000 MB on eight devices, this process one of them, which send nothing. Prints its own part, the peaks
while it is drawn, and while it is read from safetensors files in the folder, in bytes; the same of a stage; and what is
not as in the whole.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

import attnc
from attnc.backends.loading.init import initial
from attnc.spec import Model, Size
from attnc.weights.files import save_parts

from .subjects import EXAMPLES

SMALL: dict[str, Size] = {
    "layers": 2, "model": 64, "inner": 128, "vocab": 128, "groups": 4, "sharing": 2, "key": 8
}  # fmt: skip
LARGE: dict[str, Size] = {
    "layers": 10, "model": 1280, "inner": 3456, "vocab": 25600, "groups": 4, "sharing": 4, "key": 80
}  # fmt: skip
MESH = {"data": 2, "model": 4}
SPLITS = {"data": ("batch",), "model": ("groups", "inner", "vocab")}
RANK = 6  # the second of two copies, in that the third of four parts


def of_sizes(sizes: dict[str, Size]) -> Model:
    return attnc.load(EXAMPLES / "zoo/decoder/decoder.attn", sizes=sizes).model("decoder")


def peak(make: Callable[[], Any]) -> tuple[Any, int]:
    """What is made, and the most memory that this process had meanwhile beyond what it began with, in bytes."""
    ctypes.CDLL(None).malloc_trim(0)  # what is free already is no room for it
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _status("VmRSS")
    made = make()
    return made, _status("VmHWM") - before


def _status(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))


def own_part(net: torch.nn.Module) -> int:
    """Bytes of the weights that this device has."""
    return sum(weight.to_local().nbytes for weight in net.parameters() if isinstance(weight, DTensor))


def other(net: torch.nn.Module, of: Model, mesh: DeviceMesh) -> list[str]:
    """Weights of which this device has something else than its part of what one process draws."""
    found = []
    for path, weight in net.named_parameters():
        assert isinstance(weight, DTensor)
        whole = torch.from_numpy(initial(of.weights[path], 3)).float()
        for axis in ("model", "data"):  # those of FSDP are parts of parts
            placement = weight.placements[(weight.device_mesh.mesh_dim_names or ()).index(axis)]
            if not placement.is_replicate():
                dim: int = placement.dim  # type: ignore[attr-defined]
                whole = whole.chunk(mesh[axis].size(), dim)[mesh.get_local_rank(axis)]
        found += [] if torch.equal(weight.to_local(), whole) else [path]
    return found


def written(of: Model, folder: Path) -> Path:
    """Files of the weights that one process draws."""

    def parts() -> Iterator[dict[str, Any]]:
        for path, spec in of.weights.items():
            yield {path: initial(spec, 3).astype(np.float32)}

    save_parts(folder, "model", parts())
    return folder / "model.safetensors.index.json"


def main(folder: str) -> None:
    dist.init_process_group("fake", rank=RANK, world_size=8, store=FakeStore())
    mesh = init_device_mesh("cpu", tuple(MESH.values()), mesh_dim_names=tuple(MESH))
    small, large = of_sizes(SMALL), of_sizes(LARGE)
    small.parallelize(mesh, splits=SPLITS)  # what is imported is no memory of weights
    net, drawn = peak(lambda: large.parallelize(mesh, splits=SPLITS, seed=3))
    own = own_part(net)
    wrong = other(net, large, mesh)
    del net
    weights = attnc.weights.load(written(large, Path(folder)))
    net, read = peak(lambda: large.parallelize(mesh, splits=SPLITS, weights=weights))
    wrong += other(net, large, mesh)
    del net
    stages = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pipe", "data", "model"))
    small.parallelize(stages, splits=SPLITS)
    net, stage = peak(lambda: large.parallelize(stages, splits=SPLITS, seed=3))
    wrong += other(net, large, stages)
    of_stage = own_part(net)
    sizes = [4 * int(np.prod(spec.shape)) for spec in large.weights.values()]
    told = {"whole": sum(sizes), "largest": max(sizes), "own": own, "drawn": drawn, "read": read}
    print(json.dumps({**told, "own_of_stage": of_stage, "stage": stage, "other": wrong}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
