"""Longest paths: table 1 of Vaswani et al. 2017, other sizes, and against what the compiled models depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc

ROOT = Path(__file__).parents[2]
LAYERS = attnc.load(ROOT / "examples" / "table1" / "layers.attn")

TABLE = [
    ("self_attention", "O(n^2 d)", "O(1)", "O(1)"),
    ("recurrent", "O(n d^2)", "O(n)", "O(n)"),
    ("convolutional", "O(n d^2 k)", "O(1)", "O(n / k)"),
    ("dilated", "O(n d^2 k)", "O(1)", "O(log_k(n))"),
    ("restricted", "O(r n d)", "O(1)", "O(n / r)"),
]


@pytest.mark.parametrize(("name", "complexity", "sequential", "path"), TABLE)
def test_table_1(name: str, complexity: str, sequential: str, path: str) -> None:
    from attnc.compiler.cost.growth import rows

    assert rows(LAYERS.model(name).cost()) == [(name, complexity, sequential, path)]


@pytest.mark.parametrize(
    ("name", "sizes", "hops"),
    [
        ("self_attention", dict(seq=5000), 1),
        ("recurrent", dict(seq=300), 299),
        ("restricted", dict(seq=1024), 16),
        ("restricted", dict(seq=1025), 16),
        ("restricted", dict(seq=1026), 17),
        ("restricted", dict(seq=1000, r=10), 100),
        ("restricted", dict(seq=20, r=30), 1),
        ("convolutional", dict(seq=1025, tap=5), 256),
        ("dilated", dict(seq=81, tap=3), 4),
        ("dilated", dict(seq=82, tap=3), 5),
        ("dilated", dict(seq=4096, tap=2), 12),
    ],
)
def test_hops(name: str, sizes: dict[str, int], hops: int) -> None:
    assert LAYERS.model(name).cost(sizes).paths["seq"].hops == hops


MODELS = {
    "two windows a layer": """
        repeat layers {
            x = attend.near[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= 2)
            x = x + attend.back[seq, past, model, model](
                x, x[seq as past], x[seq as past], mask = past <= seq and seq - past < 4)
        }
        return x""",
    "a window and a convolution": """
        x = x + linear.one[tap, model -> model](window[seq -> seq, tap](x, pad = 1))
        x = x + attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = abs(seq - past) <= 3)
        return x""",
    "shifts": """
        repeat i in layers {
            x = x + x[seq = max(seq - floor(2 ^ i), 0)]
        }
        return x""",
    "chunks and everything": """
        parts = split[seq -> chunk, place](x)
        near = sum[place](parts)
        return x + broadcast[seq](mean[chunk](near))""",
    "a running sum": """
        return cumsum[seq](x)""",
    "an average": """
        return x + broadcast[seq](mean[seq](x))""",
}


def model(body: str) -> attnc.Model:
    text = f"""
use std.attention: attend
width seq
width past like seq
depth model = 3, tap = 3, place = 4
width chunk = seq / 4
const layers = 3
model net(x: [seq, model]) -> [seq, model] {{{body}
}}
"""
    return attnc.loads(text).model("net")


@pytest.mark.parametrize("name", MODELS)
def test_what_is_reached_is_what_the_module_depends_on(name: str) -> None:
    """At n items all pairs (in a direction in which anything goes) are connected just if the path fits the passes."""
    torch = pytest.importorskip("torch")
    net = model(MODELS[name]).torch(seed=0, dtype=torch.float64)
    seen = set()
    for n in (4, 8, 12, 16, 20, 24, 28, 32, 36):
        depends = torch.autograd.functional.jacobian(lambda x: net(x).sum(-1), torch.randn(n, 3, dtype=torch.float64))
        depends = depends.abs().sum(-1) > 0
        before, after = bool(depends[-1, 0]), bool(depends[0, -1])
        path = model(MODELS[name]).cost(seq=n).paths["seq"]
        both = depends[:, 0].any() and depends.triu(1).any()
        connected = (before and after) if both else before
        reached = path.hops is not None and (path.there is None or path.passes <= path.there)
        assert reached == connected, (n, path)
        seen.add(reached)
    assert True in seen


def test_never() -> None:
    """Items that do not meet have no path; a mask that is no band gives a bound."""
    assert model("\n return relu(x)").cost().paths["seq"].hops is None
    strided = (
        "\n return attend[seq, past, model, model](x, x[seq as past], x[seq as past], mask = (seq - past) % 3 == 0)"
    )
    assert not model(strided).cost().paths["seq"].sure


@pytest.mark.parametrize(
    "op",
    [
        "softmax[seq](x)",
        "log_softmax[seq](x)",
        "l2norm[seq](x)",
        "layernorm.a[seq](x)",
        "rmsnorm.a[seq](x)",
        "x - broadcast[seq](mean[seq](x))",
        "x * broadcast[seq](max[seq](x))",
        "x / (1 + broadcast[seq](sum[seq](abs(x))))",
        "x + broadcast[seq](logsumexp[seq](x))",
    ],
)
def test_what_acts_along_a_width_reaches_across_it(op: str) -> None:
    text = f"width seq = 50\ndepth model = 4\nmodel net(x: [seq, model]) -> [seq, model] {{ return {op} }}"
    assert attnc.loads(text).model("net").cost().paths["seq"].hops == 1
