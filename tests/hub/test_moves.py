"""Options of a configuration that leave the weights as they are: each moves the output, or its draw were no test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import attnc
from attnc import hub, weights
from attnc.hub import comparing
from attnc.hub.adapters import adapter_of, adapters
from attnc.hub.configuration import configured

from .test_import import LENGTH, built, folder, torch

ACTS = ("relu", "silu")
LIKE_LLAMA = {"hidden_act": ACTS, "rms_norm_eps": (1e-3, 1e-5), "rope_parameters.rope_theta": (5.0, 300.0)}
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 500.0}
PLAIN = {"rope_type": "default", "rope_theta": 500.0}
MOVES: dict[str, dict[str, tuple[Any, Any]]] = {  # of each key two values
    "mistral": {
        "hidden_act": ("silu", "gelu"),
        "rms_norm_eps": (1e-6, 1e-3),
        "sliding_window": (None, 5),
        "rope_parameters": (PLAIN, LINEAR),
    },
    "gemma3_text": {
        "sliding_window": (5, 9),
        "layer_types": (["sliding_attention", "full_attention"] * 2, ["full_attention", "sliding_attention"] * 2),
        "final_logit_softcapping": (None, 3.0),
        "query_pre_attn_scalar": (7, 16),
        "rope_parameters": (
            {"full_attention": PLAIN, "sliding_attention": PLAIN | {"rope_theta": 10.0}},
            {"full_attention": LINEAR, "sliding_attention": PLAIN | {"rope_theta": 10.0}},
        ),
    },
    "olmo": {"clip_qkv": (None, 0.5), "rope_parameters": (PLAIN, YARN)},
    "stablelm": {
        "layer_norm_eps": (1e-5, 1e-3),
        "rope_parameters": (PLAIN | {"partial_rotary_factor": 0.5}, PLAIN | {"partial_rotary_factor": 1.0}),
    },
    "phi": {"hidden_act": ("gelu_new", "relu"), "rope_parameters": (PLAIN, PLAIN | {"partial_rotary_factor": 1.0})},
    "cohere": {"logit_scale": (1.0, 0.0625), "rope_parameters": (PLAIN, LINEAR)},
    "cohere2": {
        "sliding_window": (5, 9),
        "layer_types": (["sliding_attention", "full_attention"] * 2, ["full_attention", "sliding_attention"] * 2),
    },
    "glm4": {"rms_norm_eps": (1e-6, 1e-3), "rope_parameters": (PLAIN, PLAIN | {"partial_rotary_factor": 1.0})},
    "gpt_neox": {
        "use_parallel_residual": (True, False),
        "hidden_act": ("gelu", "relu"),
        "rope_parameters": (PLAIN, PLAIN | {"partial_rotary_factor": 1.0}),
    },
    "gptj": {"rotary_dim": (4, 8), "activation_function": ("gelu_new", "silu"), "layer_norm_epsilon": (1e-5, 1e-3)},
    "bloom": {"apply_residual_connection_post_layernorm": (False, True), "layer_norm_epsilon": (1e-5, 1e-3)},
    "mpt": {
        "attn_config": ({}, {"clip_qkv": 0.5}),
        "layer_norm_epsilon": (1e-5, 1e-3),
    },
    "falcon": {"activation": ("gelu", "relu"), "rope_parameters": (PLAIN, YARN)},
    "gpt2": {
        "scale_attn_weights": (True, False),
        "scale_attn_by_inverse_layer_idx": (False, True),
        "activation_function": ("gelu_new", "relu"),
        "layer_norm_epsilon": (1e-5, 1e-3),
    },
    "gpt_neo": {"window_size": (5, 9), "attention_layers": (["global", "local"] * 2, ["local", "global"] * 2)},
    "opt": {"activation_function": ("relu", "gelu")},
    **dict.fromkeys(("llama", "qwen2", "qwen3", "olmo2", "smollm3"), LIKE_LLAMA),
    "granite": LIKE_LLAMA | {
        "embedding_multiplier": (0.3, 2.5), "residual_multiplier": (0.3, 1.0), "attention_multiplier": (0.3, 1.0),
        "logits_scaling": (1.0, 2.5),
    },
    "gemma": {"hidden_act": ACTS, "rms_norm_eps": (1e-3, 1e-5)},
    "gemma2": {
        "hidden_activation": ACTS, "attn_logit_softcapping": (None, 5.0), "final_logit_softcapping": (None, 3.0),
        "query_pre_attn_scalar": (7, 16),
    },
    "starcoder2": {"hidden_act": ACTS, "norm_epsilon": (1e-5, 1e-3), "sliding_window": (5, None)},
    "nemotron": {"hidden_act": ("relu2", "gelu"), "norm_eps": (1e-5, 1e-3)},
    "phi3": {"hidden_act": ACTS, "sliding_window": (5, None)},
    "codegen": {"activation_function": ACTS},
    "gpt_bigcode": {"activation_function": ACTS},
    "bert": {"hidden_act": ACTS, "layer_norm_eps": (1e-3, 1e-5)},
    "roberta": {"hidden_act": ACTS, "pad_token_id": (3, 4)},
    "electra": {"hidden_act": ACTS},
    "distilbert": {"activation": ACTS},
    "albert": {"hidden_act": ACTS},
    "modernbert": {"hidden_activation": ACTS, "classifier_activation": ACTS, "local_attention": (2, 4)},
    "deberta-v2": {"hidden_act": ACTS, "layer_norm_eps": (1e-3, 1e-5)},
    "vit": {"hidden_act": ACTS, "layer_norm_eps": (1e-3, 1e-5)},
    "deit": {"hidden_act": ACTS},
    "dinov2": {"layer_norm_eps": (1e-3, 1e-5)},
    "beit": {"hidden_act": ACTS},
    "swin": {"hidden_act": ACTS},
    "clip_text_model": {"hidden_act": ACTS, "eos_token_id": (2, 5)},
    "clip": {"text_config.hidden_act": ACTS, "vision_config.hidden_act": ACTS},
    "siglip": {"text_config.hidden_act": ACTS, "vision_config.hidden_act": ACTS},
    "bart": {"activation_function": ACTS, "scale_embedding": (True, False)},
    "mbart": {"activation_function": ACTS, "scale_embedding": (True, False)},
    "pegasus": {"activation_function": ACTS, "scale_embedding": (True, False)},
    "marian": {"activation_function": ACTS, "scale_embedding": (True, False)},
    "m2m_100": {"activation_function": ACTS, "scale_embedding": (True, False), "pad_token_id": (2, 3)},
    "t5": {"relative_attention_max_distance": (9, 30), "scale_decoder_outputs": (True, False)},
    "switch_transformers": {"dense_act_fn": ACTS, "relative_attention_max_distance": (9, 30)},
    "whisper": {"activation_function": ACTS},
    **dict.fromkeys(("arcee", "seed_oss", "helium", "ernie4_5"), LIKE_LLAMA),
    "mixtral": {"hidden_act": ACTS, "sliding_window": (5, None), "num_experts_per_tok": (1, 2)},
    "qwen2_moe": {"hidden_act": ACTS},
    "qwen3_moe": {"norm_topk_prob": (True, False), "num_experts_per_tok": (1, 2)},
    "gpt_oss": {"swiglu_alpha": (1.0, 1.7), "swiglu_limit": (0.7, 7.0), "sliding_window": (4, 12)},
    "llama4_text": {"hidden_act": ACTS, "attention_chunk_size": (4, 7)},
    "deepseek_v2": {"hidden_act": ACTS, "routed_scaling_factor": (0.5, 2.0)},
    "deepseek_v3": {
        "norm_topk_prob": (True, False), "rope_interleave": (True, False), "topk_group": (1, 2),
        "num_experts_per_tok": (1, 2),
    },
    "minimax": {"mlp_alpha_factor": (0.4, 1.2), "linear_attn_beta_factor": (0.4, 1.2)},
    "mamba": {"hidden_act": ACTS},
    "mamba2": {"hidden_act": ACTS, "time_step_limit": ((0.0, 0.3), (0.5, 9.0))},
    "jamba": {"hidden_act": ACTS, "rms_norm_eps": (1e-2, 1e-5)},
    "recurrent_gemma": {"attention_window_size": (2, 12), "logits_soft_cap": (2.0, 20.0)},
    "qwen3_next": {"norm_topk_prob": (True, False), "hidden_act": ACTS},
}  # fmt: skip


QUICK = ("mistral", "gpt2")


def put(config: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A configuration with this value of a key, which may be that of a nested table."""
    name, _, rest = key.partition(".")
    return config | {name: put(config[name], rest, value) if rest else value}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in MOVES]
)
def test_switches_move(kind: str, tmp_path: Path) -> None:
    hub.import_folder(folder(kind, 0, tmp_path), tmp_path / "ours")
    ours, theirs, adapter = hub.open(tmp_path / "ours"), built(kind, 0), adapter_of(kind, adapters(), "")
    given, _, _ = comparing.drawn(ours, LENGTH, "none", torch.Generator().manual_seed(5))

    def outputs(config: dict[str, Any]) -> Any:
        made = configured(adapter, config)
        model = attnc.load(adapter.spec, sizes=made.sizes).model(made.model)
        with torch.no_grad():
            found = model.torch(weights=weights.convert(theirs.state_dict(), adapter.map, model)).eval()(**given)
        return found[0] if isinstance(found, tuple) else found

    config = dict(ours.config)
    for key, (first, _) in MOVES[kind].items():
        config = put(config, key, first)
    before = outputs(config)
    for key, (_, other) in MOVES[kind].items():
        moved = float((outputs(put(config, key, other)) - before).abs().max() / before.std())
        assert moved > (1e-4 if "eps" in key else 1e-2), (key, moved)
