"""What is known of the zoo's models without running them: their published sizes, and that each is a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc
from attnc.weights import Map

ZOO = Path(__file__).parents[2] / "examples" / "zoo"

# Parameters of the checkpoints on the Hugging Face hub, tied ones once; for BART also the bias of its logits, which
# there is no parameter but a buffer.
PUBLISHED = {
    ("gpt2", "gpt2", None): 124_439_808,
    ("gpt2", "gpt2", "medium"): 354_823_168,
    ("gpt2", "gpt2", "large"): 774_030_080,
    ("gpt2", "gpt2", "xl"): 1_557_611_200,
    ("bert", "bert", None): 109_482_240,
    ("bert", "bert", "large"): 335_141_888,
    ("bert", "words", None): 109_514_298,
    ("llama", "llama", None): 8_030_261_248,
    ("llama", "llama", "llama2_7b"): 6_738_415_616,
    ("llama", "llama", "llama3_70b"): 70_553_706_496,
    ("mistral", "mistral", None): 7_241_732_096,
    ("mixtral", "mixtral", None): 46_702_792_704,
    ("t5", "t5", None): 222_903_552,
    ("t5", "t5", "v1_1"): 247_577_856,
    ("bart", "bart", None): 139_420_416 + 50_265,
    ("bart", "bart", "large"): 406_291_456 + 50_265,
    ("vit", "vit", None): 86_567_656,
    ("vit", "vit", "large"): 304_326_632,
}


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: f"{case[1]}-{case[2] or 'as-written'}")
def test_published_sizes(case: tuple[str, str, str | None]) -> None:
    file, name, config = case
    weights = attnc.load(ZOO / f"{file}.attn", config=config).model(name).weights
    assert sum(weight.size for weight in weights.values()) == PUBLISHED[case]


@pytest.mark.parametrize("file", sorted(ZOO.glob("*.attn")), ids=lambda file: file.stem)
def test_a_page_each(file: Path) -> None:
    """No more than a page as `attnc fmt` writes it, no warning, causality proved, and a map for it. One spec that is
    many models by its switches may have three pages."""
    lines = file.read_text().splitlines()
    assert len(lines) <= (210 if file.stem == "decoder" else 66)
    assert max(map(len, lines)) <= 120
    assert attnc.load(file).warnings == ()
    assert any(f"-> {file.name}" in map.read_text() or f", {file.name}" in map.read_text() for map in ZOO.glob("*.map"))


@pytest.mark.parametrize("file", sorted(ZOO.glob("*.map")), ids=lambda file: file.stem)
def test_maps_are_read(file: Path) -> None:
    assert Map.read(file).rules
