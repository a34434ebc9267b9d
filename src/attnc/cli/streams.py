"""stdin, stdout and stderr of a process of our own, as every command can count on them."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import IO


def prepare() -> None:
    """Open what is closed; have stdout write files in UTF-8, and show a terminal what it can show.

    What goes into a file or a pipe is what attnc makes: a spec, code, DOT, TeX. So it is the same, byte for byte, as
    with `-o`, whatever the locale; names of files keep their bytes. A terminal gets its own coding, and escapes of the
    rest.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, _nothing(number))
    if isinstance(sys.stdout, TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="backslashreplace")
        else:
            sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


def _nothing(number: int) -> IO[str]:
    """A stream for a closed one, whose number the next file to be opened would get.

    stdin has nothing in it, stderr is lost, and writing to stdout fails, as what was asked for would be lost.
    """
    opened = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return open(number, "r" if number == 0 else "w", encoding="utf-8", errors="backslashreplace", closefd=False)
