"""Causal altogether, though an op reads after its item: a later one takes that back.

The new items of what reads ahead cannot be made before those after them are there, so a step makes them anew of all
items so far; what the last of them read of none is never read.
"""

from __future__ import annotations

import pytest

import attnc

from .steps import check_steps

HEAD = "width past like seq\nwidth other like seq\ndepth tap = 3\nmodel net(x: [seq]) -> [seq] causal seq {\n    "
BEFORE = "sum[other](broadcast[seq](y[seq as other]) where other < seq)"
AHEAD = {
    "sum": "sum[past](broadcast[seq](x[seq as past]) where past <= seq + 1)",
    "softmax": "dot[past](softmax[past](sin(seq - past) where past <= seq + 1), x[seq as past])",
    "window": "mean[tap](window[seq -> seq, tap](x, pad = 1))",
    "gather": "x[seq = clamp(seq + 1, 0, 3)]",
    "of places": "x * sum[past](sin(seq - past) where past <= seq + 1)",
}


@pytest.mark.parametrize("back", [BEFORE, "mean[tap](window[seq -> seq, tap](y, pad = 3))"], ids=["sum", "window"])
# The gather reads the fourth item: there has to be one.
@pytest.mark.parametrize(
    ("ahead", "width"),
    [*((ahead, "width seq = 9") for ahead in AHEAD), *((a, "width seq") for a in AHEAD if a != "gather")],
)
def test_read_ahead_and_back(ahead: str, back: str, width: str) -> None:
    text = f"{width}\n{HEAD}y = {AHEAD[ahead]}\n    return {back}\n}}\n"
    check_steps(attnc.loads(text).model("net"), dtypes=("float64",), seeds=(0, 1, 2))


@pytest.mark.parametrize(
    "body",
    [
        "y = sum[past](broadcast[seq](x[seq as past]) where floor(past / 4) == floor(seq / 4))\n"
        "    return select(seq >= 4, y[seq = max(seq - 4, 0)], 0)",
        "y = sum[past](broadcast[seq](x[seq as past]) where floor(past / 4) == floor(seq / 4))\n"
        "    z = cumsum[seq](y)\n    return select(seq >= 4, z[seq = max(seq - 4, 0)], 0)",
    ],
)
def test_what_its_group_has_later(body: str) -> None:
    """What sees all of its group is kept from no step to the next: it may change until the group is over."""
    head = HEAD.replace("causal seq", 'causal seq trusted "a group is read by later ones"')
    check_steps(attnc.loads(f"width seq\n{head}{body}\n}}\n").model("net"), dtypes=("float64",), seeds=(0, 1, 2))
