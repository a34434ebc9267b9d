"""What is measured on a device, and how: cases, shuffled rounds of their contenders, goals, what is told of them."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from speed.timing import OURS, Spread
from torch import Tensor, nn

import attnc

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Goal:
    """Ours does at least so many units in a second; or, with a peer, so many times what that does."""

    least: float
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One piece of work. `amount` units of it are done by each call of each contender; ours are all named attnc...

    check: raises if the contenders do not compute the same.
    """

    name: str
    what: str
    unit: str
    amount: float
    contenders: Mapping[str, Call]
    goals: Sequence[Goal]
    check: Call


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how: `backend` is torch.compile's, `rounds` of each, but no more than fit into so many seconds."""

    device: torch.device
    small: bool
    backend: str
    rounds: int
    nanogpt: Path | None
    seconds: float = float("inf")

    def compiled(self, function: Callable[..., object]) -> Callable[..., Tensor]:
        made: Callable[..., Tensor] = torch.compile(function, backend=self.backend)
        return made

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def drawn(model: attnc.Model, setting: Setting, dtype: torch.dtype | None = None) -> nn.Module:
    """Ours, with weights that the device itself draws."""
    net = model.torch(device="meta", dtype=dtype).to_empty(device=setting.device)
    torch.manual_seed(0)
    net.reset_parameters()  # type: ignore[operator]  # PyTorch says Module or Tensor of every attribute
    return net


def in_blocks(blocks: Iterable[nn.Module], setting: Setting) -> None:
    """Each block compiled alone: one graph for all that are alike, where a whole model takes minutes."""
    for block in blocks:
        block.compile(backend=setting.backend)


@dataclass(slots=True)
class Result:
    """Seconds of each round, by contender. judged: at the sizes of the goals, on a GPU."""

    case: Case
    judged: bool
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def speed(self, name: str) -> float:
        return self.case.amount / statistics.median(self.seconds[name])

    def over(self, name: str, peer: str) -> Spread:
        """How many times the speed of the peer."""
        return Spread.of([b / a for a, b in zip(self.seconds[name], self.seconds[peer], strict=True)])

    @property
    def best(self) -> str:
        """The fastest way of ours."""
        return max((name for name in self.seconds if name.startswith(OURS)), key=self.speed)

    def goals(self) -> Iterator[tuple[str, float | None, bool | None]]:
        """What was asked for, what is, and whether that is enough; None where that cannot be told."""
        for goal in self.case.goals:
            if not goal.peer:
                found: float | None = self.speed(self.best)
                text = f"at least {goal.least:,g} {self.case.unit}/s"
            else:
                found = self.over(self.best, goal.peer).median if goal.peer in self.seconds else None
                text = f"at least {goal.least:g} times {goal.peer}"
            yield text, found, None if found is None or not self.judged else found >= goal.least


def run(case: Case, setting: Setting) -> Result:
    """Every contender once a round, as often in a row as fills a quarter of a second, in a new order."""
    result = Result(case, not setting.small, {name: [] for name in case.contenders})
    least = 0.0 if setting.small else 0.25
    times = {}
    for name, call in case.contenders.items():
        start = time.perf_counter()
        for _ in range(1 if setting.small else 5):  # what compiles has compiled after the first
            call()
            if time.perf_counter() - start > 10:
                break
        times[name] = max(1, round(least / max(seconds(call, 1, setting), 1e-9)))
    order, rng, begun = list(case.contenders), random.Random(0), time.perf_counter()
    for done in range(setting.rounds):
        if done > 1 and time.perf_counter() - begun > setting.seconds:
            break
        rng.shuffle(order)
        for name in order:
            result.seconds[name].append(seconds(case.contenders[name], times[name], setting))
    return result


def seconds(call: Call, times: int, setting: Setting) -> float:
    """Of one call, until the device has done it."""
    setting.wait()
    start = time.perf_counter()
    for _ in range(times):
        call()
    setting.wait()
    return (time.perf_counter() - start) / times


def show(result: Result) -> None:
    case = result.case
    print(f"\n{case.what}")
    for name in sorted(result.seconds, key=result.speed, reverse=True):
        beside = "" if name.startswith(OURS) else f"   {result.best} is {result.over(result.best, name)} times as fast"
        print(f"  {name:24} {result.speed(name):12,.4g} {case.unit}/s{beside}")
    for text, found, met in result.goals():
        verdict = {True: "met", False: "missed", None: "not judged"}[met]
        print(f"  goal: {text}: {'' if found is None else f'{found:,.4g}, '}{verdict}", flush=True)


def data(result: Result) -> dict[str, object]:
    peers_ = [name for name in result.seconds if not name.startswith(OURS)]
    return {
        "name": result.case.name,
        "what": result.case.what,
        "unit": result.case.unit,
        "rounds": len(result.seconds[OURS]),
        "per_second": {name: result.speed(name) for name in result.seconds},
        "seconds": result.seconds,
        "best": result.best,
        "best_over": {name: [s.median, s.low, s.high] for name in peers_ for s in [result.over(result.best, name)]},
        "goals": [{"goal": text, "found": found, "met": met} for text, found, met in result.goals()],
    }
