"""A mask of indices as a picture: which items it keeps, on a small grid. Where that differs between the passes of a
repeat, or between heads, there are several such cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from ....compiler.graph.traits import Arrange, Choice, Conjunction, Disjunction, IndexMap, OpTraits, Pointwise
from ....compiler.ops import Op
from ....compiler.sizes.axes import Arith, Axis, SizeOf, known
from ....compiler.sizes.functions import OPERATIONS, Operation
from ...base.names import axis_label
from ...base.text import Rich, joined, plain, roman
from ..passes import passes_text
from ..tensors import Tensor
from .predicates import PredicateText, predicate
from .symbolic import Symbolic, as_it_is, index, key, number

GRID = 8  # a pattern is drawn as GRID x GRID cells
LEFT_OUT, KEPT, BY_DATA = 0, 1, 2  # what a cell can be; BY_DATA: data decides whether the item is kept
_MOST = 20_000  # passes looked at, at most
_ITEMS = 256  # items of further axes looked at, at most
_SHOWN = 3  # patterns side by side, at most

Pattern = tuple[tuple[int, ...], ...]  # rows, columns

PADDED: Pattern = ((1, 1, 0),)  # stands for a mask along one axis that data decides, such as padding
# For a mask that data decides, or that has more than two axes: it says only that some items are left out.
GENERAL: Pattern = tuple(tuple(int((i * 3 + j * 5) % 7 > 2) for j in range(6)) for i in range(6))


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern, and where it holds: in which passes of a repeat, or for which items of a further axis (heads). `when`
    is empty if it always holds. `pattern` is None for a `…` that stands for cases left out; `said` is the predicate,
    `text` what a box writes beside the square."""

    when: Rich
    pattern: Pattern | None
    said: PredicateText | None = field(default=None, compare=False)
    text: Rich = ()


def cases(
    formula: Symbolic, rows: Axis | None, columns: Axis, rank: Callable[[Tensor], int] = lambda _: 0
) -> tuple[Case, ...]:
    """What the predicate keeps, case by case; empty if that cannot be found out without data. rank: of data, in an
    order that does not depend on names."""
    others = {a: None for p in formula.parts if p.op == "position" and (a := p.axis) not in (rows, columns, None)}
    if math.prod(a.extent or _MOST for a in others) > _ITEMS:
        return ()
    labels = {f"{a.label} {a.id}": axis_label(a.label, is_width=False) for a in others}
    formula = itemised(formula, dict(zip(others, labels, strict=True)))
    symbols = {s.text: s.values for s in formula.parts if s.op == "symbol" and s.values}
    if math.prod(map(len, symbols.values())) > _MOST:
        return ()
    # Passes by what is left of the formula when their values are put in.
    by_key: dict[str, tuple[Symbolic, list[tuple[int, ...]]]] = {}
    for values in product(*symbols.values()):
        folded = fold(formula, dict(zip(symbols, values, strict=True)))
        by_key.setdefault(key(folded, _own), (folded, []))[1].append(values)
    items = _items(rows, columns)
    if max(items.values()) < max((_largest(folded) for folded, _ in by_key.values()), default=0.0):
        items = dict.fromkeys(items, GRID)
    scale = _scale([folded for folded, _ in by_key.values()]) if max(items.values()) == GRID else 1.0
    by_said: dict[str, tuple[PredicateText, Pattern | None, list[tuple[int, ...]]]] = {}
    for folded, passes in by_key.values():
        said = predicate(folded, rows, columns, rank)
        if said.key not in by_said:
            by_said[said.key] = said, pattern(folded, rows, columns, scale, items), []
        by_said[said.key][2].extend(passes)
    out = [Case(_when(symbols, sorted(passes), labels), seen, said) for said, seen, passes in by_said.values()]
    if any(case.pattern is None for case in out):
        return ()
    if len(out) == 1:
        return (replace(out[0], when=()),)
    return (out[0], Case(roman("…"), None), out[-1]) if len(out) > _SHOWN else tuple(out)


def elided(every: Sequence[Case]) -> bool:
    """Whether the cases do not say all: some are left out, or some passes in which they hold."""
    return any(case.pattern is None or ", …" in plain(case.when) for case in every)


