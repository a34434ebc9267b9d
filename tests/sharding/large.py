"""Llama 405B's widths on 16,384 devices, this process one of them, without memory: `python -m tests.sharding.large`.

Prints the items of all weights on all devices, what the plan says, and what was sent and planned otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

import attnc

from .sent import Sent
from .subjects import EXAMPLES

SIZES = {"layers": 2, "model": 16384, "inner": 53248, "groups": 8, "sharing": 16}
MESH = {"data": 128, "context": 16, "model": 8}
SPLITS = {"data": ["batch"], "context": ["seq"], "model": ["groups", "inner", "vocab"]}
WIDTH = 8192


def main() -> None:
    dist.init_process_group("cpu:fake,meta:fake", rank=5, world_size=16384, store=FakeStore())
    mesh = init_device_mesh("cpu", tuple(MESH.values()), mesh_dim_names=tuple(MESH))
    model = attnc.load(EXAMPLES / "zoo/llama.attn", sizes=SIZES).model("llama")
    plan = model.plan(MESH, {"seq": WIDTH}, splits=SPLITS, batch=128, dtype="bfloat16")
    scattered = model.parallelize(mesh, splits=SPLITS, seed=None, dtype="bfloat16")
    items = sum(weight.to_local().numel() for weight in scattered.parameters()) * MESH["data"] * MESH["context"]
    net: Any = model.parallelize(mesh, splits=SPLITS, seed=None, dtype="bfloat16", zero=0)
    with Sent() as sent:
        net(torch.zeros(1, WIDTH, dtype=torch.long, device="meta")).float().sum().backward()
    said: Counter[tuple[str, int]] = Counter()
    for one in plan.sent:
        said[one.means.value, plan.bytes_of(one.given)] += one.times
    other = [*(said - sent.calls).items(), *(sent.calls - said).items()]
    print(json.dumps({"items": items, "planned": plan.parameters, "calls": sum(said.values()), "other": other}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
