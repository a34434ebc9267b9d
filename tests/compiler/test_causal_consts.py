"""What blocks are given as consts, and what their axes stand for, counts in the proof of causality: random programs
that hand the number of a pass, a number or a run-time size down through calls. What is proved gives the same items
when those behind them are cut off.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import attnc
from attnc.compiler.check import build
from attnc.dsl.source import Source

HEAD = """
width t
width p like t
width twice = 2 * t
depth d = 2
"""
LENGTHS = (7, 6, 3, 1)


def number(random: random.Random, known: list[str], deep: int = 2) -> str:
    """A whole number of these names."""
    if deep == 0 or random.random() < 0.3:
        return random.choice([*known, *known, "0", "1", "2"])
    a, b = (number(random, known, deep - 1) for _ in "ab")
    form = random.choice(["{a} + {b}", "{a} + {b}", "{a} * {b}", "{a} - {b}", "max({a}, {b})", "2 ^ {a}", "-{a}",
                          "abs({a})", "floor({a} / 2)", "min({a}, {b})"])  # fmt: skip
    return f"({form.format(a=a, b=b)})"


def step(random: random.Random, axis: str, known: list[str], callees: list[str]) -> str:
    """One more value of the shape of `x`, made of x and of numbers. `axis`: what stands for t."""
    n = number(random, known)
    forms = [
        f"x[t = max(t - {n}, 0)]",
        f"x[t = clamp(t - {n}, 0, |t| - 1)]",
        f"x[t = min(max(t - {n}, 0), t)]",
        f"dot[p](softmax[p](p * 0.1 where p <= t - {n}), x[t as p])",
        f"sum[p](broadcast[t](x[t as p]) where t - p >= {n})",
        f"x + 0.1 * min({n}, 5)",
        f"x * sum[{axis}](broadcast[{axis}](0.1))",
    ]
    calls = [f"{name}[{random.choice(['t', 'twice', 't'])}, c = {n}](x)" for name in callees]
    return random.choice(forms + calls * 3)


def program(seed: int) -> str:
    """A model of calls three deep, in a repeat."""
    chance = random.Random(seed)
    text, callees = HEAD, []
    for name in ("inner", "middle", "outer"):
        made = step(chance, "a", ["c", "|a|" if chance.random() < 0.2 else "c"], callees)
        text += f"block {name}[a: width, c: const](x: [t, d]) -> [t, d] {{\n    return {made}\n}}\n"
        callees.append(name)
    body = step(chance, "t", ["i", "i", "|t|"] if chance.random() < 0.2 else ["i"], callees)
    return text + (
        "model net(x: [t, d]) -> [t, d] causal t {\n    repeat.layers i in 3 {\n"
        f"        x = x + {body}\n    }}\n    return x\n}}\n"
    )


def judged(seed: int) -> bool | None:
    """Whether it is proved; None for what is refused otherwise."""
    text = program(seed)
    found = build(Source("t.attn", text)).errors
    if found:
        assert {each.code for each in found} <= {"E0701", "E0207", "E0311", "E0304", "E0206"}, (text, found)
        return False if {each.code for each in found} == {"E0701"} else None
    run = attnc.loads(text).model("net").numpy()
    x = np.random.default_rng(seed).normal(size=(LENGTHS[0], 2))
    with np.errstate(all="ignore"):
        try:
            whole = run(x)
            parts = [run(x[:length]) for length in LENGTHS[1:]]
        except (IndexError, OverflowError, ValueError):
            return None
    for length, part in zip(LENGTHS[1:], parts, strict=True):
        assert np.allclose(whole[:length], part, rtol=1e-9, atol=1e-9, equal_nan=True), (length, text)
    return True


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_what_is_proved_does_not_see_what_is_cut_off(first: int) -> None:
    found = [judged(seed) for seed in range(first, first + 40)]
    assert found.count(True) >= 8 and found.count(False) >= 4
