"""`attnc fmt`."""

from __future__ import annotations

import argparse
import sys

from ...dsl.errors import AttnError
from ..output import CLEAN, COULD_NOT_RUN, WRONG, CannotRun, complain, report, say, write
from ..target import STDIN, content_of, difference, specs

SUMMARY = "format specs"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a spec, a folder of them, or - for stdin to stdout")
    parser.add_argument("--check", action="store_true", help="write nothing; list the files that would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; show what would change")


def run(args: argparse.Namespace) -> int:
    """Write specs in their canonical form. Comments stay; what a spec means stays too, which is checked before writing.
    A file with a syntax error is left as it is. With --check or --diff the exit status is 1 if a file would change.
    """
    status = CLEAN
    for file in specs(args.files):
        try:
            status = max(status, form(file, args))
        except (OSError, CannotRun) as problem:
            complain(str(problem))
            status = COULD_NOT_RUN
    return status


def form(file: str, args: argparse.Namespace) -> int:
    """Format one file, or only say what would change."""
    from ...dsl.formatting import format_source

    source, content = content_of(file)
    try:
        text = format_source(source)
    except AttnError as wrong:
        report(wrong.diagnostics)
        return WRONG
    changed = text.encode() != content
    if args.diff and changed:
        sys.stdout.write(difference(source.text, text, source.name))
    if args.check or args.diff:
        if args.check and changed:
            print(source.name)
        return WRONG if changed else CLEAN
    if file == STDIN:
        sys.stdout.write(text)
    elif changed:
        write(file, text)
        say(f"{file}: formatted")
    return CLEAN
