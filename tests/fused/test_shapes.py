"""Kernels of Triton: types, batch axes, empty rows, what is read, and what they say where they cannot run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = pytest.mark.slow

SPEC = """width target
width past like target
depth heads as h = 2, key as d_k = 8
model windowed(
    Q: [heads, target, key], K: [heads, target, key], V: [heads, target, key], real: bool[target]
) -> [heads, target, key] causal target {
    seen = past <= target and target - past < 20 and real[target as past]
    return dot[past](softmax[past](dot[key](Q, K[target as past]) / sqrt(|key|) where seen), V[target as past])
}
"""


def given(batch: tuple[int, ...], length: int = 37) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    found = {name: torch.randn(*batch, 2, length, 8, generator=draw, dtype=torch.float64) for name in "QKV"}
    real = torch.rand(*batch, length, generator=draw) < 0.6
    real[..., :3] = False  # the first queries see nothing
    return {**found, "real": real}


def run(net: torch.nn.Module, inputs: dict[str, torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    inputs = {name: x.to(dtype).requires_grad_() if x.is_floating_point() else x for name, x in inputs.items()}
    y = net(**inputs)
    up = torch.randn(y.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)
    return [x.detach() for x in (y, *torch.autograd.grad(y, [inputs[name] for name in "QKV"], up))]


@pytest.mark.parametrize("batch", [(), (1,), (2, 1, 3)], ids=str)
def test_batch_axes(batch: tuple[int, ...]) -> None:
    model = attnc.loads(SPEC).model("windowed")
    right = run(model.torch(dtype="float64"), given(batch, 19), torch.float64)
    mine = run(model.torch(kernels="triton"), given(batch, 19), torch.float32)
    for x, y in zip(mine, right, strict=True):
        assert x.shape == y.shape
        torch.testing.assert_close(x.double(), y, rtol=1e-5, atol=1e-5)
    assert not mine[0][..., :3, :].any()  # queries that see nothing read 0
    assert all(x.isfinite().all() for x in mine)


@pytest.mark.parametrize(("dtype", "most"), [("bfloat16", 2e-2), ("float16", 3e-3)])
def test_half_precision(dtype: str, most: float) -> None:
    """As right as the type is; what is read is rounded alike."""
    model, kind = attnc.loads(SPEC).model("windowed"), getattr(torch, dtype)
    inputs = {name: x.to(kind) if x.is_floating_point() else x for name, x in given((1,)).items()}
    exact = {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}
    right = run(model.torch(dtype="float64"), exact, torch.float64)
    for x, y in zip(run(model.torch(kernels="triton", dtype=dtype), inputs, kind), right, strict=True):
        assert x.dtype is kind
        assert float((x.double() - y).square().mean().sqrt() / y.square().mean().sqrt()) < most


@pytest.mark.parametrize("op", ["tanh", "expm1", "log1p"])
def test_functions_near_zero(op: str) -> None:
    """All digits of small numbers, too: `exp(x) - 1` has none left of 1e-8."""
    text = f"""
