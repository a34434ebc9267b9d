"""The GPT example: its text, its baseline, that it learns, and that what it writes is what the whole model says."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import attnc

pytest.importorskip("rich", reason='the examples need rich: pip install ".[demo]"')
torch = pytest.importorskip("torch")
EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import training  # noqa: E402

from gpt import data, run as gpt  # noqa: E402  # isort: skip

SMALL = {"layers": 1, "model": 16, "groups": 2, "inner": 32, "character": data.ALPHABET}
LIBRARY = {
    f"module{number}.py": f'"""Module {number} has a docstring that is long enough. {"It says the same. " * 6}"""\n'
    for number in range(20)
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name, text in LIBRARY.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def (", encoding="utf-8")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_it.py").write_text(LIBRARY["module0.py"].replace("Module", "Test"), encoding="utf-8")
    return tmp_path


def test_the_text_is_there_and_held_out_files_are_apart(library: Path) -> None:
    text = data.load(library)
    train, held_out = data.decode(text.train), data.decode(text.held_out)
    for number in range(20):
        assert (f"Module {number} has" in train) != (f"Module {number} has" in held_out)
    assert held_out.count("has a docstring") >= 2
    assert "Test" not in train + held_out


def test_characters_there_and_back() -> None:
    assert data.decode(data.encode("Return x.\n")) == "Return x.\n"
    assert data.decode(data.encode("né")) == "n?"


def test_without_sources_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError, match="no docstrings under"):
        data.load(tmp_path)
    assert gpt.main(["--steps", "1", "--out", str(tmp_path / "file" / "x\0")]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_bigrams_are_counted() -> None:
    ids = data.encode("ababababab")
    assert data.bigram_loss(data.Text(ids, ids)) < 1.2  # nearly certain, but for the share of what was never seen
    assert data.bigram_loss(data.Text(ids, data.encode("zqzqzq"))) > 4


def test_it_learns_and_writes(library: Path) -> None:
    """Twenty files that say the same are soon known by heart; the decoder writes what the whole model would."""
    text = data.load(library)
    spec = attnc.load(gpt.SPEC, sizes=SMALL)
    loss = spec.model("loss").torch(seed=0)
    torch.manual_seed(0)
    before = gpt.judge(loss.eval(), text.held_out)
    training.train(loss, data.batches(text.train, width=32, size=8, seed=0), steps=120, rate=1e-2)
    assert gpt.judge(loss.eval(), text.held_out) < before - 1
    net = spec.model("gpt").torch(weights=loss.state_dict()).eval()
    prompts = [data.encode("Mod"), data.encode("It says")]
    rows = net.generate(prompts, 12).numpy()
    for prompt, row in zip(prompts, rows, strict=True):
        whole = np.concatenate([prompt, row])
        with torch.inference_mode():
            scores = net(torch.from_numpy(whole[None]))[0]
        assert np.array_equal(scores[len(prompt) - 1 : -1].argmax(-1).numpy(), row)
