"""What kind of mask a term is, by name: for the choice of a kernel and for the user.

A conjunct is understood if it bounds how far back or ahead a query looks (causal, a band), is periodic (strided), cuts
both axes into blocks or at a place (prefix), or leaves out items of one axis (padding) or pairs of unlike data
(segments). A union of these is understood too. What remains is dense: a leaf that varies with queries and keys both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor

from ..graph.term import (
    WORDS,
    Leaf,
    Number,
    Position,
    Predicate,
    Term,
    TermOp,
    conjuncts,
    disjuncts,
    leaves,
    plain,
    positional,
)
from ..graph.values import Scalar, Value
from ..sizes.axes import Static, known, show_static
from ..sizes.functions import Compared, Complement, Disjunction, Magnitude, Product, Quotient, Remainder, Sum


@dataclass(frozen=True, slots=True)
class MaskKind:
    """The name of a mask, and the leaves that had to stay dense."""

    name: str
    dense: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class LinearBound:
    """`q * query + k * key + rest <= 0`, or another comparison with 0; `rest` is a number and, in words, more."""

    sign: str
    query: int
    key: int
    rest: int | float
    words: str


def classify(predicate: Predicate) -> MaskKind:
    """The kind of a mask."""
    term = plain(predicate.term)
    return MaskKind(_either(term, predicate), tuple(leaf for leaf in leaves(term) if is_dense(leaf, predicate)))


def is_causal(predicate: Predicate) -> bool:
    """Whether the mask is exactly `k <= q`, of one family, so that both have the same extent (D4)."""
    bound = _bound(plain(predicate.term), predicate)
    if bound is None or bound.words or predicate.q.family != predicate.k.family:
        return False
    upper = {"<=": (-1, 1, 0), "<": (-1, 1, -1), ">=": (1, -1, 0), ">": (1, -1, 1)}.get(bound.sign)
    return (bound.query, bound.key, bound.rest) == upper


def is_causal_but_for_data(predicate: Predicate) -> bool:
    """Whether the mask is causal wherever its data, truth values all, is true."""
    first, *rest = sorted(conjuncts(plain(predicate.term)), key=lambda part: isinstance(part, Leaf))
    truths = all(isinstance(part, Leaf) and part.value.type.element is Scalar.BOOL for part in rest)
    return bool(rest) and truths and is_causal(Predicate(predicate.q, predicate.k, first))


def is_dense(leaf: Leaf, predicate: Predicate) -> bool:
    """Whether a leaf varies with queries and keys both."""
    varies = set(leaf.value.type.axes) - leaf.value.type.broadcast_axes
    return {predicate.q, predicate.k} <= varies


def _either(term: Term, predicate: Predicate) -> str:
    parts = [_both(part, predicate) for part in disjuncts(term)]
    return " or ".join(f"({part})" if " and " in part and len(parts) > 1 else part for part in parts)


def _both(term: Term, predicate: Predicate) -> str:
    """Conjuncts by name; bounds of the distance `q - k` join into one band."""
    low: list[str] = []
    high: list[str] = []
    names: list[str] = []
    for part in conjuncts(term):
        bound = _bound(part, predicate)
        near = _within(part, predicate)
        if near is not None:
            low.append(_negated(near))
            high.append(near)
        elif bound is not None and (bound.query, bound.key) in ((1, -1), (-1, 1)) and bound.sign not in ("==", "!="):
            side, text = _side(bound)
            (low if side == "low" else high).append(text)
        else:
            names.append(_atom(part, bound, predicate))
    return " and ".join([*_band(low, high), *names])


def _band(low: list[str], high: list[str]) -> list[str]:
    """What the bounds of `q - k` come to."""
    if not low and not high:
        return []
    lowest, highest = _sharpest(low, max), _sharpest(high, min)
    if not high:
        return ["causal" if lowest == "0" else f"band {lowest} .."]
    return [f"band {lowest} .. {highest}" if low else f"band .. {highest}"]


def _sharpest(bounds: list[str], which: Callable[[list[int]], int]) -> str:
    """The tightest of several bounds, as far as their values are known."""
    numbers = [int(bound) for bound in bounds if bound.removeprefix("-").isdecimal()]
    others = [bound for bound in bounds if not bound.removeprefix("-").isdecimal()]
    left = list(dict.fromkeys([*([str(which(numbers))] if numbers else []), *others]))
    return left[0] if len(left) == 1 else f"{which.__name__}({', '.join(left)})"


def _side(bound: LinearBound) -> tuple[str, str]:
    """Which side of `q - k` it bounds, and at what: `k - q + c <= 0` is `q - k >= c`."""
    sign = bound.sign if bound.query == -1 else _TURNED[bound.sign]
    times = 1 if bound.query == -1 else -1  # now: -(q - k) + times * rest, compared with 0 by `sign`
    rest, strict = times * bound.rest, sign in ("<", ">")
    words = bound.words if times == 1 or not bound.words else _negated(bound.words)
    if sign in ("<=", "<"):
        return "low", _moved(words, floor(rest) + 1 if strict else ceil(rest))
    return "high", _moved(words, ceil(rest) - 1 if strict else floor(rest))


_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}  # the comparison with its sides exchanged


def _moved(words: str, number: int) -> str:
    """The unknown part, in words, plus a number."""
    if not words or not number:
        return words or str(number)
    return f"{words} {'+' if number > 0 else '-'} {abs(number)}"


def _negated(words: str) -> str:
    if words == "0":
        return words
    if words.startswith("-"):
        return words[2:-1] if words.startswith("-(") else words[1:]
    return f"-({words})" if " " in words else f"-{words}"


def _within(term: Term, predicate: Predicate) -> str | None:
    """n, if the term is `abs(q - k) <= n`."""
    match term:
        case TermOp(Compared("<=" | "<" as sign), (TermOp(Magnitude(), (distance,)), right)):
            pass
        case TermOp(Compared(">=" | ">" as sign), (right, TermOp(Magnitude(), (distance,)))):
            pass
        case _:
            return None
    inner, most = linear(distance, predicate), linear(right, predicate)
    if inner is None or inner[3] or inner[2] or (inner[0], inner[1]) not in ((1, -1), (-1, 1)):
        return None
    if most is None or positional(right):
        return None
    return _moved(most[3], ceil(most[2]) - 1 if sign in ("<", ">") else floor(most[2]))


def _atom(term: Term, bound: LinearBound | None, predicate: Predicate) -> str:
    """The name of one conjunct."""
    match term:
        case Leaf():
            return _leaf(term, predicate)
        case TermOp(Complement(), (inner,)):
            return f"not {_leaf(inner, predicate)}" if isinstance(inner, Leaf) else "not (a mask)"
        case TermOp(Disjunction()):
            return f"({_either(term, predicate)})"
        case TermOp(Compared(sign)):
            return _comparison(term, sign, bound, predicate)
        case _:
            return "positions"


def _comparison(term: TermOp, sign: str, bound: LinearBound | None, predicate: Predicate) -> str:
    left, right = term.args
    if not positional(term) and not any(_varies(leaf.value, predicate) for leaf in leaves(term)):
        return f"`{_spelled(term)}`"
    for one, other in ((left, right), (right, left)):
        match one:
            case TermOp(Remainder(), (place, period)) if not positional(other):
                return f"strided by {_words(period)}" if _distance(place, predicate) else "periodic"
    match left, right:
        case TermOp(Quotient(), (_, size)), TermOp(Quotient(), (_, other)) if size == other:
            return f"blocks of {_words(size)}" + {"==": "", "!=": ", apart"}.get(sign, ", ordered")
    if not positional(term):
        if any(is_dense(leaf, predicate) for leaf in leaves(term)):
            return "dense"
        return "segments" if len(leaves(term)) > 1 else "data"
    if bound is not None and bound.query == 0:
        return "prefix" if _upper(bound.sign, bound.key) else "keys at given places"
    if bound is not None and bound.key == 0:
        return "queries at given places"
    return "positions"


def _upper(sign: str, key: int) -> bool:
    """Whether it bounds the key's place from above."""
    return sign in ("<=", "<") if key > 0 else sign in (">=", ">")


