"""Which meshes of so many devices are best for a model, and how to train on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..base.names import listed
from ..graph.nodes import Graph
from .choose import NoSplit, grouped, input_widths
from .estimates.activations import Checkpointing
from .mesh import PIPE, Indivisible
from .options import PlanOptions
from .page import aligned, percent, size, time
from .plan import ShardingPlan, planned
from .stages import PipelinePlan, Stage, planned_stages, stages

SHOWN = 5
MOST = 64  # devices along `model`, `context` and `pipe`
MOST_BESIDE = 16  # along `model` beside `pipe`
GOING_ON = 3  # of meshes without `model` and `context` so many are divided further
ITEMS = 8  # of a micro-batch on a device, at most, where a step has several micro-batches
ORDER = (PIPE, "data", "expert", "context", "model")


@dataclass(frozen=True)
class Trained:
    """A way to train on a mesh: `plan` says how the weights are scattered, and in how many micro-batches.

    checkpointing: the least that fits. memory: bytes of the device that holds most. seconds: of a step; `each`: of an
    item of the batch. sending: its part of that, where nothing overlaps.
    """

    plan: ShardingPlan | PipelinePlan
    checkpointing: str
    memory: int
    seconds: float
    each: float
    sending: float
    fits: bool

    @property
    def order(self) -> tuple[bool, float]:
        """Those that fit first, by the time of an item; then those that are least too large."""
        return not self.fits, self.each if self.fits else self.memory


@dataclass
class MeshSearch:
    """Meshes of so many devices, tried one after another.

    how:     what is asked of plans; of no batch, an item for each device. Whatever micro-batches it has, and whatever
             it scatters, `micro` and `zeros` say what is tried: None stands for as many micro-batches as are best.
    memory:  what a device has, in bytes. bandwidth, flops: what it sends and computes in a second.
    found:   of each mesh the best way to train on it.
    chosen:  what `model` splits beside the other axes of the mesh: found for the fewest devices that it divides over.
    """

    graph: Graph
    how: PlanOptions
    devices: int
    memory: float
    bandwidth: float
    flops: float
    micro: int | None = None
    zeros: Sequence[int] = (3, 2, 1)
    found: dict[tuple[tuple[str, int], ...], Trained] = field(default_factory=dict)
    chosen: dict[frozenset[str], tuple[str, ...]] = field(default_factory=dict)
    cut: dict[int, tuple[Stage, ...]] = field(default_factory=dict)
    tried: int = 0

    @property
    def batch(self) -> int:
        return self.how.batch or self.devices * (self.micro or 1)

    def run(self) -> list[Trained]:
        """The best ways to train, one for each mesh. `context` is tried where nothing fits without it."""
        for pipe in self.pipes():
            self.divided(pipe)
        if input_widths(self.graph) and not any(one.fits for one in self.found.values()):
            for context in divisors(self.devices, MOST)[1:]:
                for model in divisors(self.devices // context, MOST):
                    self.plan(context=context, model=model)
        return self.best()

    def pipes(self) -> Iterator[int]:
        """How many stages there may be: those of a model whose repeats have as many passes."""
        yield 1
        for count in divisors(self.devices, MOST)[1:]:
            try:
                self.cut[count] = stages(self.graph, count)
            except NoSplit:
                return
            yield count

    def divided(self, pipe: int) -> None:
        """Meshes with so many stages: without `model`, and the best of these with it."""
        experts = [1]
        if grouped(self.graph):  # beside stages, only as many as are good without
            before = [dict(self.key(one)).get("expert", 1) for one in self.best()[:GOING_ON]]
            experts = divisors(self.devices) if pipe == 1 else sorted({*before})
        mine = [self.plan(pipe=pipe, expert=expert) for expert in experts]
        best = sorted((one for one in mine if one is not None), key=lambda one: one.order)[:GOING_ON]
        for expert in [dict(self.key(one)).get("expert", 1) for one in best] if len(experts) > 1 else experts:
            for model in divisors(self.devices // pipe, MOST if pipe == 1 else MOST_BESIDE)[1:]:
                self.plan(pipe=pipe, expert=expert, model=model)

    def plan(self, **sizes: int) -> Trained | None:
        """The best way on the mesh whose other devices split the batch, unless an axis does not divide or a copy has no
        item.
        """
        used = math.prod(sizes.values())
        if self.devices % used:
            return None
        named = {"data": self.devices // used, **sizes}
        mesh = {name: named[name] for name in ORDER if named.get(name, 1) > 1} or {"data": 1}
        copies = named["data"] * named.get("expert", 1)
        if copies * (self.micro or 1) > self.batch:
            return None
        self.tried += 1
        beside = frozenset(mesh) - {PIPE}
        given = {name: axes for name, axes in (self.how.splits or {}).items() if name in mesh}
        for known in ([{"model": self.chosen[beside]}] if beside in self.chosen else []) + [{}]:
            try:
                plan = self.planned(mesh, {**known, **given}, copies)
            except (Indivisible, NoSplit):
                continue
            if "model" in mesh:
                self.chosen[beside] = next(axis.splits for axis in plan.mesh.axes if axis.name == "model")
            best = min(self.ways(plan, copies), key=lambda one: one.order)
            self.found[tuple(mesh.items())] = best
            return best
        return None

    def planned(
        self, mesh: Mapping[str, int], splits: Mapping[str, Sequence[str]], copies: int
    ) -> ShardingPlan | PipelinePlan:
        how = replace(self.how, splits=splits, batch=copies, micro=1)
        if PIPE in mesh:
            return planned_stages(self.graph, mesh, how, self.cut[mesh[PIPE]])
        return planned(self.graph, mesh, how)

    def ways(self, plan: ShardingPlan | PipelinePlan, copies: int) -> Iterator[Trained]:
        """To do a batch on a mesh: its micro-batches, what is scattered, and the least checkpointing that fits."""
        items = self.batch // copies
        rounds = {items // each for each in range(1, min(ITEMS, items) + 1) if items % each == 0} | {1}
        for micro in sorted(rounds) if self.micro is None else [self.micro]:
            for zero in self.zeros:
                step = plan.with_step(copies * micro * (items // micro), micro, zero)
                for how in Checkpointing:
                    memory = step.needs(how.value) if isinstance(step, PipelinePlan) else step.memory(how.value)
                    if memory <= self.memory or how is Checkpointing.FULL:
                        seconds, sending = step.timed(self.bandwidth, self.flops, how.value)
                        fits = memory <= self.memory
                        yield Trained(step, how.value, memory, seconds, seconds / step.batch, sending, fits)
                        break

    def best(self) -> list[Trained]:
        return sorted(self.found.values(), key=lambda one: one.order)

    @staticmethod
    def key(one: Trained) -> tuple[tuple[str, int], ...]:
        return tuple((axis.name, axis.size) for axis in one.plan.mesh.axes)


def found(search: MeshSearch) -> list[str]:
    """A page of the meshes on which a step takes least. Raises NoSplit where there is none."""
    best = search.run()
    if not best:
        few = f" with an item of a batch of {search.batch:,} for each copy" if search.how.batch is not None else ""
        raise NoSplit(f"no mesh of {search.devices:,} devices divides its axes{few}: name one with --mesh and --split")
    head = ("mesh", "--micro", "--zero", "checkpointing", "a step", "of an item", "sending", "waiting", "memory", "")
    rows = [
        (
            str(one.plan.mesh),
            f"{one.plan.micro:,}",
            f"{one.plan.zero}",
            one.checkpointing,
            time(one.seconds),
            time(one.each),
            percent(one.sending, 1),
            percent(one.plan.bubble, 1) if isinstance(one.plan, PipelinePlan) else "",
            size(one.memory),
            "" if one.fits else "too large",
        )
        for one in best[:SHOWN]
    ]
    return [f"a batch of {search.batch:,}", *aligned([head, *rows]), *_searched(search)]


def _searched(search: MeshSearch) -> Iterator[str]:
    named = dict.fromkeys(name for key in search.found for name, _ in key)
    every = listed([name for name in ORDER if name in named] or ["data"])
    left = ["other splits"]
    if "context" not in named and input_widths(search.graph):
        left.append("`context`, as some fit without it")
    beside = f", {MOST_BESIDE} beside `pipe`" if PIPE in named else ""
    yield f"{search.tried:,} meshes of {every} tried, `model` up to {MOST}{beside}; not searched: {', '.join(left)}"


def divisors(number: int, most: int | None = None) -> list[int]:
    top = number if most is None else min(number, most)
    return [n for n in range(1, top + 1) if number % n == 0]
