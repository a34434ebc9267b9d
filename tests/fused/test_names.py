"""Names of a spec that mean something in the file of kernels, or are made of others there, are made free."""

from __future__ import annotations

import ast
import os

import pytest

import attnc
from attnc.backends.triton.names import AXIS, PART, KernelNames, reserved

SPEC = """width {q_axis}
width {k_axis} like {q_axis}
depth {depth} = 16, {heads} = 2

model {model}({q}: [{heads}, {q_axis}, {depth}], {k}: [{heads}, {k_axis}, {depth}],
              {v}: [{heads}, {k_axis}, {depth}]) -> [{heads}, {q_axis}, {depth}] {{
    shares = softmax[{k_axis}](dot[{depth}]({q}, {k}) / sqrt(|{depth}|) where {k_axis} <= {q_axis})
    return dot[{k_axis}](shares, {v})
}}
"""
NAMES = {"q_axis": "t", "k_axis": "s", "depth": "d", "heads": "h", "model": "alone", "q": "Q", "k": "K", "v": "V"}
CLASHES = [
    {"depth": "d_k", "q": "q", "k": "k", "v": "v"},
    {"q_axis": "Q_lead"},
    {"q": "K_tile"},
    {"q": "t_at"},
    {"v": "d_Q"},
    {"k": "Q_lead"},
    {"k": "d_read"},
    {"model": "d", "depth": "e"},
    {"model": "seen"},
    {"q": "BLOCK_t"},
    {"heads": "K_s", "k_axis": "s"},
    *({part: word} for word in ("block", "chunks", "read", "steps", "product", "PRECISION") for part in NAMES),
]


def text_of(names: dict[str, str]) -> str:
    return SPEC.format(**{**NAMES, **names})


@pytest.mark.parametrize("names", [CLASHES[0], {"q_axis": "chunks"}, {"model": "product"}, {"q": "read"}])
def test_each_name_means_one_thing(names: dict[str, str]) -> None:
    """Without Triton: the file is right Python, and no name is a function and a variable at once."""
    model = attnc.loads(text_of(names)).model({**NAMES, **names}["model"])
    tree = ast.parse(model.files("triton", "net")["net_kernels.py"])
    compile(tree, "net_kernels.py", "exec")
    made = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(made) == len(set(made))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        nodes = list(ast.walk(function))
        bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        assert not bound & {
            node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not bound & {"torch", "tl", "triton"}


def test_what_is_made_of_names_is_free() -> None:
    names = KernelNames()
    assert [names.give("k", PART), names.give("d_k", AXIS), names.give("k_d_k_2", PART)] == ["k", "d_k_2", "k_d_k_2_2"]
    assert {"block", "torch", "chunks", "lambda", "max"} <= reserved()
    assert not {"key", "value", "heads", "target", "past", "model", "d_k"} & reserved()


@pytest.mark.slow
@pytest.mark.parametrize("names", CLASHES, ids=lambda names: "-".join(f"{k}.{v}" for k, v in names.items()))
def test_numbers(names: dict[str, str]) -> None:
    torch = pytest.importorskip("torch")
    os.environ.setdefault("TRITON_INTERPRET", "1")
    pytest.importorskip("triton", reason="Triton is not installed")
    model = attnc.loads(text_of(names)).model({**NAMES, **names}["model"])
    draw = torch.Generator().manual_seed(0)
    given = [torch.randn(2, 5, 16, generator=draw, dtype=torch.float64) for _ in "QKV"]
    results = []
    for net, kind in ((model.torch(kernels="triton"), torch.float32), (model.torch(dtype="float64"), torch.float64)):
        inputs = [x.to(kind).requires_grad_() for x in given]
        result = net(*inputs)
        results.append([result, *torch.autograd.grad(result.square().sum(), inputs)])
    for mine, right in zip(*results, strict=True):
        assert torch.allclose(mine.double(), right, rtol=0, atol=1e-5 * float(right.detach().abs().max()) + 1e-6)
