"""`index.json` of a checkpoint: which part of which tensor is in which file, as data; and PyTorch's form of it.

    {"crc32": 2774306061, "content": {
        "format": "attnc checkpoint 1", "step": 120, "told": {"seed": 0},
        "files": {"rank-00000.safetensors": {"bytes": 4096, "crc32": 911233461}},
        "tensors": {"model.E": {"dtype": "float32", "shape": [97, 8], "chunks": [
            {"file": "rank-00000.safetensors", "offsets": [0, 0], "shape": [49, 8]}, ...]}}}}

In its file a chunk has the name of its tensor, behind which `@49,0` are its offsets if it is not the first. The sums
tell a file that was cut short, or changed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

from ..dsl.nested import from_json
from .problem import CheckpointError

FILE = "index.json"
_FORMAT = "attnc checkpoint 1"
_PIECE = 1 << 24  # bytes read at once for a sum


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A box of a tensor: where it begins along each dimension, and its size."""

    file: str
    offsets: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredTensor:
    dtype: str
    shape: tuple[int, ...]  # of the whole
    chunks: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True)
class StoredFile:
    bytes: int
    crc32: int


@dataclass(frozen=True, slots=True)
class CheckpointIndex:
    """All but the numbers. `told` are plain values of the run's own, as JSON has them."""

    step: int
    told: Mapping[str, Any]
    files: Mapping[str, StoredFile]
    tensors: Mapping[str, StoredTensor]

    def write(self, folder: Path) -> None:
        told = {"format": _FORMAT, **asdict(self)}
        (folder / FILE).write_text(json.dumps({"crc32": _sum_of(told), "content": told}) + "\n", encoding="utf-8")

    def metadata(self) -> Metadata:
        """As PyTorch's planner reads it; `storage_data` has the file of each chunk."""
        tensors = {
            name: TensorStorageMetadata(
                TensorProperties(dtype=getattr(torch, stored.dtype)),
                torch.Size(stored.shape),
                [ChunkStorageMetadata(torch.Size(one.offsets), torch.Size(one.shape)) for one in stored.chunks],
            )
            for name, stored in self.tensors.items()
        }
        places = {
            MetadataIndex(name, chunk.offsets): chunk.file
            for name, stored in self.tensors.items()
            for chunk in stored.chunks
        }
        return Metadata(dict(tensors), storage_data=places)

    def damage(self, folder: Path, names: Iterable[str]) -> str | None:
        """What is wrong with the first of these files that is not as it was written."""
        for name in names:
            stored = self.files[name]
            try:
                size = (folder / name).stat().st_size
                if size != stored.bytes:
                    return f"{name} has {size:,} of {stored.bytes:,} bytes"
                if crc32(folder / name) != stored.crc32:
                    return f"{name} is not what was written"
            except OSError as error:
                return f"{name}: {error.strerror}"
        return None


def read_index(folder: Path) -> CheckpointIndex:
    """Raises CheckpointError if it is not there, damaged, or of a later version."""
    try:
        held = from_json((folder / FILE).read_bytes())
        told = held["content"]
        if held["crc32"] != _sum_of(told):
            raise CheckpointError(f"{FILE} is not what was written")
        if told["format"] != _FORMAT:
            raise CheckpointError(f"{FILE} is of another version: {told['format']}")
        return CheckpointIndex(
            told["step"],
            told["told"],
            {name: StoredFile(**file) for name, file in told["files"].items()},
            {name: _tensor(**tensor) for name, tensor in told["tensors"].items()},
        )
    except OSError as error:
        raise CheckpointError(f"{FILE}: {error.strerror}") from None
    except CheckpointError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError):
        raise CheckpointError(f"{FILE} is not what was written") from None


def stored_tensors(metadata: Metadata, places: Mapping[MetadataIndex, str]) -> dict[str, StoredTensor]:
    """Of PyTorch's plan. Chunks of nothing, of ranks that have no part of a tensor, are left out."""
    return {
        name: StoredTensor(
            str(stored.properties.dtype).removeprefix("torch."),
            tuple(stored.size),
            tuple(
                StoredChunk(places[MetadataIndex(name, chunk.offsets)], tuple(chunk.offsets), tuple(chunk.sizes))
                for chunk in stored.chunks
                if 0 not in chunk.sizes or 0 in stored.size
            ),
        )
        for name, stored in metadata.state_dict_metadata.items()
        if isinstance(stored, TensorStorageMetadata)
    }


def key_of(index: MetadataIndex) -> str:
    """The name of a chunk in its file."""
    offsets = index.offset or ()
    return f"{index.fqn}@{','.join(map(str, offsets))}" if any(offsets) else index.fqn


def crc32(path: Path) -> int:
    """Of the bytes of a file."""
    total = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            total = zlib.crc32(piece, total)
    return total


def _tensor(dtype: str, shape: list[int], chunks: list[dict[str, Any]]) -> StoredTensor:
    parts = (StoredChunk(part["file"], tuple(part["offsets"]), tuple(part["shape"])) for part in chunks)
    return StoredTensor(dtype, tuple(shape), tuple(parts))


def _sum_of(told: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(told).encode())
