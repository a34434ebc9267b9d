"""T5 and the Switch Transformer: examples/zoo/t5."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some, without

PROJECTIONS = ["relu", "gelu", "silu", "gated-gelu", "gated-relu", "gated-silu"]


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
    "t5": Kind("T5ForConditionalGeneration", "T5Config", t5, True, small="Attention.q"),
    "switch_transformers": Kind(
        "SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", switch, small="Attention.q"
    ),
}
