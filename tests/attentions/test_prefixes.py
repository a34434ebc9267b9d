"""What stands before the text: learned items, and a picture."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .checking import Array, Case, Weights, agrees, attention, heads, joined

SEEDS = range(2)
LAYERS, HEADS = 2, 2


def normed(x: Array, scale: Array, shift: Array) -> Array:
    y = x - x.mean(-1, keepdims=True)
    return np.asarray(y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5) * scale + shift)


def layers(weights: Weights, z: Array, before: int) -> Array:
    """All see what stands before; what comes behind sees itself and what is before it."""
    seen = np.tri(len(z), dtype=bool) | (np.arange(len(z)) < before)
    for layer in range(LAYERS):

        def of(name: str, layer: int = layer) -> Array:
            return weights[f"layers.{layer}.{name}"]

        y = normed(z, of("see.weight"), of("see.bias"))
        Q, K, V = (heads(y, of(f"multihead.{name}.weight"), HEADS) for name in "QKV")
        z = z + joined(attention(Q, K, V, seen)) @ of("multihead.O.weight").T
        y = normed(z, of("feed.weight"), of("feed.bias"))
        up = y @ of("feed_forward_gelu.up.weight").T + of("feed_forward_gelu.up.bias")
        up = up * (1 + np.vectorize(math.erf)(up / math.sqrt(2))) / 2
        z = z + up @ of("feed_forward_gelu.down.weight").T + of("feed_forward_gelu.down.bias")
    return z[before:]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("text", "mem"), [(6, 4), (1, 1), (9, 2)])
def test_memory_tokens(seed: int, text: int, mem: int) -> None:
    def formula(weights: Weights, x: Array) -> Array:
        return layers(weights, np.concatenate([weights["memory"], x]), mem)

    sizes = {"model": 8, "heads": HEADS, "inner": 12, "mem": mem}
    agrees(Case("memory_tokens", sizes=sizes, widths={"text": text}), formula, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("text", "patch"), [(6, 4), (1, 1), (9, 2)])
def test_vision_prefix(seed: int, text: int, patch: int) -> None:
    def formula(weights: Weights, picture: Array, ids: Array) -> Array:
        patches = picture @ weights["patches.weight"].T + weights["patches.bias"]
        z = layers(weights, np.concatenate([patches, weights["E"][ids]]), patch)
        return normed(z, weights["last.weight"], weights["last.bias"]) @ weights["E"].T

    sizes = {"model": 8, "heads": HEADS, "inner": 12, "pixels": 5, "vocab": 11}
    inputs = {"ids": lambda draw, shape: draw.integers(0, 11, shape)}
    agrees(Case("vision_prefix", sizes=sizes, widths={"text": text, "patch": patch}, inputs=inputs), formula, seed)
