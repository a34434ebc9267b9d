"""What a step keeps of an op, and how it goes on from that, follows from the op's row: rows made here, of which no
stage has heard. Most are of ops that run along time, which go on as their items are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.backends.emit.operands import dims
from attnc.backends.numpy.ops import OPS as NUMPY
from attnc.backends.text.expressions import Code, filled_in
from attnc.backends.torch.ops import OPS as TORCH
from attnc.compiler import check
from attnc.compiler.graph.nodes import Apply
from attnc.compiler.graph.traits import (
    AVERAGED,
    LARGEST,
    LOG_ADDED,
    SMALLEST,
    Anything,
    Arrange,
    Combination,
    IndexMap,
    Pointwise,
    Reads,
    Running,
    Sum,
)
from attnc.compiler.ops import OPS
from tests.dump import dump

from . import test_fixed
from .steps import check_steps, inputs_of

# How the whole of it is written in PyTorch and in NumPy, for an array and its axis.
RUNNING = {
    "cummax": (LARGEST, "{0}.cummax({1}).values", "np.maximum.accumulate({0}, {1})"),
    "cummin": (SMALLEST, "{0}.cummin({1}).values", "np.minimum.accumulate({0}, {1})"),
    "logcumsumexp": (LOG_ADDED, "{0}.logcumsumexp({1})", "np.logaddexp.accumulate({0}, {1})"),
}
PICKS = ("cummax", "cummin")
HEAD = "width seq\nwidth past like seq\ndepth d = 3\n"


@pytest.fixture
def op(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts an op in the table for the time of a test, and gives the name that it has there."""

    def add(name: str, reads: Reads, torch: str = "", numpy: str = "") -> str:
        name = f"{name}_anew"
        row = replace(OPS["cumsum"], name=name, usage=f"{name}[k](x)", reads=reads)
        if not isinstance(reads, Running):
            row = replace(row, rule=lambda call: call.make(call.operands[0].type))
        monkeypatch.setitem(OPS, name, row)
        for table, text in ((TORCH, torch), (NUMPY, numpy)):
            monkeypatch.setitem(table, name, emit(text))
        return name

    def emit(text: str) -> Any:
        def written(body: Any, node: Apply, vals: Sequence[Any], mask: Any) -> Any:
            x = body.full(vals[0], node.axes)
            return body.combine([x], filled_in(text, [x.code, Code(dims(x, node.axes))]), x.axes, node.out)

        return written

    return add


def model(text: str) -> attnc.Model:
    return attnc.loads(f"{HEAD}model net{text}").model("net")


@pytest.fixture(params=RUNNING)
def running(request: pytest.FixtureRequest, op: Callable[..., str]) -> str:
    combination, *code = RUNNING[request.param]
    return op(request.param, Running(combination), *code)


def test_it_goes_on_from_its_last_result(running: str) -> None:
    net = model(f"(x: [seq, d]) -> [seq, d] causal seq {{\n    best = {running}[seq](x)\n    return best * 2\n}}\n")
    assert [str(cache) for cache in net.decoding.caches] == ["best [d = 3], of the last item: 3 numbers"]
    check_steps(net, seeds=(0, 1, 2))


def test_over_buffers_that_stay_where_they_are(running: str) -> None:
    net = model(f"(x: [seq, d]) -> [seq, d] causal seq {{\n    return {running}[seq](x)\n}}\n")
    test_fixed.check(net, inputs_of(net, (2,), (9,), np.float64, 0), 2, 3)


def test_beside_what_else_a_step_keeps(running: str) -> None:
    """In a block that is lifted and in a repeat, along a copy of the axis; of it, items before are read."""
    net = attnc.loads(
        f"{HEAD}block run(x: [past]) -> [past] {{\n    return {running}[past](x)\n}}\n"
        "model net(x: [seq, d]) -> [seq, d] causal seq {\n    repeat.r 2 {\n"
        "        y = run(linear.L[d -> d](x)[seq as past])[past as seq]\n"
        "        x = x + tanh(y)[seq = max(seq - 2, 0)]\n    }\n    return x\n}\n"
    ).model("net")
    assert [cache.kind for cache in net.decoding.caches] == ["state", "history"]
    check_steps(net)


