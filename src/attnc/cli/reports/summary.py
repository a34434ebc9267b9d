"""`attnc summary`."""

from __future__ import annotations

import argparse

from ...compiler.graph.inventory import table
from ..arguments import sizes, target
from ..output import CLEAN
from ..target import open_model

SUMMARY = "list every weight"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """List every weight of a model or a block: its path, axes, shape, init and number of parameters; and the total."""
    print("\n".join(table(open_model(args).weights)))
    return CLEAN
