"""What attention alone costs under masks: forward and backward in PyTorch, forward in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import attnc

from .floor import Attention, floor
from .timing import FLOOR, OURS, Case

SPEC = """\
width q
width k like q
depth h = {heads}, d = {head}
model f(Q: [h, q, d], K: [h, k, d], V: [h, k, d], real: bool[q]) -> [h, q, d] {{
    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where {mask}), V)
}}
"""
BLOCK = 64  # queries at once, in the floor of a window


@dataclass(frozen=True, slots=True)
class Sizes:
    """Items, heads and their depth, examples; how far a window reaches, and the stride of what is seen beyond it."""

    width: int = 1024
    heads: int = 8
    head: int = 64
    batch: int = 1
    window: int = 128
    stride: int = 32


@dataclass(frozen=True, slots=True)
class Mask:
    """As our spec writes it, and as NumPy and PyTorch do: of queries [q, 1], keys [k] and what is real, [..., 1, k].

    banded: the keys in sight of a query are those of its window.
    """

    spec: str
    dense: Callable[..., Tensor]
    banded: bool = False


def window(sizes: Sizes) -> Mask:
    near = sizes.window
    return Mask(f"k <= q and q - k < {near}", lambda q, k, real: (k <= q) & (q - k < near), banded=True)


def padding(sizes: Sizes) -> Mask:
    return Mask("k <= q and real[q as k]", lambda q, k, real: (k <= q) & real)


def strided(sizes: Sizes) -> Mask:
    near, stride = sizes.window, sizes.stride
    return Mask(
        f"k <= q and ((q - k) % {stride} == 0 or q - k < {near})",
        lambda q, k, real: (k <= q) & (((q - k) % stride == 0) | (q - k < near)),
    )


def compiled(sizes: Sizes, mask: str) -> attnc.Model:
    return attnc.loads(SPEC.format(heads=sizes.heads, head=sizes.head, mask=mask)).model("f")


def training(name: str, sizes: Sizes, target: float | None, mask_of: Callable[[Sizes], Mask]) -> list[Case]:
    """A mask made as a whole costs those who need one, at each call: widths differ from call to call."""
    mask, shape = mask_of(sizes), (sizes.batch, sizes.heads, sizes.width, sizes.head)
    net = compiled(sizes, mask.spec).torch()
    torch.manual_seed(0)
    inputs = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(shape)
    real = torch.ones(sizes.batch, sizes.width, dtype=torch.bool)
    real[0, : sizes.width // 3] = False

    def dense() -> Tensor:
        place = torch.arange(sizes.width)
        return mask.dense(place[:, None], place, real[:, None, None, :])

    def matmul(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        scores = (Q @ K.mT / sizes.head**0.5).masked_fill(~dense(), -1e30)
        return scores.softmax(-1) @ V

    def einsum(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        scores = torch.einsum("bhqd,bhkd->bhqk", Q, K) / sizes.head**0.5
        return torch.einsum("bhqk,bhkd->bhqd", scores.masked_fill(~dense(), -1e30).softmax(-1), V)

    ways: dict[str, Callable[..., Tensor]] = {
        OURS: lambda *x: net(*x, real),
        "SDPA, dense mask": lambda *x: F.scaled_dot_product_attention(*x, attn_mask=dense()),
        "matmul": matmul,
        "einsum": einsum,
    }

    def both(way: Callable[..., Tensor]) -> Callable[[], list[Tensor]]:
        def step() -> list[Tensor]:
            found = way(*inputs)
            found.backward(upstream)
            gradients = [x.grad for x in inputs if x.grad is not None]
            for x in inputs:
                x.grad = None
            return [found.detach(), *gradients]

        return step

    contenders: dict[str, Callable[[], object]] = {who: both(way) for who, way in ways.items()}

    def check() -> None:
        blind = ~dense().any(-1).expand(*shape[:-1])  # who sees nothing is given zeros by us, an average by others
        for x in (*inputs, upstream):
            x.data[blind] = 0
        expected = both(matmul)()
        for who, way in ways.items():
            for mine, theirs in zip(both(way)(), expected, strict=True):
                seen = [x.masked_fill(blind[..., None], 0) for x in (mine, theirs)]
                torch.testing.assert_close(*seen, rtol=1e-4, atol=1e-4, msg=lambda m, n=who: f"{n}: {m}")

    seen = Attention("all", max(sizes.width // 2, 1), sizes.width, sizes.head, sizes.batch * sizes.heads)
    if mask.banded:
        blocks = -(-sizes.width // BLOCK) * sizes.batch * sizes.heads
        seen = Attention("all", BLOCK, min(sizes.window + BLOCK, sizes.width), sizes.head, blocks)
    contenders[FLOOR] = floor([[seen]], gradients=True)
    what = f"attention forward and backward, {mask.spec}, T {sizes.width:,}, batch {sizes.batch}"
    return [Case(name, what, target, contenders, check)]


def numpy_causal(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    """Of one example: NumPy's `Q @ K` by hand holds all scores."""
    net = compiled(sizes, "k <= q").numpy(dtype="float32")
    draw = np.random.default_rng(0)
    Q, K, V = (draw.standard_normal((sizes.heads, sizes.width, sizes.head), dtype=np.float32) for _ in range(3))
    real, place = np.ones(sizes.width, dtype=bool), np.arange(sizes.width)

    def by_hand(scores: Callable[[], np.ndarray], pick: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        s = np.where(place <= place[:, None], scores() * np.float32(sizes.head**-0.5), np.float32(-np.inf))
        s = np.exp(s - s.max(-1, keepdims=True))
        return pick(s / s.sum(-1, keepdims=True))

    def einsum(optimize: bool) -> np.ndarray:
        return by_hand(
            lambda: np.einsum("hqd,hkd->hqk", Q, K, optimize=optimize),
            lambda s: np.einsum("hqk,hkd->hqd", s, V, optimize=optimize),
        )

    def streaming() -> np.ndarray:
        """Softmax as it goes (Dao et al. 2022), written by hand: 256 queries beside 512 keys at once."""
        out, scale = np.empty_like(Q), np.float32(sizes.head**-0.5)
        for start in range(0, sizes.width, 256):
            rows = place[start : start + 256]
            q = Q[:, rows] * scale
            most = np.full((*q.shape[:2], 1), -np.inf, np.float32)
            total, found = np.zeros_like(most), np.zeros_like(q)
            for first in range(0, rows[-1] + 1, 512):
                keys = slice(first, min(first + 512, rows[-1] + 1))
                s = q @ K[:, keys].mT
                if keys.stop > start:
                    s[:, place[keys] > rows[:, None]] = -np.inf
                top = np.maximum(most, s.max(-1, keepdims=True))
                s = np.exp(np.subtract(s, top, out=s), out=s)
                fade = np.exp(most - top)
                total = total * fade + s.sum(-1, keepdims=True)
                found = found * fade + s @ V[:, keys]
                most = top
            out[:, rows] = found / total
        return out

    contenders: dict[str, Callable[[], np.ndarray]] = {
        OURS: lambda: net(Q, K, V, real),
        "streaming by hand": streaming,
        "matmul": lambda: by_hand(lambda: Q @ K.mT, lambda s: s @ V),
        "einsum": lambda: einsum(False),
        "einsum, optimised": lambda: einsum(True),
    }

    def check() -> None:
        expected = contenders["matmul"]()
        for who, call in contenders.items():
            np.testing.assert_allclose(call(), expected, rtol=1e-4, atol=1e-5, err_msg=who)

    seen = Attention("all", max(sizes.width // 2, 1), sizes.width, sizes.head, sizes.heads)
    what = f"NumPy causal attention forward, T {sizes.width:,}, {sizes.heads} heads of {sizes.head}"
    return [Case(name, what, target, {**contenders, FLOOR: floor([[seen]], library="numpy")}, check)]
