"""What others made of attention later: differences, latents, retention, selective scans, shifted windows, sinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from .checking import Array, Case, Weights, agrees, attention, causal, distances, heads, joined, sigmoid, softmax

SEEDS = range(2)


def rotated(x: Array, halves: bool) -> Array:
    """Su et al. 2021 by complex numbers: x [..., n, d]; pairs are (i, i + d/2), or (2i, 2i + 1)."""
    half = x.shape[-1] // 2
    first, second = (x[..., :half], x[..., half:]) if halves else (x[..., ::2], x[..., 1::2])
    angle = np.arange(x.shape[-2])[:, None] * 10000 ** (-np.arange(half) / half)
    turned = (first + 1j * second) * np.exp(1j * angle)
    if halves:
        return np.concatenate([turned.real, turned.imag], -1)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "model", "count", "layer"), [(6, 12, 3, 1), (1, 8, 2, 4), (9, 8, 1, 12)])
def test_differential(seed: int, target: int, model: int, count: int, layer: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        """Equations 1 to 3, head by head."""
        key = model // count // 2
        start = 0.8 - 0.6 * math.exp(-0.3 * (layer - 1))
        q, k = weights["lambda_q"], weights["lambda_k"]
        factor = math.exp(q[0] @ k[0]) - math.exp(q[1] @ k[1]) + start
        Q, K = (heads(x, weights[f"{name}.weight"], 2 * count) for name in "QK")
        V = heads(x, weights["V.weight"], count)
        rows = []
        for head in range(count):
            maps = [softmax(Q[i] @ K[i].T / math.sqrt(key), causal(target)) for i in (head, count + head)]
            read = (maps[0] - factor * maps[1]) @ V[head]
            normed = read / np.sqrt((read**2).mean(-1, keepdims=True) + 1e-5) * weights["normed.weight"]
            rows.append((1 - start) * normed)
        return np.concatenate(rows, -1) @ weights["O.weight"].T

    sizes = {"model": model, "heads": count, "layer": layer}
    agrees(Case("differential", sizes=sizes, widths={"target": target}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "count"), [(6, 3), (1, 2), (9, 1)])
def test_latent(seed: int, target: int, count: int) -> None:
    def normed(x: Array, scale: Array) -> Array:
        return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale)

    def formula(weights: Weights, x: Array) -> Array:
        """Equations 9 to 19 and 37 to 47 of the report: keys and queries are joined, not their scores added."""
        q = normed(x @ weights["query_down.weight"].T, weights["query_norm.weight"])
        c = normed(x @ weights["latent_down.weight"].T, weights["latent_norm.weight"])
        turned = rotated(heads(q, weights["Q_turned.weight"], count), halves=True)
        shared = rotated(x @ weights["K_turned.weight"].T, halves=True)
        Q = np.concatenate([heads(q, weights["Q.weight"], count), turned], -1)
        K = np.concatenate([heads(c, weights["K.weight"], count), np.stack([shared] * count)], -1)
        V = heads(c, weights["V.weight"], count)
        return joined(attention(Q, K, V, causal(target))) @ weights["O.weight"].T

    sizes = {"model": 10, "heads": count, "latent": 5, "query": 7, "plain": 3, "turned": 4, "value": 6}
    agrees(Case("latent", sizes=sizes, widths={"target": target}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["parallel", "recurrent_retention", "chunkwise"])
@pytest.mark.parametrize(("target", "size", "count"), [(6, 2, 3), (8, 8, 2), (9, 3, 1)])
def test_retention(seed: int, form: str, target: int, size: int, count: int) -> None:
    def formula(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        """Equation 5, pair by pair: all three forms give it."""
        Q, K = rotated(Q, halves=False), rotated(K, halves=False)
        made = np.zeros_like(V)
        for head in range(count):
            gamma = 1 - 2.0 ** (-5 - head)
            for n in range(target):
                for m in range(n + 1):
                    made[head, n] += (Q[head, n] @ K[head, m]) * gamma ** (n - m) * V[head, m]
        return made

    sizes = {"heads": count, "key": 4, "value": 3} | ({"size": size} if form == "chunkwise" else {})
    agrees(Case("retention", form, sizes, {"target": target}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["recurrent_delta", "chunkwise_delta"])
@pytest.mark.parametrize(("seq", "at", "count", "rounds"), [(6, 2, 3, 0), (8, 8, 2, 2), (12, 4, 1, 1)])
def test_gated_delta(seed: int, form: str, seq: int, at: int, count: int, rounds: int) -> None:
    def formula(_: Weights, q: Array, k: Array, v: Array, fading: Array, written: Array) -> Array:
        """Equation 10 as it stands: S (1 - b k k^T) a + b v k^T."""
        made = np.zeros_like(v)
        for head in range(count):
            S = np.zeros((v.shape[-1], k.shape[-1]))
            for t in range(seq):
                key, b = k[head, t], written[head, t]
                S = np.exp(fading[head, t]) * S @ (np.eye(len(key)) - b * np.outer(key, key))
                S = S + b * np.outer(v[head, t], key)
                made[head, t] = S @ q[head, t]
        return made

    sizes = {"heads": count, "key": 3, "value": 5} | ({"at": at, "rounds": rounds} if form == "chunkwise_delta" else {})
    inputs = {
        "fading": lambda draw, shape: -np.abs(draw.standard_normal(shape)),
        "written": lambda draw, shape: draw.random(shape),
    }
    agrees(Case("gated_delta", form, sizes, {"seq": seq}, inputs), formula, seed)


MAMBA = [(7, 6, 8, 3, 4, 2), (1, 3, 5, 2, 3, 1), (12, 4, 6, 5, 2, 3)]  # words, model, inner, state, taps, rank


def mamba_sizes(model: int, inner: int, state: int, taps: int, rank: int) -> dict[str, int]:
    return {"model": model, "inner": inner, "state": state, "taps": taps, "rank": rank}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("words", "model", "inner", "state", "taps", "rank"), MAMBA)
def test_selective_scan(seed: int, words: int, model: int, inner: int, state: int, taps: int, rank: int) -> None:
    def formula(weights: Weights, u: Array) -> Array:
        """Algorithm 2 and equations 2 to 4, step by step."""
        both = u @ weights["enter.weight"].T
        before, gate = both[:, :inner], both[:, inner:]
        padded = np.concatenate([np.zeros((taps - 1, inner)), before])
        x = np.array([(padded[t : t + taps].T * weights["kernel"]).sum(-1) for t in range(words)]) + weights["offset"]
        x = x * sigmoid(x)
        low = x @ weights["delta_low.weight"].T @ weights["delta.weight"].T + weights["delta.bias"]
        delta, A = np.log1p(np.exp(low)), -np.exp(weights["log_A"])
        B, C = x @ weights["B.weight"].T, x @ weights["C.weight"].T
        h, rows = np.zeros((inner, state)), []
        for t in range(words):
            h = np.exp(delta[t][:, None] * A) * h + np.outer(delta[t] * x[t], B[t])
            rows.append(h @ C[t] + weights["D"] * x[t])
        return np.array(rows) * gate * sigmoid(gate) @ weights["leave.weight"].T

    case = Case("selective_scan", sizes=mamba_sizes(model, inner, state, taps, rank), widths={"words": words})
    agrees(case, formula, seed)


@pytest.mark.parametrize(("words", "model", "inner", "state", "taps", "rank"), MAMBA[::2])
def test_selective_scan_is_hugging_face_s(words: int, model: int, inner: int, state: int, taps: int, rank: int) -> None:
    modeling: Any = pytest.importorskip("transformers.models.mamba.modeling_mamba")
    config = modeling.MambaConfig(
        hidden_size=model, intermediate_size=inner, state_size=state, conv_kernel=taps, time_step_rank=rank,
        num_hidden_layers=1, use_bias=False,
    )  # fmt: skip
    config.intermediate_size = inner
    module = modeling.MambaMixer(config, 0).eval()

    def of_transformers(weights: Weights, u: Array) -> Array:
        names = {
            "in_proj.weight": "enter.weight", "out_proj.weight": "leave.weight", "A_log": "log_A", "D": "D",
            "conv1d.bias": "offset", "dt_proj.weight": "delta.weight", "dt_proj.bias": "delta.bias",
        }  # fmt: skip
        state = {theirs: torch.tensor(weights[ours]) for theirs, ours in names.items()}
        state["conv1d.weight"] = torch.tensor(weights["kernel"][:, None])
        packed = [weights[f"{name}.weight"] for name in ("delta_low", "B", "C")]
        module.load_state_dict({**state, "x_proj.weight": torch.tensor(np.concatenate(packed))})
        with torch.no_grad():
            made = module(torch.tensor(u, dtype=torch.float32)[None])
        return np.asarray((made[0] if isinstance(made, tuple) else made)[0], np.float64)

    case = Case("selective_scan", sizes=mamba_sizes(model, inner, state, taps, rank), widths={"words": words})
    agrees(case, of_transformers, double=2e-5)  # theirs scans in float32
    assert sum(w.size for w in case.draw_weights(0).values()) == sum(w.numel() for w in module.parameters())


SWIN = [(8, 12, 4, 2, 2), (6, 3, 3, 1, 1), (5, 10, 5, 0, 3)]  # high, wide, down, shift, heads


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("high", "wide", "down", "shift", "count"), SWIN)
def test_shifted_windows(seed: int, high: int, wide: int, down: int, shift: int, count: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        """Patch by patch, without rolling: two see each other if their shifted places share a window, as they are."""
        places = [(i, j) for i in range(high) for j in range(wide)]
        flat = x.reshape(high * wide, -1)
        Q, K, V = (heads(flat, weights[f"{n}.weight"], count, weights[f"{n}.bias"]) for n in "QKV")
        made = np.zeros_like(V)
        for a, (i, j) in enumerate(places):
            at = ((i - shift) % high, (j - shift) % wide)
            seen, bias = [], []
            for b, (k, m) in enumerate(places):
                other = ((k - shift) % high, (m - shift) % wide)
                same = at[0] // down == other[0] // down and at[1] // down == other[1] // down
                if same and at[0] - other[0] == i - k and at[1] - other[1] == j - m:
                    seen.append(b)
                    bias.append(weights["table"][i - k + down - 1, j - m + down - 1])
            scores = np.einsum("hd,hsd->hs", Q[:, a], K[:, seen]) / math.sqrt(Q.shape[-1]) + np.array(bias).T
            made[:, a] = np.einsum("hs,hsd->hd", softmax(scores), V[:, seen])
        return (joined(made) @ weights["O.weight"].T + weights["O.bias"]).reshape(x.shape)

    agrees(swin_case(high, wide, down, shift, count), formula, seed, leads=[(2,)])


def swin_case(high: int, wide: int, down: int, shift: int, count: int) -> Case:
    sizes = {"down": down, "shift": shift, "heads": count, "model": 3 * count}
    return Case("shifted_windows", sizes=sizes, widths={"high": high, "wide": wide})


@pytest.mark.parametrize(("high", "wide", "down", "shift", "count"), SWIN[:1])
def test_shifted_windows_are_hugging_face_s(high: int, wide: int, down: int, shift: int, count: int) -> None:
    modeling: Any = pytest.importorskip("transformers.models.swin.modeling_swin")
    config = modeling.SwinConfig(window_size=down, attn_implementation="sdpa")
    module = modeling.SwinLayer(config, 3 * count, (high, wide), count, shift_size=shift).double().eval()
    module.layernorm_before = torch.nn.Identity()  # the attention alone
    module.mlp = torch.nn.Identity()
    module.layernorm_after = torch.nn.Identity()

    def of_transformers(weights: Weights, x: Array) -> Array:
        state = {
            f"{theirs}_proj.{kind}": torch.tensor(weights[f"{theirs.upper()}.{kind}"])
            for theirs in "qkvo"
            for kind in ("weight", "bias")
        }
        table = torch.tensor(weights["table"]).flatten(0, 1)
        module.attention.load_state_dict({**state, "relative_position_bias.relative_position_bias_table": table})
        with torch.no_grad():
            made = module(torch.tensor(x).reshape(1, high * wide, -1), (high, wide))[0]
        return made.numpy().reshape(x.shape) / 2 - x  # it adds x, and doubles where the norm and the network were

    case = swin_case(high, wide, down, shift, count)
    agrees(case, of_transformers, double=1e-9)
    theirs = sum(weight.numel() for weight in module.attention.parameters())
    assert sum(weight.size for weight in case.draw_weights(0).values()) == theirs


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "reach", "sinks", "count"), [(9, 3, 2, 2), (4, 7, 1, 3), (12, 1, 4, 1)])
def test_sinks(seed: int, target: int, reach: int, sinks: int, count: int) -> None:
    near = causal(target) & (distances(target) < reach)

    def window(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        return attention(Q, K, V, near | (causal(target) & (np.arange(target) < sinks)))

    def one_more_column(weights: Weights, Q: Array, K: Array, V: Array) -> Array:
        """As gpt-oss has it: a column of sinks beside the scores, dropped after the softmax."""
        scores = Q @ K.swapaxes(1, 2) / math.sqrt(Q.shape[-1])
        column = np.broadcast_to(weights["sink"][:, None, None], (count, target, 1))
        mask = np.concatenate([near, np.ones((target, 1), bool)], -1)
        return softmax(np.concatenate([scores, column], -1), mask)[..., :-1] @ V

    sizes = {"heads": count, "key": 3, "value": 4, "reach": reach}
    agrees(Case("sinks", "streaming", sizes | {"sinks": sinks}, {"target": target}), window, seed)
    agrees(Case("sinks", "learned_sinks", sizes, {"target": target}), one_more_column, seed)
