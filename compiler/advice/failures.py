"""An adviser that fails. Nothing that it has to say is worth the check of a file: the others are heard, and the failure
is ours, no mistake of the file. `attnc check --strict` says that it happened; in tests it raises (tests/conftest.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from ..sizes.limits import TooMuch

T = TypeVar("T")


class Failure(NamedTuple):
    """adviser: its name in the code."""

    adviser: str
    bug: Exception


class Failures(list[Failure]):
    """Those of one check."""

    def heard(self, adviser: Callable[..., Iterable[T]], *given: object) -> Iterator[T]:
        """What an adviser finds, up to where it fails, if it does. One that has too much to look at says no more."""
        try:
            yield from adviser(*given)
        except (TooMuch, RecursionError):
            return
        except Exception as bug:
            self.failed(Failure(adviser.__name__, bug))

    def failed(self, failure: Failure) -> None:
        self.append(failure)
