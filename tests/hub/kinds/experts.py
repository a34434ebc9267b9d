"""Decoders with experts: examples/zoo/mixed."""

from __future__ import annotations

import random
from typing import Any

from .drawing import ROPES, Kind, gated, some, without

UNCUT = {
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0, "truncate": False,
}  # fmt: skip


def picks(draw: random.Random, name: str) -> dict[str, Any]:
    return {name: draw.choice([3, 4, 6]), "num_experts_per_tok": draw.choice([1, 2, 3])}


def mixtral(draw: random.Random) -> dict[str, Any]:
    return gated(draw) | picks(draw, "num_local_experts") | {"sliding_window": draw.choice([None, 5])}


def qwen3_moe(draw: random.Random) -> dict[str, Any]:
    options = gated(draw) | picks(draw, "num_experts") | some(draw, "attention_bias", "norm_topk_prob")
    own = {
        "moe_intermediate_size": draw.choice([12, 20]),
        "decoder_sparse_step": draw.choice([1, 2]),
        "mlp_only_layers": draw.choice([[], [1]]),
        "use_sliding_window": draw.random() < 0.5,
        "sliding_window": 5,
    }
    return options | own


def qwen2_moe(draw: random.Random) -> dict[str, Any]:
    options = without(qwen3_moe(draw), "head_dim", "attention_bias") | some(draw, "qkv_bias")
    kinds = ["full_attention", "sliding_attention"]
    own = {
        "shared_expert_intermediate_size": draw.choice([12, 20]),
        "max_window_layers": draw.choice([1, 2]),
        "layer_types": draw.choice([None, [draw.choice(kinds) for _ in range(options["num_hidden_layers"])]]),
    }
    if not options["use_sliding_window"]:
        own["layer_types"] = None
    return options | own


def gpt_oss(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "hidden_act") | picks(draw, "num_local_experts") | some(draw, "attention_bias")
    kinds = ["full_attention", "sliding_attention"]
    own = {
        "sliding_window": draw.choice([5, 9]),
        "swiglu_alpha": draw.choice([1.0, 1.702]),
        "swiglu_limit": draw.choice([0.7, 7.0]),
        "rope_parameters": draw.choice([*ROPES, UNCUT]),
        "layer_types": draw.choice([None, [draw.choice(kinds) for _ in range(options["num_hidden_layers"])]]),
    }
    return options | own


SCALED = {
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0, "mscale": 0.7,
    "mscale_all_dim": 1.3,
}  # fmt: skip


def deepseek(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim") | picks(draw, "n_routed_experts")
    own = {
        "num_key_value_heads": options["num_attention_heads"],
        "n_routed_experts": draw.choice([6, 12]),
        "q_lora_rank": draw.choice([None, 6]),
        "kv_lora_rank": draw.choice([6, 8]),
        "qk_nope_head_dim": draw.choice([4, 6]),
        "qk_rope_head_dim": draw.choice([4, 6]),
        "v_head_dim": draw.choice([5, 8]),
        "moe_intermediate_size": draw.choice([12, 20]),
        "n_shared_experts": draw.choice([1, 2]),
        "first_k_dense_replace": draw.choice([0, 1]),
        "routed_scaling_factor": draw.choice([0.7, 1.5]),
        "rope_parameters": draw.choice([*ROPES, UNCUT, SCALED]),
        "n_group": 3,
        "topk_group": 2,
    }
    return options | own | some(draw, "attention_bias")


def deepseek_v2(draw: random.Random) -> dict[str, Any]:
    own = {"topk_method": draw.choice(["greedy", "group_limited_greedy"])}
    return deepseek(draw) | own | some(draw, "mlp_bias")


def deepseek_v3(draw: random.Random) -> dict[str, Any]:
    return deepseek(draw) | some(draw, "norm_topk_prob", "rope_interleave")


def llama4_text(draw: random.Random) -> dict[str, Any]:
    options = gated(draw) | picks(draw, "num_local_experts")
    count, kinds = options["num_hidden_layers"], ["full_attention", "chunked_attention"]
    own = {
        "intermediate_size_mlp": draw.choice([12, 20]),
        "moe_layers": draw.choice([None, [0], [1]]),
        "interleave_moe_layer_step": draw.choice([1, 2]),
        "no_rope_layers": draw.choice([None, [draw.choice([0, 1]) for _ in range(count - 1)] + [1]]),
        "no_rope_layer_interval": 2,
        "attention_chunk_size": draw.choice([5, 9]),
        "layer_types": draw.choice([None, draw.sample(kinds, 2) + ["full_attention"] * (count - 2)]),
        "floor_scale": draw.choice([3, 8]),
        "attn_scale": draw.choice([0.1, 0.7]),
    }
    return options | own | some(draw, "use_qk_norm", "attn_temperature_tuning", "attention_bias")


KINDS = {
    "mixtral": Kind("MixtralForCausalLM", "MixtralConfig", mixtral, quick=True),
    "qwen2_moe": Kind("Qwen2MoeForCausalLM", "Qwen2MoeConfig", qwen2_moe),
    "qwen3_moe": Kind("Qwen3MoeForCausalLM", "Qwen3MoeConfig", qwen3_moe),
    "gpt_oss": Kind("GptOssForCausalLM", "GptOssConfig", gpt_oss, quick=True),
    "llama4_text": Kind("Llama4ForCausalLM", "Llama4TextConfig", llama4_text),
    "deepseek_v2": Kind("DeepseekV2ForCausalLM", "DeepseekV2Config", deepseek_v2),
    "deepseek_v3": Kind("DeepseekV3ForCausalLM", "DeepseekV3Config", deepseek_v3),
}
