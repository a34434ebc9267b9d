"""Decoders with learned positions: examples/zoo/classic."""

from __future__ import annotations

import random
from typing import Any

from .drawing import Kind, some

ACTIVATIONS = ["gelu_new", "gelu", "silu", "relu", "gelu_pytorch_tanh"]


def gpt2(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.choice([37, 53]),
        "n_embd": heads * draw.choice([4, 8]),
        "n_layer": draw.choice([2, 3]),
        "n_head": heads,
        "n_inner": draw.choice([None, 28]),
        "n_positions": draw.choice([32, 40]),
        "activation_function": draw.choice(ACTIVATIONS),
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
        "bos_token_id": 0,
        "eos_token_id": 0,
    } | some(
        draw, "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "tie_word_embeddings"
    )


def gpt_bigcode(draw: random.Random) -> dict[str, Any]:
    own = some(draw, "multi_query", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32")
    dropped = ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn")
    return {name: value for name, value in gpt2(draw).items() if name not in dropped} | own


def gpt_neo(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    layers = draw.choice([[[["global", "local"], 1]], [[["local"], 2], [["global"], 1]], [[["global"], 2]]])
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": heads * draw.choice([4, 8]),
        "num_layers": sum(len(kinds) * count for kinds, count in layers),
        "num_heads": heads,
        "attention_types": layers,
        "intermediate_size": draw.choice([None, 28]),
        "max_position_embeddings": draw.choice([32, 40]),
        "window_size": draw.choice([5, 9]),
        "activation_function": draw.choice(ACTIVATIONS),
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
    } | some(draw, "tie_word_embeddings")


def opt(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": heads * draw.choice([4, 8]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "ffn_dim": draw.choice([28, 36]),
        "word_embed_proj_dim": draw.choice([None, 10]),
        "max_position_embeddings": draw.choice([32, 40]),
        "activation_function": draw.choice(ACTIVATIONS),
        "_remove_final_layer_norm": draw.random() < 0.2,
    } | some(draw, "do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine", "tie_word_embeddings")


KINDS = {
    "gpt2": Kind("GPT2LMHeadModel", "GPT2Config", gpt2, quick=True),
    "gpt_bigcode": Kind("GPTBigCodeForCausalLM", "GPTBigCodeConfig", gpt_bigcode),
    "gpt_neo": Kind("GPTNeoForCausalLM", "GPTNeoConfig", gpt_neo),
    "opt": Kind("OPTForCausalLM", "OPTConfig", opt),
}
