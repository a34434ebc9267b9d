"""Decoders of one stack of like layers: examples/zoo/decoder."""

from __future__ import annotations

import random
from typing import Any

from .drawing import ROPES, Kind, gated, some, without


def llama(draw: random.Random) -> dict[str, Any]:
    options = gated(draw)
    if draw.random() < 0.3:
        dynamic = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 5000.0}
        longer = longrope(draw, options["head_dim"] // 2) | {"factor": 8.0}
        options["rope_parameters"] = draw.choice([dynamic, longer])
    return options | {"attention_bias": draw.random() < 0.5, "mlp_bias": draw.random() < 0.5}


def whole(draw: random.Random) -> dict[str, Any]:
    """Llama, turning all of a head, whatever a `partial_rotary_factor` says."""
    options = llama(draw)
    if options["rope_parameters"]["rope_type"] == "default":  # with any other, theirs does not run
        options["rope_parameters"] = PARTIAL
    return options


def arcee(draw: random.Random) -> dict[str, Any]:
    return whole(draw) | {"hidden_act": draw.choice(["relu2", "gelu", "silu"])}


def seed_oss(draw: random.Random) -> dict[str, Any]:
    return whole(draw) | some(draw, "attention_out_bias")


def helium(draw: random.Random) -> dict[str, Any]:
    options = whole(draw)
    return options | {"hidden_size": options["num_attention_heads"] * options["head_dim"]}  # O is square


def ernie4_5(draw: random.Random) -> dict[str, Any]:
    return without(whole(draw), "attention_bias", "mlp_bias") | some(draw, "use_bias")


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


def longrope(draw: random.Random, half: int) -> dict[str, Any]:
    factors = [[draw.choice([1.0, 1.5, 4.0, 9.0]) for _ in range(half)] for _ in range(2)]
    return {
        "rope_type": "longrope", "rope_theta": 5000.0, "original_max_position_embeddings": 32,
        "short_factor": factors[0], "long_factor": factors[1],
    }  # fmt: skip


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
    half = options["hidden_size"] // options["num_attention_heads"] // 2
    own = {
        "original_max_position_embeddings": 32,
        "rope_parameters": draw.choice([ROPES[0], PARTIAL, longrope(draw, half)]),
    }
    return options | own


def smollm3(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim") | some(draw, "use_sliding_window", "attention_bias", "mlp_bias")
    turning = [draw.choice([0, 1]) for _ in range(options["num_hidden_layers"])]
    return options | {"sliding_window": draw.choice([None, 5]), "no_rope_layers": turning}


def gemma3_text(draw: random.Random) -> dict[str, Any]:
    near = {"rope_type": "default", "rope_theta": draw.choice([100.0, 10000.0])}
    rope = {"full_attention": draw.choice(ROPES), "sliding_attention": near}
    return without(gemma2(draw), "attn_logit_softcapping") | {"rope_parameters": rope}


def olmo(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim", "rms_norm_eps")
    return options | {"clip_qkv": draw.choice([None, 0.5])} | some(draw, "attention_bias")


def turning(draw: random.Random, *parts: float) -> dict[str, Any]:
    """Heads of 8, of which a part is turned."""
    options = without(gated(draw), "head_dim", "rms_norm_eps")
    options["hidden_size"] = 8 * options["num_attention_heads"]
    options["rope_parameters"] = draw.choice(ROPES) | {"partial_rotary_factor": draw.choice(parts)}
    return options | {"layer_norm_eps": draw.choice([1e-5, 1e-3])}


def stablelm(draw: random.Random) -> dict[str, Any]:
    return turning(draw, 0.25, 0.5, 1.0) | some(draw, "use_qkv_bias", "qk_layernorm", "use_parallel_residual")


def phi(draw: random.Random) -> dict[str, Any]:
    return turning(draw, 0.5, 1.0) | some(draw, "qk_layernorm")


def cohere(draw: random.Random) -> dict[str, Any]:
    options = without(gated(draw), "head_dim", "rms_norm_eps") | {"layer_norm_eps": draw.choice([1e-5, 1e-3])}
    return options | {"logit_scale": draw.choice([0.0625, 2.0])} | some(draw, "attention_bias", "use_qk_norm")


def cohere2(draw: random.Random) -> dict[str, Any]:
    options = without(cohere(draw), "use_qk_norm")
    layers = [draw.choice(["full_attention", "sliding_attention"]) for _ in range(options["num_hidden_layers"])]
    return options | {"sliding_window": draw.choice([5, 9]), "layer_types": draw.choice([None, layers])}


def glm4(draw: random.Random) -> dict[str, Any]:
    options = gated(draw) | {"head_dim": 8} | some(draw, "attention_bias")
    return options | {"rope_parameters": draw.choice(ROPES) | {"partial_rotary_factor": draw.choice([0.5, 1.0])}}


def gpt_neox(draw: random.Random) -> dict[str, Any]:
    options = without(turning(draw, 0.25, 0.5, 1.0), "num_key_value_heads")
    return options | some(draw, "use_parallel_residual", "attention_bias")


def gptj(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([4, 8])
    return {
        "vocab_size": draw.choice([37, 53]),
        "n_embd": 8 * heads,
        "n_layer": draw.choice([2, 3]),
        "n_head": heads,
        "n_inner": draw.choice([None, 28]),
        "n_positions": 64,
        "rotary_dim": draw.choice([2, 4, 8]),
        "activation_function": draw.choice(["gelu_new", "gelu", "silu", "relu"]),
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
        "tie_word_embeddings": draw.random() < 0.5,
    }


def bloom(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3, 4, 6, 7])
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": heads * draw.choice([4, 8]),
        "n_layer": draw.choice([2, 3]),
        "n_head": heads,
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
    } | some(draw, "apply_residual_connection_post_layernorm", "tie_word_embeddings")


def mpt(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3, 4, 6, 7])
    attention = {
        "clip_qkv": draw.choice([None, 0.5]),
        "softmax_scale": draw.choice([None, 0.7]),
    }
    return {
        "vocab_size": draw.choice([37, 53]),
        "d_model": heads * draw.choice([4, 8]),
        "n_layers": draw.choice([2, 3]),
        "n_heads": heads,
        "max_seq_len": 64,
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
        "attn_config": attention,
    } | some(draw, "tie_word_embeddings")


def falcon(draw: random.Random) -> dict[str, Any]:
    groups, sharing = draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    new, queries = draw.random() < 0.5, draw.random() < 0.5
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": groups * sharing * draw.choice([4, 8]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": groups * sharing,
        "num_kv_heads": groups if new else None,
        "num_ln_in_parallel_attn": draw.choice([None, 1, 2]) if new else None,
        "new_decoder_architecture": new,
        "multi_query": queries,
        "parallel_attn": new or draw.random() < 0.5,
        "ffn_hidden_size": draw.choice([None, 28]),
        "activation": draw.choice(["gelu", "silu", "relu"]),
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
        "rope_parameters": draw.choice(ROPES),
    } | some(draw, "bias", "tie_word_embeddings")


