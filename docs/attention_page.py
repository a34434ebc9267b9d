"""docs/attentions.md and its pictures, from examples/attentions: docs/generate.py writes them.

The order and the headings are those of examples/attentions/README.md. The comment at the head of each spec gives the
text: one line with its name, one with its source, and after a line without text what it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import attnc
from attnc.compiler.cost.growth import complexity, rows, sequential
from attnc.diagrams import Diagram

DOCS = Path(__file__).parent
ATTENTIONS = DOCS.parent / "examples" / "attentions"
PICTURES = Path("pictures") / "attentions"
# How those are drawn whose every step is too much for a page.
DRAWN: dict[str, dict[str, Any]] = {"lsh": {"depth": 0}, "linear_attention": {"close": ("phi",)}}
# Widths for what the usual ones do not divide into.
SIZES = {"shifted_windows": {"high": 56, "wide": 56}}

INTRODUCTION = """\
What came before *Attention Is All You Need*, what is in it, and what came after. Each is a file of
`examples/attentions`, checked, drawn and compiled as it stands here, and tested against its paper's formula, torch.nn
or Hugging Face transformers. [How to read the diagrams](diagrams.md).

What each costs is derived from its spec (`attnc cost --growth`, [how](cost.md)): multiply-adds for one layer, steps
that wait for each other, and through how many layers an item reaches any other. Where the pattern of a mask is no
band, the path is a lower bound. Parameters are at the sizes as written.
"""


@dataclass(frozen=True)
class Entry:
    """A spec: `name.attn` under a heading of the index, with what its first comment says."""

    heading: str
    name: str
    title: str
    source: str
    text: str
    code: str

    @property
    def anchor(self) -> str:
        """What GitHub and the site make of the title."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")

    def models(self) -> Iterator[attnc.Model]:
        spec = attnc.load(ATTENTIONS / f"{self.name}.attn")
        for model in spec.models:
            yield spec.model(model)


def entries() -> list[Entry]:
    """In the order of the index."""
    found, heading = [], ""
    for line in (ATTENTIONS / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif row := re.match(r"\| \[\w+\]\((\w+)\.attn\)", line):
            found.append(_entry(heading, row[1]))
    return found


def _entry(heading: str, name: str) -> Entry:
    text = (ATTENTIONS / f"{name}.attn").read_text(encoding="utf-8")
    comment, code = text.split("\n\n", 1)
    title, source, _, *said = (line.removeprefix("#").removeprefix(" ") for line in comment.splitlines())
    return Entry(heading, name, title, source, "\n".join(said), code)


def page() -> str:
    """The table, then a section for each."""
    every = entries()
    lines = ["# Attentions", "", "<!-- Written by docs/generate.py (`make docs`): do not edit. -->", "", INTRODUCTION]
    lines += [
        "| | model | parameters | complexity per layer | sequential steps | longest path |",
        "|---|---|--:|---|---|---|",
    ]
    for entry in every:
        title = f"[{entry.title}](#{entry.anchor})"
        for model in entry.models():
            lines.append(f"| {title} | `{model.name}` | {' | '.join(costs(model))} |")
            title = ""
    heading = ""
    for entry in every:
        if entry.heading != heading:
            heading = entry.heading
            lines += ["", f"## {heading}"]
        lines += ["", f"### {entry.title}", "", f"*{entry.source}*", "", entry.text, ""]
        lines += ["```attn", entry.code.rstrip("\n"), "```"]
        for model in entry.models():
            lines += ["", f"![Diagram of {model.name}]({PICTURES.as_posix()}/{model.name}.svg)"]
    return "\n".join(lines) + "\n"


def costs(model: attnc.Model) -> tuple[str, str, str, str]:
    """Parameters, complexity, sequential steps and longest path, the last along each width that has one."""
    cost = model.cost(SIZES.get(model.name, {}))
    found = rows(cost)
    paths = dict.fromkeys(row[3] for row in found)
    first = found[0] if found else ("", complexity(cost), sequential(cost), "")
    return f"{sum(weight.size for weight in model.weights.values()):,}", first[1], first[2], ", ".join(paths)


def pictures(of: Iterable[Entry]) -> Iterator[tuple[Path, Diagram]]:
    """Where in docs/, and what: one for each model."""
    for entry in of:
        for model in entry.models():
            yield PICTURES / f"{model.name}.svg", model.draw(**DRAWN.get(entry.name, {}))


def stamp(diagram: Diagram) -> str:
    """Ends a picture: what it was drawn from, so that a test without Graphviz can see whether it is current."""
    return f"<!-- drawn from DOT sha256 {hashlib.sha256(diagram.dot.encode()).hexdigest()[:32]} -->\n"


def draw() -> None:
    """Write the pictures, and take away those that are no more."""
    every = dict(pictures(entries()))
    (DOCS / PICTURES).mkdir(parents=True, exist_ok=True)
    for old in (DOCS / PICTURES).glob("*.svg"):
        if PICTURES / old.name not in every:
            old.unlink()
    for path, diagram in every.items():
        write(path, diagram)


def write(path: Path, diagram: Diagram) -> None:
    """Write one picture."""
    (DOCS / path).write_text(diagram.svg().rstrip("\n") + "\n" + stamp(diagram), encoding="utf-8")
