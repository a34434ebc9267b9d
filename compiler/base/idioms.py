"""The names of other libraries' functions and what to write for them here: help for a name that is an op elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable


def _by_name(table: str, said: str = "{}") -> dict[str, str]:
    """`name other: what to write` in each line, or in several, the others indented; short ones end with `;`, and others
    follow. said: the sentence around each."""
    rows = (row.split(": ", 1) for row in re.split(r"\n|;  ", re.sub(r"\n +", " ", table.strip())))
    return {name: said.format(help) for names, help in rows for name in names.split()}


IDIOMS = _by_name("""
einsum matmul bmm mm tensordot contract inner: `dot[d](x, y)` multiplies, aligned on the axes that both have, and sums
  over `d`
transpose permute swapaxes movedim t: axes have names and no order: nothing is transposed
reshape view rearrange flatten unflatten chunk: `split[a -> b, c](x)` and `merge[b, c -> a](x)` change axes by name
masked_fill masked_softmax mask: leave items out where they are used: `softmax[k](s where m)`; or choose values,
  `select(m, x, 0)`
expand repeat_interleave tile unsqueeze squeeze expand_as: `broadcast[a](x)` spreads a value over an axis; weights,
  constants and depths spread by themselves
cat hstack vstack: `concat[a, b -> c](x, y)` joins along named axes
stack: choose along an axis of its own, `select(which == 0, x, y)`, for `depth which = 2`
gather take index_select take_along: `x[a = e]` takes the items of x at e along a
arange positions range linspace: the name of an axis stands for its index
size shape len: `|a|` is the size of the axis `a`
unfold conv1d conv2d Conv1d: `window[t -> t, tap](x)`, then `linear[tap, d -> e]`
reverse fliplr flipud: `flip[a](x)` turns an axis round
attention scaled_dot_product_attention sdpa self_attention MultiheadAttention multi_head_attention mha cross_attention:
  the standard library has it: `use std.attention: multihead, model, heads`, or `attend` for one head
rope apply_rotary apply_rope rotary_embedding: `use std.positions: rotary`
causal_mask attention_mask tril triu: a mask compares indices: `past <= seq`, for `width past like seq`
zeros zeros_like: a number is a value: `broadcast[a](0)`
ones ones_like: a number is a value: `broadcast[a](1)`
full full_like: a number is a value: `broadcast[a](number)`
rand randn normal uniform: weights begin at random: `param w: [a] ~ normal(0.02)`; nothing else is drawn: noise is an
  input, `noise: [a]`
grad gradient backward autograd jacobian hessian vjp jvp: a spec takes no gradients: PyTorch does, of the compiled model
dense Linear Dense fc proj lin: a learned map: `linear[a -> b](x)`
one_hot onehot: an index compares with its axis: `select(vocab == ids, 1, 0)`
groupnorm group_norm: `split` the axis into groups, then `layernorm[part]`
batchnorm batch_norm: a batch is not written: `param`s hold its mean and variance
fft rfft fftconv: a long convolution is a `dot` with a filter read at `t - s`
glu GLU: a gate is a product of two maps: `linear.a[d -> e](x) * sigmoid(linear.b[d -> e](x))`
reglu ReGLU: a gate is a product of two maps: `linear.a[d -> e](x) * relu(linear.b[d -> e](x))`
prelu PReLU: write `max(x, 0) + slope * min(x, 0)`, for `param slope: [] ~ constant(0.25)`
log2 log10: write `log(x) / log(2)`, or `/ log(10)`
cumprod: of positive numbers, `cumsum[a](log(x))` is the logarithm of their products
detach stop_grad no_grad: it is `stop_gradient(x)`; a weight without gradient is a `param ... frozen`
median quantile: sort, and take what is in the middle: `x[a = argsort[a -> r](x)][r = floor((|r| - 1) / 2)]`
softmax1 softmax_one softmax_plus_one: `concat` a score of 0 before `softmax`, and leave its weight out
gumbel_softmax gumbel multinomial bernoulli: a spec draws nothing at random but `dropout`: take the noise as an input
scatter scatter_add index_add index_copy segment_sum: a product with a one-hot table, `dot[k](select(t == at, 1, 0),
  y)`: the cookbook has it (writing back)
roll shift: gather by arithmetic of the index: `x[t = (t + |t| - 1) % |t|]`, or `x[t = max(t - 1, 0)]`
acos asin atan arccos arcsin arctan atan2: there is no inverse of `cos` and `sin`: docs/ops.md lists the ops
long: an index is whole already: `int(i)` is its number; of a real number `floor(x)` is
binary_cross_entropy binary_cross_entropy_with_logits bce bce_loss BCELoss: of logits, write `mean[a](softplus(x) - x *
  y)`
