"""`attnc check`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...dsl.base.records import replace
from ...dsl.diagnostic import Diagnostic, Severity, error
from ...dsl.errors import AttnError
from ...dsl.source import Source
from ..arguments import sizes
from ..output import CLEAN, COULD_NOT_RUN, WRONG, CannotRun, complain, report, say
from ..target import content_of, open_spec, specs, split

if TYPE_CHECKING:
    from ...compiler.advice.failures import Failure

# A spec is read anew with each config: so many, or as many as read this many characters in all.
LEAST, TEXT = 4, 2**18
SUMMARY = "report every mistake in specs"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a spec (.attn), a folder of them, or - for stdin")
    sizes(parser)
    parser.add_argument("--strict", action="store_true", help="take no warnings, such as that of a trusted claim")
    parser.add_argument("--json", action="store_true", help="print the diagnostics to stdout as JSON")
    parser.add_argument("--fix", action="store_true", help="make the fixes that are certain, and report what is left")
    parser.add_argument("--diff", action="store_true", help="with --fix: write nothing; show what would change")


def run(args: argparse.Namespace) -> int:
    """Report every mistake in the specs, in one run. Warnings change the exit status with --strict alone."""
    if args.diff and (not args.fix or args.json):
        raise CannotRun("--diff shows what --fix would change: it goes with --fix, and without --json")
    if args.fix:
        from .. import fix

        return fix.run(args)
    status = CLEAN
    found: list[Diagnostic] = []
    for file in specs(args.files):
        try:
            source, _ = content_of(file)
            spec = open_spec(source, args)
            diagnostics: Sequence[Diagnostic] = spec.warnings
            for failure in spec.failures if args.strict else ():
                _say_failed(source.name, failure)
            if args.config is None and not args.set:
                tried = spec.configs[: max(LEAST, TEXT // max(len(source.text), 1))]
                if wrong_with := list(_of_configs(source, tried, args)):
                    diagnostics, status = [*diagnostics, *wrong_with], max(status, WRONG)
                if len(tried) < len(spec.configs) and not args.json:
                    count = f"{len(tried)} of {len(spec.configs)}"
                    say(f"{source.name}: {count} configs were tried; `--config NAME` checks one")
        except AttnError as wrong:
            diagnostics = wrong.diagnostics
            status = max(status, WRONG)
        except OSError as problem:
            whole, name = split(file)
            message = (
                f"{problem} (`check` takes whole files: {whole})" if name and os.path.exists(whole) else str(problem)
            )
            complain(message)
            if args.json:
                found.append(error("", message, None))
            status = COULD_NOT_RUN
            continue
        if args.strict and diagnostics:
            status = max(status, WRONG)
        found += diagnostics
        if not diagnostics and not args.json:
            say(f"{source.name}: ok")
    if args.json:
        import json

        from ...dsl.render import to_json

        print(json.dumps(to_json(found), indent=2))
    else:
        report(found)
    return status


def _say_failed(name: str, failure: Failure) -> None:
    """That an adviser failed: no mistake of the file, so it changes no exit status."""
    if os.environ.get("ATTNC_DEBUG") == "1":
        raise failure.bug
    say(
        f"{name}: note: internal error: {type(failure.bug).__name__} in `{failure.adviser}`: not all warnings were "
        "looked for. Please report it with the spec; ATTNC_DEBUG=1 shows where it happened"
    )


def _of_configs(source: Source, configs: Sequence[str], args: argparse.Namespace) -> Iterator[Diagnostic]:
    """What is wrong with a spec with these configs; each mistake once."""
    seen = set()
    for config in configs:
        try:
            open_spec(source, argparse.Namespace(**{**vars(args), "config": config}))
        except AttnError as wrong:
            for found in wrong.diagnostics:
                key = found.code, found.message, found.span and (found.span.source.name, found.span.start)
                if found.severity is Severity.ERROR and key not in seen:
                    yield replace(found, notes=(*found.notes, f"with `--config {config}`"))
                seen.add(key)
