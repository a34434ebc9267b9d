"""Attention to what is picked of the past: blocks (MoBA, native sparse attention), items (DeepSeek's indexer)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .checking import Array, Case, Weights, agrees, heads, sigmoid

SEEDS = range(2)


def read(q: Array, K: Array, V: Array, places: list[int]) -> Array:
    """One query's reading of these places; of none it is 0."""
    if not places:
        return np.zeros(V.shape[-1])
    weights = weigh(q, K, places)
    return np.asarray(weights @ V[places])


def weigh(q: Array, K: Array, places: list[int]) -> Array:
    scores = K[places] @ q / math.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def best(scores: Array, among: list[int], count: int) -> list[int]:
    return sorted(among, key=lambda place: (-scores[place], place))[:count]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("seq", "at", "count", "picks"), [(12, 3, 2, 2), (4, 4, 1, 3), (10, 2, 3, 1)])
def test_moba(seed: int, seq: int, at: int, count: int, picks: int) -> None:
    def formula(_: Weights, q: Array, k: Array, v: Array) -> Array:
        """Query by query: its own block up to itself, and the blocks over that it likes best."""
        made = np.zeros_like(v)
        for head in range(count):
            means = k[head].reshape(-1, at, k.shape[-1]).mean(1)
            for t in range(seq):
                blocks = [t // at, *best(means @ q[head, t], list(range(t // at)), picks)]
                made[head, t] = read(q[head, t], k[head], v[head], [p for p in range(t + 1) if p // at in blocks])
        return made

    sizes = {"heads": count, "key": 3, "value": 5, "at": at, "best": picks}
    agrees(Case("moba", sizes=sizes, widths={"seq": seq}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("seq", "at", "picks", "near"), [(12, 3, 2, 4), (4, 4, 3, 1), (10, 2, 1, 20)])
def test_native_sparse(seed: int, seq: int, at: int, picks: int, near: int) -> None:
    count = 2

    def formula(weights: Weights, x: Array) -> Array:
        def mapped(name: str, of: Array = x) -> Array:
            return np.asarray(of @ weights[f"{name}.weight"].T)

        Q = heads(x, weights["Q.weight"], count)
        chunks = {}
        for name in "KV":
            parts = mapped(f"{name}_whole").reshape(seq // at, -1)
            chunks[name] = mapped(f"{name}_chunk", parts)
        made = np.zeros((count, seq, 5))
        gates = {name: sigmoid(mapped(f"of_{name}")) for name in ("whole", "some", "last")}
        kinds = {name: (mapped(f"K_{name}"), mapped(f"V_{name}")) for name in ("some", "last")}
        for t in range(seq):
            over = [c for c in range(seq // at) if c * at + at - 1 <= t]
            likes = np.zeros(seq // at)
            for head in range(count):
                if over:
                    likes[over] += weigh(Q[head, t], chunks["K"], over)
                made[head, t] = gates["whole"][t, head] * read(Q[head, t], chunks["K"], chunks["V"], over)
            blocks = [t // at, *best(likes, over, picks)]
            for head in range(count):
                some = [p for p in range(t + 1) if p // at in blocks]
                last = [p for p in range(t + 1) if t - p < near]
                made[head, t] += gates["some"][t, head] * read(Q[head, t], *kinds["some"], some)
                made[head, t] += gates["last"][t, head] * read(Q[head, t], *kinds["last"], last)
        return np.asarray(made.transpose(1, 0, 2).reshape(seq, -1) @ weights["O.weight"].T)

    sizes = {"model": 6, "heads": count, "key": 3, "value": 5, "at": at, "best": picks, "near": near}
    agrees(Case("native_sparse", sizes=sizes, widths={"seq": seq}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("seq", "picks"), [(6, 3), (2, 4), (9, 1)])
def test_indexed(seed: int, seq: int, picks: int) -> None:
    count = 2

    def formula(weights: Weights, x: Array) -> tuple[Array, Array]:
        Q, q = (heads(x, weights[f"{name}.weight"], n) for name, n in (("Q", count), ("q", 3)))
        K, V, k, w = (x @ weights[f"{name}.weight"].T for name in ("K", "V", "k", "w"))
        made, loss = np.zeros((seq, count, 5)), 0.0
        for t in range(seq):
            index = np.array([w[t] @ np.maximum(q[:, t] @ k[s], 0) for s in range(t + 1)])
            chosen = best(index, list(range(t + 1)), picks)
            every = [weigh(Q[head, t], K, chosen) for head in range(count)]
            made[t] = [each @ V[chosen] for each in every]
            scores = index[chosen]
            loss -= np.mean(every, 0) @ (scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()) / seq
        return made.reshape(seq, -1) @ weights["O.weight"].T, np.asarray(loss)

    sizes = {"model": 6, "heads": count, "key": 3, "value": 5, "small": 4, "scorers": 3, "best": picks}
    agrees(Case("indexed", sizes=sizes, widths={"seq": seq}), formula, seed)
