"""What users get wrong when they decode: one message in their names, and nothing half done."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from tests.backends.written import run_alone

SPEC = """
width seq <= 6
width past like seq
width source
depth model = 4, vocab = 5, word = 7

model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model]
    x = E[vocab = ids]
    w = softmax[past](dot[model](x, x[seq as past]) where past <= seq)
    return dot[model](dot[past](w, x[seq as past]), E)
}

model two(words: word[source], ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model]
    param W: [word, model]
    memory = W[word = words]
    x = E[vocab = ids]
    return dot[model](x + dot[source](softmax[source](dot[model](x, memory)), memory), E)
}
"""


class Side:
    """One backend: its models, and arrays of it."""

    def __init__(self, name: str) -> None:
        spec = attnc.loads(SPEC)
        models = [spec.model(which) for which in ("lm", "two")]
        if name == "torch":
            self.lm, self.two = (model.torch(seed=0).eval() for model in models)
        else:
            self.lm, self.two = (model.numpy(seed=0) for model in models)
        self.array: Callable[[Any], Any] = torch.tensor if name == "torch" else np.array


@pytest.fixture(scope="module", params=["torch", "numpy"])
def side(request: pytest.FixtureRequest) -> Side:
    return Side(request.param)


def begun(side: Side, rows: int = 2) -> Any:
    cache = side.lm.prepare()
    side.lm.step(side.array([[1]] * rows), cache)
    return cache


# How it is got wrong, the error, and what its message says.
STEPS: list[tuple[Callable[[Side], object], type[Exception], str]] = [
    (lambda s: s.lm.step(s.array([[1]] * 3), begun(s)), ValueError, r"`ids` has the batch axes \(3,\), .* has \(2,\)"),
    (
        lambda s: s.lm.step(s.array([1]), begun(s)),
        ValueError,
        r"`ids` has the batch axes \(\), but its cache has \(2,\)",
    ),
    (lambda s: s.lm.step(s.array([[1]]), {}), TypeError, "goes on from what `prepare` .* but got a dict"),
    (lambda s: s.lm.step(s.array([[1]]), s.two.prepare(words=s.array([[1]]))), TypeError, "got that of `two`"),
    (lambda s: s.lm.step(s.array([[1]] * 2), begun(s), last=-1), ValueError, "last is -1, but must be a whole"),
    (
        lambda s: s.lm.step(s.array([[1] * 6] * 2), begun(s)),
        ValueError,
        "seq = 7 after this step, but seq is at most 6",
    ),
    (lambda s: begun(s).reorder(s.array([0, 2])), IndexError, r"lm: reorder: 2 is no row of the batch \(0\.\.1\)"),
    (lambda s: begun(s).reorder(s.array([-1])), IndexError, "-1 is no row of the batch"),
    (lambda s: s.lm.prepare().reorder(s.array([0])), ValueError, "the cache has no batch, or no step yet"),
    (lambda s: s.lm.generate("abc", 2), TypeError, "`ids` must hold integers, indices into vocab"),
    (lambda s: s.lm.generate([[1, 2], [[3]]], 2), ValueError, "prompt 1 has rank 2, but a prompt is"),
    (lambda s: s.lm.generate([[1, 2], []], 2), ValueError, "`ids`, prompt 1 is empty: it needs at least one"),
    (lambda s: s.lm.generate([[1, 2], [0.5]], 2), TypeError, "`ids`, prompt 1 is .*float"),
    (lambda s: s.lm.generate([1, [2, 3]], 2), TypeError, "`ids` must hold integers"),
    (lambda s: s.lm.generate([["a"]], 2), TypeError, "must hold integers"),
    (lambda s: s.lm.generate(None, 2), (TypeError, ValueError), "`ids`"),  # type: ignore[list-item]
    (lambda s: s.lm.generate(3, 2), ValueError, r"`ids` is one number, but a prompt is \[seq\], or .*: \[3\]"),
    (lambda s: s.lm.generate(torch.tensor(1), 2), ValueError, r"`ids` is one number, but a prompt is .*: \[1\]"),
    (lambda s: next(s.lm.stream(np.array(4), 2)), ValueError, r"`ids` is one number, but a prompt is .*: \[4\]"),
    (lambda s: s.lm.generate([1], 2, temperature=1, seed="a"), ValueError, "seed is 'a', but must be a whole number"),
    (lambda s: s.lm.generate([1], 2, temperature=1, seed=True), ValueError, "seed is True, but must be a whole"),
    (lambda s: s.lm.generate([1], 2, temperature=1, seed=1.5), ValueError, "seed is 1.5, but must be a whole"),
    (lambda s: s.lm.generate([1], np.array([1, 2])), ValueError, r"max_new is array\(\[1, 2\]\), but must be a whole"),
    (lambda s: s.lm.generate([1], 2, top_k=2), ValueError, "with temperature 0 nothing is drawn"),
    (
        lambda s: s.two.generate([1], 2, words=s.array([[1], [2]])),
        ValueError,
        r"batch axes \(2,\), but there is one pr",
    ),
    (
        lambda s: s.two.generate([[1], [2]], 2, words=s.array([[1]])),
        ValueError,
        "`words` has the batch 1, but there are 2",
    ),
    (
        lambda s: s.two.generate([1], 2, beams=2, words=s.array([[1], [2]])),
        ValueError,
        r"two: the other inputs have the batch axes \(2,\), but there is one prompt, without a batch",
    ),
]


@pytest.mark.parametrize("place", range(len(STEPS)))
def test_misuse(side: Side, place: int) -> None:
    call, error, message = STEPS[place]
    with pytest.raises(error, match=message):
        call(side)


@pytest.mark.parametrize("number", [np.int64, np.int32, np.array, torch.tensor])
def test_numbers_of_numpy_and_pytorch_are_numbers(side: Side, number: Callable[[int], Any]) -> None:
    one, two = number(1), number(2)
    expected = side.lm.generate([1, 2], 2, temperature=0.5, top_k=2, eos=1, seed=1)
    found = side.lm.generate([1, 2], two, temperature=np.float32(0.5), top_k=two, eos=one, seed=one)
    assert found.tolist() == expected.tolist()
    assert side.lm.generate([one, two], two, beams=two).tolist() == side.lm.generate([1, 2], 2, beams=2).tolist()
    assert [int(x) for x in side.lm.stream([one, two], two)] == side.lm.generate([1, 2], 2).tolist()
    assert side.lm.step(side.array([[1, 2]]), side.lm.prepare(), last=one).shape == (1, 1, 5)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "uint64"])
def test_prompts_of_any_integers(side: Side, dtype: str) -> None:
    expected = side.lm.generate([1, 2, 4], 2).tolist()
    assert side.lm.generate(np.array([1, 2, 4], dtype), 2).tolist() == expected


def test_a_refused_step_changes_nothing(side: Side) -> None:
    cache, twin = begun(side), begun(side)
    for wrong, last in ([[1]] * 3, 0), ([[4]] * 2, -2):
        with pytest.raises(ValueError, match=r"batch axes|last is"):
            side.lm.step(side.array(wrong), cache, last=last)
    ids = side.array([[3]] * 2)
    assert np.array_equal(np.asarray(side.lm.step(ids, cache)), np.asarray(side.lm.step(ids, twin)))


def test_rows_put_in_another_order_go_on(side: Side) -> None:
    cache = side.lm.prepare()
    side.lm.step(side.array([[1], [2]]), cache)
    cache.reorder(side.array([1, 1, 0]))
    found = np.asarray(side.lm.step(side.array([[3], [3], [3]]), cache))
    whole = np.asarray(side.lm(side.array([[2, 3], [2, 3], [1, 3]])).detach() if side.array is torch.tensor else
                       side.lm(side.array([[2, 3], [2, 3], [1, 3]])))  # fmt: skip
    np.testing.assert_allclose(found[:, 0], whole[:, 1], rtol=1e-5, atol=1e-5)


def test_rows_in_another_order_take_what_was_prepared_along() -> None:
    """A memory of their own stayed with the place, not with the row."""
    text = """
