"""Each option that is drawn matters: a draw that moves nothing would be no test of its adapter."""

from __future__ import annotations

import random
import zlib
from typing import Any

import pytest

from .kinds import KINDS

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')

from .test_import import built  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
LENGTH, SEEDS = 24, range(12)
STILL = frozenset(
    {"max_position_embeddings", "num_labels", "pad_token_id", "reorder_and_upcast_attn", "tie_word_embeddings"}
)
"""How long a table is, which items are padding, which weights are one, how it is computed: no number is another."""


def moved(kind: str, seed: int, key: str, value: Any) -> float:
    """By how much, in standard deviations, the output moves if the option has another value; 0 if the weights are not
    the same then, or the library refuses it.
    """
    plain = built(kind, seed)
    try:
        torch.manual_seed(0)
        other = type(plain)(type(plain.config)(**(plain.config.to_dict() | {key: value}))).eval()
        other.load_state_dict(plain.state_dict())
        before, after = (net(**inputs(net)).to_tuple()[0] for net in (plain, other))
    except Exception:  # whatever the library says of a configuration that it refuses
        return 0.0
    return float((after - before).abs().max() / before.std()) if after.shape == before.shape else 0.0


def inputs(net: Any) -> dict[str, Any]:
    draw = torch.Generator().manual_seed(5)
    name, config = net.main_input_name, net.config
    if name == "pixel_values":
        size = config.image_size if isinstance(config.image_size, int) else config.image_size[0]
        return {name: torch.randn(2, config.num_channels, size, size, generator=draw)}
    ids = torch.randint(0, config.vocab_size, (2, LENGTH), generator=draw)
    return {name: ids} | ({"decoder_input_ids": ids} if config.is_encoder_decoder else {})


def shapes(kind: str, seed: int) -> list[tuple[str, Any]]:
    return [(name, tuple(weight.shape)) for name, weight in built(kind, seed).state_dict().items()]


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_each_option_moves(kind: str) -> None:
    drawn = [KINDS[kind].options(random.Random(seed + zlib.crc32(kind.encode()))) for seed in SEEDS]
    for key in sorted({key for one in drawn for key in one} - STILL):
        values = {repr(one.get(key)): one[key] for one in drawn if key in one}
        if len(values) < 2 or not alters_nothing_else(kind, drawn, key, list(values.values())):
            continue
        least = 1e-4 if "eps" in key else 1e-2
        found = (moved(kind, seed, key, value) for seed in SEEDS for value in values.values())
        assert any(by > least for by in found), f"{key} moves the output by no more than {least}"


def alters_nothing_else(kind: str, drawn: list[dict[str, Any]], key: str, values: list[Any]) -> bool:
    """Whether some draw has the same weights with another value: sizes do not."""
    for seed in SEEDS:
        plain = built(kind, seed)
        for value in values:
            if drawn[seed].get(key) != value:
                try:
                    other = type(plain)(type(plain.config)(**(plain.config.to_dict() | {key: value})))
                except Exception:  # whatever the library says of a configuration that it refuses
                    continue
                if [(n, tuple(w.shape)) for n, w in other.state_dict().items()] == shapes(kind, seed):
                    return True
    return False
