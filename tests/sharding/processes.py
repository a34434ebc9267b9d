"""Processes that run divided models, as many as a mesh has devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run(world: int, cases: Sequence[dict[str, Any]], seconds: float = 240.0) -> list[dict[str, Any]]:
    """What the first of `world` processes found for each case: one pool for all of them. Fails if one of them did."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps(list(cases)))
        command = [sys.executable, "-m", "tests.sharding.worker"]
        places = [str(world), str(Path(folder) / "meet"), str(file)]
        started = [
            subprocess.Popen(
                [*command, str(rank), *places],
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        try:
            said = [each.communicate(timeout=seconds) for each in started]
        finally:
            for each in started:
                each.kill()
                each.communicate()
        found = [json.loads(line) for out, _ in said for line in out.splitlines() if line.startswith("{")]
        for each in found:
            assert "failed" not in each, (each["case"], each["failed"])
        assert len(found) == len(cases), "\n".join(error[-3000:] for _, error in said)
        return found
