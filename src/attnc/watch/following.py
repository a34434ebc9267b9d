"""What the page shows of a file, made anew at each change: mistakes first, then the figure, the code, the cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..compiler.check import Program
from ..compiler.sizes.limits import deep
from ..dsl.diagnostic import Severity
from ..dsl.errors import AttnError
from ..dsl.files import FileProblem, read
from ..dsl.render import render_all
from ..spec import built, lacks
from .changes import EVERY, Seen, seen
from .parts import PARTS, made, named, reason


@dataclass(frozen=True)
class Shown:
    """What there is to show.

    version:  another one each time.
    mistakes: and warnings, as on a terminal; "" if there are none. wrong: there are mistakes.
    parts:    the figure (a page), the code and the cost of the model, as text: the last ones that there were.
    stale:    the names of parts that are not (or not yet) of the file as it is now.
    """

    version: int = 0
    file: str = ""
    names: tuple[str, ...] = ()
    name: str = ""
    mistakes: str = ""
    wrong: bool = False
    parts: Mapping[str, str] = field(default_factory=dict)
    stale: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """For the page, which asks for the figure by itself."""
        texts = {name: text for name, text in self.parts.items() if name != "figure"}
        return {
            "version": self.version, "file": self.file, "names": self.names, "name": self.name,
            "mistakes": self.mistakes, "wrong": self.wrong, "texts": texts, "stale": self.stale,
            "figure": _mark(self.parts.get("figure", "")),
        }  # fmt: skip


def _mark(text: str) -> str:
    """Another one for another text."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


class Following:
    """A file that is followed, in a thread of its own between `start` and `stop`.

    name, config, sizes, path: as of the command.
    """

    def __init__(
        self, file: str, name: str | None, config: str | None, sizes: Mapping[str, Any], path: Sequence[str]
    ) -> None:
        self.file, self.config, self.sizes, self.path = file, config, sizes, path
        self.asked = name
        self.shown = Shown(file=Path(file).name)
        self._news = threading.Condition()
        self._ended = False
        self._again = False
        self._files = [file]
        self._seen: Seen | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and those who wait for news."""
        with self._news:
            self._ended = True
            self._news.notify_all()
        self._thread.join()

    def newer(self, than: int, seconds: float) -> Shown:
        """What is shown as soon as it is newer, or at the end of that time."""
        with self._news:
            self._news.wait_for(lambda: self.shown.version > than or self._ended, seconds)
            return self.shown

    def choose(self, name: str) -> None:
        """Show that model or block, if the file has it."""
        with self._news:
            if name in self.shown.names and name != self.shown.name:
                self.asked, self._again = name, True
                self._news.notify_all()

    @deep()
    def _follow(self) -> None:
        while not self._ended:
            if self._again or seen(self._files) != self._seen:
                self._again = False
                for shown in self._looked():
                    self._tell(shown)
                    if self._ended or self._again or seen(self._files) != self._seen:
                        break  # what comes would be old
            with self._news:
                self._news.wait_for(lambda: self._ended or self._again, EVERY)

    def _tell(self, shown: Shown) -> None:
        with self._news:
            self.shown = replace(shown, version=self.shown.version + 1)
            self._news.notify_all()

    def _looked(self) -> Iterator[Shown]:
        """What is shown of the file as it is now, more of it each time."""
        before = self.shown
        every = tuple(before.parts)
        self._seen = seen(self._files)
        try:
            program = built(read(self.file), Path(self.file).parent, self.config, self.sizes, self.path)
        except FileProblem as problem:
            yield replace(before, mistakes=str(problem), wrong=True, stale=every)
            return
        files = [self.file, *(source.name for source in program.sources if source.name != self.file)]
        if files != self._files and seen(self._files) == self._seen:
            self._files, self._seen = files, seen(files)
        mistakes = render_all(program.diagnostics) if program.diagnostics else ""
        names = (*program.models, *program.blocks)
        wrong = any(found.severity is Severity.ERROR for found in program.diagnostics)
        if not wrong and self.asked is not None and self.asked not in names:
            mistakes, wrong = lacks(self.file, self.asked, names), True
        if wrong:
            yield replace(before, mistakes=mistakes, wrong=True, stale=every, names=names or before.names)
            return
        name = self.asked or next(iter(names), "")
        shown = replace(before, mistakes=mistakes, wrong=False, stale=tuple(PARTS), names=names, name=name)
        yield shown
        for part, text in _made(program, name):
            parts = {**shown.parts, part: text}
            shown = replace(shown, parts=parts, stale=tuple(each for each in shown.stale if each != part))
            yield shown


def _made(program: Program, name: str) -> Iterator[tuple[str, str]]:
    if not name:
        return
    try:
        model = named(program, name)
    except AttnError as why:  # a block that cannot stand alone
        yield "figure", reason("figure", str(why))
        return
    for part, make in PARTS.items():
        yield part, made(part, make, model)
