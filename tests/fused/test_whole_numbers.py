"""Whole numbers in kernels have the 64 bits that they have in PyTorch: ids, times, products of positions, literals."""

from __future__ import annotations

import os

import pytest

import attnc

torch = pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")

SPEC = """width n
width m like n
depth d = 8
model f(Q: [n, d], K: [n, d], V: [n, d], ids: int[n]) -> [n, d] {{
    s = dot[d](Q, K[n as m])
    return dot[m](softmax[m]({score}), V[n as m])
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "score",
    [
        "s where ids == ids[n as m]",
        "s where broadcast[m](ids) - broadcast[n](ids[n as m]) < 20000000000",
        "s where (int(n) * 100000007 + int(m) * 7919) % 13 < 4 or int(n) == int(m)",
        "s - (n - m) * (n - m) * 3000000 % 7",
        "s - 3000000 * (n - m) * (n - m) % 7",
        "s where ids[n as m] % 4294967311 < 9000000000 and m <= n",
    ],
)
def test_whole_numbers(score: str) -> None:
    model, draw = attnc.loads(SPEC.format(score=score)).model("f"), torch.Generator().manual_seed(0)
    given = [torch.randn(2, 40, 8, generator=draw) for _ in "QKV"]
    ids = torch.arange(40).mul(3).remainder(7).mul(1 << 33).add(torch.arange(40) % 2).expand(2, 40)
    mine = model.torch(kernels="triton")(*given, ids)
    right = model.torch(dtype="float64")(*(x.double() for x in given), ids)
    assert float((mine - right).abs().max()) < 1e-5
