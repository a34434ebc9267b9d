"""What stands near a mistake of meaning, and what is told of it: edits of the bases beside those of the corpus."""

from __future__ import annotations

import pytest

import attnc

from .corpus import base_text

Edits = list[tuple[str, str]]
FOR_PAD = [
    ("block encode(x: [source, model], real: bool[source])", "block encode(x: [source, model], pad: bool[source])"),
    ("real[source as origin]", "not pad[source as origin]"),
]


def told(base: str, edits: Edits) -> list[str]:
    text = base_text(base)
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return [each.code for each in attnc.check(text)]


@pytest.mark.parametrize(
    ("base", "edits"),
    [
        # The loss of a masked autoencoder is of what attention does not see.
        ("classifier", [("mean[word](x where real)", "mean[word](x where not real)")]),
        ("decoder", [("/ sqrt(|key|)", "* sqrt(|key|) / |key|")]),
        (
            "decoder",
            [("dot[key](Q, K[seq as past]) / sqrt(|key|)", "dot[key](Q / |key|, K[seq as past]) * sqrt(|key|)")],
        ),
        ("decoder", [("cross_entropy[vocab](logits, next)", "-log_softmax[vocab](logits)[vocab = next]")]),
        ("decoder", [("where past <= seq)", "where past <= seq and past < |past|)")]),
        (  # A wanted shuffle names another axis.
            "vision",
            [
                (
                    "linear.O[model -> model](merge[heads, key -> model](read))",
                    "linear.O[mixed -> model](merge[key, heads -> mixed](read))",
                ),
                ("inner = 64, label", "inner = 64, mixed = model, label"),
            ],
        ),
        (
            "translator",
            [*FOR_PAD, ("memory = encode(dropout(x, drop), real)", "memory = encode(dropout(x, drop), not real)")],
        ),
    ],
)
def test_of_what_is_meant_nothing_is_said(base: str, edits: Edits) -> None:
    assert told(base, edits) == []


def test_what_is_to_be_read_is_given_for_padding() -> None:
    assert told("translator", FOR_PAD) == ["W0525"]


def test_a_scale_behind_the_average_is_told_once() -> None:
    average = "dot[past](dropout(weights, drop), V[seq as past])"
    assert told("decoder", [("/ sqrt(|key|)", ""), (average, f"{average} / sqrt(|key|)")]) == ["W0504"]
