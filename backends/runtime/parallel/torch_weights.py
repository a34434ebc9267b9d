"""The weights of a model on a mesh: where each lies, and the part of it that a device makes or reads."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Placement, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

BLOCK = 1 << 22  # items that are drawn at once


@dataclass(frozen=True)
class Lies:
    """Where a weight lies on a mesh.

    split:  for an axis of the mesh the dimension that it splits; or that, and of how many blocks of it each is split.
    summed: axes of the mesh whose devices each have the gradient of their part of the work alone.
    drawn:  how it begins: ("fill", value), ("normal", mean, deviation) or ("uniform", least, largest).
    """

    split: Mapping[str, int | tuple[int, int]] = field(default_factory=dict)
    summed: tuple[str, ...] = ()
    drawn: tuple[Any, ...] = ("fill", 0.0)

    def dimension(self, axis: str) -> tuple[int, int] | None:
        """The dimension that an axis of the mesh splits, and in how many blocks; None: each device has all of it."""
        found = self.split.get(axis)
        return (found, 1) if isinstance(found, int) else found

    def placement(self, axis: str) -> Placement:
        found = self.dimension(axis)
        if found is None:
            return Replicate()
        dim, blocks = found
        return Shard(dim) if blocks == 1 else _StridedShard(dim, split_factor=blocks)

    def gradient(self, axis: str) -> Placement:
        return Partial() if axis in self.summed else self.placement(axis)

    def part(self, x: Tensor, mesh: DeviceMesh, but: int | None = None) -> Tensor:
        """What this device has of a tensor with the dimensions of the weight. but: a dimension that stays whole."""
        for axis in mesh.mesh_dim_names or ():
            found = self.dimension(axis)
            if found is not None and found[0] != but:
                dim, blocks = found
                group = mesh.get_group(axis)
                parts = x.reshape(*x.shape[:dim], blocks, -1, *x.shape[dim + 1 :]).chunk(
                    dist.get_world_size(group), dim + 1
                )
                x = parts[dist.get_rank(group)].flatten(dim, dim + 1)
        return x

    def whole(self, shape: Sequence[int], mesh: DeviceMesh) -> tuple[int, ...]:
        """The shape of the whole weight, where that of a part is known."""
        found = list(shape)
        for axis in mesh.mesh_dim_names or ():
            split = self.dimension(axis)
            if split is not None:
                found[split[0]] *= mesh.size((mesh.mesh_dim_names or ()).index(axis))
        return tuple(found)


Values = Callable[[str, Lies, tuple[int, ...]], Tensor]
"""Gives of a weight (its path, where it lies, the shape of the whole) the part of this device."""
Rows = Callable[[int, int], Tensor]
"""Gives of a weight so many rows, from the first of them on."""


def parts_by_rows(mesh: DeviceMesh, rows: Callable[[str, Lies, tuple[int, ...]], Rows]) -> Values:
    """Parts of weights that are made some rows at a time: those of which a device has something."""

    def value(path: str, lies: Lies, shape: tuple[int, ...]) -> Tensor:
        give = rows(path, lies, shape)
        if not shape:
            return give(0, 1).reshape(())
        every = torch.arange(shape[0]).reshape(-1, *(1 for _ in shape[1:])).expand(shape)
        own = lies.part(every, mesh)
        wanted = own.reshape(own.shape[0], -1)[:, 0] if own.numel() else own.new_empty(0)
        step = max(BLOCK // max(math.prod(shape[1:]), 1), 1)
        found = torch.empty(own.shape, dtype=torch.float64)
        ahead = 0
        for first in sorted({int(each) // step * step for each in wanted.tolist()}):
            block = give(first, min(step, shape[0] - first))
            mine = wanted[(wanted >= first) & (wanted < first + step)] - first
            made = lies.part(block[mine], mesh, but=0)
            found[ahead : ahead + len(mine)] = made
            ahead += len(mine)
        return found

    return value


def drawn_parts(mesh: DeviceMesh, seed: int) -> Values:
    """Weights drawn by seed and path alone, the same on all meshes."""

    def rows(path: str, lies: Lies, shape: tuple[int, ...]) -> Rows:
        def give(first: int, count: int) -> Tensor:
            key = hashlib.sha256(f"{seed}\n{path}\n{first}".encode()).digest()
            draw = torch.Generator().manual_seed(int.from_bytes(key[:7], "little"))
            block = torch.empty(count, *shape[1:], dtype=torch.float64)
            match lies.drawn:
                case "fill", value:
                    return block.fill_(value)
                case "normal", mean, deviation:
                    return block.normal_(mean, deviation, generator=draw)
                case _, least, largest:
                    return block.uniform_(least, largest, generator=draw)
            raise AssertionError("there are three laws")

        return give

    return parts_by_rows(mesh, rows)


def parts_of(weights: Mapping[str, Tensor], mesh: DeviceMesh) -> Values:
    """Parts of weights that are there."""

    def value(path: str, lies: Lies, shape: tuple[int, ...]) -> Tensor:
        return lies.part(weights[path], mesh)

    return value
