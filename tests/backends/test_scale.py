"""What compiling costs does not grow with the depth of a model, and needs no library that runs one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import attnc

from .written import written

SPEC = Path(__file__).parents[2] / "examples" / "transformer.attn"


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_the_source_of_100_layers_is_that_of_2(backend: str) -> None:
    few, many = (
        written(attnc.load(SPEC, sizes={"layers": layers}).model("transformer"), backend) for layers in (2, 100)
    )
    few, many = (re.sub(r'(?ms)^""".*?"""$', "", text) for text in (few, many))  # the heads tell what was set
    few = re.sub(r"(?<=layers: int = )2\b|(?<=layers=)2\b", "100", few)
    digest = r'"[0-9a-f]{8}"'  # of what made the code: the sizes are in it
    assert re.findall(digest, few) != re.findall(digest, many)
    assert re.sub(digest, '""', few) == re.sub(digest, '""', many)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_compiling_imports_neither(backend: str) -> None:
    code = (
        "import sys; from attnc.cli.main import main; main(); "
        "sys.exit(sorted({'torch', 'numpy', 'jaxtyping'} & set(sys.modules)) or 0)"
    )
    call = [sys.executable, "-c", code, "compile", str(SPEC), "--to", backend]
    found = subprocess.run(call, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "def forward" in found.stdout or "def transformer" in found.stdout
