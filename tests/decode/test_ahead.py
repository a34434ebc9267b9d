"""Causal altogether, though an op reads after its item: a later one takes that back. Such a model has no step.

The new items of what reads ahead cannot be made yet; the steps made them of the items so far, which gave other numbers.
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


def why(width: str, body: str) -> str:
    decoding = attnc.loads(f"{width}\n{HEAD}{body}\n}}\n").model("net").decoding
    assert decoding.step is None
    return decoding.reason


@pytest.mark.parametrize("back", [BEFORE, "mean[tap](window[seq -> seq, tap](y, pad = 3))"], ids=["sum", "window"])
@pytest.mark.parametrize("ahead", AHEAD)
def test_read_ahead_and_back(ahead: str, back: str) -> None:
    body = f"y = {AHEAD[ahead]}\n    return {back}"
    assert "after the item at hand" in why("width seq", body)
    if ahead == "of places":  # which are known
        body = f"y = {AHEAD[ahead]} + x\n    return y"
        check_steps(attnc.loads(f"width seq = 6\n{HEAD}{body}\n}}\n").model("net"), dtypes=("float64",))
    else:
        told = why("width seq = 6", body)
        assert "is read to its end" in told or "after the item at hand" in told
