"""What passes of a repeat are built with: their steps may need a size or a const that the model has no use for there,
since it makes a mask or a table once, before the passes.
"""

from __future__ import annotations

import inspect
import itertools

import pytest
import torch

import attnc

from .steps import apart, check_steps, stepped

HEAD = "width s\nwidth t like s\ndepth d = 2, w = 3\nconst c = 3\n"
NUMBERS = ["q", "c", "|w|", "q + |w|"]
USES = {
    "mask": "sum[t](broadcast[d](dot[d](linear.a[d -> d](x), y[s as t])) where t <= s and s - t < {n})",
    "mask with data": "sum[t](broadcast[d](dot[d](linear.a[d -> d](x), y[s as t])) "
    "where t <= s and (s - t < {n} or m[s as t]))",
    "table": "linear.a[d -> d](x) * broadcast[d](sum[t](select(t <= s and s - t < {n}, cos(t / {n}), 0)))",
    "attention": "dot[t](softmax[t](dot[d](linear.a[d -> d](x), y[s as t]) where t <= s and s - t < {n}), y[s as t])",
    "table along an axis": "linear.a[d -> d](x) * broadcast[d](sum[w](broadcast[w](cos(s)) * cos(w + {n})))",
}
PASSES = {
    "one shared": "repeat.r 1 shared {{\n        x = {use}\n    }}",
    "own weights": "repeat.r 2 {{\n        x = {use}\n    }}",
    "in a pass": "repeat.r 2 {{\n        repeat.deep 1 shared {{\n            x = {use}\n        }}\n    }}",
    "by the pass": "repeat.r i in 2 shared {{\n        if i == 0 {{\n            x = {use}\n        }} else {{\n"
    "            x = tanh({use})\n        }}\n    }}",
    "none": "x = {use}",
}  # fmt: skip
CALLS = {
    "twice": "y = b.l1[q = 3](x, y, m)\n    return b.l2[q = 3](sum[t](broadcast[s](y[s as t]) where t <= s), y, m)",
    "of two values": "y = b.l1[q = 3](x, y, m)\n    return b.l2[q = 2](y, x, m)",
    "shared": "share f = b\n    y = f[q = 3](x, y, m)\n    return f[q = 3](y, tanh(x), m)",
    "shared, of two values": "share f = b\n    y = f[q = 3](x, y, m)\n    return f[q = 2](y, tanh(x), m)",
    "once": "return b[q = 3](x, y, m)",
}


def model(number: str, use: str, passes: str, calls: str) -> attnc.Model:
    body = PASSES[passes].format(use=USES[use].format(n=number))
    return attnc.loads(
        f"{HEAD}block b[q: const](x: [s, d], y: [s, d], m: bool[s]) -> [s, d] {{\n    {body}\n    return x\n}}\n"
        f"model net(x: [s, d], y: [s, d], m: bool[s]) -> [s, d] causal s {{\n    {CALLS[calls]}\n}}\n"
    ).model("net")


WAYS = list(itertools.product(NUMBERS, USES, PASSES, CALLS))


def held(ways: list[tuple[str, str, str, str]]) -> None:
    for way in ways:
        made = model(*way)
        try:
            check_steps(made, seeds=(0,), dtypes=("float64",))
            of_other_sizes(made)
        except Exception as error:
            error.add_note(str(way))
            raise


def of_other_sizes(made: attnc.Model) -> None:
    """A class that is built with other numbers has steps that know them, or refuses them."""
    net = made.torch(seed=0, dtype=torch.float64)
    draw = torch.Generator().manual_seed(0)
    given = {name: torch.randn(2, 9, 2, generator=draw, dtype=torch.float64) for name in ("x", "y")}
    given["m"] = torch.rand(2, 9, generator=draw) < 0.5
    for name, size in itertools.product(("w", "c"), (2, 6)):
        if name not in inspect.signature(type(net).__init__).parameters:
            continue
        again = type(net)(**{name: size}).double()
        again.load_state_dict(net.state_dict())
        with torch.no_grad():
            right = again(**given)
        try:
            (found,) = stepped(made, again, given, 0, "torch")
        except ValueError as error:
            assert f"steps of net are written for {name} = 3, not {size}" in str(error)
            continue
        assert apart(found, right.numpy()) < 1e-10


@pytest.mark.parametrize("start", range(3))
def test_some(start: int) -> None:
    held(WAYS[start * 29 :: 125])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10))
def test_all(start: int) -> None:
    held(WAYS[start::10])
