"""Legal texts made to be slow: every command answers, in time that grows with their size, and without a traceback."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main
from tests.clock import at_most

from .pathological import SHAPES

SIZE = 1 << 16
CHECKED = 60  # yardsticks
MADE = 400  # for what else is done with a part of that
COMMANDS = {
    "compile to torch": ["compile", "--to", "torch"],
    "compile to numpy": ["compile", "--to", "numpy"],
    "explain": ["compile", "--explain"],
    "cost": ["cost"],
    "show": ["show", "--latex"],
    "summary": ["summary"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_checking_takes_no_time(shape: str) -> None:
    text = SHAPES[shape](random.Random(shape), SIZE)
    assert len(text) <= SIZE * 1.3
    with at_most(CHECKED):
        found = attnc.check(text)
    assert {each.code for each in found} <= {"E0220", "E0701", "W0502", "W0503", "W0508", "W0523"}, str(
        attnc.AttnError(found)
    )


@pytest.mark.parametrize("part", [SIZE // 32, pytest.param(SIZE // 8, marks=pytest.mark.slow)], ids=["small", "larger"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_answers(shape: str, part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spec.attn"
    file.write_text(SHAPES[shape](random.Random(shape), part))
    assert main(["fmt", str(file)]) == 0
    for name, (command, *more) in COMMANDS.items():
        with at_most(MADE):
            status = main([command, f"{file}:m", *more])
        said = capsys.readouterr().err
        assert status in (0, 1), (name, said[:500])
        assert "internal error" not in said


# Not ru_maxrss: a process starts with that of the one that started it.
MEASURED = """
import re, sys
from attnc.cli.main import main
status = main(sys.argv[1:])
peak = re.search("VmHWM:\\\\s*([0-9]+)", open("/proc/self/status").read())
from tests.clock import yardsticks_so_far
print(status, int(peak[1]) // 1024, round(yardsticks_so_far()))
"""


def measured(*arguments: str) -> tuple[int, int, int]:
    """The exit status of a command, its peak memory in MiB, and the yardsticks that it took."""
    command = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2])
    status, memory, yardsticks = map(int, done.stdout.split()[-3:])
    return status, memory, yardsticks


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
@pytest.mark.parametrize("shape", ["masks", "gathers", "calls"])
def test_the_memory_of_a_whole_process(shape: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.attn"
    file.write_text(SHAPES[shape](random.Random(shape), SIZE))
    for command in (["check"], ["fmt", "--check"]):
        status, memory, yardsticks = measured(*command, str(file))
        assert status in (0, 1)
        assert memory <= 256
        assert yardsticks < 2 * CHECKED
