"""Kernels of Triton in its interpreter: what they compute, and all gradients, beside float64 and plain PyTorch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

import pytest

import attnc

from .cases import CASES, Case

torch = pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")

BATCH = 2
LENGTHS = (19, 20, 24, 16, 64)
each = pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.file}-{case.model}") for case in CASES])


def widths(model: attnc.Model) -> Mapping[str, int]:
    """Sizes of all axes of a model; free widths get the first length that fits."""
    graph = model.graph
    first: dict[int, str] = {}
    for axis in sorted(graph.axes, key=lambda axis: axis.id):
        first.setdefault(axis.family, axis.name)
    free = [a for a in graph.axes if a.is_width and a.extent is None and a.size is None and first[a.family] == a.name]
    for length in LENGTHS:
        with contextlib.suppress(ValueError):
            sizes = {a.name: length + 3 * place for place, a in enumerate(free)}
            return dict(model.cost(sizes).sizes)
    raise AssertionError("no length fits")


def inputs(model: attnc.Model, batch: tuple[int, ...] = (BATCH,)) -> dict[str, torch.Tensor]:
    draw, sizes = torch.Generator().manual_seed(0), widths(model)
    found = {}
    for port in model.inputs:
        if port.optional:
            continue
        shape = (*batch, *(sizes[axis] for axis in port.axes))
        if port.element == "real":
            x = torch.randn(shape, generator=draw, dtype=torch.float64)
        elif port.element == "bool":
            x = torch.rand(shape, generator=draw) < 0.7
        else:
            x = torch.randint(sizes.get(str(port.element), 4), shape, generator=draw)
        found[str(port.name)] = x
    return found


def found(net: torch.nn.Module, given: Mapping[str, torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    """Results, and the gradients of all inputs and weights."""
    given = {name: x.to(dtype).requires_grad_() if x.is_floating_point() else x for name, x in given.items()}
    made = net(**given)
    results = [x for x in (made if isinstance(made, tuple) else (made,)) if x.is_floating_point()]
    draw = torch.Generator().manual_seed(2)
    ups = [torch.randn(x.shape, generator=draw, dtype=torch.float64).to(dtype) for x in results]
    leaves = [x for x in (*given.values(), *net.parameters()) if x.requires_grad]
    return [*results, *(x for x in torch.autograd.grad(results, leaves, ups, allow_unused=True) if x is not None)]


def nets(case: Case) -> tuple[torch.nn.Module, torch.nn.Module]:
    """With kernels, and plain in float64; their weights are far from those at the beginning."""
    model = case.load()
    ours = model.torch(kernels="triton", seed=0)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in ours.parameters():
            weight += 0.15 * torch.randn(weight.shape, generator=draw)
    plain = model.torch(dtype="float64", seed=0, without=["fuse_attention"])
    plain.load_state_dict({name: x.double() for name, x in ours.state_dict().items()})
    return ours.eval(), plain.eval()


def error(x: torch.Tensor, right: torch.Tensor) -> float:
    """Root mean squares, in those of what is right; a gradient may be 0, as that of a bias of keys is."""
    x, right = x.detach().double(), right.detach()
    return float((x - right).pow(2).mean().sqrt() / right.pow(2).mean().sqrt().clamp(min=0.05))


def test_one_tile() -> None:
    """The smallest of all, in `make test`."""
    text = """width target
width past like target
depth key as d_k = 4
model alone(Q: [target, key], K: [target, key], V: [target, key]) -> [target, key] causal target {
    weights = softmax[past](dot[key](Q, K[target as past]) / sqrt(|key|) where past <= target)
    return dot[past](weights, V[target as past])
}
"""
    model = attnc.loads(text).model("alone")
    draw = torch.Generator().manual_seed(0)
    given = {name: torch.randn(11, 4, generator=draw, dtype=torch.float64) for name in "QKV"}
    right = found(model.torch(dtype="float64"), given, torch.float64)
    mine = found(model.torch(kernels="triton"), given, torch.float32)
    assert max(map(error, mine, right)) < 1e-5


@pytest.mark.parametrize("keys", ["v[target as past]", "v[target = max(target - 1, 0)][target as past]"])
def test_what_a_mask_in_a_kernel_leaves_out_contributes_nothing(keys: str) -> None:
    text = f"""width target
width past like target
depth key = 4
model net(x: [target, key], y: [target, key], m: bool[past]) -> [target, key] {{
    v = 0 * x
    repeat.twice 2 {{
        v = v + log(x)
    }}
    weights = softmax[past](dot[key](y, {keys}) where m and past <= target)
    return dot[past](weights, y[target as past])
}}
"""
    model = attnc.loads(text).model("net")
    draw = torch.Generator().manual_seed(0)
    x, y = 0.6 + torch.rand(2, 11, 4, generator=draw, dtype=torch.float64)
    m = torch.arange(11) % 4 == 1
    used = m if "max" not in keys else m.roll(-1)
    right = found(model.torch(dtype="float64"), {"x": x, "y": y, "m": m}, torch.float64)
    bad = torch.where(used[:, None], x, 0)
    mine = found(model.torch(kernels="triton"), {"x": bad, "y": y, "m": m}, torch.float32)
    assert max(map(error, mine, right)) < 1e-5
    assert not mine[1][~used].any()


@pytest.mark.slow
@each
def test_as_float64(case: Case) -> None:
    ours, plain = nets(case)
    given = inputs(case.load())
    right = found(plain, given, torch.float64)
    mine = found(ours, given, torch.float32)
    assert len(mine) == len(right)
    assert max(map(error, mine, right)) < 1e-5
    assert case.load().files("triton", "net")["net_kernels.py"].count("_forward(\n") == case.kernels
