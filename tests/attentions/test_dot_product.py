"""Attention by dot products, and what is done with several heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from .checking import Array, Case, Weights, agrees, attention, causal, heads, joined, softmax, some_true

SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "source", "key", "value"), [(5, 7, 3, 4), (1, 3, 2, 4), (9, 2, 5, 5)])
def test_scaled_dot_product(seed: int, target: int, source: int, key: int, value: int) -> None:
    def formula(_: Weights, Q: Array, K: Array, V: Array, mask: Array) -> tuple[Array, Array]:
        weights = softmax(Q @ K.T / np.sqrt(key), mask)
        return weights @ V, weights

    def of_torch(_: Weights, Q: Array, K: Array, V: Array, mask: Array) -> tuple[Array, Array]:
        both = (torch.tensor(V), torch.eye(source, dtype=torch.float64))
        there = [torch.tensor(array)[None] for array in (Q, K)]
        made = [
            torch.nn.functional.scaled_dot_product_attention(*there, one[None], torch.tensor(mask)[None])
            for one in both
        ]
        return made[0][0].numpy(), made[1][0].numpy()

    case = Case(
        "scaled_dot_product",
        sizes={"key": key, "value": value},
        widths={"target": target, "source": source},
        inputs={"mask": some_true},
    )
    agrees(case, formula, seed)
    agrees(case, of_torch, seed)


HEADED = [(5, 12, 4), (1, 6, 1), (8, 10, 5)]  # target, model, heads


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "model", "count"), HEADED)
def test_multi_head(seed: int, target: int, model: int, count: int) -> None:
    theirs = torch.nn.MultiheadAttention(model, count, bias=False, batch_first=True, dtype=torch.float64)

    def of_torch(weights: Weights, x: Array) -> Array:
        packed = np.concatenate([weights[f"{name}.weight"] for name in "QKV"])
        theirs.load_state_dict(
            {"in_proj_weight": torch.tensor(packed), "out_proj.weight": torch.tensor(weights["O.weight"])}
        )
        with torch.no_grad():
            there = torch.tensor(x)
            return np.asarray(theirs(there, there, there, attn_mask=torch.tensor(~causal(target)))[0])

    case = Case("multi_head", sizes={"model": model, "heads": count}, widths={"target": target})
    agrees(case, of_torch, seed)
    assert sum(weight.size for weight in case.draw_weights(0).values()) == sum(w.numel() for w in theirs.parameters())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "model", "count"), HEADED)
def test_multi_query(seed: int, target: int, model: int, count: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        Q = heads(x, weights["Q.weight"], count)
        K, V = x @ weights["K.weight"].T, x @ weights["V.weight"].T
        return joined(attention(Q, K, V, causal(target))) @ weights["O.weight"].T

    agrees(Case("multi_query", sizes={"model": model, "heads": count}, widths={"target": target}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "model", "groups", "sharing"), [(5, 12, 2, 3), (7, 8, 4, 1), (1, 9, 1, 3)])
def test_grouped_query(seed: int, target: int, model: int, groups: int, sharing: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        Q = heads(x, weights["Q.weight"], groups * sharing)
        K, V = (heads(x, weights[f"{name}.weight"], groups).repeat(sharing, 0) for name in "KV")
        return joined(attention(Q, K, V, causal(target))) @ weights["O.weight"].T

    sizes = {"model": model, "groups": groups, "sharing": sharing}
    agrees(Case("grouped_query", sizes=sizes, widths={"target": target}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scoring", "softened", "reading"), [(2, 3, 4), (3, 3, 3), (1, 4, 2)])
def test_talking_heads(seed: int, scoring: int, softened: int, reading: int) -> None:
    def formula(weights: Weights, x: Array, memory: Array, mask: Array) -> Array:
        """Section 3, figure 1: einsums over b, n, m and heads of three kinds."""
        wq, wk = (weights[f"{name}.weight"].reshape(scoring, 5, 6) for name in "QK")
        wv = weights["V.weight"].reshape(reading, 3, 6)
        scores = np.einsum("nd,hkd,mc,hkc->hnm", x, wq, memory, wk) / np.sqrt(5)
        mixed = np.einsum("hnm,lh->lnm", scores, weights["before.weight"])
        spoken = np.einsum("lnm,rl->rnm", softmax(mixed, mask), weights["after.weight"])
        read = np.einsum("rnm,md,rvd->nrv", spoken, memory, wv)
        return read.reshape(len(x), -1) @ weights["O.weight"].T

    sizes = {"model": 6, "scoring": scoring, "softened": softened, "reading": reading, "key": 5, "value": 3}
    case = Case("talking_heads", sizes=sizes, widths={"target": 4, "source": 7}, inputs={"mask": some_true})
    agrees(case, formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "source", "model", "memory"), [(4, 9, 12, 7), (1, 3, 6, 5), (11, 2, 3, 8)])
def test_cross(seed: int, target: int, source: int, model: int, memory: int) -> None:
    theirs = torch.nn.MultiheadAttention(model, 3, kdim=memory, vdim=memory, batch_first=True, dtype=torch.float64)

    def of_torch(weights: Weights, x: Array, y: Array, real: Array) -> Array:
        state = {f"{name.lower()}_proj_weight": weights[f"{name}.weight"] for name in "QKV"}
        state["in_proj_bias"] = np.concatenate([weights[f"{name}.bias"] for name in "QKV"])
        state |= {"out_proj.weight": weights["O.weight"], "out_proj.bias": weights["O.bias"]}
        theirs.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        with torch.no_grad():
            there = torch.tensor(y)
            return np.asarray(theirs(torch.tensor(x), there, there, key_padding_mask=torch.tensor(~real))[0])

    sizes = {"model": model, "memory": memory, "heads": 3, "key": model // 3, "value": model // 3}
    case = Case("cross", sizes=sizes, widths={"target": target, "source": source}, inputs={"real": some_true})
    agrees(case, of_torch, seed)
    assert sum(weight.size for weight in case.draw_weights(0).values()) == sum(w.numel() for w in theirs.parameters())


def test_cross_with_values_of_their_own_depth() -> None:
    def formula(weights: Weights, x: Array, y: Array, real: Array) -> Array:
        Q, K, V = (heads(z, weights[f"{n}.weight"], 2, weights[f"{n}.bias"]) for z, n in ((x, "Q"), (y, "K"), (y, "V")))
        return joined(attention(Q, K, V, real)) @ weights["O.weight"].T + weights["O.bias"]

    sizes = {"model": 5, "memory": 7, "heads": 2, "key": 3, "value": 4}
    agrees(Case("cross", sizes=sizes, widths={"target": 3, "source": 6}, inputs={"real": some_true}), formula)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "model", "count"), HEADED)
def test_low_rank_value(seed: int, target: int, model: int, count: int) -> None:
    def of_whole_maps(weights: Weights, x: Array) -> Array:
        """Each head's value map as the one matrix that the two factors make."""
        Q, K = (heads(x, weights[f"pattern.{name}.weight"], count) for name in "QK")
        down = weights["value_down.weight"].reshape(count, -1, model)
        up = weights["value_up.weight"]
        whole = np.stack([up[head].reshape(model, -1) @ down[head] for head in range(count)])
        return x + sum(attention(Q[head], K[head], x @ whole[head].T, causal(target)) for head in range(count))

    def of_full(weights: Weights, x: Array) -> Array:
        Q, K = (heads(x, weights[f"pattern.{name}.weight"], count) for name in "QK")
        return x + attention(Q, K, heads(x, weights["value.weight"], count), causal(target)).sum(0)

    sizes = {"model": model, "heads": count}
    agrees(Case("low_rank_value", sizes=sizes, widths={"target": target}), of_whole_maps, seed)
    agrees(Case("low_rank_value", "full", sizes, {"target": target}), of_full, seed)


def test_low_rank_value_is_multi_head_attention() -> None:
    """`value_down` is V, and the heads' `value_up`s side by side are O; only the residual is more."""
    sizes, widths = {"model": 12, "heads": 3}, {"target": 6}
    split, plain = Case("low_rank_value", sizes=sizes, widths=widths), Case("multi_head", sizes=sizes, widths=widths)
    weights, inputs = split.draw_weights(0), split.draw_inputs(0)
    same = {
        "Q.weight": weights["pattern.Q.weight"],
        "K.weight": weights["pattern.K.weight"],
        "V.weight": weights["value_down.weight"],
        "O.weight": weights["value_up.weight"].reshape(3, 12, 4).swapaxes(0, 1).reshape(12, 12),
    }
    ours = split.compiled.numpy(weights, dtype="float64")(**inputs) - inputs["x"]
    assert np.abs(ours - plain.compiled.numpy(same, dtype="float64")(**inputs)).max() < 1e-12
