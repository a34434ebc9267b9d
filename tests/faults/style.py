"""Lint and types, with which `make test` begins: whether they find a fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Style:
    """ruff and mypy, over a copy of the package; mypy goes on running, and looks again at what has changed."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.lock = threading.Lock()
        self._types()

    def finds(self, file: str, sound: str, faulty: str) -> str | None:
        """Who complains of the faulty text and not of the sound one, which has lost the same comments.

        file: below the package.
        """
        for who, complaints in (("ruff", self._lint), ("mypy", self._typed)):
            if (found := complaints(file, faulty)) and found - complaints(file, sound):
                return who
        return None

    def _lint(self, file: str, text: str) -> set[str]:
        # Mistakes alone: that code is not in good style says that a machine has written it.
        command = [sys.executable, "-m", "ruff", "check", "-q", "--select", "F,B", "--output-format", "concise"]
        return _complaints([*command, "--stdin-filename", str(ROOT / file), "-"], text)

    def _typed(self, file: str, text: str) -> set[str]:
        with self.lock:
            path = self.package / file
            before = path.read_text(encoding="utf-8")
            path.write_text(text, encoding="utf-8")
            try:
                return self._types()
            finally:
                path.write_text(before, encoding="utf-8")

    def _types(self) -> set[str]:
        folder = self.package.parent
        status = ["--status-file", str(folder / "dmypy.json")]
        command = [sys.executable, "-m", "mypy.dmypy", *status, "run", "--timeout", "600", "--"]
        found = _complaints([*command, "-p", "attnc"], environment={"MYPYPATH": str(folder)})
        return {line for line in found if ": error:" in line}

    def close(self) -> None:
        status = ["--status-file", str(self.package.parent / "dmypy.json")]
        subprocess.run([sys.executable, "-m", "mypy.dmypy", *status, "stop"], check=False, capture_output=True)


def _complaints(command: list[str], text: str = "", environment: dict[str, str] | None = None) -> set[str]:
    """What it prints, without the places."""
    done = subprocess.run(
        command, cwd=ROOT, input=text, capture_output=True, text=True, env=os.environ | (environment or {}), check=False
    )
    return {re.sub(r":\d+(:\d+)?:", ":", line) for line in done.stdout.splitlines()}
