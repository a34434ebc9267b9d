"""JSON and TOML that nest 100,000 deep, at every door: one line says so, and no process ends in C.

The door of an editor: tests/editor/test_protocol.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnc.cli.main import main
from attnc.dsl.nested import DEEPEST, from_json, from_toml
from attnc.playground.answers import answer
from attnc.weights import save

DEPTH = 100_000
SHAPES = ("[" * DEPTH, '{"a":' * DEPTH, '[{"a":' * DEPTH + "1" + "}]" * DEPTH, '{"x": "]}", "y": ' + "[" * DEPTH)
SPEC = "depth d = 4\n\nmodel m(x: [d]) -> [d] {\n    return linear.a[d -> d](x)\n}\n"
ROOT = Path(__file__).parents[2]
OURS = {  # files of our own are read by `json` itself
    "diagrams/page/write.py", "dsl/base/automaton.py", "dsl/mistakes/table.py", "dsl/nested.py", "dsl/tables.py",
    "src/attnc/checkpoints/saving.py", "src/attnc/playground/puzzles.py",
}  # fmt: skip


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published folder, the same imported, a spec with weights, and a map of them."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    place = tmp_path_factory.mktemp("doors")
    sizes = {"vocab_size": 37, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(num_attention_heads=2, num_key_value_heads=1, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(place / "theirs", max_shard_size="1KB")
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a")).save(
        str(place / "theirs/tokenizer.json")
    )
    assert main(["import", str(place / "theirs"), "--to", str(place / "ours")]) == 0
    (place / "m.attn").write_text(SPEC)
    (place / "m.map").write_text("w = a.weight\n")
    return place


def importing(place: Path) -> list[str]:
    return ["import", str(place / "theirs"), "--to", str(place / "new")]


def running(place: Path) -> list[str]:
    return ["run", str(place / "ours"), "--prompt", "a", "--max-new", "1"]


def exporting(place: Path) -> list[str]:
    return ["export", str(place / "ours"), "--to", "transformers", "--out", str(place / "new")]


FILES: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "import config.json": ("theirs/config.json", importing),
    "import generation_config.json": ("theirs/generation_config.json", importing),
    "import an index": ("theirs/model.safetensors.index.json", importing),
    "run attnc.json": ("ours/attnc.json", running),
    "run config.json": ("ours/config.json", running),
    "run generation_config.json": ("ours/generation_config.json", running),
    "run a tokenizer": ("ours/tokenizer.json", running),
    "run an index": ("ours/weights.safetensors.index.json", running),
    "check config.json": ("ours/config.json", lambda place: ["run", str(place / "ours"), "--check"]),
    "export attnc.json": ("ours/attnc.json", exporting),
    "export an index": ("ours/weights.safetensors.index.json", exporting),
    "export weights": (
        "w.safetensors.index.json",
        lambda place: [*exporting(place), "--weights", str(place / "w.safetensors.index.json")],
    ),
    "convert an index": (
        "w.safetensors.index.json",
        lambda place: ["convert", str(place / "m.map"), str(place / "w.safetensors.index.json"),
                       str(place / "new.safetensors"), str(place / "m.attn"), "--to", "attnc"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", FILES)
def test_json_of_a_file(door: str, doors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, command = FILES[door]
    file = doors / name
    before = file.read_bytes() if file.exists() else None
    try:
        for text in SHAPES:
            file.write_text(text)
            capsys.readouterr()
            assert main(command(doors)) == 2
            told = capsys.readouterr().err
            assert told.count("\n") == 1 and file.name in told and "internal error" not in told, told
            assert "nests deeper than" in told or "tokenizers cannot read it" in told, told
    finally:
        file.unlink() if before is None else file.write_bytes(before)
    assert not (doors / "new").exists()


def test_json_in_metadata(doors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(doors / "meta.safetensors", {"w": np.zeros((4, 4), "float32")}, {"attnc.foreign": SHAPES[1]})
    files = [str(doors / name) for name in ("m.map", "meta.safetensors", "new.safetensors", "m.attn")]
    assert main(["convert", *files, "--to", "foreign"]) == 2
    assert "`attnc.foreign` are not what `attnc convert` wrote" in capsys.readouterr().err


def test_json_of_a_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from attnc.checkpoints.index import FILE, read_index
    from attnc.checkpoints.problem import CheckpointError
    from attnc.compiler.sizes.limits import deep

    for text in SHAPES:
        (tmp_path / FILE).write_text(text)
        with pytest.raises(CheckpointError, match="is not what was written"), deep():
            read_index(tmp_path)


def test_json_of_the_page() -> None:
    for text in SHAPES:
        with pytest.raises(ValueError, match="nests deeper"):
            answer(text)
    deep_text = json.dumps({"ask": "check", "text": SHAPES[0]})  # as a link holds one: a text that nests, not JSON
    assert json.loads(answer(deep_text))["wrong"]


def test_toml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Adapters, hints of a figure, a device."""
    spec, file = tmp_path / "m.attn", tmp_path / "mine.toml"
    spec.write_text(SPEC)
    adapters = ["adapters", "--adapters", str(tmp_path)]
    hints = ["draw", str(spec), "--hints", str(file), "-o", str(tmp_path / "m.svg")]
    for command, text in (
        (adapters, "a = " + "[" * DEPTH),
        (adapters, "a = " + "{b = " * 500 + "1" + "}" * 500),
        (hints, "a = " + "[" * 500 + "]" * 500),
        (["cost", str(spec), "--streams", "--device", str(file)], "a" + ".b" * 500 + " = 1"),
    ):
        file.write_text(f'model_type = "x"\n{text}')
        capsys.readouterr()
        assert main(command) in (1, 2)
        told = capsys.readouterr().err
        assert "nests deeper than" in told and "internal error" not in told, told


def test_where_the_bound_is() -> None:
    """Brackets in texts nest nothing."""
    assert from_json("[" * DEEPEST + "]" * DEEPEST) == json.loads("[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(ValueError, match="nests deeper"):
        from_json("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))
    for value in ("[" * 1000, '"[' * 1000, "\\" * 999 + '"' + "[{" * 500, ["[", "]"] * 1000, [[["]" * 400]]] * 200):
        found: Any = {"a": value, value if isinstance(value, str) else "b": [value]}
        assert from_json(json.dumps(found)) == found
    assert from_toml("a = " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1))
    with pytest.raises(ValueError, match="nests deeper"):
        from_toml("a = " + "[" * DEEPEST + "]" * DEEPEST)


def test_nothing_else_reads_json() -> None:
    read = re.compile(r"\bjson\.loads?\(|JSONDecoder|\btomllib\.loads?\(")
    folders = ("src", "compiler", "dsl", "diagrams", "backends")
    files = {file.relative_to(ROOT).as_posix(): file for folder in folders for file in (ROOT / folder).rglob("*.py")}
    assert {name for name, file in files.items() if read.search(file.read_text(encoding="utf-8"))} == OURS
