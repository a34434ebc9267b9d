"""The weights of a model on a mesh: where each lies, and the part of it that a device makes or reads."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Placement, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

BLOCK = 1 << 20  # items of a weight that are made at once


class DimensionRun(NamedTuple):
    """Items of a dimension, one behind the other. there: the first of them in the whole weight; here: in a part."""

    there: int
    here: int
    size: int


Box = tuple[slice, ...]


@dataclass(frozen=True)
class Own:
    """What a device has of a weight. shape: of the whole; runs: what it has of each dimension."""

    shape: tuple[int, ...]
    runs: tuple[tuple[DimensionRun, ...], ...]

    def boxes(self) -> Iterator[tuple[Box, Box]]:
        """Where each piece lies in the whole weight, and where in the part."""
        for runs in itertools.product(*self.runs):
            there = tuple(slice(run.there, run.there + run.size) for run in runs)
            yield there, tuple(slice(run.here, run.here + run.size) for run in runs)

    def within(self, block: Sequence[tuple[int, int]]) -> Own:
        """What lies in a block of the weight, as a part of that. block: of each dimension from where to where."""
        found = []
        for runs, (low, high) in zip(self.runs, block, strict=True):
            cut = [(run, max(run.there, low), min(run.there + run.size, high)) for run in runs]
            found.append(tuple(DimensionRun(a - low, run.here + a - run.there, b - a) for run, a, b in cut if a < b))
        return Own(tuple(high - low for low, high in block), tuple(found))


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

    def own(self, shape: Sequence[int], mesh: DeviceMesh, scattered: tuple[int, DeviceMesh] | None = None) -> Own:
        """What this device has of a weight. scattered: a dimension, and over which devices that is, too."""
        runs: list[tuple[DimensionRun, ...]] = [(DimensionRun(0, 0, size),) for size in shape]
        for number, axis in enumerate(mesh.mesh_dim_names or ()):
            found = self.dimension(axis)
            if found is not None:
                dim, blocks = found
                runs[dim] = _piece(runs[dim], blocks, mesh.size(number), mesh.get_local_rank(number))
        if scattered is not None:
            dim, over = scattered
            runs[dim] = _piece(runs[dim], 1, over.size(), over.get_local_rank())
        return Own(tuple(shape), tuple(runs))

    def whole(self, shape: Sequence[int], mesh: DeviceMesh) -> tuple[int, ...]:
        """The shape of the whole weight, where that of a part is known."""
        found = list(shape)
        for axis in mesh.mesh_dim_names or ():
            split = self.dimension(axis)
            if split is not None:
                found[split[0]] *= mesh.size((mesh.mesh_dim_names or ()).index(axis))
        return tuple(found)


def _piece(runs: Sequence[DimensionRun], blocks: int, parts: int, number: int) -> tuple[DimensionRun, ...]:
    """Of each block of what there is along a dimension the part with this number, as `chunk` has it."""
    block = sum(run.size for run in runs) // blocks
    size = -(-block // parts)
    found: list[DimensionRun] = []
    for start in range(0, blocks * block, max(block, 1)):
        low, high = start + min(number * size, block), start + min((number + 1) * size, block)
        for run in runs:
            first, last = max(low, run.here), min(high, run.here + run.size)
            if first < last:
                found.append(DimensionRun(run.there + first - run.here, sum(each.size for each in found), last - first))
    return tuple(found)


def weight_blocks(shape: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """A weight in blocks, one behind the other as it lies in memory: of each dimension from where to where."""
    if not shape:
        yield ()
        return
    dim = next(dim for dim in range(len(shape)) if math.prod(shape[dim + 1 :]) <= BLOCK)
    step = max(BLOCK // max(math.prod(shape[dim + 1 :]), 1), 1)
    for outer in itertools.product(*(range(size) for size in shape[:dim])):
        for first in range(0, shape[dim], step):
            last = min(first + step, shape[dim])
            yield (*((each, each + 1) for each in outer), (first, last), *((0, size) for size in shape[dim + 1 :]))


Fill = Callable[[str, Lies, Own, Tensor], None]
"""Fills the part of a weight that this device has: its path, where it lies, which part it is, and room for that."""
Items = Callable[[int, int], Tensor]
"""Gives of a weight so many items, as they lie in memory, from the first of them on: each time from behind the last."""


def filled_by(items: Callable[[str, Lies, tuple[int, ...]], Items]) -> Fill:
    """Weights that are made block by block: of these one at a time is there, and none of which a device has nothing."""

    def fill(path: str, lies: Lies, own: Own, part: Tensor) -> None:
        give, ahead = items(path, lies, own.shape), 0
        for block in weight_blocks(own.shape):
            shape = [high - low for low, high in block]
            mine = own.within(block)
            if all(mine.runs):
                made = give(ahead, math.prod(shape)).reshape(shape)
                for there, here in mine.boxes():
                    part[here].copy_(made[there])
            ahead += math.prod(shape)

    return fill


def drawn(seed: int) -> Fill:
    """Weights drawn by seed and path alone, the same on all meshes."""

    def items(path: str, lies: Lies, shape: tuple[int, ...]) -> Items:
        def give(first: int, count: int) -> Tensor:
            key = hashlib.sha256(f"{seed}\n{path}\n{first}".encode()).digest()
            draw = torch.Generator().manual_seed(int.from_bytes(key[:7], "little"))
            block = torch.empty(count, dtype=torch.float64)
            match lies.drawn:
                case "fill", value:
                    return block.fill_(value)
                case "normal", mean, deviation:
                    return block.normal_(mean, deviation, generator=draw)
                case _, least, largest:
                    return block.uniform_(least, largest, generator=draw)
            raise AssertionError("there are three laws")

        return give

    return filled_by(items)


def filled_from(weights: Mapping[str, Tensor]) -> Fill:
    """Weights that are there."""

    def fill(path: str, lies: Lies, own: Own, part: Tensor) -> None:
        for there, here in own.boxes():
            part[here].copy_(weights[path][there])

    return fill
