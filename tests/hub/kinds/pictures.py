"""Encoders of pictures: examples/zoo/vision."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some, without

ACTS = ["gelu", "gelu_new", "relu", "silu"]


def vit(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "hidden_size": heads * draw.choice([8, 10]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "intermediate_size": draw.choice([28, 36]),
        "hidden_act": draw.choice(ACTS),
        "layer_norm_eps": draw.choice([1e-12, 1e-5, 1e-3]),
        "image_size": draw.choice([12, (8, 12)]),
        "patch_size": draw.choice([4, (2, 4)]),
        "num_channels": draw.choice([1, 3]),
        "pooler_output_size": draw.choice([None, 6]),
        "pooler_act": draw.choice(["tanh", "relu"]),
        "num_labels": draw.choice([2, 5]),
    } | some(draw, "qkv_bias")


def square(draw: random.Random) -> dict[str, Any]:
    own = {"image_size": draw.choice([8, 12]), "patch_size": draw.choice([2, 4])}
    return without(vit(draw), "pooler_output_size", "pooler_act") | own


def dinov2(draw: random.Random) -> dict[str, Any]:
    options = without(square(draw), "intermediate_size") | some(draw, "use_swiglu_ffn", "use_mask_token")
    return options | {"mlp_ratio": draw.choice([2, 3, 4])}


def beit(draw: random.Random) -> dict[str, Any]:
    names = ("absolute_position_embeddings", "relative_position_bias", "shared_relative_position_bias")
    uses = [f"use_{name}" for name in (*names, "mean_pooling", "mask_token")]
    options = without(square(draw), "qkv_bias") | some(draw, *uses)
    return options | {"layer_scale_init_value": draw.choice([0.0, 0.1])}


KINDS = {
    "vit": Kind("ViTForImageClassification", "ViTConfig", vit, False, False, ("ViTModel",)),
    "deit": Kind(
        "DeiTForImageClassificationWithTeacher",
        "DeiTConfig",
        vit,
        True,
        False,
        ("DeiTForImageClassification", "DeiTModel"),
    ),
    "dinov2": Kind("Dinov2Model", "Dinov2Config", dinov2, False, False, ("Dinov2ForImageClassification",)),
    "beit": Kind("BeitForImageClassification", "BeitConfig", beit, True, False, ("BeitModel",)),
}
