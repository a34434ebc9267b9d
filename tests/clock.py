"""How long work takes, without seconds: machines differ, and so does what else they do. The one clock of the tests.

Work is measured in yardsticks, a fixed piece of work of the same process, by the processor's time; or against other
work, or itself at another size. Where a test waits for something, it waits patiently: only not for ever.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 300.0  # seconds, for anything that comes at all


def _work() -> object:
    """What the checker mostly does: dicts, tuples, calls and patterns. A tenth of a second, more or less."""
    word, found = re.compile(r"[a-z]+|\d+"), dict[tuple[str, int], list[str]]()
    for number in range(15_000):
        text = f"{number} apples and {number * 7919 % 1000} pears, {number % 13} of them ripe"
        for place, part in enumerate(word.findall(text)):
            found.setdefault((part, place % 5), []).append(part)
    return sorted(found, key=lambda each: (len(found[each]), each))


def spent(work: Callable[[], object]) -> float:
    """Seconds of the processor, to be divided by others alone."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


_yardsticks: list[float] = []


def _yardstick(rounds: int) -> list[float]:
    _yardsticks.extend(spent(_work) for _ in range(rounds))
    return _yardsticks


def _in_yardsticks(seconds: float) -> float:
    """At most so many: by the slowest of those that were just measured, as something may have run beside the work."""
    return seconds / max(_yardstick(3)[-3:])


@contextmanager
def at_most(yardsticks: float) -> Iterator[None]:
    """What is done within takes no longer. A yardstick is measured where it is close alone."""
    begun = time.process_time()
    yield
    seconds = time.process_time() - begun
    if seconds > yardsticks * min(_yardsticks or _yardstick(1)):
        found = _in_yardsticks(seconds)
        assert found <= yardsticks, f"{found:.0f} yardsticks, more than {yardsticks:.0f}"


def yardsticks_so_far() -> float:
    """Of the processor, that this process has taken in all."""
    return _in_yardsticks(time.process_time())


def least(work: Callable[[], object], rounds: int = 3) -> float:
    """The yardsticks that the quickest of several rounds takes."""
    return _in_yardsticks(min(spent(work) for _ in range(rounds)))


def ratio(one: Callable[[], object], other: Callable[[], object], rounds: int = 5) -> float:
    """What the one takes of what the other takes: the median of pairs."""
    return statistics.median(spent(one) / spent(other) for _ in range(rounds))


def elapsed(work: Callable[[], object]) -> float:
    """Seconds on the wall, for what other processes do: to be compared with others alone."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def now() -> tuple[float, float]:
    """Seconds on the wall, and of the processor: for what is printed alone."""
    return time.monotonic(), time.process_time()


def patience(seconds: float = PATIENCE) -> Callable[[], bool]:
    """Whether so much time has not passed yet."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


def wait_until(so: Callable[[], object], why: Callable[[], object] = str, pause: float = 0.02) -> None:
    """why: what is to be said of what never comes."""
    waiting = patience()
    while not so():
        assert waiting(), why()
        time.sleep(pause)
