"""Attention that leaves pairs out: bands, blocks, strides, windows with global items, hashing."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from .checking import Array, Case, Weights, agrees, attention, causal, distances, heads, joined, some_true

SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "reach"), [(7, 2), (9, 0), (4, 11)])
def test_band(seed: int, target: int, reach: int) -> None:
    def formula(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        return attention(Q, K, V, abs(distances(target)) <= reach)

    sizes = {"heads": 3, "key": 4, "value": 2, "reach": reach}
    agrees(Case("blockwise", "band", sizes, {"target": target}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("blocks", "size", "count"), [(3, 2, 4), (1, 5, 2), (4, 3, 3)])
def test_blockwise(seed: int, blocks: int, size: int, count: int) -> None:
    def formula(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        """Section 3.2, with a mask of the whole matrix: a head shifts the blocks by its number."""
        mask = np.zeros((count, blocks * size, blocks * size), bool)
        for head in range(count):
            for block in range(blocks):
                other = (block + head) % blocks
                mask[head, block * size : (block + 1) * size, other * size : (other + 1) * size] = True
        return attention(Q, K, V, mask)

    sizes = {"heads": count, "key": 4, "value": 2, "size": size}
    agrees(Case("blockwise", "blockwise", sizes, {"target": blocks * size}), formula, seed)


def fixed_sets(n: int, stride: int, summary: int) -> list[list[list[int]]]:
    """Child et al. 2019, section 4.3: the two sets of each item, as the paper spells them."""
    own = [[j for j in range(i + 1) if j // stride == i // stride] for i in range(n)]
    last = [[j for j in range(i + 1) if j % stride in range(stride - summary, stride)] for i in range(n)]
    return [own, last]


def strided_sets(n: int, stride: int) -> list[list[list[int]]]:
    near = [list(range(max(0, i - stride + 1), i + 1)) for i in range(n)]
    column = [[j for j in range(i + 1) if (i - j) % stride == 0] for i in range(n)]
    return [near, column]


def as_masks(sets: list[list[list[int]]], count: int, n: int) -> Array:
    mask = np.zeros((count, n, n), bool)
    for head in range(count):
        for item, seen in enumerate(sets[head % len(sets)]):
            mask[head, item, seen] = True
    return mask


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pattern", ["strided", "fixed", "local"])
@pytest.mark.parametrize(("target", "stride", "summary", "count"), [(11, 3, 1, 2), (8, 4, 2, 4), (5, 7, 3, 3)])
def test_sparse(seed: int, pattern: str, target: int, stride: int, summary: int, count: int) -> None:
    sets = fixed_sets(target, stride, summary) if pattern == "fixed" else strided_sets(target, stride)
    mask = as_masks(sets[:1] if pattern == "local" else sets, count, target)

    def formula(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        """An item that may look at nothing (early, in a head of summaries) reads nothing: 0."""
        some = mask.any(-1)
        made = attention(Q, K, V, mask | ~some[..., None])
        return np.where(some[..., None], made, 0.0)

    sizes = {"heads": count, "key": 4, "value": 2, "stride": stride} | (
        {"summary": summary} if pattern == "fixed" else {}
    )
    agrees(Case("sparse", pattern, sizes, {"target": target}), formula, seed)


LONG = {"reach": 2, "model": 12, "heads": 3}


def longformer_state(weights: Weights, names: dict[str, str]) -> dict[str, torch.Tensor]:
    kinds = ("weight", "bias")
    return {f"{new}.{kind}": torch.tensor(weights[f"{old}.{kind}"]) for old, new in names.items() for kind in kinds}


LONGFORMER = {
    "Q": "query", "K": "key", "V": "value",
    "Q_global": "query_global", "K_global": "key_global", "V_global": "value_global",
}  # fmt: skip


@cache
def their_longformer() -> Any:
    modeling = pytest.importorskip("transformers.models.longformer.modeling_longformer")
    config = modeling.LongformerConfig(hidden_size=12, num_attention_heads=3, attention_window=[4], num_hidden_layers=1)
    return modeling.LongformerSelfAttention(config, 0).eval()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", [8, 16])  # theirs needs a multiple of the window, ours does not: see below
def test_longformer_is_hugging_face_s(seed: int, target: int) -> None:
    module = their_longformer().double()

    def of_transformers(weights: Weights, x: Array, real: Array, wide: Array) -> Array:
        module.load_state_dict(longformer_state(weights, LONGFORMER))
        kept, all = torch.tensor(real)[None], torch.tensor(wide & real)[None]
        mask = torch.where(kept, torch.where(all, 10000.0, 0.0), -10000.0).double()
        with torch.no_grad():
            made = module(torch.tensor(x)[None], mask, ~kept, all, bool(all.any()))
        return np.where(real[:, None], made[0][0].numpy(), 0.0)

    case = Case("longformer", sizes=LONG, widths={"target": target}, inputs={"real": padded})
    model, weights = case.compiled, case.draw_weights(seed)
    inputs = case.draw_inputs(seed, (4,))
    inputs["wide"] &= inputs["real"]
    ours = model.numpy(weights, dtype="float64")(**inputs)
    # Their softmax is in float32 whatever the weights are, so this cannot be as near as float64 would be.
    for one in range(4):
        wanted = of_transformers(weights, *(inputs[name][one] for name in ("x", "real", "wide")))
        mine = np.where(inputs["real"][one][:, None], ours[one], 0.0)
        assert np.abs(mine - wanted).max() <= 2e-5 * wanted.std()
    theirs = sum(weight.numel() for weight in module.parameters())
    assert sum(weight.size for weight in weights.values()) == theirs


def padded(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Padding at the end, at most half."""
    return np.asarray(np.arange(shape[-1]) < draw.integers(shape[-1] // 2, shape[-1] + 1, shape[:-1])[..., None])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "reach"), [(7, 1), (11, 3), (3, 5)])
def test_longformer(seed: int, target: int, reach: int) -> None:
    def formula(weights: Weights, x: Array, real: Array, wide: Array) -> Array:
        """Item by item, section 3.1."""

        def look(names: str, item: int, seen: list[int]) -> Array:
            Q, K, V = (heads(x, weights[f"{n}.weight"], 3, weights[f"{n}.bias"]) for n in names.split())
            return joined(attention(Q[:, [item]], K[:, seen], V[:, seen]))[0]

        rows = []
        for item in range(target):
            if wide[item]:
                rows.append(look("Q_global K_global V_global", item, [j for j in range(target) if real[j]]))
            else:
                near = [j for j in range(target) if real[j] and (abs(j - item) <= reach or wide[j])]
                rows.append(look("Q K V", item, near) if near else np.zeros(x.shape[1]))
        return np.array(rows)

    sizes = {"reach": reach, "model": 6, "heads": 3}
    agrees(Case("longformer", sizes=sizes, widths={"target": target}, inputs={"real": some_true}), formula, seed)


LSH_CASES = [  # target, size, rounds, buckets, heads, key
    (12, 4, 1, 4, 2, 6),
    (24, 4, 3, 6, 2, 5),
    (15, 3, 2, 2, 3, 4),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "size", "rounds", "buckets", "count", "key"), LSH_CASES)
def test_lsh_is_hugging_face_s(
    seed: int, target: int, size: int, rounds: int, buckets: int, count: int, key: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modeling = pytest.importorskip("transformers.models.reformer.modeling_reformer")
    config = modeling.ReformerConfig(
        hidden_size=7, num_attention_heads=count, attention_head_size=key, lsh_attn_chunk_length=size,
        num_hashes=rounds, num_buckets=buckets, is_decoder=True, lsh_attention_probs_dropout_prob=0.0,
        hash_seed=None,
    )  # fmt: skip
    module = modeling.LSHSelfAttention(config).double().eval()

    def of_transformers(weights: Weights, x: Array, rotations: Array) -> Array:
        state = {"query_key.weight": weights["QK.weight"], "value.weight": weights["V.weight"]}
        module.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        monkeypatch.setattr(torch, "randn", lambda shape, **_: torch.tensor(rotations).reshape(shape))
        with torch.no_grad():
            made = module(torch.tensor(x)[None], num_hashes=rounds)
        monkeypatch.undo()
        return made.hidden_states[0].numpy().reshape(target, count, key)

    sizes = {"size": size, "rounds": rounds, "model": 7, "heads": count, "buckets": buckets, "key": key, "value": key}
    case = Case("lsh", sizes=sizes, widths={"target": target})
    agrees(case, of_transformers, seed)
    assert sum(w.size for w in case.draw_weights(0).values()) == sum(w.numel() for w in module.parameters())


def test_lsh_that_sees_all_is_attention() -> None:
    """Two chunks in one round: each looks at all items, so only the order could be wrong."""

    def formula(weights: Weights, x: Array, rotations: Array) -> Array:
        Q, V = heads(x, weights["QK.weight"], 2), heads(x, weights["V.weight"], 2)
        K = Q / np.sqrt((Q**2).mean(-1, keepdims=True) + 1e-6)
        mask = causal(8) & ~np.eye(8, dtype=bool)
        mask[0, 0] = True  # the first has nothing else
        return attention(Q, K, V, mask).swapaxes(0, 1)

    sizes = {"size": 4, "rounds": 1, "model": 5, "heads": 2, "buckets": 4, "key": 3, "value": 4}
    agrees(Case("lsh", sizes=sizes, widths={"target": 8}), formula)
