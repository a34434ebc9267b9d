"""A name that is an op in another library is told what it is called here."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler.base.idioms import IDIOMS
from attnc.compiler.ops import OPS, Notation

WORDS = {
    "dot[d](x, y)": "einsum matmul bmm mm tensordot contract inner",
    "names and no order": "transpose permute swapaxes movedim t",
    "split[a -> b, c](x)": "reshape view rearrange flatten unflatten chunk",
    "softmax[k](s where m)": "masked_fill masked_softmax mask",
    "broadcast[a](x)": "expand repeat_interleave tile unsqueeze squeeze expand_as",
    "concat[a, b -> c](x, y)": "cat hstack vstack",
    "select(which == 0, x, y)": "stack",
    "x + y": "add",
    "x - y": "sub subtract",
    "x * y`": "mul multiply",
    "x / y": "div divide true_divide",
    "no linear algebra": "inverse inv pinv det svd solve",
    "x[a = e]": "gather take index_select take_along",
    "stands for its index": "arange positions range linspace",
    "|a|": "size shape len",
    "window[t -> t, tap](x)": "unfold conv1d conv2d Conv1d",
    "`flip[a](x)`": "reverse fliplr flipud",
    "x[t = max(t - 1, 0)]": "roll shift",
    "max(x, 0.01 * x)": "leaky_relu leakyrelu LeakyReLU rrelu",
    "select(x > 0, x,": "elu",
    "`x * y`": "outer",
    "use std.attention: multihead": "attention scaled_dot_product_attention sdpa self_attention MultiheadAttention "
    "multi_head_attention mha cross_attention",
    "use std.positions: rotary": "rope apply_rotary apply_rope rotary_embedding",
    "past <= seq": "causal_mask attention_mask tril triu",
    "broadcast[a](0)": "zeros zeros_like",
    "broadcast[a](1)": "ones ones_like",
    "broadcast[a](number)": "full full_like",
    "~ normal(0.02)": "rand randn normal uniform",
    "noise is an input, `noise: [a]`": "rand randn normal uniform",
    "PyTorch does, of the compiled model": "grad gradient backward autograd jacobian hessian vjp jvp",
    "linear[a -> b](x)": "dense Linear lin Dense fc proj",
    "vocab == ids": "one_hot onehot",
    "layernorm[part]": "groupnorm group_norm",
    "mean and variance": "batchnorm batch_norm",
    "a filter read at": "fft rfft fftconv",
    "select(x > 0, 1, select(x < 0, -1, 0))": "sign",
    "floor(x + 0.5)": "round rint",
    "clamp(x, low, high)": "clip",
    "clamp(x, 0, 6)": "relu6",
    "c * tanh(x / c)": "softcap",
    "x * tanh(softplus(x))": "mish",
    "exp(sum[a](log(x)))": "prod",
    "silu(x)": "swish",
    "x ^ 2": "square sqr",
    "x ^ n": "pow",
    "mean[a]((x - broadcast[a](mean[a](x))) ^ 2)": "var std",
    "l2norm[a](x)": "norm normalize",
    "argmax[a](-x)": "argmin",
    "argsort[a -> r](x)": "sort",
    "of positive numbers, `cumsum[a](log(x))`": "cumprod",
    "it is `stop_gradient(x)`": "detach stop_grad no_grad",
    "0.5 * log((1 + x) / (1 - x))": "atanh arctanh",
    "log(x + sqrt(x ^ 2 + 1))": "asinh arcsinh",
    "log(x + sqrt(x ^ 2 - 1))": "acosh arccosh",
    "max(x, y)`": "maximum",
    "min(x, y)`": "minimum",
    "1 - erf(x)": "erfc",
    "int(i)": "long",
    "mean[a](softplus(x) - x * y)": "binary_cross_entropy binary_cross_entropy_with_logits bce bce_loss BCELoss",
    "dot[a, b](x, y, w)": "bilinear Bilinear",
    "cross_entropy[vocab](logits, ids)": "nll_loss",
    "mean[a]((x - y) ^ 2)": "mse_loss mse MSELoss",
    "mean[a](abs(x - y))": "l1_loss L1Loss",
    "called by its own name": "self",
    "mean[a](x)`": "average avg mean_pool",
    "select(m, 1, 0)": "count count_nonzero",
    "log(x)`": "ln",
    "logsumexp[a](x)": "lse",
    "m and n": "logical_and logical_or logical_not",
    "m != n": "logical_xor xor",
    "-softplus(-x)": "logsigmoid log_sigmoid LogSigmoid",
    "* sigmoid(linear.b[d -> e](x))": "glu GLU",
    "* relu(linear.b[d -> e](x))": "reglu ReGLU",
    "relu(x) ^ 2": "relu2 squared_relu relu_squared",
    "slope * min(x, 0)": "prelu PReLU",
    "clamp(x, -1, 1)": "hardtanh hard_tanh",
    "`clamp(x / 6 + 0.5, 0, 1)": "hardsigmoid hard_sigmoid",
    "x * clamp(x / 6 + 0.5, 0, 1)": "hardswish hard_swish hardsilu",
    "log(x) / log(2)": "log2 log10",
    "-cummax[a](-x)": "cummin",
    "x % n": "mod remainder",
    "x - n * select(x / n > 0": "fmod",
    "x / broadcast[a](sum[a](abs(x)))": "l1norm l1_norm",
    "[r = floor((|r| - 1) / 2)]": "median quantile",
    "a score of 0": "softmax1 softmax_one softmax_plus_one",
    "take the noise as an input": "gumbel_softmax gumbel multinomial bernoulli",
    "select(t == at, 1, 0)": "scatter scatter_add index_add index_copy segment_sum",
    "no inverse": "acos asin atan arccos arcsin arctan atan2",
    "select(a == b, x, 0)": "diag eye trace",
    "-sum[a](p * log(p))": "entropy",
    "sum[a](p * log(p / q))": "kl_div",
    "dot[d](l2norm[d](x), l2norm[d](y))": "cosine_similarity cos_sim",
    "max(x, y) + softplus(-abs(x - y))": "logaddexp",
    "1.0507 *": "selu",
    "a * expm1(min(x, 0) / a)": "celu",
    "softmax[a](-x)": "softmin",
    "x / (1 + abs(x))": "softsign",
    "x - tanh(x)": "tanhshrink",
    "log(x / (1 - x))": "logit",
    "2 ^ x": "exp2",
    "1 / x": "reciprocal",
    "x + t * (y - x)": "lerp",
    "sin(x) / cos(x)": "tan",
    "(exp(x) - exp(-x)) / 2": "sinh",
    "(exp(x) + exp(-x)) / 2": "cosh",
    "select(x > 0, floor(x), ceil(x))": "trunc",
    "x - floor(x)": "frac",
}
NAMES = [(name, said) for said, names in WORDS.items() for name in names.split()]


@pytest.mark.parametrize(("name", "said"), NAMES, ids=[name for name, _ in NAMES])
def test_what_it_is_called_here(name: str, said: str) -> None:
    call = f"block f(x: []) -> [] {{\n    return {name}(x)\n}}\n"
    (found,) = attnc.check(call)
    assert found.code == "E0203"
    assert said in found.help
    assert found.fix is None  # it is no misspelling of an op with a name like it


POINTWISE = [
    "logsigmoid",
    "relu6",
    "hardtanh",
    "hardsigmoid",
    "hardswish",
    "mish",
    "elu",
    "selu",
    "celu",
    "softsign",
    "tanhshrink",
    "logit",
    "exp2",
    "reciprocal",
    "tan",
    "sinh",
    "cosh",
    "trunc",
    "sign",
    "square",
    "log2",
    "leaky_relu",
    "asinh",
    "atanh",
    "erfc",
]


@pytest.mark.parametrize("name", POINTWISE)
def test_what_is_to_be_written_computes_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.functional, name, None) or getattr(torch, name)
    text = IDIOMS[name].partition("`")[2].partition("`")[0]
    spec = f"const a = 1.0\nwidth n\nmodel f(x: [n]) -> [n] {{\n    return {text} + 0 * a\n}}\n"
    x = torch.linspace(0.05, 0.95, 7, dtype=torch.float64)
    if name not in ("atanh", "logit", "log2"):
        x = torch.cat([-8 * x, 4 * x])
    found = attnc.loads(spec).model("f").torch(dtype=torch.float64)(x)
    torch.testing.assert_close(found, theirs(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["SELU", "CELU", "ELU", "Mish", "Outer"])
def test_a_class_is_told_as_its_function(name: str) -> None:
    (found,) = attnc.check(f"block f(x: []) -> [] {{\n    return {name}(x)\n}}\n")
    assert found.help == IDIOMS[name.lower()]
    assert found.fix is None


def test_none_is_an_op() -> None:
    """What is written as in other libraries needs no word about them: nothing would ever read it."""
    assert not {name for name in IDIOMS if name in OPS and OPS[name].notation is Notation.CALL}


def test_none_is_forgotten() -> None:
    assert {name for name, _ in NAMES} == IDIOMS.keys()
