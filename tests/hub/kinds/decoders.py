"""Decoders of one stack of like layers: examples/zoo/decoder."""

from __future__ import annotations

import random
from typing import Any

from .drawing import ROPES, Kind, gated, some, without


def llama(draw: random.Random) -> dict[str, Any]:
    return gated(draw) | {"attention_bias": draw.random() < 0.5, "mlp_bias": draw.random() < 0.5}


def mistral(draw: random.Random) -> dict[str, Any]:
    return gated(draw) | {"sliding_window": draw.choice([None, 5, 9])}


def windows(draw: random.Random) -> dict[str, Any]:
    return {"use_sliding_window": draw.random() < 0.5, "sliding_window": 5, "max_window_layers": 1}


def qwen2(draw: random.Random) -> dict[str, Any]:
    options = gated(draw) | windows(draw)
    del options["head_dim"]  # it has none
    return options


def qwen3(draw: random.Random) -> dict[str, Any]:
    return gated(draw) | windows(draw) | {"attention_bias": draw.random() < 0.5}


PARTIAL = {"rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.5}


def gemma(draw: random.Random) -> dict[str, Any]:
    return gated(draw) | some(draw, "attention_bias")


def gemma2(draw: random.Random) -> dict[str, Any]:
    options = gated(draw)
    layers = [draw.choice(["full_attention", "sliding_attention"]) for _ in range(options["num_hidden_layers"])]
    own = {
        "hidden_activation": options["hidden_act"],
        "query_pre_attn_scalar": draw.choice([7, 16]),
        "sliding_window": draw.choice([5, 9]),
        "attn_logit_softcapping": draw.choice([None, 5.0]),
        "final_logit_softcapping": draw.choice([None, 3.0]),
        "layer_types": layers,
    }
    return without(options, "hidden_act") | own | some(draw, "attention_bias")


def olmo2(draw: random.Random) -> dict[str, Any]:
    return without(gated(draw), "head_dim") | some(draw, "attention_bias")


def granite(draw: random.Random) -> dict[str, Any]:
    names = ("embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling")
    factors = {name: draw.choice([0.3, 1.0, 2.5]) for name in names}
    return without(gated(draw), "head_dim") | factors | some(draw, "attention_bias", "mlp_bias")


def starcoder2(draw: random.Random) -> dict[str, Any]:
    own = {"norm_epsilon": draw.choice([1e-5, 1e-3]), "sliding_window": draw.choice([None, 5])}
    return without(gated(draw), "head_dim", "rms_norm_eps") | own | some(draw, "use_bias")


def nemotron(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "rms_norm_eps") | {"norm_eps": draw.choice([1e-5, 1e-3]), "rope_parameters": PARTIAL}
    own = {"hidden_act": draw.choice(["relu2", "gelu"]), "head_dim": draw.choice([4, 8])}
    return options | own | some(draw, "attention_bias", "mlp_bias")


def phi3(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim") | {"sliding_window": draw.choice([None, 5])}
    return options | {"rope_parameters": draw.choice([ROPES[0], PARTIAL])}


def smollm3(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim") | some(draw, "use_sliding_window", "attention_bias", "mlp_bias")
    turning = [draw.choice([0, 1]) for _ in range(options["num_hidden_layers"])]
    return options | {"sliding_window": draw.choice([None, 5]), "no_rope_layers": turning}


KINDS = {
    "llama": Kind("LlamaForCausalLM", "LlamaConfig", llama, quick=True),
    "mistral": Kind("MistralForCausalLM", "MistralConfig", mistral),
    "qwen2": Kind("Qwen2ForCausalLM", "Qwen2Config", qwen2),
    "qwen3": Kind("Qwen3ForCausalLM", "Qwen3Config", qwen3),
    "gemma": Kind("GemmaForCausalLM", "GemmaConfig", gemma),
    "gemma2": Kind("Gemma2ForCausalLM", "Gemma2Config", gemma2, quick=True),
    "olmo2": Kind("Olmo2ForCausalLM", "Olmo2Config", olmo2),
    "granite": Kind("GraniteForCausalLM", "GraniteConfig", granite),
    "starcoder2": Kind("Starcoder2ForCausalLM", "Starcoder2Config", starcoder2, quick=True),
    "nemotron": Kind("NemotronForCausalLM", "NemotronConfig", nemotron),
    "phi3": Kind("Phi3ForCausalLM", "Phi3Config", phi3, quick=True),
    "smollm3": Kind("SmolLM3ForCausalLM", "SmolLM3Config", smollm3),
}