bilinear Bilinear: write `dot[a, b](x, y, w)`, for `param w: [a, b, c]`
diag eye trace: indices compare: `select(a == b, x, 0)`, for two copies of an axis
fmod: write `x - n * select(x / n > 0, floor(x / n), ceil(x / n))`: `x % n` has the sign of `n`
entropy: write `-sum[a](p * log(p))`; `cross_entropy[a](logits, ids)` is the loss
logical_and logical_or logical_not: write `m and n`, `m or n`, `not m`
self: a block is called by its own name; `.label` names weights: `linear.out[a -> b](x)`
prod: of positive numbers, write `exp(sum[a](log(x)))`
leaky_relu: write `max(x, 0.01 * x)`, or another slope
outer: write `x * y`: depths that only one of the two has spread, and widths by `broadcast[a](x)`
inverse inv pinv det svd solve: there is no linear algebra but `dot`: docs/ops.md lists the ops
norm: `l2norm[a](x)` divides by the length; the length itself is `sqrt(sum[a](x * x))`
normalize: `l2norm[a](x)` divides by the length
nll_loss: `cross_entropy[vocab](logits, ids)` takes logits
""")
IDIOMS |= _by_name("""
add: x + y;  sub subtract: x - y;  mul multiply: x * y;  div divide true_divide: x / y;  mod remainder: x % n
pow: x ^ n;  square sqr: x ^ 2;  exp2: 2 ^ x;  reciprocal: 1 / x;  lerp: x + t * (y - x);  logical_xor xor: m != n
round rint: floor(x + 0.5);  trunc: select(x > 0, floor(x), ceil(x));  frac: x - floor(x);  logit: log(x / (1 - x))
sign: select(x > 0, 1, select(x < 0, -1, 0));  logaddexp: max(x, y) + softplus(-abs(x - y));  erfc: 1 - erf(x)
tan: sin(x) / cos(x);  sinh: (exp(x) - exp(-x)) / 2;  cosh: (exp(x) + exp(-x)) / 2
atanh arctanh: 0.5 * log((1 + x) / (1 - x));  asinh arcsinh: log(x + sqrt(x ^ 2 + 1))
acosh arccosh: log(x + sqrt(x ^ 2 - 1));  mish: x * tanh(softplus(x));  tanhshrink: x - tanh(x)
relu6: clamp(x, 0, 6);  relu2 squared_relu relu_squared: relu(x) ^ 2;  leakyrelu LeakyReLU rrelu: max(x, 0.01 * x)
elu: select(x > 0, x, expm1(min(x, 0)));  celu: max(x, 0) + a * expm1(min(x, 0) / a);  softmin: softmax[a](-x)
selu: 1.0507 * (max(x, 0) + 1.6733 * (expm1(min(x, 0))));  logsigmoid log_sigmoid LogSigmoid: -softplus(-x)
hardtanh hard_tanh: clamp(x, -1, 1);  hardsigmoid hard_sigmoid: clamp(x / 6 + 0.5, 0, 1);  softsign: x / (1 + abs(x))
hardswish hard_swish hardsilu: x * clamp(x / 6 + 0.5, 0, 1);  softcap: c * tanh(x / c)
var: mean[a]((x - broadcast[a](mean[a](x))) ^ 2);  std: sqrt(mean[a]((x - broadcast[a](mean[a](x))) ^ 2))
l1norm l1_norm: x / broadcast[a](sum[a](abs(x)));  cosine_similarity cos_sim: dot[d](l2norm[d](x), l2norm[d](y))
mse_loss mse MSELoss: mean[a]((x - y) ^ 2);  l1_loss L1Loss: mean[a](abs(x - y));  kl_div: sum[a](p * log(p / q))
argmin: argmax[a](-x);  cummin: -cummax[a](-x);  sort: x[a = argsort[a -> r](x)]
count count_nonzero: sum[a](select(m, 1, 0))
""", "write `{}`")  # fmt: skip
IDIOMS |= _by_name("""
maximum: max(x, y);  minimum: min(x, y);  average avg mean_pool: mean[a](x);  ln: log(x);  lse: logsumexp[a](x)
clip: clamp(x, low, high);  swish: silu(x)
""", "it is `{}`")  # fmt: skip

OTHER_INITS = _by_name("""
kaiming_normal he_normal: for a map from `a`, write `normal(sqrt(2 / |a|))`
kaiming_uniform he_uniform: for a map from `a`, write `uniform(sqrt(6 / |a|))`
lecun_normal: for a map from `a`, write `normal(sqrt(1 / |a|))`
xavier_uniform glorot_uniform glorot: it is `xavier`
xavier_normal glorot_normal: write `normal(sqrt(2 / (|a| + |b|)))`, for a map from a to b
randn gaussian: it is `normal(std)`
rand random: it is `uniform(bound)`, from -bound to bound
const fill full: it is `constant(c)`
""")
"""The names of other libraries' initialisations, and what to write for them here."""

AXIS_WORDS = frozenset(("axis", "axes", "dim", "dims"))
"""What other libraries call the argument that says along which axes an op goes."""

MASK_WORDS = frozenset(("mask", "attn_mask", "attention_mask", "key_padding_mask", "keep"))
"""The names of their argument that says which items count: a mask."""

FOREIGN = frozenset(("torch", "F", "nn", "np", "jnp", "numpy", "jax", "tf", "keras", "einops"))
"""The names that libraries go by in front of a dot, as in `torch.relu`."""


def compared(text: str, quoted: Callable[[str], str]) -> str:
    """How a number becomes a mask. quoted: writes a piece of code."""
    text = f"({text})" if " " in text else text
    ones, zeros = quoted(f"{text} > 0"), quoted(f"{text} == 0")
    return f"compare it: {ones} where 1 keeps an item; {zeros} where 0 does, as in a mask that is added"
