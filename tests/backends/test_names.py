"""Names of a spec that would clash in Python."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import attnc
from attnc.backends.text.names import FILE, LOCAL, SHARED, Namer, camel, is_identifier, plain
from attnc.backends.text.writing import singular

from .agreement import agree, graph_of

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["i", "layer", "i_2", "step", "x"])
def test_what_every_pass_reads_is_not_what_the_loop_is_called_by(name: str) -> None:
    text = f"""
    width t
    depth d = 2
    block f({name}: [t, d]) -> [t, d] {{
        a = {name} * 0
        repeat.r 3 {{ a = a + linear.q[d -> d](a) + {name} }}
        repeat.s j in 2 shared {{ a = a + linear.q[d -> d](a) + {name} * (j + 1) }}
        repeat.layers 2 {{ a = tanh(a) + linear.q[d -> d]({name}) }}
        return a + {name}
    }}
    model m({name}: [t, d]) -> [t, d] {{
        a = f({name})
        repeat.layers 2 {{ a = tanh(a) + linear.q[d -> d]({name}) + f.g(a) }}
        return a + {name}
    }}
    """
    model = attnc.loads(text).model("m")
    x = np.random.default_rng(0).standard_normal((3, 2))
    plain = model.numpy(seed=0, dtype="float64")(x)
    np.testing.assert_allclose(model.torch(seed=0, dtype=torch.float64)(torch.from_numpy(x)).detach(), plain)
    usual = attnc.loads(re.sub(rf"\b{name}\b", "given", text)).model("m")
    np.testing.assert_array_equal(usual.numpy(seed=0, dtype="float64")(x), plain)


def test_variables_may_bear_the_names_of_blocks_and_helpers() -> None:
    """In the spec they do not clash; in the code a variable must not hide the function that it is made by."""
    text = """
    width seq
    depth d = 4, tap = 3
    block foo(linear: [d]) -> [d] { return linear.W[d -> d](linear) }
    block bar(window: [tap, d]) -> [d] {
        foo = foo(sum[tap](window))
        layernorm = layernorm[d](foo)
        return foo + layernorm
    }
    model m(softmax: [seq, d]) -> [seq, d] {
        Foo = bar(window[seq -> seq, tap](softmax, pad = 2))
        bar = bar.second(window[seq -> seq, tap](Foo, pad = 2))
        return bar + Foo
    }
    """
    model = attnc.loads(text).model("m")
    x = np.random.default_rng(0).standard_normal((2, 5, 4))
    plain = model.numpy(seed=0, dtype="float64")(softmax=x)
    deep = model.torch(seed=0, dtype=torch.float64)(softmax=torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(plain, deep, rtol=1e-10)


def test_inputs_keep_the_names_of_the_spec() -> None:
    """Though `next` and `lambda` are Python's: both backends take them as the spec has them."""
    text = """
    width seq
    depth vocab = 5
    model m(next: vocab[seq], lambda: [seq]) -> [seq] {
        param E: [vocab]
        return E[vocab = next] * lambda
    }
    """
    model = attnc.loads(text).model("m")
    ids, scale = np.array([[1, 2, 0]]), np.array([[1.0, 2.0, 3.0]])
    plain = model.numpy(seed=0, dtype="float64")(**{"next": ids, "lambda": scale})
    net = copy.deepcopy(model.torch(seed=0, dtype=torch.float64))
    deep = net(**{"next": torch.from_numpy(ids), "lambda": torch.from_numpy(scale)})
    np.testing.assert_allclose(plain, deep.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("stack", "one"), [("layers", "layer"), ("blocks", "block"), ("stack", "layer"), ("ts", "layer"), ("gas", "layer")]
)
def test_what_one_of_a_stack_is_called(stack: str, one: str) -> None:
    text = (
        f"width seq\ndepth d = 4\nmodel m(x: [seq, d]) -> [seq, d] {{\n    repeat.{stack} 2 {{\n"
        "        x = linear.w[d -> d](x)\n    }\n    return x\n}\n"
    )
    assert f"for {one} in self.{stack}:" in attnc.loads(text).model("m").source("torch")


