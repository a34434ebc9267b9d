"""bench/run.py runs: its floor does the products that it says, and all contenders compute the same at small sizes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).parents[1]


def run(out: Path, *arguments: str) -> dict[str, dict[str, object]]:
    command = [sys.executable, str(ROOT / "bench" / "run.py"), "--small", "--rounds", "2", "--out", str(out)]
    found = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=500)
    assert found.returncode == 0, found.stderr[-2000:]
    return {work["name"]: work for work in json.loads((out / "speed.json").read_text())["work"]}


def test_work_without_peers_to_install(tmp_path: Path) -> None:
    chosen = ("gpt_decode_numpy", "numpy_attention", "window")
    only = [text for name in chosen for text in ("--only", name)]
    found = run(tmp_path, *only, "--set", "window=16", "--set", "layers=1")
    assert tuple(found) == chosen
    for work in found.values():
        assert set(work["seconds"]) > {"attnc", "floor"} and min(map(min, work["seconds"].values())) > 0  # type: ignore[call-overload]
        assert work["target"] is None  # which holds at the sizes of the docs
    assert found["window"]["sizes"]["window"] == 16  # type: ignore[index]


def test_a_size_that_nothing_has_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "run.py"), "--only", "window", "--set", "vocab=9"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 1 and "--set vocab: none of these has such a size" in found.stderr


@pytest.mark.slow
def test_every_row_and_every_peer(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert len(found) == 12
    peers = {"Hugging Face": "transformers", "x-transformers": "x_transformers"}
    for name, package in peers.items():
        if importlib.util.find_spec(package):
            assert name in found["gpt_train"]["ours_over"]  # type: ignore[operator]


@pytest.fixture
def floor(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("speed.floor")


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_every_layer_of_the_floor_has_weights_of_its_own_at_every_token(floor: ModuleType, library: str) -> None:
    memory = floor.Memory(library)
    for _ in range(2):  # two tokens
        for layer in range(3):
            floor.Map("up", 1, 4, 8, layers=3).calls(memory, layer, (True,), gradients=False)
    weights = [room for name, room in memory.rooms.items() if name.endswith("weight")]
    assert len(weights) == 3 and all(room.shape == (32,) for room in weights)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_the_floor_does_the_products_of_attention(floor: ModuleType, turned: tuple[bool, bool]) -> None:
    memory = floor.Memory("torch")
    work = floor.Attention("self", 3, 5, 4, batch=2)
    there, back = work.calls(memory, 0, turned, gradients=True)
    assert (len(there), len(back)) == (2, 4)
    for call in there:
        call()
    Q, seen = (memory.take(f"self.0.{end}", 2, 3, 4) for end in ("q", "out"))
    K, V = (memory.take(f"self.0.{end}", 2, 5, 4, turned=turn) for end, turn in zip("kv", turned, strict=True))
    assert torch.allclose(seen, Q @ K.mT @ V, atol=1e-5)


@pytest.mark.parametrize("turned", [(False,), (True,)])
def test_the_floor_does_the_products_of_a_map_and_its_gradients(floor: ModuleType, turned: tuple[bool]) -> None:
    memory = floor.Memory("torch")
    there, back = floor.Map("up", 3, 4, 5).calls(memory, 0, turned, gradients=True)
    for call in (*there, *back):
        call()
    x, y = memory.take("up.0.x", 3, 4), memory.take("up.0.y", 3, 5)
    weight, of_weight = (memory.take(f"up.0.{name}", 4, 5, turned=turned[0]) for name in ("weight", "gradient"))
    assert torch.allclose(y, x @ weight) and torch.allclose(of_weight, x.mT @ y, atol=1e-5)
    assert torch.allclose(memory.take("gradient", 3, 4), y @ weight.mT, atol=1e-5)
