"""Encoder-decoders: examples/zoo/encoder_decoder."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some

ACTS = ["gelu", "gelu_new", "relu", "silu"]


def bart(draw: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": draw.choice([37, 53]),
        "d_model": 12 * draw.choice([1, 2]),
        "encoder_layers": draw.choice([1, 2]),
        "decoder_layers": draw.choice([1, 2, 3]),
        "encoder_attention_heads": draw.choice([1, 2, 3]),
        "decoder_attention_heads": draw.choice([1, 2, 3]),
        "encoder_ffn_dim": draw.choice([28, 36]),
        "decoder_ffn_dim": draw.choice([20, 44]),
        "activation_function": draw.choice(ACTS),
        "max_position_embeddings": 40,
        "forced_eos_token_id": None,
    } | some(draw, "scale_embedding", "tie_word_embeddings")


def marian(draw: random.Random) -> dict[str, Any]:
    options = bart(draw) | some(draw, "share_encoder_decoder_embeddings") | {"pad_token_id": 36}
    if not options["share_encoder_decoder_embeddings"]:
        options["decoder_vocab_size"] = 41
    return options


def m2m(draw: random.Random) -> dict[str, Any]:
    return bart(draw) | {"pad_token_id": draw.choice([0, 1, 5])}


KINDS = {
    "bart": Kind("BartForConditionalGeneration", "BartConfig", bart),
    "mbart": Kind("MBartForConditionalGeneration", "MBartConfig", bart),
    "pegasus": Kind("PegasusForConditionalGeneration", "PegasusConfig", bart, quick=True),
    "marian": Kind("MarianMTModel", "MarianConfig", marian),
    "m2m_100": Kind("M2M100ForConditionalGeneration", "M2M100Config", m2m, quick=True),
}
