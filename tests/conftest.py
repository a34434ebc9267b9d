"""What all tests share: golden files, and which of them are slow by measure (slow.txt)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attnc.compiler.advice.failures import Failure, Failures


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files instead of comparing with them")
    parser.addoption("--seeds", default="500:20500", help="START:STOP, the generated programs that the slow suite runs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update is refused in CI: golden files are rewritten by people, who read the diff")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    listed = (Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").splitlines()
    slow = {f"tests/{line}" for line in listed}
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def advisers_fail_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adviser that fails is passed over where users are; in a test it raises what it raised."""

    def raised(self: Failures, failure: Failure) -> None:
        raise failure.bug

    monkeypatch.setattr(Failures, "failed", raised)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """`golden(path, text)`: the text is what the file says. `pytest --update` makes it so.

    A relative path starts at the folder of the test file.
    """

    def compare(path: Path, text: str) -> None:
        path = request.path.parent / path
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"no golden file {path}; `pytest --update` writes it"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; `pytest --update` rewrites it: read the diff"

    return compare


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have counted, whichever process ran them: `record_property("shown", text)`."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in report.user_properties:
            if name == "shown" and report.when == "call":
                terminalreporter.write_line(text)
