"""Mistakes of meaning, and right variants that stand near them: specs as edits of the bases, and published designs.

They were written without sight of the checks that are tried on them, so they stay as they are: a check that misses a
mistake, or is wrong about a right variant, is what they are here to count. Only a change of the language edits them.

A case of `wrong.txt` is

    === name | number of the kind | base | level that one would expect
    - what stood in the base
    + what stands there now
    ! E0326             what the checker said of it when it was written: it may say this still
    @ a stretch of the edited text: a message underlines something on its line
    = why it is wrong, though its shapes fit

with any number of edits, each of as many lines as it takes; what stood there occurs once. In `right.txt` there is no
level, no `!` and no `@`. A line that starts with `#` is a comment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KINDS = {
    1: "the target can be read by its own logits",
    2: "weights that never learn",
    3: "padding told once, forgotten elsewhere",
    4: "queries that see nothing",
    5: "the wrong kind of number",
    6: "masks that do not mask",
    7: "positions",
    8: "heads",
    9: "dropout",
    10: "unused",
    11: "self-attention without a second axis",
    12: "refusals that blame the wrong place",
}
LEVELS = ("error", "warning", "advice")


@dataclass
class Edit:
    """One replacement in a base's text."""

    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class Case:
    """An edited base; `level`, `told` (codes) and `place` are empty of a right variant."""

    name: str
    kind: int
    base: str
    level: str = ""
    edits: list[Edit] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    place: str = ""
    why: str = ""

    def text(self) -> str:
        """The spec. Raises ValueError if what an edit replaces does not stand there just once."""
        text = base_text(self.base)
        for edit in self.edits:
            old = "\n".join(edit.old)
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: this stands {text.count(old)} times in {self.base}: {old!r}")
            text = text.replace(old, "\n".join(edit.new))
        return text

    def line(self) -> int:
        """The number of the line that a message should point at. Raises ValueError if `place` is not unique."""
        text = self.text()
        if not self.place or text.count(self.place) != 1:
            raise ValueError(f"{self.name}: this stands {text.count(self.place)} times in the text: {self.place!r}")
        return text[: text.index(self.place)].count("\n") + 1


@cache
def base_text(name: str) -> str:
    return (HERE / "bases" / f"{name}.attn").read_text(encoding="utf-8")


def cases(file: str) -> list[Case]:
    """The cases of `wrong.txt` or `right.txt`, in order. Raises ValueError on a line of no known form."""
    found: list[Case] = []
    for number, line in enumerate((HERE / file).read_text(encoding="utf-8").splitlines(), 1):
        mark, rest = line[:2].strip(), line[2:]
        if line.startswith("=== "):
            name, kind, base, *level = (part.strip() for part in line[4:].split(" | "))
            found.append(Case(name, int(kind), base, *level))
        elif mark == "-":
            if not found[-1].edits or found[-1].edits[-1].new:
                found[-1].edits.append(Edit())
            found[-1].edits[-1].old.append(rest)
        elif mark == "+":
            found[-1].edits[-1].new.append(rest)
        elif mark == "!":
            found[-1].told += rest.split()
        elif mark == "@":
            found[-1].place = rest
        elif mark == "=":
            found[-1].why = rest
        elif line.strip() and mark[:1] != "#":
            raise ValueError(f"{file}:{number}: {line}")
    return found


def designs() -> list[Path]:
    """The published designs: the files that `designs.txt` names, and those of `designs/`."""
    lines = (HERE / "designs.txt").read_text(encoding="utf-8").splitlines()
    named = [ROOT / line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]
    return [*named, *sorted((HERE / "designs").glob("*.attn"))]
