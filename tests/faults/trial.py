"""Trials of faults: pytest collects the suite once; each trial forks off, puts its fault in, and runs its tests.

A fault in a function takes effect by giving the function other code; that saves importing and collecting all again. One
that importing runs into (a table, a default, the body of a class) has it all imported anew, in its process.
"""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import hypothesis
import pytest
from hypothesis import Phase

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["-q", "-s", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]


@dataclass(frozen=True)
class Trial:
    """file: below the package; text: with the fault in it; sound: printed alike, without it. function: that it is in,
    None if importing runs it.

    tests: in order, each with the seconds it should take. limit: processor seconds for all, then it survives.
    """

    file: str
    sound: str
    text: str
    function: str | None
    tests: dict[str, float]
    goldens: bool
    limit: float


def run(
    trials: list[Trial],
    workers: int,
    look: Callable[[str, str, str], str | None],
    report: Callable[[int, str | None], None],
) -> None:
    """Reports the place of each trial and the test that fails, or None.

    look: lint and types: who complains of a file whose sound text has become a faulty one.
    """
    files = sorted({test.partition("::")[0] for trial in trials for test in trial.tests})
    with tempfile.TemporaryDirectory() as folder:
        copy_of_package(Path(folder))
        sys.path.insert(0, folder)
        os.environ |= {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
        sys.dont_write_bytecode = True
        os.chdir(ROOT)
        os.nice(5)
        hypothesis.settings.register_profile("faults", phases=[Phase.explicit, Phase.generate], database=None)
        hypothesis.settings.load_profile("faults")  # that a test fails is enough: no time for the smallest example
        pytest.main([*OPTIONS, *files], plugins=[_Forks(trials, workers, look, report)])


class _Forks:
    """Runs the trials where pytest would run the tests."""

    def __init__(
        self,
        trials: list[Trial],
        workers: int,
        look: Callable[[str, str, str], str | None],
        report: Callable[[int, str | None], None],
    ) -> None:
        self.trials, self.workers, self.look, self.report = trials, workers, look, report

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.cached = [each for each in gc.get_objects() if type(each) is functools._lru_cache_wrapper]
        gc.freeze()
        with ThreadPoolExecutor(self.workers) as pool:
            todo = {pool.submit(self._killer, trial, session.items): place for place, trial in enumerate(self.trials)}
            for done in as_completed(todo):
                self.report(todo[done], done.result())
        return True

    def _killer(self, trial: Trial, items: list[pytest.Item]) -> str | None:
        """The test that fails by itself for the fault, and not without it: some bear no fork, or so little time."""
        if complains := self.look(trial.file, trial.sound, trial.text):
            return complains
        while trial.limit > 0:
            found, spent = self._forked(trial, items)
            if found not in trial.tests:
                return found or None
            alone = replace(trial, tests={found: trial.tests[found]})
            # The sound text goes in by the same way, which some tests do not bear.
            sound = not self._forked(replace(alone, text=trial.sound), items)[0]
            if sound and (len(trial.tests) == 1 or self._forked(alone, items)[0]):
                return found
            others = {test: time for test, time in trial.tests.items() if test != found}
            trial = replace(trial, tests=others, limit=trial.limit - spent)
        return None

    def _forked(self, trial: Trial, items: list[pytest.Item]) -> tuple[str, float]:
        """Which test fails, and the processor seconds that it took to see it."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, _child(trial, items, self.cached).encode())
            os._exit(0)
        os.close(write)
        with open(read, encoding="utf-8") as pipe:
            said = pipe.read()
        _, status, used = os.wait4(child, 0)
        return said if status == 0 else "the process dies", used.ru_utime + used.ru_stime


def _child(trial: Trial, items: list[pytest.Item], cached: list[Any]) -> str:
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    with tempfile.TemporaryDirectory() as folder:
        package = copy_of_package(Path(folder))
        os.environ["PYTHONPATH"] = folder
        (package / trial.file).write_text(trial.text, encoding="utf-8")
        try:
            if trial.function and _swapped(trial, package, cached):
                return _run(trial, items)
            return _run_anew(trial, folder)
        except BaseException as problem:
            return f"{type(problem).__name__} outside the tests: {problem}"


def _swapped(trial: Trial, package: Path, cached: list[Any]) -> bool:
    """The function of the fault gets its new code. What reads files beside a module reads the faulty package's."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "attnc":
            below = package.joinpath(*name.split(".")[1:])
            if hasattr(module, "__path__"):
                module.__path__ = [str(below)]
                below /= "__init__"
            module.__file__ = f"{below}.py"
    for function in cached:
        function.cache_clear()
    name = "attnc." + trial.file.removesuffix(".py").replace("/", ".")
    if name not in sys.modules:
        return True  # will be imported with the fault in it, in another process
    old, new = _function(sys.modules[name], trial.function or ""), _code(trial)
    if old is None or new is None or old.__code__.co_freevars != new.co_freevars:
        return False
    old.__code__ = new
    return True


def _function(module: object, path: str) -> FunctionType | None:
    found: object = module
    for name in path.split("."):
        found = inspect.getattr_static(found, name, None)
    for inner in ("fget", "func", "__func__"):
        found = getattr(found, inner, found) if not isinstance(found, FunctionType) else found
    found = inspect.unwrap(found) if callable(found) else None
    return found if isinstance(found, FunctionType) and found.__code__.co_qualname == path else None


def _code(trial: Trial) -> CodeType | None:
    todo = [compile(trial.text, trial.file, "exec")]
    while todo:
        code = todo.pop()
        if code.co_qualname == trial.function:
            return code
        todo += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return None


def function_at(text: str, lines: range) -> str | None:
    """The outermost function or method around these lines, dotted; None if importing runs them, or makes functions
    of them: those that a decorator has made already stay what they are.
    """
    tree = ast.parse(text)
    decorators = {ast.unparse(each) for node in ast.walk(tree) for each in getattr(node, "decorator_list", ())}

    def go(body: list[ast.stmt], path: str) -> str | None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= lines.start <= (
                node.end_lineno or 0
            ):
                if isinstance(node, ast.ClassDef):
                    return go(node.body, f"{path}{node.name}.")
                inside = lines.start >= node.body[0].lineno and node.name not in decorators
                return f"{path}{node.name}" if inside else None
        return None

    return go(tree.body, "")


def _spent() -> float:
    """Processor seconds, those of processes started from here too."""
    return sum(os.times()[:4])


class _Watch:
    """Sees which test fails, and stops one that takes too long: an endless loop is found."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.failed: str | None = None
        self.end = _spent() + trial.limit
        self.place = {name: number for number, name in enumerate(trial.tests)}
        signal.signal(signal.SIGALRM, self._late)
        signal.alarm(300)  # for collecting

    def _late(self, *_: object) -> None:
        self.failed = "takes too long"
        pytest.exit(self.failed)

    def chosen(self, items: list[pytest.Item]) -> list[pytest.Item]:
        some = [item for item in items if item.nodeid in self.place]
        if not self.trial.goldens:
            some = [item for item in some if "golden" not in getattr(item, "fixturenames", ())]
        return sorted(some, key=lambda item: self.place[item.nodeid])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = self.chosen(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        signal.alarm(int(30 + 30 * self.trial.tests[item.nodeid]))
        try:
            return (yield)
        finally:
            if self.is_over:
                item.session.shouldstop = "no more time"

    @property
    def is_over(self) -> bool:
        return _spent() > self.end

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _run(trial: Trial, items: list[pytest.Item]) -> str:
    watch = _Watch(trial)
    some = watch.chosen(items)
    if some:
        some[0].config.pluginmanager.register(watch)
    try:
        for item, later in zip(some, [*some[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=later)
            if watch.failed or watch.is_over:
                break
    except pytest.exit.Exception:
        pass
    return watch.failed or ""


def _run_anew(trial: Trial, folder: str) -> str:
    """Imports and collects all again; the few files first in which most tests of the trial stand, for their time."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.split(".")[0] in ("attnc", "tests") or file.startswith(f"{ROOT}/"):
            del sys.modules[name]
    sys.path.insert(0, folder)
    by_file: dict[str, float] = {}
    for test, seconds in trial.tests.items():
        file = test.partition("::")[0]
        by_file[file] = by_file.get(file, 4) + seconds
    worth = {file: sum(test.startswith(file) for test in trial.tests) / spent for file, spent in by_file.items()}
    files = sorted(by_file, key=lambda file: -worth[file])
    for some in (files[:4], files[4:]):
        if some:
            watch = _Watch(trial)
            code = pytest.main([*OPTIONS, "-x", *some], plugins=[watch])
            if watch.failed or watch.is_over:
                return watch.failed or ""
            if code not in (0, 5):
                return "collecting the tests"
    return ""


def copy_of_package(folder: Path) -> Path:
    """The package with its folders copied rather than linked, under `folder`."""
    package = folder / "attnc"
    shutil.copytree(ROOT / "src" / "attnc", package, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("dsl", "compiler", "backends", "diagrams"):
        shutil.copytree(ROOT / part, package / part, ignore=shutil.ignore_patterns("__pycache__"))
    return package