def _distance(term: Term, predicate: Predicate) -> bool:
    inner = linear(term, predicate)
    return inner is not None and (inner[0], inner[1]) in ((1, -1), (-1, 1))


def _leaf(leaf: Leaf, predicate: Predicate) -> str:
    name = leaf.name or leaf.value.name
    shown = f" `{name}`" if name else ""
    varies = set(leaf.value.type.axes) - leaf.value.type.broadcast_axes
    if is_dense(leaf, predicate):
        return f"dense{shown}"
    return (
        f"padding{shown}" if predicate.k in varies else f"queries{shown}" if predicate.q in varies else f"switch{shown}"
    )


def _bound(term: Term, predicate: Predicate) -> LinearBound | None:
    """A comparison of linear forms, everything brought to the left."""
    if not isinstance(term, TermOp) or not isinstance(term.meaning, Compared):
        return None
    left, right = (linear(arg, predicate) for arg in term.args)
    if left is None or right is None:
        return None
    if left[3] and right[3]:
        return None
    words = left[3] or (_negated(right[3]) if right[3] else "")
    return LinearBound(term.meaning.sign, left[0] - right[0], left[1] - right[1], left[2] - right[2], words)


Linear = tuple[int, int, int | float, str]  # of q, of k, a number, and in words what is not known yet


