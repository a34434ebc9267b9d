"""The models of `families/` in plain PyTorch, item by item, for one example. Written before the results were seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

Weights = Mapping[str, Tensor]


def mapped(w: Weights, path: str, x: Tensor) -> Tensor:
    y = x @ w[f"{path}.weight"].mT
    return y + w[f"{path}.bias"] if f"{path}.bias" in w else y


def by_head(w: Weights, path: str, x: Tensor, heads: int = 2) -> Tensor:
    return mapped(w, path, x).unflatten(-1, (heads, -1))


def attended(w: Weights, path: str, x: Tensor, seen: Tensor) -> Tensor:
    Q, K, V = (by_head(w, f"{path}{name}", x).transpose(0, 1) for name in "QKV")
    scores = (Q @ K.mT / math.sqrt(Q.shape[-1])).masked_fill(~seen, -torch.inf)
    return mapped(w, f"{path}O", (torch.softmax(scores, -1) @ V).transpose(0, 1).flatten(-2))


def ssd(w: Weights, u: Tensor) -> Tensor:
    x, B, C = by_head(w, "x", u), mapped(w, "B", u), mapped(w, "C", u)
    dt = F.softplus(mapped(w, "dt", u))
    h, out = torch.zeros(2, 3, 6, dtype=u.dtype), []
    for t in range(len(u)):
        h = torch.exp(-torch.exp(w["A"]) * dt[t])[:, None, None] * h
        h = h + dt[t][:, None, None] * B[t][None, :, None] * x[t][:, None, :]
        out.append((C[t] @ h + w["D"][:, None] * x[t]).flatten())
    return mapped(w, "out", torch.stack(out))


def infini(w: Weights, x: Tensor) -> Tensor:
    Q, K, V = (by_head(w, name, x) for name in "QKV")
    M, z, out = torch.zeros(2, 6, 6, dtype=x.dtype), torch.zeros(2, 6, dtype=x.dtype), []
    gate = torch.sigmoid(w["piece.beta"])[:, None, None]
    for start in range(0, len(x), 4):
        q, k, v = (each[start : start + 4].transpose(0, 1) for each in (Q, K, V))
        a, b = F.elu(q) + 1, F.elu(k) + 1
        recalled = (a @ M) / (a @ z[..., None] + 1e-6)
        local = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out.append((gate * recalled + (1 - gate) * local).transpose(0, 1).flatten(-2))
        M = M + b.mT @ (v - (b @ M) / (b @ z[..., None] + 1e-6))
        z = z + b.sum(1)
    return x + mapped(w, "O", torch.cat(out))


def quest(w: Weights, x: Tensor) -> Tensor:
    Q, K, V = (by_head(w, name, x) for name in "QKV")
    rows = []
    for t in range(len(x)):
        heads = []
        for h in range(2):
            q, bounds = Q[t, h], dict[int, float]()
            for page in range(t // 4):
                keys = K[4 * page : 4 * page + 4, h]
                bounds[page] = float(torch.maximum(q * keys.amin(0), q * keys.amax(0)).sum())
            picked = sorted(bounds, key=lambda page: -bounds[page])[:2]
            read = [4 * page + i for page in picked for i in range(4)] + [*range(t // 4 * 4, t + 1)]
            heads.append(torch.softmax(K[read, h] @ q, 0) @ V[read, h])
        rows.append(torch.cat(heads))
    return mapped(w, "O", torch.stack(rows))


def beacons(w: Weights, x: Tensor) -> Tensor:
    at = [(chunk, slot) for chunk in range(len(x) // 4) for slot in range(5)]
    z = torch.stack([w["start"][0] if slot == 4 else x[4 * chunk + slot] for chunk, slot in at])
    seen = torch.tensor([[(c == d and b <= a) or (d < c and b == 4) for d, b in at] for c, a in at])
    for layer in range(2):
        norm = w[f"layers.{layer}.n.weight"], w[f"layers.{layer}.n.bias"]
        z = z + attended(w, f"layers.{layer}.look.", F.layer_norm(z, (12,), *norm), seen)
    return z[[place for place, (_, slot) in enumerate(at) if slot < 4]]


def hierarchy(w: Weights, x: Tensor) -> Tensor:
    first = mapped(w, "first", x.unflatten(0, (-1, 4)).flatten(-2))
    second = mapped(w, "second", F.gelu(first).unflatten(0, (-1, 2)).flatten(-2))
    out = []
    for t in range(len(x)):
        near, middle, far = slice(t // 4 * 4, t + 1), slice(t // 8 * 2, t // 4), slice(0, t // 8)
        keys = [mapped(w, "K0", x[near]), mapped(w, "K1", first[middle]), mapped(w, "K2", second[far])]
        weights = torch.softmax(torch.cat(keys) @ mapped(w, "Q", x[t]) / math.sqrt(6), 0)
        out.append(x[t] + weights @ torch.cat([mapped(w, "V0", x[near]), first[middle], second[far]]))
    return torch.stack(out)


def strided(w: Weights, x: Tensor) -> Tensor:
    Q, K, V = (by_head(w, name, x) for name in "QKV")
    K, V = (torch.cat([torch.zeros(2, 2, 6, dtype=x.dtype), each]).unfold(0, 4, 2).transpose(-1, -2) for each in (K, V))
    K, V = mapped(w, "k", (K + w["P"]).flatten(-2)), mapped(w, "v", V.flatten(-2))  # [block, heads, key]
    out = []
    for t in range(len(x)):
        over = (t + 1) // 2
        weights = torch.softmax(torch.einsum("hk,bhk->hb", Q[t], K[:over]) / math.sqrt(6), -1)
        out.append(torch.einsum("hb,bhk->hk", weights, V[:over]).flatten())
    return x + mapped(w, "O", torch.stack(out))


def lookback(w: Weights, x: Tensor) -> Tensor:
    t = torch.arange(len(x))
    return x + attended(
        {f".{path}": v for path, v in w.items()}, ".", x, (t <= t[:, None]) & (t // 4 >= t[:, None] // 4 - 1)
    )


def joint(w: Weights, x: Tensor) -> Tensor:
    Q, K, V = (by_head(w, name, x) for name in "QKV")
    keys, values = (each.unflatten(0, (-1, 4)).mean(1) for each in (K, V))
    out = []
    for t in range(len(x)):
        near, far = slice(t // 4 * 4, t + 1), slice(0, t // 4)
        scores = torch.einsum("hk,thk->ht", Q[t], torch.cat([K[near], keys[far]])) / math.sqrt(6)
        out.append(torch.einsum("ht,thk->hk", torch.softmax(scores, -1), torch.cat([V[near], values[far]])).flatten())
    return x + mapped(w, "O", torch.stack(out))


REFERENCES: dict[str, Callable[[Weights, Tensor], Tensor]] = {
    each.__name__: each for each in (ssd, infini, quest, beacons, hierarchy, strided, lookback, joint)
}
