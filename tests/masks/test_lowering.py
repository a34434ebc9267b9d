"""How masks are lowered: what is recognised, the memory it takes, and that it is fit for torch's own compilers."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnc import load, loads
from attnc.backends.loading.load import build_numpy, build_torch
from attnc.backends.runtime.common.spans import Span, Truth, in_sight
from attnc.backends.runtime.torch.masks import attention, flexible_attention, masked_attention
from tests.backends.agreement import graph_of
from tests.sources import torch_source

ROOT = Path(__file__).parents[2]

SPEC = """\
width q
width k like q
depth h = 1, d = 16
const near = 128, step = 8
model f(Q: [h, q, d], K: [h, k, d], V: [h, k, d], n: int[], real: bool[q], m: bool[q, k]) -> [h, q, d] {{
    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where {mask}), V)
}}
"""

# A mask, what it is called, and how PyTorch computes it.
KINDS = [
    ("k <= q", "causal", "is_causal"),
    ("not (q < k)", "causal", "is_causal"),
    ("k < q + 1", "causal", "is_causal"),
    ("k < q", "band 1 ..", "blocks"),
    ("k <= q and q - k < near", "band 0 .. 127", "blocks"),
    ("abs(q - k) <= near", "band -128 .. 128", "blocks"),
    ("abs(q - k) < near", "band -127 .. 127", "blocks"),
    ("k <= q and real[q as k]", "causal and padding `real`", "blocks"),
    ("real[q as k]", "padding `real`", "one row"),
    ("k <= q and (q - k) % step == 0", "causal and strided by 8", "blocks"),
    ("(q - k) % step == 0 or abs(q - k) < 3", "strided by 8 or band -2 .. 2", "blocks"),
    ("floor(q / 64) == floor(k / 64)", "blocks of 64", "blocks"),
    ("k <= q or k < n", "causal or prefix", "blocks"),
    ("k <= q or k < 10", "causal or prefix", "blocks"),
    ("real == real[q as k]", "segments", "blocks"),
    ("real and real[q as k]", "queries `real` and padding `real`", "blocks"),
    ("abs(q - k) < near or k < 4 or q < 4", "band -127 .. 127 or prefix or queries at given places", "blocks"),
    ("m", "dense `m`", "as it is given"),
    ("m and k <= q", "causal and dense `m`", "blocks"),
    ("max(q - k, 0) < 3 and k <= q", "causal and dense", "blocks"),
    ("q - k < n and k <= q", "band 0 .. n - 1", "blocks"),
]


@pytest.mark.parametrize(("mask", "name", "how"), KINDS, ids=[mask for mask, _, _ in KINDS])
def test_kinds(mask: str, name: str, how: str) -> None:
    report = loads(SPEC.format(mask=mask)).model("f").explain()
    (one,) = report.attended
    assert one.sees == name
    assert how in one.how["torch"]
    assert name in str(report)


def test_what_is_not_read_is_said() -> None:
    text = SPEC.format(mask="k <= q and sin(int(q) * int(k)) > 0 and max(q - k, 0) < 9")
    (one,) = loads(text, name="net.attn").model("f").explain().attended
    assert [part.why for part in one.unread] == ["it compares real numbers", "`max` is not read through"]
    assert "net.attn:6: it compares real numbers" in str(loads(text, name="net.attn").model("f").explain())


SPECS = [*sorted((ROOT / "examples").glob("*.attn")), *sorted((ROOT / "examples/zoo").rglob("*.attn"))]
SPECS += sorted((ROOT / "tests/zoo/more").glob("*.attn"))


@pytest.mark.slow  # half a minute; the reports of a few specs are in other tests
def test_reports_of_the_zoo(golden: Any) -> None:
    texts = []
    for path in SPECS:
        spec = load(path)
        texts += [str(spec.model(name).explain()).replace(f"{path.parent}/", "") for name in spec.models]
    golden("golden/reports.txt", "\n".join(texts))


def test_shared_weights_keep_their_mask_as_an_argument() -> None:
    """One set of weights is one class, so it cannot have a mask of its own for each call."""
    text = """\
width q
width k like q
depth h = 2, d = 4, m = 8
block att(x: [q, m], mask: bool[q, k]) -> [q, m] {
    Q = linear[m -> h, d](x)
    K = linear[m -> h, d](x)
    return linear.O[h, d -> m](dot[k](softmax[k](dot[d](Q, K[q as k]) where mask), K[q as k]))
}
model f(x: [q, m]) -> [q, m] {
    share a = att
    return a(x, k <= q) + a(x, abs(q - k) < 3)
}
"""
    graph = graph_of(text)
    assert torch_source(graph).count("mask=mask, scale=1)") == 1
    x = np.random.default_rng(0).standard_normal((2, 9, 8))
    found = build_torch(graph, seed=1, dtype=torch.float64)(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, build_numpy(graph, seed=1, dtype=np.float64)(x), atol=1e-12)


# -- memory -----------------------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """The most elements that any tensor made under it has."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor) and not (x.numel() and x._base is not None):
                self.most = max(self.most, x.untyped_storage().nbytes())
        return out


