"""Files from disk."""

from __future__ import annotations

import os

from .source import Source

MAX_BYTES = 1 << 20
"""A spec is a page or two of text; more than this is another kind of file, given by mistake."""


class FileProblem(OSError):
    """A file that cannot be read as text; the message is one line that names it."""


def read(path: str | os.PathLike[str]) -> Source:
    """The text of a file, named as the caller wrote it. A byte order mark is dropped; line ends stay as they are.

    Raises FileProblem for what is missing, no file, unreadable, no UTF-8 text, or larger than 1 MiB.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise FileProblem(f"{name}: no such file") from None
    except IsADirectoryError:
        raise FileProblem(f"{name}: this is a folder, not a file") from None
    except PermissionError:
        what = "this is a folder, not a file" if os.path.isdir(name) else "no permission to read it"
        raise FileProblem(f"{name}: {what}") from None
    except ValueError:
        raise FileProblem(f"{name!r}: a file name cannot hold a NUL character") from None
    except OSError as problem:
        raise FileProblem(f"{name}: {problem.strerror or problem}") from None
    if len(content) > MAX_BYTES:
        raise FileProblem(f"{name}: larger than {MAX_BYTES >> 20} MiB; this is not a spec")
    if b"\0" in content:
        raise FileProblem(f"{name}: not a text file (it holds NUL bytes)")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise FileProblem(f"{name}: not UTF-8 text (byte {content[problem.start]:#04x} on line {line})") from None
    return Source(name, text)
