"""Attention without softmax, chunk by chunk as one writes it by hand: causal linear attention, and retention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from speed.floor import Attention, floor
from speed.timing import OURS, Case
from torch import Tensor
from torch.nn import functional as F

from .paired import Way, case, drawn, example, numpy_case


@dataclass(frozen=True, slots=True)
class Sizes:
    """chunk: of what is written by hand; width must be a multiple of it."""

    width: int = 512
    heads: int = 8
    key: int = 64
    value: int = 64
    batch: int = 1
    chunk: int = 64
    gradients: int = 1  # 0: forward alone


def bottom(sizes: Sizes, library: str, gradients: int) -> Callable[[], object]:
    """Of each chunk the pairs within it, and the state: read by queries, and written by keys."""
    chunk, many = sizes.chunk, sizes.batch * sizes.heads * (sizes.width // sizes.chunk)
    works = [
        Attention("within", chunk // 2, chunk, sizes.key, many),
        Attention("state", chunk, sizes.key, sizes.value, many),
    ]
    return floor([works], library=library, gradients=bool(gradients))


def causal_sums(Q: Tensor, K: Tensor, V: Tensor, chunk: int) -> Tensor:
    """Linear attention, elu + 1. A value of one, beside the others, sums up the denominator."""
    q, k, v = (x.unflatten(-2, (-1, chunk)) for x in (F.elu(Q) + 1, F.elu(K) + 1, F.pad(V, (0, 1), value=1.0)))
    put = k.mT @ v
    out = q @ (put.cumsum(-3) - put) + (q @ k.mT).tril() @ v
    return (out[..., :-1] / out[..., -1:]).flatten(-3, -2)


def causal_sums_in_numpy(Q: np.ndarray, K: np.ndarray, V: np.ndarray, chunk: int) -> np.ndarray:
    def phi(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    below = np.tri(chunk, dtype=np.float32)
    S = np.zeros((*K.shape[:-2], K.shape[-1], V.shape[-1] + 1), np.float32)
    out = np.empty_like(V)
    for start in range(0, Q.shape[-2], chunk):
        here = np.s_[..., start : start + chunk, :]
        q, k, v = phi(Q[here]), phi(K[here]), np.concatenate([V[here], np.ones_like(V[here][..., :1])], -1)
        found = q @ S + (q @ k.mT * below) @ v
        S += k.mT @ v
        out[here] = found[..., :-1] / found[..., -1:]
    return out


def shapes(sizes: Sizes) -> list[tuple[int, ...]]:
    rows = (sizes.batch, sizes.heads, sizes.width)
    return [(*rows, sizes.key), (*rows, sizes.key), (*rows, sizes.value)]


def described(sizes: Sizes) -> str:
    return f"T {sizes.width:,}, {sizes.heads} heads of {sizes.key}, batch {sizes.batch}"


def linear_attention(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    """Ours as sums that run along; the recurrent form too."""
    parts = {part: getattr(sizes, part) for part in ("heads", "key", "value")}
    inputs = drawn(*shapes(sizes))
    calls: dict[str, Callable[..., Tensor]] = {
        OURS: example("linear_attention", "causal_sum", **parts).torch(),
        f"{OURS}, recurrent": example("linear_attention", "recurrent", **parts).torch(),
        "chunked by hand": lambda *x: causal_sums(*x, sizes.chunk),
    }
    ways = {who: Way(call, [x.clone() for x in inputs]) for who, call in calls.items()}
    what = f"causal linear attention, {described(sizes)}"
    return [case(name, what, target, ways, sizes.gradients, bottom(sizes, "torch", sizes.gradients))]


def linear_attention_in_numpy(name: str, sizes: Sizes, target: float | None) -> list[Case]:
    parts = {part: getattr(sizes, part) for part in ("heads", "key", "value")}
    inputs = [x.numpy() for x in drawn(*shapes(sizes))]
    forms = {OURS: "causal_sum", f"{OURS}, recurrent": "recurrent"}
    nets = {who: example("linear_attention", form, **parts).numpy(dtype="float32") for who, form in forms.items()}
    ways: dict[str, Callable[[], np.ndarray]] = {who: lambda net=net: net(*inputs) for who, net in nets.items()}
    ways["chunked by hand"] = lambda: causal_sums_in_numpy(*inputs, sizes.chunk)
    what = f"causal linear attention, {described(sizes)}"
    return [numpy_case(name, what, target, ways, bottom(sizes, "numpy", 0))]


def turned(x: Tensor) -> Tensor:
    """Rotary positions, item 2 i with item 2 i + 1."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2])[:, None] / 10_000 ** (torch.arange(half) / half)
    one, two = x.unflatten(-1, (half, 2)).unbind(-1)
    return torch.stack([one * angle.cos() - two * angle.sin(), two * angle.cos() + one * angle.sin()], -1).flatten(-2)


def retained(Q: Tensor, K: Tensor, V: Tensor, chunk: int) -> Tensor:
    """Retention (Sun et al. 2023, equation 7)."""
    q, k, v = (x.unflatten(-2, (-1, chunk)) for x in (turned(Q), turned(K), V))
    gamma = (1 - 2.0 ** (-5 - torch.arange(Q.shape[-3])))[:, None, None, None]
    at = torch.arange(chunk)
    fades = (gamma ** (at[:, None] - at).clamp(min=0)).tril()
    out = (q @ k.mT * fades) @ v
    put = (k * gamma ** (chunk - 1 - at)[:, None]).mT @ v
    read = q * gamma ** (at + 1)[:, None]
    S, states = torch.zeros_like(put[..., 0, :, :]), []
    for one in put.unbind(-3):
        states.append(S)
        S = gamma[:, 0] ** chunk * S + one
    return (out + read @ torch.stack(states, -3)).flatten(-3, -2)


def retention(name: str, sizes: Sizes, target: float | None, form: str) -> list[Case]:
    """form: "parallel" or "recurrent_retention" of the example, beside chunks by hand."""
    parts = {part: getattr(sizes, part) for part in ("heads", "key", "value")}
    inputs = drawn(*shapes(sizes))
    calls: dict[str, Callable[..., Tensor]] = {
        OURS: example("retention", form, **parts).torch(),
        f"{OURS}, chunks": example("retention", "chunkwise", **parts, size=sizes.chunk).torch(),
        "chunked by hand": lambda *x: retained(*x, sizes.chunk),
    }
    ways = {who: Way(call, [x.clone() for x in inputs]) for who, call in calls.items()}
    what = f"retention, {form.partition('_')[0]} form, {described(sizes)}"
    return [case(name, what, target, ways, sizes.gradients, bottom(sizes, "torch", sizes.gradients))]
