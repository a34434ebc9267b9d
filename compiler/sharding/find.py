"""Which meshes of so many devices are best for a model, and how to train on them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..base.names import listed
from ..cost.bill import REALS
from ..graph.nodes import Graph
from .choose import NoSplit, best_splits, free_depths, grouped, input_widths, require_known, splits_of, with_sizes
from .estimates.activations import Checkpointing
from .mesh import BATCH, PIPE, Indivisible
from .options import PlanOptions
from .page import aligned, number_of, percent, size, time
from .plan import ShardingPlan, planned
from .stages import PipelinePlan, Stage, planned_stages, stages

SHOWN = 5
MOST = 64  # devices along `model`, `context` and `pipe`
MOST_BESIDE = 16  # along `model` beside `pipe`
GOING_ON = 3  # of meshes without `model` and `context` so many are divided further
ITEMS = 8  # of a micro-batch on a device, at most, where a step has several micro-batches
ORDER = (PIPE, "data", "expert", "context", "model")
ZEROS = (3, 2, 0)  # what `parallelize` scatters
RUN = (Checkpointing.NONE, Checkpointing.FULL)  # what `parallelize` does again


@dataclass(frozen=True)
class Trained:
    """A way to train on a mesh: `plan` says how the weights are scattered, and in how many micro-batches.

    checkpointing: the least that fits. memory: bytes of the device that holds most. seconds: of a step; `each`: of an
    item of the batch. sending: its part of that, where nothing overlaps.
    """

    plan: ShardingPlan | PipelinePlan
    checkpointing: Checkpointing
    memory: int
    seconds: float
    sending: float
    fits: bool

    @property
    def each(self) -> float:
        return self.seconds / self.plan.batch

    @property
    def order(self) -> tuple[bool, float]:
        """Those that fit first, by the time of an item; then those that are least too large."""
        return not self.fits, self.each if self.fits else self.memory

    def along(self, name: str) -> int:
        """How many devices there are along an axis of the mesh."""
        return next((axis.size for axis in self.plan.mesh.axes if axis.name == name), 1)

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        """What axes of the mesh split; but for `data`, which splits the batch wherever nothing is said."""
        every = {axis.name: [*axis.splits] for axis in self.plan.mesh.axes if axis.splits}
        return {name: axes for name, axes in every.items() if (name, axes) != ("data", [BATCH])}

    @property
    def options(self) -> str:
        """What `attnc shard` prints this plan with, beside the file, sizes and speeds."""
        mesh, plan = self.plan.mesh, self.plan
        splits = (f"--split {name}={','.join(axes)}" for name, axes in self.splits.items())
        sizes = ",".join(f"{axis.name}={axis.size}" for axis in mesh.axes)
        step = f"--batch {plan.batch} --micro {plan.micro} --zero {plan.zero}"
        types = f"--dtype {plan.dtype} --reduce {plan.reduce}"
        return " ".join([f"--mesh {sizes}", *splits, step, types])

    @property
    def arguments(self) -> str:
        """What `Model.parallelize` runs it with, beside the mesh."""
        plan = self.plan
        said: dict[str, object] = {"splits": self.splits} if self.splits else {}
        said |= {"zero": plan.zero, "dtype": plan.reduce}
        if plan.dtype != plan.reduce:
            said["computed_in"] = plan.dtype
        if self.checkpointing is Checkpointing.FULL:
            said["checkpoint"] = True
        return ", ".join(f"{name}={json.dumps(value) if value is not True else value}" for name, value in said.items())


@dataclass(frozen=True)
class MeshSearch:
    """What is looked for: the best meshes of so many devices.

    how:     what is asked of plans; of no batch, an item for each device. Whatever micro-batches it has, and whatever
             it scatters, `micro` and `zeros` say what is tried: None stands for as many micro-batches as are best.
    again:   the checkpointings that are tried, the least first.
    memory:  what a device has, in bytes. bandwidth, flops: what it sends and computes in a second.
    """

    graph: Graph
    how: PlanOptions
    devices: int
    memory: float
    bandwidth: float
    flops: float
    micro: int | None = None
    zeros: Sequence[int] = ZEROS
    again: Sequence[Checkpointing] = RUN

    @property
    def batch(self) -> int:
        return self.how.batch or self.devices * (self.micro or 1)

    def run(self) -> MeshesFound:
        """The best ways to train, one for each mesh. `context` is tried where nothing fits without it."""
        require_known(self.graph, ORDER, self.how.splits or {})
        plans, made = _MeshPlans(self), _Tried()
        for pipe in plans.pipes():
            made += self._divided(plans, pipe, made)
        if input_widths(self.graph) and not any(one.fits for one in made.ways):
            for context in divisors(self.devices, MOST)[1:]:
                models = divisors(self.devices // context, MOST)
                made += self._on(plans, [{"context": context, "model": model} for model in models])
        return MeshesFound(tuple(_sorted(made.ways)), made.count)

    def _divided(self, plans: _MeshPlans, pipe: int, before: _Tried) -> _Tried:
        """Meshes with so many stages: without `model`, and the best of these with it."""
        experts = [1]
        if grouped(self.graph):  # beside stages, only as many as are good without
            good = {one.along("expert") for one in _sorted(before.ways)[:GOING_ON]}
            experts = divisors(self.devices) if pipe == 1 else sorted(good)
        mine = self._on(plans, [{PIPE: pipe, "expert": expert} for expert in experts])
        if len(experts) > 1:
            experts = [one.along("expert") for one in _sorted(mine.ways)[:GOING_ON]]
        models = divisors(self.devices // pipe, MOST if pipe == 1 else MOST_BESIDE)[1:]
        return mine + self._on(
            plans, [{PIPE: pipe, "expert": expert, "model": model} for expert in experts for model in models]
        )

    def _on(self, plans: _MeshPlans, meshes: Sequence[Mapping[str, int]]) -> _Tried:
        """The best way on each of these meshes, whose other devices split the batch, unless an axis does not divide or
        a copy has no item.
        """
        found, count = [], 0
        for sizes in meshes:
            used = math.prod(sizes.values())
            if self.devices % used:
                continue
            named = {"data": self.devices // used, **sizes}
            copies = named["data"] * named.get("expert", 1)
            if copies * (self.micro or 1) > self.batch:
                continue
            count += 1
            plan = plans.on({name: named[name] for name in ORDER if named.get(name, 1) > 1} or {"data": 1}, copies)
            ways = [] if plan is None else list(self._ways(plan, copies))
            found += [min(ways, key=lambda one: one.order)] if ways else []
        return _Tried(tuple(found), count)

    def _ways(self, plan: ShardingPlan | PipelinePlan, copies: int) -> Iterator[Trained]:
        """To do a batch on a mesh: its micro-batches, what is scattered, and the least checkpointing that fits."""
        items = self.batch // copies
        rounds = {items // each for each in range(1, min(ITEMS, items) + 1) if items % each == 0} | {1}
        for zero in self.zeros:
            reduce = self._reduce(plan, zero)
            if reduce is None:
                continue
            for micro in sorted(rounds) if self.micro is None else [self.micro]:
                step = plan.with_step(copies * micro * (items // micro), micro, zero, reduce)
                for how in self.again:
                    memory = step.needs(how.value) if isinstance(step, PipelinePlan) else step.memory(how.value)
                    if memory <= self.memory or how is self.again[-1]:
                        seconds, sending = step.timed(self.bandwidth, self.flops, how.value)
                        yield Trained(step, how, memory, seconds, sending, memory <= self.memory)
                        break

    def _reduce(self, plan: ShardingPlan | PipelinePlan, zero: int) -> str | None:
        """In which type gradients are summed as `parallelize` does it; None where that is not what was asked for: in
        half precision weights that are scattered are float32, and only computed in less; so others are not tried.
        """
        dtype = self.how.dtype
        half = REALS[dtype] < REALS["float32"]
        if len(self.zeros) > 1 and (half and zero < 2 if plan.scatters else zero != self.zeros[0]):
            return None  # where none is scattered, they are all the same
        able = ["float32", dtype] if half and plan.scatters and zero >= 2 else [dtype]
        wanted = self.how.reduce or able[0]
        return wanted if wanted in able else None


@dataclass(frozen=True)
class _Tried:
    """The best ways to train on some meshes, and how many were tried."""

    ways: tuple[Trained, ...] = ()
    count: int = 0

    def __add__(self, other: _Tried) -> _Tried:
        return _Tried(self.ways + other.ways, self.count + other.count)


@dataclass(frozen=True)
class MeshesFound:
    """The best ways to train, the best first, and how many meshes were tried."""

    best: tuple[Trained, ...]
    tried: int


@dataclass(frozen=True)
class _MeshPlans:
    """Plans of the meshes of a search. What does not hang on a mesh is found once, and kept in `chosen` and `cut`.

    chosen: what `model` splits beside other axes of the mesh: found for the fewest devices that it divides over.
    """

    search: MeshSearch
    chosen: dict[frozenset[str], Sequence[str]] = field(default_factory=dict)

    @cached_property
    def cut(self) -> Mapping[int, tuple[Stage, ...]]:
        """The stages of each pipeline that there may be: of a model whose repeats have as many passes."""
        found = {}
        for count in divisors(self.search.devices, MOST)[1:]:
            try:
                found[count] = stages(self.search.graph, count)
            except NoSplit:
                break
        return found

    def pipes(self) -> list[int]:
        return [1, *self.cut]

    def on(self, mesh: Mapping[str, int], copies: int) -> ShardingPlan | PipelinePlan | None:
        """None where an axis does not divide, or has nothing to split."""
        given = {name: axes for name, axes in (self.search.how.splits or {}).items() if name in mesh}
        try:
            if "model" not in mesh or "model" in given:
                return self._plan(mesh, given, copies)
            beside = frozenset(mesh) - {PIPE, "data", "model"}  # these take no axes from it
            if beside in self.chosen:
                try:
                    return self._plan(mesh, {**given, "model": self.chosen[beside]}, copies)
                except Indivisible:
                    pass
            others = {name: size for name, size in mesh.items() if name not in ("model", PIPE)}
            taken = {axis for axes in splits_of(self.search.graph, others, given).values() for axis in axes}
            self.chosen[beside] = best_splits(self.search.graph, mesh["model"], taken, self.search.how.sizes)
            return self._plan(mesh, {**given, "model": self.chosen[beside]}, copies) if self.chosen[beside] else None
        except (Indivisible, NoSplit):
            return None

    def _plan(
        self, mesh: Mapping[str, int], splits: Mapping[str, Sequence[str]], copies: int
    ) -> ShardingPlan | PipelinePlan:
        how = replace(self.search.how, splits=splits, batch=copies, micro=1)
        if PIPE in mesh:
            return planned_stages(self.search.graph, mesh, how, self.cut[mesh[PIPE]])
        return planned(self.search.graph, mesh, how)


def found(search: MeshSearch, command: str) -> list[str]:
    """A page of the meshes on which a step takes least, and for each what plans and runs it. command: what was written,
    but for the mesh and the step. Raises NoSplit where there is none, and for splits of axes that are not there.
    """
    made = search.run()
    if not made.best:
        few = f" with an item of a batch of {search.batch:,} for each copy" if search.how.batch is not None else ""
        devices = number_of(search.devices, "device")
        axes = with_sizes(free_depths(search.graph, set()))
        raise NoSplit(f"no mesh of {devices} divides {axes}{few}: name one with --mesh and --split")
    head = (
        "",
        "mesh",
        "--micro",
        "--zero",
        "checkpointing",
        "a step",
        "of an item",
        "sending",
        "waiting",
        "memory",
        "",
    )
    best = made.best[:SHOWN]
    rows = [
        (
            f"{number}",
            str(one.plan.mesh),
            f"{one.plan.micro:,}",
            f"{one.plan.zero}",
            one.checkpointing.value,
            time(one.seconds),
            time(one.each),
            percent(one.sending, 1),
            percent(one.plan.bubble, 1) if isinstance(one.plan, PipelinePlan) else "",
            size(one.memory),
            "" if one.fits else "too large",
        )
        for number, one in enumerate(best, 1)
    ]
    lines = [f"a batch of {search.batch:,}", *aligned([head, *rows]), *_searched(search, made), ""]
    for number, one in enumerate(best, 1):
        lines += [f"{number}  {command} {one.options}", f"   parallelize(mesh, {one.arguments})"]
        lines += [f"   forward_backward(.., micro={one.plan.micro})"] if one.plan.micro > 1 else []
    return lines


def _searched(search: MeshSearch, made: MeshesFound) -> Iterator[str]:
    named = {axis.name for one in made.best for axis in one.plan.mesh.axes}
    every = listed([name for name in ORDER if name in named])
    left = ["other splits"]
    if "context" not in named and input_widths(search.graph):
        left.append("`context`, as some fit without it")
    beside = f", {MOST_BESIDE} beside `pipe`" if PIPE in named else ""
    tried = number_of(made.tried, "mesh")
    yield f"{tried} of {every} tried, `model` up to {MOST}{beside}; not searched: {', '.join(left)}"


def _sorted(ways: Sequence[Trained]) -> list[Trained]:
    return sorted(ways, key=lambda one: one.order)


def divisors(number: int, most: int | None = None) -> list[int]:
    top = number if most is None else min(number, most)
    return [n for n in range(1, top + 1) if number % n == 0]
