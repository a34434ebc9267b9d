"""What `attnc cost` prints for the programs in `reports.txt`.

=== what it shows | arguments (the program stands in FILE)
the program
---
what is printed
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attnc.cli import main

HERE = Path(__file__).parent
REPORTS = HERE / "reports.txt"


def cases() -> list[tuple[str, str, str]]:
    parts = re.split(r"^=== ", REPORTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = []
    for part in parts:
        header, _, rest = part.partition("\n")
        title, arguments = (field.strip() for field in header.split(" |"))
        found.append((title, arguments, rest.partition("\n---\n")[0] + "\n"))
    return found


def test_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Callable[[Path, str], None]) -> None:
    shown = []
    for title, arguments, text in cases():
        file = tmp_path / "net.attn"
        file.write_text(text, encoding="utf-8")
        given = arguments.replace("FILE", str(file)) if "FILE" in arguments else f"{file} {arguments}"
        assert main(["cost", *given.split()]) == 0
        out = re.sub(r'\{\n\s*("value": .*)\n\s*("formula": .*)\n\s*\}', r"{\1 \2}", capsys.readouterr().out)
        shown.append(f"=== {title} | {arguments}\n{text}---\n{out}\n")
    golden(REPORTS, "".join(shown))
