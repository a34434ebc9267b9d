"""`attnc export`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..arguments import sizes
from ..output import CLEAN, CannotRun, say
from ..target import open_model

SUMMARY = "export a model with its weights: to transformers, ONNX, torch.export"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="DIR|FILE[:NAME]", help="a folder that `attnc import` wrote, or a model of your own"
    )
    parser.add_argument(
        "--to", required=True, choices=("transformers", "onnx", "torch-export"), help="who is to run it"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write")
    parser.add_argument(
        "--weights",
        metavar="W",
        help="safetensors, or the index of several: needed for a spec; of DIR, trained further",
    )
    parser.add_argument("--room", type=int, metavar="N", help="of programs: how many items a row may have (1024)")
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Export a model: a published one as transformers knows it, one of your own with a modelling file; or its steps as
    ONNX, or as programs of torch.export. The folder is new, written whole or not at all.
    """
    from ...hub import HubError, export_folder, export_model
    from ...weights import WeightsError

    if args.room is not None and args.room < 1:
        raise CannotRun(f"--room {args.room}: a row has at least one item")
    options = {"to": args.to, "room": args.room}
    try:
        if Path(args.target).is_dir():
            if args.set or args.config:
                raise CannotRun("--set and --config are for a spec: a folder's sizes are those of its weights")
            export_folder(args.target, args.out, weights=args.weights, **options)
        elif args.weights is None:
            raise CannotRun(f"{args.target}: a spec is exported with its weights: --weights FILE.safetensors")
        else:
            export_model(open_model(args), args.weights, args.out, **options)
    except (HubError, WeightsError) as wrong:
        raise CannotRun(str(wrong)) from None
    say(f"{args.out}: see README.md there")
    return CLEAN
