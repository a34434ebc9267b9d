"""Encoders of pictures: examples/zoo/vision, examples/zoo/clip, examples/zoo/swin."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some, without

QUICK = ["gelu", "gelu_pytorch_tanh", "quick_gelu", "relu"]
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


def tower(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "hidden_size": heads * draw.choice([8, 10]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "intermediate_size": draw.choice([28, 36]),
        "hidden_act": draw.choice(QUICK),
        "layer_norm_eps": draw.choice([1e-5, 1e-3]),
    }


def text(draw: random.Random) -> dict[str, Any]:
    return tower(draw) | {"vocab_size": draw.choice([13, 37]), "max_position_embeddings": 40}


def clip_text(draw: random.Random) -> dict[str, Any]:
    return text(draw) | {"eos_token_id": draw.choice([2, 5]), "projection_dim": draw.choice([6, 9])}


def siglip_text(draw: random.Random) -> dict[str, Any]:
    return text(draw) | {"projection_size": draw.choice([None, 9])}


def vision(draw: random.Random) -> dict[str, Any]:
    sizes = {"image_size": draw.choice([8, 12]), "patch_size": draw.choice([2, 4]), "num_channels": draw.choice([1, 3])}
    return tower(draw) | sizes


def clip_vision(draw: random.Random) -> dict[str, Any]:
    return vision(draw) | {"projection_dim": draw.choice([6, 9])}


def clip(draw: random.Random) -> dict[str, Any]:
    joint = {"projection_dim": draw.choice([6, 9])}
    return joint | {"text_config": clip_text(draw) | joint, "vision_config": clip_vision(draw) | joint}


def siglip(draw: random.Random) -> dict[str, Any]:
    pictures = vision(draw)
    joint = {"projection_size": pictures["hidden_size"]}
    return {"text_config": text(draw) | joint, "vision_config": pictures}


def swin(draw: random.Random) -> dict[str, Any]:
    window = draw.choice([2, 3])
    return {
        "image_size": draw.choice([8 * window, (8 * window, 16 * window)]),
        "patch_size": 1,
        "num_channels": draw.choice([1, 3]),
        "embed_dim": draw.choice([8, 12]),
        "depths": [draw.choice([1, 2]), 2, draw.choice([1, 2]), 1],
        "num_heads": draw.choice([[1, 2, 4, 4], [2, 2, 1, 4]]),
        "window_size": window,
        "mlp_ratio": draw.choice([2.0, 4.0]),
        "hidden_act": draw.choice(["gelu", "gelu_new", "relu", "silu"]),
        "layer_norm_eps": draw.choice([1e-5, 1e-3]),
        "num_labels": draw.choice([2, 5]),
    } | some(draw, "qkv_bias", "use_absolute_embeddings")


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
    "clip_text_model": Kind(
        "CLIPTextModelWithProjection", "CLIPTextConfig", clip_text, False, False, ("CLIPTextModel",)
    ),
    "clip_vision_model": Kind(
        "CLIPVisionModelWithProjection", "CLIPVisionConfig", clip_vision, False, False, ("CLIPVisionModel",)
    ),
    "siglip_text_model": Kind("SiglipTextModel", "SiglipTextConfig", siglip_text, greedy=False),
    "siglip_vision_model": Kind("SiglipVisionModel", "SiglipVisionConfig", vision, greedy=False),
    "clip": Kind("CLIPModel", "CLIPConfig", clip, True, False),
    "siglip": Kind("SiglipModel", "SiglipConfig", siglip, True, False),
    "swin": Kind("SwinForImageClassification", "SwinConfig", swin, True, False, ("SwinModel",)),
}
