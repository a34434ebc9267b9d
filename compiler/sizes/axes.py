"""Axes, the named dimensions that everything else is about; and the numbers known at build time that size them.

Both are one type, for an axis may be sized by a formula, and a formula may hold sizes of axes.

A static expression keeps its form so that generated code can say `math.sqrt(self.key)` rather than `8.0`, and so that
a derived width (`chunks = seq / 64`) can be computed when its extent is known at last. `evaluate` gives the number
where it is known now.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

from ...dsl.base.records import field, record
from ...dsl.source import Span
from .functions import OPERATIONS, Choice, Complement, Conjunction, Disjunction, Length, Listing, Meaning
from .functions import Number as Number
from .functions import Value as Value
from .limits import TERMS, Limit, TooMuch


@record
class Const:
    """A named number of a block, or list of numbers: a const parameter, a file's const, or a repeat's index.

    `value` is None while it is not known: a const parameter checked on its own, or the index of a repeat.
    is_index: whether it is such an index: 0 or more.
    like: of a parameter to which a call gives what is not known yet: a number of that kind (0, 0.5, True).
    """

    id: int
    name: str = field(compare=False)
    value: Value | None = field(compare=False)
    is_index: bool = field(compare=False, default=False)
    like: Number | None = field(compare=False, default=None)


@record
class Literal:
    value: Number


@record
class SizeOf:
    """`|a|`, and `a` in a declaration."""

    axis: Axis


@record
class ConstOf:
    const: Const


@record
class Arith:
    """`op` is one of `functions.OPERATIONS`: `+ - * / ^ %`, comparisons, and/or/not, `//` (exact), neg, floor, ...

    Of lists: `list` makes one of numbers, `item` takes a place and a list, `length` a list. No other takes any.
    """

    op: str
    args: tuple[Static, ...]
    terms: int = field(init=False, compare=False, repr=False)  # a formula may hold another many times over
    answers: dict[str, Any] = field(init=False, compare=False, repr=False, default_factory=dict)  # see `once`

    def __post_init__(self) -> None:
        terms = 1 + sum(arg.terms if isinstance(arg, Arith) else 1 for arg in self.args)
        object.__setattr__(self, "terms", terms)
        if terms > TERMS:
            raise TooMuch(Limit.TERMS, TERMS)

    @property
    def meaning(self) -> Meaning:
        """What it computes."""
        return OPERATIONS[self.op].meaning

    @property
    def operands(self) -> tuple[Static, ...]:
        """The args, the numbers of a list one by one."""
        return tuple(each for arg in self.args for each in items_of(arg) or (arg,))


class Kind(Enum):
    """LANGUAGE D1: how many items, or how much information per item."""

    WIDTH = "width"
    DEPTH = "depth"


@record
class Axis:
    """An axis of one file or of one specialisation of a block. Two axes are the same only if their ids are.

    extent: the size where it is known at build time (every depth of a compiled model, and fixed widths), else None.
    size:   the formula of a derived axis, over axes of the same scope (`chunks = seq / 64`, `key = model / heads`).
    bound:  the largest extent of a bounded width (`width seq <= 1024`), else None.
    family: the id of the axis that this is a copy of (its own id if of none): copies have equal extents (D4).
    label:  what a diagram calls it (`depth model as m`).
    ragged: each example of a batch has its own length (`width source ragged`; its copies too). What is derived from it,
            and axis parameters of blocks, follow when a graph is made of them: see `rewrites/ragged.py`.
    """

    id: int
    name: str = field(compare=False)
    kind: Kind = field(compare=False)
    label: str = field(compare=False)
    extent: int | None = field(compare=False)
    size: Static | None = field(compare=False, repr=False)
    bound: int | None = field(compare=False)
    family: int = field(compare=False)
    span: Span | None = field(compare=False, repr=False)
    ragged: bool = field(default=False, compare=False, repr=False)

    def rename(self, name: str) -> None:
        """Be called otherwise, everywhere: `use other: v as mine` in a file that has a `v` of its own."""
        if self.label == self.name:
            object.__setattr__(self, "label", name)
        object.__setattr__(self, "name", name)

    @property
    def is_width(self) -> bool:
        return self.kind is Kind.WIDTH


Static = Literal | SizeOf | ConstOf | Arith

_NOT = next(word for word, operation in OPERATIONS.items() if operation.meaning == Complement())

T = TypeVar("T")


def once(question: Callable[[Static], T]) -> Callable[[Static], T]:
    """Answered once for each formula, which keeps the answer: a spec may build a formula up over thousands of lines,
    and each line asks anew. What raises is asked again.
    """
    name = question.__qualname__

    @wraps(question)
    def answer(static: Static) -> T:
        if not isinstance(static, Arith):
            return question(static)
        if name not in static.answers:
            static.answers[name] = question(static)
        result: T = static.answers[name]
        return result

    return answer


def items_of(static: Static) -> tuple[Static, ...] | None:
    """The numbers of a list; None of what is none, or is not known."""
    match static:
        case ConstOf(Const(value=tuple(numbers))):
            return tuple(map(Literal, numbers))
        case Arith(meaning=Listing(), args=args):
            return args
        case _:
            return None


def is_list(static: Static) -> bool:
    return items_of(static) is not None


def as_static(value: Value) -> Static:
    """A value known at build time, a list too, as an expression."""
    return Arith("list", tuple(map(Literal, value))) if isinstance(value, tuple) else Literal(value)


def value_of(static: Static) -> Value | None:
    """As `known`; of a list its numbers."""
    numbers = items_of(static)
    if numbers is None:
        return known(static)
    values = [known(each) for each in numbers]
    found = tuple(value for value in values if value is not None)
    return found if len(found) == len(values) else None


def surely_read(static: Arith) -> tuple[Static, ...]:
    """The operands that it cannot do without, as far as is known: see `decided`."""
    alone = decided(static)
    if alone is not None:
        return (alone,)
    return static.args[:1] if isinstance(static.meaning, Choice | Conjunction | Disjunction) else static.args


def opposite(truth: Static) -> Static:
    """That a truth value does not hold."""
    return Arith(_NOT, (truth,))


def decided(static: Arith) -> Static | None:
    """What alone it comes to, where what stands first decides that: of a choice the side that is taken, of `and` and
    `or` what is left. The rest need have no value.
    """
    match static.meaning, static.args:
        case Choice(), (condition, yes, no):
            truth = known(condition)
            return None if truth is None else yes if truth else no
        case Conjunction() | Disjunction() as joins, (first, second):
            truth = known(first)
            if truth is None:
                return None
            return Literal(bool(truth)) if truth is isinstance(joins, Disjunction) else second
        case _:
            return None


@once
def evaluate(static: Static) -> Number | None:
    """The number, or None where it depends on a size or const not known yet, or is a list.

    Raises ZeroDivisionError, ValueError or OverflowError as Python's arithmetic does; the checker turns them into
    diagnostics where the expression is written.
    """
    match static:
        case Literal(value):
            return value
        case SizeOf(axis):
            return axis.extent
        case ConstOf(const):
            return None if isinstance(const.value, tuple) else const.value
        case Arith(meaning=Listing()):
            return None
        case Arith(meaning=Length(), args=(numbers,)):
            items = items_of(numbers)
            return None if items is None else len(items)
        case Arith(meaning=Choice() | Conjunction() | Disjunction()):
            alone = decided(static)
            return None if alone is None else evaluate(alone)
        case Arith(op):
            values = [evaluate(each) for each in static.operands]
            if any(value is None for value in values):
                return None
            return OPERATIONS[op](*values)


@once
def axes_in(static: Static) -> tuple[Axis, ...]:
    """The axes whose sizes an expression reads, each once, in order."""
    match static:
        case SizeOf(axis):
            return (axis,)
        case Arith(_, args):
            return tuple(dict.fromkeys(axis for arg in args for axis in axes_in(arg)))
        case _:
            return ()


@once
def consts_in(static: Static) -> tuple[Const, ...]:
    """The consts that an expression reads, each once, in order."""
    match static:
        case ConstOf(const):
            return (const,)
        case Arith(_, args):
            return tuple(dict.fromkeys(const for arg in args for const in consts_in(arg)))
        case _:
            return ()


def undetermined(static: Static) -> bool:
    """Whether a const without a value decides it: a parameter, or the index of a repeat."""
    return any(const.value is None for const in consts_in(static))


def depends_on_pass(static: Static, index: Const | None) -> bool:
    """Whether the number of a pass decides it, be it by way of the sizes of axes."""
    sizes = (axis.size for axis in axes_in(static) if axis.extent is None)
    return index in consts_in(static) or any(size is not None and depends_on_pass(size, index) for size in sizes)


def known(static: Static) -> Number | None:
    """`evaluate`, and None for what has no value: that is reported where it is written."""
    try:
        return evaluate(static)
    except (ArithmeticError, ValueError, TypeError):
        return None


def show_static(static: Static) -> str:
    """A static expression as the language writes it."""
    match static:
        case Literal(value):
            return str(value).lower()
        case SizeOf(axis):
            return f"|{axis.name}|"
        case ConstOf(const):
            return const.name
        case Arith("list", args):
            return f"[{', '.join(map(show_static, args))}]"
        case Arith("item", (place, numbers)):
            return f"{show_static(numbers)}[{show_static(place)}]"
        case Arith("length", (numbers,)):
            return f"|{show_static(numbers)}|"
        case Arith(op, (a, b)) if not op.isalpha():
            return f"({show_static(a)} {op} {show_static(b)})"
        case Arith(op, args):
            return f"{op}({', '.join(map(show_static, args))})"
