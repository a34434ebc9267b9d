"""Terms: a mask as an expression of positions, numbers and data, in the axes of the graph that it stands in.

A term is pointwise. So it has the same meaning for one query and key, for a tile of them, and, in interval arithmetic,
for whole ranges: what a tile surely holds or surely lacks follows without looking at its items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...dsl.base.records import field, record, replace
from ..sizes.axes import Axis, Static
from ..sizes.functions import (
    OPERATIONS,
    Compared,
    Complement,
    Conjunction,
    Connective,
    Disjunction,
    Magnitude,
    Meaning,
    Product,
    Quotient,
    Remainder,
    Sum,
)
from .values import Value

FLIPPED = {"<=": ">", ">": "<=", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
# What terms are made of, each with how it is written. A quotient is rounded down, which the graph spells out; the
# divisor of that and of a remainder is a positive number.
_MADE_OF = Connective | Compared | Sum | Product | Quotient | Remainder | Magnitude
WORDS: dict[Meaning, str] = {
    operation.meaning: word for word, operation in OPERATIONS.items() if isinstance(operation.meaning, _MADE_OF)
}
LONGEST = 200  # operations of a term that is read


@record
class Position:
    """The position along an axis."""

    axis: Axis


@record
class Number:
    """A number known at build time, or a size known at run time."""

    static: Static


@record
class Leaf:
    """Data, or what is no term: a value of the graph. `why` says what hindered reading on, where something did.

    name: what the spec calls it, which a value that was only renamed does not know.
    """

    value: Value
    name: str = field(default="", compare=False)
    why: str = field(default="", compare=False)
    known: int | float | bool | None = field(default=None, compare=False)  # a number that a caller knows


@record
class TermOp:
    """A function of terms, one of WORDS."""

    meaning: Meaning
    args: tuple[Term, ...]
    size: int = field(init=False, compare=False, repr=False)  # operations in it; it is a tree, which may double
    positional: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        inner = [arg for arg in self.args if isinstance(arg, TermOp)]
        object.__setattr__(self, "size", 1 + sum(arg.size for arg in inner))
        object.__setattr__(self, "positional", any(map(positional, self.args)))

    @property
    def long(self) -> bool:
        """Whether it is too long to be reasoned with."""
        return self.size > LONGEST


Term = Position | Number | Leaf | TermOp


@record
class Predicate:
    """The mask of one attention: true where the query `q` sees the key `k`. Its leaves are operands of the op, last."""

    q: Axis
    k: Axis
    term: Term


def leaves(term: Term) -> tuple[Leaf, ...]:
    """Each leaf once, in order."""
    return tuple(dict.fromkeys(part for part in parts(term) if isinstance(part, Leaf)))


def parts(term: Term) -> Iterator[Term]:
    """A term and all that it is made of."""
    yield term
    if isinstance(term, TermOp):
        for arg in term.args:
            yield from parts(arg)


def positional(term: Term) -> bool:
    """Whether it says anything about positions."""
    return term.positional if isinstance(term, TermOp) else isinstance(term, Position)


def change(term: Term, one: Callable[[Position | Number | Leaf], Term | None]) -> Term | None:
    """The term with each index, number and leaf replaced; None if any of them is None."""
    if not isinstance(term, TermOp):
        return one(term)
    args = [change(arg, one) for arg in term.args]
    kept = tuple(arg for arg in args if arg is not None)
    return replace(term, args=kept) if len(kept) == len(args) else None


def plain(term: Term) -> Term:
    """The same with `not` pushed down to the comparisons and the data."""
    return _plain(term, False)


def _plain(term: Term, negate: bool) -> Term:
    match term:
        case TermOp(Complement(), (inner,)):
            return _plain(inner, not negate)
        case TermOp(Conjunction() | Disjunction() as joins, args):
            if negate:
                joins = Disjunction() if isinstance(joins, Conjunction) else Conjunction()
            return TermOp(joins, tuple(_plain(arg, negate) for arg in args))
        case TermOp(Compared(sign), args) if negate:
            return TermOp(Compared(FLIPPED[sign]), args)
        case _:
            return TermOp(Complement(), (term,)) if negate else term


def conjuncts(term: Term) -> tuple[Term, ...]:
    """What `and` joins, at the top of the term."""
    return _joined(term, Conjunction)


def disjuncts(term: Term) -> tuple[Term, ...]:
    """What `or` joins, at the top of the term."""
    return _joined(term, Disjunction)


def _joined(term: Term, by: type[Conjunction | Disjunction]) -> tuple[Term, ...]:
    if isinstance(term, TermOp) and isinstance(term.meaning, by):
        return tuple(part for arg in term.args for part in _joined(arg, by))
    return (term,)
