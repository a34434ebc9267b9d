"""Classes that are built with other sizes and consts than their spec has, and the numbers in their steps.

Each part of a model by which steps know how far back they reach, with each way to say a number: steps of a class that
is built with another number give what the whole class gives, or are refused in words. Silence is no answer.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import attnc

from .steps import Array, apart, plain

NUMBERS = {
    "c": "c",
    "|wide|": "wide",
    "c + |wide| - 3": "wide",
    "cs[1]": "cs",
    "max(c, 2)": "c",
}  # by what each changes
SUMMED = "sum[t](broadcast[s](x[s as t]) where {})"
USES = {
    "mask": SUMMED.format("t <= s and s - t < {n}"),
    "two masks": SUMMED.format("t <= s and (s - t < {n} or s - t == {n} + 1)"),
    "strides": SUMMED.format("t <= s and t % {n} == 0"),
    "and data": SUMMED.format("t <= s and s - t < {n} and m[s as t]"),
    "attention": "dot[t](softmax[t](dot[d](x, x[s as t]) where t <= s and s - t < {n}), x[s as t])",
    "table": "x * broadcast[d](sum[t](select(t <= s and s - t < {n}, cos(t), 0)))",
    "lookup": "x[s = max(s - {n}, 0)]",
    "chosen": "select(s >= {n}, x[s = max(s - {n}, 0)], x)",
    "truth": SUMMED.format("t <= s and (s - t < 2 or {n} > 4)"),
    "last pass": "x",
    "scale": "x * {n} + cumsum[s](x)",
    "in a block": "reach[q = {n}](x)",
    "list of passes": "x",
    "taps": "sum[wide](window[s -> s, wide](x, pad = |wide| - 1))",
    "data": SUMMED.format("t <= s and x[s as t, d = 0] > {n}"),
}
PASSES = {
    way: "repeat.r " + passes + " shared {{\n        x = " + SUMMED.format(f"t <= s and s - t < {back}") + "\n    }}"
    for way, passes, back in (("last pass", "i in 3", "{n} - i"), ("list of passes", "k in [{n}, 2]", "k"))
}
TEXT = """width s
width t like s
depth d = 2, wide = 3
const c = 3, cs = [5, 3]
block reach[q: const](x: [s, d]) -> [s, d] {{
    return sum[t](broadcast[s](x[s as t]) where t <= s and s - t < q)
}}
model net(x: [s, d], m: bool[s] = true) -> [s, d] causal s {{
    {passes}
    return {use}
}}
"""
REFUSED = "steps of net are written for"


def model(number: str, use: str) -> attnc.Model:
    passes = PASSES.get(use, "").format(n=number)
    return attnc.loads(TEXT.format(passes=passes, use=USES[use].format(n=number))).model("net")


def judged(number: str, use: str) -> list[str]:
    """Of each other number, whether steps are right or refused: in PyTorch, then in NumPy."""
    made, name = model(number, use), NUMBERS[number]
    found = []
    x = np.random.default_rng(0).standard_normal((2, 9, 2))
    code: dict[str, Any] = {}
    exec(made.source("numpy", decoding=True, single_file=True), code)
    net = made.torch(seed=0, dtype=torch.float64)
    for other in (2, 6) if name != "cs" else ((5, 2), (5, 6)):
        given = {name: other} if f" {name}: " in made.source("torch").partition("def forward")[0] else {}
        again = type(net)(**given).double()
        with torch.no_grad():
            right = plain(again(torch.as_tensor(x)))
        found.append(_outcome(partial(_of_tensors, again, cache=again.prepare()), x, right))
        own = given if {*given} <= {*inspect.signature(code["net"]).parameters} else {}
        step = partial(code["step"], {}, cache=code["prepare"]({}), **own)
        found.append(_outcome(step, x, code["net"]({}, x, **own)))
    return found


def _of_tensors(net: Any, part: Array, cache: Any) -> Array:
    return plain(net.step(torch.as_tensor(part), cache))


def _outcome(step: Callable[..., Array], x: Array, right: Array) -> str:
    try:
        with torch.no_grad():
            parts = [step(x[:, at : at + 1]) for at in range(x.shape[1])]
    except ValueError as error:
        assert REFUSED in str(error), error
        return "refused"
    return "right" if apart(np.concatenate(parts, 1), right) < 1e-10 else "wrong"


WAYS = [*itertools.product(NUMBERS, USES)]
NO_REACH = {"strides", "scale", "data"}  # no number of items hangs on it


def held(ways: list[tuple[str, str]]) -> None:
    for number, use in ways:
        found = judged(number, use)
        assert "wrong" not in found, (number, use)
        assert use not in NO_REACH or {*found} == {"right"}, (number, use)


@pytest.mark.parametrize("start", range(2))
def test_some_know_it_or_are_refused(start: int) -> None:
    held(WAYS[start * 7 :: 14])


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_all_know_it_or_are_refused(number: str) -> None:
    held([way for way in WAYS if way[0] == number])
