"""Processes that run divided models, as many as a mesh has devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.clock import PATIENCE, patience

ROOT = Path(__file__).parents[2]


def run(world: int, cases: Sequence[dict[str, Any]], seconds: float = 240.0) -> list[dict[str, Any]]:
    """What the first of `world` processes found for each case: one pool for all of them. Fails if one of them did."""
    found = [*each_found(world, cases, seconds)]
    for each in found:
        assert "failed" not in each, (each["case"], each["failed"])
    return found


def each_found(world: int, cases: Sequence[dict[str, Any]], seconds: float) -> Iterator[dict[str, Any]]:
    """What is found for each case, as soon as it is known: the last is that which failed in one of the processes.

    seconds: that one case may take.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps(list(cases)))
        command = [sys.executable, "-m", "tests.sharding.worker"]
        places = [str(world), str(Path(folder) / "meet"), str(file)]
        said = [(Path(folder) / f"{rank}.out", Path(folder) / f"{rank}.err") for rank in range(world)]
        started = []
        for rank, names in enumerate(said):
            with open(names[0], "wb") as out, open(names[1], "wb") as err:
                env = {**os.environ, "OMP_NUM_THREADS": "1"}
                started.append(
                    subprocess.Popen([*command, str(rank), *places], cwd=ROOT, env=env, stdout=out, stderr=err)
                )
        try:
            told, waiting = 0, patience(seconds)
            while told < len(cases):
                over = not waiting() or any(each.poll() is not None for each in started)
                if over:
                    time.sleep(2.0)  # for what the others say
                lines = [_found(out) for out, _ in said]
                for each in lines[0][told:]:
                    if "failed" not in each:
                        yield each
                        told, waiting = told + 1, patience(seconds)
                failed = [each for found in lines for each in found if "failed" in each]
                if failed or (over and told < len(cases)):
                    why = "\n".join(err.read_text()[-3000:] for _, err in said)
                    yield failed[0] if failed else {"case": cases[told], "failed": why or "nothing was said"}
                    return
                time.sleep(0.1)
            for each in started:
                each.wait(PATIENCE)
        finally:
            for each in started:
                each.kill()
                each.wait()


def _found(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a process that are results."""
    lines = file.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith("{")]