STRUCTURED = [
    mask for mask, _, how in KINDS if how != "as it is given" and "m" not in mask.split() and "max" not in mask
]


def some(rest: int) -> list[Any]:
    """All of them, two thirds marked slow."""
    slow = pytest.mark.slow
    return [mask if i % 3 == rest else pytest.param(mask, marks=slow) for i, mask in enumerate(STRUCTURED)]


@pytest.mark.parametrize("mask", some(2))
def test_torch_never_holds_a_whole_mask(mask: str) -> None:
    """Forward and backward at 4,096 items: nothing made has N x N bytes, and what is kept for the gradient neither."""
    width = 4096
    module = build_torch(graph_of(SPEC.format(mask=mask).replace(", m: bool[q, k]", "")), seed=0)
    inputs = [torch.randn(1, 1, width, 16, requires_grad=True) for _ in range(3)]
    kept: dict[int, int] = {}

    def keep(x: torch.Tensor) -> torch.Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with Largest() as probe, torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        out = module(*inputs, torch.tensor([100]), torch.arange(width)[None] % 7 > 0)
        out.sum().backward()
    assert probe.most < width * width
    assert sum(kept.values()) < width * width


@pytest.mark.parametrize("mask", some(0))
def test_numpy_never_holds_a_whole_mask(mask: str) -> None:
    width = 4096
    function = build_numpy(graph_of(SPEC.format(mask=mask).replace(", m: bool[q, k]", "")), seed=0, dtype=np.float32)
    draw = np.random.default_rng(0)
    inputs = [draw.standard_normal((1, width, 16), dtype=np.float32) for _ in range(3)]
    tracemalloc.start()
    out = function(*inputs, np.array(100), np.arange(width) % 7 > 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert out.dtype == np.float32
    assert peak < width * width / 2


# -- the helpers ------------------------------------------------------------------------------------------------------


def causal(q: Any, k: Any) -> Any:
    return k <= q


def window(q: Any, k: Any, real: Any, near: int = 70) -> Any:
    return (k <= q) & (q - k < near) & real


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("n", [1, 7, 130, 300])
@pytest.mark.parametrize("d", [8, 16])
def test_flexible_attention_on_the_cpu(n: int, d: int) -> None:
    Q, K, V = (torch.randn(2, 3, n, d) for _ in range(3))
    real = torch.rand(2, 1, 1, n) > 0.3
    for data, seen in (((), causal), ((real,), window)):
        mask = seen(torch.arange(n)[:, None], torch.arange(n)[None], *data)
        expected = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        torch.testing.assert_close(flexible_attention(seen, Q, K, V, *data), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 3, 2)])
def test_any_leading_dimensions(lead: tuple[int, ...]) -> None:
    Q = torch.randn(*lead, 70, 8, dtype=torch.float64)
    K, V = (torch.randn(*lead[:-1], *(1 for _ in lead[-1:]), 70, 8, dtype=torch.float64) for _ in range(2))
    mask = torch.arange(70) <= torch.arange(70)[:, None]
    K_, V_ = K.expand(*lead, 70, 8), V.expand(*lead, 70, 8)
    expected = torch.nn.functional.scaled_dot_product_attention(Q, K_, V_, attn_mask=mask)
    torch.testing.assert_close(masked_attention(causal, Q, K, V), expected)
    torch.testing.assert_close(attention(Q, K, V, is_causal=True), expected)


def test_who_sees_nothing_gets_zeros_and_no_gradient() -> None:
    def seen(q: Any, k: Any, real: Any) -> Any:
        return (k <= q) & real

    Q, K, V = (torch.randn(1, 1, 200, 8, requires_grad=True) for _ in range(3))
    real = torch.arange(200)[None, None, None] >= 100
    out = masked_attention(seen, Q, K, V, real)
    assert (out[..., :100, :] == 0).all() and (out[..., 100:, :] != 0).any()
    out.sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (Q, K, V))
    assert V.grad is not None and (V.grad[..., :100, :] == 0).all()


