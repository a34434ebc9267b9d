"""Random small configurations of each kind of model that an adapter knows, drawn from all its options."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROPES: tuple[dict[str, Any], ...] = (
    {"rope_type": "default", "rope_theta": 5000.0},
    {"rope_type": "linear", "factor": 3.0, "rope_theta": 5000.0},
    {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16, "rope_theta": 500.0,
    },
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0},
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """reference: the class in transformers. options: draws a configuration."""

    reference: str
    config: str
    options: Callable[[random.Random], dict[str, Any]]


def gated(draw: random.Random) -> dict[str, Any]:
    """What decoders with grouped queries have in common; lengths are 24: past every window and original length."""
    groups, sharing = draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": groups * sharing * draw.choice([4, 8]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": groups * sharing,
        "num_key_value_heads": groups,
        "head_dim": draw.choice([4, 8, 10]),
        "intermediate_size": draw.choice([28, 36]),
        "max_position_embeddings": 64,
        "hidden_act": draw.choice(["silu", "gelu", "gelu_pytorch_tanh", "relu"]),
        "rms_norm_eps": draw.choice([1e-6, 1e-5, 1e-3]),
        "tie_word_embeddings": draw.random() < 0.5,
        "rope_parameters": draw.choice(ROPES),
        "pad_token_id": None,
    }


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


KINDS = {
    "llama": Kind("LlamaForCausalLM", "LlamaConfig", llama),
    "mistral": Kind("MistralForCausalLM", "MistralConfig", mistral),
    "qwen2": Kind("Qwen2ForCausalLM", "Qwen2Config", qwen2),
    "qwen3": Kind("Qwen3ForCausalLM", "Qwen3Config", qwen3),
}