def telling(every: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases; none if every item is kept in all of them."""
    return every if any(case.pattern is None or not all(map(all, case.pattern)) for case in every) else ()


def itemised(formula: Symbolic, others: Mapping[Axis, str]) -> Symbolic:
    """The position along each of these axes as a symbol of this name, with one value for each item."""
    axis = formula.axis
    if formula.op in ("position", "size") and axis in others and axis is not None and axis.extent is not None:
        return number(axis.extent) if formula.op == "size" else index(others[axis], range(axis.extent))
    return replace(formula, args=tuple(itemised(arg, others) for arg in formula.args)) if others else formula


def constant(formula: Symbolic) -> int | None:
    """The value of a formula whose sizes are all known; else None."""
    sizes = {p.axis: "" for p in formula.parts if p.op == "size" and p.axis is not None}
    folded = fold(itemised(formula, sizes), {})
    return int(folded.number) if folded.op == "number" else None


def _when(symbols: Mapping[str, Sequence[int]], chosen: Sequence[tuple[int, ...]], labels: Mapping[str, Rich]) -> Rich:
    """The text for some values of the symbols: `i even, h ≤ 3` if they vary independently; else the first values."""

    def together(parts: Iterable[tuple[str, str]]) -> Rich:
        texts = [(*labels.get(name, roman(name)), *roman(text)) for name, text in parts if text]
        return joined(run for k, part in enumerate(texts) for run in (*roman(", " if k else ""), *part))

    sides = [sorted(set(values)) for values in zip(*chosen, strict=True)]
    if math.prod(map(len, sides)) == len(chosen):
        return together((name, passes_text("", side, symbols[name])) for name, side in zip(symbols, sides, strict=True))
    first = together((name, f" = {value}") for name, value in zip(symbols, chosen[0], strict=True))
    return (*first, *roman(", …"))


def _own(part: Symbolic) -> str:
    """Equal for parts that are written the same way."""
    return f"{part.op} {part.number} {part.axis.id if part.axis else None} {part.text} {id(part.data)}"


def fold(formula: Symbolic, values: Mapping[str, int], depth: int = 0) -> Symbolic:
    """The formula with these values for its symbols; parts that are then numbers are computed."""
    if formula.op == "symbol" and formula.text in values:
        return number(values[formula.text])
    if not formula.args or depth > 60:
        return formula
    args = tuple(fold(arg, values, depth + 1) for arg in formula.args)
    if isinstance(formula.meaning, Conjunction | Disjunction):
        decides = isinstance(formula.meaning, Disjunction)
        if any(arg.truth is decides for arg in args):
            return number(decides)
        args = tuple(arg for arg in args if arg.truth is None)
        if not args:
            return number(not decides)
        if len(args) == 1:
            return args[0]
    elif all(arg.op == "number" for arg in args) and (computed := _computed_by(formula)):
        try:
            return number(computed(*(arg.number for arg in args)))
        except (ZeroDivisionError, ValueError, OverflowError):
            pass
    return replace(formula, args=args)


def pattern(
    formula: Symbolic, rows: Axis | None, columns: Axis, scale: float, items: Mapping[Axis, int]
) -> Pattern | None:
    """The predicate on a small grid, its constants scaled so that they can be seen; None where it cannot be said.

    items: how many each of the axes has there; of more than there are cells the middle one of each cell is asked.
    """

    def item(axis: Axis, cell: int) -> int:
        each = items[axis] // GRID
        return cell * each + each // 2

    high = GRID if rows is not None else 1
    where = {columns: [item(columns, j) for j in range(GRID)] * high}
    if rows is not None:
        where[rows] = [item(rows, i) for i in range(GRID) for _ in range(GRID)]

    def grid(by_data: bool) -> Pattern:
        cells = _at(formula, where, scale, by_data, items)
        cells = cells if len(cells) > 1 else cells * (GRID * high)
        return tuple(tuple(int(bool(cell)) for cell in cells[GRID * i : GRID * (i + 1)]) for i in range(high))

    try:
        most = grid(True)
        least = grid(False) if formula.leaves else most
    except (_Unknown, ZeroDivisionError, ValueError, OverflowError, TypeError, RecursionError):
        return None
    if not any(map(any, least)):  # `real and past <= seq`: where the indices forbid it, data cannot allow it
        return most
    return tuple(tuple(m if m == n else BY_DATA for m, n in zip(*pair, strict=True))
                 for pair in zip(most, least, strict=True))  # fmt: skip


class _Unknown(Exception):
    """The formula depends on something that a small grid does not have."""


def _items(rows: Axis | None, columns: Axis) -> dict[Axis, int]:
    """How many items of each axis a grid stands for: one for each cell. For an axis of groups (`chunks = seq / 4`), the
    grouped axis has all items that are in these groups.
    """
    items = dict.fromkeys((columns,) if rows is None else (rows, columns), GRID)
    for groups in tuple(items):
        match groups.size:
            case Arith("/" | "//", (SizeOf(whole), size)) if isinstance(each := known(size), int) and each > 0:
                items |= {axis: GRID * each for axis in items if axis.family == whole.family}
            case _:
                pass
    return items


def _largest(formula: Symbolic) -> float:
    numbers = [part.number for part in formula.parts if part.op == "number" and not isinstance(part.number, bool)]
    return max((abs(float(n)) for n in numbers), default=0.0)


def _scale(formulas: Sequence[Symbolic]) -> float:
    """The factor by which numbers that indices are compared with are made small enough for the grid."""
    largest = max(map(_largest, formulas), default=0.0)
    return 1.0 if largest <= GRID / 2 or (len(formulas) > 1 and largest < GRID) else GRID / (3 * largest)


def _computed_by(formula: Symbolic) -> Callable[..., float | bool] | None:
    """The function that computes the formula from numbers for its arguments; None where a small grid has none."""
    match formula.made_by:
        case Operation() as operation:
            return operation
        case Op(number=operation) if operation:
            return OPERATIONS[operation]
        case Op(reads=Pointwise(Choice())):
            return lambda c, a, b: a if c else b
        case OpTraits(reads=Pointwise() | Arrange(IndexMap.SAME)) as op if as_it_is(op):
            return lambda a: a
        case _:
            return None


def _at(
    formula: Symbolic, where: Mapping[Axis, list[int]], scale: float, by_data: bool, items: Mapping[Axis, int]
) -> list[float | bool]:
    """The value in each cell, or the one that it has in all of them. where: of each axis, the item in each cell."""
    match formula.op:
        case "number":
            value = formula.number
            if isinstance(value, bool) or value == 0 or scale == 1.0:
                return [value]
            return [math.copysign(max(1, round(abs(value) * scale)), value)]
        case "size":
            return [GRID if formula.axis is None else items.get(formula.axis, GRID)]
        case "symbol":  # a const not known: three cells show what it does
            return [3]
        case "position":
            if formula.axis is None or formula.axis not in where:
                raise _Unknown
            return list(where[formula.axis])
        case "data":
            return [by_data]
        case _ if computed := _computed_by(formula):
            args = [_at(arg, where, scale, by_data, items) for arg in formula.args]
            many = max(map(len, args), default=1)
            wide = [arg if len(arg) == many else arg * many for arg in args]
            return [computed(*each) for each in zip(*wide, strict=True)] if args else [computed()]
        case _:
            raise _Unknown
