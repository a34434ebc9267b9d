"""Terms: a mask as an expression of positions, numbers and data, in the axes of the graph that it stands in.

A term is pointwise. So it has the same meaning for one query and key, for a tile of them, and, in interval arithmetic,
for whole ranges: what a tile surely holds or surely lacks follows without looking at its items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ..sizes.axes import Axis, Static
from .values import Value

CONNECTIVES = ("and", "or", "not")
FLIPPED = {"<=": ">", ">": "<=", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
# `//` is floor(a / b) of integers, which the graph spells out; the divisor of `//` and `%` is a positive number.
OPERATIONS = (*CONNECTIVES, *FLIPPED, "+", "-", "*", "neg", "abs", "%", "//")


LONGEST = 200  # operations of a term that is read


@dataclass(frozen=True, slots=True)
class Index:
    """The position along an axis."""

    axis: Axis


@dataclass(frozen=True, slots=True)
class Number:
    """A number known at build time, or a size known at run time."""

    static: Static


@dataclass(frozen=True, slots=True)
class Leaf:
    """Data, or what is no term: a value of the graph. `why` says what hindered reading on, where something did.

    name: what the spec calls it, which a value that was only renamed does not know.
    """

    value: Value
    name: str = field(default="", compare=False)
    why: str = field(default="", compare=False)
    known: int | float | bool | None = field(default=None, compare=False)  # a number that a caller knows


@dataclass(frozen=True, slots=True)
class TermOp:
    """One of OPERATIONS."""

    op: str
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


Term = Index | Number | Leaf | TermOp


@dataclass(frozen=True, slots=True)
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
    return term.positional if isinstance(term, TermOp) else isinstance(term, Index)


def change(term: Term, one: Callable[[Index | Number | Leaf], Term | None]) -> Term | None:
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
    if isinstance(term, TermOp):
        if term.op == "not":
            return _plain(term.args[0], not negate)
        if term.op in ("and", "or"):
            op = {"and": "or", "or": "and"}[term.op] if negate else term.op
            return TermOp(op, tuple(_plain(arg, negate) for arg in term.args))
        if negate and term.op in FLIPPED:
            return TermOp(FLIPPED[term.op], term.args)
    return TermOp("not", (term,)) if negate else term


def conjuncts(term: Term) -> tuple[Term, ...]:
    """What `and` joins, at the top of the term."""
    if isinstance(term, TermOp) and term.op == "and":
        return tuple(part for arg in term.args for part in conjuncts(arg))
    return (term,)


def disjuncts(term: Term) -> tuple[Term, ...]:
    """What `or` joins, at the top of the term."""
    if isinstance(term, TermOp) and term.op == "or":
        return tuple(part for arg in term.args for part in disjuncts(arg))
    return (term,)
