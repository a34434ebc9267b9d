"""Which tests run which lines, and how long each takes: only those can find a fault there, the quick ones first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from coverage import CoverageData
from trial import copy_of_package

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "out" / "faults" / "coverage"
IMPORTS = DATA.with_name("imports")
SECONDS = DATA.with_name("seconds.json")
PACKAGE = DATA.with_name("attnc")  # as it was measured


def measure(tests: list[str], workers: int) -> None:
    """Runs the quick suite once on a copy of the package, with each line's tests noted. Minutes.

    tests: new ones; they run on the copy of the first time, and what they reach is added.
    """
    if not tests:
        shutil.rmtree(DATA.parent, ignore_errors=True)
        DATA.parent.mkdir(parents=True)
        measure_imports(copy_of_package(DATA.parent))
    DATA.parent.mkdir(parents=True, exist_ok=True)
    settings = DATA.with_name("settings")
    settings.write_text(f"[run]\ndata_file = {DATA}\nsource = {PACKAGE}\n", encoding="utf-8")
    log = DATA.with_name("tests.jsonl")
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider", "-p", "clock"]
    command += ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    command += ["--cov-append", *tests] if tests else []
    path = os.pathsep.join([str(PACKAGE.parent), str(Path(__file__).parent)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "FAULTS_CLOCK": str(log)}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)  # a failure counts as found only if it is new
    seconds: defaultdict[str, float] = defaultdict(float)
    for line in log.read_text(encoding="utf-8").splitlines():
        name, took = json.loads(line)
        seconds[name] += took
    if tests:
        seconds = defaultdict(float, json.loads(SECONDS.read_text(encoding="utf-8"))) | seconds
    SECONDS.write_text(json.dumps(seconds, indent=0), encoding="utf-8")


def measure_imports(package: Path) -> None:
    """Notes which lines importing every module runs."""
    files = [file.relative_to(package.parent) for file in sorted(package.rglob("*.py")) if file.stem != "__main__"]
    code = "\n".join("import " + ".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files)
    script = IMPORTS.with_suffix(".py")
    script.write_text(code + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--data-file={IMPORTS}", f"--source={package}", str(script)]
    environment = os.environ | {"PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


class Reach:
    """What `measure` has found."""

    def __init__(self) -> None:
        if not SECONDS.exists():
            raise SystemExit("first run `python tests/faults/run.py --measure`")
        self.seconds: dict[str, float] = json.loads(SECONDS.read_text(encoding="utf-8"))
        self._data = CoverageData(str(DATA))
        self._data.read()
        # Coverage knows the files of the copy that it watched.
        imports = CoverageData(str(IMPORTS))
        imports.read()
        self._imported = {file.rpartition("/attnc/")[2]: imports.lines(file) or [] for file in imports.measured_files()}
        self._lines = cache(self._read)
        self._files: defaultdict[str, list[str]] = defaultdict(list)
        for file in self._data.measured_files():
            self._files[file.rpartition("/attnc/")[2]].append(file)

    def tests(self, file: str, lines: range) -> list[str]:
        """The tests that a fault in these lines may fail, the best to begin with first.

        file: below the package. What only importing runs matters to whatever calls anything of the file; what no test
        runs in its own process may be run by those that start another.
        """
        found = self._lines(file)
        measured = self._measured(file, lines)
        names = self._names(context for line in measured for context in found.get(line, ()))
        if not names and self._imports(file, measured):
            names = self._names(context for contexts in found.values() for context in contexts) or set(self.seconds)
        return self._in_order(names or self._starting_others())

    def imports(self, file: str, lines: range) -> bool:
        """Whether importing the module runs any of the lines."""
        return self._imports(file, self._measured(file, lines))

    def _measured(self, file: str, lines: range) -> Collection[int]:
        """Where these lines stood when the suite was measured; new ones count as those around them."""
        before = (PACKAGE / file).read_text(encoding="utf-8").splitlines() if (PACKAGE / file).exists() else []
        now = (ROOT / file).read_text(encoding="utf-8").splitlines()
        found: set[int] = set()
        for kind, a, b, c, d in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
            for line in range(max(c + 1, lines.start), min(d + 1, lines.stop)):
                found |= {line - c + a} if kind == "equal" else set(range(a, b + 2))
        return found

    def _imports(self, file: str, lines: Collection[int]) -> bool:
        return not set(lines).isdisjoint(self._imported.get(file, ()))

    def of(self, files: list[str]) -> list[str]:
        """The tests that run anything of these files."""
        names = self._names(each for file in files for contexts in self._lines(file).values() for each in contexts)
        return self._in_order(names)

    def _in_order(self, names: set[str]) -> list[str]:
        """The quick ones of each file first; all files get the same time, for those of one file find much the same.

        What compares texts letter by letter finds more, and gets five times the time of others.
        """
        spent: defaultdict[str, float] = defaultdict(float)
        ends = {}
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            file = name.partition("::")[0]
            spent[file] += self.seconds[name] / (5 if self._compares_texts(file) else 1)
            ends[name] = spent[file]
        return sorted(names, key=lambda name: (ends[name], name))

    @staticmethod
    @cache
    def _compares_texts(file: str) -> bool:
        return "golden(" in (ROOT / file).read_text(encoding="utf-8")

    def _read(self, file: str) -> dict[int, list[str]]:
        found: defaultdict[int, list[str]] = defaultdict(list)
        for path in self._files.get(file, ()):
            for line, contexts in self._data.contexts_by_lineno(path).items():
                found[line] += contexts
        return found

    def _names(self, contexts: Iterable[str]) -> set[str]:
        return {context.rpartition("|")[0] for context in set(contexts)} & self.seconds.keys()

    def _starting_others(self) -> set[str]:
        files = {name.partition("::")[0] for name in self.seconds}
        starting = {file for file in files if "sys.executable" in (ROOT / file).read_text(encoding="utf-8")}
        return {name for name in self.seconds if name.partition("::")[0] in starting | {"tests/editor/test_server.py"}}
