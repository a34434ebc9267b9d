"""The wrong programs of the tests: those that the catalogue shows, and the `.txt` files here.

`catalogue.txt` has the message for each code's wrong program, and not the program: that stands in
`dsl/catalogue` alone. How the other files look stands at the head of `test_mistakes.py`.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import attnc
from attnc.compiler.advice.sizes import require_sizes
from attnc.compiler.check import Program, build
from attnc.dsl.catalogue import CATALOGUE
from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.errors import AttnError
from attnc.dsl.render import render_all
from attnc.dsl.source import Source
from attnc.trials import tried

HERE = Path(__file__).parent
SHOWN = HERE / "catalogue.txt"
FILES = sorted(path for path in HERE.glob("*.txt") if path != SHOWN)


@dataclass(frozen=True)
class Case:
    """A wrong program. `places`: what its mistakes underline; of the catalogue's, `catalogue.txt` alone shows it."""

    file: str
    header: str
    title: str
    codes: list[str]
    places: list[str] | None
    text: str


def cases(path: Path) -> list[Case]:
    found = []
    for part in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        header, _, rest = part.partition("\n")
        title, codes, places = (field.strip() for field in header.split(" | "))
        text = rest.partition("\n---\n")[0].rstrip("\n") + "\n"
        found.append(Case(path.stem, header, title, codes.split(", "), places.split("; "), text))
    return found


OF_CATALOGUE = [
    Case("catalogue", code, code, [code], None, entry.wrong.lstrip("\n")) for code, entry in CATALOGUE.items()
]
CASES = [*OF_CATALOGUE, *(case for path in FILES for case in cases(path))]


@dataclass(frozen=True)
class Files:
    """The files of a program in a folder, and how its first line says that they are checked."""

    main: Source
    command: str

    def check(self, source: Source | None = None) -> Program:
        sizes = {key: int(value) for key, value in re.findall(r"--set (\w+)=(\d+)", self.command)}
        config = re.search(r"--config (\w+)", self.command)
        return build(source or self.main, sizes=sizes, config=config[1] if config else None, trials=tried)

    def diagnostics(self, source: Source | None = None) -> tuple[Diagnostic, ...]:
        """All that is wrong, with what is found only where a model is drawn or compiled."""
        program = self.check(source)
        done = re.match(r"# attnc (draw|compile) main\.attn:(\w+)", self.command)
        if done is None:
            return program.diagnostics
        try:
            if done[1] == "draw":
                attnc.load(self.main.name).model(done[2]).draw()
            else:
                require_sizes(program.graph(done[2]))
        except AttnError as wrong:
            return wrong.diagnostics
        return program.diagnostics


def written(text: str, folder: Path) -> Files:
    """A program put into a folder: a line `# -- other.attn` begins another file beside `main.attn`."""
    parts = re.split(r"^# -- (\w+\.(?:attn|figure))\n", text, flags=re.MULTILINE)
    files = dict(zip(["main.attn", *parts[1::2]], parts[::2], strict=True))
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    return Files(Source(str(folder / "main.attn"), files["main.attn"]), text.partition("\n")[0])


@cache
def check(text: str) -> tuple[tuple[Diagnostic, ...], str]:
    """What is wrong with a program, and what is printed."""
    with tempfile.TemporaryDirectory() as name:
        found = written(text, Path(name)).diagnostics()
        said = render_all(found).replace(f"{name}/", "")
        return found, re.sub(r"\d+ trials at", "some trials at", said)  # as many as there is time for
