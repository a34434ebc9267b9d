"""The predicate of a mask as a reader would write it: `0 ≤ q − k < 128`, `k ≤ q and (real or k < 4)`.

Predicates that say the same in another order, with `>` for `<`, or as a complement, are written alike: comparisons rise
from left to right, `not` stands at data alone, two bounds of one term are one chain, and parts stand in an order that
does not depend on names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, replace

from ....compiler.graph.traits import Compared, Complement, Conjunction, Disjunction, Sum
from ....compiler.sizes.axes import Axis
from ....compiler.sizes.functions import OPERATIONS
from ...base.names import axis_label, name_text
from ...base.text import Rich, Run, joined, plain, roman
from ..tensors import Tensor
from .definitions import below, defined
from .symbolic import Symbolic, copied, key, number, written

_LONG = 72  # characters of a predicate that is written as it stands, at most


@dataclass(frozen=True, slots=True)
class _Chain:
    """`terms[0] signs[0] terms[1] ..`."""

    terms: tuple[Symbolic, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Truth:
    """A formula that is true or false; or its complement."""

    formula: Symbolic
    negated: bool


@dataclass(frozen=True, slots=True)
class _Several:
    every: bool  # all of them hold, or some
    parts: tuple[_Part, ...]


_Part = _Chain | _Truth | _Several


@dataclass(frozen=True, slots=True)
class PredicateText:
    """A predicate over `rows` and `columns` (the axis that is masked).

    key: equal for predicates that say the same of the same axes and data.
    """

    part: _Part
    rows: Axis | None
    columns: Axis
    key: str
    name: Callable[[Symbolic], Rich]
    lines: Callable[[], Rich] = tuple

    @property
    def causal(self) -> bool:
        """Whether it is `k ≤ q` and nothing else: the triangle that is drawn says so."""
        match self.part:
            case _Chain((Symbolic(op="position") as low, Symbolic(op="position") as high), ("≤",)):
                return self.rows is not None and (low.axis, high.axis) == (self.columns, self.rows)
            case _:
                return False

    @property
    def data(self) -> bool:
        """Whether it is one value of data, and nothing else."""
        return isinstance(self.part, _Truth) and self.part.formula.op == "data" and not self.part.negated

    @property
    def named(self) -> Rich:
        """The name of data that is all that is asked beside `k ≤ q`, along the axis that is masked; else empty."""
        match self.part:
            case _Several(True, (_Chain() as chain, _Truth(Symbolic(op="data") as leaf, False))):
                causal = replace(self, part=chain).causal
                return self.name(leaf) if causal and leaf.axes == (self.columns,) else ()
            case _:
                return ()

    @property
    def rich(self) -> Rich:
        """The whole predicate. If it is long, its named parts are defined in lines of their own."""
        rich = joined(self._said(self.part))
        return rich if len(plain(rich)) <= _LONG else self.lines() or rich

    def _said(self, part: _Part, within: _Several | None = None) -> Rich:
        match part:
            case _Chain(terms, signs):
                rich = written(terms[0])
                for sign, term in zip(signs, terms[1:], strict=True):
                    rich = (*rich, *roman(f" {sign} "), *written(term))
                return rich
            case _Truth(Symbolic(op="number") as constant, negated):
                return roman("every item" if bool(constant.number) is not negated else "no item")
            case _Truth(formula, negated):
                said = self.name(formula) if formula.op == "data" else written(formula)
                return (*roman("not "), *said) if negated else said
            case _Several(every, parts):
                rich = ()
                for k, each in enumerate(parts):
                    word = roman((" and " if every else " or ") if k else "")
                    rich = (*rich, *word, *self._said(each, part))
                return (*roman("("), *rich, *roman(")")) if within is not None and within.every and not every else rich


def placed(formula: Symbolic) -> tuple[tuple[Tensor, tuple[Axis, ...]], ...]:
    """The data in a predicate, and the axes along which it reads them; each pair once."""
    out: dict[tuple[int, tuple[Axis, ...]], tuple[Tensor, tuple[Axis, ...]]] = {}

    def walk(formula: Symbolic, axes: tuple[Axis, ...]) -> None:
        if formula.data is not None:
            out.setdefault((id(formula.data), axes), (formula.data, axes))
        for arg in formula.args:
            walk(arg, axes if copied(formula) and len(arg.axes) == len(axes) else arg.axes)

    walk(formula, formula.axes)
    return tuple(out.values())


def predicate(
    formula: Symbolic, rows: Axis | None, columns: Axis, rank: Callable[[Tensor], int] = lambda _: 0
) -> PredicateText:
    """The predicate in its normal form. rank: the order of data, which does not depend on their names."""

    def name(leaf: Symbolic) -> Rich:
        """`real` along the axis that is masked, or along both; else `real` with its axes beneath it."""
        text = name_text(leaf.text) or roman("·")
        if leaf.axes in ((columns,), (rows, columns)) or not leaf.axes or leaf.data is None:
            return text
        labels = (axis_label(a.label, is_width=False)[0].text for a in leaf.axes)
        return (*text, Run(" ".join(labels), "i", -1))

    order = _Order(rows, columns, rank)
    part = _normal(formula, False, order)
    whole = PredicateText(part, rows, columns, "", name)
    key = f"{plain(whole.rich)} {[id(leaf) for leaf in formula.leaves]}"

    def lines() -> Rich:
        short, definitions = defined(formula)
        return below(PredicateText(_normal(short, False, order), rows, columns, "", name).rich, definitions)

    return replace(whole, key=key, lines=lines)


# -- the normal form -------------------------------------------------------------------------------------------------

_SIGNS = {"<=": "≤", "<": "<", "==": "=", "!=": "≠"}
_FLIPPED = {">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(frozen=True, slots=True)
class _Order:
    """An order of formulas that does not depend on names: what is known without data comes first."""

    rows: Axis | None
    columns: Axis
    rank: Callable[[Tensor], int]

    def key(self, formula: Symbolic) -> str:
        return key(formula, self._own)

    def _own(self, part: Symbolic) -> str:
        place = -1
        if part.axis is not None:
            place = 0 if part.axis == self.rows else 1 if part.axis == self.columns else 2 + part.axis.id
        data = 1 + self.rank(part.data) if part.data is not None else 0
        means = repr(part.meaning) if is_dataclass(part.meaning) else type(part.meaning).__name__
        return f"{_rank(part)} {data:03} {means} {part.op} {place:05} {part.number}"

    def of(self, part: _Part) -> str:
        match part:
            case _Chain(terms, signs):
                return f"{max(map(_rank, terms))} {len(terms)} {signs} {[self.key(t) for t in terms]}"
            case _Truth(formula, negated):
                return f"{_rank(formula)} 4 {negated} {self.key(formula)}"
            case _Several(every, parts):
                keys = [self.of(part) for part in parts]
                return f"{max(keys)[:4]} 5 {every} {keys}"


def _rank(formula: Symbolic) -> str:
    """Data come behind all else, and long formulas behind short ones."""
    return f"{int(bool(formula.leaves))}{min(len(formula.parts), 999):03}"


def _normal(formula: Symbolic, negated: bool, order: _Order) -> _Part:
    match formula.meaning:
        case Complement():
            return _normal(formula.args[0], not negated, order)
        case Conjunction() | Disjunction() as meaning:
            every = isinstance(meaning, Conjunction) is not negated
            parts: list[_Part] = []
            for arg in formula.args:
                part = _normal(arg, negated, order)
                parts.extend(part.parts if isinstance(part, _Several) and part.every is every else (part,))
            if every:
                parts = _chained(parts, order)
            return parts[0] if len(parts) == 1 else _Several(every, tuple(sorted(parts, key=order.of)))
        case Compared(sign) if not any(arg.boolean for arg in formula.args):
            if negated and formula.leaves and sign not in ("==", "!="):
                return _Truth(formula, True)  # the complement of a comparison with what is no number is another one
            sign = _OPPOSITE[sign] if negated else sign
            a, b = formula.args
            if sign in _FLIPPED:
                a, b, sign = b, a, _FLIPPED[sign]
            elif sign in ("==", "!="):
                a, b = sorted((a, b), key=lambda side: (side.op == "number", order.key(side)))
            return _Chain((a, b), (_SIGNS[sign],))
    if copied(formula):
        (inner,) = formula.args
        if inner.op == "data" and len(inner.axes) == len(formula.axes):
            inner = replace(inner, axes=formula.axes)
        return _normal(inner, negated, order)
    return _Truth(formula, negated)


# -- two bounds of one term ------------------------------------------------------------------------------------------


def _chained(parts: Sequence[_Part], order: _Order) -> list[_Part]:
    """`a ≤ t` and `t < b` as `a ≤ t < b`; where two positions are compared, `t` is their difference."""
    bounds = [_bound(part, order) for part in parts]
    out: list[_Part] = []
    used: set[int] = set()
    for i, part in enumerate(parts):
        if i in used:
            continue
        own = bounds[i]
        mates = [j for j in range(i + 1, len(parts)) if j not in used and _mates(own, bounds[j])]
        if own is None or not mates:
            out.append(part)
            continue
        other = bounds[mates[0]]
        assert other is not None
        lower, upper = (own, other) if own.lower else (other, own)
        used.add(mates[0])
        out.append(_Chain((lower.bound, lower.term, upper.bound), (lower.sign, upper.sign)))
    return out


@dataclass(frozen=True, slots=True)
class _Bound:
    """`bound sign term` if `lower`, else `term sign bound`; equal terms have one key."""

    key: str
    lower: bool
    term: Symbolic
    sign: str
    bound: Symbolic


def _mates(a: _Bound | None, b: _Bound | None) -> bool:
    return a is not None and b is not None and a.key == b.key and a.lower is not b.lower


def _bound(part: _Part, order: _Order) -> _Bound | None:
    if not isinstance(part, _Chain) or len(part.terms) != 2 or part.signs[0] not in ("≤", "<"):
        return None
    if any(term.leaves for term in part.terms):
        return None
    (low, high), (sign,) = part.terms, part.signs
    a, b = _linear(low, order), _linear(high, order)
    if a is not None and b is not None:  # low <= high: 0 <= positions + rest
        at = {axis: b[0].get(axis, 0) - a[0].get(axis, 0) for axis in (*a[0], *b[0])}
        at = {axis: count for axis, count in at.items() if count}
        if sorted(at.values()) == [-1, 1]:
            first = order.rows if order.rows in at else min(at, key=lambda axis: axis.id)
            assert first is not None
            second = next(axis for axis in at if axis != first)
            term = _minus(_position(first), _position(second))
            key = f"{first.id} - {second.id}"
            if at[first] == 1:  # -rest <= first - second
                return _Bound(key, True, term, sign, _total((*a[1], *((-n, f) for n, f in b[1]))))
            return _Bound(key, False, term, sign, _total((*b[1], *((-n, f) for n, f in a[1]))))
    if _is_known(low, order) and not _is_known(high, order):
        return _Bound(order.key(high), True, high, sign, low)
    if _is_known(high, order) and not _is_known(low, order):
        return _Bound(order.key(low), False, low, sign, high)
    return None


def _is_known(formula: Symbolic, order: _Order) -> bool:
    """Whether it is the same for all rows and columns."""
    at = formula.op == "position" and formula.axis in (order.rows, order.columns)
    return not at and formula.data is None and all(_is_known(arg, order) for arg in formula.args)


Terms = tuple[tuple[int, Symbolic], ...]


def _linear(formula: Symbolic, order: _Order) -> tuple[dict[Axis, int], Terms] | None:
    """How often each position is added, and what else; None where it is no such sum."""
    if _is_known(formula, order):
        return {}, ((1, formula),)
    if formula.op == "position" and formula.axis is not None:
        return {formula.axis: 1}, ()
    if copied(formula):
        return _linear(formula.args[0], order)
    if not isinstance(formula.meaning, Sum):
        return None
    at: dict[Axis, int] = {}
    rest: list[tuple[int, Symbolic]] = []
    for sign, arg in zip(formula.meaning.times, formula.args, strict=True):
        part = _linear(arg, order)
        if part is None:
            return None
        for axis, count in part[0].items():
            at[axis] = at.get(axis, 0) + sign * count
        rest.extend((sign * count, term) for count, term in part[1])
    return at, tuple(rest)


def _position(axis: Axis) -> Symbolic:
    return Symbolic("position", axis=axis, axes=(axis,))


def _minus(a: Symbolic, b: Symbolic) -> Symbolic:
    return Symbolic("-", (a, b), OPERATIONS["-"])


def _total(terms: Terms) -> Symbolic:
    """The sum; numbers are added up."""
    known = sum(count * term.number for count, term in terms if term.op == "number")
    rest = sorted(((c, t) for c, t in terms if t.op != "number"), key=lambda pair: -pair[0])
    if not rest:
        return number(known)
    (count, total), *others = rest
    if count < 0:
        total = Symbolic("−", (total,), OPERATIONS["neg"])
    for sign, term in (*others, *((known, number(abs(known))),) * bool(known)):
        op = "+" if sign > 0 else "-"
        total = Symbolic(op, (total, term), OPERATIONS[op])
    return total
