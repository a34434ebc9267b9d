"""Legal texts made to be slow: every command answers, in time that grows with their size, and without a traceback."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main

from .pathological import SHAPES

SIZE = 1 << 16
CHECKED = 3 * 2.0  # seconds of the processor; other tests run beside this one
MADE = 40.0  # for what else is done with a part of that: some seconds, on a machine that does nothing else
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
    started = time.process_time()
    found = attnc.check(text)
    assert time.process_time() - started < CHECKED
    assert {each.code for each in found} <= {"E0220", "E0701", "W0502", "W0503", "W0508"}, str(attnc.AttnError(found))


@pytest.mark.parametrize("part", [SIZE // 32, pytest.param(SIZE // 8, marks=pytest.mark.slow)], ids=["small", "larger"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_answers(shape: str, part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spec.attn"
    file.write_text(SHAPES[shape](random.Random(shape), part))
    assert main(["fmt", str(file)]) == 0
    for name, (command, *more) in COMMANDS.items():
        started = time.process_time()
        status = main([command, f"{file}:m", *more])
        spent = time.process_time() - started
        said = capsys.readouterr().err
        assert status in (0, 1), (name, said[:500])
        assert "internal error" not in said
        assert spent < MADE, f"{name}: {spent:.1f} s"


# Not ru_maxrss: a process starts with that of the one that started it.
MEASURED = """
import re, sys, time
from attnc.cli.main import main
status = main(sys.argv[1:])
peak = re.search("VmHWM:\\\\s*([0-9]+)", open("/proc/self/status").read())
print(status, int(peak[1]) // 1024, round(time.process_time(), 1))
"""


def measured(*arguments: str) -> tuple[int, int, float]:
    """The exit status of a command, its peak memory in MiB, and its seconds of the processor."""
    done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, timeout=300)
    status, memory, seconds = done.stdout.split()[-3:]
    return int(status), int(memory), float(seconds)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
@pytest.mark.parametrize("shape", ["masks", "gathers", "calls"])
def test_the_memory_of_a_whole_process(shape: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.attn"
    file.write_text(SHAPES[shape](random.Random(shape), SIZE))
    for command in (["check"], ["fmt", "--check"]):
        status, memory, seconds = measured(*command, str(file))
        assert status in (0, 1)
        assert memory <= 256
        assert seconds < 2 * CHECKED
