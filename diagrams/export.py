"""DOT -> SVG, PDF, PNG by the `dot` program, under a time limit, leaving nothing half-written behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FORMATS = ("svg", "pdf", "png", "dot", "tex", "html")
TIME_LIMIT = 60.0  # seconds
DPI = 300  # of a PNG


class ExportError(RuntimeError):
    """A figure could not be drawn or written; the message says why and what to do."""


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
        raise ExportError(
            "the `dot` program of Graphviz is not installed: `apt-get install graphviz` or `brew install graphviz` "
            "(https://graphviz.org/download); a .dot file can be written without it"
        )
    command = [program, f"-T{format}"]
    if format == "png":
        command.append(f"-Gdpi={DPI}")
    try:
        done = subprocess.run(command, input=dot.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise ExportError(f"Graphviz took more than {seconds:g} s and was stopped") from None
    except OSError as error:
        raise ExportError(f"Graphviz could not be run: {error}") from error
    if done.returncode != 0 or not done.stdout:
        reason = done.stderr.decode(errors="replace").strip() or f"it ended with status {done.returncode}"
        raise ExportError(f"Graphviz could not draw the figure: {reason}")
    return done.stdout


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
            done = subprocess.run([program, "-svg", pdf, svg], capture_output=True, timeout=TIME_LIMIT, check=False)
        except (subprocess.TimeoutExpired, OSError) as error:
            raise ExportError(f"pdftocairo could not outline the letters: {error}") from None
        if done.returncode != 0 or not svg.exists():
            raise ExportError(f"pdftocairo could not outline the letters: {done.stderr.decode(errors='replace')}")
        return svg.read_bytes()


def save(dot: str, path: str | os.PathLike[str], *, seconds: float = TIME_LIMIT) -> Path:
    """Write what Graphviz draws; the ending says in which format. The file is there whole or not at all."""
    target = Path(path)
    return write_whole(target, render(dot, target.suffix.removeprefix(".").lower() or "(no ending)", seconds=seconds))


def write_whole(target: Path, content: bytes) -> Path:
    """The file is there whole or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise ExportError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise ExportError(f"cannot write {target}: {error.strerror or error}") from error
    return target
