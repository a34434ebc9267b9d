"""What is captured, which axes are the queries' and the keys', and what the mask hides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.inspect import InspectError, inputs, look, spots

EXAMPLES = Path(__file__).parents[2] / "examples"

HEADS = """
use std.attention: multihead, model, heads

width target
width past like target
width source
depth model = 8, heads = 2
const layers = 2

model net(x: [target, model], memory: [source, model], real: bool[source] = true) -> [target, model] causal target {
    repeat layers {
        x = x + multihead.self[target, past](x, x[target as past], mask = past <= target)
        x = x + multihead.cross[target, source](x, memory, mask = real)
    }
    return x
}
"""


def net(text: str = HEADS, name: str = "net", **sizes: int) -> attnc.Model:
    return attnc.loads(text, sizes=sizes).model(name)


def given(target: int = 5, source: int = 4, batch: int = 3) -> dict[str, Any]:
    numbers = np.random.default_rng(1)
    return {
        "x": numbers.standard_normal((batch, target, 8)),
        "memory": numbers.standard_normal((batch, source, 8)),
        "real": np.arange(source) < np.array([[source], [2], [1]])[:batch],
    }


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_maps_are_the_attention_weights_computed_by_hand(backend: Any) -> None:
    model = net(layers=1)
    run = model.numpy(seed=3)
    put = given()
    found = look(model, put, run.weights, backend=backend)
    assert list(found) == ["layers.0.self.weights", "layers.0.cross.weights"]
    one = found["layers.0.self.weights"]
    assert one.heads == (("heads", 2),)
    assert [str(side) for side in (*one.rows, *one.columns)] == ["q = target", "k = past"]
    x = put["x"]
    Q, K = ((x @ run.weights[f"layers.0.self.{name}.weight"].T).reshape(3, 5, 2, 4) for name in "QK")
    scores = np.einsum("bqhd,bkhd->bhqk", Q, K) / 2
    powers = np.where(np.tri(5, dtype=bool), np.exp(scores), 0)
    np.testing.assert_allclose(one.array, powers / powers.sum(-1, keepdims=True), atol=1e-5)
    assert (np.broadcast_to(one.seen, one.array.shape) == np.tri(5, dtype=bool)).all()


def test_what_the_mask_hides_is_no_choice_of_a_query() -> None:
    found = look(net(), given(), seed=0)
    nats, share = found["layers.1.cross.weights"].entropy()
    assert nats.shape == (3, 2, 5)
    assert np.nanmax(nats[1]) <= np.log(2) + 1e-9  # two sources are real
    assert (nats[2] == 0).all()  # one is
    assert np.isnan(share[2]).all()
    assert np.nanmin(share[:2]) > 0.3


def test_a_mask_that_is_not_given_is_its_default() -> None:
    put = given()
    del put["real"]
    one = look(net(), put, seed=0)["layers.0.cross.weights"]
    assert one.seen is not None
    assert one.seen.all()


def test_each_pass_has_its_own_mask() -> None:
    text = HEADS.replace("repeat layers", "repeat i in layers").replace(
        "mask = past <= target", "mask = past <= target and (i % 2 == 1 or target - past < 2)"
    )
    found = look(net(text), given(), seed=0)
    near = np.tri(5, dtype=bool) & ~np.tri(5, k=-2, dtype=bool)
    for path, expected in (("layers.0.self.weights", near), ("layers.1.self.weights", np.tri(5, dtype=bool))):
        assert found[path].seen is not None
        assert (np.broadcast_to(found[path].seen, found[path].array.shape) == expected).all()
        np.testing.assert_array_equal(found[path].array > 0, np.broadcast_to(expected, found[path].array.shape))


def test_padded_queries_do_not_count() -> None:
    text = HEADS.replace("mask = past <= target", "mask = known[target as past]").replace(
        "real: bool[source] = true) -> [target, model] causal target",
        "real: bool[source] = true, known: bool[target] = true) -> [target, model]",
    )
    put = {**given(), "known": np.arange(5) < np.array([[5], [3], [2]])}
    one = look(net(text), put, seed=0)["layers.0.self.weights"]
    assert one.counted()[:, 0].sum(-1).tolist() == [5, 3, 2]
    assert np.isnan(one.entropy()[0][1, :, 3:]).all()


@pytest.mark.parametrize("spec", sorted(path.stem for path in (EXAMPLES / "attentions").glob("*.attn")))
def test_every_attention_of_the_examples(spec: str) -> None:
    """Rows sum to one over what the mask lets through, whatever the axes; and nothing else weighs anything."""
    loaded = attnc.load(EXAMPLES / "attentions" / f"{spec}.attn")
    size = {
        "blockwise": 128,
        "longformer": 128,
        "lsh": 128,
        "shifted_windows": 28,
        "moba": 64,
        "native_sparse": 48,
    }.get(spec, 12)
    for name in loaded.models:
        model = loaded.model(name)
        if not any(spot.is_attention for spot in spots(model)):
            with pytest.raises(InspectError, match="no attention weights"):
                look(model, {})
            continue
        free = {axis for port in model.inputs for axis, n in zip(port.axes, port.shape, strict=True) if n is None}
        found = look(model, inputs(model, random=dict.fromkeys(free, size)))
        for one in found.maps.values():
            assert one.is_attention
            assert one.seen is not None
            seen = np.broadcast_to(one.seen, one.array.shape)
            assert not one.array[~seen].any()
            np.testing.assert_allclose(one.array.sum(-1), seen.any(-1), atol=1e-4)
            assert np.nanmax(one.entropy()[1]) <= 1 + 1e-6


TWICE = """
width seq
width past like seq
depth d = 4
const n = 2

