"""Whatever the bytes: a diagnostic or a result, in time, and never another exception."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .drive import SEEDS, SIGNS, WORDS, drive, mutated

QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(QUICK, max_examples=100)
@given(st.binary(max_size=2000))
def test_any_bytes(content: bytes) -> None:
    drive(content)


@settings(QUICK, max_examples=150)
@given(st.lists(st.sampled_from([*SIGNS, *WORDS, " ", "\n"]), max_size=300), st.sampled_from(["", " "]))
def test_any_tokens(tokens: list[str], between: str) -> None:
    drive(between.join(tokens).encode())


@settings(QUICK, max_examples=120)
@given(st.integers(0, 10**9))
def test_specs_changed(seed: int) -> None:
    rng = random.Random(seed)
    drive(mutated(rng, rng.choice(SEEDS), rng.choice(SEEDS)).encode())


@settings(QUICK, max_examples=60)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 5000), st.binary(max_size=4)), min_size=1, max_size=6))
def test_specs_with_other_bytes(text: str, edits: list[tuple[int, bytes]]) -> None:
    content = text.encode()
    for at, piece in edits:
        content = content[: at % len(content)] + piece + content[at % len(content) + len(piece) :]
    drive(content)


@pytest.mark.slow
def test_ten_minutes_led_by_coverage(tmp_path: Path) -> None:
    """With atheris where it can be had, else with the loop in guided.py."""
    with_atheris = importlib.util.find_spec("atheris") is not None
    command = [sys.executable, "-m", "tests.hostile.guided", "--seconds", "600", "--failures", str(tmp_path)]
    command += ["--atheris"] if with_atheris else []
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
