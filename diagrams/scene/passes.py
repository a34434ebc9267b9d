"""Repeats whose passes differ: the shortest way to say which body runs when.

The passes A A A B A A A B of a repeat are written (A x3, B) x2, and drawn so, bracket within bracket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

_LONG = 48  # up to so many passes every way is tried; more are written as runs of equal passes


@dataclass(frozen=True, slots=True)
class PassGroup:
    """`times` times the parts, one after the other. `passes`: the numbers of all passes in it."""

    parts: tuple[Part, ...]
    times: int
    passes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BodyPasses:
    """One body, and in which passes it runs here."""

    number: int
    passes: tuple[int, ...]


Part = PassGroup | BodyPasses


def plan(variant: Sequence[int]) -> tuple[Part, ...]:
    """The parts of all passes, `variant[i]` being the body of pass i."""
    out, at = [], 0
    for shape in _shapes(tuple(variant)):
        out.append(_placed(shape, (at,)))
        at += _length(shape)
    return tuple(out)


_Shape = tuple[tuple["_Shape", ...], int] | int  # parts and times, or a body


def _length(shape: _Shape) -> int:
    return 1 if isinstance(shape, int) else shape[1] * sum(map(_length, shape[0]))


def _cost(shapes: tuple[_Shape, ...]) -> float:
    """Bodies to draw; of these the fewest brackets."""
    return sum(1.0 if isinstance(s, int) else 0.1 + _cost(s[0]) for s in shapes)


def _placed(shape: _Shape, starts: tuple[int, ...]) -> Part:
    """The shape at each of the passes at which it begins."""
    if isinstance(shape, int):
        return BodyPasses(shape, starts)
    parts, times = shape
    inner = sum(map(_length, parts))
    out = []
    at = [start + k * inner for start in starts for k in range(times)]
    for part in parts:
        out.append(_placed(part, tuple(at)))
        at = [a + _length(part) for a in at]
    every = sorted(start + k for start in starts for k in range(times * inner))
    return PassGroup(tuple(out), times, tuple(every))


def _shapes(word: tuple[int, ...]) -> tuple[_Shape, ...]:
    if len(word) > _LONG:
        for period in range(2, _LONG + 1):  # it may still be a short word, repeated
            if len(word) % period == 0 and word[:period] * (len(word) // period) == word:
                return _runs(word) if len(set(word)) == 1 else ((_shapes(word[:period]), len(word) // period),)
        return _runs(word)

    @cache
    def best(a: int, b: int) -> tuple[_Shape, ...]:
        if b - a == 1:
            return (word[a],)
        shortest = _runs(word[a:b])
        if len(shortest) == 1:
            return shortest
        for period in range(2, (b - a) // 2 + 1):
            if (b - a) % period == 0 and word[a : b - period] == word[a + period : b]:
                return ((best(a, a + period), (b - a) // period),)
        for cut in range(a + 1, b):
            trial = best(a, cut) + best(cut, b)
            if _cost(trial) < _cost(shortest):
                shortest = trial
        return shortest

    return best(0, len(word)) if word else ()


def _runs(word: tuple[int, ...]) -> tuple[_Shape, ...]:
    out: list[_Shape] = []
    at = 0
    while at < len(word):
        end = at
        while end < len(word) and word[end] == word[at]:
            end += 1
        out.append(word[at] if end == at + 1 else ((word[at],), end - at))
        at = end
    return tuple(out)


def passes_text(name: str, chosen: Sequence[int], among: Sequence[int], most: int = 5) -> str:
    """Which passes: `i even`, `i ≤ 2`, `i mod 6 = 5`, `i = 0, 3, 4`; nothing where it is all of them.

    `chosen` and `among` are sorted. `most`: how many numbers are written out.
    """
    rest = sorted(set(among) - set(chosen))
    if not rest:
        return ""
    first, last = chosen[0], chosen[-1]
    if len(chosen) == 1:
        return f"{name} = {first}"
    if list(chosen) == [v for v in among if first <= v <= last]:
        if first == among[0]:
            return f"{name} ≤ {last}"
        return f"{name} ≥ {first}" if last == among[-1] else f"{name} = {first}…{last}"
    if len(rest) == 1:
        return f"{name} ≠ {rest[0]}"
    for period in range(2, len(among)):
        if list(chosen) == [v for v in among if v % period == first % period]:
            if period == 2:
                return f"{name} odd" if first % 2 else f"{name} even"
            return f"{name} mod {period} = {first % period}"
        if rest == [v for v in among if v % period == rest[0] % period]:
            return f"{name} mod {period} ≠ {rest[0] % period}"
    shown = ", ".join(map(str, chosen[:most]))
    return f"{name} = {shown}" + (", …" if len(chosen) > most else "")
