"""Masks whose places are computed in reals: what rounds, or is so large that an item is lost in it, proves nothing.

Drawn masks are run as generated code computes them; a mask that lets a later item through must not be proved.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import attnc

ITEMS = 130
SPEC = f"""\
width seq = {ITEMS}
width past like seq
"""
PROVED = (
    SPEC.replace(f" = {ITEMS}", "")
    + "model f(x: [seq]) -> [seq] causal seq {\n    return sum[past](x[seq as past] where MASK)\n}\n"
)
RUN = SPEC + "model f(x: [seq]) -> bool[past, seq] {\n    return MASK\n}\n"
SMALL = ("2", "3", "4", "7", "10", "48", "49", "0.5", "1.5", "0.1", "0.3")
LARGE = ("1e8", "1e16", "9007199254740993.0", "1e300", "100000000", "100000000000000000", "16777216.0", "3000000000")


def place(draw: random.Random, index: str) -> str:
    """A formula of an index that grows with it."""
    text = index
    for _ in range(draw.choice((0, 1, 1, 2, 2, 3))):
        number = draw.choice(SMALL if draw.random() < 0.8 else LARGE)
        text = draw.choice((f"({text} / {number})", f"({text} * {number})", f"({text} + {number})"))
        if draw.random() < 0.3:
            text = f"({text} {'*' if '/' in text[-12:] else '/'} {number})"
    kind = draw.random()
    return f"floor({text})" if kind < 0.15 else f"ceil({text})" if kind < 0.2 else text


def mask(seed: int) -> str:
    draw = random.Random(seed)
    left = place(draw, "past")
    right = left.replace("past", "seq") if draw.random() < 0.6 else place(draw, "seq")
    right = draw.choice((right, right, f"{right} + 1", f"{right} + 0.5"))
    sign = draw.choice(("<=", "<", "=="))
    text = f"{left} {sign} {right}"
    return draw.choice(
        (text, text, text, f"not ({right} < {left})", f"abs({right} - {left}) < 1", f"{right} - {left} >= 0")
    )


def lets_later_items_through(text: str) -> bool:
    spec = attnc.loads(RUN.replace("MASK", text)).model("f")
    late = np.arange(ITEMS)[:, None] > np.arange(ITEMS)
    with np.errstate(all="ignore"):
        runs = [spec.numpy(dtype=dtype)(np.zeros(ITEMS, dtype)) for dtype in ("float32", "float64")]
    return any(bool((np.broadcast_to(run, late.shape) & late).any()) for run in runs)


def judged(seeds: range) -> tuple[int, int]:
    """How many masks are proved, of how many that are so in code."""
    proved = right = 0
    for seed in seeds:
        text = mask(seed)
        try:
            attnc.loads(PROVED.replace("MASK", text))
            found = True
        except attnc.AttnError as error:
            assert {each.code for each in error.diagnostics if each.code.startswith("E")} <= {"E0701"}, error
            found = False
        leaks = lets_later_items_through(text)
        assert not (found and leaks), f"seed {seed}: `{text}` is proved, and lets later items through"
        proved, right = proved + found, right + (not leaks)
    return proved, right


def test_what_rounds_is_not_taken_for_exact() -> None:
    proved, right = judged(range(150))
    assert proved >= right // 4


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1_000, 5_000, 500))
def test_many(start: int) -> None:
    judged(range(start, start + 500))


@pytest.mark.parametrize(
    "text",
    [
        "past / 49 <= seq / 49",
        "floor(past / 49) <= floor(seq / 49) and past <= seq",
        "past / 49 * 49 <= seq",
        "past / 8 * 8 < seq + 1",
        "seq / 3 - past / 3 >= 0",
        "past + 0.5 < seq + 1",
        "(past + 1) / 7 < (seq + 2) / 7",
        "floor((past + 48) / 49) * 49 <= seq",
    ],
)
def test_what_code_computes_well_is_proved(text: str) -> None:
    assert not lets_later_items_through(text)
    attnc.loads(PROVED.replace("MASK", text))
