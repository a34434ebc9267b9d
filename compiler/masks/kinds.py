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
    FLIPPED,
    Index,
    Leaf,
    Number,
    Predicate,
    Term,
    TermOp,
    conjuncts,
    disjuncts,
    leaves,
    plain,
    positional,
)
from ..graph.values import Scalar
from ..sizes.axes import Static, known, show_static


@dataclass(frozen=True, slots=True)
class MaskKind:
    """The name of a mask, and the leaves that had to stay dense."""

    name: str
    dense: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class LinearBound:
    """`q * query + k * key + rest <= 0`, or another comparison with 0; `rest` is a number and, in words, more."""

    op: str
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
    upper = {"<=": (-1, 1, 0), "<": (-1, 1, -1), ">=": (1, -1, 0), ">": (1, -1, 1)}.get(bound.op)
    return (bound.query, bound.key, bound.rest) == upper


def is_causal_but_for_data(predicate: Predicate) -> bool:
    """Whether the mask is causal wherever its data, truth values all, is true."""
    first, *rest = sorted(conjuncts(plain(predicate.term)), key=lambda part: isinstance(part, Leaf))
    truths = all(isinstance(part, Leaf) and part.value.type.element is Scalar.BOOL for part in rest)
    return bool(rest) and truths and is_causal(Predicate(predicate.q, predicate.k, first))


def is_dense(leaf: Leaf, predicate: Predicate) -> bool:
    """Whether a leaf varies with queries and keys both."""
    varies = set(leaf.value.type.axes) - leaf.value.type.thin
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
        elif bound is not None and (bound.query, bound.key) in ((1, -1), (-1, 1)) and bound.op not in ("==", "!="):
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
    """The one bound that counts, as far as that is known."""
    numbers = [int(bound) for bound in bounds if bound.removeprefix("-").isdecimal()]
    others = [bound for bound in bounds if not bound.removeprefix("-").isdecimal()]
    left = list(dict.fromkeys([*([str(which(numbers))] if numbers else []), *others]))
    return left[0] if len(left) == 1 else f"{which.__name__}({', '.join(left)})"


def _side(bound: LinearBound) -> tuple[str, str]:
    """Which side of `q - k` it bounds, and at what: `k - q + c <= 0` is `q - k >= c`."""
    op = bound.op if bound.query == -1 else {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}[bound.op]
    sign = 1 if bound.query == -1 else -1  # now: -(q - k) + sign * rest, compared with 0 by `op`
    rest, strict = sign * bound.rest, op in ("<", ">")
    words = bound.words if sign == 1 or not bound.words else _negated(bound.words)
    if op in ("<=", "<"):
        return "low", _moved(words, floor(rest) + 1 if strict else ceil(rest))
    return "high", _moved(words, ceil(rest) - 1 if strict else floor(rest))


def _moved(words: str, number: int) -> str:
    """What is not known yet plus a number."""
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
    if not isinstance(term, TermOp) or term.op not in ("<=", "<", ">=", ">"):
        return None
    left, right = term.args if term.op in ("<=", "<") else term.args[::-1]
    if not isinstance(left, TermOp) or left.op != "abs" or positional(right):
        return None
    inner = linear(left.args[0], predicate)
    if inner is None or inner[3] or inner[2] or (inner[0], inner[1]) not in ((1, -1), (-1, 1)):
        return None
    most = linear(right, predicate)
    if most is None:
        return None
    return _moved(most[3], ceil(most[2]) - 1 if term.op in ("<", ">") else floor(most[2]))


