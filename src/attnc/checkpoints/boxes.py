"""The boxes that a rank has of a tensor, as PyTorch's planner asks for them.

PyTorch takes the part that a rank has for one box, which is wrong where a mesh axis splits each of several blocks of a
dimension (`_StridedShard`), as where the heads within each group are split: that part is several boxes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType
from torch.distributed.tensor import DTensor

from .problem import CheckpointError


@dataclass(frozen=True, slots=True)
class Boxes:
    """A tensor of a shape, of which this rank has some boxes: by their offsets, in memory of its own."""

    shape: torch.Size
    dtype: torch.dtype
    parts: dict[tuple[int, ...], Tensor]

    def size(self) -> torch.Size:
        return self.shape

    def part(self, index: MetadataIndex) -> Tensor:
        return self.parts[tuple(index.offset or ())]

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        return [ChunkStorageMetadata(torch.Size(offsets), part.shape) for offsets, part in self.parts.items()]

    def __create_write_items__(self, name: str, _: object) -> list[WriteItem]:
        properties = TensorProperties(dtype=self.dtype)
        return [
            WriteItem(
                MetadataIndex(name, chunk.offsets),
                WriteItemType.SHARD,
                tensor_data=TensorWriteData(chunk, properties, self.shape),
            )
            for chunk in self.__create_chunk_list__()
        ]


def boxes(tensor: Tensor, held: Callable[[Tensor], Tensor] = Tensor.detach) -> Boxes:
    """What this rank has. held: of that, what is put into boxes: itself, to be written to, or a copy.

    Raises CheckpointError for a DTensor whose ranks hold parts of sums.
    """
    own = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    places = _places(tensor) if isinstance(tensor, DTensor) else [range(size) for size in tensor.shape]
    if [len(place) for place in places] != list(own.shape):
        raise CheckpointError(f"a tensor {list(tensor.shape)} lies in a way that checkpoints do not know")
    own, parts = held(own.detach()), {}
    if 0 in tensor.shape:
        parts[(0,) * tensor.ndim] = own  # there is nothing in it, but it is there
    for box in itertools.product(*map(_runs, places)):
        offsets = tuple(places[dim][start] for dim, (start, _) in enumerate(box))
        parts[offsets] = own[tuple(slice(start, stop) for start, stop in box)]
    return Boxes(tensor.shape, tensor.dtype, parts)


def _places(tensor: DTensor) -> list[Sequence[int]]:
    """Of each dimension the places in the whole tensor that this rank has. A rank outside of the mesh has none."""
    mesh = tensor.device_mesh
    coordinate = mesh.get_coordinate()
    places = [torch.arange(size if coordinate is not None else 0) for size in tensor.shape]
    for axis, placement in enumerate(tensor.placements):
        if placement.is_partial():
            raise CheckpointError(f"a tensor {list(tensor.shape)} is in parts of sums: its ranks have to add them")
        dim = getattr(placement, "dim", None)
        if dim is None or coordinate is None:
            continue
        blocks = places[dim].chunk(int(getattr(placement, "split_factor", 1)))
        chosen = [block.chunk(mesh.size(axis))[coordinate[axis] :][:1] for block in blocks]
        places[dim] = torch.cat([places[dim][:0], *itertools.chain(*chosen)])
    return [place.tolist() for place in places]


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Where they go on one by one, as (first, after the last): of [0, 1, 4, 5] (0, 2) and (2, 4)."""
    if isinstance(places, range):
        return [(0, len(places))] if places else []
    breaks = [n for n in range(1, len(places)) if places[n] != places[n - 1] + 1]
    return list(itertools.pairwise([0, *breaks, len(places)])) if places else []
