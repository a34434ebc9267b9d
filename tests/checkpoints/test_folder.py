"""Checkpoints of one process: what is written, what is read, and what is said of what is damaged."""

from __future__ import annotations

import itertools
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard  # noqa: E402
from torch.distributed.tensor.placement_types import _StridedShard  # noqa: E402

from attnc.checkpoints import CheckpointError, Checkpoints, boxes, read_tensors, saving, storage, training_state  # noqa: E402


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def numbers(value: float = 1.0) -> dict[str, torch.Tensor]:
    return {
        "a": torch.full((3, 4), value),
        "half": torch.full((5,), value, dtype=torch.bfloat16),
        "step": torch.tensor(value, dtype=torch.float64),
        "count": torch.tensor([int(value), 2**40]),
        "none": torch.zeros(0, 2),
    }


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """As tensors were when `save` was called, with the plain values; in files that other tools read."""
    checkpoints = Checkpoints(tmp_path / "run")
    state = numbers(3)
    checkpoints.save(7, state, {"seed": 1, "names": ["x"]})
    for tensor in state.values():
        tensor.zero_()
    assert checkpoints.wait() == 7
    assert checkpoints.wait() is None
    found = checkpoints.restore(state)
    assert found is not None
    assert (found.step, found.told, found.passed_over) == (7, {"seed": 1, "names": ["x"]}, ())
    wanted = numbers(3)
    assert all(torch.equal(state[name], wanted[name]) for name in wanted)
    folder = tmp_path / "run" / "step-00000007"
    assert {path.name for path in folder.iterdir()} == {"index.json", "rank-00000.safetensors"}
    read = read_tensors(folder)
    assert read.keys() == wanted.keys() and all(torch.equal(read[name], wanted[name]) for name in wanted)
    assert torch.equal(load_file(folder / "rank-00000.safetensors")["a"], wanted["a"])


def test_a_transposed_or_shared_tensor_is_written_alone(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    whole = torch.arange(6.0).reshape(2, 3)
    checkpoints.save(1, {"a": whole.T, "b": whole, "c": whole[0]})
    state = {"a": torch.zeros(3, 2), "b": torch.zeros(2, 3), "c": torch.zeros(3)}
    assert checkpoints.restore(state) is not None
    assert torch.equal(state["a"], whole.T) and torch.equal(state["b"], whole) and torch.equal(state["c"], whole[0])


def test_the_last_few_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (1, 2, 3, 10):
        checkpoints.save(step, numbers())
    assert checkpoints.wait() == 10
    assert checkpoints.steps() == [3, 10]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000003", "step-00000010"]


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "none").restore(numbers()) is None


def cut(folder: Path) -> None:
    path = folder / "rank-00000.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def changed(folder: Path) -> None:
    path = folder / "rank-00000.safetensors"
    held = bytearray(path.read_bytes())
    held[-1] ^= 1
    path.write_bytes(held)


def without_index(folder: Path) -> None:
    (folder / "index.json").unlink()


def half_an_index(folder: Path) -> None:
    path = folder / "index.json"
    path.write_bytes(path.read_bytes()[:100])


def another_index(folder: Path) -> None:
    path = folder / "index.json"
    path.write_text(path.read_text().replace('"told": {}', '"told": {"seed": 2}'))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (cut, r"rank-00000.safetensors has \d+ of \d+ bytes"),
        (changed, "rank-00000.safetensors is not what was written"),
        (lambda folder: (folder / "rank-00000.safetensors").unlink(), "rank-00000.safetensors: No such file"),
        (without_index, "index.json: No such file"),
        (half_an_index, "index.json is not what was written"),
        (another_index, "index.json is not what was written"),
    ],
)
def test_a_damaged_one_is_told_and_the_one_before_is_read(
    damage: Callable[[Path], None], told: str, tmp_path: Path
) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, numbers(1))
    checkpoints.save(2, numbers(2))
    checkpoints.wait()
    damage(tmp_path / "step-00000002")
    state = numbers(0)
    found = checkpoints.restore(state)
    assert found is not None and found.step == 1
    assert torch.equal(state["a"], numbers(1)["a"])
    assert re.search(f"step-00000002 is damaged .{told}", found.passed_over[0])
    damage(tmp_path / "step-00000001")
    with pytest.raises(CheckpointError, match=r"no checkpoint is whole: .*02 is damaged .*01 is damaged"):
        checkpoints.restore(numbers(0))
    checkpoints.save(2, numbers(5))  # it is done again
    assert checkpoints.wait() == 2
    found = checkpoints.restore(state)
    assert found is not None and found.step == 2 and torch.equal(state["a"], numbers(5)["a"])


