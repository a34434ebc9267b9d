"""What a model says that its results read (`attnc reads`), tried: one item of an input is changed, or one appended, and
the graph is run in NumPy. Whatever changes must lie within what is printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np

from attnc.compiler.graph.nodes import Graph, Input
from attnc.compiler.reads import ItemsRead, ReadPlace, ResultReads, reads
from attnc.compiler.sizes.axes import Axis
from attnc.trials.run import NotTried, RunnableGraph, changed
from attnc.trials.shrink import shrunk
from attnc.trials.sizes import SizeChoice, TriedSizes
from attnc.trials.work import work_of

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = dict[str, Array]
ITEMS = 40  # of one input, changed each by itself
CELLS = 400_000  # numbers of one value in a batch
WORK = 40_000_000  # numbers that one run makes, at most
ROUNDING = 1e-7  # of what is largest in a result: what changes less is no more than rounding


@dataclass
class Tally:
    """changes: items of results that changed; outside: those of which it is not said, in words."""

    changes: int = 0
    runs: int = 0
    outside: list[str] = field(default_factory=list)


def perturbed(graph: Graph, tally: Tally, *, seeds: Sequence[int] = (0,), small: int = 2, beyond: int = 1) -> None:
    """Tries a graph at some sizes."""
    along = [axis for entry in graph.inputs for axis in entry.value.type.axes if axis.is_width]
    along += [axis for output in graph.outputs for axis in output.axes if axis.is_width]
    if along:
        graph = shrunk(graph, along[0])
    try:
        run = RunnableGraph(graph)
    except NotTried:
        return
    said = reads(graph)
    for axis in {axis.family: axis for axis in reversed(along)}.values():
        choice = SizeChoice(graph, axis, ())
        for sizes in (*islice(choice.small(), small), *islice(choice.beyond(), beyond)):
            for seed in seeds:
                _Attempt(run, graph, said, sizes, choice.longer(sizes), seed, tally).tried()


@dataclass
class _Attempt:
    run: RunnableGraph
    graph: Graph
    said: tuple[ResultReads, ...]
    sizes: TriedSizes
    longer: TriedSizes | None
    seed: int
    tally: Tally

    def tried(self) -> None:
        try:
            work = work_of(self.graph, self.longer or self.sizes)
        except ValueError:
            return
        self.most = max(1, min(64, CELLS // max(work.largest, 1)))
        if work.of(2) > WORK:
            return
        numbers = np.random.default_rng(self.seed)
        self.run.redraw(numbers, positive=self.seed % 2 == 1)
        whole = self.run.drawn(numbers, self.longer or self.sizes, self.sizes, large=True, negative=self.seed % 2 == 1)
        entries = {entry.name: entry for entry in self.run.inputs}
        given = {name: _cut(value, entries[name], self.sizes) for name, value in whole.items()}
        try:
            before = self.run(given, fast=False)
        except Exception:  # whatever it refuses: sizes, indices out of range
            return
        self.tally.runs += 1
        self._changed(given, before, numbers)
        if self.longer is not None:
            try:
                after = self.run(whole, fast=False)
            except Exception:
                return
            self._compared(
                before, [each[tuple(map(slice, one.shape))] for each, one in zip(after, before, strict=True)]
            )

    # -- one item changed --------------------------------------------------------------------------------------------

    def _changed(self, given: Inputs, before: list[Array], numbers: np.random.Generator) -> None:
        rows = list(self._rows(given, numbers))
        for start in range(0, len(rows), self.most):
            part = rows[start : start + self.most]
            stacked = {
                name: np.stack([value, *(row.get(name, value) for _, _, row in part)]) for name, value in given.items()
            }
            try:
                together = self.run(stacked, fast=False)
            except Exception:
                continue
            for at, (entry, item, row) in enumerate(part, 1):
                for number, result in enumerate(self.said):
                    moved = _moved(together[number][at], together[number][0])
                    if moved.any():
                        within = self._within(result, entry, item, moved.shape)
                        self.tally.changes += int(moved.sum())
                        if (moved & ~within).any():
                            self._tell(number, result, entry.name, item, moved & ~within, given, row)

    def _rows(self, given: Inputs, numbers: np.random.Generator) -> Iterator[tuple[Input, dict[str, int], Inputs]]:
        """Each change: of which input, at which item of its widths, and the input as it is then."""
        for entry in self.graph.inputs:
            if entry.name not in given:
                continue
            value, axes = given[entry.name], entry.value.type.axes
            other = changed(entry, value, numbers, self.sizes)
            widths = [(place, axis) for place, axis in enumerate(axes) if axis.is_width]
            items = list(product(*(range(value.shape[place]) for place, _ in widths)))
            if len(items) > ITEMS:
                items = [
                    items[at] for at in sorted({0, len(items) - 1, *numbers.integers(0, len(items), ITEMS).tolist()})
                ]
            for item in items:
                where: list[Any] = [slice(None)] * len(axes)
                for at, (place, _) in zip(item, widths, strict=True):
                    where[place] = at
                row = np.array(value)
                row[tuple(where)] = np.asarray(other)[tuple(where)]
                yield entry, {axis.name: at for at, (_, axis) in zip(item, widths, strict=True)}, {entry.name: row}

    def _within(self, result: ResultReads, entry: Input, item: Mapping[str, int], shape: tuple[int, ...]) -> Array:
        """Which items of a result may read this one, as it is said."""
        found = np.zeros(shape, bool)
        for way in result.ways:
            if way.input == entry.name:
                found |= self._lies(way, result, item, shape, self.sizes)
        return found

    def _lies(
        self, way: ItemsRead, result: ResultReads, item: Mapping[str, int], shape: tuple[int, ...], sizes: TriedSizes
    ) -> Array:
        """Of each item of a result whether this item of an input, `at` by the widths of it, lies within its bounds."""
        found = np.ones(shape, bool)
        for place in way.at:
            if place.axis in item:
                for text, sign in _bounds(place):
                    value = self._value(text, result.axes, shape, sizes)
                    found &= (value - item[place.axis]) * sign >= 0
        return found

    def _value(self, text: str, axes: Sequence[str], shape: tuple[int, ...], sizes: TriedSizes) -> Array:
        """A formula at each item of a result."""
        named = {axis.name: axis for axis in reversed(self.graph.axes)}
        code = re.sub(r"\|(\w+)\|", lambda match: str(sizes.of(named[match[1]])), text)
        used = [name for name in axes if re.search(rf"\b{name}\b", code)]
        code = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"F(\1)", code)
        at = {name: shape[place] for place, name in enumerate(axes)}
        values = [
            float(
                eval(
                    code,
                    {"F": Fraction, "floor": math.floor, "min": min, "max": max},
                    dict(zip(used, item, strict=True)),
                )
            )
            for item in product(*(range(at[name]) for name in used))
        ]
        spread = [at[name] if name in used else 1 for name in axes]
        order = np.array(values).reshape([at[name] for name in used])
        return np.broadcast_to(order.reshape(spread) if used else order.reshape([1] * len(axes)), shape)

    # -- one item appended -------------------------------------------------------------------------------------------

    def _compared(self, before: list[Array], after: list[Array]) -> None:
        """What changed of the items that there were must read one that is new, or how many there are."""
        assert self.longer is not None
        grown = {
            axis.name: range(self.sizes.of(axis), self.longer.of(axis)) for axis in self.graph.axes if self._grows(axis)
        }
        for number, result in enumerate(self.said):
            moved = _moved(after[number], before[number])
            if not moved.any():
                continue
            within = np.zeros(moved.shape, bool)
            for way in result.ways:
                for place in way.at:
                    for item in grown.get(place.axis, ()):
                        within |= self._lies(way, result, {place.axis: item}, moved.shape, self.longer)
            self.tally.changes += int(moved.sum())
            if (moved & ~within).any():
                self._tell(number, result, "one more", {name: new[0] for name, new in grown.items()}, moved & ~within)

    def _grows(self, axis: Axis) -> bool:
        assert self.longer is not None
        try:
            return self.longer.of(axis) > self.sizes.of(axis)
        except ValueError:
            return False

    def _tell(
        self, number: int, result: ResultReads, what: str, item: Mapping[str, int], outside: Array,
        given: Inputs | None = None, row: Inputs | None = None,
    ) -> None:  # fmt: skip
        if given is not None and row is not None and self._is_rounding(number, outside, given, given | row):
            return
        at = tuple(map(int, np.argwhere(outside)[0]))
        sizes = self.sizes.named(self.graph)
        self.tally.outside.append(
            f"{self.graph.name}: {what} at {dict(item)} moves {result.name}{list(at)}, {sizes}, seed {self.seed}"
        )

    def _is_rounding(self, number: int, outside: Array, given: Inputs, other: Inputs) -> bool:
        """Whether it is of numbers that cancel: then it is larger by far in float32."""
        fine, coarse = (
            [self.run(inputs, fast=False, coarse=coarse)[number] for inputs in (given, other)]
            for coarse in (False, True)
        )
        apart, more = (np.abs(two[1] - two[0])[outside] for two in (fine, coarse))
        return bool((more > 100 * apart).all())


def _cut(value: Array, entry: Input, sizes: TriedSizes) -> Array:
    short = value[tuple(slice(sizes.of(axis)) for axis in entry.value.type.axes)]
    return short if entry.length_of is None else np.minimum(short, sizes.of(entry.length_of))


def _bounds(place: ReadPlace) -> list[tuple[str, int]]:
    """Formulas, with 1 for what an index is at most, -1 for what it is at least."""
    exact = [] if place.exact is None else [(place.exact, 1), (place.exact, -1)]
    return [*exact, *((text, 1) for text in place.uppers), *((text, -1) for text in place.lowers)]


def _moved(after: Array, before: Array) -> Array:
    """Where a number has become another one. What is no number says nothing."""
    known = np.isfinite(after) & np.isfinite(before)
    with np.errstate(all="ignore"):
        apart = np.where(known, np.abs(after - before), 0)
    largest = np.abs(np.where(known, before, 0)).max(initial=0)
    return np.asarray(apart > ROUNDING * max(float(largest), 1e-3))
