"""Decoders with recurrences: examples/zoo/mixed."""

from __future__ import annotations

import random
from typing import Any

from .drawing import ROPES, Kind, gated, some, without
from .experts import picks, qwen3_moe

ACTS = ["silu", "gelu", "gelu_pytorch_tanh", "relu"]


def state(draw: random.Random) -> dict[str, Any]:
    own = {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": draw.choice([12, 20]),
        "num_hidden_layers": draw.choice([2, 3]),
        "state_size": draw.choice([3, 6]),
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
        "conv_kernel": draw.choice([2, 4]),
        "hidden_act": draw.choice(ACTS),
        "pad_token_id": None,
    }
    return own | some(draw, "use_bias", "use_conv_bias", "tie_word_embeddings")


def mamba(draw: random.Random) -> dict[str, Any]:
    return state(draw) | {"expand": draw.choice([1, 2]), "time_step_rank": draw.choice(["auto", 1, 5])}


def mamba2(draw: random.Random) -> dict[str, Any]:
    groups, sharing, key = draw.choice([1, 2, 3]), draw.choice([1, 2, 3]), draw.choice([4, 6])
    own = {
        "num_heads": groups * sharing,
        "n_groups": groups,
        "head_dim": key,
        "expand": 2,
        "hidden_size": groups * sharing * key // 2,
        "time_step_limit": draw.choice([(0.0, float("inf")), (0.2, 0.9)]),
        "chunk_size": draw.choice([5, 256]),
    }
    return state(draw) | own


def layers(draw: random.Random, options: dict[str, Any], *kinds: str) -> list[str]:
    return [*draw.sample(kinds, 2), *(draw.choice(kinds) for _ in range(options["num_hidden_layers"] - 2))]


def minimax(draw: random.Random) -> dict[str, Any]:
    options = gated(draw) | picks(draw, "num_local_experts")
    names = ("full_attn_alpha", "full_attn_beta", "linear_attn_alpha", "linear_attn_beta", "mlp_alpha", "mlp_beta")
    factors = {f"{name}_factor": draw.choice([0.5, 1, 1.5]) for name in names}
    own = {
        "layer_types": layers(draw, options, "full_attention", "linear_attention"),
        "block_size": draw.choice([5, 256]),
    }
    return options | own | factors | {"sliding_window": draw.choice([None, 5])}


def jamba(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim", "rope_parameters")
    own = {
        "num_experts": draw.choice([1, 3, 5]),
        "num_experts_per_tok": draw.choice([1, 2]),
        "expert_layer_period": draw.choice([1, 2]),
        "expert_layer_offset": 0,
        "attn_layer_period": 2,
        "attn_layer_offset": draw.choice([0, 1]),
        "mamba_d_state": draw.choice([3, 6]),
        "mamba_d_conv": draw.choice([2, 4]),
        "mamba_expand": draw.choice([1, 2]),
        "mamba_dt_rank": draw.choice(["auto", 5]),
    }
    return options | own | some(draw, "mamba_conv_bias", "mamba_proj_bias")


def recurrent_gemma(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim", "max_position_embeddings", "hidden_act")
    heads = options["num_attention_heads"]
    own = {
        "hidden_size": heads * draw.choice([4, 8]),
        "lru_width": draw.choice([None, heads * 6]),
        "intermediate_size": draw.choice([28, 36]),
        "attention_window_size": draw.choice([5, 9]),
        "conv1d_width": draw.choice([2, 4]),
        "logits_soft_cap": draw.choice([3.0, 30.0]),
        "block_types": draw.choice([["recurrent", "attention"], ["attention", "recurrent", "recurrent"]]),
        "hidden_activation": draw.choice(ACTS),
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 50.0,
            "partial_rotary_factor": draw.choice([0.5, 1.0]),
        },
    }
    return options | own | some(draw, "attention_bias")


def qwen3_next(draw: random.Random) -> dict[str, Any]:
    options = without(qwen3_moe(draw), "use_sliding_window", "sliding_window")
    groups = draw.choice([1, 2])
    own = {
        "head_dim": 8,
        "rope_parameters": ROPES[0] | {"partial_rotary_factor": draw.choice([0.25, 0.5, 1.0])},
        "shared_expert_intermediate_size": draw.choice([12, 20]),
        "linear_conv_kernel_dim": draw.choice([2, 4]),
        "linear_num_key_heads": groups,
        "linear_num_value_heads": groups * draw.choice([1, 2, 3]),
        "linear_key_head_dim": draw.choice([8, 12]),
        "linear_value_head_dim": draw.choice([4, 6]),
        "layer_types": layers(draw, options, "full_attention", "linear_attention"),
    }
    return options | own


KINDS = {
    "minimax": Kind(
        "MiniMaxForCausalLM", "MiniMaxConfig", minimax, cached=False
    ),  # theirs counts items of the first layer
    "jamba": Kind("JambaForCausalLM", "JambaConfig", jamba),
    "recurrent_gemma": Kind("RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", recurrent_gemma),
    "qwen3_next": Kind("Qwen3NextForCausalLM", "Qwen3NextConfig", qwen3_next),
    "mamba": Kind("MambaForCausalLM", "MambaConfig", mamba),
    "mamba2": Kind("Mamba2ForCausalLM", "Mamba2Config", mamba2, quick=True, cached=False),  # its steps have no limit
}
