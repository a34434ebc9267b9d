"""`attnc explain`."""

from __future__ import annotations

import argparse
import sys

from ..output import CLEAN, CannotRun

SUMMARY = "explain the code of an error, with a wrong and a right program"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="such as E0307")


def run(args: argparse.Namespace) -> int:
    """Explain the code of an error or a warning, with a wrong and a right program."""
    from ...dsl import catalogue

    page = catalogue.explain(args.code)
    if page is None:
        near = ", ".join(catalogue.near(args.code))
        raise CannotRun(
            f"no error has the code `{args.code}`; " + (f"near it: {near}" if near else "codes look like E0307")
        )
    sys.stdout.write(page)
    return CLEAN
