"""Import, export, generate with the oldest and the newest transformers, torch and onnxruntime of pyproject.toml.

The pinned ones (constraints.txt) are those of all other tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attnc.hub.exporting.readme import README, TESTED, readme

ROOT = Path(__file__).parents[2]
CHOSEN = {"oldest": "lowest-direct", "newest": "highest"}
UV = 'the oldest and the newest transformers, torch and onnxruntime are not tested: needs uv: pip install ".[interop]"'
TESTS = [
    "-m",
    "",
    "-k",
    "our_own or edited or onnx or torch_export or masks or llama",
    "tests/hub/test_export.py",
    "tests/hub/test_import.py",
]


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def test_what_is_told() -> None:
    """From the oldest that pyproject.toml admits to no older than the pinned; in the README of every export."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    listed = [one for some in told.values() for one in some]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    for name, (oldest, newest) in TESTED.items():
        admitted = next(one.removeprefix(f"{name}>=") for one in listed if one.startswith(f"{name}>="))
        assert number(oldest)[: len(number(admitted))] == number(admitted)
        assert number(oldest) <= number(pinned[name]) <= number(newest)
    for to in ("transformers", "onnx", "torch-export"):
        text = readme("m", "out", to, ["step"], True)
        assert "tested with " in text and f"torch {TESTED['torch'][0]} to {TESTED['torch'][1]}" in text, README


@pytest.mark.slow
def test_the_oldest_and_the_newest(tmp_path: Path) -> None:
    uv = pytest.importorskip("uv", reason=UV).find_uv_bin()

    def run(*command: object) -> str:
        told = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, check=False)
        assert told.returncode == 0, f"{told.stdout[-3000:]}\n{told.stderr[-3000:]}"
        return told.stdout

    for end, (which, resolution) in enumerate(CHOSEN.items()):
        python = tmp_path / which / "bin" / "python"
        run(uv, "venv", "--quiet", "--python", sys.executable, tmp_path / which)
        install = (uv, "pip", "install", "--quiet", "--python", python, "--resolution", resolution)
        run(*install, "-e", ".[zoo,onnx]", "pytest>=8.2")
        for name in TESTED:
            version = run(python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))")
            known = number(TESTED[name][end])
            assert number(version) == known if which == "oldest" else number(version) >= known, (name, version)
        print(run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS))
