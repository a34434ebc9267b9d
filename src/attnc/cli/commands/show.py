"""`attnc show`."""

from __future__ import annotations

import argparse
import sys

from ..arguments import hints, sizes, target
from ..output import CLEAN
from ..target import open_model

SUMMARY = "print the equations of a model or a block"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    parser.add_argument("--latex", action="store_true", required=True, help="in Named Tensor Notation, as LaTeX")
    parser.add_argument("--tint", action="store_true", help="a colour behind each equation, as `draw --tint` has it")
    hints(parser)
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Print the equations of a model or a block: `--latex` in Named Tensor Notation (Chiang, Rush and Barak)."""
    given = {} if args.hints == "" else args.hints
    sys.stdout.write(open_model(args).latex(hints=given, tint=args.tint))
    return CLEAN
