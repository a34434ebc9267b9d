"""`attnc lsp` where it cannot run, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from attnc.cli import main

SERVER = [sys.executable, "-m", "attnc", "lsp"]
SPEC = "width a\nblock f(x: [a]) -> [a] {\n    return x\n}\n"


def test_without_pygls_there_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert main(["lsp"]) == 2
    assert capsys.readouterr().err == 'attnc: the language server needs pygls: pip install "pygls>=2.1"\n'


def test_a_client_that_goes_away_ends_the_server() -> None:
    done = subprocess.run(SERVER, input=b"", capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def test_noise_on_the_pipe_is_survived() -> None:
    noise = b'Content-Length: 5\r\n\r\n{"a":Content-Length: 2\r\n\r\n{}' + b"\xff" * 100
    done = subprocess.run(SERVER, input=noise, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_checking_keeps_nothing_for_editors() -> None:
    """`attnc check` imports nothing of the editor."""
    code = f"import sys, attnc; attnc.loads({SPEC!r}); print([name for name in sys.modules if 'editor' in name])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