def test_a_name_of_its_own() -> None:
    namer = Namer(frozenset({"window", "taps"}), mark="")
    given = {
        "x": "x", "lambda": "lambda_", "match": "match", "self": "self", "torch": "torch", "window": "window_",
        "range": "range", "op_relu": "op_relu", "op": "op", "__x": "x_2", "__": "value", "_y": "_y",
        "Tensor": "Tensor",
    }  # fmt: skip
    assert {wish: namer.give(wish) for wish in given} == given
    assert [namer.give(wish) for wish in ("x", "lambda", "x", "z")] == ["x_3", "lambda_2", "x_4", "z"]
    assert [namer.claim(wish) for wish in ("taps", "taps", "lambda")] == ["taps", "taps_2", "lambda_3"]
    namer.free("x_3")
    assert not namer.is_taken("x_3") and namer.is_taken("x_4") and namer.is_taken("window") and namer.is_taken("x")
    assert namer.give("x_3") == "x_3" and namer.give("x") == "x_5"
    namer.reserve("w2")
    assert namer.give("w2") == "w2_2" and namer.give("free") == "free"
    marked = Namer()
    assert marked.give("a") == LOCAL + "a" and marked.give(FILE + "a") == LOCAL + "a_2" and marked.is_taken("a")
    assert plain(f"{LOCAL}a + {FILE}b({SHARED}c)") == "a + b(c)"
    for wish in ("", "a b", "1a", "a.b", "h\u00e9", "a-b"):
        assert not is_identifier(wish)
        with pytest.raises(ValueError, match="is not an ASCII identifier"):
            namer.give(wish)


@pytest.mark.parametrize(
    ("name", "class_"),
    [("feed_forward", "FeedForward"), ("a", "A"), ("__", "Block"), ("_x__y", "XY"), ("toMLP", "ToMLP"), ("a2b", "A2b")],
)
def test_names_of_classes(name: str, class_: str) -> None:
    assert camel(name) == class_


def test_names_that_begin_as_ops_of_ones_own_or_as_what_python_mangles() -> None:
    """Also where Python, torch or the file have a use for them: weights keep the paths of the spec."""
    text = """
    width t
    depth op_m = 4, __d = 3, training = 2
    const layers = 2
    block op_f(op_x: [op_m], __y: [op_m]) -> [op_m] {
        op_z = linear.op_w[op_m -> op_m](op_x) + __y
        __z = linear.op_v[op_m -> op_m](op_z) * |op_m|
        return __z
    }
    model op_net(op_x: [t, op_m], __y: [t, op_m]) -> (op_a: [t, op_m], __b: [t, __d], forward: [t, training]) {
        param offset: [__d]
        param op_p: [op_m, __d]
        repeat.op_layers i in layers {
            op_x = op_f.op_call(op_x, __y * i)
        }
        op_v = dot[op_m](op_x, op_p) + offset
        a = linear.small[op_m -> training](op_x) / |training|
        return op_x, op_v * |__d|, a
    }
    """
    graph = graph_of(text)
    agree(graph)
    assert "op_layers.0.op_call.op_v.weight" in attnc.loads(text).model("op_net").weights


def test_one_of_a_repeat_is_called_as_one() -> None:
    names = ("layers", "passes", "boxes", "series_of_blocks", "copies", "cross", "s", "as", "encoder", "layers_2")
    ones = ("layer", "pass", "box", "series_of_block", "copy", "", "", "", "", "")
    assert tuple(map(singular, names)) == ones
    text = "depth m = 4\nblock f(x: [m]) -> [m] { repeat.layers 2 { x = x + linear.w[m -> m](x) }\n return x }\n"
    model = attnc.loads(text + "model net(x: [m]) -> [m] { return f(x) }").model("net")
    assert "class FLayer(nn.Module):" in model.source("torch")
    assert [*model.weights] == [f"f.layers.{i}.w.{part}" for i in range(2) for part in ("weight", "bias")]
