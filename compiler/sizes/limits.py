"""What is too much: sizes beyond which a spec is refused rather than worked at for minutes (E0220).

They are far above what published models need, and low enough that the text of a stranger is answered at once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto

from ...dsl.source import Span

MISTAKES = 100  # reported in one file
FILES_DEEP = 50  # uses of uses
FILES = 200
PATH = 200  # letters of what a `use` names; file systems have no more than 255 for one name
CALLS_DEEP = 100  # blocks that call blocks
BODIES = 2_000  # elaborated for distinct sizes, copies and kinds of arguments
WORK = 40_000  # expressions and parameters checked beyond those of the text: for other bodies, for passes that differ
STEPS = 200_000  # of a model written out: each op of each call, of each pass
RANK = 64  # axes of one value; NumPy has no more
ELEMENTS = 1 << 40  # of one weight: four terabytes
PROOF = 300_000  # steps of one proof of causality
CASES = 16  # of one mask: what `or` joins
FACTS = 100  # of one case: what `and` joins
BOUNDS = 24  # of what one value depends on; more are as good as none
TERMS = 5_000  # of a number's formula
OPERANDS = 500  # of one op

FRAMES = 100_000  # of Python, for expressions and blocks as deep as the parser and CALLS_DEEP let them be


class Limit(Enum):
    """What there is too much of, and in which order what its message says of it is given."""

    MISTAKES = auto()  # the name of the block, the limit
    FILES = auto()  # the limits of files, and of their uses
    PATH = auto()  # the letters, the limit
    CALLS_DEEP = auto()  # the limit
    BODIES = auto()  # the limit
    WORK = auto()  # the limit
    STEPS = auto()  # the name of the block, its steps, the limit
    RANK = auto()  # the axes, the limit
    ELEMENTS = auto()  # the name of the weight, its elements, the limit
    TERMS = auto()  # the limit
    OPERANDS = auto()  # the limit
    NESTING = auto()


class ProofLimit(Enum):
    """Beyond which a proof goes on with less than it could know; then it may fail of what is true."""

    FACTS = auto()
    CASES = auto()
    STEPS = auto()  # of one search for what follows from the facts (sizes/forms)
    BOUNDS = auto()


_met: ContextVar[set[ProofLimit] | None] = ContextVar("met", default=None)


@contextmanager
def noting_limits() -> Iterator[set[ProofLimit]]:
    """The limits that are met meanwhile."""
    found = set[ProofLimit]()
    before = _met.set(found)
    try:
        yield found
    finally:
        _met.reset(before)


@contextmanager
def unnoted() -> Iterator[None]:
    """What is met meanwhile is noted nowhere."""
    before = _met.set(None)
    try:
        yield
    finally:
        _met.reset(before)


def is_met(limit: ProofLimit) -> None:
    """Notes that something was left out at this limit."""
    found = _met.get()
    if found is not None:
        found.add(limit)


class TooMuch(Exception):
    """The spec asks for more than there may be: of what, and the facts of the message. Whoever knows the place reports
    it (`Beyond`), unless it has one.
    """

    def __init__(self, limit: Limit, *facts: str | int, span: Span | None = None) -> None:
        self.limit, self.facts, self.span = limit, facts, span
        super().__init__(limit, *facts)


class Exhausted(TooMuch):
    """Too much in all, wherever it is that it became too much: nothing more is checked."""


_lock = threading.Lock()
_within = 0  # how many are in `deep` now: the limit is one for all threads
_before = 0


@contextmanager
def deep() -> Iterator[None]:
    """Room for what nests as deep as the limits let it."""
    global _within, _before
    with _lock:
        if not _within:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, FRAMES))
        _within += 1
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if not _within:
                sys.setrecursionlimit(_before)
