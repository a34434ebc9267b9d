"""`attnc reads`."""

from __future__ import annotations

import argparse
import json

from ..arguments import sizes, target
from ..output import CLEAN
from ..target import open_model

SUMMARY = "say which items of its inputs each result reads"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Say of each result of a model or a block which items of which inputs an item of it reads, a line for each way,
    and whether it shows how many items there are. All that is said holds; a bound that is not known is left out.
    """
    model = open_model(args)
    found = model.reads()
    if args.json:
        print(json.dumps({"name": model.name, "results": [each.data() for each in found]}, indent=2))
    else:
        print(*found, sep="\n")
    return CLEAN
