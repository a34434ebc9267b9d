"""How attention is told what stands where."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import attnc

from .checking import Array, Case, Weights, agrees, causal, distances, heads, joined, softmax

SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "count"), [(7, 8), (1, 2), (10, 1), (6, 3), (5, 6), (4, 12), (4, 20)])
def test_alibi(seed: int, target: int, count: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        Q, K, V = (heads(x, weights[f"{name}.weight"], count) for name in "QKV")
        slopes = np.array(slopes_of(count))
        scores = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1]) - slopes[:, None, None] * distances(target)
        return joined(softmax(scores, causal(target)) @ V) @ weights["O.weight"].T

    def slopes_of(count: int) -> list[float]:
        """The paper's code: between powers of two, every second slope of twice as many heads fills up."""
        power = max(2**n for n in range(10) if 2**n <= count)
        first = [2 ** (-8 * (head + 1) / power) for head in range(power)]
        return first if power == count else first + slopes_of(2 * power)[::2][: count - power]

    def of_bloom(weights: Weights, x: Array) -> Array:
        """Theirs adds slope * place of the key: in a row of scores, the same but for a constant."""
        modeling: Any = pytest.importorskip("transformers.models.bloom.modeling_bloom")
        offset = modeling.build_alibi_tensor(torch.ones(1, target), count, torch.float64).numpy()
        Q, K, V = (heads(x, weights[f"{name}.weight"], count) for name in "QKV")
        scores = Q @ K.swapaxes(1, 2) / np.sqrt(Q.shape[-1]) + offset
        return joined(softmax(scores, causal(target)) @ V) @ weights["O.weight"].T

    case = Case("alibi", sizes={"model": 8 if 8 % count == 0 else 2 * count, "heads": count}, widths={"target": target})
    agrees(case, formula, seed)
    if 8 % count == 0:  # slopes that their float32 holds
        agrees(case, of_bloom, seed)
    else:
        agrees(case, of_bloom, seed, double=2e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 8, 12, 20, 33, 64, 127, 128, 513])
def test_slopes_of_alibi_are_those_of_bloom(count: int) -> None:
    modeling: Any = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    text = (
        f"use std.positions: alibi\nwidth q\nwidth k like q\ndepth h = {count}\n"
        "model net(x: [q]) -> [h, q, k] {\n    return alibi[h, q, k]()\n}\n"
    )
    model = attnc.loads(text).model("net")
    theirs = modeling.build_alibi_tensor(torch.ones(1, 4), count, torch.float64).numpy()[:, 0]  # slope * place
    wanted = theirs[:, None] - theirs[:, :, None]
    for found in (model.numpy(dtype="float64")(np.zeros(4)), model.torch(dtype="float64")(torch.zeros(4).double())):
        np.testing.assert_allclose(np.tril(np.asarray(found)), np.tril(wanted), rtol=3e-6)  # theirs are of float32


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "clip", "count"), [(7, 2, 2), (5, 9, 3), (1, 1, 1)])
def test_shaw(seed: int, target: int, clip: int, count: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        """Equations 3 and 4, pair by pair."""
        Q, K, V = (heads(x, weights[f"{name}.weight"], count) for name in "QKV")
        made = np.zeros_like(V)
        for head in range(count):
            for i in range(target):
                row = [max(-clip, min(clip, j - i)) + clip for j in range(target)]
                energies = [Q[head, i] @ (K[head, j] + weights["keys"][row[j]]) for j in range(target)]
                alpha = softmax(np.array(energies) / math.sqrt(Q.shape[-1]))
                made[head, i] = sum(alpha[j] * (V[head, j] + weights["values"][row[j]]) for j in range(target))
        return joined(made) @ weights["O.weight"].T

    agrees(
        Case("relative_shaw", sizes={"model": 6, "heads": count, "clip": clip}, widths={"target": target}),
        formula,
        seed,
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "buckets", "far", "count"), [(9, 8, 6, 2), (40, 10, 20, 3), (3, 32, 128, 1)])
def test_t5_is_hugging_face_s(seed: int, target: int, buckets: int, far: int, count: int) -> None:
    modeling: Any = pytest.importorskip("transformers.models.t5.modeling_t5")
    config = modeling.T5Config(
        d_model=8, d_kv=3, num_heads=count, relative_attention_num_buckets=buckets, relative_attention_max_distance=far,
        dropout_rate=0.0,
    )  # fmt: skip
    module = modeling.T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()

    def of_transformers(weights: Weights, x: Array) -> Array:
        state = {f"{name.lower()}.weight": torch.tensor(weights[f"{name}.weight"]) for name in "QKVO"}
        state["relative_attention_bias.weight"] = torch.tensor(weights["relative_bias.table"])
        module.load_state_dict(state)
        with torch.no_grad():
            return np.asarray(module(torch.tensor(x)[None])[0][0])

    sizes = {"model": 8, "key": 3, "heads": count, "buckets": buckets, "far": far}
    case = Case("relative_t5", sizes=sizes, widths={"target": target})
    agrees(case, of_transformers, seed)
    assert sum(w.size for w in case.draw_weights(0).values()) == sum(w.numel() for w in module.parameters())


def words(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return draw.integers(0, 11, shape)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("length", "model"), [(7, 6), (1, 8), (12, 5)])
def test_positions(seed: int, length: int, model: int) -> None:
    def waves(weights: Weights, ids: Array) -> Array:
        """Section 3.5, entry by entry."""
        table = np.empty((length, model))
        for place in range(length):
            for entry in range(model):
                angle = place / 10000 ** ((entry - entry % 2) / model)
                table[place, entry] = math.cos(angle) if entry % 2 else math.sin(angle)
        return weights["E.weight"][ids] * math.sqrt(model) + table

    def table(weights: Weights, ids: Array) -> Array:
        return weights["E.weight"][ids] * math.sqrt(model) + weights["learned.P"][:length]

    sizes, widths = {"model": model, "vocab": 11}, {"words": length}
    agrees(Case("positions", "sinusoidal", sizes, widths, {"ids": words}), waves, seed)
    agrees(Case("positions", "learned_table", sizes, widths, {"ids": words}), table, seed)


def test_a_learned_table_ends() -> None:
    case = Case("positions", "learned_table", {"model": 4, "vocab": 11}, {"words": 513}, {"ids": words})
    run = case.compiled.numpy(case.draw_weights(0))
    with pytest.raises(ValueError, match=r"words.*513.*512"):
        run(case.draw_inputs(0)["ids"])


def test_rotation_by_a_step_is_the_same_everywhere() -> None:
    """What the paper says of sinusoids: the waves of place + 3 are one linear map of those of place."""
    case = Case("positions", "sinusoidal", {"model": 8, "vocab": 11}, {"words": 30}, {"ids": words})
    zeros = {"E.weight": np.zeros((11, 8))}
    waves = case.compiled.numpy(zeros, dtype="float64")(np.zeros(30, int))
    here, later = waves[:-3], waves[3:]
    step = np.linalg.lstsq(here[:15], later[:15], rcond=None)[0]
    assert np.abs(here[15:] @ step - later[15:]).max() < 1e-8
