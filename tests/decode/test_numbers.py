"""What is the same number at every item: spread over time, or an input left to its default."""

from __future__ import annotations

import numpy as np
import pytest
import torch

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


@pytest.mark.parametrize(
    "read", ["near[c = |a|](x)", "broadcast[seq](plain[c = |a| + 1](P))", "scan[seq] cell[c = |a|](x, h = 0)"]
)
def test_a_const_that_is_given_the_size_of_time(read: str) -> None:
    """A const is one number for all steps, so there are none. Such a model was not written at all (KeyError)."""
    text = f"""
width seq
width past like seq
depth d = 4
block near[c: const](x: [seq, d]) -> [seq, d] {{
    return dot[past](softmax[past](0.1 * past where past <= seq), x[seq as past])
}}
block plain[c: const](y: [d]) -> [d] {{
    return tanh(y)
}}
block cell[c: const](x: [d], h: [d]) -> (h: [d]) {{
    return tanh(x + h)
}}
block outer[a: width](x: [seq, d]) -> [seq, d] {{
    param P: [d]
    return P + {read}
}}
model net(x: [seq, d]) -> [seq, d] causal seq {{
    repeat.layers 2 {{
        x = x + outer[seq](x)
    }}
    return x
}}
"""
    model = attnc.loads(text).model("net")
    assert "the number of all items is given to" in model.decoding.reason
    x = np.random.default_rng(0).normal(size=(2, 5, 4))
    with torch.no_grad():
        right = model.torch(seed=0, dtype=torch.float64)(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(model.numpy(seed=0, dtype="float64")(x), right, atol=1e-12)
