"""A folder of checkpoints: the next is written while training goes on, and the newest that is whole is read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from . import folders
from .boxes import Boxes, boxes
from .index import CheckpointIndex, read_index
from .problem import CheckpointError
from .storage import CheckpointReader, CheckpointWriter

_NO_GROUP = (
    "checkpoints need a process group: torch.distributed.init_process_group; "
    'for one process, ("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)'
)


@dataclass(frozen=True, slots=True)
class Restored:
    """Which checkpoint it was, what was told with it, and what is wrong with newer ones, in a sentence each."""

    step: int
    told: Mapping[str, Any]
    passed_over: tuple[str, ...]


class Checkpoints:
    """The checkpoints of a run, in a folder that all ranks see. Every rank makes one, and calls the same of it.

    Ranks speak with each other in a process group of its own (gloo), from a thread of its own: in that of the training
    step, calls of the two would come in another order on each rank. One checkpoint is in flight at a time, and the last
    `keep` that are whole are kept.

    Raises CheckpointError without a process group.
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int = 3, timeout: timedelta | None = None) -> None:
        if keep < 1:
            raise CheckpointError(f"keep = {keep}: at least one checkpoint is kept")
        if not dist.is_initialized():
            raise CheckpointError(_NO_GROUP)
        self.folder, self.keep = Path(folder), keep
        self._group = dist.new_group(backend="gloo", timeout=timeout)
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._flight: tuple[int, Future[Any]] | None = None
        if dist.get_rank() == 0:
            folders.clear(self.folder)

    def steps(self) -> list[int]:
        """Of the checkpoints there are, oldest first, as the first rank sees the folder."""
        held = [folders.steps(self.folder) if dist.get_rank() == 0 else []]
        dist.broadcast_object_list(held, 0, self._group)
        return held[0]

    def folder_of(self, step: int) -> Path:
        return folders.folder_of(self.folder, step)

    def save(self, step: int, state: Mapping[str, Tensor], told: Mapping[str, Any] | None = None) -> None:
        """Begin a checkpoint of these tensors, as they are now; `told` are plain values, as JSON has them.

        Tensors are copied before it returns, and written afterwards. Waits for the one before, and raises what that
        raised, but only when this one is begun: so ranks that learn of it sooner or later call the same of each other.
        Raises CheckpointError, too, for a value that JSON has not.
        """
        try:
            plain = json.loads(json.dumps(dict(told or {})))
        except TypeError as error:
            raise CheckpointError(f"checkpoint of step {step}: told has to be plain values ({error})") from None
        failed = None
        try:
            self.wait()
        except CheckpointError as error:
            failed = error
        copies = {name: boxes(tensor, _copied) for name, tensor in state.items()}
        self._flight = step, self._thread.submit(self._save, step, copies, plain)
        if failed is not None:
            raise failed

    def done(self) -> int | None:
        """The step of the checkpoint in flight, once, when it is whole. Raises what `wait` raises."""
        return self.wait() if self._flight is not None and self._flight[1].done() else None

    def wait(self) -> int | None:
        """Until the checkpoint in flight is whole; its step. None if there is none.

        Raises CheckpointError if a rank could not write its part. That a rank is gone is raised as PyTorch raises it.
        """
        if self._flight is None:
            return None
        (step, future), self._flight = self._flight, None
        try:
            future.result()
        except CheckpointException as error:
            raise CheckpointError(f"checkpoint of step {step}: {_first_failure(error)}") from None
        return step

    def restore(self, state: Mapping[str, Tensor]) -> Restored | None:
        """Read the newest checkpoint that is whole into these tensors, on whichever mesh they are; None without any.

        Each rank looks through a part of the files, and reads its own parts of its tensors: together the ranks have all
        that there are. Raises CheckpointError if
        all are damaged, or if it is of another model.
        """
        self.wait()
        passed_over: list[str] = []
        for step in reversed(self.steps()):
            folder = self.folder_of(step)
            index, wrong = self._whole(folder)
            if index is None:
                passed_over.append(f"{folder} is damaged ({wrong})")
                continue
            if wrong := self._misfit(index, state):
                raise CheckpointError(f"{folder} is of another model: {wrong}")
            try:
                here = {name: boxes(tensor) for name, tensor in state.items()}
                load(here, storage_reader=CheckpointReader(folder), planner=_LoadPlanner(), process_group=self._group)
            except CheckpointException as error:
                raise CheckpointError(f"{folder} cannot be read: {_first_failure(error)}") from None
            return Restored(step, index.told, tuple(passed_over))
        if passed_over:
            raise CheckpointError(f"no checkpoint is whole: {'; '.join(passed_over)}")
        return None

    def _save(self, step: int, state: dict[str, Boxes], told: dict[str, Any]) -> None:
        """In the thread."""
        writer = CheckpointWriter(self.folder, step, told)
        save(dict(state), storage_writer=writer, planner=_SavePlanner(), process_group=self._group)
        if dist.get_rank(self._group) == 0:
            folders.keep(self.folder, self.keep)

    def _whole(self, folder: Path) -> tuple[CheckpointIndex | None, str]:
        """The index, if no rank finds anything wrong; else what is, the same on all."""
        rank, ranks = dist.get_rank(self._group), dist.get_world_size(self._group)
        index, wrong = None, None
        try:
            index = read_index(folder)
            wrong = index.damage(folder, list(index.files)[rank::ranks])
        except CheckpointError as error:
            wrong = str(error)
        found: list[str | None] = [None] * ranks
        dist.all_gather_object(found, wrong, self._group)
        told = next((one for one in found if one is not None), "")
        return (None, told) if told else (index, "")

    def _misfit(self, index: CheckpointIndex, state: Mapping[str, Tensor]) -> str:
        """Where names, shapes or types of the two are not the same, the same on all ranks, which have their own names
        in the stages of a pipeline.
        """
        ranks: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(ranks, (list(state), _misfits(index, state)), self._group)
        here = {name for names, _ in ranks for name in names}
        wrong = {name: f"{name} is in the checkpoint alone" for name in index.tensors if name not in here}
        for _, told in ranks:
            wrong |= told
        return wrong[min(wrong)] if wrong else ""