KINDS = {
    "llama": Kind("LlamaForCausalLM", "LlamaConfig", llama, quick=True),
    "arcee": Kind("ArceeForCausalLM", "ArceeConfig", arcee),
    "seed_oss": Kind("SeedOssForCausalLM", "SeedOssConfig", seed_oss),
    "helium": Kind("HeliumForCausalLM", "HeliumConfig", helium),
    "ernie4_5": Kind("Ernie4_5ForCausalLM", "Ernie4_5Config", ernie4_5),
    "mistral": Kind("MistralForCausalLM", "MistralConfig", mistral),
    "qwen2": Kind("Qwen2ForCausalLM", "Qwen2Config", qwen2),
    "qwen3": Kind("Qwen3ForCausalLM", "Qwen3Config", qwen3),
    "gemma": Kind("GemmaForCausalLM", "GemmaConfig", gemma),
    "gemma2": Kind("Gemma2ForCausalLM", "Gemma2Config", gemma2, quick=True),
    "olmo2": Kind("Olmo2ForCausalLM", "Olmo2Config", olmo2),
    "granite": Kind("GraniteForCausalLM", "GraniteConfig", granite),
    "starcoder2": Kind("Starcoder2ForCausalLM", "Starcoder2Config", starcoder2),
    "nemotron": Kind("NemotronForCausalLM", "NemotronConfig", nemotron),
    "phi3": Kind("Phi3ForCausalLM", "Phi3Config", phi3),
    "smollm3": Kind("SmolLM3ForCausalLM", "SmolLM3Config", smollm3),
    "gemma3_text": Kind("Gemma3ForCausalLM", "Gemma3TextConfig", gemma3_text),
    "olmo": Kind("OlmoForCausalLM", "OlmoConfig", olmo),
    "stablelm": Kind("StableLmForCausalLM", "StableLmConfig", stablelm),
    "phi": Kind("PhiForCausalLM", "PhiConfig", phi),
    "cohere": Kind("CohereForCausalLM", "CohereConfig", cohere),
    "cohere2": Kind("Cohere2ForCausalLM", "Cohere2Config", cohere2),
    "glm4": Kind("Glm4ForCausalLM", "Glm4Config", glm4),
    "gpt_neox": Kind("GPTNeoXForCausalLM", "GPTNeoXConfig", gpt_neox),
    "gptj": Kind("GPTJForCausalLM", "GPTJConfig", gptj),
    "codegen": Kind("CodeGenForCausalLM", "CodeGenConfig", gptj),
    "bloom": Kind("BloomForCausalLM", "BloomConfig", bloom),
    "mpt": Kind("MptForCausalLM", "MptConfig", mpt),
    "falcon": Kind("FalconForCausalLM", "FalconConfig", falcon),
}
