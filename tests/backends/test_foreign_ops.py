"""Ops of the user's own: called from the generated code, with inputs in memory order."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.loading.load import build_numpy, build_torch
from tests.sources import torch_source

from .agreement import graph_of

TEXT = """\
width t
depth m = 4
op twice[a: width](x: [a]) -> [a] = "my_ops_of_a_test:double"
model f(x: [t, m]) -> [m, t] {
    return twice[t](x) + 1
}
"""


# Numbers and truths for arrays, an axis over which the call lifts, axes in another order than the op has them.
MIXED = """\
width t
depth m = 4, rows = 3
op mixed[a: width](x: [a], y: [a, m], n: int[a], s: [], on: bool[]) -> (x: [a, m], n: int[a]) = "my_ops_of_a_test:mix"
model f(x: [t], y: [m, t], z: [rows, t]) -> (a: [t, m], b: int[t], c: [rows, t, m]) {
    a, b = mixed[t](x, y, broadcast[t](3), 0.5, true)
    c, _ = mixed[t](z, broadcast[t, m](2.0), b, sum[t](x), false)
    return a, b, c
}
"""


def test_what_an_op_of_ones_own_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[tuple[tuple[int, ...], str]]] = []

    def mix(x: Any, y: Any, n: Any, s: Any, on: Any) -> Any:
        given.append([(tuple(arg.shape), str(arg.dtype).removeprefix("torch.")) for arg in (x, y, n, s, on)])
        return (x * s[..., None])[..., None] * y + n[..., None] * on[..., None, None], n + 1 + (x != x)

    module = ModuleType("my_ops_of_a_test")
    vars(module)["mix"] = mix
    monkeypatch.setitem(sys.modules, "my_ops_of_a_test", module)
    graph = graph_of(MIXED)
    rng = np.random.default_rng(0)
    x, y, z = (rng.standard_normal((2, *shape)) for shape in ((5,), (4, 5), (3, 5)))
    a = x[..., None] * 0.5 * y.swapaxes(1, 2) + 3
    c = z[..., None] * x.sum(-1)[:, None, None, None] * np.full((5, 4), 2.0)
    for call, wrap in (
        (build_numpy(graph, dtype=np.float64), np.asarray),
        (build_torch(graph, dtype=torch.float64), torch.tensor),
    ):
        given.clear()
        found = call(*map(wrap, (x, y, z)))
        np.testing.assert_allclose(found.a, a)
        np.testing.assert_array_equal(found.b, np.full((2, 5), 4))
        np.testing.assert_allclose(found.c, c)
        assert given == [
            [((2, 5), "float64"), ((2, 5, 4), "float64"), ((5,), "int64"), ((), "float64"), ((), "bool")],
            [((2, 3, 5), "float64"), ((5, 4), "float64"), ((2, 1, 5), "int64"), ((2, 1), "float64"), ((), "bool")],
        ]


CONSTS = """\
width t
depth m = 4
const near = 3, quarter = 0.25
op shifted[a: width, by: const, much: const](x: [a]) -> [a] = "my_ops_of_a_test:shift"
model f(x: [t, m]) -> [m, t] {
    y = shifted[t, near, much = 0.5](x)
    repeat.again i in 2 {
        y = shifted[t, i, quarter](y)
    }
    return y
}
"""


def test_consts_of_an_op_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go by name: numbers, that of a pass, and those that a class is built with."""
    given: list[dict[str, Any]] = []
    module = ModuleType("my_ops_of_a_test")
    vars(module)["shift"] = lambda x, **consts: given.append(consts) or x
    monkeypatch.setitem(sys.modules, "my_ops_of_a_test", module)
    graph, x = graph_of(CONSTS), np.zeros((3, 4), np.float32)
    for call in (build_numpy(graph), build_torch(graph)):
        given.clear()
        call(x if call is not None and not isinstance(call, torch.nn.Module) else torch.tensor(x))
        assert given == [{"by": 3, "much": 0.5}, {"by": 0, "much": 0.25}, {"by": 1, "much": 0.25}]


def test_an_op_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_ops_of_a_test")
    module.double = lambda x: x * 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_ops_of_a_test", module)
    graph = graph_of(TEXT)
    assert "from my_ops_of_a_test import double as op_twice" in torch_source(graph)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert (build_numpy(graph)(x) == 2 * x.swapaxes(1, 2) + 1).all()
    assert (build_torch(graph)(torch.tensor(x)).numpy() == 2 * x.swapaxes(1, 2) + 1).all()


def test_two_ops_of_ones_own_with_one_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = ModuleType("my_ops_of_a_test")
    module.__dict__.update(double=lambda x: x * 2, triple=lambda x: x * 3)
    monkeypatch.setitem(sys.modules, "my_ops_of_a_test", module)
    for file, function in ("a", "double"), ("b", "triple"):
        (tmp_path / f"{file}.attn").write_text(
            f'op twist[a: width](x: [a]) -> [a] = "my_ops_of_a_test:{function}"\n'
            f"block {file}[t: width](x: [t]) -> [t] {{\n    return twist[t](x)\n}}\n"
        )
    text = "use a: a\nuse b: b\nwidth s\nmodel f(x: [s]) -> [s] {\n    return a[s](x) + b[s](x)\n}\n"
    model = attnc.loads(text, base=tmp_path).model("f")
    x = np.arange(3.0)
    np.testing.assert_array_equal(model.numpy()(x), 5 * x)
    np.testing.assert_array_equal(model.torch()(torch.tensor(x)), 5 * x)
