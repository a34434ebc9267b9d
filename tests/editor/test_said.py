"""All that the editor says of a text, place by place, as golden files: what it knows comes from the checker itself."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from attnc.editor.analysis import Analysis, analyse
from attnc.editor.features import hints, navigate, tokens
from attnc.editor.features.complete import complete
from attnc.editor.features.hover import hover
from attnc.editor.features.signature import signature
from attnc.editor.project import Project

from .edits import ROOT

TOUR = ROOT / "tests" / "dsl" / "tour.attn"  # a spec with mistakes
RIGHT = ROOT / "tests" / "compiler" / "right"
LINK = re.compile(r"\(file://[^)]*\)")


@pytest.mark.parametrize(
    "path", [TOUR, *(RIGHT / f"{name}.attn" for name in ("everything", "lists", "scan", "streams"))]
)
def test_all_that_is_said(path: Path, tmp_path: Path, golden: Callable[[Path, str], None]) -> None:
    project = Project()
    project.folders = [str(tmp_path)]
    analysis = analyse(project, str(shutil.copy(path, tmp_path)))
    parts = {"hover": hovers(analysis), "hints": hinted(analysis), "signatures": signatures(analysis)}
    parts |= {"outline": outlined(navigate.outline(analysis.file)), "completion": completions(analysis)}
    text = "".join(f"== {title}\n" + "".join(f"{line}\n" for line in lines) for title, lines in parts.items())
    golden(Path("said") / f"{path.stem}.txt", text)


def place(analysis: Analysis, offset: int) -> str:
    line, column = analysis.source.position(offset)
    return f"{line}:{column}"


def hovers(analysis: Analysis) -> Iterator[str]:
    """At each name and between them: the first two paragraphs, for the rest are pages of the docs."""
    for start in [found.start() for found in re.finditer(r"\w+|[^\w\s]", analysis.text)]:
        if (found := hover(analysis, start)) is not None and found.span is not None:
            said = LINK.sub("", "\n\n".join(found.text.split("\n\n")[:2])).replace("\n", " / ")
            yield f"{place(analysis, start)} {found.span.text.splitlines()[0]} -> {said[:200]}"


def hinted(analysis: Analysis) -> Iterator[str]:
    for offset, text in hints.hints(analysis, 0, len(analysis.text)):
        yield f"{place(analysis, offset)} {text}"


def signatures(analysis: Analysis) -> Iterator[str]:
    """Behind each bracket and comma."""
    for found in re.finditer(r"[(\[,]", analysis.text):
        if (said := signature(analysis, found.end())) is not None:
            part = "" if said.active is None else said.label[slice(*said.parts[said.active])]
            yield f"{place(analysis, found.end())} {said.label.splitlines()[0]} | {part}"


def outlined(entries: Iterable[navigate.OutlineEntry], indent: str = "") -> Iterator[str]:
    for entry in entries:
        yield f"{indent}{entry.kind} {entry.name}: {entry.detail} ({entry.at.text})"
        yield from outlined(entry.children, indent + "    ")


def completions(analysis: Analysis) -> Iterator[str]:
    """The best of what is offered where each name begins."""
    for token in tokens.tokens(analysis):
        offers = sorted(complete(analysis, token[0].start), key=lambda offer: (offer.rank, offer.label))
        yield f"{place(analysis, token[0].start)} {', '.join(offer.label for offer in offers[:8])} ({len(offers)})"
