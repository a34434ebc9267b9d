"""`attnc compile`."""

from __future__ import annotations

import argparse
import sys

from ..arguments import sizes, target
from ..output import CLEAN, CannotRun, writable, write
from ..target import open_model

SUMMARY = "write PyTorch or NumPy code"


def arguments(parser: argparse.ArgumentParser) -> None:
    from ...compiler.pipeline import NAMES

    target(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="tell instead what each rewrite does, how attention and its masks are computed, and what decoding keeps",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PASS",
        help=f"leave a rewrite out: {', '.join(NAMES)}; may be repeated",
    )
    parser.add_argument("--to", choices=("torch", "numpy"), help="what the code is to use")
    parser.add_argument("-o", dest="out", metavar="OUT", help="a .py file; without it, or with -, stdout")
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Write a model or a block as stand-alone Python: it needs torch (or NumPy) and jaxtyping, not attnc. With
    --explain, tell what compiling does: each rewrite, each attention and its mask, decoding.
    """
    from ...compiler.pipeline import passes_without

    args.out = None if args.out == "-" else args.out
    if args.out is not None:
        writable(args.out, ())
    if args.to is None and not args.explain:
        raise CannotRun("what is the code to use? --to torch or --to numpy (or --explain, which writes no code)")
    try:
        passes_without(args.without)
    except ValueError as problem:
        raise CannotRun(f"--without: {problem}") from None
    model = open_model(args)
    if args.explain:
        text = str(model.explain(without=args.without))
        if args.out is None:
            sys.stdout.write(text)
        else:
            write(args.out, text)
        return CLEAN
    from ...backends import CannotEmit

    try:
        text = model.source(args.to, without=args.without)
    except CannotEmit as problem:
        raise CannotRun(str(problem)) from None
    if args.out is None:
        sys.stdout.write(text)
    else:
        write(args.out, text)
    return CLEAN
