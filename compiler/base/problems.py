"""What a mistake is, and where mistakes are collected. The design stands at the head of `compiler/problems`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal, NoReturn, dataclass_transform

from ...dsl.diagnostic import SEVERITIES, Severity
from ...dsl.source import Span
from ..sizes.limits import MISTAKES, Limit, TooMuch


@dataclass_transform(frozen_default=True)
class Record:
    """To the type checker, a frozen dataclass. `dataclass` itself compiles each class at each import: a millisecond for
    each kind of mistake, in every run of `attnc check`, most of which find none.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = (name for name, kind in cls.__annotations__.items() if "ClassVar" not in kind)
        cls.FIELDS = (*cls.FIELDS, *own)

    def __init__(self, *given: object, **named: object) -> None:
        self.__dict__.update(zip(self.FIELDS, given, strict=False), **named)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.FIELDS)})"


class Problem(Record):
    """One mistake: `span` is where it stands; the fields of each kind are what it is about."""

    span: Span | None
    CODE: ClassVar[str] = ""

    def __init_subclass__(cls, code: str = "") -> None:
        super().__init_subclass__()
        cls.CODE = code or cls.CODE

    @property
    def code(self) -> str:
        """Its page in the catalogue."""
        return self.CODE

    @property
    def severity(self) -> Severity:
        return SEVERITIES[self.code[0]]

    @property
    def deep(self) -> bool:
        """Whether it follows from the expanded graph (D6, D7): it is told where the body has it, whoever calls it."""
        return False

    @property
    def text(self) -> str:
        """What is written where it stands."""
        return "" if self.span is None else self.span.text

    @property
    def place(self) -> object:
        """Two of one code at one place are the same mistake; one that stands nowhere is the same as itself."""
        return self.code, location_key(self.span) or self


class Problems:
    """The mistakes of a block (`of` is its name, and it may have only so many) or of files, in the order of finding."""

    def __init__(self, of: str = "") -> None:
        self.of = of
        self.found: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """Raises TooMuch beyond the number of mistakes of a block that are told."""
        self.found.append(problem)
        if self.of and self.errors > MISTAKES:
            raise TooMuch(Limit.MISTAKES, self.of, MISTAKES, span=problem.span)

    def refuse(self, problem: Problem) -> Literal[False]:
        """As `add`, for whoever answers whether all is well."""
        self.add(problem)
        return False

    @contextmanager
    def aside(self) -> Iterator[list[Problem]]:
        """What is found meanwhile is kept apart, for whoever asks to decide about."""
        kept, self.found = self.found, []
        try:
            yield self.found
        finally:
            self.found = kept

    @property
    def errors(self) -> int:
        return sum(problem.severity is Severity.ERROR for problem in self.found)


def location_key(span: Span | None) -> tuple[int, int, int] | None:
    """Where a mistake stands: two of one code at one place are the same."""
    return None if span is None else (id(span.source), span.start, span.end)