block att(x: [seq, d], y: [past, d]) -> [seq, d] {
    w = softmax[past](dot[d](x, y) / sqrt(|d|))
    w = dropout(w, 0.1)
    return dot[past](w, y) + dot[past](softmax[past](2 * dot[d](x, y)), y)
}

model net(x: [seq, d]) -> [seq, d] {
    repeat n REPEAT{
        a = att(x, x[seq as past])
        x = x + att(a, a[seq as past])
    }
    return x
}
"""


def test_values_without_names_and_calls_that_nothing_tells_apart() -> None:
    model = net(TWICE.replace("REPEAT", ""))
    x = {"x": np.random.default_rng(0).standard_normal((6, 4))}
    found = look(model, x)
    assert list(found) == [f"n.{n}.att:{k}.{w}" for n in (0, 1) for k in (1, 2) for w in ("w:1", "softmax")]
    arrays = [one.array for one in found.maps.values()]
    assert all(not np.allclose(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
    scores = x["x"] @ x["x"].T
    np.testing.assert_allclose(arrays[0][0], np.exp(scores / 2) / np.exp(scores / 2).sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(arrays[1][0], np.exp(2 * scores) / np.exp(2 * scores).sum(-1, keepdims=True), atol=1e-5)
    for path, one in look(model, x, backend="torch").maps.items():
        np.testing.assert_allclose(one.array, found[path].array, atol=1e-5)
    with pytest.raises(InspectError, match=r"could be any of `n.0.att:1.w`, `n.0.att:2.w`"):
        look(model, x, capture=["n.0.att.w"])
    assert list(look(model, x, capture=["n.0.att:2.w:2"])) == ["n.0.att:2.w"]


def test_of_a_shared_repeat_it_is_the_last_pass() -> None:
    model = net(TWICE.replace("REPEAT", "shared "))
    x = {"x": np.random.default_rng(0).standard_normal((6, 4))}
    found = look(model, x)
    assert next(iter(found)) == "n.att:1.w:1"
    assert all(one.spot.last for one in found.maps.values())
    last = look(net(TWICE.replace("REPEAT", "")), x)["n.1.att:1.w:1"]
    np.testing.assert_allclose(found["n.att:1.w:1"].array, last.array, atol=1e-5)


def test_one_query_for_all_is_one_row() -> None:
    text = (
        "width seq\ndepth d = 4, h = 2\nmodel pool(x: [seq, d]) -> [h, d] {\n    param ask: [h, d] ~ normal(1)\n"
        "    w = softmax[seq](dot[d](ask, x))\n    return dot[seq](w, x)\n}\n"
    )
    one = look(net(text, "pool"), {"x": np.ones((7, 4))})["w"]
    assert one.array.shape == (1, 2, 1, 7)
    assert one.rows == ()
    np.testing.assert_allclose(one.entropy()[1], 1)


def test_other_values_by_their_widths_or_by_the_axes_asked_for() -> None:
    model, put = net(), given()
    scores = look(model, put, capture=["layers.0.cross.scores"])["layers.0.cross.scores"]
    assert not scores.is_attention
    assert [side.outer for side in (*scores.rows, *scores.columns)] == ["target", "source"]
    with pytest.raises(InspectError, match="is no attention"):
        scores.entropy()
    with pytest.raises(InspectError, match=r"needs two widths, and .* has the width `q`; .*--rows q --columns key"):
        look(model, put, capture=["layers.0.self.Q"])
    Q = look(model, put, capture=["layers.0.self.Q"], rows=["target"], columns=["key"])["layers.0.self.Q"]
    assert Q.array.shape == (3, 2, 5, 4)
    turned = look(model, put, capture=["layers.0.self.Q"], rows=["heads", "key"], columns=["q"])["layers.0.self.Q"]
    np.testing.assert_array_equal(turned.array.reshape(3, 2, 4, 5), Q.array.swapaxes(-1, -2))


def test_labels_go_to_copies_too() -> None:
    words = list("abcde")
    found = look(net(), given(), labels={"target": words})
    assert found["layers.0.self.weights"].row_labels == found["layers.0.self.weights"].column_labels == tuple(words)
    assert found["layers.0.cross.weights"].column_labels is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capture": ["layers.0.slf.weights"]}, "no value `layers.0.slf.weights`; did you mean"),
        ({"labels": {"target": ["a"]}}, "1 labels for `target`, which has 5 items"),
        ({"labels": {"targt": ["a"]}}, "no axis `targt` to label; did you mean `target`"),
        ({"rows": ["key"]}, "has no axis `key`"),
        ({"rows": ["q"], "columns": ["q"]}, "cannot be rows and columns at once"),
    ],
)
def test_mistakes_get_one_message(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InspectError, match=message):
        look(net(), given(), **change)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("y", np.ones(3), "no input `y`; it has"),
        ("x", np.ones(8), "has 2 dimensions, but it is given 1 dimension"),
        ("x", np.ones((3, 5, 7)), "cannot run on this input: .*model"),
        ("x", np.array([["a"]]), "takes real numbers"),
        ("real", np.full((3, 4), 7), "takes truth values"),
    ],
)
def test_inputs_that_do_not_fit(name: str, value: Any, message: str) -> None:
    with pytest.raises(InspectError, match=message):
        look(net(), {**given(), name: value})


def test_random_inputs() -> None:
    model = net()
    made = inputs(model, {"memory": np.ones((2, 7, 8))}, random={"target": 3}, seed=1)
    assert {name: array.shape for name, array in made.items()} == {"x": (2, 3, 8), "memory": (2, 7, 8)}
    for random, message in (
        ({"targt": 3}, "no free width `targt`"),
        ({"target": 0}, "at least 1"),
        ({}, "how large is the width `target`"),
    ):
        with pytest.raises(InspectError, match=message):
            inputs(model, {}, random=random)


def test_random_lengths_are_full_and_other_numbers_are_asked_for() -> None:
    text = "width seq ragged\ndepth d = 3\nmodel f(x: [seq, d], n: int[]) -> [d] {\nreturn mean[seq](x) * n\n}\n"
    model = attnc.loads(text).model("f")
    with pytest.raises(InspectError, match=r"`n: int\[\]` is a whole number .* give it, --ids n=1"):
        inputs(model, {}, random={"seq": 5})
    made = inputs(model, {"n": np.array([2, 3])}, random={"seq": 5})
    assert made["x"].shape == (2, 5, 3) and (made["seq_lengths"] == [5, 5]).all()


def test_of_a_model_called_twice_the_last_call_is_seen_and_of_no_passes_nothing() -> None:
    text = """
width seq
width past like seq
depth d = 4
model sub(x: [seq, d]) -> [seq, d] {
    w = softmax[past](dot[d](x, x[seq as past]))
    return dot[past](w, x[seq as past])
}
model net(x: [seq, d]) -> [seq, d] {
    repeat.a 0 shared {
        v = tanh(x)
        x = v + 1
    }
    return sub(sub(x))
}
"""
    model = attnc.loads(text).model("net")
    assert [spot.path for spot in spots(model)] == ["x", "w"]
    x = np.random.default_rng(0).normal(size=(1, 3, 4)).astype(np.float32)
    inner = attnc.loads(text).model("sub")
    again = look(inner, {"x": inner.numpy(seed=0)(x)})["w"].array
    for backend in ("numpy", "torch"):
        found = look(model, {"x": x}, backend=backend)
        np.testing.assert_allclose(found["w"].array, again, rtol=1e-5)
