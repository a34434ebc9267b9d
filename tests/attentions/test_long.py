"""Attention whose price does not grow with the square of the width: projected, linear, through latents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from .checking import Array, Case, Weights, agrees, attention, causal, heads, joined

SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("target", "short", "model", "count"), [(9, 3, 8, 2), (5, 5, 6, 3), (4, 7, 3, 1)])
def test_linformer(seed: int, target: int, short: int, model: int, count: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        """Equation 7."""
        Q, K, V = (heads(x, weights[f"{name}.weight"], count) for name in "QKV")
        E, F = weights["E.weight"], weights["F.weight"]
        return joined(attention(Q, E @ K, F @ V)) @ weights["O.weight"].T

    sizes = {"target": target, "short": short, "model": model, "heads": count}
    case = Case("linformer", sizes=sizes)
    agrees(case, formula, seed)
    assert case.draw_weights(0)["E.weight"].shape == (short, target)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("model", ["linear_attention", "causal_sum", "recurrent"])
@pytest.mark.parametrize(("target", "source", "key", "value"), [(6, 6, 3, 4), (1, 1, 2, 5), (11, 11, 5, 2)])
def test_linear_attention(seed: int, model: str, target: int, source: int, key: int, value: int) -> None:
    def formula(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        """Equation 4, with every pair's similarity: what the specs never make."""

        def phi(x: Array) -> Array:
            return np.asarray(torch.nn.functional.elu(torch.tensor(x)) + 1)

        similarity = phi(Q) @ np.swapaxes(phi(K), -1, -2)
        if model != "linear_attention":
            similarity = similarity * causal(target)
        return np.asarray(similarity / similarity.sum(-1, keepdims=True) @ V)

    sizes = {"heads": 2, "key": key, "value": value}
    agrees(Case("linear_attention", model, sizes, {"target": target, "source": source}), formula, seed)


def test_linear_attention_of_another_stream() -> None:
    def formula(_: Weights, Q: Array, K: Array, V: Array) -> Array:
        similarity = np.where(Q > 0, Q + 1, np.exp(Q)) @ np.swapaxes(np.where(K > 0, K + 1, np.exp(K)), -1, -2)
        return np.asarray(similarity / similarity.sum(-1, keepdims=True) @ V)

    sizes = {"heads": 2, "key": 3, "value": 4}
    agrees(Case("linear_attention", sizes=sizes, widths={"target": 4, "source": 7}), formula)


# Theirs -> ours, for one layer.
LAYER = {
    "attention.self.query": "Q", "attention.self.key": "K", "attention.self.value": "V",
    "attention.output.dense": "out", "layernorm": "norm", "mlp.dense1": "up", "mlp.dense2": "down",
}  # fmt: skip


def perceiver_names(layers: int) -> dict[str, str]:
    """Every weight of their encoder -> ours."""
    inner = {"Q": "look.Q", "K": "look.K", "V": "look.V", "out": "look.out"}
    found: dict[str, str] = {}
    for place, ours in [("cross_attention", "")] + [
        (f"self_attends.{i}", f"blocks.layers.{i}.") for i in range(layers)
    ]:
        look = "read" if not ours else "look"
        fed = "think"
        for theirs, mine in LAYER.items():
            path = f"{ours}{look}.{mine}" if mine in inner else f"{ours}{fed}.{mine}"
            found |= {f"{place}.{theirs}.{kind}": f"{path}.{kind}" for kind in ("weight", "bias")}
        norms = {"1": "latents", "2": "input"} if not ours else {"1": "seen"}
        for number, norm in norms.items():
            for kind in ("weight", "bias"):
                found[f"{place}.attention.self.layernorm{number}.{kind}"] = f"{ours}{norm}.{kind}"
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("input", "latents", "channels", "latent", "count", "blocks", "layers"),
    [(11, 4, 5, 6, 3, 2, 2), (3, 5, 7, 8, 2, 1, 3)],
)
def test_perceiver_is_hugging_face_s(
    seed: int, input: int, latents: int, channels: int, latent: int, count: int, blocks: int, layers: int
) -> None:
    modeling: Any = pytest.importorskip("transformers.models.perceiver.modeling_perceiver")
    config = modeling.PerceiverConfig(
        num_latents=latents, d_latents=latent, d_model=channels, num_blocks=blocks, num_self_attends_per_block=layers,
        num_self_attention_heads=count, num_cross_attention_heads=count, qk_channels=latent, v_channels=latent,
        cross_attention_widening_factor=1, self_attention_widening_factor=1, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    module = modeling.PerceiverModel(config).double().eval()
    names = perceiver_names(layers)

    def of_transformers(weights: Weights, x: Array) -> Array:
        state = {f"encoder.{theirs}": torch.tensor(weights[ours]) for theirs, ours in names.items()}
        state["embeddings.latents"] = torch.tensor(weights["start"])
        module.load_state_dict(state)
        with torch.no_grad():
            return np.asarray(module(torch.tensor(x)[None]).last_hidden_state[0])

    sizes = {
        "latents": latents,
        "channels": channels,
        "latent": latent,
        "heads": count,
        "blocks": blocks,
        "layers": layers,
    }
    agrees(Case("perceiver", sizes=sizes, widths={"input": input}), of_transformers, seed)
