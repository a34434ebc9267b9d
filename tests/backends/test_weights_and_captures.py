"""Loading weights, all mistakes at once; and looking inside a model."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

import attnc
from attnc.backends import CaptureError, WeightsError
from attnc.backends.loading.init import initial_weights
from attnc.backends.loading.load import build_numpy, build_torch
from attnc.backends.plan.capture import capturable, everything, resolve
from attnc.compiler.graph.inventory import inventory
from attnc.compiler.pipeline import PASSES
from attnc.compiler.rewrites.simplify.constants import fold_truths

from .agreement import close, graph_of, random_inputs
from .test_reading import PROGRAMS
from .test_semantics import SPECS
from .test_torch import CROSS

DEEP = CROSS.replace("model cross", "const layers = 2\nmodel cross").replace(
    "    return multihead[target, source](x, y, real)",
    "    repeat layers {\n        x = x + multihead.read[target, source](x, y, real)\n    }\n    return x",
)


def test_mistakes_in_weights_come_in_one_message() -> None:
    graph = graph_of(CROSS)
    weights = dict(initial_weights(inventory(graph), 0))
    del weights["multihead.Q.weight"]
    weights["multihead.K.weight"] = np.zeros((3, 16))
    weights["extra"] = np.zeros(2)
    for build in (build_torch, build_numpy):
        with pytest.raises(WeightsError) as caught:
            build(graph, weights=weights)  # type: ignore[operator]
        assert str(caught.value).splitlines()[1:] == [
            "  missing: multihead.Q.weight [heads key = 16, model = 16]",
            "  wrong shape: multihead.K.weight [heads key = 16, model = 16], but given [3, 16]",
            "  unknown: extra [2]",
        ]


def test_a_block_whose_weights_have_no_largest_size() -> None:
    """Its callers say how large they are at most; alone it cannot be compiled, and is told why."""
    text = """
    width seq <= 8
    block table[n: width](x: [n]) -> [n] {
        param p: [n]
        return x * p
    }
    model m(x: [seq]) -> [seq] { return table[seq](x) }
    """
    spec = attnc.loads(text)
    assert inventory(spec.model("m").graph)["table.p"].shape == (8,)
    with pytest.raises(
        attnc.AttnError, match="the weight `p` runs along `n`, of which no largest size is known"
    ) as told:
        spec.block("table").source("numpy")
    assert [found.code for found in told.value.diagnostics] == ["E0409"]
    assert told.value.diagnostics[0].help == "set it: `--set n=1024`, or call the block with a width that is bounded"


def test_a_width_that_no_input_tells_is_fixed_as_the_help_says() -> None:
    def told(text: str) -> str:
        with pytest.raises(attnc.AttnError, match="its size is never known") as found:
            attnc.loads(text).block("f").numpy()
        return found.value.diagnostics[0].help

    parameter = "width seq\nblock f[n: width](x: [seq]) -> [] {\n    return mean[seq](x) * sum[n](n + 1)\n}\n"
    declared = parameter.replace("width seq", "width seq, n <= 64").replace("[n: width]", "")
    assert "or fix it, `--set n=128`," in told(parameter)
    assert attnc.loads(parameter, sizes={"n": 128}).block("f").numpy()(np.ones(3)) == 128 * 129 / 2
    assert "or fix it, `width n = 64`," in told(declared)
    fixed = declared.replace("n <= 64", "n = 64")
    assert attnc.loads(fixed).block("f").numpy()(np.ones(3)) == 64 * 65 / 2


def test_weights_travel_between_the_backends() -> None:
    graph = graph_of(CROSS)
    module = build_torch(graph)
    call = build_numpy(graph, weights=module.state_dict())
    x, y, real = torch.randn(2, 5, 16), torch.randn(2, 7, 16), torch.ones(2, 7, dtype=torch.bool)
    np.testing.assert_allclose(module(x, y, real).detach(), call(x.numpy(), y.numpy(), real.numpy()), atol=1e-5)
    twin = build_torch(graph, weights=call.weights)  # type: ignore[attr-defined]
    torch.testing.assert_close(twin(x, y, real), module(x, y, real))


def test_captured_weights_are_those_of_the_attention() -> None:
    graph = graph_of(DEEP)
    paths = ("layers.1.read.weights", "layers.0.read.attend.scores", "layers.0.read.Q")
    x, y = torch.randn(2, 5, 16, dtype=torch.float64), torch.randn(2, 7, 16, dtype=torch.float64)
    real = torch.rand(2, 7) > 0.4
    plain = build_torch(graph, seed=0, dtype=torch.float64)
    module = build_torch(graph, seed=0, dtype=torch.float64, capture=paths)
    call = build_numpy(graph, seed=0, dtype=np.float64, capture=paths)
    result, found = module(x, y, real)
    torch.testing.assert_close(result, plain(x, y, real))
    _, there = call(x.numpy(), y.numpy(), real.numpy())
    assert list(found) == list(there) == list(paths)
    assert found[paths[0]].axes == ("heads", "q", "k") and found[paths[0]].value.shape == (2, 4, 5, 7)
    assert found[paths[2]].axes == ("q", "heads", "key")
    weights = found[paths[0]].value
    torch.testing.assert_close(weights.sum(-1), real.any(-1).double()[:, None, None].expand(2, 4, 5))
    for path in paths:
        assert found[path].axes == there[path].axes
        np.testing.assert_allclose(found[path].value.detach(), there[path].value, atol=1e-12)


def test_what_is_captured_does_not_hang_on_the_passes() -> None:
    """The same values with all passes, without the one that fuses attention, and without any."""
    graph, path = graph_of(DEEP), "layers.1.read.weights"
    inputs = [np.random.default_rng(0).standard_normal((2, n, 16)) for n in (5, 7)]
    inputs.append(np.random.default_rng(1).random((2, 7)) > 0.4)
    _, right = build_numpy(graph, seed=0, dtype=np.float64, capture=(path,))(*inputs)
    for passes in ([one for one in PASSES if one.name != "fuse_attention"], []):
        _, here = build_numpy(graph, seed=0, dtype=np.float64, capture=(path,), passes=passes)(*inputs)
        module = build_torch(graph, seed=0, dtype=torch.float64, capture=(path,), passes=passes)
        _, there = module(*map(torch.tensor, inputs))
        assert here[path].axes == there[path].axes == right[path].axes
        np.testing.assert_allclose(here[path].value, right[path].value, atol=1e-12)
        np.testing.assert_allclose(there[path].value.detach(), right[path].value, atol=1e-12)


def test_unknown_captures_say_what_there_is() -> None:
    with pytest.raises(
        CaptureError, match=r"no value `layers.1.raed.weights`; did you mean `layers.1.read.attend.weights`"
    ):
        build_torch(graph_of(DEEP), capture=("layers.1.raed.weights",))


TWICE = """
width seq
width past like seq
depth d = 4
block attend(Q: [seq, d], K: [past, d], V: [past, d]) -> [seq, d] {
    weights = softmax[past](dot[d](Q, K))
    return dot[past](weights, V)
}
model net(x: [seq, d]) -> [seq, d] {
    y = attend.near(x, x[seq as past], x[seq as past])
    z = attend.far(y, x[seq as past], y[seq as past])
    return y + z
}
"""


def test_a_capture_names_one_value() -> None:
    graph = graph_of(TWICE)
    with pytest.raises(CaptureError, match=r"`weights` could be any of `near.weights`, `far.weights`"):
        build_numpy(graph, capture=("weights",))
    x = np.random.default_rng(0).standard_normal((5, 4))
    _, found = build_numpy(graph, capture=("far.weights", "near.weights"))(x)
    assert list(found) == ["far.weights", "near.weights"]
    assert not np.allclose(found["far.weights"].value, found["near.weights"].value)


PATHS = """
width t
width s like t
depth m = 4
block cell(x: [m], h: [m]) -> (h: [m]) {
    z = tanh(x + h)
    return z
}
block att[q: width, k: width like q](x: [q, m]) -> [q, m] {
    y = x[q as k]
    w = softmax[k](dot[m](x, y))
    w = w + 1
    return dot[k](w, y)
}
block lin(x: [m]) -> [m] {
    y = linear.a[m -> m](x)
    return y
}
model f(x: [t, m]) -> [t, m] {
    a = att[t, s](x)
    a = att[t, s](a)
    a = att.near[t, s](a)
    share l = lin
    b = l(a) + l(a + 1)
    repeat.again 2 shared {
        b = lin.inner(b)
    }
    h = scan[t] cell(b, h = 0)
    return h
}
"""
THERE = [
    "a:1", "att:1.y", "att:1.w:1", "att:1.w", "a:2", "att:2.y", "att:2.w:1", "att:2.w", "a", "near.y", "near.w:1",
    "near.w", "l.y", "b:1", "b", "again.b", "again.inner.y", "h",
]  # fmt: skip
FIRST = "; there are " + ", ".join(f"`{path}`" for path in THERE[:8])
NAMED = {  # a path, and the whole path of the value; or what is said of it
    "att:1.w": "att:1.w", "att:2.w": "att:2.w", "att:2.w:2": "att:2.w", "near.w:1": "near.w:1", "l.y": "l.y", "a": "a",
    "a:1": "a:1", "a:3": "a", "b:2": "b", "again.inner.y": "again.inner.y", "near.dot:1": "near.dot:1", "+": "+",
    "h": "h",
    "w": "`w` could be any of `att:1.w`, `att:2.w`, `near.w`",
    "att.w": "`att.w` could be any of `att:1.w`, `att:2.w`",
    "y": "`y` could be any of `att:1.y`, `att:2.y`, `near.y`",
    "z": "there is no value `z`" + FIRST,
    "near.softmax": "there is no value `near.softmax`" + FIRST,
    "b:9": "there is no value `b:9`; did you mean `b:1`?",
    "inner.y": "there is no value `inner.y`; did you mean `near.y` or `again.inner.y` or `l.y`?",
    "att:3.w": "there is no value `att:3.w`; did you mean `att:1.w` or `att:2.w` or `near.w`?",
}  # fmt: skip


def test_what_there_is_to_capture() -> None:
    graph = graph_of(PATHS)
    assert capturable(graph) == THERE and capturable(graph, 3) == THERE[:3]
    more = ["att:1.dot:1", "att:1.dot", "att:2.dot:1", "att:2.dot", "near.dot:1", "near.dot", "+"]
    assert sorted(found.path for found in everything(graph)) == sorted([*THERE, *more])  # each once
    nothing = graph_of("width t\nmodel f(x: [t]) -> [t] {\n    return x\n}\n")
    with pytest.raises(CaptureError, match=r"^capture: there is no value `y`$"):
        resolve(nothing, ("y",))


@pytest.mark.parametrize("path", NAMED)
def test_what_a_path_names(path: str) -> None:
    graph = graph_of(PATHS)
    if " " not in NAMED[path]:
        assert {name: found.path for name, found in resolve(graph, (path,)).items()} == {path: NAMED[path]}
        return
    with pytest.raises(CaptureError) as caught:
        resolve(graph, (path,))
    assert str(caught.value) == f"capture: {NAMED[path]}"


@pytest.mark.parametrize(
    "path", ["layers", "layers.1", "layers.1.read", "layers.2.read.weights", "read.weights", "x.", ""]
)
def test_what_is_no_value_cannot_be_captured(path: str) -> None:
    for build in (build_torch, build_numpy):
        with pytest.raises(CaptureError, match="there is no value"):
            build(graph_of(DEEP), capture=(path,))  # type: ignore[operator]


def test_of_calls_that_share_weights_the_last_is_captured() -> None:
    """With its own axes: the first call is along another width."""
    graph = graph_of("""
