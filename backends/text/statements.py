"""The statements of a class or function as data: what is computed, in which order; not yet what anything is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from .expressions import Code, Variable, joined
from .names import plain


class Place(IntEnum):
    """Where an expression may stand that is read once."""

    ANYWHERE = 0  # where it is read, however long it is: behind `return`
    INLINE = 1  # where it is read, if it is short
    NAMED = 2  # in a line of its own, unless it is a variable already, or the result: the spec has a name for it
    ASIDE = 3  # where it is read, if what it is read from is read there or later too: what is told of an array
    LINE = 4  # in a line of its own


@dataclass(frozen=True, slots=True)
class Let:
    """`x = ...  # [axes]`, or nothing, where the expression is written in the place of its one reader."""

    variable: Variable
    code: Code
    comment: str = ""
    place: Place = Place.INLINE


@dataclass(frozen=True, slots=True)
class Do:
    """`a, b = ...`, or what is done for its effect. None: what nobody reads; a variable may have a value already."""

    code: Code
    targets: tuple[Variable | None, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Begin:
    """First values of what a loop carries. A variable takes over the name of its first value, if nobody else reads that
    any more.
    """

    variables: tuple[Variable, ...]
    codes: tuple[Code, ...]
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class For:
    """A loop. A variable of its head that nobody reads is called `_`."""

    variables: tuple[Variable, ...]
    over: Code
    body: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class Block:
    """`if ...:`, `else:`, and what stands in it."""

    head: Code
    body: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class Def:
    """A function of one expression."""

    variable: Variable
    parameters: Code
    result: Code
    comment: str


@dataclass(frozen=True, slots=True)
class Returns:
    """The end: its results, in a call of `made` if that is no empty text. What is computed there has a comment."""

    results: tuple[Code, ...]
    made: str
    comment: str


Statement = Let | Do | Begin | For | Block | Def | Returns


SIDE_BY_SIDE = 4  # assignments in one line: who reads more of them counts


def side_by_side(
    assigned: Sequence[tuple[Variable, Variable]], width: int, known: Mapping[Variable, str] | None = None
) -> list[Do]:
    """`a, b = x, y`: assignments of names, as many to a line as are still read at a glance.

    known: what may be written in the place of some of them.
    """

    def room(variable: Variable) -> int:
        return max(len(plain(text)) for text in (variable.name, (known or {}).get(variable, ""))) + len(", ")

    lines: list[list[tuple[Variable, Variable]]] = [[]]
    for pair in assigned:
        more = [*lines[-1], pair]
        if len(more) > SIDE_BY_SIDE or sum(room(each) for pair in more for each in pair) - 1 > width:
            lines.append([])
        lines[-1].append(pair)
    return [
        Do(joined(value.code for _, value in pairs), tuple(target for target, _ in pairs)) for pairs in lines if pairs
    ]


def refusal(condition: Code, message: Code) -> Block:
    """What refuses an input where a condition holds; the message is the inside of an f-string."""
    return Block(Code.of("if {}", condition), [Do(Code.of('raise ValueError(f"{}")', message))])


def codes(statement: Statement) -> Sequence[Code]:
    """The expressions of a statement, but for those of its body."""
    match statement:
        case Let(code=code) | Do(code) | For(over=code) | Block(code):
            return [code]
        case Def(parameters=parameters, result=result):
            return [parameters, result]
        case Begin(codes=found) | Returns(found):
            return found