width q, k
depth d = 4
model small(Q: [q, d], K: [k, d], V: [k, d]) -> [q, d] {{
    return dot[k]({op}(dot[d](Q, K)), V)
}}
"""
    model, draw = attnc.loads(text).model("small"), torch.Generator().manual_seed(0)
    for size in (1e-5, 0.05, 0.5):
        inputs = {name: torch.rand(5, 4, generator=draw, dtype=torch.float64) for name in "QKV"}
        inputs["Q"] *= size
        inputs = {name: x.float().double() for name, x in inputs.items()}
        right = run(model.torch(dtype="float64"), inputs, torch.float64)
        single = {name: x.float() for name, x in inputs.items()}
        for x, y in zip(run(model.torch(kernels="triton"), single, torch.float32), right, strict=True):
            assert float(((x.double() - y).abs() / y.abs()).max()) < 1e-5


def test_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a hook on loads and stores: each tile of queries once, of keys those that it sees; nothing of all pairs."""
    from triton.runtime.interpreter import InterpreterBuilder

    moved: Counter[str] = Counter()

    def counted(name: str, kind: str) -> None:
        before = getattr(InterpreterBuilder, name)

        def hook(self: object, pointer: Any, *args: object) -> object:
            masks = [x.data for x in args if getattr(getattr(x, "data", None), "dtype", None) in (np.dtype(bool),)]
            mask = masks[0] if masks else None
            moved[kind] += int(mask.sum()) if mask is not None else pointer.data.size
            return before(self, pointer, *args)

        monkeypatch.setattr(InterpreterBuilder, name, hook)

    for name, kind in (("create_load", "load"), ("create_masked_load", "load")):
        counted(name, kind)
    for name, kind in (("create_store", "store"), ("create_masked_store", "store")):
        counted(name, kind)
    text = SPEC.replace(", real: bool[target]", "").replace(" and real[target as past]", "")
    length, heads, depth, tile = 64, 2, 8, 16
    inputs = {name: x for name, x in given((), length).items() if name != "real"}
    net = attnc.loads(text).model("windowed").torch(kernels="triton")
    with torch.no_grad():
        net(**{name: x.float() for name, x in inputs.items()})
    seen = [min(row // tile + 1, 3) for row in range(0, length, tile)]  # tiles of keys: 20 back, and its own
    assert moved["load"] == heads * depth * (length + 2 * tile * sum(seen))
    assert moved["store"] == heads * (length * depth + length)


@pytest.mark.parametrize("rows", [3, 37])
def test_weights_that_are_a_result(rows: int) -> None:
    """With and without a gradient of theirs; where few queries share keys they are whole, too."""
    text = """width target, past
depth heads as h = 2, key as d_k = 8
model shown(Q: [heads, target, key], K: [heads, past, key], V: [heads, past, key], real: bool[past]) -> (
    read: [heads, target, key], weights: [heads, target, past]
) {
    weights = softmax[past](dot[key](Q, K) / sqrt(|key|) where real)
    return dot[past](weights, V), weights
}
"""
    model, draw = attnc.loads(text).model("shown"), torch.Generator().manual_seed(0)
    inputs = {"Q": torch.randn(2, rows, 8, generator=draw, dtype=torch.float64)}
    inputs |= {name: torch.randn(2, 150, 8, generator=draw, dtype=torch.float64) for name in "KV"}
    real = torch.rand(150, generator=draw) < 0.6
    found = []
    for net, dtype in ((model.torch(kernels="triton"), torch.float32), (model.torch(dtype="float64"), torch.float64)):
        given = {name: x.to(dtype).requires_grad_() for name, x in inputs.items()}
        read, weights = net(**given, real=real)
        assert not weights[..., ~real].any()
        for up in (read.square().sum(), weights.square().sum(), read.sum() + weights.square().sum()):
            grads = torch.autograd.grad(up, list(given.values()), retain_graph=True, materialize_grads=True)
            found.append([read, weights, *grads])
    for mine, right in zip(found[:3], found[3:], strict=True):
        for x, y in zip(mine, right, strict=True):
            torch.testing.assert_close(x.double(), y, rtol=1e-5, atol=1e-5)


WRITTEN = """width n
width m like n
depth d = 8, wide = 12
const near = 5
block look(Q: [n, d], K: [n, d], V: [n, d], least: []) -> [n, d] {
    s = dot[d](Q, K[n as m]) / |wide| + broadcast[n, m](least)
    return dot[m](softmax[m](s where m <= n and n - m < near), V[n as m])
}
model net(Q: [n, d], K: [n, d], V: [n, d]) -> [n, wide] { return linear.out[d -> wide](look(Q, K, V, near)) + near }
"""


def test_what_is_written_into_kernels_cannot_be_another() -> None:
    """Consts and sizes of which their numbers are made, where the class may be built with others."""
    model = attnc.loads(WRITTEN).model("net")
    net = model.torch(kernels="triton")
    x = torch.randn(2, 9, 8)
    torch.testing.assert_close(net(x, x, x), model.torch(seed=0, weights=weights_of(net))(x, x, x))
    with pytest.raises(ValueError, match="these kernels are of near = 5, not 6: compile the spec with that size"):
        type(net)(near=6)(x, x, x)
    with pytest.raises(ValueError, match="these kernels are of wide = 12, not 16: compile the spec with that size"):
        type(net)(wide=16)(x, x, x)


def weights_of(net: torch.nn.Module) -> dict[str, Any]:
    return {name: weight.detach().numpy() for name, weight in net.named_parameters()}


def test_where_they_cannot_run(tmp_path: Path) -> None:
    """On a CPU, without the interpreter: one message that says what to do."""
    (tmp_path / "net.attn").write_text(SPEC)
    code = """
import attnc, torch
net = attnc.load("net.attn").model("windowed").torch(kernels="triton")
x = torch.randn(2, 5, 8)
net(Q=x, K=x, V=x, real=torch.ones(5, dtype=torch.bool))
"""
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=kept)
    assert re.search(r"RuntimeError: these are kernels of Triton, which need a GPU: .* TRITON_INTERPRET=1", done.stderr)


def test_what_they_do_not_compute_in() -> None:
    net = attnc.loads(SPEC).model("windowed").torch(kernels="triton", dtype="float64")
    with pytest.raises(TypeError, match="float32, bfloat16 and float16, not in"):
        net(**given((), 5))


def test_ragged_widths() -> None:
    """Lengths of examples are a mask: padding is neither read nor has it gradients; its queries read 0."""
    text = """width target ragged
width past like target
depth key = 8
model ragged(Q: [target, key], K: [target, key], V: [target, key]) -> [target, key] {
    scores = dot[key](Q, K[target as past]) / sqrt(|key|)
    return dot[past](softmax[past](scores where past <= target), V[target as past])
}
"""
    model, draw = attnc.loads(text).model("ragged"), torch.Generator().manual_seed(0)
    inputs = {name: torch.randn(3, 37, 8, generator=draw, dtype=torch.float64) for name in "QKV"}
    inputs["target_lengths"] = torch.tensor([37, 5, 20])
    mine = run(model.torch(kernels="triton"), inputs, torch.float32)
    for x, y in zip(mine, run(model.torch(dtype="float64"), inputs, torch.float64), strict=True):
        torch.testing.assert_close(x.double(), y, rtol=1e-5, atol=1e-5)
        assert not x[1, 5:].any()


WINDOWS = {
    "causal": ("past <= target and target - past < near", 3),
    "both sides": ("abs(int(target) - int(past)) <= near", 2),
    "ahead": ("int(past) - int(target) >= near", 2),
    "mirrored": ("int(past) + int(target) == near", 1),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_read_at_run_time(name: str) -> None:
    """A number that is read bounds the loop; each example has its own."""
    mask, bounded = WINDOWS[name]
    text = f"""width target
width past like target
depth key = 8
model near(Q: [target, key], K: [target, key], V: [target, key], near: int[]) -> [target, key] {{
    return dot[past](softmax[past](dot[key](Q, K[target as past]) where {mask}), V[target as past])
}}
"""
    model, draw = attnc.loads(text).model("near"), torch.Generator().manual_seed(0)
    code = model.files("triton")["near_kernels.py"]
    assert len(re.findall(r"low = .*near_bound|high = .*near_bound", code)) >= bounded
    near = torch.tensor([-3, 0, 1, 40, 131, 2**62, -(2**62)])
    inputs = {name: torch.randn(len(near), 150, 8, generator=draw, dtype=torch.float64) for name in "QKV"}
    mine = run(model.torch(kernels="triton"), {**inputs, "near": near}, torch.float32)
    for x, y in zip(mine, run(model.torch(dtype="float64"), {**inputs, "near": near}, torch.float64), strict=True):
        torch.testing.assert_close(x.double(), y, rtol=1e-5, atol=1e-5)


def test_ragged_keys_made_by_weights() -> None:
    """Lengths are compared with positions before the loop: keys that weights make of padded items stay outside."""
    text = """width target
width past ragged
depth model = 6, heads = 2, key = 8
model cross(Q: [target, heads, key], x: [past, model], V: [past, heads, key]) -> [target, heads, key] {
    K = linear[model -> heads, key](x)
    return dot[past](softmax[past](dot[key](Q, K)), V)
}
"""
    model, draw = attnc.loads(text).model("cross"), torch.Generator()
    plain, kernels = model.torch(dtype="float64", seed=0), model.torch(kernels="triton", seed=0)
    shapes = {"Q": (3, 20, 2, 8), "x": (3, 37, 6), "V": (3, 37, 2, 8)}
    found = []
    for net, dtype in ((plain, torch.float64), (kernels, torch.float32)):
        draw.manual_seed(0)
        given = {name: torch.randn(shape, generator=draw, dtype=torch.float64) for name, shape in shapes.items()}
        given = {name: value.to(dtype).requires_grad_() for name, value in given.items()}
        y = net(**given, past_lengths=torch.tensor([37, 5, 20]))
        y.square().sum().backward()
        found.append([y.detach(), *(x.grad for x in given.values()), *(weight.grad for weight in net.parameters())])
    for mine, right in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(mine.double(), right, rtol=1e-4, atol=1e-4)


def test_dropout_of_weights_is_refused() -> None:
    text = SPEC.replace("softmax[past]", "dropout(softmax[past]").replace("where seen),", "where seen), p),")
    model = attnc.loads(f"const p = 0.1\n{text}").model("windowed")
    with pytest.raises(ValueError, match=r"nothing .* becomes a kernel(.|\n)*along past: .*at random \(dropout\)"):
        model.files("triton")
    given = {"none": f"const p = 0.0\n{text}", "plain": SPEC}
    files = {name: attnc.loads(given[name]).model("windowed").files("triton") for name in given}
    none, plain = (found["windowed_kernels.py"].partition("Needs")[2] for found in files.values())
    assert none == plain


def test_other_kernels_and_captures() -> None:
    model = attnc.loads(SPEC).model("windowed")
    with pytest.raises(ValueError, match="those of \"triton\", no 'cuda'"):
        model.torch(kernels="cuda")
    with pytest.raises(ValueError, match="capture"):
        model.torch(kernels="triton", capture=["seen"])
    with pytest.raises(ValueError, match="mesh"):
        model.files("triton", mesh={"data": 2})


FOLDS = {
    "softmax": "dot[past](softmax[past](scores where seen), V)",
    "norm": "dot[past](l2norm[past](select(seen, scores, 0)), V)",
    "sum": "dot[past](select(seen, sigmoid(scores), 0), V)",
}


@pytest.mark.parametrize("fold", FOLDS)
def test_few_queries(fold: str) -> None:
    """Several programs share the keys of a few queries; what they found is joined."""
    text = f"""width target, past
depth heads as h = 2, key as d_k = 8
model few(
    Q: [heads, target, key], K: [heads, past, key], V: [heads, past, key], real: bool[past]
) -> [heads, target, key] {{
    scores = dot[key](Q, K) / sqrt(|key|)
    seen = int(past) <= int(target) + 140 and real[past = past]
    return {FOLDS[fold]}
}}
""".replace("real[past = past]", "real")
    model = attnc.loads(text).model("few")
    draw = torch.Generator().manual_seed(0)
    inputs = {"Q": torch.randn(2, 3, 8, generator=draw, dtype=torch.float64)}
    inputs |= {name: torch.randn(2, 150, 8, generator=draw, dtype=torch.float64) for name in "KV"}
    inputs["real"] = torch.rand(150, generator=draw) < 0.6
    inputs["real"][:64] = False  # of one program nothing counts
    net = model.torch(kernels="triton")
    right = run(model.torch(dtype="float64"), inputs, torch.float64)
    for x, y in zip(run(net, inputs, torch.float32), right, strict=True):
        torch.testing.assert_close(x.double(), y, rtol=1e-5, atol=1e-5)
