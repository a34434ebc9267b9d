"""What commands print and write: one line for a mistake, whole files or none."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..dsl.diagnostic import Diagnostic
from ..dsl.files import whole

CLEAN, WRONG, COULD_NOT_RUN = 0, 1, 2
INTERRUPTED = 130  # what a shell reports of a command ended by Ctrl-C


_color = "auto"


def use_color(when: str) -> None:
    """Whether mistakes are told in colours from now on: "auto", "always" or "never"."""
    global _color
    _color = when


class CannotRun(Exception):
    """One line for the user; exit status 2."""


def say(line: str) -> None:
    """A line for the user. A file's name may hold what a terminal obeys, or no text: that is not printed."""
    print("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in line), file=sys.stderr)


def complain(message: str) -> None:
    """One thing that is wrong."""
    say(f"attnc: {message}")


def report(diagnostics: Sequence[Diagnostic]) -> None:
    """Render diagnostics to stderr; in colour on a terminal (unless NO_COLOR is set), or as `--color` says."""
    if diagnostics:
        from ..dsl.render import render_all

        able = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        colour = able if _color == "auto" else _color == "always"
        print(render_all(diagnostics, colour=colour), file=sys.stderr)


def writable(out: str, endings: Sequence[str]) -> None:
    """Say early that an output cannot be written, rather than after the work is done. No `endings`: any will do."""
    path = Path(out)
    if path.is_dir():
        raise CannotRun(f"{out or 'an empty name'} is a folder; name a file in it")
    if path.suffix == ".attn":
        raise CannotRun(f"cannot write {out}: that is the name of a spec; name another file")
    if not path.parent.is_dir():
        raise CannotRun(f"cannot write {out}: there is no folder {path.parent}")
    if endings and path.suffix.removeprefix(".").lower() not in endings:
        raise CannotRun(f"cannot write {out}: its name must end in one of {', '.join(f'.{e}' for e in endings)}")


def write(out: str, text: str) -> None:
    """Write the whole text or nothing. Raises CannotRun."""
    write_all({out: text})


def write_all(texts: Mapping[str, str]) -> None:
    """Write all files whole, or none: each is there before the first takes its place. Raises CannotRun."""
    out = ""
    try:
        with ExitStack() as every:
            for out, text in texts.items():
                every.enter_context(whole(out)).write_bytes(text.encode())
    except OSError as problem:
        raise CannotRun(f"cannot write {problem.filename or out}: {problem.strerror or problem}") from None
