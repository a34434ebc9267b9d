"""Files from disk, and to it."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .source import Source

MAX_BYTES = 1 << 20
"""A spec is a page or two of text; more than this is another kind of file, given by mistake."""


class FileProblem(OSError):
    """A file that cannot be read as text; the message is one line that names it."""


def read(path: str | os.PathLike[str], *, regular: bool = False) -> Source:
    """The text of a file, named as the caller wrote it. A byte order mark is dropped; line ends stay as they are.

    regular: nothing but a file will do, not even what the caller has open already (`/dev/stdin`).

    Raises FileProblem for what is missing, no file, unreadable, no UTF-8 text, or larger than 1 MiB.
    """
    return decode(os.fspath(path), read_bytes(path, regular=regular))


def read_bytes(path: str | os.PathLike[str], *, regular: bool = False) -> bytes:
    """The bytes of a file, at most one more than a spec may have. Raises FileProblem."""
    name = os.fspath(path)
    try:
        mode = os.stat(name).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and (regular or not _is_open(name)):
            raise FileProblem(f"{name}: this is a device or a pipe, not a file")
        with open(name, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileProblem:
        raise
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


def _is_open(name: str) -> bool:
    """Whether it is stdin, or what a shell has opened, `<(...)`. Any other pipe or device may never end, nor begin."""
    return os.path.abspath(name).startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))


_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def _other_coding(content: bytes) -> str | None:
    """Which coding it is, if not UTF-8: by its mark, else by where the NUL bytes of its first letters stand."""
    marked = next((coding for mark, coding in _MARKS if content.startswith(mark)), None)
    if marked is not None:
        return marked
    pairs = [content[at : at + 2] for at in range(0, min(len(content), 64) // 2 * 2, 2)]
    halves = [{pair[half] == 0 for pair in pairs} for half in (0, 1)]
    return "UTF-16" if halves in ([{True}, {False}], [{False}, {True}]) else None


def decode(name: str, content: bytes) -> Source:
    """Bytes as text. Raises FileProblem for what no spec is."""
    if len(content) > MAX_BYTES:
        raise FileProblem(f"{name}: larger than {MAX_BYTES >> 20} MiB; this is not a spec")
    if (coding := _other_coding(content)) is not None:
        raise FileProblem(f"{name}: this is {coding} text; save it as UTF-8")
    if b"\0" in content:
        raise FileProblem(f"{name}: not a text file (it holds NUL bytes)")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise FileProblem(f"{name}: not UTF-8 text (byte {content[problem.start]:#04x} on line {line})") from None
    return Source(name, text)


def readable(name: str) -> str:
    """The name of a file as text that can be written: bytes of it that are none become U+FFFD."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


@contextmanager
def whole(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write a file that is to be there whole or not at all: beside `target`, whose place it then takes.

    A link stays a link, permissions stay, and what is no file (a device, a pipe) is written as it stands. The name is
    its own, so that there is room for it whatever the target is called. Raises OSError that names the target.
    """
    path = Path(target)
    beside = None
    try:
        if path.exists() and not path.is_file():
            yield path
            return
        path = path.resolve()
        if path.exists() and not os.access(path, os.W_OK):  # renaming would replace it all the same
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        beside = path.with_name(f".attnc-{os.getpid()}-{os.urandom(4).hex()}")
        yield beside
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except OSError as problem:
        if problem.filename not in (None, os.fspath(path), os.fspath(beside or path)):
            raise  # the problem is another file's
        raise OSError(problem.errno, problem.strerror or str(problem), os.fspath(target)) from None
    finally:
        if beside is not None:
            with suppress(OSError):
                beside.unlink()
