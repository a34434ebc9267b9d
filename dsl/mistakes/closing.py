"""Where a bracket that was never closed should have been: the likeliest place that lets its statement be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..tokens import TOKEN

MAX_READ = 50_000
"""How many characters may be read in trying places for all brackets of a file. It is a fifth of a second."""

_BEGINNING = re.compile(r"(?:(?<![<>=!])=|[,(]|\breturn)\s*\Z")


@dataclass(frozen=True, slots=True)
class _Gap:
    """A place, and the token that follows. `splits`: it parts a name from a bracket that stands right behind it;
    `sums`: what is before it adds or subtracts."""

    at: int
    following: str
    splits: bool
    sums: bool


class Closing:
    """Looks for places until MAX_READ characters have been read."""

    def __init__(self) -> None:
        self.left = MAX_READ

    def offset(self, statement: str, opened: int, closers: str, reads: Callable[[str], bool]) -> int | None:
        """Where in a statement to close the bracket at `opened`, and those around it that `closers` closes as well.

        reads: whether a statement can be read. None: it can with no place, or it is too long to tell.
        """
        if len(statement) > self.left:
            return None
        for at in _likely(statement, opened):
            self.left -= len(statement)
            if reads(statement[:at] + closers + statement[at:]):
                return at
            if self.left < 0:
                break
        return None


def _likely(statement: str, opened: int) -> Iterator[int]:
    """Places to close a bracket, the likeliest first.

    What square brackets hold is short, and ends before the `(` of a call: `dot[d(Q, K)`; in other places it ends as
    soon as it can: `K[a as b, mask = m)`. Round ones hold as much as they can. But those that stand at the beginning of
    an expression are there for the sake of a sum: `(a - b % c == 0`.
    """
    places = list(_gaps(statement, opened))
    square = statement[opened] == "["
    if square:
        call = next((place.at for place in places if place.following == "("), opened)
        if call > opened and not re.search("=| as ", statement[opened:call]):
            yield call
    elif _BEGINNING.search(statement, 0, opened):
        yield from [place.at for place in places if place.sums and place.following in tuple("*/%^")][:1]
    for place in sorted(places, key=lambda place: (place.splits, place.at if square else -place.at)):
        yield place.at


def _gaps(statement: str, opened: int) -> Iterator[_Gap]:
    """Behind each token that the bracket at `opened` holds, down to what closes a bracket further out."""
    depth, at, last, sums = 0, opened + 1, "", False
    for found in TOKEN.finditer(statement, at):
        kind, token = found.lastgroup, found.group()
        if kind == "space" or kind == "newline":
            continue
        if not depth:
            yield _Gap(at, token, last == "word" and found.start() == at and kind == "open", sums)
            sums = sums or token == "+" or token == "-"
        depth += (kind == "open") - (kind == "close")
        if depth < 0:
            return
        at, last = found.end(), kind or ""
    if not depth:
        yield _Gap(at, "", False, sums)