def test_along_another_axis_nothing_is_kept(running: str) -> None:
    net = model(f"(x: [seq, d]) -> [seq, d] causal seq {{\n    return {running}[d](x)\n}}\n")
    assert net.decoding.caches == ()
    check_steps(net)


def test_of_positions(running: str) -> None:
    net = model(
        f"(x: [seq, d]) -> [seq, d] causal seq {{\n    return x * broadcast[d]({running}[seq](cos(seq / 3)))\n}}\n"
    )
    check_steps(net)


def test_of_one_number(running: str) -> None:
    """An input that is left out is a number: the largest of such is that number, and nothing need be kept."""
    net = model(
        f"(x: [seq, d], w: [seq] = 1.5) -> [seq, d] causal seq {{\n    return x * broadcast[d]({running}[seq](w))\n}}\n"
    )
    assert len(net.decoding.caches) == (0 if running.removesuffix("_anew") in PICKS else 1)
    check_steps(net)


def test_how_many_items_there_are_of_a_number() -> None:
    net = model(
        "(x: [seq, d], w: [seq] = 1.5) -> [seq, d] causal seq {\n    return x / broadcast[d](cumsum[seq](w))\n}\n"
    )
    assert net.decoding.caches == ()
    check_steps(net)


def test_of_one_number_along_another_axis(running: str) -> None:
    net = model(f"(x: [seq, d], w: [seq, d] = 1.5) -> [seq, d] causal seq {{\n    return x * {running}[d](w)\n}}\n")
    assert net.decoding.caches == ()
    check_steps(net)


@pytest.mark.parametrize("name", PICKS)
def test_what_picks_an_int_begins_with_an_item(name: str, op: Callable[..., str]) -> None:
    """There is no int that is less than all."""
    combination, *code = RUNNING[name]
    running = op(name, Running(combination), *code)
    net = model(f"(x: int[seq, d]) -> int[seq, d] causal seq {{\n    return {running}[seq](x)\n}}\n")
    for sign in (1, -1):
        x = sign * np.random.default_rng(0).integers(2**40, 2**60, size=(2, 9, 3))
        check_steps(net, values={"x": x})


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_minus_infinity_beside_minus_infinity(backend: str, op: Callable[..., str]) -> None:
    """The sum of no probabilities is none, however many steps find it so."""
    combination, *code = RUNNING["logcumsumexp"]
    net = model(
        f"(x: [seq]) -> [seq] causal seq {{\n    return {op('logcumsumexp', Running(combination), *code)}[seq](x)\n}}\n"
    )
    x = np.array([[-np.inf, -np.inf, -np.inf, 0.0, -np.inf, 1.0], [-np.inf] * 6])
    check_steps(net, values={"x": x}, dtypes=("float64",), backends=(backend,), seeds=(0, 1, 2))
    run = net.numpy(dtype="float64")
    np.testing.assert_allclose(run(x)[0, 3:], [0, 0, np.log(1 + np.e)])
    assert (run(x)[1] == -np.inf).all()


@pytest.mark.parametrize("combination", [AVERAGED, Combination(0.0), Combination(None)])
def test_a_result_that_does_not_say_how_it_goes_on(combination: Combination, op: Callable[..., str]) -> None:
    """A mean wants the number of items too; what is none of the known combinations may want anything."""
    name = op("mean_so_far", Running(combination), *MEAN)
    check_steps(model(f"(x: [seq]) -> [seq] causal seq {{\n    return {name}[seq](x)\n}}\n"), dtypes=("float64",))


