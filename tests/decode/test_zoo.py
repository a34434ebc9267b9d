"""Every causal model of the zoo, step by step: equal to the whole model, in both backends and both types."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc

from .models import ROOT, ZOO, small
from .steps import check_steps


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.split("/")[-1])
def test_steps(path: str) -> None:
    check_steps(small(path))


ATTENTIONS = sorted((ROOT / "examples" / "attentions").glob("*.attn"))


@pytest.mark.slow
@pytest.mark.parametrize("file", ATTENTIONS, ids=lambda file: file.stem)
def test_attentions(file: Path) -> None:
    spec = attnc.load(file)
    for name in (*spec.models, *spec.blocks):
        try:
            model = spec.model(name) if name in spec.models else spec.block(name)
        except attnc.AttnError:
            continue  # a block that cannot stand alone
        if any(output.causal for output in model.graph.outputs) and model.decoding.step is not None:
            check_steps(model, seeds=(0, 2), dtypes=("float64",), widths=(9, 7))
