"""Contenders timed against each other in one process: shuffled rounds, the processor's clock, medians of paired ratios.

The clock counts what this process computes, on one thread, so that other work on a shared machine disturbs less; a
round runs every contender once, in a new order, so that what disturbs hits all alike.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

OURS = "attnc"
FLOOR = "floor"


@dataclass(frozen=True, slots=True)
class Case:
    """One piece of work. Every contender does all of it at each call; `check` raises if they do not do the same.

    prints: what it is, in a line.
    target: what ours may take, as a multiple of the floor; None where none was set, as at other sizes.
    steps: of decoding, how many layers times tokens it goes through.
    """

    name: str
    prints: str
    target: float | None
    contenders: Mapping[str, Callable[[], object]]
    check: Callable[[], None]
    steps: int | None = None


@dataclass(slots=True)
class Result:
    """Seconds of each round, by contender; and the peak of memory of one call, in bytes, where it is known."""

    case: Case
    seconds: dict[str, list[float]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)

    def ratio(self, one: str, other: str) -> Spread:
        return Spread.of([a / b for a, b in zip(self.seconds[one], self.seconds[other], strict=True)])

    def microseconds(self, name: str) -> float | None:
        """Of a layer in a step, the embedding and the scores included."""
        return 1e6 * statistics.median(self.seconds[name]) / self.case.steps if self.case.steps else None


@dataclass(frozen=True, slots=True)
class Spread:
    """The median, and the interval in which it lies with 90 % (by the bootstrap over rounds)."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        rng = random.Random(0)
        medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(1000))
        return cls(statistics.median(values), medians[50], medians[949])

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def run(case: Case, rounds: int, *, warm: int = 2, least: float = 0.05) -> Result:
    """`least` seconds: a contender that takes less is called several times a round."""
    result = Result(case, {name: [] for name in case.contenders})
    repeats = {}
    for name, call in case.contenders.items():
        for _ in range(warm - 1):
            call()
        repeats[name] = max(1, round(least / max(seconds(call, 1), 1e-9)))
    order = list(case.contenders)
    rng = random.Random(0)
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            result.seconds[name].append(seconds(case.contenders[name], repeats[name]))
    return result


def seconds(call: Callable[[], object], times: int) -> float:
    """Of one call, by the clock of the process."""
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times
