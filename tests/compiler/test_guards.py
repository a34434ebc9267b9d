"""A side of `select` reads what it reads only where it is taken: `select(t >= 4, y[t = max(t - 4, 0)], 0)`."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

import attnc
from tests.decode.steps import check_steps

SPEC = """\
width t
width past like t
width chunk = t / at
depth at = 4, d = 2
model f(x: [t, d]) -> [t, d] causal t {
    y = cumsum[t](x)
    return BODY
}
"""
PROVED = [
    "select(t < 4, 0, y[t = (t - 4) % |t|])",
    "select(t >= 4 and t % 2 == 0, y[t = min(max(t, 4), |t| - 1)], x)",
    "select(t >= 8, select(t % 2 == 0, y[t = min(max(t, 5), |t| - 1)], x), 0)",
    "select(not (t < 4), broadcast[t](sum[past](x[t as past] where past <= 4)), 0)",
    "select(t >= 4, y[t = index[t](min(abs(int(t) - 4), |t| - 1))], 0)",
]
IN_CHUNKS = [
    "select(t >= 4, mean[at](split[t -> chunk, at](x))[chunk = max(floor(t / 4) - 1, 0)], 0)",
    "select(floor(t / 4) >= 1, mean[at](split[t -> chunk, at](x))[chunk = max(floor(t / 4) - 1, 0)], 0)",
]
REFUSED = [
    "select(t >= 3, y[t = min(max(t, 4), |t| - 1)], 0)",
    "select(t < 4, y[t = min(max(t, 4), |t| - 1)], 0)",
    "select(t >= 4, x, y[t = min(t + 1, |t| - 1)])",
    "select(t >= 4, broadcast[t](sum[past](x[t as past] where past <= 5)), 0)",
    "select(t >= 3, mean[at](split[t -> chunk, at](x))[chunk = max(floor(t / 4), 0)], 0)",
    "y[t = min(index[t](floor(max(t / 4 + 0.5, 1))), |t| - 1)]",  # what is larger was rounded before it was known to be
    "dot[past](softmax[past](dot[d](x, x[t as past]) where past <= max(t / 4 + 0.5, 1)), x[t as past])",
]


def told(body: str) -> str:
    found = [each for each in attnc.check(SPEC.replace("BODY", body)) if each.code.startswith("E")]
    assert all(each.code == "E0701" for each in found), found
    return found[0].message if found else "proved"


@pytest.mark.parametrize("body", [*PROVED, *IN_CHUNKS])
def test_what_a_guard_proves(body: str) -> None:
    assert told(body) == "proved"


@pytest.mark.parametrize("body", PROVED)
def test_its_steps(body: str) -> None:
    check_steps(attnc.loads(SPEC.replace("BODY", body)).model("f"), dtypes=("float64",), seeds=(0, 1))


@pytest.mark.parametrize("body", REFUSED)
def test_what_it_does_not(body: str) -> None:
    assert " changes item " in told(body)


class Guards:
    """Random guards and indices, written for a spec; `place` evaluates them in Python."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def guard(self, depth: int = 2) -> str:
        draw, number = self.draw, self.draw.randint(0, 6)
        if depth and draw.random() < 0.6:
            kind = draw.choice(("{} and {}", "{} or {}", "not ({})"))
            return "(" + kind.format(*(self.guard(depth - 1) for _ in range(kind.count("{}")))) + ")"
        left = draw.choice(
            ("int(t)", "int(t)", "floor(t / 2)", "floor(t / 3)", "2 * int(t)", "int(t) % 3", "abs(int(t) - 3)")
        )
        return f"{left} {draw.choice(('>=', '>', '<', '<=', '=='))} {number}"

    def index(self, depth: int = 2) -> str:
        draw, number = self.draw, self.draw.randint(0, 6)
        if depth and draw.random() < 0.6:
            a, b = self.index(depth - 1), self.index(depth - 1)
            return draw.choice((f"max({a}, {b})", f"min({a}, {b})", f"abs({a} - {number})", f"floor({a} / 2)",
                                f"select({self.guard(1)}, {a}, {b})", f"({a} + {draw.choice((-2, -1, 1))})",
                                f"max({a} / 2 + 0.5, {b})"))  # fmt: skip
        return draw.choice(("int(t)", "int(t)", f"(int(t) - {number})", f"({number} + 0 * int(t))"))


def value(text: str, t: int) -> float:
    names = {"t": t, "floor": lambda x: x // 1, "select": lambda c, x, y: x if c else y, "max": max, "min": min}
    return eval(text, {"__builtins__": {"int": int, "abs": abs}}, names)


@pytest.mark.parametrize("count", [60, pytest.param(1_500, marks=pytest.mark.slow)])
def test_no_false_proof(count: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(count):
        drawn = Guards(seed)
        guard, first, second = drawn.guard(), drawn.index(), drawn.index()
        bounded = [f"y[t = index[t](clamp(floor({each}), 0, |t| - 1))]" for each in (first, second)]
        body = f"select({guard}, {bounded[0]}, {bounded[1]})"
        read = [max(0, int(value(first if value(guard, t) else second, t) // 1)) for t in range(40)]
        causal = all(place <= t for t, place in enumerate(read))
        found = told(body)
        assert causal or found != "proved", (seed, body)
        assert not causal or " changes item " not in found, (seed, body)
        seen[f"{'causal' if causal else 'not causal'}, {re.sub('`.*', '', found)}"] += 1
    assert seen["causal, proved"] > 0.5 * sum(times for what, times in seen.items() if what.startswith("causal")), seen
