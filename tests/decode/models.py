"""The causal models of the zoo, small: sizes differ, so that no mix-up of axes stays hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attnc

ROOT = Path(__file__).parents[2]
LLAMA = dict(vocab=37, model=24, layers=3, groups=2, sharing=3, key=10, inner=28)
T5 = dict(vocab=37, model=20, key=6, inner=28, layers=3, heads=4, buckets=10, far=9)
BART = dict(vocab=37, model=20, layers=3, heads=4, inner=28)
ZOO: dict[str, dict[str, Any]] = {
    "examples/zoo/gpt2": dict(vocab=37, model=20, layers=3, heads=4, longest=13),
    "examples/zoo/llama": dict(**LLAMA, base=5000),
    "examples/zoo/mistral": dict(**LLAMA, base=5000, near=4),
    "examples/zoo/mixtral": dict(**LLAMA, base=5000, expert=5, chosen=3),
    "examples/zoo/t5": T5,
    "examples/zoo/bart": dict(**BART, longest=15),
    "examples/zoo/marian": BART,
    "examples/transformer": dict(vocab=37, model=20, layers=3, heads=4, inner=28),
    "examples/dates/dates": {},
    **{
        f"tests/zoo/more/{name}": {}
        for name in ("bloom", "gemma2", "gptj", "neox", "opt", "phi3", "qwen2", "qwen3", "whisper")
    },
    "tests/compiler/right/mla": {},
    "tests/compiler/right/scan": {},
}


def small(path: str) -> attnc.Model:
    """The first causal model of a file, in its small sizes."""
    spec = attnc.load(ROOT / f"{path}.attn", sizes=ZOO[path])
    return next(model for model in map(spec.model, spec.models) if any(o.causal for o in model.graph.outputs))
