"""What is kept: no more than later items can see, in as few numbers as it takes; and why some models have no step."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from tests.backends.written import written

from .models import small
from .steps import check_steps


def kept(model: attnc.Model) -> dict[str, tuple[int | None, tuple[int | None, ...], str]]:
    return {c.path: (c.floats, c.keep, c.kind) for c in model.decoding.caches}


def test_grouped_queries_keep_their_groups() -> None:
    assert kept(small("examples/zoo/llama")) == {
        "layers.{i}.self.K": (2 * 10, (None,), "history"),
        "layers.{i}.self.V": (2 * 10, (None,), "history"),
    }


def test_a_latent_is_kept_where_it_is_smaller() -> None:
    """DeepSeek's: the latent and the shared rotary key, not keys and values of every head."""
    assert kept(small("tests/compiler/right/mla")) == {
        "mla.c": (6, (None,), "history"),
        "mla.Kr": (4, (None,), "history"),
    }


def test_windows_keep_the_window() -> None:
    assert {keep for _, keep, _ in kept(small("examples/zoo/mistral")).values()} == {(3,)}
    model = small("tests/zoo/more/gemma2")  # every other layer
    assert {(c.keep, c.passes) for c in model.decoding.caches} == {((3,), 2), ((None,), 1)}
    net = model.torch(seed=1).eval()
    cache = net.prepare()
    for _ in range(200):
        net.step(torch.zeros(1, 1, dtype=torch.int64), cache)
    lengths = {path: x.shape for path, x in cache.tensors().items()}
    near = [shape for path, shape in lengths.items() if path.startswith(("layers.0", "layers.2"))]
    far = [shape for path, shape in lengths.items() if path.startswith("layers.1")]
    assert len(near) == 4 and all(max(shape) <= 10 for shape in near)
    assert len(far) == 2 and all(200 in shape for shape in far)


def test_bytes_of_a_window_do_not_grow() -> None:
    model = small("examples/zoo/mistral")
    for net, zeros in ((model.torch(seed=1).eval(), torch.zeros), (model.numpy(seed=1), np.zeros)):
        ids: Any = zeros((2, 1), dtype=torch.int64 if zeros is torch.zeros else np.int64)
        cache = net.prepare()
        for _ in range(40):
            net.step(ids, cache)
        before = cache.nbytes
        for _ in range(120):
            net.step(ids, cache)
        assert cache.nbytes <= before
        rows, layers, floats = 2, 3, 2 * 2 * 10  # keys and values of two groups
        assert cache.nbytes <= rows * layers * floats * 4 * 80  # the window of 4 and room to append


def test_a_convolution_keeps_its_taps() -> None:
    model = attnc.loads("""
width seq
depth model = 6, tap = 4
model net(x: [seq, model]) -> [seq, model] causal seq {
    y = linear.mix[model, tap -> model](window[seq -> seq, tap](x, pad = 3))
    return x[seq = max(seq - 2, 0)] + tanh(y)
}
""").model("net")
    assert {(floats, keep) for floats, keep, _ in kept(model).values()} <= {(6, (3,)), (6, (2,))}
    check_steps(model)


def test_a_scan_keeps_its_state() -> None:
    assert kept(small("tests/compiler/right/scan")) == {"s": (6, (0,), "state"), "c": (6, (0,), "state")}


def test_a_state_that_no_result_is_made_of_is_not_collected() -> None:
    """A prompt of many items needs room for one state, not for one at each of them."""
    text = """
width seq
depth d = 4, e = 3
block cell(x: [d], v: [e], S: [d, e], n: [d] = -1) -> (S: [d, e], n: [d], y: [e]) {
    T = S * 0.5 + x * v
    m = max(n, x)
    return T, m, dot[d](m * x, T)
}
model net(x: [seq, d]) -> [seq, e] causal seq {
    _, _, y = scan[seq] cell(x, linear.v[d -> e](x), S = 0)
    return y
}
"""
    model = attnc.loads(text).model("net")
    for backend in ("torch", "numpy"):
        assert "y_steps.append" in written(model, backend) and "S_steps" not in written(model, backend)
    check_steps(model)


