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


@pytest.mark.slow
def test_work_without_peers_to_install(tmp_path: Path) -> None:
    chosen = ("calls", "gpt_decode_numpy", "numpy_attention", "window")
    only = [text for name in chosen for text in ("--only", name)]
    found = run(tmp_path, *only, "--set", "window=16", "--set", "layers=1")
    assert tuple(found) == chosen
    for work in found.values():
        assert set(work["seconds"]) > {"attnc", "floor"} and min(map(min, work["seconds"].values())) > 0  # type: ignore[call-overload]
        assert work["target"] is None  # which holds at the sizes of the docs
    assert found["window"]["sizes"]["window"] == 16  # type: ignore[index]
    calls = found["calls"]
    assert set(calls["microseconds"]) == {"attnc", "hand loop", "modules by hand", "bare ops", "floor"}  # type: ignore[call-overload]
    each = min(calls["seconds"]["bare ops"]) / (1 * 5) * 1e6  # type: ignore[index]  # a layer, five tokens
    assert each <= calls["microseconds"]["bare ops"] + 1e-6 and not found["window"]["microseconds"]  # type: ignore[index]


def test_a_size_that_nothing_has_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "run.py"), "--only", "window", "--set", "vocab=9"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 1 and "--set vocab: none of these has such a size" in found.stderr


@pytest.mark.slow
def test_every_row_and_every_peer(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert len(found) == 37
    peers = {"Hugging Face": "transformers", "x-transformers": "x_transformers"}
    for name, package in peers.items():
        if importlib.util.find_spec(package):
            assert name in found["gpt_train"]["ours_over"]  # type: ignore[operator]
    for name in ("experts_train", "experts_decode", "experts_many", "experts_many_decode"):
        ways = {f"Hugging Face {way}" for way in ("eager", "grouped_mm", "batched_mm")}
        assert ways == set(found[name]["ours_over"]) or not importlib.util.find_spec("transformers")  # type: ignore[call-overload]
    for name in ("llama_decode", "t5_train", "t5_decode", "vit_train"):
        assert "Hugging Face" in found[name]["ours_over"] or not importlib.util.find_spec("transformers")  # type: ignore[operator]


@pytest.fixture
def floor(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("speed.floor")


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_every_layer_of_the_floor_has_weights_of_its_own_at_every_token(floor: ModuleType, library: str) -> None:
    memory = floor.Memory(library)
    for _ in range(2):  # two tokens
        for layer in range(3):
            floor.Map("up", 1, 4, 8, layers=3).calls(memory, layer, (True, False), gradients=False)
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


@pytest.mark.parametrize("turned", [False, True])
def test_the_floor_does_the_products_of_a_map_and_its_gradients(floor: ModuleType, turned: bool) -> None:
    memory = floor.Memory("torch")
    there, back = floor.Map("up", 3, 4, 5).calls(memory, 0, (turned, False), gradients=True)
    for call in (*there, *back):
        call()
    x, y = memory.take("up.0.x", 3, 4), memory.take("up.0.y", 3, 5)
    weight, of_weight = (memory.take(f"up.0.{name}", 4, 5, turned=turned) for name in ("weight", "gradient"))
    assert torch.allclose(y, x @ weight) and torch.allclose(of_weight, x.mT @ y, atol=1e-5)
    assert torch.allclose(memory.take("gradient", 3, 4), y @ weight.mT, atol=1e-5)


def test_data_has_no_gradient_in_the_floor(floor: ModuleType) -> None:
    memory = floor.Memory("torch")
    there, back = floor.Map("patch", 3, 4, 5, data=True).calls(memory, 0, (False, False), gradients=True)
    for call in (*there, *back):
        call()
    x, y, of_weight = (memory.take(f"patch.0.{name}", *shape) for name, shape in
                       (("x", (3, 4)), ("y", (3, 5)), ("gradient", (4, 5))))  # fmt: skip
    assert len(back) == 1 and torch.allclose(of_weight, x.mT @ y, atol=1e-5)


@pytest.mark.parametrize("library", ["torch", "numpy"])
@pytest.mark.parametrize("way", [(False, False), (False, True), (True, False), (True, True)])
def test_one_row_is_a_matrix_or_a_vector_in_the_floor(floor: ModuleType, way: tuple[bool, bool], library: str) -> None:
    memory = floor.Memory(library)
    work = floor.Map("up", 1, 4, 5)
    assert way in work.ways() and (way in floor.Map("up", 2, 4, 5).ways()) is not way[1]
    there, _ = work.calls(memory, 0, way, gradients=False)
    for call in there:
        call()
    x, y = memory.take("up.0.x", 1, 4), memory.take("up.0.y", 1, 5)
    weight = memory.take("up.0.weight", 4, 5, turned=way[0])
    assert abs(y - x @ weight).max() < 1e-5


def test_all_tokens_find_keys_and_values_in_the_same_rooms(floor: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A room that grew with each token would be another one at each, and none of them would stay in the cache."""
    passes = [[floor.Attention("self", 1, keys, 4, batch=2, layers=2)] for keys in (3, 4, 5)]
    known: list[tuple[ModuleType, dict[str, int]]] = []

    def first(memory: ModuleType, works: object, gradients: bool) -> dict[str, tuple[bool, bool]]:
        known.append((memory, {name: room.data_ptr() for name, room in memory.rooms.items()}))
        return {"self": (False, False)}

    monkeypatch.setattr(floor, "fastest", first)
    floor.floor(passes)()
    ((memory, places),) = known
    assert {name: room.data_ptr() for name, room in memory.rooms.items()} == places
    assert len(memory.rooms["self.1.k"]) == 2 * 5 * 4


def test_what_is_best_for_all_tokens_is_chosen_not_for_the_prompt(
    floor: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    class Work:
        name, layers = "up", 2

        def __init__(self, *costs: float) -> None:
            self.costs = costs

        def ways(self) -> list[tuple[bool]]:
            return [(False,), (True,)]

        def calls(self, memory: object, layer: int, way: tuple[bool], gradients: bool) -> tuple[list[object], ...]:
            def call() -> None:
                nonlocal now
                now += self.costs[way[0]]

            return [call], []

    monkeypatch.setattr(floor.time, "process_time", lambda: now)
    prompt, token = [Work(5.0, 9.0)], [Work(2.0, 1.0)]
    assert floor.fastest(floor.Memory("torch"), [prompt, token], gradients=False) == {"up": (False,)}
    assert floor.fastest(floor.Memory("torch"), [prompt, *[token] * 5], gradients=False) == {"up": (True,)}


@pytest.mark.slow
def test_forms(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "bench" / "forms.py"), "--small", "--rounds", "2"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=500)
    assert found.returncode == 0, found.stderr[-2000:]
    assert "parallel, computed / parallel, written: predicted" in found.stdout and "cheaper form named" in found.stdout