def test_one_of_another_model_says_where(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, {"a": torch.zeros(2, 3)})
    for state, told in (
        ({"a": torch.zeros(3, 3)}, r"a is \[2, 3\] there and \[3, 3\] here"),
        ({"a": torch.zeros(2, 3).double()}, "a is float32 there and float64 here"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(1)}, "b is not in the checkpoint"),
        ({}, "a is in the checkpoint alone"),
    ):
        with pytest.raises(CheckpointError, match=f"of another model: {told}"):
            checkpoints.restore(state)


def test_one_that_is_not_done_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: it is told, the one before stays, and what was begun goes with the next run."""
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, numbers(1))
    checkpoints.wait()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "save_file", full)
        checkpoints.save(2, numbers(2))
        with pytest.raises(CheckpointError, match=r"checkpoint of step 2: rank 0: .*No space left on device"):
            checkpoints.wait()
        checkpoints.save(2, numbers(2))
        while checkpoints._flight is not None and not checkpoints._flight[1].done():
            time.sleep(0.001)
    assert checkpoints.steps() == [1]
    with pytest.raises(CheckpointError, match="checkpoint of step 2: rank 0"):
        checkpoints.save(3, numbers(3))  # begun all the same: another rank may know of the failure since `done`
    assert checkpoints.wait() == 3
    (tmp_path / ".step-00000004.part").mkdir()
    (tmp_path / ".step-00000000.gone").mkdir()
    assert Checkpoints(tmp_path).steps() == [1, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000001", "step-00000003"]


def test_training_goes_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is in flight: `done` says when it is whole, and the next `save` waits for it."""
    go, held = threading.Event(), saving.save

    def slow(*given: object, **named: object) -> object:
        assert go.wait(10)
        return held(*given, **named)

    monkeypatch.setattr(saving, "save", slow)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, numbers())
    assert checkpoints.done() is None
    assert not list(tmp_path.iterdir())
    go.set()
    checkpoints.save(2, numbers())
    assert folders_in(tmp_path) >= {"step-00000001"}
    assert checkpoints.wait() == 2


