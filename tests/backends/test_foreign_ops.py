"""Ops of the user's own: called from the generated code, with inputs in memory order."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from attnc.backends import build_numpy, build_torch, torch_source

from .agreement import graph_of

TEXT = """\
width t
depth m = 4
op twice[a: width](x: [a]) -> [a] = "my_ops_of_a_test:double"
model f(x: [t, m]) -> [m, t] {
    return twice[t](x) + 1
}
"""


def test_an_op_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_ops_of_a_test")
    module.double = lambda x: x * 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_ops_of_a_test", module)
    graph = graph_of(TEXT)
    assert "from my_ops_of_a_test import double as op_twice" in torch_source(graph)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert (build_numpy(graph)(x) == 2 * x.swapaxes(1, 2) + 1).all()
    assert (build_torch(graph)(torch.tensor(x)).numpy() == 2 * x.swapaxes(1, 2) + 1).all()
