"""What is the same number at every item: spread over time, or an input left to its default."""

from __future__ import annotations

import pytest

import attnc

from .steps import check_steps

HEADER = "width seq\nwidth tap = 3\ndepth d = 4\nmodel net(x: [seq, d]GIVEN) -> [seq, d] causal seq {\n    return x + "
NUMBERS = {"spread": ("", "broadcast[seq, d](2)"), "by default": (", z: [seq, d] = 2", "z")}
READS = {
    "window": "mean[tap](window[seq -> seq, tap]({}, pad = 2))",
    "window of reals": "mean[tap](window[seq -> seq, tap]({} / 3, pad = 2))",
    "cumsum": "cumsum[seq]({})",
    "linear": "linear.L[d -> d]({} + 0.5)",
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_at_every_item(number: str, read: str) -> None:
    given, value = NUMBERS[number]
    model = attnc.loads(HEADER.replace("GIVEN", given) + READS[read].format(value) + "\n}\n").model("net")
    names = {item.name for item in model.graph.inputs if item.default is None}
    assert names == {"x"}
    check_steps(model, seeds=(0, 2), dtypes=("float64",))


def test_a_model_of_indices_alone() -> None:
    """It has neither weights nor real inputs: the type that it computes in is given when it is built."""
    text = "width seq\ndepth vocab = 5\nmodel net(ids: vocab[seq]) -> [seq, vocab] causal seq {\n"
    text += "    return cumsum[seq](sin(int(ids) * 0.5)) * cos(int(vocab) * 1.0)\n}\n"
    check_steps(attnc.loads(text).model("net"))
