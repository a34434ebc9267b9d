"""`attnc completion`: scripts for shells, and what bash makes of one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnc.cli.commands.completion import FILES, FOLDERS, SHELLS, actions
from attnc.cli.main import COMMANDS, main, parser

pytest.importorskip("shtab")


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    assert main(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    text = script(capsys, shell)
    assert [command for command in COMMANDS if command not in text] == []
    if shell in ("zsh", "fish"):  # which say what a command does: in a line
        assert "draw a neural-circuit diagram" in text
        assert "by the ending of OUT" not in text


def test_what_is_a_file_is_known_as_one() -> None:
    every = [action for action in actions(parser()) if action.metavar is not None]
    assert {*FILES, *FOLDERS} <= {action.metavar for action in every}
    unlike = ("FILE", "OUT", "DIR", ".npz")
    missed = {str(each.metavar) for each in every if any(part in str(each.metavar) for part in unlike)}
    assert missed <= {*FILES, *FOLDERS}


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("attnc ch", {"check"}),
        ("attnc co", {"compile", "convert", "cost", "completion"}),
        ("attnc draw --wi", {"--width"}),
        ("attnc draw --theme ", {"color", "mono"}),
        ("attnc compile a.attn --to ", {"torch", "numpy", "triton"}),
        ("attnc check ne", {"net.attn"}),
        ("attnc draw net.attn -o ou", {"out"}),
        ("attnc completion z", {"zsh"}),
    ],
)
def test_bash_completes(capsys: pytest.CaptureFixture[str], tmp_path: Path, typed: str, offered: set[str]) -> None:
    (tmp_path / "attnc.sh").write_text(script(capsys, "bash"))
    (tmp_path / "net.attn").write_text("")
    (tmp_path / "out").mkdir()
    words = typed.split(" ")
    code = f"""
        source ./attnc.sh
        COMP_WORDS=({" ".join(word or "''" for word in words)}) COMP_CWORD={len(words) - 1}
        _shtab_attnc attnc "{words[-1]}" "{words[-2]}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert offered == {line.rstrip("/ ") for line in done.stdout.splitlines()}, done.stderr


def test_without_shtab_there_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr() == ("", 'attnc: completion is made by shtab: pip install "shtab>=1.13"\n')