width t, s
depth m = 4
block lin(x: [m]) -> [m] {
    y = linear.a[m -> m](x)
    return tanh(y)
}
model f(x: [t, m], z: [s, m]) -> [t, s, m] {
    share l = lin
    return broadcast[s](l(x)) + broadcast[t](l(z))
}
""")
    x, z = random_inputs(graph, (2,), (3, 5), np.float64, 0)
    call = build_numpy(graph, seed=0, dtype=np.float64, capture=("l.y",))
    module = build_torch(graph, seed=0, dtype=torch.float64, capture=("l.y",))
    expected = z @ call.weights["l.a.weight"].T + call.weights["l.a.bias"]
    for _, found in (call(x, z), module(torch.from_numpy(x), torch.from_numpy(z))):
        value, axes = found["l.y"]
        assert axes == ("s", "m")
        found_here = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        np.testing.assert_allclose(found_here, expected)


def test_repeats_without_weights_that_have_one_name_are_told_apart() -> None:
    graph = graph_of("""
depth m = 4
const n = 2
model f(x: [m]) -> [m] {
    repeat n {
        x = x + 1
    }
    repeat n {
        y = tanh(x)
        x = linear.a[m -> m](y)
    }
    repeat n {
        x = 3 * x
    }
    return x
}
""")
    whole = [found.path for found in everything(graph)]
    assert whole == ["x:1", "n:1.0.x", "n:1.1.x", "x:2", "n.0.y", "n.0.x", "n.1.y", "n.1.x", "x", "n:3.0.x", "n:3.1.x"]
    assert [found.path for found in resolve(graph, tuple(whole)).values()] == whole
    with pytest.raises(CaptureError, match=r"`n.0.x:1` could be any of `n:1.0.x`, `n.0.x`, `n:3.0.x`"):
        resolve(graph, ("n.0.x:1",))
    x = np.array([0.5, -1, 2, 0])
    expected = {"n:3.1.x": None, "n:1.0.x": x + 1, "n.0.y": np.tanh(x + 2)}
    call = build_numpy(graph, seed=0, dtype=np.float64, capture=tuple(expected))
    module = build_torch(graph, seed=0, dtype=torch.float64, capture=tuple(expected))
    expected["n:3.1.x"] = call(x)[0]
    for _, found in (call(x), module(torch.from_numpy(x))):
        for path, value in expected.items():
            got = found[path][0]
            np.testing.assert_allclose(got.detach() if isinstance(got, torch.Tensor) else got, value)


def test_seeds() -> None:
    graph = graph_of(CROSS)
    one, two = build_torch(graph, seed=1), build_torch(graph, seed=2)
    assert (one.get_parameter("multihead.Q.weight") != two.get_parameter("multihead.Q.weight")).all()
    again = build_torch(graph, seed=1)
    assert all((a == b).all() for a, b in zip(one.parameters(), again.parameters(), strict=True))


def test_a_model_computes_in_reals() -> None:
    """Integer weights would be cut off to zeros without a word."""
    model = attnc.loads(
        "width q\ndepth d = 2\nblock f(x: [q, d]) -> [q, d] {\n    return linear.W[d -> d](x)\n}\n"
    ).block("f")
    with pytest.raises(TypeError, match="computes in reals"):
        model.numpy(seed=0, dtype="int32")
    with pytest.raises(TypeError, match="computes in reals"):
        model.torch(seed=0, dtype=torch.int32)
    for build in (model.numpy, model.torch):
        with pytest.raises(TypeError, match=r"^dtype is .*flaot32.*computes in reals"):
            build(seed=0, dtype="flaot32")
        build(seed=0, dtype="float64")


KINDS = """
width t
width s like t
depth m = 4
const layers = 4
model f(x: [t, m]) -> [t, m] {
    repeat i in layers {
        near = s <= t and (i % 2 == 1 or t - s < 2)
        y = x[t as s]
        x = x + dot[s](softmax[s](dot[m](x, y) where near), y)
    }
    return x
}
"""


BEHIND_A_SCAN = """
width t
depth m = 4
block cell(x: [m], h: [m]) -> (h: [m]) {
    return tanh(x + h)
}
block lin(x: [m]) -> [m] {
    y = linear.a[m -> m](x)
    return tanh(y)
}
model f(x: [t, m]) -> [t, m] {
    h = scan[t] cell(x, h = 0)
    y = lin.one(h)
    h = scan[t] cell(y, h = 0)
    repeat.r 2 {
        h = lin.two(h)
    }
    return h
}
"""

# Not those with ops that are nowhere, values of called models under one path, or widths that not all inputs fit.
LEFT_OUT = ("ops_of_their_own", "model outer", "model widths", "model ragged(")


@pytest.mark.parametrize(
    "text", [text for text in [*PROGRAMS, BEHIND_A_SCAN, *SPECS[95:119]] if not any(name in text for name in LEFT_OUT)]
)
def test_every_value_can_be_captured(text: str) -> None:
    """Numbers, tables, results of calls, passes and scans; the result stays what it is without."""
    spec = attnc.loads(text)
    for name in spec.models:
        graph = spec.model(name)._sized
        names = Counter(found.path for found in everything(fold_truths(graph)[0]))
        paths = tuple(path for path, times in names.items() if times == 1)
        inputs = random_inputs(graph, (2,), (5, 7, 3))
        plain = build_numpy(graph, seed=1, dtype=np.float64)(*inputs)
        same, here = build_numpy(graph, seed=1, dtype=np.float64, capture=paths)(*inputs)
        module = build_torch(graph, seed=1, dtype=torch.float64, capture=paths).eval()
        _, there = module(*map(torch.tensor, inputs))
        assert list(here) == list(there) == list(paths)
        for a, b in zip(*((x,) if isinstance(x, np.ndarray) else x for x in (plain, same)), strict=True):
            close(a, b, 1e-9, "with captures and without")
        for path in paths:
            assert here[path].axes == there[path].axes and here[path].value.shape[:1] == (2,)
            assert here[path].value.ndim == 1 + len(here[path].axes)
            close(there[path].value.detach().numpy(), np.asarray(here[path].value), 1e-9, path)


def test_of_calls_of_one_model_the_last_is_captured_and_models_are_not_told_apart() -> None:
    text = "width t\nmodel a(x: [t]) -> [t] {\n    y = x * 2\n    return y + 1\n}\n"
    graph = graph_of(text + "model b(x: [t]) -> [t] {\n    return a(x) + a(a(x))\n}\n")
    x = np.array([1.0, -2.0])
    _, here = build_numpy(graph, dtype=np.float64, capture=("y",))(x)
    _, there = build_torch(graph, dtype=torch.float64, capture=("y",))(torch.tensor(x))
    for found in (here, there):
        np.testing.assert_allclose(found["y"].value, 2 * (2 * x + 1))
    other = text + text.removeprefix("width t\n").replace("model a", "model c")
    graph = graph_of(other + "model b(x: [t]) -> [t] {\n    return a(x) + c(a(x))\n}\n")
    with pytest.raises(CaptureError, match=r"^capture: 2 values are called `y`, in models that this one calls$"):
        build_numpy(graph, capture=("y",))


def test_of_passes_of_several_kinds_one_may_be_captured() -> None:
    graph = graph_of(KINDS)
    x = np.random.default_rng(0).standard_normal((2, 5, 4))
    _, all_of_them = build_numpy(graph, seed=0, capture=("layers.0.near", "layers.1.near", "layers.3.softmax"))(x)
    for paths in (("layers.1.near",), ("layers.0.near",), ("layers.3.softmax", "layers.1.near")):
        _, here = build_numpy(graph, seed=0, capture=paths)(x)
        _, there = build_torch(graph, seed=0, dtype=torch.float64, capture=paths)(torch.tensor(x))
        assert list(here) == list(there) == list(paths)
        for path in paths:
            np.testing.assert_allclose(here[path].value, all_of_them[path].value, atol=1e-12)
            np.testing.assert_allclose(there[path].value, here[path].value, atol=1e-12)
    seen = all_of_them["layers.1.near"].value[0]
    assert (seen == np.tri(5, dtype=bool).T).all() or (seen == np.tri(5, dtype=bool)).all()
    assert all_of_them["layers.0.near"].value[0].sum() == 9


def test_an_axis_that_a_capture_names_has_its_extent() -> None:
    """Also where the values are alike along it, for the argument of the block was broadcast."""
    text = "width t\ndepth a = 2\nblock b[g: depth](x: [t, g]) -> [t, g] {\n    u = x * 2\n    return exp(u)\n}\n"
    graph = graph_of(text + "model f(x: [t]) -> [t, a] {\n    w = b[a](broadcast[a](x))\n    return w * 1\n}\n")
    x = np.random.default_rng(0).standard_normal((2, 3))
    _, here = build_numpy(graph, dtype=np.float64, capture=("b.u", "w"))(x)
    _, there = build_torch(graph, dtype=torch.float64, capture=("b.u", "w"))(torch.tensor(x))
    for path, axes, of in (("b.u", ("t", "g"), 2 * x), ("w", ("t", "a"), np.exp(2 * x))):
        for found in (here[path], there[path]):
            assert found.axes == axes and found.value.shape == (2, 3, 2)
            np.testing.assert_allclose(np.asarray(found.value), of[..., None] + np.zeros(2))


def test_what_nothing_reads_is_captured_too() -> None:
    """A call whose result nothing reads was left out; one number without a batch could not be laid out."""
    text = """
width seq
depth d = 3
block deep(x: [seq, d]) -> [] {
    total = sum[d, seq](x)
    return total * 2
}
block more(x: [seq, d]) -> [d] {
    inner = x * 3
    return sum[seq](inner)
}
model net(x: [seq, d]) -> [seq, d] {
    unread = deep(x)
    also = max(more(x), 0) + 1
    return x
}
"""
    paths, x = ("deep.total", "more.inner", "unread"), np.arange(6.0).reshape(2, 3)
    model = attnc.loads(text).model("net")
    for _, seen in (model.numpy(capture=paths)(x), model.torch(capture=paths)(torch.as_tensor(x).float())):
        assert [float(np.asarray(seen[path].value).sum()) for path in paths] == [15, 45, 30]


def test_a_truth_that_a_repeat_carries() -> None:
    """It was the variable that the loop bound: `True = layer(True)`."""
    text = """
depth d = 2
const n = 3
block flip(x: [d], keep: bool[d] = true) -> [d] {
    repeat n {
        keep = not keep
    }
    return select(keep, x, -x)
}
model net(x: [d]) -> [d] {
    return flip(x)
}
"""
    model, x = attnc.loads(text).model("net"), np.array([1.0, -2.0])
    np.testing.assert_array_equal(model.numpy()(x), -x)
    np.testing.assert_array_equal(model.torch()(torch.as_tensor(x).float()), -x)


def test_inside_of_a_model_that_a_block_calls() -> None:
    """A model adds nothing to a path, but its caller does: what is in it stands, as its weights do, under the block."""
    text = """
width t
depth d = 3
model inner(x: [t, d]) -> [t, d] {
    y = linear.W[d -> d](x)
    return x + y
}
block outer(x: [t, d]) -> [t, d] {
    return inner(x)
}
model net(x: [t, d]) -> [t, d] {
    repeat.again 2 shared {
        x = outer(x)
    }
    return x
}
"""
    model, x = attnc.loads(text).model("net"), np.arange(6.0).reshape(2, 3)
    given = {"again.outer.W.weight": np.eye(3), "again.outer.W.bias": np.ones(3)}
    net = model.torch(weights=given, dtype=torch.float64, capture=("again.outer.y",))
    with torch.no_grad():
        found = [model.numpy(given, capture=("again.outer.y",))(x), net(torch.as_tensor(x))]
    for result, seen in found:
        np.testing.assert_allclose(seen["again.outer.y"].value, 2 * x + 2)  # of the last pass
        np.testing.assert_allclose(result, 4 * x + 3)
