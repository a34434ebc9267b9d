"""What `torch.distributed.checkpoint` writes to and reads from: a safetensors file for each rank, and the index.

Both are PyTorch's interfaces, and fit its planners: `torch.distributed.checkpoint.save(state, storage_writer=...)`. Its
own files hold pickles; these hold tensors and JSON. All ranks must see the same folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItemType
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from torch.futures import Future

from . import folders
from .index import FILE, CheckpointIndex, StoredFile, crc32, key_of, read_index, stored_tensors
from .problem import CheckpointError


class CheckpointWriter(StorageWriter):
    """Writes one checkpoint, aside; it has its name, `step-N` in `root`, when all ranks have done their part.

    `told` are plain values that go with it, such as JSON has; those of the first rank are kept.
    """

    def __init__(self, root: str | os.PathLike[str], step: int, told: Mapping[str, Any] | None = None) -> None:
        self._root, self._step, self._told = Path(root), step, dict(told or {})
        self._part = folders.unfinished(self._root, step)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            raise CheckpointError("the folder of a checkpoint is said where the writer is made, not as checkpoint_id")

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        if plain := [item.index.fqn for item in plan.items if item.type is WriteItemType.BYTE_IO]:
            raise CheckpointError(f"{plain[0]} is no tensor: plain values go in `told`")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """On the first rank, before any other writes: the folder is made here."""
        shutil.rmtree(self._part, ignore_errors=True)
        self._part.mkdir(parents=True)
        files = (f"rank-{rank:05}.safetensors" for rank in range(len(plans)))
        return [SavePlan(plan.items, file, plan.planner_data) for plan, file in zip(plans, files, strict=True)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        done: Future[list[WriteResult]] = Future()
        tensors: dict[str, torch.Tensor] = {}
        for item in plan.items:
            tensor = planner.resolve_data(item)
            assert isinstance(tensor, torch.Tensor)
            own = tensor.detach().cpu().contiguous()
            shared = own.untyped_storage().nbytes() != own.numel() * own.element_size()
            tensors[key_of(item.index)] = own.clone() if shared else own
        if tensors:
            path = self._part / plan.storage_data
            save_file(tensors, path)
            path.chmod(self._part.stat().st_mode & 0o666)  # the library's files are their owner's alone
            folders.sync(path)
            stored = plan.storage_data, path.stat().st_size, crc32(path)
            done.set_result([WriteResult(item.index, 0, stored) for item in plan.items])
        else:
            done.set_result([])
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """On the first rank, when all have written."""
        written = [result for rank in results for result in rank]
        files = {file: StoredFile(size, total) for file, size, total in (result.storage_data for result in written)}
        places = {result.index: result.storage_data[0] for result in written}
        CheckpointIndex(self._step, self._told, files, stored_tensors(metadata, places)).write(self._part)
        folders.sync(self._part / FILE)
        folders.commit(self._part, folders.folder_of(self._root, self._step))

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return False


class CheckpointReader(StorageReader):
    """Reads one checkpoint, the folder `step-N`; each rank reads what it needs alone."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._places: dict[Any, str] = {}

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            raise CheckpointError("the folder of a checkpoint is said where the reader is made, not as checkpoint_id")

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        return read_index(self._folder).metadata()

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self._places = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        files: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            files.setdefault(self._places[item.storage_index], []).append(item)
        for name, items in files.items():
            try:
                with safe_open(self._folder / name, framework="pt") as file:
                    for item in items:
                        _read(file, item, planner)
            except SafetensorError as error:
                raise CheckpointError(f"{self._folder / name} is damaged: {error}") from None
        done: Future[None] = Future()
        done.set_result(None)
        return done

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return False


def _read(file: Any, item: ReadItem, planner: LoadPlanner) -> None:
    """The part of a chunk that a rank asks for, put where the planner says."""
    key = key_of(item.storage_index)
    if item.lengths:
        box = zip(item.storage_offsets, item.lengths, strict=True)
        found = file.get_slice(key)[tuple(slice(start, start + size) for start, size in box)]
    else:
        found = file.get_tensor(key)
    target = planner.resolve_tensor(item)
    target.detach().copy_(found)
    planner.commit_tensor(item, target)


def read_tensors(folder: str | os.PathLike[str], under: str = "") -> dict[str, torch.Tensor]:
    """Whole tensors of one checkpoint, by name, without a process group: `under="model."` gives weights by their paths.

    Raises CheckpointError if it is damaged.
    """
    folder = Path(folder)
    index = read_index(folder)
    if wrong := index.damage(folder, index.files):
        raise CheckpointError(f"{folder} is damaged ({wrong})")
    found: dict[str, torch.Tensor] = {}
    for name, stored in index.tensors.items():
        if name.startswith(under):
            whole = found[name.removeprefix(under)] = torch.empty(stored.shape, dtype=getattr(torch, stored.dtype))
            for chunk in stored.chunks:
                box = zip(chunk.offsets, chunk.shape, strict=True)
                with safe_open(folder / chunk.file, framework="pt") as file:
                    part = file.get_tensor(key_of(MetadataIndex(name, chunk.offsets)))
                    whole[tuple(slice(start, start + size) for start, size in box)] = part
    return found
