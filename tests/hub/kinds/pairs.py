"""CLIP and SigLIP: examples/zoo/clip."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind

ACTS = ["gelu", "gelu_pytorch_tanh", "quick_gelu", "relu"]


def tower(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "hidden_size": heads * draw.choice([8, 10]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "intermediate_size": draw.choice([28, 36]),
        "hidden_act": draw.choice(ACTS),
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


KINDS = {
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
}
