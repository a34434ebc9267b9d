"""`attnc convert`."""

from __future__ import annotations

import argparse

from ..arguments import sizes, target
from ..output import CLEAN, CannotRun, writable
from ..target import open_model

SUMMARY = "convert weights to a spec's names, or back"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("map", metavar="MAP", help="says which weights are which (see examples/zoo/*.map)")
    parser.add_argument("weights", metavar="IN", help="a .safetensors file, or the .safetensors.index.json of several")
    parser.add_argument("out", metavar="OUT", help="the .safetensors file to write")
    target(parser)
    parser.add_argument("--to", required=True, choices=("attnc", "foreign"), help="whose names OUT is to have")
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Convert weights to the names and shapes of a model (`--to attnc`), or from them (`--to foreign`), to just the
    names that the file had. Number formats stay as they are. OUT is written whole or not at all.
    """
    from ...dsl.files import FileProblem
    from ...weights import WeightsError
    from ...weights.convert import convert_file

    writable(args.out, ("safetensors",))
    model = open_model(args)
    try:
        convert_file(args.map, args.weights, args.out, model, reverse=args.to == "foreign")
    except (WeightsError, FileProblem) as wrong:
        raise CannotRun(str(wrong)) from None
    except OSError as problem:
        raise CannotRun(f"{problem.filename or args.out}: {problem.strerror or problem}") from None
    return CLEAN
