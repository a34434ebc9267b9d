"""`attnc check --fix`: the fixes of diagnostics, made in the files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..dsl.diagnostic import Diagnostic, Severity
from ..dsl.mistakes.fixes import Repaired, repair
from .output import CLEAN, COULD_NOT_RUN, WRONG, CannotRun, complain, report, say, write
from .target import STDIN, content_of, diagnose, difference, specs


def run(args: argparse.Namespace) -> int:
    """Fix what can be fixed of each file; what is left decides the exit status. With --diff nothing is written.

    What comes from stdin goes to stdout.
    """
    if args.json and STDIN in args.files:
        raise CannotRun("the mended text of stdin goes to stdout, where --json prints the diagnostics: choose one")
    status = CLEAN
    everything: list[tuple[str, Repaired]] = []
    for file in specs(args.files):
        try:
            source, content = content_of(file)
            done = repair(source, lambda text: diagnose(text, args))
            changed = done.source.text != source.text
            if args.diff:
                sys.stdout.write(difference(source.text, done.source.text, source.name))
            elif file == STDIN:
                sys.stdout.write(done.source.text)
            elif changed:
                mark = "\ufeff" if content.startswith(b"\xef\xbb\xbf") else ""
                write(str(Path(file)), mark + done.source.text)
        except (OSError, CannotRun) as problem:
            complain(str(problem))
            status = COULD_NOT_RUN
            continue
        everything.append((source.name, done))
        wrong = any(found.severity is Severity.ERROR for found in done.left)
        status = max(status, WRONG if wrong or (args.diff and changed) else CLEAN)
    if args.json:
        print(_json(everything))
    else:
        _say(everything, "would fix" if args.diff else "fixed")
    return status


def _say(everything: list[tuple[str, Repaired]], verb: str) -> None:
    left: list[Diagnostic] = []
    for file, done in everything:
        for found in done.fixed:
            say(f"{_where(found)}: {verb} {found.code}: {found.message}")
        left += done.left
        if not done.fixed and not done.left:
            say(f"{file}: ok")
    report(left)


def _where(found: Diagnostic) -> str:
    if found.span is None:
        return ""
    line, column = found.span.source.position(found.span.start)
    return f"{found.span.source.name}:{line}:{column}"


def _json(everything: list[tuple[str, Repaired]]) -> str:
    import json

    from ..dsl.render import to_json

    made: dict[str, Any] = {
        "fixed": to_json([found for _, done in everything for found in done.fixed]),
        "left": to_json([found for _, done in everything for found in done.left]),
    }
    return json.dumps(made, indent=2)
