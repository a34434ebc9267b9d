"""What draws of configurations have in common."""

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
    """reference, config: the classes in transformers. options: draws a configuration.

    quick: one draw is in the fast suite. greedy: it generates. also: other heads, for every second draw or third one;
    they generate nothing. small: weights drawn a quarter as large, of queries whose scores are not scaled. cached:
    theirs gives the same step by step.
    """

    reference: str
    config: str
    options: Callable[[random.Random], dict[str, Any]]
    quick: bool = False
    greedy: bool = True
    cached: bool = True
    also: tuple[str, ...] = ()
    small: str = "-"

    @property
    def heads(self) -> tuple[str, ...]:
        return (self.reference, *self.also)

    def head(self, seed: int) -> str:
        return self.heads[seed % len(self.heads)]


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


def without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def some(draw: random.Random, *names: str) -> dict[str, bool]:
    return {name: draw.random() < 0.5 for name in names}
