"""What commands print and write: one line for a mistake, whole files or none."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ..dsl.diagnostic import Diagnostic

CLEAN, WRONG, COULD_NOT_RUN = 0, 1, 2
INTERRUPTED = 130  # what a shell reports of a command ended by Ctrl-C


class CannotRun(Exception):
    """One line for the user; exit status 2."""


def say(line: str) -> None:
    print(line, file=sys.stderr)


def complain(message: str) -> None:
    """One thing that is wrong. A file's name may hold what a terminal obeys: that is not printed."""
    say(f"attnc: {''.join(c if c.isprintable() or c == chr(10) else chr(0xFFFD) for c in message)}")


def report(diagnostics: Sequence[Diagnostic]) -> None:
    """Render diagnostics to stderr, in colour on a terminal (unless NO_COLOR is set)."""
    if diagnostics:
        from ..dsl.render import render_all

        colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        say(render_all(diagnostics, colour=colour))


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
    """Write the whole text or nothing: into a file beside `out`, then renamed. Raises CannotRun."""
    path = Path(out)
    try:
        if path.exists() and not path.is_file():  # a device or a pipe, such as /dev/stdout
            path.write_text(text, encoding="utf-8", newline="")
            return
        path = path.resolve()  # a link stays a link
        if path.exists() and not os.access(path, os.W_OK):  # renaming would not mind
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        beside = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            beside.write_text(text, encoding="utf-8", newline="")
            if path.exists():
                shutil.copymode(path, beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise CannotRun(f"cannot write {out}: {problem.strerror or problem}") from None
