"""Comparisons of places and clipped offsets (W0525) against all places of small sizes: what is told is true, and a help
that is followed leaves an offset that is not 0 everywhere.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

import attnc

TEXT = "width q\nwidth k like q\nblock f(x: [q, k]) -> [q, k] {{\n    return {made}\n}}\n"
MASKS = ["k <= q", "q <= k", "k < q", "q - k >= 0", "k <= q and k < 5", "k <= q or k > q", "k == q", "k <= q + 1"]
CLIPS = ["max({}, 0)", "max(0, {})", "min({}, 0)", "clamp({}, 0, 5)", "clamp({}, -5, 0)", "relu({})"]
FUNCTIONS = {
    "abs": abs,
    "max": max,
    "min": min,
    "relu": lambda x: max(x, 0),
    "clamp": lambda x, low, high: min(max(x, low), high),
}


def at(text: str, q: int, k: int, size: int) -> int:
    return int(eval(text.replace("|q|", "n").replace("|k|", "n"), {**FUNCTIONS, "q": q, "k": k, "n": size}))


PLACES = [(q, k, size) for size in range(1, 7) for q, k in product(range(size), range(size))]


def number(draw: random.Random, depth: int = 0) -> str:
    kind = draw.random()
    if depth > 1 or kind < 0.35:
        return draw.choice(["q", "k", "|q|", "|k|", "0", "1", "q", "k"])
    if kind < 0.85:
        return f"({number(draw, depth + 1)} {draw.choice('+--')} {number(draw, depth + 1)})"
    return f"abs({number(draw, depth + 1)})"


def told(made: str) -> list[attnc.Diagnostic]:
    return [each for each in attnc.check(TEXT.format(made=made)) if each.code == "W0525"]


def test_what_is_said_to_hold_everywhere_or_nowhere_does() -> None:
    draw, heard = random.Random(5), 0
    for _ in range(60):
        text = f"{number(draw)} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {number(draw)}"
        found = {bool(at(text, *place)) for place in PLACES}
        for each in told(f"select({text}, x, 0)"):
            assert found == {"all places" in each.message}, text
            heard += 1
    assert heard >= 5


@pytest.mark.parametrize("clip", CLIPS)
def test_an_offset_that_is_said_to_be_zero_is_and_the_help_mends_it(clip: str) -> None:
    heard = 0
    for mask, difference in product(MASKS, ["q - k", "k - q"]):
        offset = clip.format(difference)
        seen = [place for place in PLACES if at(mask, *place)]
        for each in told(f"softmax[k](x + {offset} / 2 where {mask})"):
            turned = (each.help or "").split("`")[1]
            assert not any(at(offset, *place) for place in seen), (offset, mask)
            assert any(at(clip.format(turned), *place) for place in seen), (offset, mask, turned)
            assert all(q <= k if "`q` is at most" in each.message else k <= q for q, k, _ in seen)
            heard += 1
    assert heard >= 3
