"""How a probe finds a leak: change much at once, see what moves, and narrow it down to one item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .kinds import Asked, Tensors, Trial, Unit, axis_trials, batch_trials, before, padding_trials, sides
from .report import Findings, Index, Leak
from .runner import Runner, copied, mode, precision, zeros
from .tensors import arguments, leaves, other, replaced

ROUNDING = 16  # so many times the difference between two equal runs is rounding, too
RANDOM = 0.05  # of its spread: an output that differs more from run to run tells nothing
BATCH_NORM = nn.modules.batchnorm._BatchNorm


def searched(
    module: Callable[..., Any],
    inputs: Tensor | Sequence[Any] | Mapping[str, Any],
    asked: Asked,
    *,
    train: bool,
    redraw: bool,
    dtype: torch.dtype | None,
    tolerance: float | None,
    seed: int,
) -> Findings:
    """The report of `attnc.probe`, whose arguments these are."""
    given = arguments(module, inputs)
    if redraw or dtype is not None:
        if not isinstance(module, nn.Module):
            raise ValueError("redraw, dtype: a function has no weights to copy")
        module = copied(module, seed if redraw else None, dtype)
        given = {name: _cast(value, name, dtype) for name, value in given.items()}
    with mode(module, train):
        return Search(Runner(module, given, not isinstance(inputs, Mapping), seed), asked, tolerance, seed).report()


def _cast(value: Any, name: str, dtype: torch.dtype | None) -> Any:
    tensors = {path: each.to(dtype) if each.is_floating_point() else each for path, each in leaves(value, name)}
    return replaced(value, name, tensors)


@dataclass(frozen=True)
class Move:
    """The largest change among what must stay: of which output, where, by how much, and as a share of its spread."""

    output: str
    item: Index
    change: float
    share: float


class Search:
    """One probe of one module."""

    def __init__(self, runner: Runner, asked: Asked, tolerance: float | None, seed: int) -> None:
        self.runner = runner
        self.asked = asked
        self.notes: list[str] = []
        self.changed: set[str] = set()  # inputs
        self.seen: set[str] = set()  # outputs
        self.generator = torch.Generator().manual_seed(seed)
        self.base = runner(runner.inputs)
        self.spread = {name: _spread(value) for name, value in self.base.items()}
        self.allowed = self._allowed(precision(runner) ** 0.5 if tolerance is None else tolerance)

    def _allowed(self, tolerance: float) -> dict[str, float]:
        """By output: the share of its spread up to which a change is rounding. Raises ValueError for one that has no
        number, or is another the second time.
        """
        again = self.runner(self.runner.inputs)
        allowed = {}
        for name, value in self.base.items():
            if value.numel() and not value.isfinite().any():
                raise ValueError(f"`{name}` holds no number for these inputs, so nothing can be told of it")
            noise = _most(_change(again[name], value)) / self.spread[name] if again[name].shape == value.shape else 1
            if noise > RANDOM:
                raise ValueError(
                    f"`{name}` is another in a second run on the same inputs: is it random, or remembered?"
                )
            if noise:
                self.notes.append(f"`{name}` differs by {noise:.1g} of its standard deviation from run to run")
            if value.numel() > 1 and not value.std():
                self.notes.append(f"`{name}` is the same everywhere, so that nothing could be seen in it")
            allowed[name] = max(tolerance, ROUNDING * noise)
        return allowed

    def report(self) -> Findings:
        asked = self.asked
        found: list[Leak | str | None] = []
        if asked.axis is not None:
            found.append(self._kind(axis_trials(asked, self.runner.inputs, self.base), "no later item"))
        if asked.shorter:
            found.append(self._length())
        if asked.batch is not None:
            found.append(self._kind(batch_trials(asked, self.runner.inputs, self.base), "no other example"))
        if asked.padding is not None:
            found.append(self._kind(padding_trials(asked, self.runner.inputs, self.base), "no padding"))
        leaks = tuple(each for each in found if isinstance(each, Leak))
        holds = tuple(each for each in found if isinstance(each, str))
        return Findings(leaks, holds, (*self.notes, *self._left(), *self._hidden()), self.runner.runs)

    def _left(self) -> Iterator[str]:
        """What was neither changed nor looked at."""
        if kept := [name for name in self.runner.inputs if name not in self.changed]:
            yield f"{_listed(kept)} stayed as given"
        if unseen := [name for name in self.base if name not in self.seen]:
            yield f"{_listed(unseen)} was not looked at"

    def _hidden(self) -> Iterator[str]:
        """What may hide a leak."""
        module = self.runner.module
        if names := zeros(module):
            more = f" and {len(names) - 1} more" if names[1:] else ""
            yield f"the weight `{names[0]}`{more} is zero, which hides what passes through it: redraw=True"
        parts = module.modules() if isinstance(module, nn.Module) else ()
        if self.asked.batch is not None and any(isinstance(each, BATCH_NORM) and not each.training for each in parts):
            yield "BatchNorm mixes the examples of a batch in training, which this was not: train=True"

    def _kind(self, trials: Iterator[Trial], what: str) -> Leak | str:
        """The largest leak that the trials show, or a line that says that there is none."""
        best: tuple[Move, Trial, Tensors] | None = None
        names: dict[str, None] = {}
        count, trial = 0, None
        for count, trial in enumerate(trials, start=1):  # noqa: B007
            fresh = self._fresh(trial)
            self.changed |= {name for name, value in fresh.items() if not torch.equal(value, self.runner.inputs[name])}
            self.seen |= trial.stay.keys()
            for move in self._moves(trial, trial.units, fresh):
                names[move.output] = None
                if best is None or move.share > best[0].share:
                    best = move, trial, fresh
        if trial is None:
            raise ValueError("axis: every item of the outputs may depend on every item of the inputs")
        if best is None:
            inputs = _listed(unit.input for unit in trial.units)
            return f"{what} of {inputs} changes {_listed(trial.stay)} ({count} tried)"
        move, trial, fresh = best
        units, move = self._narrowed(trial, move, fresh)
        items = tuple(unit.index for unit in units if unit.input == units[0].input)
        others = tuple(name for name in names if name != move.output)
        return Leak(trial.kind, units[0].input, items, move.output, move.item, move.change, move.share, others)

    def _fresh(self, trial: Trial) -> Tensors:
        """Other values for the inputs that a trial changes. Raises ValueError where there are none."""
        inputs = self.runner.inputs
        fresh = {name: other(inputs[name], self.generator) for name in {unit.input: None for unit in trial.units}}
        same = [name for name, value in fresh.items() if torch.equal(value, inputs[name])]
        if len(same) == len(fresh):
            raise ValueError(
                f"{trial.kind}: {_listed(same)} holds one integer only, so it cannot be changed to another"
            )
        return fresh

    def _narrowed(self, trial: Trial, move: Move, fresh: Tensors) -> tuple[tuple[Unit, ...], Move]:
        """The fewest units that halving finds to move that output, and how. Raises ValueError if it does not do so
        once more.
        """
        units = trial.units
        while len(units) > 1:
            half = len(units) // 2
            for part in (units[:half], units[half:]):
                if (moved := self._move(trial, part, fresh, move.output)) is not None:
                    break
            else:
                break
            units, move = part, moved
        again = self.runner(self.runner.inputs)[move.output]
        replayed = self._move(trial, units, fresh, move.output)
        if replayed is None or _most(_change(again, self.base[move.output])) > move.change / 2:
            raise ValueError(f"`{move.output}` moves, but not the second time: is it random, or remembered?")
        return units, replayed

    def _move(self, trial: Trial, units: Sequence[Unit], fresh: Tensors, output: str) -> Move | None:
        return next((move for move in self._moves(trial, units, fresh) if move.output == output), None)

    def _moves(self, trial: Trial, units: Sequence[Unit], fresh: Tensors) -> Iterator[Move]:
        """By how much each output moves that must not, when these units are changed."""
        inputs = dict(self.runner.inputs)
        for name, mask in _masks(units, inputs).items():
            inputs[name] = torch.where(mask, fresh[name], inputs[name])
        found = self.runner(inputs)
        for name, stay in trial.stay.items():
            change = torch.where(stay, self._against(name, found), 0.0)
            move = self._largest(name, change, trial.dims[name])
            if move is not None:
                yield move

    def _against(self, name: str, found: Tensors) -> Tensor:
        """What has changed of an output. Raises ValueError if its shape has."""
        if name not in found or found[name].shape != self.base[name].shape:
            raise ValueError(f"`{name}` has another shape for other values: name the inputs to change, by a mapping")
        return _change(found[name], self.base[name])

    def _largest(self, name: str, change: Tensor, dims: Index) -> Move | None:
        most = _most(change)
        if not most / self.spread[name] > self.allowed[name]:
            return None
        place = torch.unravel_index(change.argmax(), change.shape)
        return Move(name, tuple(int(place[dim]) for dim in dims), most, most / self.spread[name])

    def _length(self) -> Leak | str | None:
        """The inputs without their last items: what depends on those before alone must be as it was."""
        asked, inputs = self.asked, self.runner.inputs
        assert asked.axis is not None
        changed, seen = sides("axis", asked.axis, inputs, self.base, other_sizes=asked.last is not None)
        size = next(inputs[name].shape[dim] for name, dim in changed.items())
        cut = size - asked.shorter
        if cut < 1:
            raise ValueError(f"shorter: of {size} items, {asked.shorter} left off leave none")
        other_seed = self.runner(inputs, seed=self.runner.seed + 1)
        if any(_most(_change(other_seed[name], self.base[name])) for name in seen):
            self.notes.append("random numbers differ with the length, so that `shorter` tells nothing")
            return None
        short = {name: _cut(value, size, cut, changed.get(name), asked) for name, value in inputs.items()}
        found = self.runner(short)
        moves = []
        for name, dim in seen.items():
            items = before(self.base[name], dim, asked.last, cut).flatten().nonzero().flatten()
            if len(items) and found[name].shape[dim] <= int(items[-1]):
                raise ValueError(f"shorter: `{name}` loses more items than it must: {list(found[name].shape)}")
            pair = (each.index_select(dim, items) for each in (found[name], self.base[name]))
            move = self._largest(name, _change(*pair), (dim,))
            moves += [] if move is None else [replace(move, item=(int(items[move.item[0]]),))]
        if not moves:
            return f"nothing appended to {_listed(changed)} changes {_listed(seen)} before it"
        best = max(moves, key=lambda move: move.share)
        others = tuple(move.output for move in moves if move is not best)
        return Leak("length", next(iter(changed)), (), best.output, best.item, best.change, best.share, others)


def _cut(value: Tensor, size: int, cut: int, dim: int | None, asked: Asked) -> Tensor:
    """An input, shorter: along its axis, or, of a mask or another that was not named, wherever it is as long."""
    examples = asked.batch if isinstance(asked.batch, int) else 0 if asked.axis != 0 else None
    dims = [dim] if dim is not None else [d for d in range(value.ndim) if value.shape[d] == size and d != examples]
    for each in dims:
        value = value.narrow(each, 0, cut)
    return value


def _masks(units: Sequence[Unit], inputs: Tensors) -> dict[str, Tensor]:
    """By input: which of its entries these units are, as a mask that spreads to its shape."""
    masks: dict[str, Tensor] = {}
    for unit in units:
        value = inputs[unit.input]
        if unit.input not in masks:
            shape = [value.shape[dim] if dim in unit.dims else 1 for dim in range(value.ndim)]
            masks[unit.input] = torch.zeros(shape, dtype=torch.bool, device=value.device)
        index = dict(zip(unit.dims, unit.index, strict=True))
        masks[unit.input][tuple(index.get(dim, 0) for dim in range(value.ndim))] = True
    return masks


def _change(found: Tensor, base: Tensor) -> Tensor:
    """By how much each number differs: infinite where one of the two alone is none."""
    same = (found == base) | (found.isnan() & base.isnan())
    return torch.where(same, 0.0, (found - base).abs().nan_to_num(nan=torch.inf))


def _most(change: Tensor) -> float:
    return float(change.max()) if change.numel() else 0.0


def _spread(value: Tensor) -> float:
    """The standard deviation of what is a number; the size of a single one; 1 where that is 0."""
    known = value[value.isfinite()]
    return float(known.std() if len(known) > 1 else known.abs().sum()) or 1.0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))
