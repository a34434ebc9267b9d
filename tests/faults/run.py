"""Does the suite kill bugs? `python tests/faults/run.py [--count N] [--seed S] [--minutes M]`.

Seeded faults are put into checker, passes and emitters, one at a time, in a copy of the package; the tests run against
the copy until one fails. First those of the fault's area, then all. What survives is printed with its place and listed
in out/faults.json: each is a hole in the suite, or changes nothing that anyone could see.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from operators import Fault, faults, with_fault  # noqa: E402

# Where faults are put, and the tests that should find one there.
AREAS = {
    "dsl": ["tests/dsl", "tests/mistakes"],
    "compiler": ["tests/mistakes", "tests/compiler", "tests/backends", "tests/ragged", "tests/decode"],
    "compiler/ops": ["tests/mistakes", "tests/test_op_table.py", "tests/compiler"],
    "compiler/rewrites": ["tests/ragged", "tests/masks", "tests/backends"],
    "compiler/masks": ["tests/masks", "tests/backends"],
    "compiler/decode": ["tests/decode"],
    "compiler/cost": ["tests/cost"],
    "backends": ["tests/backends", "tests/test_op_table.py", "tests/masks", "tests/decode"],
}
QUIET = {"dump.py", "__init__.py"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="faults (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    parser.add_argument("--minutes", type=float, default=600, help="stop after this long (%(default)s)")
    parser.add_argument("--area", choices=list(AREAS), help="only here")
    parser.add_argument("--quick", action="store_true", help="count a fault that its area's tests pass as a survivor")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    survivors, tried = [], 0
    for area, file, fault in chosen(options.count, options.seed, options.area):
        if time.monotonic() > end:
            break
        tried += 1
        killer = killed_by(area, file, fault, options.quick)
        print(f"{tried:4} {file}:{fault.line} {fault.what}: {killer or 'SURVIVES'}", flush=True)
        if killer is None:
            survivors.append({"file": str(file), "line": fault.line, "what": fault.what})
    print(f"{tried} faults, {tried - len(survivors)} found ({(tried - len(survivors)) / max(tried, 1):.0%})")
    out = ROOT / "out" / "faults.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"tried": tried, "survivors": survivors}, indent=2) + "\n", encoding="utf-8")
    return 0 if tried and len(survivors) <= 0.05 * tried else 1


def chosen(count: int, seed: int, only: str | None) -> Iterator[tuple[str, Path, Fault]]:
    """So many faults, spread over the files by their length."""
    places = []
    for area in [only] if only else AREAS:
        for file in sorted((ROOT / area).glob("*.py")):
            if file.name not in QUIET and not file.name.endswith("_helpers.py"):
                places += [(area, file, fault) for fault in faults(file.read_text(encoding="utf-8"))]
    random.Random(seed).shuffle(places)
    for area, file, fault in places[:count]:
        yield area, file.relative_to(ROOT), fault


def killed_by(area: str, file: Path, fault: Fault, quick: bool) -> str | None:
    """The test that fails, or None. A run that takes too long counts as found: an endless loop is seen."""
    with tempfile.TemporaryDirectory() as folder:
        package = copy_of_package(Path(folder))
        text = (ROOT / file).read_text(encoding="utf-8")
        (package / file).write_text(with_fault(text, fault), encoding="utf-8")
        near = [test for test in AREAS[area] if (ROOT / test).exists()]
        for tests in [near] if quick else [near, ["tests"]]:
            found = first_failure(Path(folder), tests)
            if found is not None:
                return found
    return None


def copy_of_package(folder: Path) -> Path:
    """The package with its folders copied rather than linked, under `folder`."""
    package = folder / "attnc"
    shutil.copytree(ROOT / "src" / "attnc", package, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("dsl", "compiler", "backends", "diagrams"):
        shutil.copytree(ROOT / part, package / part, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def first_failure(folder: Path, tests: list[str]) -> str | None:
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--no-header", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False
        )
    except subprocess.TimeoutExpired:
        return "took too long"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else "could not run"


if __name__ == "__main__":
    sys.exit(main())
