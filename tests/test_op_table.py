"""Walks the op table: every row is documented, checks its example, computes the same in both backends, and is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

import attnc
from attnc.compiler.ops import OPS, Op

ROWS = pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)


def example(op: Op) -> attnc.Model:
    spec = attnc.loads(op.example, name=f"{op.name}.attn")
    assert not spec.warnings
    return spec.block("f")


def arguments(model: attnc.Model, batch: tuple[int, ...], seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of the declared kinds; free widths are 4."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for port in model.inputs:
        shape = (*batch, *(4 if size is None else size for size in port.shape))
        if port.element == "bool":
            found[port.name] = rng.random(shape) > 0.3
        elif port.element == "real":
            found[port.name] = rng.uniform(0.1, 2, shape)  # where log and sqrt are at home
        else:
            found[port.name] = rng.integers(0, 4, shape)
    return found


@ROWS
def test_the_row_is_whole(op: Op) -> None:
    assert op.doc.endswith(".")
    assert op.usage
    assert op.glyph
    assert "block f(" in op.example
    assert op.masked is False or "mask" in op.doc or op.group in ("reduce", "normalise")


@ROWS
def test_the_example_uses_the_op(op: Op) -> None:
    graph = example(op).graph
    assert op.name in {getattr(node, "op", "") for node in graph.nodes}


@ROWS
def test_the_wrong_program_is_refused(op: Op) -> None:
    """With one clear error, on a place that has to do with the op."""
    with pytest.raises(attnc.AttnError) as wrong:
        attnc.loads(op.wrong, name=f"{op.name}.attn")
    (found,) = wrong.value.diagnostics
    assert found.span is not None
    assert found.help or found.related


@ROWS
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
def test_both_backends_agree(op: Op, batch: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    model = example(op)
    inputs = arguments(model, batch)
    plain = model.numpy(seed=1, dtype="float64")(**inputs)
    net = model.torch(seed=1, dtype=torch.float64).eval()
    with torch.no_grad():
        deep = net(**{name: torch.from_numpy(np.asarray(array)) for name, array in inputs.items()}).numpy()
    assert plain.shape == deep.shape
    port = model.outputs[0]
    assert plain.shape == (*batch, *(4 if size is None else size for size in port.shape))
    assert plain.dtype == deep.dtype
    np.testing.assert_allclose(plain, deep, rtol=1e-10, atol=1e-12)


@ROWS
def test_float32_stays_float32(op: Op) -> None:
    model = example(op)
    result = model.numpy(seed=1)(
        **{k: a.astype(np.float32) if a.dtype == float else a for k, a in arguments(model, (2,)).items()}
    )
    assert result.dtype in (np.float32, np.int64, np.bool_)


@ROWS
def test_the_op_is_drawn(op: Op) -> None:
    dot = example(op).draw().dot
    assert dot.startswith("digraph") or dot.startswith("graph")


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_no_template_is_written_in_vain(backend: Literal["torch", "numpy"], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the table says of an op's code stands in the code, or is not said: a backend's own function writes that."""
    for name, op in OPS.items():
        if getattr(op, backend) and name != "int":  # which its example, of positions, does without
            monkeypatch.setitem(OPS, name, replace(op, **{backend: f"hash({getattr(op, backend)})"}))
            assert "hash(" in example(op).source(backend), name
