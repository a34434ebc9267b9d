"""From one text to a later one: where each place of it has gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

_MOST = 4_000_000
"""Pairs of lines that are compared; beyond that, what was changed is one stretch."""


@dataclass(frozen=True, slots=True)
class Shift:
    """before, after: how many characters are equal at the start and at the end. equal: stretches that both texts have:
    where they begin in the old one, and in the new one, and their length.
    """

    before: int
    after: int
    equal: tuple[tuple[int, int, int], ...]

    @staticmethod
    def between(old: str, new: str) -> Shift:
        before = _common(old, new)
        most = min(len(old), len(new)) - before
        after = _common(old[len(old) - most :][::-1], new[len(new) - most :][::-1])
        equal = [(0, 0, before)]
        a = old[before : len(old) - after].splitlines(keepends=True)
        b = new[before : len(new) - after].splitlines(keepends=True)
        if len(a) * len(b) <= _MOST:
            at_a, at_b = _starts(a, before), _starts(b, before)
            for i, j, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
                equal.append((at_a[i], at_b[j], at_a[i + size] - at_a[i]))
        return Shift(before, after, (*equal, (len(old) - after, len(new) - after, after)))

    def changes(self) -> Iterator[tuple[int, int, int, int]]:
        """What differs: from where to where in the old text, and what stands for it in the new one."""
        a = b = 0
        for old, new, size in self.equal:
            if old > a or new > b:
                yield a, old, b, new
            a, b = old + size, new + size

    def back(self, offset: int) -> int | None:
        """The place in the old text of a place in the new one; None in what is new."""
        for old, new, size in self.equal:
            if new <= offset <= new + size and size:
                return offset - new + old
        return None

    def forth(self, offset: int) -> int | None:
        """The other way round."""
        for old, new, size in self.equal:
            if old <= offset <= old + size and size:
                return offset - old + new
        return None


def _common(a: str, b: str) -> int:
    """How many characters are equal at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _starts(lines: list[str], start: int) -> list[int]:
    starts = [start]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts
