"""First values of weights, and how a model that has been built takes weights, types, devices and names."""

from __future__ import annotations

import copy
import gc
import inspect
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import attnc
from attnc.backends import WeightsError
from attnc.backends.loading import load
from attnc.backends.loading.init import initial, initial_weights
from attnc.backends.loading.load import build_torch, function_name, laid_out, run_source
from attnc.compiler.graph.inventory import inventory

from .agreement import graph_of

Array = np.ndarray[Any, np.dtype[Any]]
build_numpy: Any = load.build_numpy  # what it gives has attributes besides
KINDS = """
width t
depth m = 64, n = 36, heads = 8
model f(x: [t, m]) -> [t, n] {{
    param W: [m, n]{init}
    return dot[m](x, W)
}}
"""


def drawn(init: str = "", seed: int = 0) -> Array:
    graph = graph_of(KINDS.format(init=init))
    return initial(inventory(graph)["W"], seed)


INITS: dict[str, Callable[[Array], bool]] = {
    " ~ zeros": lambda x: bool((x == 0).all()),
    " ~ ones": lambda x: bool((x == 1).all()),
    " ~ constant(2.5)": lambda x: bool((x == 2.5).all()),
    " ~ normal(1)": lambda x: 0.97 < x.std() < 1.03 and abs(x.mean()) < 0.07 and np.abs(x).max() > 3,
    " ~ normal(0.5)": lambda x: 0.48 < x.std() < 0.52 and np.abs(x).max() > 1.5,
    " ~ uniform(0.3)": lambda x: 0.295 < x.max() < 0.3 and -0.3 < x.min() < -0.295 and 0.16 < x.std() < 0.18,
}


@pytest.mark.parametrize("init", INITS)
def test_first_values(init: str) -> None:
    found = drawn(init)
    assert found.shape == (64, 36) and found.dtype == np.float64 and INITS[init](found)


def test_first_values_of_maps() -> None:
    """`default` is within 1 / sqrt(inputs) as nn.Linear's, biases too; `xavier` within sqrt(6 / (inputs + outputs))."""
    graph = graph_of(
        "width t\ndepth m = 64, n = 36, h = 2, g = 2, v = 9\nmodel f(x: [t, m], i: v[t]) -> [t, g, n] {\n"
        "    param p: [m, n] ~ xavier\n"
        "    y = linear.a[m -> h, n](x) + linear.b[m -> h, n](x, init = xavier) + broadcast[h](dot[m](x, p))\n"
        "    z = linear.c[h, n -> g, n](y)\n"
        "    return linear.d[g: n -> n](z) + embed.E[v -> g, n](i)\n}\n"
    )
    wanted = {
        "a.weight": 64**-0.5, "a.bias": 64**-0.5, "b.weight": (6 / (64 + 72)) ** 0.5, "c.weight": 72**-0.5,
        "c.bias": 72**-0.5, "p": (6 / (64 + 36)) ** 0.5, "d.weight": 36**-0.5, "d.bias": 36**-0.5,
    }  # fmt: skip
    found = initial_weights(inventory(graph), 0)
    for path, bound in wanted.items():
        assert 0.88 * bound < found[path].max() <= bound and -bound <= found[path].min() < -0.88 * bound, path
        assert abs(found[path].mean()) < 0.2 * bound
    assert (found["b.bias"] == 0).all()
    assert 0.9 < found["E.weight"].std() < 1.1  # as nn.Embedding's
    torch.manual_seed(0)
    drawn_by_torch = {path: value.numpy() for path, value in build_torch(graph).state_dict().items()}
    for path, bound in wanted.items():
        assert 0.88 * bound < np.abs(drawn_by_torch[path]).max() <= bound * (1 + 1e-6), path
    assert (drawn_by_torch["b.bias"] == 0).all() and 0.9 < drawn_by_torch["E.weight"].std() < 1.1


def test_a_seed_means_the_same_values_for_ever() -> None:
    """They hang on the seed, the path and the shape alone: not on other weights, nor on the release."""
    np.testing.assert_allclose(
        drawn(" ~ normal(1)", 3)[0, :3], [-0.11636044152376371, -0.4642353785825255, -0.06485831479316759]
    )
    np.testing.assert_allclose(
        drawn(" ~ uniform(1)", 3)[0, :3], [0.7826175309594126, 0.5906710846051388, 0.5566597425604893]
    )
    more = graph_of(
        KINDS.format(init=" ~ normal(1)")
        .replace("param W", "param A: [n]\n    param W")
        .replace("(x, W)", "(x, W) + A")
    )
    np.testing.assert_array_equal(initial(inventory(more)["W"], 3), drawn(" ~ normal(1)", 3))
    assert (initial(inventory(more)["A"], 3)[:3] != drawn(" ~ normal(1)", 3)[0, :3]).all()


TEXT = "width t\ndepth m = 3\nmodel f(x: [t, m]) -> [t, m] {\n    return linear.w[m -> m](x)\n}\n"


def test_weights_are_copied() -> None:
    graph = graph_of(TEXT)
    weights = initial_weights(inventory(graph), 0)
    before = {path: value.copy() for path, value in weights.items()}
    call, module = build_numpy(graph, weights=weights), build_torch(graph, weights=weights)
    for value in weights.values():
        value[...] = 0
    for path, value in before.items():
        np.testing.assert_array_equal(call.weights[path], value)
        np.testing.assert_allclose(module.state_dict()[path], value, rtol=1e-6)
    call.weights["w.bias"][...] = 5
    assert (weights["w.bias"] == 0).all()


def test_weights_of_other_types() -> None:
    graph = graph_of(TEXT)
    halves = {path: torch.ones(spec.shape, dtype=torch.bfloat16) / 3 for path, spec in inventory(graph).items()}
    call = build_numpy(graph, weights=halves)
    module = build_torch(graph, weights=halves, dtype=torch.float64)
    for path in halves:
        assert call.weights[path].dtype == np.float32 and float(call.weights[path].flat[0]) == float(
            halves[path].flatten()[0]
        )
        assert module.state_dict()[path].dtype == torch.float64
    learned = {path: torch.nn.Parameter(x.float().t().contiguous().t()) for path, x in halves.items()}
    np.testing.assert_array_equal(build_numpy(graph, weights=learned).weights["w.weight"], halves["w.weight"].float())
    assert not any(value.requires_grad is False for value in build_torch(graph, weights=learned).parameters())
    assert build_numpy(graph, seed=0, dtype="float16").weights["w.bias"].dtype == np.float16


@pytest.mark.parametrize("dtype", [">f4", "<f8", ">f8", "longdouble", "f2"])
def test_weights_of_other_bytes(dtype: str) -> None:
    """As they come from files of other machines, and from arithmetic of more digits."""
    graph = graph_of(TEXT)
    given = {path: np.asfortranarray(x.astype(dtype)) for path, x in initial_weights(inventory(graph), 0).items()}
    call, module = build_numpy(graph, weights=given, dtype="f8"), build_torch(graph, weights=given, dtype="float64")
    for path, x in given.items():
        np.testing.assert_array_equal(call.weights[path], x.astype("f8"))
        np.testing.assert_array_equal(module.state_dict()[path].numpy(), x.astype("f8"))


def test_the_type_is_that_of_the_weights() -> None:
    """The one that holds them all: nothing is rounded, nor widened, that nobody asked for."""
    graph = graph_of(TEXT)
    drawn = initial_weights(inventory(graph), 0)
    ways: dict[str, Callable[[Array], Any]] = {
        "float16": lambda x: x.astype("f2"),
        "bfloat16": lambda x: x.astype(ml_dtypes.bfloat16),
        "float32": lambda x: torch.from_numpy(x).float(),
        "float64": lambda x: x.astype(">f8"),
        "torch's": lambda x: torch.from_numpy(x).bfloat16(),
        "an eighth": lambda x: x.astype(ml_dtypes.float8_e4m3fn),
        "longer": lambda x: x.astype(np.longdouble),
        "lists": lambda x: x.tolist(),
    }
    expected = {
        ("float16", "float16"): torch.float16,
        ("bfloat16", "torch's"): torch.bfloat16,
        ("bfloat16", "float16"): torch.float32,
        ("float16", "float32"): torch.float32,
        ("float32", "float64"): torch.float64,
        ("bfloat16", "longer"): torch.float64,
        ("an eighth", "an eighth"): torch.float32,
        ("lists", "lists"): torch.float32,
    }
    for kinds, dtype in expected.items():
        given = {path: ways[kind](x) for (path, x), kind in zip(drawn.items(), kinds, strict=True)}
        module, call = build_torch(graph, weights=given), build_numpy(graph, weights=given)
        assert {value.dtype for value in module.state_dict().values()} == {dtype}, kinds
        assert {value.dtype.name for value in call.weights.values()} == {
            "float64" if dtype == torch.float64 else "float32"
        }
        for path, value in given.items():
            exact = value.double().numpy() if isinstance(value, torch.Tensor) else np.asarray(value).astype("f8")
            np.testing.assert_allclose(module.state_dict()[path].double(), exact, rtol=1e-6)
            np.testing.assert_allclose(call.weights[path], exact, rtol=1e-6)
        assert {value.dtype for value in build_torch(graph, weights=given, dtype="float32").parameters()} == {
            torch.float32
        }


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (np.ones((3, 3), complex), "complex128"),
        (torch.ones(3, 3, dtype=torch.complex64), "torch.complex64"),
        (np.full((3, 3), None), "object"),
        (np.full((3, 3), "a"), "<U1"),
        (np.full((3, 3), "2026-01-01", "M8[D]"), "datetime64[D]"),
        (np.ones((3, 3), "i1"), "int8"),
        (torch.ones(3, 3, dtype=torch.int64), "torch.int64"),
        (torch.ones(3, 3, dtype=torch.bool), "torch.bool"),
        (torch.empty(3, 3, device="meta"), "a tensor without numbers, on meta"),
    ],
)
@pytest.mark.parametrize("build", [build_torch, build_numpy])
def test_weights_are_real_numbers(build: Any, odd: Any, said: str) -> None:
    with pytest.raises(WeightsError) as caught:
        build(graph_of(TEXT), weights={"w.weight": odd, "w.bias": np.zeros(3)})
    assert str(caught.value).splitlines()[1:] == [f"  no real numbers: w.weight [m = 3, m = 3], but given {said}"]


def test_weights_in_a_file_stay_there(tmp_path: Path) -> None:
    """Each model has a mapping of its own: no one sees what another writes, and the file stays as it is."""
    graph, path = graph_of(TEXT), tmp_path / "w.safetensors"
    drawn = {path: x.astype("f4") for path, x in initial_weights(inventory(graph), 0).items()}
    attnc.weights.save(path, drawn)
    before, given = path.read_bytes(), attnc.weights.load(path)
    one, other = build_torch(graph, weights=given), build_torch(graph, weights=given)
    with torch.no_grad():
        for value in one.parameters():
            value += 1
    for name, x in drawn.items():
        np.testing.assert_array_equal(one.state_dict()[name], x + 1)
        np.testing.assert_array_equal(other.state_dict()[name], x)
        np.testing.assert_array_equal(given[name], x)
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            given[name].flags.writeable = True
    assert path.read_bytes() == before
    turned = {name: x.T for name, x in given.items()}
    assert all(value.is_contiguous() for value in build_torch(graph, weights=turned).parameters())
    np.testing.assert_array_equal(build_torch(graph, weights=turned).state_dict()["w.weight"], drawn["w.weight"].T)

    attnc.weights.save(path, {name: x * 0 for name, x in drawn.items()})  # what was loaded is still what it was
    late, call = build_torch(graph, weights=given), build_numpy(graph, weights=given)
    path.unlink()
    later = build_torch(graph, weights=given)
    for name, x in drawn.items():
        for found in (late.state_dict(), later.state_dict(), call.weights, other.state_dict()):
            np.testing.assert_array_equal(found[name], x)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux shows them")
def test_each_file_is_open_once_for_a_model(tmp_path: Path) -> None:
    """However many weights it has: a process may open some thousand files."""
    text = "width t\ndepth m = 3\nconst n = 200\nmodel f(x: [t, m]) -> [t, m] {\n"
    model = attnc.loads(text + "    repeat n { x = linear.w[m -> m](x) }\n    return x\n}\n").model("f")
    attnc.weights.save(tmp_path / "w", model.numpy(seed=0).weights)  # type: ignore[attr-defined]

    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    before, given = opened(), attnc.weights.load(tmp_path / "w")
    one, other, _ = model.torch(weights=given), model.torch(weights=given), model.numpy(given)
    assert opened() <= before + 3
    assert torch.equal(one(torch.ones(2, 3)), other(torch.ones(2, 3)))
    del one, other, given
    gc.collect()
    assert opened() == before


MEASURE = """
import sys
import attnc, numpy as np, torch

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024

def model(size):
    text = "width t\\ndepth m = 1\\nmodel f(x: [t, m]) -> [t, m] { return linear.b[m -> m](linear.a[m -> m](x)) }"
    return attnc.loads(text, sizes={"m": size}).model("f")

def run(model, weights):
    WAY

small, large = model(64), model(4096)
zeros = lambda one, dtype: {path: np.zeros(spec.shape, dtype) for path, spec in one.weights.items()}
attnc.weights.save("small", zeros(small, sys.argv[1]))
run(small, attnc.weights.load("small"))
given = attnc.weights.load("large")
large.source("torch"), large.source("numpy")
before = peak()
kept = run(large, given)
print((peak() - before) / sum(spec.size for spec in large.weights.values()) / 4)
"""
MAP = "attnc.weights.Map.parse('a.* -> b.*\\nb.* -> a.*')"
TURNED = MAP.replace("a.*", "a.* : transpose", 1).replace("a.* : transpose -> b.*", "a.* -> b.* : transpose")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures memory as Linux shows it")
@pytest.mark.parametrize(
    ("way", "dtype", "most"),  # in sizes of the model in float32
    [
        ("return model.torch(weights=weights)", "float32", 0.05),
        ("return model.torch(weights=weights)", "float16", 0.05),
        (f"return model.torch(weights=attnc.weights.convert(weights, {MAP}, model))", "float32", 0.05),
        (f"return model.torch(weights=attnc.weights.convert(weights, {TURNED}, model))", "float32", 1.05),
        ("return model.torch(weights=weights, dtype='float32')", "float16", 1.3),
        ("return model.torch(device='meta', weights=weights)", "float32", 0.05),
        ("return model.torch(device='meta')", "float32", 0.05),
        ("return model.torch(device='meta', seed=0)", "float32", 0.05),
        ("return model.numpy(weights)", "float32", 1.55),
        (f"attnc.weights.save('out', attnc.weights.convert(weights, {TURNED}, model))", "float32", 1.05),
    ],
)
def test_memory_that_loading_takes(way: str, dtype: str, most: float, tmp_path: Path) -> None:
    """At most, in a process of its own; pages of the file that were read count."""
    spec = {f"{name}.{kind}": (4096,) * n for name in "ab" for kind, n in (("weight", 2), ("bias", 1))}
    attnc.weights.save(tmp_path / "large", {path: np.zeros(shape, dtype) for path, shape in spec.items()})
    command = [sys.executable, "-P", "-c", MEASURE.replace("WAY", way), dtype]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert float(done.stdout) < most


DRAWN = """
width t
depth m = 64, n = 36, v = 50
model f(i: v[t]) -> [t, n] {
    param p: [m] ~ constant(2.5)
    param q: [m, n] ~ normal(0.5)
    x = layernorm.norm[m](embed.E[v -> m](i) + p)
    y = linear.a[m -> n](x) + linear.b[m -> n](x, init = xavier) + dot[m](x, q)
    return linear.reset_parameters[n -> n](y)
}
"""


def test_weights_that_are_given_are_not_drawn() -> None:
    """In a process of its own: to draw on the device "meta" would load PyTorch's compiler, for a second."""
    text = (
        "import sys, attnc, torch\n"
        f"model = attnc.loads({DRAWN.replace('reset_parameters', 'c')!r}).model('f')\n"
        "given = model.torch(seed=0).state_dict()\n"
        "net = model.torch(weights=given)\n"
        "assert all(torch.equal(given[name], one) for name, one in net.state_dict().items())\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_model_on_meta_is_drawn_where_it_is_put() -> None:
    for text in (DRAWN.replace("reset_parameters", "c"), KINDS.format(init=" ~ uniform(0.3)")):
        model = attnc.loads(text).model("f")
        net: Any = model.torch(device="meta", dtype="float64")
        assert {(value.device.type, value.dtype) for value in net.state_dict().values()} == {("meta", torch.float64)}
        net.to_empty(device="cpu")
        for value in net.parameters():
            torch.nn.init.constant_(value, math.nan)
        torch.manual_seed(0)
        net.reset_parameters()
        found = {path: value.numpy() for path, value in copy.deepcopy(net).state_dict().items()}
        for path, expected in initial_weights(model.weights, 0).items():
            x, most = found[path], 1.4 * np.abs(expected).max()
            assert abs(x.std() - expected.std()) <= 0.3 * expected.std() and np.abs(x).max() <= most, path
            assert abs(x.mean() - expected.mean()) <= 0.5 * expected.std(), path
        torch.manual_seed(0)
        twin: Any = copy.deepcopy(net)
        twin.reset_parameters()
        assert all(np.array_equal(value, found[path]) for path, value in twin.state_dict().items())
        twin.reset_parameters()  # its own, not those of what it was copied from
        assert all(np.array_equal(value, found[path]) for path, value in net.state_dict().items())


def test_a_label_called_reset_parameters_is_the_users() -> None:
    net: Any = attnc.loads(DRAWN).model("f").torch(seed=0)
    assert isinstance(net.reset_parameters, torch.nn.Linear)
    assert net(torch.zeros(3, dtype=torch.long)).shape == (3, 36)


def test_without_a_seed() -> None:
    graph = graph_of(TEXT)
    first = build_numpy(graph)
    np.testing.assert_array_equal(first.weights["w.weight"], build_numpy(graph, seed=0).weights["w.weight"])
    torch.manual_seed(1)
    one = build_torch(graph).state_dict()["w.weight"]
    assert not torch.equal(one, build_torch(graph).state_dict()["w.weight"])
    torch.manual_seed(1)
    assert torch.equal(one, build_torch(graph).state_dict()["w.weight"])


def test_so_many_mistakes_that_not_all_are_shown() -> None:
    graph = graph_of(TEXT)
    weights = initial_weights(inventory(graph), 0)
    for extra, shown in ((39, 39), (40, 40), (41, 41), (42, 41)):
        given = weights | {f"extra{number}": np.zeros(1) for number in range(extra)}
        with pytest.raises(WeightsError) as caught:
            build_numpy(graph, weights=given)
        lines = str(caught.value).splitlines()
        assert lines[0] == "the weights do not fit the model:" and len(lines) == 1 + shown
        assert (lines[-1] == f"  and {extra - 40} more") == (extra > 40)


def test_generated_code_runs_as_a_module_with_its_source() -> None:
    source = "def helper():\n    return 1\n\n\nfrom os.path import join\n\n\ndef model():\n    return helper()\n"
    module = run_source(source, "some")
    assert run_source(source, "some") is module and sys.modules[module.__name__] is module
    assert run_source(source + "\n", "some") is not module and run_source(source, "other") is not module
    annotated = run_source("def model(x: int) -> float:\n    return x / 2\n", "annotated")
    assert annotated.model.__annotations__ == {"x": int, "return": float}  # no strings: nothing of ours is inherited
    assert inspect.getsource(module.model) == "def model():\n    return helper()\n"
    assert function_name(module) == "model" and module.__name__.startswith("attnc_generated_some_")
    assert (
        function_name(run_source(source.replace("def model", "def a") + "from os.path import split\n", "some")) == "a"
    )


def test_what_a_compiled_model_has() -> None:
    call: Any = build_numpy(graph_of(TEXT), seed=0)
    for name in ("prepare", "step", "generate", "stream", "whatever"):
        with pytest.raises(AttributeError, match=f"^a compiled model has no attribute '{name}'$"):
            getattr(call, name)
    assert call.module.__name__.startswith("attnc_generated_f_") and list(call.weights) == ["w.weight", "w.bias"]


NAMED = """
width lambda
depth vocab = 5, d = 3
model f(self: vocab[lambda], from: [d], np: bool[lambda] = true) -> [lambda, vocab] causal lambda {
    param E: [vocab, d]
    x = select(np, E[vocab = self], 0) + broadcast[lambda](from)
    return dot[d](cumsum[lambda](x), E)
}
"""


def test_inputs_by_the_names_of_the_spec_in_every_method() -> None:
    model = attnc.loads(NAMED).model("f")
    ids, offset = np.array([[1, 2, 0, 4]]), np.array([[0.5, -1.0, 2.0]])
    plain: Any = model.numpy(seed=0, dtype="float64")
    deep: Any = model.torch(seed=0, dtype=torch.float64)
    whole = plain(**{"self": ids, "from": offset})
    np.testing.assert_allclose(deep(**{"self": torch.tensor(ids), "from": torch.tensor(offset)}).detach(), whole)
    np.testing.assert_allclose(deep(torch.tensor(ids), torch.tensor(offset)).detach(), whole)
    np.testing.assert_allclose(plain(ids, offset), whole)
    for side, wrap in ((plain, np.asarray), (deep, torch.tensor)):
        cache = side.prepare(**{"from": wrap(offset)})
        found = [side.step(**{"self": wrap(ids[:, at : at + 2]), "cache": cache}) for at in (0, 2)]
        np.testing.assert_allclose(np.concatenate(found, 1), whole, rtol=1e-9)
        new = side.generate(ids[:, :2], 3, **{"from": wrap(offset)})
        assert (
            new.shape == (1, 3)
            and [int(x[0]) for x in side.stream(ids[:, :2], 3, **{"from": wrap(offset)})] == new[0].tolist()
        )
    assert type(deep).__name__ == "F" and type(deep).__module__.startswith("attnc_generated_f_")


def test_where_weights_lie() -> None:
    """One after another, each from a line of the cache on; those that are read together in one array of their own."""
    shapes = {"a": (3,), "q": (2, 4), "b": (5, 7), "k": (3, 4), "u": (1, 4), "v": (2, 4), "last": (16,), "end": ()}
    given = {path: np.arange(math.prod(shape)).reshape(shape) + 100 for path, shape in shapes.items()}
    together = [("q", "k"), ("u", "v"), ("k", "u"), ("a", "a")]  # of what lies in one array already nothing is made
    for dtype, line in ((np.dtype("float32"), 16), (np.dtype("float64"), 8), (np.dtype("float16"), 32)):
        arrays = laid_out(shapes, given, dtype, together)
        assert list(arrays) == list(shapes)
        assert all((arrays[path] == given[path]).all() and arrays[path].dtype == dtype for path in shapes)
        first = arrays["a"].__array_interface__["data"][0]
        at = {path: (array.__array_interface__["data"][0] - first) // dtype.itemsize for path, array in arrays.items()}
        sizes = [("a", 3), ("q", 8 + 12), ("b", 35), ("u", 4 + 8), ("last", 16), ("end", 1)]
        ends = [0]
        for _, size in sizes:
            ends.append(ends[-1] + -(-size // line) * line)
        expected = {path: place for (path, _), place in zip(sizes, ends, strict=False)}
        assert at == expected | {"k": expected["q"] + 2, "v": expected["u"] + 4}
        # five results of four operands lie operand by operand, three of four result by result
        assert [stride // dtype.itemsize for stride in (*arrays["q"].strides, *arrays["v"].strides)] == [1, 5, 4, 1]
