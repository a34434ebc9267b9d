"""Which meshes of so many devices are best for a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..base.names import listed
from ..graph.nodes import Graph
from .choose import NoSplit, grouped, input_widths
from .mesh import Indivisible
from .page import aligned, percent, size, time
from .plan import ShardingPlan

SHOWN = 5
MOST = 64  # devices along `model`, and along `context`
GOING_ON = 3  # of meshes without `model` and `context` so many are divided further

Planned = Callable[[Mapping[str, int], Mapping[str, Sequence[str]]], ShardingPlan]
"""Plans a mesh, with splits that are known."""


@dataclass
class MeshSearch:
    """Meshes of so many devices, tried one after another.

    memory: what a device has, in bytes. seconds: what a step takes. batch: of all devices, None for one item a copy.
    chosen: what `model` splits beside the other axes of the mesh: found for the fewest devices that it divides over.
    """

    graph: Graph
    planned: Planned
    devices: int
    memory: float
    seconds: Callable[[ShardingPlan], float]
    batch: int | None
    micro: int
    plans: dict[tuple[tuple[str, int], ...], ShardingPlan] = field(default_factory=dict)
    chosen: dict[frozenset[str], tuple[str, ...]] = field(default_factory=dict)
    tried: int = 0

    def run(self) -> list[ShardingPlan]:
        """All that were planned, the best first. `context` is tried where nothing fits without it."""
        experts = divisors(self.devices) if grouped(self.graph) else [1]
        for expert in experts:
            self.plan(expert=expert)
        for plan in self.best()[:GOING_ON] if len(experts) > 1 else [None]:
            expert = 1 if plan is None else next((a.size for a in plan.mesh.axes if a.name == "expert"), 1)
            for model in divisors(self.devices, MOST):
                self.plan(expert=expert, model=model)
        if input_widths(self.graph) and not any(map(self.fits, self.plans.values())):
            for context in divisors(self.devices, MOST)[1:]:
                for model in divisors(self.devices // context, MOST):
                    self.plan(context=context, model=model)
        return self.best()

    def plan(self, **sizes: int) -> None:
        """Plan the mesh whose other devices split the batch, unless an axis does not divide or a copy has no item."""
        rest, used = self.devices, 1
        for count in sizes.values():
            used *= count
        if rest % used:
            return
        named = {"data": rest // used, **sizes}
        mesh = {name: named[name] for name in ("data", "expert", "context", "model") if named.get(name, 1) > 1}
        key = tuple(mesh.items())
        copies = named["data"] * named.get("expert", 1)
        if key in self.plans or (self.batch is not None and copies * self.micro > self.batch):
            return
        self.tried += 1
        beside = frozenset(mesh)
        for known in ([{"model": self.chosen[beside]}] if beside in self.chosen else []) + [{}]:
            try:
                self.plans[key] = plan = self.planned(mesh or {"data": 1}, known)
            except (Indivisible, NoSplit):
                continue
            if "model" in mesh:
                self.chosen[beside] = next(axis.splits for axis in plan.mesh.axes if axis.name == "model")
            return

    def fits(self, plan: ShardingPlan) -> bool:
        return plan.memory("full") <= self.memory

    def best(self) -> list[ShardingPlan]:
        """Those that fit first, by the time of an item; then those that are least too large."""

        def order(plan: ShardingPlan) -> tuple[bool, float]:
            fits = self.fits(plan)
            return not fits, self.seconds(plan) / plan.batch if fits else plan.memory("full")

        return sorted(self.plans.values(), key=order)


def found(search: MeshSearch, bandwidth: float) -> list[str]:
    """A page of the meshes on which a step takes least. Raises NoSplit where there is none."""
    plans = search.run()
    if not plans:
        few = f" with an item of a batch of {search.batch:,} for each copy" if search.batch is not None else ""
        raise NoSplit(f"no mesh of {search.devices:,} devices divides its axes{few}: name one with --mesh and --split")
    head = ("mesh", "a step", "of an item", "sending", "memory, all kept", "full checkpointing", "")
    rows = [
        (
            str(plan.mesh),
            time(search.seconds(plan)),
            time(search.seconds(plan) / plan.batch),
            percent(plan.sent_bytes / bandwidth, search.seconds(plan)),
            size(plan.memory()),
            size(plan.memory("full")),
            "" if plan.memory() <= search.memory else "with checkpointing" if search.fits(plan) else "too large",
        )
        for plan in plans[:SHOWN]
    ]
    return [*aligned([head, *rows]), *_searched(search)]


def _searched(search: MeshSearch) -> Iterator[str]:
    named = dict.fromkeys(name for key in search.plans for name, _ in key)
    every = listed([name for name in ("data", "expert", "context", "model") if name in named] or ["data"])
    left = ["`pipe`", "other splits"]
    if "context" not in named and input_widths(search.graph):
        left.append("`context`, as some fit without it")
    yield f"{search.tried:,} meshes of {every} tried, `model` up to {MOST}; not searched: {', '.join(left)}"


def divisors(number: int, most: int | None = None) -> list[int]:
    top = number if most is None else min(number, most)
    return [n for n in range(1, top + 1) if number % n == 0]
