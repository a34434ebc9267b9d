"""ModernBERT: examples/zoo/modernbert."""

from __future__ import annotations

import random
from typing import Any

from .drawing import ROPES, Kind, some

ACTS = ["gelu", "gelu_new", "relu", "silu"]


def modernbert(draw: random.Random) -> dict[str, Any]:
    heads, layers = draw.choice([1, 2, 3]), draw.choice([2, 3])
    ropes = {kind: draw.choice(ROPES[:2]) for kind in ("full_attention", "sliding_attention")}
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": heads * draw.choice([8, 10]),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": draw.choice([28, 36]),
        "hidden_activation": draw.choice(ACTS),
        "classifier_activation": draw.choice(ACTS),
        "classifier_pooling": draw.choice(["cls", "mean"]),
        "norm_eps": draw.choice([1e-5, 1e-3]),
        "local_attention": draw.choice([6, 9]),
        "layer_types": draw.choice([None, [draw.choice(list(ropes)) for _ in range(layers)]]),
        "rope_parameters": {kind: dict(rope) for kind, rope in ropes.items()},
        "pad_token_id": 0,
        "num_labels": draw.choice([2, 5]),
    } | some(draw, "norm_bias", "attention_bias", "mlp_bias", "classifier_bias", "decoder_bias", "tie_word_embeddings")


KINDS = {
    "modernbert": Kind(
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        modernbert,
        True,
        False,
        ("ModernBertModel", "ModernBertForSequenceClassification", "ModernBertForTokenClassification"),
    ),
}
