"""`FILE[:NAME]`: the spec, model or block that a command works on."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..compiler.names.folders import Folders
from ..dsl.diagnostic import Diagnostic
from ..dsl.errors import AttnError
from ..dsl.files import MAX_BYTES, decode, read, read_bytes
from ..dsl.source import Source
from ..spec import Model, Setting, Size, Spec, built, checked, lacks
from .output import CannotRun, report

UNKNOWN_SETTING, UNKNOWN_CONFIG = "E0601", "E0602"  # without a span: of the command line


STDIN = "-"


def content_of(file: str) -> tuple[Source, bytes]:
    """The text of a file, or of stdin, and its bytes. Raises OSError if it cannot be read."""
    if file == STDIN:
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
        return decode("<stdin>", content), content
    content = read_bytes(file)
    return decode(file, content), content


def open_spec(source: Source, args: argparse.Namespace) -> Spec:
    """Check a text, with `--set`, `--config` and `--path`. What it uses lies beside it, or, of stdin, in this folder.

    Raises AttnError if it is wrong, CannotRun for a setting or config it does not have.
    """
    try:
        return checked(source, Path(source.name).parent, args.config, dict(args.set), args.path)
    except AttnError as wrong:
        _mistakes_of_the_command(wrong.diagnostics)
        raise


def diagnose(source: Source, args: argparse.Namespace) -> Sequence[Diagnostic]:
    """What is wrong with a text that stands in the place of the file it is named after."""
    found = built(source, Path(source.name).parent, args.config, dict(args.set), args.path).diagnostics
    _mistakes_of_the_command(found)
    return found


def _mistakes_of_the_command(diagnostics: Sequence[Diagnostic]) -> None:
    for found in diagnostics:
        if found.span is None and found.code in (UNKNOWN_SETTING, UNKNOWN_CONFIG):
            raise CannotRun(found.message + (f" ({found.help})" if found.help else "")) from None


def open_model(args: argparse.Namespace, *, warn: bool = True) -> Model:
    """The model or block that `FILE[:NAME]` names. Raises as `open_spec` does."""
    file, name = split(args.target)
    spec = open_spec(read(file), args)
    if warn:
        report(spec.warnings)
    name = name or the_only(spec)
    if name in spec.blocks:
        return spec.block(name)
    try:
        return spec.model(name)
    except LookupError:
        raise CannotRun(lacks(file, name, spec.models + spec.blocks)) from None


def opened(target: str, args: argparse.Namespace) -> tuple[Model, dict[str, Size]]:
    """The model, and the sizes to count it at.

    A width that varies at run time keeps its declaration (a learned table along it has as many rows as its bound);
    everything else that is set is set in the spec.
    """
    settings: dict[str, Setting] = dict(args.set)
    numbers = {name: value for name, value in settings.items() if isinstance(value, int | float)}
    try:
        free = run_time(pick(target, args, {}))
    except (AttnError, CannotRun):
        free = set()  # what is wrong is said below, with the settings in place
    late = {name for name in numbers if name in free}
    model = pick(target, args, {name: value for name, value in settings.items() if name not in late}, warn=True)
    taken = {axis.name: axis.extent for axis in model.graph.axes} | {
        const.name: const.value for const in model.graph.consts
    }
    return model, {name: value for name, value in numbers.items() if name in taken and taken[name] != value}


def pick(target: str, args: argparse.Namespace, settings: dict[str, Setting], warn: bool = False) -> Model:
    changed = argparse.Namespace(**{**vars(args), "target": target, "set": list(settings.items())})
    return open_model(changed, warn=warn)


def run_time(model: Model) -> set[str]:
    return {axis.name for axis in model.graph.axes if axis.is_width and axis.extent is None}


def split(target: str) -> tuple[str, str | None]:
    """`FILE` or `FILE:NAME`. A file may have colons in its path: what exists as it stands is a file."""
    file, colon, name = target.rpartition(":")
    if colon and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and not os.path.exists(target):
        return file, name
    return target, None


def the_only(spec: Spec) -> str:
    """The only model, else the only block; raises CannotRun with the names if the choice is open."""
    for names in (spec.models, spec.blocks):
        if len(names) == 1:
            return names[0]
        if names:
            listed = ", ".join(spec.models + spec.blocks)
            raise CannotRun(f"which one of {spec.name}? write {spec.name}:NAME; it has {listed}")
    raise CannotRun(f"{spec.name} has no model and no block")


def specs(paths: list[str]) -> list[str]:
    """The files themselves, and those that end in .attn of the folders; none twice. Raises CannotRun if stdin is not
    the only one.
    """
    if STDIN in paths and len(paths) > 1:
        raise CannotRun(f"`{STDIN}` is stdin, and stands alone")
    found: dict[str, None] = {}
    for path in paths:
        if not os.path.isdir(path):
            found[path] = None
            continue
        project = Folders.of(Path(path, "any.attn"), []).project
        for folder, names, files in os.walk(path):
            names[:] = sorted(name for name in names if not name.startswith("."))
            ours = (os.path.join(folder, file) for file in sorted(files) if file.endswith(".attn"))
            found |= dict.fromkeys(file for file in ours if _is_a_spec_of(project, file))
    if not found:
        raise CannotRun(f"no .attn files in {', '.join(paths)}")
    return list(found)


def _is_a_spec_of(project: Path | None, file: str) -> bool:
    """No pipe or device, which might never end, and no link out of the project. A link to nothing is to be reported."""
    if not os.path.exists(file):
        return True
    return os.path.isfile(file) and project is not None and Path(file).resolve().is_relative_to(project)


def difference(before: str, after: str, name: str) -> str:
    """A unified diff, as `git apply` takes it."""
    name = Path(name).as_posix()
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    import difflib

    lines = difflib.unified_diff(old, new, name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