class _SavePlanner(DefaultSavePlanner):
    """PyTorch's, of boxes."""

    def lookup_object(self, index: MetadataIndex) -> Tensor:
        found: Boxes = self.state_dict[index.fqn]
        return found.part(index)


class _LoadPlanner(DefaultLoadPlanner):
    """PyTorch's, of boxes, which it is not to take for what it knows."""

    def __init__(self) -> None:
        super().__init__(flatten_state_dict=False)

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        found: Boxes = self.state_dict[index.fqn]
        return found.part(index)


def _copied(tensor: Tensor) -> Tensor:
    return tensor.to("cpu", copy=True, memory_format=torch.contiguous_format)


def _first_failure(error: CheckpointException) -> str:
    """Of the first rank that failed, in one line."""
    rank = min(error.failures)
    wrong = error.failures[rank][0]
    return f"rank {rank}: {' '.join(str(wrong).split()) or type(wrong).__name__}"


def _misfits(index: CheckpointIndex, state: Mapping[str, Tensor]) -> dict[str, str]:
    """What is wrong with tensors of this rank, by their names."""
    found = {}
    for name, tensor in state.items():
        if name not in index.tensors:
            found[name] = f"{name} is not in the checkpoint"
            continue
        stored, dtype = index.tensors[name], str(tensor.dtype).removeprefix("torch.")
        if stored.shape != tuple(tensor.shape):
            found[name] = f"{name} is {list(stored.shape)} there and {list(tensor.shape)} here"
        elif stored.dtype != dtype:
            found[name] = f"{name} is {stored.dtype} there and {dtype} here"
    return found
