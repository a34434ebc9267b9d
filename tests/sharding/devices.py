"""A split model run by as many threads as there are devices, beside the whole model, in float64.

Collectives are an exchange between the threads of a group: what is tested is which of them there are, and where, not
PyTorch's. `sent` has what the first device gave to each, as a process group would see it.
"""

from __future__ import annotations

import itertools
import math
import queue
import sys
import threading
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnc.backends.emit.file import written
from attnc.backends.torch.parallel_file import emitter, of_one_device
from attnc.compiler.sharding.mesh import BATCH, Mesh, mesh_of
from attnc.compiler.sharding.spread import GraphSpread, spread
from attnc.compiler.sharding.weights import PlacedWeight, placed_weights
from attnc.spec import Model

PATIENCE = 120.0  # seconds that a thread waits for the others of its group


@dataclass
class Devices:
    """The devices of a mesh."""

    mesh: Mesh
    sent: list[tuple[str, str, int]] = field(default_factory=list)  # what, along which axis, bytes
    rows_of: dict[tuple[int, ...], list[int]] = field(default_factory=dict)  # of each product of experts, by device
    messages: Counter[tuple[str, int, int]] = field(default_factory=Counter)  # along which axis, from which, bytes
    mine: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        self.places = list(itertools.product(*(range(axis.size) for axis in self.mesh.axes)))
        self.names = [axis.name for axis in self.mesh.axes]
        self.mail: dict[object, queue.Queue[Tensor]] = defaultdict(queue.Queue)
        self.rooms: dict[object, tuple[threading.Barrier, list[Any]]] = {}
        for place, number in itertools.product(self.places, range(len(self.names))):
            size = self.mesh.axes[number].size
            others = number, place[:number] + place[number + 1 :]
            self.rooms.setdefault(others, (threading.Barrier(size, timeout=PATIENCE), [None] * size))

    def trade(self, axis: str, given: Tensor) -> list[Tensor]:
        """What all devices along an axis have given."""
        number, place = self.names.index(axis), self.mine.place
        barrier, room = self.rooms[number, place[:number] + place[number + 1 :]]
        room[place[number]] = given.detach()
        barrier.wait()
        found = list(room)
        barrier.wait()
        return found

    def note(self, what: str, axis: str, x: Tensor) -> None:
        if not any(self.mine.place):
            self.sent.append((what, axis, x.numel() * x.element_size()))

    def rank(self, axis: str) -> int:
        rank: int = self.mine.place[self.names.index(axis)]
        return rank

    def own(self, x: Tensor, dim: int, axis: str) -> Tensor:
        return x.chunk(self.mesh.axes[self.names.index(axis)].size, dim)[self.rank(axis)].contiguous()

    def summed(self, x: Tensor, axis: str) -> Tensor:
        self.note("all-reduce", axis, x)
        return torch.stack(self.trade(axis, x)).sum(0)

    def gathered(self, x: Tensor, dim: int, axis: str) -> Tensor:
        self.note("all-gather", axis, x)
        return torch.cat(self.trade(axis, x), dim)

    def scattered(self, x: Tensor, dim: int, axis: str) -> Tensor:
        self.note("reduce-scatter", axis, x)
        return self.own(torch.stack(self.trade(axis, x)).sum(0), dim, axis)

    def exchanged(self, x: Tensor, dim: int, other: int, axis: str) -> Tensor:
        self.note("all-to-all", axis, x)
        return torch.cat([self.own(each, other, axis) for each in self.trade(axis, x)], dim)

    def counts(self, counts: Tensor, axis: str) -> Tensor:
        self.note("all-to-all", axis, counts)
        return torch.stack([each[self.rank(axis)] for each in self.trade(axis, counts)])

    def rows(self, x: Tensor, give: list[int], take: list[int], axis: str) -> Tensor:
        assert len(x) == sum(give)
        self.note("all-to-all", axis, x)
        own, given = self.rank(axis), self.trade(axis, torch.tensor(give))
        rows = [each.split(counts.tolist())[own] for each, counts in zip(self.trade(axis, x), given, strict=True)]
        assert [len(each) for each in rows] == take
        return torch.cat(rows)

    def count(self, axis: str) -> int:
        return self.mesh.axes[self.names.index(axis)].size

    def largest(self, x: Tensor, axis: str, largest: bool = True) -> Tensor:
        self.note("all-reduce", axis, x)
        found = torch.stack(self.trade(axis, x))
        return found.amax(0) if largest else found.amin(0)

    def message(self, given: Tensor, to: int | None, room: Tensor, source: int | None, axis: str) -> list[Any]:
        """Send to one device along an axis, and receive from another once that is waited for."""
        number, place = self.names.index(axis), self.mine.place
        others = number, place[:number] + place[number + 1 :]
        own = place[number]
        if to is not None:
            self.mail[others, own, to].put(given.detach().clone())
            if not any(others[1]):
                self.messages[axis, own, given.numel() * given.element_size()] += 1
        if source is None:
            return []
        come = self.mail[others, source, own]
        return [types.SimpleNamespace(wait=lambda: room.copy_(come.get(timeout=PATIENCE)))]

    def module(self, files: Mapping[str, str], name: str) -> types.ModuleType:
        """The generated module, and its steps, its runtime's sending replaced by ours."""
        runtime, module = types.ModuleType("attnc_parallel_torch"), types.ModuleType(name)
        before = sys.modules.get("attnc_parallel_torch")
        sys.modules["attnc_parallel_torch"] = runtime
        ours = {
            "_summed": self.summed,
            "_gathered": self.gathered,
            "_scattered": self.scattered,
            "_exchanged": self.exchanged,
            "_own": self.own,
            "largest_of_parts": self.largest,
            "own_place": self.rank,
            "_counts_traded": self.counts,
            "_rows_traded": self.rows,
            "device_count": self.count,
            "devices_along": lambda axis: axis,
            "run_as": lambda _: nullcontext(),
            "trade": self.message,
        }
        try:
            exec(compile(files["attnc_parallel_torch.py"], "attnc_parallel_torch.py", "exec"), runtime.__dict__)
            assert ours.keys() <= runtime.__dict__.keys()
            runtime.__dict__.update(ours)
            product = runtime.__dict__["Dispatch"].product

            def noted(rows: Any, x: Tensor, *others: Tensor) -> Tensor:
                self.rows_of.setdefault(self.mine.place, []).append(len(x))
                made: Tensor = product(rows, x, *others)
                return made

            runtime.__dict__["Dispatch"].product = noted
            sys.modules[name] = module
            for file in (file for file in files if file != "attnc_parallel_torch.py"):
                exec(compile(files[file], file, "exec"), module.__dict__)
        finally:
            sys.modules.pop(name, None)
            if before is None:
                del sys.modules["attnc_parallel_torch"]
            else:
                sys.modules["attnc_parallel_torch"] = before
        return module

    def run(self, work: Callable[[tuple[int, ...]], None]) -> None:
        """Do it on every device. Raises what the first of them raised that did."""
        failed: list[BaseException] = []

        def one(place: tuple[int, ...]) -> None:
            self.mine.place = place
            try:
                work(place)
            except BaseException as problem:
                failed.append(problem)
                for barrier, _ in self.rooms.values():
                    barrier.abort()

        threads = [threading.Thread(target=one, args=(place,)) for place in self.places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for problem in failed:
            if not isinstance(problem, threading.BrokenBarrierError):
                raise problem
        assert not failed


def part(whole: Tensor, placed: PlacedWeight, mesh: Mesh, place: Sequence[int]) -> Tensor:
    """What a device has of a weight."""
    axes = [axis for dim in placed.weight.dims for axis in dim]
    x = whole.reshape([axis.extent or axis.bound or 1 for axis in axes])
    for number, axis in enumerate(placed.place):
        if axis is not None:
            x = x.chunk(mesh.axes[number].size, axes.index(axis))[place[number]]
    shape, ahead = [], 0
    for dim in placed.weight.dims:
        shape.append(math.prod(x.shape[ahead : ahead + len(dim)]))
        ahead += len(dim)
    return x.reshape(shape)


def of_result(whole: Tensor, found: GraphSpread, number: int, mesh: Mesh, place: Sequence[int]) -> Tensor:
    """What a device has of a result, whose axes come behind those of the batch."""
    output = found.old.outputs[number]
    for mesh_axis, axis in enumerate(found.place(output.value)):
        size = mesh.axes[mesh_axis].size
        if axis is not None and axis.name == BATCH:
            whole = whole.chunk(size, 0)[place[mesh_axis]]
        elif axis in output.axes:
            whole = whole.chunk(size, output.axes.index(axis) - len(output.axes))[place[mesh_axis]]
    return whole


def redrawn(net: torch.nn.Module) -> None:
    with torch.no_grad():
        for weight in net.parameters():
            matrix = weight.dim() > 1
            weight.copy_(torch.randn_like(weight) * (1.5 * weight.shape[-1] ** -0.5 if matrix else 0.5) + (not matrix))


@dataclass(frozen=True)
class Difference:
    """The largest differences in standard deviations; what was sent, forward and backward, by the first device, and to
    single ones by each; and how many rows each product of experts had, by device.
    """

    results: float
    gradients: float
    sent: list[tuple[str, str, int]]
    messages: Counter[tuple[str, int, int]]
    rows: dict[tuple[int, ...], list[int]]


def compared(
    model: Model,
    sizes: Mapping[str, int],
    splits: Mapping[str, tuple[str, ...]],
    inputs: Mapping[str, Tensor],
    seed: int = 0,
) -> Difference:
    """Results and gradients of a model on a mesh beside those of the whole."""
    torch.manual_seed(seed)
    net = model.torch(seed=seed, dtype="float64")
    redrawn(net)
    net.eval()
    made = net(**inputs)
    made = made if isinstance(made, tuple) else (made,)
    real = [number for number, each in enumerate(made) if each.is_floating_point()]
    probes = {number: torch.randn(made[number].shape, dtype=torch.float64) for number in real}
    sum((made[number] * probe).sum() for number, probe in probes.items()).backward()
    gradients = {name: weight.grad for name, weight in net.named_parameters() if weight.grad is not None}
    scale = 1e-3 * max(float(each.std()) for each in gradients.values() if each.numel() > 1)

    mesh = mesh_of(sizes, splits)
    found = spread(model._sized, mesh)
    code = written(emitter(found), of_one_device(found), checked=False)
    devices = Devices(mesh)
    module = devices.module(
        {"split.py": code.default(), "attnc_parallel_torch.py": code.library.runtime_file()}, "split"
    )
    kind = next(v for k, v in vars(module).items() if k.lower() == model.name.replace("_", "").lower())
    weights = placed_weights(found)
    worst = [(0.0, 0.0)] * mesh.devices

    def work(place: tuple[int, ...]) -> None:
        local = kind().double().eval()
        own = dict(local.named_parameters())
        assert own.keys() == weights.keys()
        with torch.no_grad():
            for name, weight in own.items():
                weight.copy_(part(net.get_parameter(name), weights[name], mesh, place))
        mine = dict(inputs)
        for number, axis in enumerate(mesh.axes):
            if BATCH in axis.splits:
                mine = {name: x.chunk(axis.size)[place[number]] for name, x in mine.items()}
        result = local(**mine)
        result = result if isinstance(result, tuple) else (result,)
        off, loss = 0.0, torch.zeros((), dtype=torch.float64)
        for number, probe in probes.items():
            whole = of_result(made[number].detach(), found, number, mesh, place)
            assert result[number].shape == whole.shape
            off = max(off, float((result[number].detach() - whole).abs().max() / made[number].detach().std()))
            loss = loss + (result[number] * of_result(probe, found, number, mesh, place)).sum()
        loss.backward()
        wrong = 0.0
        for name, weight in own.items():
            if name not in gradients:
                continue
            grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
            for number in sorted(weights[name].partial):
                grad = torch.stack(devices.trade(mesh.axes[number].name, grad)).sum(0)
            want = part(gradients[name], weights[name], mesh, place)
            spread_of = max(float(gradients[name].std(correction=0)), scale)
            wrong = max(wrong, float((grad - want).abs().max()) / spread_of)
        worst[devices.places.index(place)] = off, wrong

    devices.run(work)
    off, wrong = (max(found) for found in zip(*worst, strict=True))
    return Difference(off, wrong, devices.sent, devices.messages, devices.rows_of)
