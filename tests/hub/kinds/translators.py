"""Encoder-decoders of texts: examples/zoo/encoder_decoder, examples/zoo/t5."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some, without

PROJECTIONS = ["relu", "gelu", "silu", "gated-gelu", "gated-relu", "gated-silu"]
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


def t5(draw: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": draw.choice([37, 53]),
        "d_model": draw.choice([16, 20]),
        "d_kv": draw.choice([4, 6]),
        "d_ff": draw.choice([28, 36]),
        "num_layers": draw.choice([2, 3]),
        "num_decoder_layers": draw.choice([None, 1, 2]),  # theirs generates with no deeper decoder
        "num_heads": draw.choice([1, 3, 4]),
        "relative_attention_num_buckets": draw.choice([8, 10]),
        "relative_attention_max_distance": draw.choice([9, 12]),
        "layer_norm_epsilon": draw.choice([1e-6, 1e-3]),
        "feed_forward_proj": draw.choice(PROJECTIONS),
    } | some(draw, "tie_word_embeddings")


def switch(draw: random.Random) -> dict[str, Any]:
    own = {
        "dense_act_fn": draw.choice(["relu", "gelu_new", "silu"]),
        "num_experts": draw.choice([2, 3]),
        "expert_capacity": draw.choice([7, 64]),
        "num_sparse_encoder_layers": draw.choice([0, 1, 2]),
        "num_sparse_decoder_layers": draw.choice([0, 1, 2]),
    }
    return without(t5(draw), "feed_forward_proj") | own | some(draw, "router_bias")


KINDS = {
    "bart": Kind("BartForConditionalGeneration", "BartConfig", bart),
    "mbart": Kind("MBartForConditionalGeneration", "MBartConfig", bart),
    "pegasus": Kind("PegasusForConditionalGeneration", "PegasusConfig", bart),
    "marian": Kind("MarianMTModel", "MarianConfig", marian),
    "m2m_100": Kind("M2M100ForConditionalGeneration", "M2M100Config", m2m, quick=True),
    "t5": Kind("T5ForConditionalGeneration", "T5Config", t5, True, small="Attention.q"),
    "switch_transformers": Kind(
        "SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", switch, small="Attention.q"
    ),
}
