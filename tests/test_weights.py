"""Weights in files, and under other names."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import attnc
from attnc import cli, weights
from attnc.weights import Map, WeightsError, convert

ZOO = Path(__file__).parents[1] / "examples" / "zoo"


def draw(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


# -- files ---------------------------------------------------------------------------------------------------------


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    some = {
        "a": draw(2, 3),
        "b.c": draw(4, 5).T,
        "none": np.zeros((0, 3), np.float64),
        "one": np.float32(2.5).reshape(()),
        "half": np.arange(5, dtype=np.float16),
        "big": np.arange(4, dtype=">i4"),
        "truth": np.array([True, False]),
        "brain": draw(2, 3).astype(ml_dtypes.bfloat16),
        "eighth": draw(2, 3).astype(ml_dtypes.float8_e4m3fn),
        "turning": draw(2) + 1j,
        "reversed": np.arange(4)[::-1],
    }
    weights.save(tmp_path / "w.safetensors", some, {"by": "hand"})
    found = weights.load(tmp_path / "w.safetensors")
    assert found.metadata == {"by": "hand"}
    assert sorted(found) == sorted(some)
    for name, array in some.items():
        assert found[name].shape == array.shape and found[name].dtype == array.dtype.newbyteorder("<")
        assert np.array_equal(found[name], array), name
        assert not found[name].flags.writeable


def test_the_library_agrees(tmp_path: Path) -> None:
    some = {"a": draw(2, 3), "b": np.arange(7), "c": np.float64(1).reshape(1, 1), "d": draw(3, 4).T}
    weights.save(tmp_path / "ours", some, {"x": "y"})
    with safe_open(tmp_path / "ours", "np") as file:
        assert file.metadata() == {"x": "y"}
    assert all(np.array_equal(array, some[name]) for name, array in load_file(tmp_path / "ours").items())
    save_file({name: np.ascontiguousarray(array) for name, array in some.items()}, tmp_path / "theirs")
    assert all(np.array_equal(array, some[name]) for name, array in weights.load(tmp_path / "theirs").items())


def test_bfloat16_stays_what_it_is(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    brain, eighth = torch.randn(3, 5).to(torch.bfloat16), torch.randn(4).to(torch.float8_e5m2)
    weights.save(tmp_path / "w", {"x": brain, "y": torch.arange(3), "t": brain.t(), "e": eighth})
    with safe_open(tmp_path / "w", "pt") as file:
        assert torch.equal(file.get_tensor("x"), brain) and torch.equal(file.get_tensor("t"), brain.t())
        assert torch.equal(file.get_tensor("e").float(), eighth.float())
    found = weights.load(tmp_path / "w")
    assert found["x"].dtype == ml_dtypes.bfloat16 and found["e"].dtype == ml_dtypes.float8_e5m2
    assert np.array_equal(found["x"].astype(np.float32), brain.float().numpy())
    assert np.array_equal(found["x"] * np.float32(2), (brain * 2).float().numpy())


def test_nothing_is_read_before_it_is_looked_at(tmp_path: Path) -> None:
    weights.save(tmp_path / "w", {"a": draw(1000, 1000), "b": draw(3)})
    array = weights.load(tmp_path / "w")["a"]
    assert not array.flags.owndata
    with open(tmp_path / "w", "r+b") as file:  # the same pages, so the change is seen
        file.seek(-4, os.SEEK_END)
        file.write(struct.pack("<f", 42.0))
    assert weights.load(tmp_path / "w")["b"][-1] == 42.0


def test_several_files(tmp_path: Path) -> None:
    weights.save(tmp_path / "1.safetensors", {"a": draw(2)})
    weights.save(tmp_path / "2.safetensors", {"b": draw(3)})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
    assert {name: array.shape for name, array in weights.load(index).items()} == {"a": (2,), "b": (3,)}
    for bad in (
        "[]",
        "{",
        '{"weight_map": {"a": "../x"}}',
        '{"weight_map": {"c": "1.safetensors"}}',
        '{"weight_map": 3}',
    ):
        index.write_text(bad)
        with pytest.raises(WeightsError, match=r"index\.json is not a readable index"):
            weights.load(index)


@contextmanager
def small_files() -> Iterator[None]:
    """A disk that is nearly full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


