"""`attnc check`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from ..dsl.diagnostic import AttnError, Diagnostic
from .arguments import sizes
from .output import CLEAN, COULD_NOT_RUN, WRONG, complain, report, say
from .target import open_spec, split

SUMMARY = "report every mistake in specs"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a spec (.attn)")
    sizes(parser)
    parser.add_argument("--json", action="store_true", help="print the diagnostics to stdout as JSON")


def run(args: argparse.Namespace) -> int:
    """Report every mistake in the specs, in one run. Warnings do not change the exit status."""
    status = CLEAN
    found: list[Diagnostic] = []
    for file in args.files:
        try:
            diagnostics: Sequence[Diagnostic] = open_spec(file, args).warnings
        except AttnError as wrong:
            diagnostics = wrong.diagnostics
            status = max(status, WRONG)
        except OSError as problem:
            whole, name = split(file)
            complain(
                f"{problem} (`check` takes whole files: {whole})" if name and os.path.exists(whole) else str(problem)
            )
            status = COULD_NOT_RUN
            continue
        found += diagnostics
        if not diagnostics and not args.json:
            say(f"{file}: ok")
    if args.json:
        import json

        from ..dsl.render import to_json

        print(json.dumps(to_json(found), indent=2))
    else:
        report(found)
    return status