def _atom(term: Term, bound: LinearBound | None, predicate: Predicate) -> str:
    """The name of one conjunct."""
    if isinstance(term, Leaf):
        return _leaf(term, predicate)
    if isinstance(term, TermOp) and term.op == "not":
        return f"not {_leaf(term.args[0], predicate)}" if isinstance(term.args[0], Leaf) else "not (a mask)"
    if isinstance(term, TermOp) and term.op == "or":
        return f"({_either(term, predicate)})"
    if isinstance(term, TermOp) and term.op in FLIPPED:
        left, right = term.args
        for one, other in ((left, right), (right, left)):
            if isinstance(one, TermOp) and one.op == "%" and not positional(other):
                return f"strided by {_words(one.args[1])}" if _distance(one.args[0], predicate) else "periodic"
        if (
            isinstance(left, TermOp)
            and isinstance(right, TermOp)
            and left.op == right.op == "//"
            and left.args[1] == right.args[1]
        ):
            size = _words(left.args[1])
            return f"blocks of {size}" + {"==": "", "!=": ", apart"}.get(term.op, ", ordered")
        if not positional(term):
            if any(is_dense(leaf, predicate) for leaf in leaves(term)):
                return "dense"
            return "segments" if len(leaves(term)) > 1 else "data"
        if bound is not None and bound.query == 0:
            return "prefix" if _upper(bound.op, bound.key) else "keys at given places"
        if bound is not None and bound.key == 0:
            return "queries at given places"
    return "positions"


def _upper(op: str, sign: int) -> bool:
    return op in ("<=", "<") if sign > 0 else op in (">=", ">")


def _distance(term: Term, predicate: Predicate) -> bool:
    inner = linear(term, predicate)
    return inner is not None and (inner[0], inner[1]) in ((1, -1), (-1, 1))


def _leaf(leaf: Leaf, predicate: Predicate) -> str:
    name = leaf.name or leaf.value.name
    shown = f" `{name}`" if name else ""
    varies = set(leaf.value.type.axes) - leaf.value.type.thin
    if is_dense(leaf, predicate):
        return f"dense{shown}"
    return (
        f"padding{shown}" if predicate.k in varies else f"queries{shown}" if predicate.q in varies else f"switch{shown}"
    )


def _bound(term: Term, predicate: Predicate) -> LinearBound | None:
    """A comparison of linear forms, everything brought to the left."""
    if not isinstance(term, TermOp) or term.op not in FLIPPED:
        return None
    left, right = (linear(arg, predicate) for arg in term.args)
    if left is None or right is None:
        return None
    if left[3] and right[3]:
        return None
    words = left[3] or (_negated(right[3]) if right[3] else "")
    return LinearBound(term.op, left[0] - right[0], left[1] - right[1], left[2] - right[2], words)


Linear = tuple[int, int, int | float, str]  # of q, of k, a number, and in words what is not known yet


def linear(term: Term, predicate: Predicate) -> Linear | None:
    """The term as `a q + b k + c`."""
    match term:
        case Index(axis):
            return (1, 0, 0, "") if axis == predicate.q else (0, 1, 0, "") if axis == predicate.k else None
        case Number(static):
            number = known(static)
            return (0, 0, number, "") if number is not None else (0, 0, 0, show(static))
        case Leaf(value):
            if term.known is not None:
                return (0, 0, term.known, "")
            return None if set(value.type.axes) - value.type.thin else (0, 0, 0, term.name or value.name or "a number")
        case TermOp("+" | "-" as op, (a, b)):
            x, y = linear(a, predicate), linear(b, predicate)
            if x is None or y is None or (x[3] and y[3]):
                return None
            sign = 1 if op == "+" else -1
            words = x[3] or (y[3] if sign == 1 or not y[3] else _negated(y[3]))
            return (x[0] + sign * y[0], x[1] + sign * y[1], x[2] + sign * y[2], words)
        case TermOp("neg", (a,)):
            x = linear(a, predicate)
            return None if x is None else (-x[0], -x[1], -x[2], _negated(x[3]) if x[3] else "")
        case TermOp("*", (a, b)):
            x, y = linear(a, predicate), linear(b, predicate)
            for one, other in ((x, y), (y, x)):
                if one is not None and other is not None and one[:2] == (0, 0) and not one[3] and not other[3]:
                    by = one[2]
                    if isinstance(by, int):
                        return (other[0] * by, other[1] * by, other[2] * by, "")
    return None


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
