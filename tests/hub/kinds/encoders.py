"""Encoders of texts: examples/zoo/encoder, examples/zoo/modernbert, examples/zoo/deberta."""

from __future__ import annotations

import random
from typing import Any

from .drawing import ROPES, Kind, some

ACTS = ["gelu", "gelu_new", "relu", "silu"]


def bert(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": heads * draw.choice([8, 10]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "intermediate_size": draw.choice([28, 36]),
        "hidden_act": draw.choice(ACTS),
        "max_position_embeddings": 40,
        "type_vocab_size": draw.choice([1, 2, 3]),
        "layer_norm_eps": draw.choice([1e-12, 1e-5, 1e-3]),
        "num_labels": draw.choice([2, 5]),
    } | some(draw, "tie_word_embeddings")


def roberta(draw: random.Random) -> dict[str, Any]:
    return bert(draw) | {"type_vocab_size": 1, "pad_token_id": draw.choice([0, 1, 5])}


def electra(draw: random.Random) -> dict[str, Any]:
    options = bert(draw)
    return options | {"embedding_size": draw.choice([6, 12, options["hidden_size"]])}


def distilbert(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.choice([37, 53]),
        "dim": heads * draw.choice([8, 10]),
        "n_layers": draw.choice([2, 3]),
        "n_heads": heads,
        "hidden_dim": draw.choice([28, 36]),
        "activation": draw.choice(ACTS),
        "max_position_embeddings": 40,
        "num_labels": draw.choice([2, 5]),
    } | some(draw, "tie_word_embeddings", "sinusoidal_pos_embds")


def albert(draw: random.Random) -> dict[str, Any]:
    groups = draw.choice([1, 2, 3])
    layers = draw.choice([groups, 2 * groups, 5])
    own = {"num_hidden_groups": groups, "num_hidden_layers": layers, "inner_group_num": draw.choice([1, 2])}
    return bert(draw) | own | {"embedding_size": draw.choice([6, 12])}


def _heads(name: str, *more: str) -> tuple[str, ...]:
    return (f"{name}Model", f"{name}ForSequenceClassification", f"{name}ForTokenClassification", *more)


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


def deberta(draw: random.Random) -> dict[str, Any]:
    heads = draw.choice([1, 2, 3])
    return {
        "vocab_size": draw.choice([37, 53]),
        "hidden_size": heads * draw.choice([8, 10]),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "intermediate_size": draw.choice([28, 36]),
        "hidden_act": draw.choice(ACTS),
        "max_position_embeddings": 40,
        "type_vocab_size": draw.choice([0, 2]),
        "layer_norm_eps": draw.choice([1e-7, 1e-3]),
        "max_relative_positions": draw.choice([-1, 20]),
        "position_buckets": draw.choice([-1, 8, 12]),
        "pos_att_type": draw.choice([None, "p2c|c2p", "c2p", "p2c"]),
        "norm_rel_ebd": draw.choice(["none", "layer_norm"]),
        "conv_kernel_size": draw.choice([0, 3]),
        "conv_act": draw.choice(["tanh", "gelu"]),
        "num_labels": draw.choice([2, 5]),
        "relative_attention": draw.random() < 0.8,
    } | some(draw, "tie_word_embeddings", "position_biased_input", "share_att_key")


KINDS = {
    "bert": Kind("BertForMaskedLM", "BertConfig", bert, True, False, _heads("Bert", "BertForPreTraining")),
    "roberta": Kind("RobertaForMaskedLM", "RobertaConfig", roberta, False, False, _heads("Roberta")),
    "electra": Kind(
        "ElectraForMaskedLM", "ElectraConfig", electra, False, False, _heads("Electra", "ElectraForPreTraining")
    ),
    "distilbert": Kind("DistilBertForMaskedLM", "DistilBertConfig", distilbert, False, False, _heads("DistilBert")),
    "albert": Kind("AlbertForMaskedLM", "AlbertConfig", albert, True, False, _heads("Albert", "AlbertForPreTraining")),
    "modernbert": Kind(
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        modernbert,
        True,
        False,
        ("ModernBertModel", "ModernBertForSequenceClassification", "ModernBertForTokenClassification"),
    ),
    "deberta-v2": Kind(
        "DebertaV2ForMaskedLM",
        "DebertaV2Config",
        deberta,
        True,
        False,
        ("DebertaV2Model", "DebertaV2ForTokenClassification"),
    ),
}