width seq, source
width past like seq
depth d = 4
block learn[n: width](x: [n, d]) -> [n, d] {
    return tanh(linear.K[d -> d](x))
}
model net(x: [seq, d], memory: [source, d]) -> [seq, d] causal seq {
    memory = learn[source](memory)
    seen = dot[source](softmax[source](dot[d](x, memory) + sin(source)), memory)
    return seen + cumsum[seq](x) + broadcast[seq](sum[source](memory))
}
"""
    model, rng = attnc.loads(text).model("net"), np.random.default_rng(0)
    x, memory, rows = rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 3, 4)), [1, 1, 0]
    run, net = model.numpy(seed=0, dtype=np.float64), model.torch(seed=0, dtype="float64")
    wanted = run(x[rows], memory[rows])[:, 2:]
    cache = run.prepare(memory=memory)
    run.step(x[:, :2], cache)
    cache.reorder(np.array(rows))
    np.testing.assert_allclose(run.step(x[rows, 2:], cache), wanted, rtol=1e-10)
    cache = net.prepare(memory=torch.as_tensor(memory))
    net.step(torch.as_tensor(x[:, :2]), cache)
    cache.reorder(torch.tensor(rows))
    np.testing.assert_allclose(net.step(torch.as_tensor(x[rows, 2:]), cache).numpy(), wanted, rtol=1e-10)


def test_a_class_built_in_other_sizes_decodes_in_these() -> None:
    made = run_alone(attnc.loads(SPEC).model("lm"), decoding=True)
    net = made["Lm"](max_seq=8, vocab=9).eval()  # 6 and 5 in the spec
    assert made["generate"](net, [8], 8).shape == (8,)
    with pytest.raises(IndexError, match=r"`ids`: 9 is no index into vocab \(0..8\)"):
        made["generate"](net, [9], 1)
    with pytest.raises(ValueError, match="make seq = 9, but seq is at most 8"):
        made["generate"](net, [1], 9)
    cache = made["prepare"](net)
    made["step"](net, torch.zeros(1, 8, dtype=torch.int64), cache)
    with pytest.raises(ValueError, match="seq = 9 after this step, but seq is at most 8"):
        made["step"](net, torch.zeros(1, 1, dtype=torch.int64), cache)


# -- caches of others ------------------------------------------------------------------------------------------------

NEAR = """
const near = 3, layers = 2
config wide { near = 8 }
width seq <= 64
width past like seq
depth model = 8, vocab = 11, heads = 2, key = 4

