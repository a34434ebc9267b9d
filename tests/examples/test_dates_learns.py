"""A full run of the dates example: minutes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "examples" / "dates" / "run.py"


@pytest.mark.slow
def test_a_full_run_translates_the_held_out_dates(tmp_path):
    done = subprocess.run([sys.executable, str(RUN), "--out", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert numbers["exact_match"] >= 0.98
    assert numbers["tokens_equal"]
    assert numbers["logits_difference_over_std"] <= 2e-5
