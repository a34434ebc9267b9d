"""SVG, PDF and PNG from DOT, made by the program `dot`. There is a time limit; after it no process and no half-written
file is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from xml.parsers import expat

import graphviz

from ...dsl.files import whole

FORMATS = ("svg", "pdf", "png", "dot", "tex", "html")
TIME_LIMIT = 60.0  # seconds
DPI = 300  # of a PNG


class ExportError(RuntimeError):
    """A figure could not be drawn or written; the message says why and what to do."""


class NoGraphviz(ExportError, graphviz.ExecutableNotFound):
    """There is no `dot`. Also an instance of what the package `graphviz` raises in that case."""

    def __init__(self, message: str) -> None:
        RuntimeError.__init__(self, message)


class GraphvizRefused(ExportError, graphviz.CalledProcessError):
    """`dot` ended with an error. Also an instance of what the package `graphviz` raises in that case."""

    def __init__(self, message: str, returncode: int, cmd: Sequence[str], output: bytes, stderr: bytes) -> None:
        graphviz.CalledProcessError.__init__(self, returncode, cmd, output, stderr)
        self.args = (message, returncode, cmd, output, stderr)

    def __str__(self) -> str:
        return str(self.args[0])


def render(dot: str, format: str, *, seconds: float = TIME_LIMIT) -> bytes:
    """The figure in one of `FORMATS`. Raises ExportError: no Graphviz, out of time, or Graphviz refused."""
    if format not in FORMATS and format != "svg:cairo":
        raise ExportError(f"cannot write `{format}`: a figure is one of {', '.join('.' + f for f in FORMATS)}")
    if format in ("tex", "html"):
        raise ExportError(f"a .{format} file is more than Graphviz can draw; `Diagram.save` writes it")
    if format == "dot":
        return dot.encode()
    program = shutil.which("dot")
    if program is None:
        raise NoGraphviz(
            "the `dot` program of Graphviz is not installed: `apt-get install graphviz` or `brew install graphviz` "
            "(https://graphviz.org/download); a .dot file can be written without it"
        )
    command = [program, f"-T{format}"]
    if format == "png":
        command.append(f"-Gdpi={DPI}")
    try:
        done = _run(command, dot.encode(), seconds)
    except subprocess.TimeoutExpired:
        raise ExportError(f"Graphviz took more than {seconds:g} s and was stopped") from None
    except OSError as error:
        raise ExportError(f"Graphviz could not be run: {error}") from error
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip() or f"it ended with status {done.returncode}"
        message = f"Graphviz could not draw the figure: {reason}"
        raise GraphvizRefused(message, done.returncode, command, done.stdout, done.stderr)
    _check(done.stdout, format, program)
    return done.stdout


def _run(command: Sequence[str], sent: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Like `subprocess.run`; but when the time is up, the processes that the program started are ended too."""
    pipe = subprocess.PIPE
    # In a session of its own, it and all that it starts are one group, which can be ended as one.
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        try:
            out, errors = process.communicate(sent, timeout=seconds)
        except BaseException:  # out of time, or Ctrl-C, which does not reach another session
            if os.name == "posix":
                with suppress(OSError):  # it may have ended just now
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def _check(content: bytes, format: str, program: str) -> None:
    """Raises ExportError where a program ended well, but what it wrote is no file of this format, or half of one."""
    match format:
        case "png":
            good = content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82")
        case "pdf":
            good = content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
        case _:
            good = _root(content) == "svg"
    if not good:
        kind = format.partition(":")[0].upper()
        begins = f"begins with {content[:40]!r}" if content else "is empty"
        raise ExportError(f"`{program}` ended well, but what it wrote is no whole {kind}: it {begins}")


def _root(content: bytes) -> str | None:
    """The name of the outermost element, without its namespace; None if this is not XML."""
    names: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda name, _: names.append(name)
    try:
        parser.Parse(content, True)
    except expat.ExpatError:
        return None
    return names[0].rpartition(" ")[2]


def outlined(dot: str) -> bytes:
    """SVG whose letters are curves: from the PDF by poppler's `pdftocairo`, or else by Graphviz, a little rougher.

    Raises ExportError, as where Graphviz was built without cairo and there is no poppler.
    """
    program = shutil.which("pdftocairo")
    if program is None:
        return render(dot, "svg:cairo")
    with tempfile.TemporaryDirectory() as folder:
        pdf, svg = Path(folder) / "a.pdf", Path(folder) / "a.svg"
        pdf.write_bytes(render(dot, "pdf"))
        try:
            done = _run([program, "-svg", str(pdf), str(svg)], b"", TIME_LIMIT)
        except (subprocess.TimeoutExpired, OSError) as error:
            raise ExportError(f"pdftocairo could not outline the letters: {error}") from None
        if done.returncode != 0 or not svg.exists():
            raise ExportError(f"pdftocairo could not outline the letters: {done.stderr.decode(errors='replace')}")
        content = svg.read_bytes()
        _check(content, "svg", program)
        return content


def save(dot: str, path: str | os.PathLike[str], *, seconds: float = TIME_LIMIT) -> Path:
    """Write what Graphviz draws; the ending says in which format. The file is there whole or not at all."""
    target = Path(path)
    return write_whole(target, render(dot, target.suffix.removeprefix(".").lower() or "(no ending)", seconds=seconds))


def write_whole(target: Path, content: bytes) -> Path:
    """The file is there whole or not at all."""
    try:
        with whole(target) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise ExportError(f"cannot write {target}: {error.strerror or error}") from error
    return target