model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(1)
    x = E[vocab = ids]
    repeat layers {
        q = linear.Q[model -> heads, key](layernorm.see[model](x))
        w = softmax[past](dot[key](q, q[seq as past]) where past <= seq and seq - past < near)
        x = x + linear.O[heads, key -> model](dot[past](w, q[seq as past]))
    }
    return dot[model](x, E)
}
"""


def compiled(backend: str, text: str = NEAR, config: str | None = None, sizes: Any = None, **more: Any) -> Any:
    model = attnc.loads(text, config=config, sizes=sizes).model("lm")
    return model.torch(seed=1, **more).eval() if backend == "torch" else model.numpy(seed=1, **more)


def goes_on(first: Any, second: Any, backend: str) -> Any:
    """The scores of an item in one model behind those that another has seen."""
    array = torch.tensor if backend == "torch" else np.array
    cache = first.prepare()
    first.step(array([[1, 2, 3, 4, 5]]), cache)
    return np.asarray(second.step(array([[6]]), cache))


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ({"config": "wide"}, "`lm` with near = 3; here near = 8"),
        ({"sizes": {"key": 6, "layers": 3}}, "`lm` with key = 4, layers = 2; here key = 6, layers = 3"),
        ({"text": NEAR.replace("x = x + ", "x = ")}, "another `lm`: of another spec, backend or choice of rewrites"),
        ({"without": ["fuse_attention"]}, "another `lm`: of another spec, backend or choice of rewrites"),
    ],
)
def test_a_cache_serves_the_configuration_that_began_it(backend: str, other: dict[str, Any], shown: str) -> None:
    began = "lm: a step goes on from what `prepare` or the step before it left, but got that of "
    with pytest.raises(TypeError, match=f"{began}.*({shown})"):
        goes_on(compiled(backend), compiled(backend, **other), backend)


@pytest.mark.parametrize(("one", "other"), [("torch", "numpy"), ("numpy", "torch")])
def test_a_cache_of_the_other_backend_is_refused(one: str, other: str) -> None:
    array = torch.tensor if other == "torch" else np.array
    with pytest.raises(TypeError, match="got that of another `lm`: of another spec, backend or choice of rewrites"):
        compiled(other).step(array([[6]]), compiled(one).prepare())


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_a_cache_serves_all_that_compute_the_same(backend: str) -> None:
    """The same model compiled again, whatever its file's comments and the name of its configuration."""
    one = compiled(backend, sizes={"near": 8})
    expected = goes_on(one, one, backend)
    again = compiled(backend, "# the same\n" + NEAR, config="wide")
    assert np.array_equal(goes_on(one, again, backend), expected)
    if backend == "torch":
        assert np.array_equal(goes_on(one, copy.deepcopy(one), backend), expected)


def test_a_module_built_in_other_sizes_is_another_configuration() -> None:
    one = compiled("torch")
    other = type(one)(key=6).eval()
    with pytest.raises(TypeError, match="got that of `lm` with key = 4; here key = 6"):
        goes_on(one, other, "torch")
    assert goes_on(other, type(one)(key=6).eval(), "torch").shape == (1, 1, 11)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("name", ["configuration", "CONFIGURATION", "Configuration", "cache"])
@pytest.mark.parametrize("of", ["key", "near", "E", "O", "x", "lm"])
def test_what_caches_know_takes_no_name_of_the_spec(backend: str, name: str, of: str) -> None:
    model = attnc.loads(re.sub(rf"\b{of}\b", name, NEAR)).model(name if of == "lm" else "lm")
    one = model.torch(seed=1).eval() if backend == "torch" else model.numpy(seed=1)
    assert goes_on(one, one, backend).shape == (1, 1, 11)
    assert {re.sub(rf"\b{name}\b", of, path) for path in model.weights} == attnc.loads(NEAR).model("lm").weights.keys()
