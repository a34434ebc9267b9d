"""The default file is the model: how long it is for published architectures, as `ruff format` leaves it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import attnc

ROOT = Path(__file__).parents[2]
RUFF = Path(sys.executable).with_name("ruff")
SIZES = {  # lines of PyTorch; NumPy may take a fifth more
    "examples/transformer.attn:transformer": 191,
    "examples/zoo/gpt2.attn:gpt2": 116,
    "examples/zoo/llama.attn:llama": 141,
    "examples/zoo/bert.attn:bert": 155,
    "examples/zoo/vit.attn:vit": 104,
}


def formatted(source: str) -> str:
    command = [RUFF, "format", "--isolated", "--line-length", "120", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("target", SIZES)
def test_the_file_is_short(target: str, to: str) -> None:
    file, _, name = target.partition(":")
    source = attnc.load(ROOT / file).model(name).source(to)
    most = SIZES[target] if to == "torch" else SIZES[target] * 6 // 5
    assert len(formatted(source).splitlines()) <= most


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("target", SIZES)
def test_ruff_leaves_the_file_as_it_is(target: str, to: str) -> None:
    file, _, name = target.partition(":")
    source = attnc.load(ROOT / file).model(name).source(to)
    assert formatted(source) == source
