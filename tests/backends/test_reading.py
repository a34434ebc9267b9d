"""The code that is made for programs of every kind, to be read: without the helpers, which all files share."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.backends import numpy_source, torch_source
from attnc.backends.helper_text import NUMPY, TORCH, helpers, used_helpers

PROGRAMS = Path(__file__).with_name("reading.txt").read_text(encoding="utf-8").split("---\n")
CAPTURED = {
    "passes": ("outer.1.near", "outer.3.x", "again.part.linear", "x:1"),
    "twice": ("one.attend.softmax", "two.Q"),
}


def model_of(text: str) -> attnc.Model:
    """The last model of a program, or its last block."""
    spec = attnc.loads(text)
    return spec.model(spec.models[-1]) if spec.models else spec.block(spec.blocks[-1])


@pytest.mark.parametrize(("backend", "modules"), [("torch", TORCH), ("numpy", NUMPY)])
def test_the_code_reads_so(backend: str, modules: tuple[str, ...], golden: Callable[[Path, str], None]) -> None:
    source = torch_source if backend == "torch" else numpy_source
    carried = {name: text for module in modules for name, text in helpers(module).items()}
    shown = []
    for text in PROGRAMS:
        model = model_of(text)
        for capture in ((), CAPTURED[model.name]) if model.name in CAPTURED else ((),):
            code = source(model._sized, capture=capture)
            there = [name for name, helper in carried.items() if f"{helper}\n\n\n" in code]
            for name in there:
                code = code.replace(f"{carried[name]}\n\n\n", "")
            words = {"Array"} if backend == "numpy" else set()
            words |= set(re.findall(r"\w+", re.sub(r'"[^"\n]*"', "", code)))
            assert [carried[name] for name in there] == used_helpers(modules, words)  # those that it needs, and no more
            shown.append(f"{text.splitlines()[0]}{f' Captured: {capture}' if capture else ''}\n\n{code}")
    golden(Path(f"golden/reading_{backend}.txt"), "\n\n".join(shown))


def test_what_is_told_of_them(golden: Callable[[Path, str], None]) -> None:
    golden(Path("golden/reading_reports.txt"), "\n".join(f"{model_of(text).explain()}\n" for text in PROGRAMS))
