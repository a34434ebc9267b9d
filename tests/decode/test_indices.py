"""An index into time counts from the first item of all, in a step too."""

from __future__ import annotations

import pytest

import attnc

from .steps import check_steps

HEADER = "width four = 4\nwidth past_four like four\nwidth seq\nwidth past like seq\ndepth m = 3\n"
MODELS = {
    "ahead, in a given extent": "model net(x: [four]) -> four[past_four] causal past_four {\n"
    "    return index[four]((int(past_four) + 1) % |four|)\n}\n",
    "behind, in a given extent": "model net(x: [four, m]) -> (i: four[four] causal four, y: [four, m] causal four) {\n"
    "    return index[four](int(four) % 2), x\n}\n",
    "behind, in an open extent": "model net(x: [seq, m]) -> (i: past[seq] causal seq, y: [seq, m] causal seq) {\n"
    "    return index[past](int(seq) - int(seq) % 2), x\n}\n",
}


@pytest.mark.parametrize("what", MODELS)
def test_indices_as_results(what: str) -> None:
    check_steps(attnc.loads(HEADER + MODELS[what]).model("net"), seeds=(1, 2, 3), dtypes=("float64",))
