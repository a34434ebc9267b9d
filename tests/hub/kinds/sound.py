"""Encoders of sound: examples/zoo/whisper."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some


def whisper(draw: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": draw.choice([37, 53]),
        "d_model": 12 * draw.choice([1, 2]),
        "num_mel_bins": draw.choice([3, 5]),
        "encoder_layers": draw.choice([1, 2]),
        "decoder_layers": draw.choice([1, 2, 3]),
        "encoder_attention_heads": draw.choice([1, 2, 3]),
        "decoder_attention_heads": draw.choice([1, 2, 3]),
        "encoder_ffn_dim": draw.choice([28, 36]),
        "decoder_ffn_dim": draw.choice([20, 44]),
        "activation_function": draw.choice(["gelu", "gelu_new", "relu", "silu"]),
        "max_source_positions": draw.choice([9, 12]),
        "max_target_positions": 40,
        "begin_suppress_tokens": None,
        "pad_token_id": 0,
    } | some(draw, "tie_word_embeddings")


KINDS = {
    "whisper": Kind("WhisperForConditionalGeneration", "WhisperConfig", whisper, True),
}
