"""GPT's forward as a page of NumPy has it: with `einsum` throughout, or with products and `split`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Weights = dict[str, np.ndarray]


def gpt(w: Weights, ids: np.ndarray, layers: int, heads: int, *, einsum: bool = False) -> np.ndarray:
    """Logits [batch, width, vocab] of ids [batch, width]."""
    width = ids.shape[1]
    x = w["E"][ids] + w["P"][:width]
    mask = np.where(np.tri(width, dtype=bool), np.float32(0), np.float32(-1e10))
    linear, attend = (einsum_linear, einsum_attend) if einsum else (matmul_linear, matmul_attend)
    for layer in range(layers):
        at = f"layers.{layer}."
        y = norm(x, w, f"{at}see")
        q, k, v = (linear(y, w, f"{at}self.{part}").reshape(*y.shape[:2], heads, -1) for part in "QKV")
        x = x + linear(attend(q, k, v, mask).reshape(y.shape), w, f"{at}self.O")
        x = x + linear(gelu(linear(norm(x, w, f"{at}feed"), w, f"{at}fed.up")), w, f"{at}fed.down")
    x = norm(x, w, "last")
    return np.einsum("bti,oi->bto", x, w["E"]) if einsum else x @ w["E"].T


def norm(x: np.ndarray, w: Weights, at: str) -> np.ndarray:
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return scaled * w[f"{at}.weight"] + w[f"{at}.bias"]


def einsum_linear(x: np.ndarray, w: Weights, at: str) -> np.ndarray:
    return np.einsum("bti,oi->bto", x, w[f"{at}.weight"]) + w[f"{at}.bias"]


def matmul_linear(x: np.ndarray, w: Weights, at: str) -> np.ndarray:
    return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.float32(0.79788456) * (x + np.float32(0.044715) * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


def einsum_attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(q.shape[-1] ** 0.5) + mask
    return np.einsum("bhqk,bkhd->bqhd", softmax(scores), v)


def matmul_attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    return (softmax(q @ k.mT / np.float32(q.shape[-1] ** 0.5) + mask) @ v).swapaxes(1, 2)


def decode(logits: Callable[[np.ndarray], np.ndarray], ids: np.ndarray, tokens: int) -> np.ndarray:
    """Greedy, [batch, tokens]: all of it again for each token, as such a page does."""
    width = ids.shape[1]
    for _ in range(tokens):
        ids = np.concatenate([ids, logits(ids)[:, -1:].argmax(-1)], 1)
    return ids[:, width:]