def linear(term: Term, predicate: Predicate) -> Linear | None:
    """The term as `a q + b k + c`."""
    match term:
        case Position(axis):
            return (1, 0, 0, "") if axis == predicate.q else (0, 1, 0, "") if axis == predicate.k else None
        case Number(static):
            number = known(static)
            return (0, 0, number, "") if number is not None else (0, 0, 0, show(static))
        case Leaf(value):
            if term.known is not None:
                return (0, 0, term.known, "")
            return None if _varies(value, predicate) else (0, 0, 0, term.name or value.name or "a number")
        case TermOp(Sum(times), args):
            total: Linear = (0, 0, 0, "")
            for arg, by in zip(args, times, strict=True):
                x = linear(arg, predicate)
                if x is None or (x[3] and total[3]):
                    return None
                words = _negated(x[3]) if x[3] and by < 0 else x[3]
                total = (total[0] + by * x[0], total[1] + by * x[1], total[2] + by * x[2], total[3] or words)
            return total
        case TermOp(Product(), (a, b)):
            x, y = linear(a, predicate), linear(b, predicate)
            for one, other in ((x, y), (y, x)):
                if one is not None and other is not None and one[:2] == (0, 0) and not one[3] and not other[3]:
                    number = one[2]
                    if isinstance(number, int):
                        return (other[0] * number, other[1] * number, other[2] * number, "")
    return None


def _varies(value: Value, predicate: Predicate) -> bool:
    """Whether it varies with queries or keys, not with heads or examples alone."""
    return bool({predicate.q, predicate.k} & (set(value.type.axes) - value.type.broadcast_axes))


def _spelled(term: Term, inside: bool = False) -> str:
    """A condition as a spec writes it."""
    match term:
        case TermOp(Quotient(whole=True), args):
            return f"floor({' / '.join(_spelled(arg, True) for arg in args)})"
        case TermOp(meaning, (left, right)):
            whole = f"{_spelled(left, not isinstance(meaning, Compared))} {WORDS[meaning]} "
            whole += _spelled(right, not isinstance(meaning, Compared))
            return f"({whole})" if inside else whole
        case TermOp(meaning, (one,)):
            return f"{WORDS[meaning]}({_spelled(one)})"
        case _:
            return _words(term)


def _words(term: Term) -> str:
    match term:
        case Number(static):
            return show(static)
        case Leaf(value):
            return str(term.known) if term.known is not None else term.name or value.name or "a number"
        case _:
            return "a number"


def show(static: Static) -> str:
    """A static number in words: its value, or as the spec writes it."""
    number = known(static)
    text = show_static(static) if number is None else str(number)
    return text[1:-1] if text.startswith("(") else text
