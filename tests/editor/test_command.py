"""`attnc lsp` where it cannot run, and what checking costs while typing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attnc.cli import main


def test_without_pygls_there_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert main(["lsp"]) == 2
    assert capsys.readouterr().err == "attnc: the language server needs pygls: pip install attnc[lsp]\n"


def test_a_client_that_goes_away_ends_the_server(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "attnc", "lsp"], input=b"", capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_noise_on_the_pipe_is_survived(tmp_path: Path) -> None:
    noise = b'Content-Length: 5\r\n\r\n{"a":Content-Length: 2\r\n\r\n{}' + b"\xff" * 100
    done = subprocess.run(
        [sys.executable, "-m", "attnc", "lsp"], input=noise, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_checking_keeps_nothing_for_editors() -> None:
    """`attnc check` imports no editor, and elaborates without the recorder."""
    code = "import sys, attnc; attnc.loads('width a\\nblock f(x: [a]) -> [a] { return x }'); print([m for m in sys.modules if 'editor' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
