"""A call without an argument means its default along all axes of the argument, as the block on its own does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import attnc

ROOT = Path(__file__).parents[2]
HEAD = "width seq\nwidth past like seq\ndepth d = 3\n"

BODIES = {
    "renamed": "sum[past](x[seq as past] where real[seq as past] and past <= seq)",
    "renamed, beside nothing": "broadcast[seq](sum[past](x[seq as past] where real[seq as past]))",
    "the opposite renamed": "broadcast[seq](sum[past](x[seq as past] where not (not real)[seq as past]))",
    "picked": "select(real[seq = 0], x, 0)",
    "picked by an index": "select(real[seq = max(seq - 1, 0)], x, 0)",
    "summed": "x / broadcast[seq](sum[seq](select(real, 1, 0)))",
    "counted": "x / broadcast[seq](sum[seq](1 where real))",
    "running": "x * (cumsum[seq](select(real, 1, 0)) - 1)",
    "of all": "select(all[seq](real), x, 0)",
    "a number renamed": "x * scale * mean[past](scale[seq as past])",
    "a number that is exponentiated": "x * broadcast[seq](sum[seq](exp(scale) * scale))",
}


def spec(body: str, call: str) -> str:
    arguments = "x: [seq, d], real: bool[seq] = true, scale: [seq] = 0.5"
    return HEAD + (
        f"model inner({arguments}) -> [seq, d] {{\n    y = x * scale\n    return select(real, y, 0) + ({body})\n}}\n"
        f"model outer(x: [seq, d]) -> [seq, d] {{\n    return {call}\n}}\n"
    )


@pytest.mark.parametrize("call", ["inner(x)", "inner(x, true, 0.5)", "inner(x, real = true)"])
@pytest.mark.parametrize("name", BODIES)
def test_a_call_means_what_the_model_on_its_own_does(name: str, call: str) -> None:
    made = attnc.loads(spec(BODIES[name], call))
    x = np.random.default_rng(0).normal(size=(4, 3))
    want = made.model("inner").numpy()(x)
    np.testing.assert_allclose(made.model("outer").numpy()(x), want, rtol=1e-6)


def test_the_zoos_llama_is_called_by_another_model() -> None:
    text = (
        "use llama: llama, model, inner, vocab, groups, sharing, key, layers, seq\n"
        "width seq\ndepth model = 8, inner = 12, vocab = 11, groups = 2, sharing = 2, key = 2\nconst layers = 2\n"
        "model halved(ids: vocab[seq]) -> [seq, vocab] causal seq {\n    return llama(ids) * 0.5\n}\n"
        "model itself(ids: vocab[seq]) -> [seq, vocab] causal seq {\n    return llama(ids, broadcast[seq](true))\n}\n"
    )
    made = attnc.loads(text, base=ROOT / "examples" / "zoo")
    halved, itself = made.model("halved").numpy(seed=0), made.model("itself").numpy(seed=0)
    ids = np.array([[3, 1, 4, 1, 5]])
    np.testing.assert_allclose(halved(ids), 0.5 * itself(ids), rtol=1e-5, atol=1e-7)