MEAN = (
    "{0}.cumsum({1}) / torch.arange(1, {0}.shape[{1}] + 1).to({0})",
    "np.cumsum({0}, {1}) / np.arange(1, {0}.shape[{1}] + 1)",
)


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is claimed causal is believed: no proof covers these ops."""
    monkeypatch.setattr(check, "check_causal", lambda *_: None)


@pytest.mark.usefixtures("believed")
@pytest.mark.parametrize("head", ["model net", "block part"])
@pytest.mark.parametrize(
    ("reads", "axis"),
    [
        (Arrange(IndexMap.MIRRORED), "seq"),
        (Anything(), "seq"),
        (Anything(), "d"),
    ],
)
def test_what_is_done_for_all_items_at_once(reads: Reads, axis: str, head: str, op: Callable[..., str]) -> None:
    """An op of which is not known what it does item by item, as it stands or in a block."""
    name = op("odd", reads, "{0}.cumsum({1})", "np.cumsum({0}, {1})")
    text = f"{HEAD}{head}(x: [seq, d]) -> [seq, d] causal seq {{\n    return {name}[{axis}](x)\n}}\n"
    if head != "model net":
        text += "model net(x: [seq, d]) -> [seq, d] causal seq {\n    return part(x)\n}\n"
    net = attnc.loads(text).model("net")
    assert [kept.path for kept in net.decoding.caches] == [] if axis == "d" else ["x"]
    check_steps(net, dtypes=("float64",))


def test_the_last_first_along_another_axis(op: Callable[..., str]) -> None:
    flip = op("flip", Arrange(IndexMap.MIRRORED), "{0}.flip({1})", "np.flip({0}, {1})")
    net = model(f"(x: [seq, d]) -> [seq, d] causal seq {{\n    return {flip}[d](x) + x[seq = max(seq - 1, 0)]\n}}\n")
    check_steps(net)


def test_the_last_first_of_a_table(op: Callable[..., str]) -> None:
    """A width of a given size is known to its end."""
    flip = op("flip", Arrange(IndexMap.MIRRORED), "{0}.flip({1})", "np.flip({0}, {1})")
    body = f"{{\n    return x * broadcast[d]({flip}[seq](sin(seq)))\n}}\n"
    text = f"{HEAD}model net(x: [seq, d]) -> [seq, d] causal seq {body}"
    net = attnc.loads(text.replace("width seq\n", "width seq = 9\n")).model("net")
    check_steps(net)


def test_what_is_drawn_at_random_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "noise_anew", replace(OPS["dropout"], name="noise_anew"))
    monkeypatch.setitem(TORCH, "noise_anew", TORCH["dropout"])
    monkeypatch.setitem(NUMPY, "noise_anew", NUMPY["dropout"])
    net = model("(x: [seq, d]) -> [seq, d] causal seq {\n    return noise_anew(cumsum[seq](x), 0.5)\n}\n")
    check_steps(net)
    assert "noise_anew" in dump(net._sized)
    assert net.decoding.step is not None and "noise_anew" not in dump(net.decoding.step)


def test_without_a_gradient_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    same = replace(OPS["exp"], reads=Pointwise(Sum((1,))), torch="{0}.detach()", numpy="+{0}")
    for name, gradient in (("held_anew", False), ("kept_anew", True)):
        monkeypatch.setitem(OPS, name, replace(same, name=name, gradient=gradient))
    steps = []
    for name in ("held_anew", "kept_anew"):
        body = f"{{\n    y = {name}(x)\n    return y + y[seq = max(seq - 1, 0)]\n}}\n"
        net = model(f"(x: [seq, d]) -> [seq, d] causal seq {body}")
        check_steps(net)
        steps.append(dump(net.decoding.step).replace(name, ""))
    assert steps[0] == steps[1]


@pytest.mark.parametrize("name", PICKS)
def test_what_it_picks_can_be_an_index(name: str, op: Callable[..., str]) -> None:
    combination, *code = RUNNING[name]
    running = op(name, Running(combination), *code)
    net = attnc.loads(
        "width seq\ndepth d = 3, vocab = 7\nmodel net(ids: vocab[seq]) -> [seq, d] causal seq {\n"
        f"    return embed.E[vocab -> d](index[vocab]({running}[seq](int(ids))))\n}}\n"
    ).model("net")
    assert [cache.kind for cache in net.decoding.caches] == ["state"]
    check_steps(net)
