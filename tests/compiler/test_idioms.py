"""A name that is an op in another library is told what it is called here."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler.idioms import IDIOMS

WORDS = {
    "dot[d](x, y)": "einsum matmul bmm mm tensordot contract inner",
    "names and no order": "transpose permute swapaxes movedim t",
    "split[a -> b, c](x)": "reshape view rearrange flatten unflatten chunk",
    "softmax[k](s where m)": "masked_fill masked_softmax tril triu mask",
    "broadcast[a](x)": "expand repeat_interleave tile unsqueeze squeeze expand_as",
    "concat[a, b -> c](x, y)": "cat stack hstack vstack",
    "x[a = e]": "gather take index_select take_along",
    "stands for its index": "arange positions",
    "|a|": "size shape len",
    "window[t -> t, tap](x)": "unfold conv1d conv2d Conv1d",
    "x[t = |t| - 1 - t]": "flip roll shift",
    "max(x, 0.01 * x)": "leaky_relu leakyrelu LeakyReLU",
    "select(x > 0, x,": "elu",
    "write `max(x, 0) + log(1 + exp(-abs(x)))`": "softplus",
    "`x * y`": "outer",
    "use std.attention: multihead": "attention scaled_dot_product_attention sdpa self_attention MultiheadAttention "
    "multi_head_attention mha cross_attention",
    "use std.positions: rotary": "rope apply_rotary apply_rope rotary_embedding",
    "past <= seq": "causal_mask attention_mask",
    "broadcast[a](0)": "zeros ones full zeros_like ones_like",
    "~ normal(0.02)": "rand randn normal uniform",
    "linear[a -> b](x)": "dense Linear Dense fc proj",
    "vocab == ids": "one_hot onehot",
    "layernorm[part]": "groupnorm group_norm",
    "mean and variance": "batchnorm batch_norm",
    "a filter read at": "fft rfft fftconv",
    "log(1 + x)": "log1p",
    "exp(x) - 1`": "expm1",
    "select(x > 0, 1, select(x < 0, -1, 0))": "sign",
    "floor(x + 0.5)": "round",
    "clamp(x, low, high)": "clip",
    "clamp(x, 0, 6)": "relu6",
    "c * tanh(x / c)": "softcap",
    "x * tanh(max(x, 0)": "mish",
    "exp(sum[a](log(x)))": "prod",
    "silu(x)": "swish",
    "x ^ 2": "square",
    "x ^ n": "pow",
    "mean[a]((x - broadcast[a](mean[a](x))) ^ 2)": "var std",
    "l2norm[a](x)": "norm normalize",
    "argmax[a](-x)": "argmin",
    "argsort[a -> r](x)": "sort",
    "exp(cumsum[a](log(x)))": "cumprod",
    "cross_entropy[vocab](logits, ids)": "nll_loss",
    "mean[a]((x - y) ^ 2)": "mse_loss mse MSELoss",
    "mean[a](abs(x - y))": "l1_loss L1Loss",
    "called by its own name": "self",
}
NAMES = [(name, said) for said, names in WORDS.items() for name in names.split()]


@pytest.mark.parametrize(("name", "said"), NAMES, ids=[name for name, _ in NAMES])
def test_what_it_is_called_here(name: str, said: str) -> None:
    call = f"block f(x: []) -> [] {{\n    return {name}(x)\n}}\n"
    (found,) = attnc.check(call)
    assert found.code == "E0203"
    assert said in found.help
    assert found.fix is None  # it is no misspelling of an op with a name like it


def test_none_is_forgotten() -> None:
    assert {name for name, _ in NAMES} == IDIOMS.keys()