UNREADABLE: dict[str, tuple[dict[Any, Any], Any, str]] = {
    "metadata of numbers": ({}, {"epoch": 3}, "cannot save metadata 'epoch': 3: both must be text"),
    "metadata of nothing": ({}, {"note": None}, "cannot save metadata 'note': None: both must be text"),
    "metadata by numbers": ({}, {3: "epoch"}, "cannot save metadata 3: 'epoch': both must be text"),
    "metadata of half a character": ({}, {"a": "\ud800"}, r"cannot save metadata 'a': '\ud800': both must be text"),
    "the name of metadata": ({"__metadata__": [1.0]}, None, "cannot save '__metadata__': the format keeps that name"),
    "a number for a name": ({3: [1.0]}, None, "cannot save 3: a name is text"),
    "half a character for a name": ({"\ud800": [1.0]}, None, r"cannot save '\ud800': a name is text"),
    "objects": ({"x": np.array([None])}, None, "cannot save 'x': safetensors has no object"),
    "numbers of 16 bytes": ({"x": np.zeros(2, complex)}, None, "cannot save 'x': safetensors has no complex128"),
    "no array": ({"x": [[1.0], [2.0, 3.0]]}, None, "cannot save 'x': setting an array element"),
    "a longer header than there may be": ({"x" * 100_000_001: [1.0]}, None, "header too large"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_could_not_be_read_is_not_written(case: str, tmp_path: Path) -> None:
    some, metadata, message = UNREADABLE[case]
    weights.save(tmp_path / "w", {"a": draw(2)}, {"by": "hand"})
    with pytest.raises(WeightsError) as caught:
        weights.save(tmp_path / "w", {"a": draw(3), **some}, metadata)
    assert message in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 500
    assert weights.load(tmp_path / "w")["a"].shape == (2,) and os.listdir(tmp_path) == ["w"]


@pytest.mark.parametrize("some", [[("a", 1)], np.zeros(2), None, "a", 3])
def test_weights_without_names_are_not_saved(some: Any, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"cannot save a \w+: give a dict of arrays, such as a `state_dict\(\)`$"):
        weights.save(tmp_path / "w", some)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("metadata", ["abc", "", ["a"], [], [("a", "b")], 0, 3])
def test_metadata_without_names_is_not_saved(metadata: Any, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"cannot save a \w+ as metadata: give a dict of texts$"):
        weights.save(tmp_path / "w", {"a": draw(2)}, metadata)
    assert os.listdir(tmp_path) == []


def test_tensors_that_are_no_arrays_are_not_saved(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    quarter = torch.zeros(3, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    for odd in (torch.eye(3).to_sparse(), torch.empty(3, device="meta"), quarter):
        with pytest.raises(WeightsError, match=r"cannot save 'x': [^\n]+$"):
            weights.save(tmp_path / "w", {"x": odd})
    assert os.listdir(tmp_path) == []


def test_who_may_read_a_file_stays_so(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    weights.save(tmp_path / "new", {"a": draw(2)})
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "new").chmod(0o640)
    weights.save(tmp_path / "new", {"a": draw(2)})
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_file_may_be_written_over_while_it_is_mapped(tmp_path: Path) -> None:
    weights.save(tmp_path / "w", {"a": draw(3, 3), "b": draw(5)})
    found = weights.load(tmp_path / "w")
    weights.save(tmp_path / "w", {"a": found["b"], "t": found["a"].T})
    assert np.array_equal(found["a"], draw(3, 3)) and np.array_equal(found["b"], draw(5))
    again = weights.load(tmp_path / "w")
    assert np.array_equal(again["a"], draw(5)) and np.array_equal(again["t"], draw(3, 3).T)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    weights.save(tmp_path / "pipe", {"a": draw(3)}, {"by": "hand"})
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "w").write_bytes(reader.communicate()[0])
    assert np.array_equal(weights.load(tmp_path / "w")["a"], draw(3))


def test_names_that_are_long_or_odd(tmp_path: Path) -> None:
    for name in ("a" * 255, os.fsdecode(b"\xff")):
        weights.save(tmp_path / name, {"a": draw(2)})
        assert list(weights.load(tmp_path / name)) == ["a"]


def test_arrays_that_do_not_begin_at_a_word(tmp_path: Path) -> None:
    """Headers of other writers may be of any length."""
    header = b'{"b": %s}' % json.dumps(entry(shape=[2])).encode()
    text = "width t\ndepth m = 2\nmodel f(x: [t, m]) -> [t, m] {\n    param b: [m]\n    return x + b\n}\n"
    numbers = np.array([1.5, -2.5], np.float32)
    for spaces in range(4):
        (tmp_path / "w").write_bytes(framed(header + b" " * spaces, numbers.tobytes()))
        found = weights.load(tmp_path / "w")
        assert np.array_equal(found["b"], numbers)
        pytest.importorskip("torch")
        net = attnc.loads(text).model("f").torch(weights=found)
        assert np.array_equal(net.state_dict()["b"], numbers)
        assert np.array_equal(weights.load(tmp_path / "w")["b"], numbers)


def test_no_pipe_and_no_device_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.index.json")
    for path in (tmp_path / "pipe", tmp_path / "pipe.index.json", Path("/dev/zero")):
        with pytest.raises(OSError, match="a device or a pipe, not a file") as caught:
            weights.load(path)
        assert caught.value.filename == str(path)
    with pytest.raises(IsADirectoryError, match="a folder, not a file"):
        weights.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        weights.load(tmp_path / "none")


def test_a_failed_save_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "w"
    weights.save(path, {"a": draw(2)})
    before = path.read_bytes()

    class Broken(dict[str, Any]):
        def items(self) -> Any:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        weights.save(path, Broken(a=draw(2)))
    with pytest.raises(WeightsError, match="cannot save 'x': safetensors has no <U1"):
        weights.save(path, {"x": np.array(["a"])})
    with pytest.raises(OSError, match=r"File too large: '.*/w'"), small_files():
        weights.save(path, {"a": draw(10_000)})
    with pytest.raises(FileNotFoundError, match=r"there is no such folder: '.*none'"):
        weights.save(tmp_path / "none" / "w", {"a": draw(2)})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["w"]


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def framed(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


BYTE = b'{"dtype": "U8", "shape": [1], "data_offsets": [%d, %d]}'


def of(header: Any, data: bytes = bytes(8)) -> bytes:
    return framed(json.dumps(header).encode(), data)


HOSTILE = {
    "empty": (b"", "it is empty"),
    "seven": (b"1234567", "header too small"),
    "header beyond the end": (struct.pack("<Q", 1000) + b"{}", "invalid header length: is it truncated?"),
    "enormous header": (struct.pack("<Q", 2**63) + b"{}", "header too large"),
    "pickle": (b"\x80\x04\x95" + bytes(40), "invalid header length"),
    "no header": (struct.pack("<Q", 0), "invalid JSON in header: EOF"),
    "not JSON": (framed(b"{nonsense}"), "invalid JSON in header"),
    "not UTF-8": (framed(b'{"\xff": 1}'), "invalid UTF-8 in header"),
    "a list": (framed(b"[]"), "invalid type: sequence"),
    "deep": (framed(b"[" * 50_000), "invalid JSON in header"),
    "deep inside": (framed(b'{"a": {"dtype": ' + b"[" * 50_000), "invalid JSON in header"),
    "twice, apart": (framed(b'{"a": %s, "a": %s}' % (BYTE % (0, 1), BYTE % (1, 2)), b"12"), "invalid offset"),
    "a number": (of({"a": 3}), "invalid type: integer `3`"),
    "no offsets": (of({"a": {"dtype": "F32", "shape": [2]}}), "missing field `data_offsets`"),
    "unknown kind": (of({"a": entry("F31")}), "unknown variant `F31`"),
    "kind of a kind": (of({"a": entry(["F32"])}), "invalid type: sequence"),
    "a kind of half a byte": (of({"a": entry("F4", [16])}), "'a' is of the kind F4, which NumPy has not"),
    "negative": (of({"a": entry(shape=[-2])}), "invalid value: integer `-2`"),
    "truth": (of({"a": entry(shape=[True, 2])}), "invalid type: boolean `true`"),
    "fraction": (of({"a": entry(shape=[2.0])}), "invalid type: floating point `2.0`"),
    "many axes": (of({"a": entry(shape=[2] + [1] * 1000)}), "'a' has no proper shape"),
    "product overflows": (of({"a": entry(shape=[2**62, 2**62])}), "overflow"),
    "beyond NumPy": (of({"a": entry(shape=[2**62, 0], offsets=[0, 0])}, b""), "no proper shape"),
    "three offsets": (of({"a": entry(offsets=[0, 8, 9])}), "invalid length 3"),
    "backwards": (of({"a": entry(offsets=[8, 0])}), "invalid offset for tensor `a`"),
    "negative offset": (of({"a": entry(offsets=[-8, 0])}), "invalid value: integer `-8`"),
    "truncated": (of({"a": entry()}, bytes(7)), "file not fully covered: is it truncated?"),
    "too short for its shape": (of({"a": entry(shape=[3])}), "invalid shape, data type, or offset"),
    "overlapping": (of({"a": entry(), "b": entry(shape=[1], offsets=[4, 8])}), "invalid offset for tensor `b`"),
    "a hole": (of({"a": entry(offsets=[4, 12])}, bytes(12)), "invalid offset for tensor `a`"),
    "something after": (of({"a": entry()}, bytes(9)), "file not fully covered"),
    "metadata": (of({"__metadata__": {"x": 1}, "a": entry()}), "invalid type: integer `1`, expected a string"),
    "metadata twice": (framed(b'{"__metadata__": {}, "__metadata__": {}}'), "duplicate field `__metadata__`"),
    "a name with a bell": (of({"a\a\n\x1b[31m": entry(offsets=[4, 12])}), r"`a\x07\n\x1b[31m`"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_one_line(case: str, tmp_path: Path) -> None:
    data, message = HOSTILE[case]
    path = tmp_path / "w.safetensors"
    path.write_bytes(data)
    with pytest.raises(WeightsError) as caught:
        weights.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w"
    weights.save(path, {"a": draw(2, 2), "b": np.arange(3)}, {"by": "hand"})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(WeightsError):
            weights.load(path)


def test_random_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "w"
    weights.save(path, {"a": draw(2, 2), "b": np.arange(3)}, {"by": "hand"})
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(500):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole) - 40, rng.integers(1, 4)):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            found = weights.load(path)
        except WeightsError as wrong:
            assert "\n" not in str(wrong)
        else:
            assert all(found[name].size >= 0 for name in found)


# -- other names ---------------------------------------------------------------------------------------------------

SPEC = """
width seq <= 5
width past like seq
depth model = 6, groups = 2, sharing = 3, key = 4, expert = 3, inner = 5
const layers = 2
model net(x: [seq, model]) -> [seq, model] {
    param P: [seq, model] ~ normal(1)
    x = x + P
    repeat layers {
        Q = linear[model -> groups, sharing, key](x)
        K = linear[model -> groups, key](x)
        V = linear[model -> groups, key](x)
        m = linear.make[expert: model -> inner](x)
        n = linear.gate[expert: model -> inner](x)
        x = x + linear.fold[groups, sharing, key -> model](Q + K * V)
        x = x + linear.out[expert, inner -> model](m * n)
    }
    return layernorm.last[model](x)
}
"""


def net() -> attnc.Model:
    return attnc.loads(SPEC).model("net")


def plain_map(*lines: str) -> Map:
    """Names as they are, but for what the lines say."""
    kept = [path for path in net().weights if not any(made(line, path) for line in lines)]
    return Map.parse("\n".join([*lines, *(f"{path} -> {path}" for path in kept)]), "net.map")


def made(line: str, path: str) -> bool:
    from attnc.weights import maps

    return any(maps.matched(pattern, path) is not None for rule in maps._rules(line, "") for pattern in rule.ours)


def ours() -> dict[str, Any]:
    return {path: draw(*spec.shape, seed=i) for i, (path, spec) in enumerate(net().weights.items())}


STEPS: dict[str, tuple[str, str, Callable[[dict[str, Any]], Any]]] = {
    "rename": ("h.{layer}.q.* -> layers.{layer}.Q.*", "h.1.q.bias", lambda w: w["layers.1.Q.bias"]),
    "pairs": (
        "h.{layer}.{q, k, v}_proj.* -> layers.{layer}.{Q, K, V}.*",
        "h.1.k_proj.bias",
        lambda w: w["layers.1.K.bias"],
    ),
    "transpose": (
        "h.{layer}.q.* -> layers.{layer}.Q.* : transpose",
        "h.1.q.weight",
        lambda w: w["layers.1.Q.weight"].T,
    ),
    "transpose leaves vectors": (
        "h.{layer}.q.* -> layers.{layer}.Q.* : transpose",
        "h.1.q.bias",
        lambda w: w["layers.1.Q.bias"],
    ),
    "split": (
        "h.{layer}.qkv.* -> layers.{layer}.{Q, K, V}.* : transpose, split",
        "h.0.qkv.weight",
        lambda w: np.concatenate([w[f"layers.0.{x}.weight"] for x in "QKV"]).T,
    ),
    "split per groups": (
        "h.{layer}.qkv.* -> layers.{layer}.{Q, K, V}.* : split per groups",
        "h.0.qkv.weight",
        lambda w: np.concatenate([w[f"layers.0.{x}.weight"].reshape(2, -1, 6) for x in "QKV"], 1).reshape(-1, 6),
    ),
    "split per 4": (
        "h.{layer}.qkv.* -> layers.{layer}.{Q, V, K}.* : split per 4",
        "h.0.qkv.weight",
        lambda w: np.concatenate([w[f"layers.0.{x}.weight"].reshape(4, -1, 6) for x in "QVK"], 1).reshape(-1, 6),
    ),
    "split per expert": (
        "h.{layer}.two -> layers.{layer}.{make, gate}.weight : split per expert",
        "h.0.two",
        lambda w: np.concatenate([w["layers.0.make.weight"], w["layers.0.gate.weight"]], 1),
    ),
    "merge": (
        "h.{layer}.{up, down} -> layers.{layer}.Q.weight : merge",
        "h.1.down",
        lambda w: w["layers.1.Q.weight"][12:],
    ),
    "merge per groups": (
        "h.{layer}.{a, b, c} -> layers.{layer}.Q.weight : merge per groups",
        "h.1.b",
        lambda w: w["layers.1.Q.weight"].reshape(2, 3, 4, 6)[:, 1].reshape(8, 6),
    ),
    "stack": (
        "h.{layer}.experts.{expert}.w -> layers.{layer}.make.weight : transpose, stack expert",
        "h.1.experts.2.w",
        lambda w: w["layers.1.make.weight"][2].T,
    ),
    "shape": ("p -> P : shape [1, seq, model, 1]", "p", lambda w: w["P"][None, :, :, None]),
    "unpair": (
        "h.{layer}.q.* -> layers.{layer}.Q.* : unpair key",
        "h.0.q.bias",
        lambda w: w["layers.0.Q.bias"].reshape(6, 2, 2).swapaxes(1, 2).reshape(-1),
    ),
    "pair": (
        "h.{layer}.q.* -> layers.{layer}.Q.* : pair key",
        "h.0.q.weight",
        lambda w: w["layers.0.Q.weight"].reshape(6, 2, 2, 6).swapaxes(1, 2).reshape(24, 6),
    ),
    "several": (
        "h.{layer}.qk -> layers.{layer}.{Q, K}.weight : transpose, split, unpair key",
        "h.0.qk",
        lambda w: (
            np.concatenate(
                [w[f"layers.0.{x}.weight"].reshape(-1, 2, 2, 6).swapaxes(1, 2).reshape(-1, 6) for x in "QK"]
            ).T
        ),
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_steps(case: str) -> None:
    """What it should be, and there and back to the same bits."""
    line, name, expected = STEPS[case]
    map, mine = plain_map(line), ours()
    theirs = convert(mine, map, net(), reverse=True)
    assert np.array_equal(theirs[name], expected(mine))
    back = convert(theirs, map, net())
    assert list(back) == list(net().weights)
    assert all(np.array_equal(back[path], mine[path]) for path in mine)


def test_ties_prefixes_and_other_ways() -> None:
    lines = [f"body.{path} -> {path}" for path in net().weights if path not in ("P", "last.weight")]
    head = ["optional body.", "body.p -> P", "or body.p2 -> P", "body.l -> last.weight"]
    map = Map.parse("\n".join([*head, *lines, "tie head = body.p", "ignore body.{n}.mask"]))
    mine = ours()
    full = convert(mine, map, net(), reverse=True)
    assert full["head"] is full["body.p"]
    for drop in ((), ("head",)):
        for bare in (False, True):
            theirs = {
                name.removeprefix("body.") if bare else name: array for name, array in full.items() if name not in drop
            }
            theirs["3.mask" if bare else "body.3.mask"] = draw(1)
            found = convert(theirs, map, net())
            assert all(np.array_equal(found[path], mine[path]) for path in mine)
            back = convert(found, map, net(), reverse=True, like=theirs)
            assert back.keys() | {"3.mask", "body.3.mask"} == theirs.keys() | {"3.mask", "body.3.mask"}
    other = {("body.p2" if name == "body.p" else name): array for name, array in full.items() if name != "head"}
    assert np.array_equal(convert(other, map, net())["P"], mine["P"])
    assert "body.p2" in convert(mine, map, net(), reverse=True, like=other)
    with pytest.raises(WeightsError, match=r"not tied: `head` should be `body\.p`"):
        convert({**full, "head": draw(5, 6, seed=99)}, map, net())


def test_all_problems_in_one_message() -> None:
    map = plain_map("h.{layer}.qkv.* -> layers.{layer}.{Q, K, V}.* : split", "p -> P : shape [1, seq, model]")
    theirs = dict(convert(ours(), map, net(), reverse=True))
    theirs["last.wieght"] = theirs.pop("last.weight")
    theirs["h.1.qkv.weight"] = theirs["h.1.qkv.weight"][1:]
    theirs["p"] = theirs["p"][0]
    theirs["layers.0.make.bias"] = draw(3, 7)
    theirs["bell\a"] = draw(2)
    with pytest.raises(WeightsError) as caught:
        convert(theirs, map, net())
    assert str(caught.value).splitlines() == [
        "net.map: 6 problems with the weights of `net`",
        "  wrong shape: `p` [5, 6], for P [seq = 5, model = 6]: the map's `shape [1, seq, model]` is [1, 5, 6]",
        "  wrong shape: `layers.0.make.bias` [3, 7], for layers.0.make.bias [expert = 3, inner = 5]: "
        "it would be [3, 7]",
        "  wrong shape: `h.1.qkv.weight` [39, 6], for layers.1.Q.weight [groups sharing key = 24, model = 6] and "
        "layers.1.K.weight [groups key = 8, model = 6] and layers.1.V.weight [groups key = 8, model = 6]: "
        "it should have 40 where it has 39",
        "  missing: `last.weight`, for last.weight [model = 6]; near it: `last.wieght`",
        "  unexpected: `last.wieght` [6]",
        "  unexpected: 'bell\\x07' [2]",
    ]
    mine = ours()
    del mine["P"]
    mine["last.bias"] = draw(7)
    mine["Q"] = draw(1)
    with pytest.raises(WeightsError) as caught:
        convert(mine, map, net(), reverse=True)
    assert str(caught.value).splitlines()[1:] == [
        "  missing: P [seq = 5, model = 6]",
        "  wrong shape: last.bias [model = 6], but given [7]",
        "  unexpected: `Q` [1]",
    ]


WHOLE = ("?", "i1", "u1", "<i2", "<i4", "<i8", ml_dtypes.int4)


@pytest.mark.parametrize("kind", WHOLE, ids=str)
def test_whole_numbers_are_no_weights(kind: Any, tmp_path: Path) -> None:
    """Through every door: into a model, by a map in either direction, from a file that is labelled wrongly."""
    map, mine = plain_map("h.{layer}.qkv.* -> layers.{layer}.{Q, K, V}.* : split"), ours()
    whole = {**mine, "layers.1.Q.weight": np.ones((24, 6), kind)}
    named, theirs = np.dtype(kind), dict(convert(mine, map, net(), reverse=True))
    theirs["h.1.qkv.weight"] = np.ones((40, 6), kind)
    said = []
    for door in (
        lambda: net().torch(weights=whole),
        lambda: net().numpy(weights=whole),
        lambda: convert(whole, map, net(), reverse=True),
        lambda: convert(theirs, map, net()),
    ):
        with pytest.raises(WeightsError) as caught:
            door()
        said.append(str(caught.value).splitlines()[1:])
    ours_said = f"  no real numbers: layers.1.Q.weight [groups sharing key = 24, model = 6], but given {named}"
    assert said[:3] == [[ours_said]] * 3
    assert [len(lines) for lines in said] == [1] * 4
    assert said[3][0].startswith(f"  no real numbers: `h.1.qkv.weight` is {named}, for layers.1.Q.weight ")


def test_what_is_labelled_as_whole_numbers_is_no_weight(tmp_path: Path) -> None:
    file, mine = tmp_path / "w.safetensors", ours()
    weights.save(file, mine)
    np.savez(tmp_path / "w.npz", **{path: x.view("i4") for path, x in mine.items()})
    file.write_bytes(file.read_bytes().replace(b'"F32"', b'"I32"'))
    with np.load(tmp_path / "w.npz") as arrays:
        from_numpy = dict(arrays)
    for given in (weights.load(file), from_numpy):
        with pytest.raises(WeightsError) as caught:
            net().torch(weights=given)
        lines = str(caught.value).splitlines()[1:]
        assert len(lines) == len(mine) and all("but given int32" in line for line in lines)


def test_a_map_that_does_not_fit_the_spec() -> None:
    map = Map.parse("a -> P\nb -> P\nc.{n} -> layers.{n}.{Q, X}.weight : split", "bad.map")
    with pytest.raises(WeightsError) as caught:
        convert({}, map, net())
    text = str(caught.value)
    assert "bad.map:1 and bad.map:2 both make `P`, without `or`" in text
    assert "bad.map:3 makes `layers.0.X.weight`, which the spec has not" in text
    assert "no rule of the map makes last.weight [model = 6]" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a b c", "this is no rule"),
        ("a -> ", "`` is not a name of weights"),
        ("a -> b : trnspose", "`trnspose` is nothing that can be done; did you mean `transpose`?"),
        ("a -> {b, c}", "1 names of theirs and 2 of ours"),
        ("{a, b} -> c", "2 names of theirs and 1 of ours"),
        ("a -> b : split", "`split` has one name of theirs and several of ours"),
        ("{a, b} -> {c, d} : merge", "`merge` the reverse"),
        ("a.{n} -> b", "must be the same on both sides"),
        ("a.* -> b", "must be the same on both sides"),
        ("a.*.* -> b.*.*", "more than one `*`"),
        ("a -> b : stack e", "must be the same on both sides"),
        ("a -> b : shape [1, x-y]", "is nothing that can be done"),
        ("a -> {b, c} : split, split", "stands here twice"),
        ("a -> b : __import__('os')", "is nothing that can be done"),
        ("use other.map", "in which folder?"),
        ("", "has no rule"),
    ],
)
def test_a_wrong_map_is_one_line(line: str, message: str) -> None:
    with pytest.raises(WeightsError) as caught:
        Map.parse(line, "x.map")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_maps_that_use_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.map").write_text("use b.map\n")
    (tmp_path / "b.map").write_text("use a.map\n")
    with pytest.raises(WeightsError, match="maps use each other"):
        Map.read(tmp_path / "a.map")
    (tmp_path / "c.map").write_text("use missing.map\n")
    with pytest.raises(WeightsError, match=r"c\.map:1: .*missing\.map: no such file"):
        Map.read(tmp_path / "c.map")


def test_maps_use_no_file_outside_of_the_project(tmp_path: Path) -> None:
    """As `use` of specs: whatever a path, or a link, leads to."""
    project, above = tmp_path / "project", tmp_path / "above.map"
    (project / "maps").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    for file in (above, project / "shared.map", project / "maps" / "near.map"):
        file.write_text("a -> b\n")
    (project / "maps" / "link.map").symlink_to(above)
    (project / "maps" / "loop.map").symlink_to("loop.map")
    os.mkfifo(project / "maps" / "pipe.map")
    main = project / "maps" / "main.map"

    def read(used: str) -> Map:
        main.write_text(f"c -> d\nuse {used}\n")
        return Map.read(main)

    for used in ("near.map", "../shared.map", str(project / "shared.map")):
        assert len(read(used).rules) == 2
    for used in ("/dev/zero", "../../above.map", str(above), "link.map"):
        with pytest.raises(
            WeightsError, match=r"main\.map:2: `use .*` leads out of the project .*project: copy"
        ) as wrong:
            read(used)
        assert used in str(wrong.value)
    for used, said in (("pipe.map", "a device or a pipe"), ("loop.map", "loop"), (".", "this is a folder")):
        with pytest.raises(WeightsError, match=rf"main\.map:2: .*{said}"):
            read(used)
    (project / "maps" / "near.map").write_text("use ../../above.map\n")  # the project is that of the first map
    with pytest.raises(WeightsError, match=r"near\.map:1: .* leads out of the project"):
        read("near.map")
    for used in ("/dev/zero", "../above.map"):
        with pytest.raises(WeightsError, match="leads out of the project"):
            Map.parse(f"use {used}", base=project)


def test_a_map_is_text(tmp_path: Path) -> None:
    for content, said in (
        (b"\xff -> a", "not UTF-8 text"),
        (b"a -> b\0", "NUL"),
        (b"#" * (1 << 20 | 1), "larger than"),
    ):
        (tmp_path / "a.map").write_bytes(content)
        with pytest.raises(OSError, match=said):
            Map.read(tmp_path / "a.map")
        (tmp_path / "b.map").write_text("use a.map\n")
        with pytest.raises(WeightsError, match=rf"b\.map:1: .*a\.map: .*{said}"):
            Map.read(tmp_path / "b.map")


def test_what_stands_after_shape_and_before_it() -> None:
    with pytest.raises(WeightsError, match="`shape` must be the last"):
        Map.parse("a -> b : shape [1, c], transpose")


# -- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    """The arguments of a small GPT-2, and in `in.safetensors` its weights as Hugging Face has them, in bfloat16."""
    sizes = {"vocab": 9, "model": 6, "heads": 2, "layers": 2, "longest": 4}
    model = attnc.load(ZOO / "gpt2.attn", sizes=sizes).model("gpt2")
    mine = {path: np.full(spec.shape, i, ml_dtypes.bfloat16) for i, (path, spec) in enumerate(model.weights.items())}
    theirs = convert(mine, ZOO / "gpt2.map", model, reverse=True)
    bare = {name.removeprefix("transformer."): array for name, array in theirs.items() if name != "lm_head.weight"}
    weights.save(tmp_path / "in.safetensors", bare, {"format": "pt"})
    return [f"{ZOO / 'gpt2.attn'}", *(f"--set={name}={size}" for name, size in sizes.items())]


def test_there_and_back(small: list[str], tmp_path: Path) -> None:
    start, middle, end = (str(tmp_path / f"{name}.safetensors") for name in ("in", "out", "back"))
    map = str(ZOO / "gpt2.map")
    assert cli.main(["convert", map, start, middle, "--to", "attnc", *small]) == 0
    assert "layers.1.self.Q.weight" in weights.load(middle)
    assert cli.main(["convert", map, middle, end, "--to", "foreign", *small]) == 0
    assert Path(start).read_bytes() == Path(end).read_bytes()


def test_what_the_command_refuses(small: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start, out, map = str(tmp_path / "in.safetensors"), str(tmp_path / "out.safetensors"), str(ZOO / "gpt2.map")

    def refused(*args: str) -> str:
        assert cli.main(["convert", *args]) == 2
        assert not Path(out).exists()
        said = capsys.readouterr().err
        assert "internal error" not in said
        return said

    assert "missing: `transformer.h.2.ln_1.weight`" in refused(map, start, out, "--to=attnc", *small, "--set=layers=3")
    assert "unexpected: " in refused(map, start, out, "--to=attnc", *small, "--set=layers=1")
    assert "must end in one of .safetensors" in refused(map, start, str(tmp_path / "out.bin"), "--to=attnc", *small)
    assert "No such file" in refused(map, str(tmp_path / "none"), out, "--to=attnc", *small)
    assert "none: no such file" in refused(str(tmp_path / "none"), start, out, "--to=attnc", *small)
    Path(out).with_name("bad.map").write_text("use /dev/zero\n")
    assert "bad.map:1: `use /dev/zero` leads out of the project" in refused(
        str(tmp_path / "bad.map"), start, out, "--to=attnc", *small
    )
    whole = {name: x.view("i2") for name, x in weights.load(start).items()}
    weights.save(str(tmp_path / "whole.safetensors"), whole)
    said = refused(map, str(tmp_path / "whole.safetensors"), out, "--to=attnc", *small)
    assert "no real numbers: `transformer.wte.weight` is int16, for " in said
    Path(start).write_bytes(Path(start).read_bytes()[:-1])
    assert "is it truncated?" in refused(map, start, out, "--to=attnc", *small)