def folders_in(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_plain_values_are_told_apart(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(CheckpointError, match=r"step 1: told has to be plain values \(.*Tensor"):
        checkpoints.save(1, numbers(), {"x": torch.zeros(1)})
    with pytest.raises(CheckpointError, match="keep = 0"):
        Checkpoints(tmp_path, keep=0)


def test_pytorch_reads_and_writes_through_them(tmp_path: Path) -> None:
    """By `torch.distributed.checkpoint` alone; what is no tensor it would pickle, and is refused."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.api import CheckpointException

    dcp.save({"net": {"a": torch.ones(2)}}, storage_writer=storage.CheckpointWriter(tmp_path, 5, {"x": 1}))
    held = json.loads((tmp_path / "step-00000005" / "index.json").read_text())["content"]
    assert (held["told"], list(held["tensors"])) == ({"x": 1}, ["net.a"])
    state = {"net": {"a": torch.zeros(2)}}
    dcp.load(state, storage_reader=storage.CheckpointReader(tmp_path / "step-00000005"))
    assert torch.equal(state["net"]["a"], torch.ones(2))
    with pytest.raises(CheckpointException, match="step is no tensor: plain values go in `told`"):
        dcp.save({"step": 3}, storage_writer=storage.CheckpointWriter(tmp_path, 6))


def test_an_optimiser_that_has_done_nothing_takes_its_moments(tmp_path: Path) -> None:
    """After `restore` the next step is the same, bit by bit."""

    def made() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))
        return net, torch.optim.AdamW(net.parameters(), lr=0.1)

    def steps(net: torch.nn.Module, optimizer: torch.optim.Optimizer, count: int) -> torch.Tensor:
        for _ in range(count):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).square().sum().backward()
            optimizer.step()
        return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])

    net, optimizer = made()
    steps(net, optimizer, 3)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, training_state(net, optimizer))
    wanted = steps(net, optimizer, 2)
    net, optimizer = made()
    assert checkpoints.restore(training_state(net, optimizer)) is not None
    assert torch.equal(steps(net, optimizer, 2), wanted)


class Elsewhere:
    """A mesh as a rank at some place sees it."""

    def __init__(self, sizes: tuple[int, ...], place: tuple[int, ...] | None) -> None:
        self.sizes, self.place = sizes, place

    def size(self, axis: int) -> int:
        return self.sizes[axis]

    def get_coordinate(self) -> list[int] | None:
        return None if self.place is None else list(self.place)


@pytest.mark.parametrize(
    ("sizes", "placements", "length"),
    [
        ((2,), (Shard(0),), 8),
        ((3,), (Shard(0),), 4),
        ((2, 3), (Replicate(), Shard(0)), 7),
        ((2,), (_StridedShard(0, split_factor=2),), 8),  # each half of two blocks
        ((2, 2), (_StridedShard(0, split_factor=2), Shard(0)), 8),  # FSDP2 over tensor parallel
        ((2, 2), (_StridedShard(0, split_factor=4), _StridedShard(0, split_factor=2)), 16),
        ((4, 2), (_StridedShard(0, split_factor=2), Shard(0)), 12),  # some have nothing
    ],
)
def test_ranks_have_each_part_once(sizes: tuple[int, ...], placements: tuple[Any, ...], length: int) -> None:
    """All boxes of all ranks together are the tensor, and each is what PyTorch puts there."""
    found: dict[int, int] = {}
    replicas = math.prod(size for size, each in zip(sizes, placements, strict=True) if each.is_replicate())
    for place in itertools.product(*map(range, sizes)):
        own = torch.arange(length)
        for axis, each in enumerate(placements):
            if not each.is_replicate():
                pieces, _ = each._split_tensor(own, sizes[axis], with_padding=False, contiguous=True)
                own = pieces[place[axis]]
        tensor = mesh_tensor(own, Elsewhere(sizes, place), placements, (length,))
        for (offset,), part in boxes.boxes(tensor).parts.items():
            assert part.tolist() == list(range(offset, offset + len(part)))
            for item in part.tolist():
                found[item] = found.get(item, 0) + 1
    assert found == dict.fromkeys(range(length), replicas)


def mesh_tensor(own: torch.Tensor, mesh: Any, placements: tuple[Any, ...], shape: tuple[int, ...]) -> torch.Tensor:
    """What `boxes` asks of a DTensor, on a mesh that is not there."""
    held = init_device_mesh("cpu", (1,))
    tensor = DTensor.from_local(own, held, [Replicate()], run_check=False)
    given = {"device_mesh": mesh, "placements": placements, "shape": torch.Size(shape)}
    kind = type("Given", (DTensor,), {name: property(lambda _, value=value: value) for name, value in given.items()})
    tensor.__class__ = kind
    return tensor


def test_parts_of_sums_are_refused() -> None:
    tensor = DTensor.from_local(torch.ones(2), init_device_mesh("cpu", (1,)), [Partial()], run_check=False)
    with pytest.raises(CheckpointError, match="in parts of sums"):
        boxes.boxes(tensor)
