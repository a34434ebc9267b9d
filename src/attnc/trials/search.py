"""The search for a witness: at several sizes, all items of all inputs are changed, each by itself, and one appended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.causality.witness import Tried, Witness
from ..compiler.graph.nodes import Graph, Input
from ..compiler.sizes.axes import Axis
from .places import input_places, result_places
from .run import NotTried, RunnableGraph, changed
from .shrink import shrunk
from .sizes import MEASURED, TriedSizes, candidates, larger

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = dict[str, Array]
SHARE = 1e-6  # of a result's standard deviation: what changes more is no rounding
SECONDS = 2.0
AT_ONCE = 48  # changes that are run as one batch, where widths are small
CELLS = 200_000  # triples of items, in such a batch
MOST = 64  # places along the axis, of which all are changed; of more, a few


def tried(graph: Graph, result: int, axis: Axis, hints: Mapping[str, int]) -> Tried:
    """Tries a claim; see `compiler/causality/witness.py`."""
    clock = Clock()
    smaller = shrunk(graph, axis)
    found = _tried(smaller, result, axis, hints, clock)
    return _tried(graph, result, axis, hints, clock) if not found.trials and smaller is not graph else found


def _tried(graph: Graph, result: int, axis: Axis, hints: Mapping[str, int], clock: Clock) -> Tried:
    try:
        run = RunnableGraph(graph)
    except NotTried as problem:
        return Tried(None, 0, str(problem))
    trials = 0
    for count, sizes in enumerate(candidates(graph, axis, hints)):
        for seed in (0, 1, 2, 3) if count < 3 else (count % 4,):
            if not clock.allows(sizes):
                continue
            attempt = Attempt(run, graph, result, axis, sizes, seed, clock)
            with clock.measures(attempt):
                witness = attempt.witness()
            trials += attempt.count
            if witness is not None:
                return Tried(witness, trials)
    return Tried(None, trials, "" if trials else "no sizes were found at which it runs")


class Clock:
    """How long trials have taken, and what larger ones would: as the square of what is longest in them. It is the time
    of this thread, so that what is found does not hang on what else runs.
    """

    def __init__(self) -> None:
        self.started = time.thread_time()
        self.pair = 0.0  # seconds for a pair of items in one run, at the sizes that were tried last

    def allows(self, sizes: TriedSizes) -> bool:
        """Whether there is time for two runs: those of the least that can be tried."""
        return time.thread_time() - self.started + 2 * self.pair * sizes.longest**2 < SECONDS

    @property
    def is_over(self) -> bool:
        return time.thread_time() - self.started > SECONDS

    @contextmanager
    def measures(self, attempt: Attempt) -> Iterator[None]:
        began = time.thread_time()
        yield
        self.pair = (time.thread_time() - began) / max(attempt.copies, 1) / attempt.sizes.longest**2


@dataclass(frozen=True)
class OneChange:
    """An input that is changed at a place, and where its elements are that stand there."""

    entry: Input
    place: float
    where: Array

    def put(self, given: Inputs, other: Inputs) -> Array:
        """The input with other values there."""
        return np.where(self.where, other[self.entry.name], given[self.entry.name])


class Attempt:
    """One claim at one set of sizes, with weights and inputs drawn by one seed.

    count: how often the graph ran; copies: of how many sets of inputs.
    """

    def __init__(
        self, run: RunnableGraph, graph: Graph, result: int, axis: Axis, sizes: TriedSizes, seed: int, clock: Clock
    ) -> None:
        self.clock, self.copies = clock, 0
        self.run, self.graph, self.result, self.axis, self.sizes, self.seed = run, graph, result, axis, sizes, seed
        self.longer = larger(sizes, graph, axis)
        self.count = 0

    def witness(self) -> Witness | None:
        """None also where the graph cannot be run at these sizes."""
        try:
            found = self._changed()
            if self.sizes.longest < MEASURED and found is None and (found := self._appended(self.seed)) is not None:
                found = self._appended(self.seed + 100) and found  # by chance, two lengths may round apart
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

    def _results(self, inputs: Inputs, copies: int = 1) -> Array:
        found = self.run(inputs, fast=self.sizes.longest >= MEASURED)[self.result]
        self.count += 1
        self.copies += copies
        return found

    def _changed(self) -> Witness | None:
        """The largest change by an item of an input, replayed by itself."""
        _, given, numbers = self._given(self.seed)
        before = self._results(given)
        at = result_places(self.graph.outputs[self.result].axes, self.axis, self.sizes)
        spread = _spread(before)
        other = {e.name: changed(e, given[e.name], numbers, self.sizes) for e in self.run.inputs if e.name in given}
        changes = list(self._changes(given))
        most = max(1, min(AT_ONCE, CELLS // self.sizes.longest**3))
        for start in range(0, len(changes), most):
            if start and self.clock.is_over:
                break
            batch = changes[start : start + most]
            if len(batch) > 1:  # all at once; what moves most is then run by itself
                stacked = {name: np.repeat(value[None], len(batch), axis=0) for name, value in given.items()}
                for row, change in enumerate(batch):
                    stacked[change.entry.name][row] = change.put(given, other)
                after = self._results(stacked, len(batch))
                moved = [_moved(after[row], before, at < change.place) for row, change in enumerate(batch)]
                most_moved = int(np.argmax([each.max(initial=0.0) for each in moved]))
                if moved[most_moved].max(initial=0.0) <= SHARE * spread:
                    continue
                batch = [batch[most_moved]]
            (change,) = batch
            alone = self._results(given | {change.entry.name: change.put(given, other)})
            found = _moved(alone, before, at < change.place)
            if found.max(initial=0.0) > SHARE * spread:
                return self._told(change.entry.name, change.place, found, at, spread)
        return None

    def _changes(self, given: Inputs) -> Iterator[OneChange]:
        for entry in self.graph.inputs:
            places = input_places(self.graph, entry, self.axis, self.sizes) if entry.name in given else None
            if places is None:
                continue
            each = np.unique(places)
            if len(each) > MOST:
                each = each[[-1, 1, len(each) // 2]]
            for place in each.tolist():
                yield OneChange(entry, place, places == place)

    def _appended(self, seed: int) -> Witness | None:
        """The largest change by what is behind the last item of the shorter inputs."""
        if self.longer is None:
            return None
        longer, shorter = self.longer, self.sizes
        for entry in self.graph.inputs:  # those that have no places must be the same
            ends = [input_places(self.graph, entry, self.axis, each) for each in (shorter, longer)]
            axes = entry.value.type.axes
            if ends[0] is None and any(shorter.of(axis) != longer.of(axis) for axis in axes):
                return None
            if ends[0] is not None and ends[1] is not None and not np.array_equal(ends[0], _part(ends[1], ends[0])):
                return None
        whole, given, _ = self._given(seed)
        axes = self.graph.outputs[self.result].axes
        at = result_places(axes, self.axis, shorter)
        before = self._results(given)
        after = self._results(whole)
        same = _part(result_places(axes, self.axis, longer), at) == at
        moved = _moved(_part(after, before), before, same)
        spread = _spread(before)
        if moved.max(initial=0.0) <= SHARE * spread:
            return None
        entry = next(e for e in self.graph.inputs if input_places(self.graph, e, self.axis, shorter) is not None)
        first = input_places(self.graph, entry, self.axis, shorter)
        assert first is not None
        return replace(self._told(entry.name, first.max(initial=-1.0) + 1, moved, at, spread), appended=True)

    def _told(self, name: str, place: float, moved: Array, at: Array, spread: float) -> Witness:
        where = np.unravel_index(int(np.argmax(moved)), moved.shape)
        change = float(moved[where])
        sizes = self.sizes.named(self.graph)
        return Witness(name, int(place), self.result, int(at[where]), change, change / spread, sizes)


def _moved(after: Array, before: Array, where: Array) -> Array:
    """By how much each element differs, of those asked for, as far as both are numbers."""
    with np.errstate(invalid="ignore"):
        change = np.abs(after - before)
    return np.where(where & np.isfinite(change), change, 0.0)


def _part(whole: Array, like: Array) -> Array:
    """The beginning of an array, as much in each dimension as another has."""
    return whole[tuple(slice(size) for size in like.shape)]


def _spread(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.std()) if known.size and known.std() > 0 else 1.0
