"""The search for a witness: at several sizes, all items of all inputs are changed, each by itself, and one appended."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from ..compiler.graph.nodes import Graph, Input
from ..compiler.problems.causality import Tried, Witness
from ..compiler.sizes.axes import Axis
from .places import input_places, result_places
from .run import NotTried, RunnableGraph, changed
from .shrink import shrunk
from .sizes import SizeChoice, TriedSizes
from .work import work_of

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = dict[str, Array]
SHARE = 1e-6  # of a result's standard deviation: what changes more is no rounding
DOUBTFUL = 1e-3  # what changes less is rounding, if it is more by this factor in float32:
FAR_MORE = 100
LEAST = 1e-6  # of what is largest in a result, or of 1: its standard deviation, at least
SECONDS = 2.0  # at most, on any machine
CLOCK = getattr(time, "thread_time", time.process_time)  # a browser's Python has one thread, and no clock of it
SMALL, BEYOND = 120_000_000, 600_000_000  # numbers that are made at small sizes, and beyond some number of the graph
OF_ONE = 0.1  # of these, for one set of sizes and one seed
REWRITTEN = 10_000_000  # of so many numbers a run is of code as it is rewritten
LEAST_OFTEN = 24  # sets of sizes and seeds, of small sizes
AT_ONCE = 48  # changes that are run as one batch
CELLS = 200_000  # numbers of one value, in such a batch
MEMORY = 40_000_000  # numbers of one value that is tried
MOST = 64  # places along the axis, of which all are changed if there is room; else the last, and some


def tried(graph: Graph, result: int, axis: Axis, numbers: Collection[int]) -> Tried:
    """Tries a claim; see `compiler/problems/causality.py`."""
    budget = Budget()
    smaller = shrunk(graph, axis)
    found = _tried(smaller, result, axis, numbers, budget)
    return _tried(graph, result, axis, numbers, budget) if not found.trials and smaller is not graph else found


def _tried(graph: Graph, result: int, axis: Axis, numbers: Collection[int], budget: Budget) -> Tried:
    try:
        run = RunnableGraph(graph)
    except NotTried as problem:
        return Tried(None, 0, str(problem))
    choice = SizeChoice(graph, axis, numbers)
    trials, large = 0, False
    for share, plan in ((SMALL, _often(list(choice.small()))), (BEYOND, zip(choice.beyond(), cycle(range(4))))):
        budget.left += share
        for sizes, seed in plan:
            try:
                attempt = Attempt(run, graph, result, axis, sizes, choice, seed, budget, int(share * OF_ONE))
            except ValueError:
                continue
            if not attempt.is_allowed(first=share is SMALL and not trials and not large):
                large = True
                continue
            witness = attempt.witness()
            trials += attempt.count
            if witness is not None:
                return Tried(witness, trials)
    nowhere = "it is too large to be tried" if large else "no sizes were found at which it runs"
    return Tried(None, trials, "" if trials else nowhere)


def _often(several: list[TriedSizes]) -> list[tuple[TriedSizes, int]]:
    """With the seeds at which each is tried: the first ones with several, and more the fewer there are."""
    seeds = [
        (sizes, seed) for count, sizes in enumerate(several) for seed in ((0, 1, 2, 3) if count < 3 else (count % 4,))
    ]
    again = ((sizes, seed) for seed in range(4, LEAST_OFTEN) for sizes in several[:3])
    return [*seeds, *islice(again, max(0, LEAST_OFTEN - len(seeds)))]


class Budget:
    """How much trials may still compute, so that how many there are is the same each time; and a limit of time, that
    of this thread, for a machine which is slower than it should be.
    """

    def __init__(self) -> None:
        self.started = CLOCK()
        self.left = 0

    def allows(self, cost: int) -> bool:
        return cost <= self.left and CLOCK() - self.started < SECONDS


@dataclass(frozen=True)
class OneChange:
    """An input that is changed at a place, and where its elements are that stand there."""

    entry: Input
    place: float
    where: Array

    def put(self, given: Inputs, other: Inputs) -> Inputs:
        """The input with other values there."""
        name = self.entry.name
        return {name: np.where(self.where, other[name], given[name])}


class Attempt:
    """One claim at one set of sizes, with weights and inputs drawn by one seed. count: changes that were tried.

    Raises ValueError for sizes that cannot be.
    """

    def __init__(
        self, run: RunnableGraph, graph: Graph, result: int, axis: Axis, sizes: TriedSizes, choice: SizeChoice,
        seed: int, budget: Budget, room: int,
    ) -> None:  # fmt: skip
        self.budget, self.room = budget, room
        self.run, self.graph, self.result, self.axis, self.sizes, self.seed = run, graph, result, axis, sizes, seed
        self.longer = choice.longer(sizes)
        self.work = work_of(graph, sizes)
        self.count = 0

    def is_allowed(self, first: bool) -> bool:
        """Whether there is room for the least that can be tried, a run and one with a change. first: for once."""
        return self.work.largest <= MEMORY and (first or self.budget.allows(2 * self.work.of(1)))

    def witness(self) -> Witness | None:
        """None also where the graph cannot be run at these sizes."""
        try:
            whole, given, numbers = self._given(self.seed)
            before, found = self._changed(given, numbers)
            if found is None and (found := self._appended(whole, given, before)) is not None:
                whole, given, _ = self._given(self.seed + 100)  # by chance, two lengths may round apart
                found = self._appended(whole, given, self._results(given)) and found
            return found
        except Exception:  # whatever a graph refuses: sizes, indices out of range
            return None

    def _given(self, seed: int) -> tuple[Inputs, Inputs, np.random.Generator]:
        """Inputs at the longer sizes, and what there is of them at the shorter ones."""
        numbers = np.random.default_rng(seed)
        self.run.redraw(numbers, positive=seed % 2 == 1)
        whole = self.run.drawn(
            numbers, self.longer or self.sizes, self.sizes, large=seed % 4 > 1, negative=seed % 2 == 1
        )
        entries = {entry.name: entry for entry in self.run.inputs}
        short = {}
        for name, value in whole.items():
            type = entries[name].value.type
            short[name] = value[tuple(slice(self.sizes.of(axis)) for axis in type.axes)]
            if (width := entries[name].length_of) is not None:
                short[name] = np.minimum(short[name], self.sizes.of(width))
        return whole, short, numbers

    def _results(self, inputs: Inputs, copies: int = 1, coarse: bool = False) -> Array:
        self.budget.left -= self.work.of(copies)
        return self.run(inputs, fast=self.work.numbers > REWRITTEN, coarse=coarse)[self.result]

    def _is_rounding(self, moved: Array, deviation: float, one: Inputs, other: Inputs) -> bool:
        """Whether a small change is of numbers that cancel, such as those of `cumsum[t](x) - x` where x is large."""
        change = moved.max(initial=0.0)
        if change > DOUBTFUL * deviation:
            return False
        a, b = (self._results(inputs, coarse=True) for inputs in (one, other))
        apart = np.abs(_part(a, moved) - _part(b, moved))[moved > 0]
        return not bool((apart <= FAR_MORE * change).all())

    def _changed(self, given: Inputs, numbers: np.random.Generator) -> tuple[Array, Witness | None]:
        """The results, and the largest change by an item of an input, replayed by itself."""
        at = result_places(self.graph.outputs[self.result].axes, self.axis, self.sizes)
        other = {e.name: changed(e, given[e.name], numbers, self.sizes) for e in self.run.inputs if e.name in given}
        changes = self._changes(given, numbers)
        most = max(1, min(AT_ONCE, CELLS // self.work.largest))
        before = self._results(given) if most == 1 or not changes else None
        while changes:
            batch, changes = changes[:most], changes[most:]
            if self.count and not self.budget.allows(self.work.of(len(batch))):
                break
            rows = [change.put(given, other) for change in batch]
            if before is None:
                before, *after = self._together(given, [{}, *rows])
            else:
                after = self._together(given, rows)
            self.count += len(batch)
            moved = [_moved(each, before, at < change.place) for each, change in zip(after, batch, strict=True)]
            most_moved = int(np.argmax([each.max(initial=0.0) for each in moved]))
            if moved[most_moved].max(initial=0.0) <= SHARE * spread(before):
                continue
            change = batch[most_moved]
            if len(batch) > 1:  # what moves most is then run by itself
                before = self._results(given)
            alone = _moved(self._results(given | rows[most_moved]), before, at < change.place)
            deviation = spread(before)
            if alone.max(initial=0.0) > SHARE * deviation and not self._is_rounding(
                alone, deviation, given, given | rows[most_moved]
            ):
                return before, self._told(change.entry.name, change.place, alone, at, deviation)
        assert before is not None
        return before, None

    def _together(self, given: Inputs, rows: Sequence[Inputs]) -> list[Array]:
        """The results with each of these inputs put in the place of those given."""
        if len(rows) == 1:
            return [self._results(given | rows[0])]
        stacked = {name: np.stack([row.get(name, value) for row in rows]) for name, value in given.items()}
        return list(self._results(stacked, len(rows)))

    def _changes(self, given: Inputs, numbers: np.random.Generator) -> list[OneChange]:
        """Of each place of each input; if that is too much, of each input's last and of some others."""
        last, others = [], []
        for entry in self.graph.inputs:
            places = input_places(self.graph, entry, self.axis, self.sizes) if entry.name in given else None
            if places is not None:
                *each, end = (OneChange(entry, place, places == place) for place in np.unique(places).tolist())
                last.append(end)
                others += each
        room = min(MOST * len(last), max(len(last), self.room // self.work.of(1)))
        if len(others) > room - len(last):
            kept = numbers.choice(len(others), room - len(last), replace=False)
            others = [others[place] for place in sorted(kept.tolist())]
        return [*last, *others]

    def _appended(self, whole: Inputs, given: Inputs, before: Array) -> Witness | None:
        """The largest change by what is behind the last item of the shorter inputs."""
        longer, shorter = self.longer, self.sizes
        if longer is None or not self.budget.allows(self.work.of(1)):
            return None
        for entry in self.graph.inputs:  # those that have no places must be the same
            ends = [input_places(self.graph, entry, self.axis, each) for each in (shorter, longer)]
            axes = entry.value.type.axes
            if ends[0] is None and any(shorter.of(axis) != longer.of(axis) for axis in axes):
                return None
            if ends[0] is not None and ends[1] is not None and not np.array_equal(ends[0], _part(ends[1], ends[0])):
                return None
        axes = self.graph.outputs[self.result].axes
        at = result_places(axes, self.axis, shorter)
        after = self._results(whole)
        self.count += 1
        same = _part(result_places(axes, self.axis, longer), at) == at
        moved = _moved(_part(after, before), before, same)
        deviation = spread(before)
        if moved.max(initial=0.0) <= SHARE * deviation or self._is_rounding(moved, deviation, given, whole):
            return None
        entry = next(e for e in self.graph.inputs if input_places(self.graph, e, self.axis, shorter) is not None)
        first = input_places(self.graph, entry, self.axis, shorter)
        assert first is not None
        return replace(self._told(entry.name, first.max(initial=-1.0) + 1, moved, at, deviation), appended=True)

    def _told(self, name: str, place: float, moved: Array, at: Array, deviation: float) -> Witness:
        where = np.unravel_index(int(np.argmax(moved)), moved.shape)
        change = float(moved[where])
        sizes = self.sizes.named(self.graph)
        return Witness(name, int(place), self.result, int(at[where]), change, change / deviation, sizes)


def _moved(after: Array, before: Array, where: Array) -> Array:
    """By how much each element differs, of those asked for, as far as both are numbers."""
    with np.errstate(invalid="ignore"):
        change = np.abs(after - before)
    return np.where(where & np.isfinite(change), change, 0.0)


def _part(whole: Array, like: Array) -> Array:
    """The beginning of an array, as much in each dimension as another has."""
    return whole[tuple(slice(size) for size in like.shape)]


def spread(values: Array) -> float:
    """The standard deviation; where there is next to none, so much that what is rounded does not count as a change."""
    known = values[np.isfinite(values)]
    return max(float(known.std()), LEAST * max(1.0, float(np.abs(known).max()))) if known.size else 1.0