@pytest.mark.parametrize("kind", ["plain", "bias", "cap"])
def test_gradients_of_what_is_computed_once_more(kind: str) -> None:
    """Blocks that see more than 1,024 keys are not kept for the backward pass."""
    width = 1290
    Q, K, V = (torch.randn(1, 2, width, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    bias = torch.randn(2, width, 1, dtype=torch.float64, requires_grad=True) if kind == "bias" else None
    cap = 2.0 if kind == "cap" else None
    inputs = [x for x in (Q, K, V, bias) if x is not None]
    mask = torch.arange(width) <= torch.arange(width)[:, None]
    scores = Q @ K.mT / 2
    scores = scores if cap is None else cap * torch.tanh(scores / cap)
    scores = scores if bias is None else scores + bias * torch.arange(width) / width
    expected = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ V
    tilt = None if bias is None else bias * torch.arange(width) / width
    found = masked_attention(causal, Q, K, V, bias=tilt, cap=cap)
    torch.testing.assert_close(found, expected)
    upstream = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found, inputs, upstream), torch.autograd.grad(expected, inputs, upstream), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_dropout_drops_weights_of_what_is_seen() -> None:
    torch.manual_seed(0)
    Q, K = torch.zeros(1, 1, 2000, 4), torch.zeros(1, 1, 2000, 4)
    V = torch.ones(1, 1, 2000, 4, requires_grad=True)
    out = masked_attention(window, Q, K, V, torch.ones(1, 1, 1, 2000, dtype=torch.bool), dropout_p=0.5)
    assert 0.95 < out.mean() < 1.05 and out.std() > 0.05
    wide = masked_attention(lambda q, k: k <= q, Q, K, V, dropout_p=0.5)  # computed once more for its gradient
    (gradient,) = torch.autograd.grad(wide.sum(), V)
    assert abs(gradient.sum() - wide.sum()) < 1e-2 * wide.sum()  # the same weights are dropped both times


def test_whole_graph() -> None:
    module = build_torch(graph_of(SPEC.format(mask="k <= q and q - k < near and real[q as k]")), seed=0)
    inputs = [*(torch.randn(2, 1, 200, 16) for _ in range(3)), torch.zeros(2, dtype=torch.int64)]
    inputs += [torch.rand(2, 200) > 0.2, torch.ones(2, 200, 200, dtype=torch.bool)]
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(*inputs), module(*inputs))


@pytest.mark.slow
def test_gradients_through_a_whole_graph() -> None:
    module = torch.compile(lambda *x: masked_attention(causal, *x).sum(), fullgraph=True, backend="aot_eager")
    inputs = [torch.randn(1, 1, 1300, 8, requires_grad=True) for _ in range(3)]
    found = torch.autograd.grad(module(*inputs), inputs)
    expected = torch.autograd.grad(masked_attention(causal, *inputs).sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_export_with_an_open_width() -> None:
    module = build_torch(graph_of(SPEC.format(mask="k <= q and q - k < near").replace(", m: bool[q, k]", "")), seed=0)

    def inputs(width: int) -> tuple[torch.Tensor, ...]:
        return (
            *(torch.randn(2, 1, width, 16) for _ in range(3)),
            torch.zeros(2, dtype=torch.int64),
            torch.ones(2, width) > 0,
        )

    width = torch.export.Dim("width", min=2, max=1000)
    dims = (*({2: width} for _ in range(3)), {}, {1: width})
    program = torch.export.export(module, inputs(100), dynamic_shapes=dims)
    other = inputs(230)
    torch.testing.assert_close(program.module()(*other), module(*other))


@pytest.mark.parametrize("seed", range(80))
def test_spans_bound_what_they_stand_for(seed: int) -> None:
    """Whatever a random predicate says of two spans holds of every pair in them."""
    draw = np.random.default_rng(seed)
    a, b, s = (int(x) for x in draw.integers(1, 9, 3))
    seen = [
        lambda q, k: q - k < a,
        lambda q, k: abs(k - q) <= b,
        lambda q, k: (q - k) % s == b,
        lambda q, k: (2 * q - 3 * k + 1) % s != a,
        lambda q, k: q // s == k // b,
        lambda q, k: ((q // s >= k) ^ True) | (k == a),
        lambda q, k: (-q * b + k > -a) & (q + k != s),
        lambda q, k: (q % s < k % b) & (k >= a),
    ][seed % 8]
    q0, k0 = (int(x) for x in draw.integers(0, 20, 2))
    q1, k1 = q0 + int(draw.integers(1, 6)), k0 + int(draw.integers(1, 6))
    truth = Truth.of(seen(Span(q0, q1 - 1), Span(k0, k1 - 1)))
    exact = seen(np.arange(q0, q1)[:, None], np.arange(k0, k1)[None])
    assert truth.some >= exact.any() and truth.every <= exact.all()
    runs = in_sight(seen, q0, q1, 100, 8, lambda a, b: [])
    whole = seen(np.arange(q0, q1)[:, None], np.arange(100)[None])
    inside = np.zeros(100, bool)
    for start, end, every in runs:
        inside[start:end] = True
        assert not every or whole[:, start:end].all()
    assert not whole[:, ~inside].any()
