"""`attnc import`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..output import CLEAN, CannotRun, say

NAMED = 6  # weights that are told by name
SUMMARY = "import a published model's folder: spec, weights, figure, cost"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="with config.json and safetensors, as the hub has it")
    parser.add_argument("--to", metavar="DIR", help="the folder to write (FOLDER's name, in this one)")
    adapters(parser)


def adapters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--adapters",
        action="append",
        default=[],
        metavar="DIR",
        help="look for adapters here first; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Import a published model: write a folder with its spec, its weights under the spec's names, its figure, what it
    costs, and a README of what to do with it. What the adapter does not know is refused. Nothing of FOLDER is run.
    """
    from ...hub import HubError, import_folder, open
    from ...hub.importing import UNUSED, first_run
    from ...weights import WeightsError

    source = Path(args.folder)
    target = Path(args.to or source.resolve().name)
    try:
        model = import_folder(source, target, [Path(folder) for folder in args.adapters])
    except (HubError, WeightsError) as wrong:
        raise CannotRun(str(wrong)) from None
    imported = open(target)
    parameters = sum(spec.size for spec in model.weights.values())
    runs = first_run(model, imported.inputs, imported.tokenizes, str(target))
    say(f"{target}: `{model.name}`, {parameters:,} parameters. Next: {runs}")
    if runs.endswith("--check"):
        why = "generates nothing" if model.decoding.reason else "reads no text"
        taken = ", ".join(str(port.name) for port in model.inputs)
        say(f'It {why}: from Python, attnc.hub.open("{target}").torch() takes {taken}')
    if unused := sorted(imported.unused):
        more = f" and {len(unused) - NAMED} more" if len(unused) > NAMED else ""
        say(f"Unused, kept in {UNUSED}: {', '.join(unused[:NAMED])}{more}")
    return CLEAN
