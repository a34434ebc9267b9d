"""`attnc diff`."""

from __future__ import annotations

import argparse

from ...dsl.errors import AttnError
from ..arguments import sizes
from ..commands.draw import length
from ..output import CLEAN, CannotRun, writable
from ..target import open_model

SUMMARY = "say what one model has otherwise than another"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD[:NAME]", help="a spec, and which of its models or blocks")
    parser.add_argument("new", metavar="NEW[:NAME]", help="the one to set beside it")
    parser.add_argument("-o", dest="out", metavar="OUT", help="draw both, too: a .svg, .pdf, .png, .dot or .tex file")
    parser.add_argument("--width", type=length, metavar="LENGTH", help="of the page: 5.5in (also cm, mm, pt)")
    parser.add_argument("--theme", choices=("color", "mono"), default="color", help="colours, or ink alone")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    parser.add_argument("--old-config", metavar="NAME", help="use this `config` of OLD")
    parser.add_argument("--new-config", metavar="NAME", help="use this `config` of NEW")
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Say what NEW has otherwise than OLD: sizes, and parts that came (+), went (-) or changed (~), with where they
    stand; then parameters and cost of both. -o draws both, one above the other, with these parts tinted. --set, --path
    and --config are for both, --old-config and --new-config for one.
    """
    from ...compiler.cost.bill import CostError
    from ...compiler.cost.compare import figures, totals
    from ...diagrams import TooLarge
    from ...diagrams.formats.export import FORMATS, ExportError

    if args.out is not None:
        writable(args.out, tuple(one for one in FORMATS if one != "html"))
    given = vars(args)
    old, new = (
        open_model(argparse.Namespace(**{**given, "target": target, "config": config or args.config}))
        for target, config in ((args.old, args.old_config), (args.new, args.new_config))
    )
    if args.out is not None:
        try:
            old.draw_diff(new, width=args.width, theme=args.theme).save(args.out)
        except (TooLarge, ExportError) as problem:
            raise CannotRun(str(problem)) from None
    found = old.diff(new)
    try:
        bills = old.cost(), new.cost()
    except (CostError, AttnError):  # a block whose sizes callers give
        bills = None
    if args.json:
        import json

        print(json.dumps({**found.data(), "figures": figures(*bills) if bills else []}, indent=2))
    else:
        print(found)
        if bills:
            print("\n".join(["", *totals(*bills)]))
    return CLEAN