def test_an_encoder_is_kept_once() -> None:
    found = kept(small("examples/transformer"))
    assert {path for path, (_, _, kind) in found.items() if kind == "once"} == {
        "real", "decode.layers.{i}.cross.K", "decode.layers.{i}.cross.V",
    }  # fmt: skip
    net = small("examples/transformer").torch(seed=1).eval()
    cache = net.prepare(source_ids=torch.zeros(2, 5, dtype=torch.int64), real=torch.ones(2, 5, dtype=torch.bool))
    before = dict(cache.tensors())
    net.step(torch.zeros(2, 3, dtype=torch.int64), cache)
    after = cache.tensors()
    assert all(after[path] is x for path, x in before.items())


def test_a_windowed_prompt_longer_than_its_window() -> None:
    check_steps(small("examples/zoo/mistral"), widths=(40,), seeds=(0, 1, 2, 4, 7), dtypes=("float64",))
    check_steps(small("tests/zoo/more/gemma2"), widths=(35,), seeds=(0, 1, 2), dtypes=("float64",))


def test_scores_that_are_carried_from_layer_to_layer() -> None:
    """RealFormer (He et al. 2021): the scores themselves go round."""
    model = attnc.loads("""
const layers = 3
width seq
width past like seq
depth model = 8, heads = 2, key = 4, vocab = 11
model net(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(1)
    x = E[vocab = ids]
    scores = broadcast[seq, past, heads](0)
    repeat layers {
        Q = linear[model -> heads, key](x)
        K = linear[model -> heads, key](x)
        V = linear[model -> heads, key](x)
        scores = scores + dot[key](Q, K[seq as past])
        O = dot[past](softmax[past](scores where past <= seq), V[seq as past])
        x = x + linear.O[heads, key -> model](O)
    }
    return dot[model](x, E)
}
""").model("net")
    if model.decoding.step is not None:
        check_steps(model)
    else:
        assert "scores" in model.decoding.reason or "softmax" in model.decoding.reason


def test_a_cell_called_step() -> None:
    """What has no weights may be called as it likes, and so may parts of blocks."""
    model = attnc.loads("""
width seq
depth model = 6
block step(x: [model], h: [model]) -> (h: [model]) {
    return tanh(x + h)
}
block inner(x: [seq, model]) -> [seq, model] {
    step = linear[model -> model](x)
    return step + x[seq = max(seq - 1, 0)]
}
model net(x: [seq, model]) -> (h: [seq, model] causal seq) {
    h = scan[seq] step(inner(x), h = 0)
    return h
}
""").model("net")
    check_steps(model)


def test_cells_of_blocks_called_step() -> None:
    """A cell without weights stands beside the step of the block that scans it: each has a name of its own."""
    cells = "".join(
        f"block {name}(x: [model], h: [model]) -> (h: [model]) {{\n    return x {op} h\n}}\n"
        for name, op in (("step", "+"), ("step_", "-"), ("prepare", "*"))
    )
    scans = "".join(f"    x = scan[seq] {name}(x, h = 1)\n" for name in ("step", "prepare", "step_"))
    model = attnc.loads(
        f"width seq\ndepth model = 3\n{cells}block inner(x: [seq, model]) -> [seq, model] {{\n{scans}"
        f"    return linear.w[model -> model](x)\n}}\n"
        f"model net(x: [seq, model]) -> [seq, model] causal seq {{\n    x = inner(x)\n{scans}    return x\n}}\n"
    ).model("net")
    check_steps(model)


HEAD = "width seq\nwidth past like seq\ndepth model = 4, two = 2\n"
NO_STEP = [
    ("model net(x: [seq, model]) -> [seq, model] {\n    return x\n}\n", "`net` is not declared causal"),
    (
        "model net(x: [seq, past, model]) -> [seq, model] causal seq {\n    return sum[past](x where past <= seq)\n}\n",
        "`net` has no one-step form along `seq`: ",
    ),
    (
        "block step(x: [model], h: [model]) -> (h: [model]) {\n    return linear.U[model -> model](x) + h\n}\n"
        "model net(x: [seq, model]) -> (h: [seq, model] causal seq) {\n"
        "    step = scan[seq] step(x, h = 0)\n    return step\n}\n",
        "a part of it with weights is called `step`",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), NO_STEP, ids=[reason for _, reason in NO_STEP])
