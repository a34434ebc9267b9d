"""The rules of folds, computed as they are written: any split gives the whole reduction, in any grouping."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from attnc.compiler.streams.rules import RULES, FoldKind

State = dict[str, Any]
FEW = 3


def grown(old: Any, new: Any) -> Any:
    """exp(old - new), and 0 where old is -inf."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(old), 0.0, np.exp(old - new))


def over(a: Any, b: Any) -> Any:
    return np.where(b == 0, 0.0, a / np.where(b == 0, 1.0, b))


FUNCTIONS = {
    "grown": grown,
    "over": over,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sqrt": np.sqrt,
    "log": lambda x: np.log(x, out=np.full_like(x, -np.inf), where=x > 0),
    "sum": lambda x: np.sum(x, -1),
    "max": lambda x: np.max(x, -1, initial=-np.inf),
    "min": lambda x: np.min(x, -1, initial=np.inf),
    "any": lambda x: np.any(x, -1),
    "all": lambda x: np.all(x, -1),
    "count": lambda x: np.full(x.shape[:-1], float(x.shape[-1])),
    "top": lambda x: -np.sort(-np.concatenate([x, np.full((*x.shape[:-1], FEW), -np.inf)], -1), -1)[..., :FEW],
    "both": lambda a, b: np.concatenate([a, b], -1),
    "eps": 1e-12,
}


def computed(text: str, names: State) -> Any:
    return eval(text, {"__builtins__": {}}, {**FUNCTIONS, **names})


def begin(kind: FoldKind, x: Any, v: Any) -> State:
    """The state of one tile. That of a weighted sum has the numbers of its shares, too."""
    state: State = {}
    names: State = {"x": x}
    if kind is FoldKind.WEIGHTED:
        state = begin(FoldKind.SHARES, x, v)
        names |= {"v": v, "weight": grown(x, state["m"][..., None])}
    for number in RULES[kind].state:
        state[number.name] = computed(number.begin, names)
        names[number.name] = state[number.name][..., None]
    return state


def join(kind: FoldKind, a: State, b: State) -> State:
    numbers = (*(RULES[FoldKind.SHARES].state if kind is FoldKind.WEIGHTED else ()), *RULES[kind].state)
    names = {f"{name}{place}": value for place, state in ((1, a), (2, b)) for name, value in state.items()}
    out: State = {}
    for number in numbers:
        out[number.name] = computed(number.join, {**names, **out})
    return out


def neutral(kind: FoldKind, like: State) -> State:
    numbers = (*(RULES[FoldKind.SHARES].state if kind is FoldKind.WEIGHTED else ()), *RULES[kind].state)
    return {number.name: np.full_like(like[number.name], number.neutral) for number in numbers}


def whole(kind: FoldKind, x: Any, v: Any) -> Any:
    """What the reduction is, by the book."""
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.exp(x)
        shares = np.nan_to_num(e / e.sum(-1, keepdims=True))
        return {
            FoldKind.TOTAL: lambda: x.sum(-1),
            FoldKind.AVERAGE: lambda: x.mean(-1),
            FoldKind.LARGEST: lambda: x.max(-1),
            FoldKind.SMALLEST: lambda: x.min(-1),
            FoldKind.SOME: lambda: x.any(-1),
            FoldKind.EVERY: lambda: x.all(-1),
            FoldKind.LOGSUM: lambda: np.log(e.sum(-1)),
            FoldKind.SHARES: lambda: shares,
            FoldKind.ROOT: lambda: x / np.maximum(np.sqrt((x * x).sum(-1, keepdims=True)), 1e-12),
            FoldKind.WEIGHTED: lambda: (shares * v).sum(-1),
            FoldKind.TOP: lambda: -np.sort(-x, -1)[..., :FEW],
        }[kind]()


def close(a: State, b: State) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", list(FoldKind), ids=lambda kind: kind.name)
def test_any_split_is_the_whole(kind: FoldKind) -> None:
    rng = np.random.default_rng(0)
    for trial in range(30):
        items = int(rng.integers(3, 40))
        x: Any = rng.normal(0, 10, (5, items))
        v = rng.normal(0, 1, (5, items))
        if kind in (FoldKind.SOME, FoldKind.EVERY):
            x = x > (10 if kind is FoldKind.SOME else -10)
        elif kind in (FoldKind.LOGSUM, FoldKind.SHARES, FoldKind.WEIGHTED):
            x[rng.random(x.shape) < 0.4] = -np.inf  # what a mask leaves out
            x[0] = -np.inf  # a row that sees nothing
        cuts = [0, *sorted(int(cut) for cut in rng.integers(0, items, 3)), items]
        spans = [slice(low, high) for low, high in pairwise(cuts) if low < high or trial % 2]
        states = [begin(kind, x[:, span], v[:, span]) for span in spans]
        total = neutral(kind, states[0])
        for state in states:
            total = join(kind, total, state)
        later = neutral(kind, states[0])
        for state in reversed(states):  # from the other end: associative
            later = join(kind, state, later)
        close(total, later)
        close(join(kind, neutral(kind, total), total), join(kind, total, neutral(kind, total)))
        per_item = kind in (FoldKind.SHARES, FoldKind.ROOT)
        names = {name: value[..., None] for name, value in total.items()} if per_item else total
        result = computed(RULES[kind].finish, {**names, "x": x})
        np.testing.assert_allclose(result, whole(kind, x, v), rtol=1e-9, atol=1e-12)


def test_each_kind_has_a_rule_with_its_source() -> None:
    assert list(RULES) == list(FoldKind)
    assert all(rule.source and rule.state and rule.finish for rule in RULES.values())
