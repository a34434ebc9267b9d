"""Options that leave the weights as they are: each moves the output, or a draw of it would be no test."""

from __future__ import annotations

from typing import Any

import pytest

import attnc
from attnc import weights
from attnc.hub.adapters import adapter_of, adapters
from attnc.hub.configuration import configured

from .test_import import LENGTH, built

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 500.0}
PLAIN = {"rope_type": "default", "rope_theta": 500.0}
SWITCHES: dict[str, dict[str, tuple[Any, Any]]] = {
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
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in ("mistral", "gpt2") else pytest.mark.slow) for kind in SWITCHES]
)
def test_switches_move(kind: str) -> None:
    theirs = built(kind, 0)
    adapter = adapter_of(kind, adapters(), "")
    ids = torch.randint(0, theirs.config.vocab_size, (2, LENGTH), generator=torch.Generator().manual_seed(5))
    plain = theirs.config.to_dict() | {name: before for name, (before, _) in SWITCHES[kind].items()}
    plain["architectures"] = [type(theirs).__name__]

    def outputs(config: dict[str, Any]) -> Any:
        made = configured(adapter, config)
        model = attnc.load(adapter.spec, sizes=made.sizes).model(made.model)
        with torch.no_grad():
            return model.torch(weights=weights.convert(theirs.state_dict(), adapter.map, model)).eval()(ids)

    before = outputs(plain)
    for name, (_, after) in SWITCHES[kind].items():
        moved = float((outputs(plain | {name: after}) - before).abs().max() / before.std())
        assert moved > (1e-4 if "eps" in name else 1e-2), name