def test_why_there_is_no_step(text: str, reason: str) -> None:
    model = attnc.loads(HEAD + text).model("net")
    assert reason in model.decoding.reason
    assert model.decoding.step is None
    for backend in ("torch", "numpy"):
        assert "Cache" not in written(model, backend)
    with pytest.raises(AttributeError):
        _ = model.numpy(seed=1).generate


NAMED = {
    "linear": "    y = linear.{0}[model -> model](x)\n",
    "a parameter": "    param {0}: [model]\n    y = x + {0}\n",
    "a block": "    y = f.{0}(x)\n",
    "a repeat": "    y = x\n    repeat.{0} 2 {{\n        y = linear.w[model -> model](y)\n    }}\n",
    "a block without weights": "    y = g.{0}(x)\n",
    "a value": "    {0} = x * 2\n    y = {0} + 1\n",
}


@pytest.mark.parametrize("what", NAMED)
def test_parts_called_as_the_functions_of_decoding(what: str) -> None:
    """Of a model, those that have weights: their paths are attributes of its class."""
    blocks = (
        "block f(x: [model]) -> [model] {\n    return linear.a[model -> model](x)\n}\n"
        "block g(x: [model]) -> [model] {\n    return x * 2\n}\n"
    )
    for name in ("prepare", "step", "generate", "stream", "stepping"):
        head = "model net(x: [seq, model]) -> [seq, model] causal seq {\n"
        model = attnc.loads(f"{HEAD}{blocks}{head}{NAMED[what].format(name)}    return cumsum[seq](y)\n}}\n").model(
            "net"
        )
        if what in ("a block without weights", "a value") or name == "stepping":
            check_steps(model)
        else:
            assert model.decoding.step is None and model.decoding.reason == (
                f"`net` has no step: a part of it with weights is called `{name}`, as a function of decoding is: "
                "give it another name or label"
            )
            net = model.torch(seed=0)
            assert net(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
            for made in (net, model.numpy(seed=0), pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
                for asked in {"prepare", "step", "generate", "stream"} - {name}:
                    with pytest.raises(AttributeError, match=f"^{re.escape(model.decoding.reason)}$"):
                        getattr(made, asked)
                with pytest.raises(AttributeError, match=r"no attribute '?.*steps"):
                    getattr(made, "steps")  # noqa: B009
            compiled = torch.compile(net, fullgraph=True, backend="eager")
            assert compiled(torch.zeros(2, 3, 4)).shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("values", "widths"), [(("cache", "last"), ("t", "u", "s")), (("x", "y"), ("cache", "last", "step"))]
)
def test_what_is_called_like_the_arguments_of_a_step(values: tuple[str, str], widths: tuple[str, str, str]) -> None:
    """Arguments and widths of a block that steps too."""
    (a, b), (t, u, s) = values, widths
    text = f"""
width {t}, {u}
width {s} like {t}
depth d = 4
block mix({a}: [{t}, d], {b}: [{u}, d]) -> [{t}, d] {{
    near = softmax[{u}](dot[d]({a}, {b}))
    past = linear.past[d -> d]({a})[{t} as {s}]
    seen = dot[{s}](softmax[{s}](dot[d]({a}, past) where {s} <= {t}), past)
    return linear.own[d -> d](cumsum[{t}](seen)) + dot[{u}](near, {b})
}}
model net(new: [{t}, d], given: [{u}, d]) -> [{t}, d] causal {t} {{
    return mix(new, given)
}}
"""
    check_steps(attnc.loads(text).model("net"))


def test_results_that_no_input_along_time_makes() -> None:
    model = attnc.loads("""
width t, u
depth d = 4
model net(x: [t, d], y: [u, d]) -> (
    a: [t, d] causal t, b: [t, d] causal t, c: t[t] causal t, e: [d, t] causal t, f: bool[t] causal t
) {
    param w: [d]
    return cumsum[t](x), broadcast[t](mean[u](y)), t, broadcast[t](w), broadcast[t](true)
}
""").model("net")
    check_steps(model)


def test_the_report() -> None:
    text = str(small("examples/zoo/mistral").decoding)
    assert text.splitlines() == [
        "mistral decodes along seq; `generate` takes `ids`",
        "layers.{i}.self.V [groups = 2, value = 10], the last 3 items, 3 times: 20 numbers an item",
        "layers.{i}.self.K [groups = 2, key = 10], the last 3 items, 3 times: 20 numbers an item",
    ]
