"""Names of a spec that would clash in Python."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")


def test_variables_may_bear_the_names_of_blocks_and_helpers() -> None:
    """In the spec they do not clash; in the code a variable must not hide the function that it is made by."""
    text = """
    width seq
    depth d = 4, tap = 3
    block foo(linear: [d]) -> [d] { return linear.W[d -> d](linear) }
    block bar(window: [tap, d]) -> [d] {
        foo = foo(sum[tap](window))
        layernorm = layernorm[d](foo)
        return foo + layernorm
    }
    model m(softmax: [seq, d]) -> [seq, d] {
        Foo = bar(window[seq -> seq, tap](softmax, pad = 2))
        bar = bar.second(window[seq -> seq, tap](Foo, pad = 2))
        return bar + Foo
    }
    """
    model = attnc.loads(text).model("m")
    x = np.random.default_rng(0).standard_normal((2, 5, 4))
    plain = model.numpy(seed=0, dtype="float64")(softmax=x)
    deep = model.torch(seed=0, dtype=torch.float64)(softmax=torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(plain, deep, rtol=1e-10)


def test_inputs_keep_the_names_of_the_spec() -> None:
    """Though `next` and `lambda` are Python's: both backends take them as the spec has them."""
    text = """
    width seq
    depth vocab = 5
    model m(next: vocab[seq], lambda: [seq]) -> [seq] {
        param E: [vocab]
        return E[vocab = next] * lambda
    }
    """
    model = attnc.loads(text).model("m")
    ids, scale = np.array([[1, 2, 0]]), np.array([[1.0, 2.0, 3.0]])
    plain = model.numpy(seed=0, dtype="float64")(**{"next": ids, "lambda": scale})
    net = copy.deepcopy(model.torch(seed=0, dtype=torch.float64))
    deep = net(**{"next": torch.from_numpy(ids), "lambda": torch.from_numpy(scale)})
    np.testing.assert_allclose(plain, deep.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("stack", "one"), [("layers", "layer"), ("blocks", "block"), ("stack", "layer"), ("ts", "layer"), ("gas", "layer")]
)
def test_what_one_of_a_stack_is_called(stack: str, one: str) -> None:
    text = (
        f"width seq\ndepth d = 4\nmodel m(x: [seq, d]) -> [seq, d] {{\n    repeat.{stack} 2 {{\n"
        "        x = linear.w[d -> d](x)\n    }\n    return x\n}\n"
    )
    assert f"for {one} in self.{stack}:" in attnc.loads(text).model("m").source("torch")
