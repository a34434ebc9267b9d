"""`attnc cost`."""

from __future__ import annotations

import argparse
import re

from ..dsl.diagnostic import AttnError
from ..spec import Model, Size
from .arguments import sizes, target
from .output import CLEAN, CannotRun, report
from .target import open_model, open_spec, split

SUMMARY = "count parameters, multiply-adds, bytes and memory"
SYMBOLIC = ("parameters", "macs", "kept", "backward", "operations", "moved", "peak", "steps")


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    sizes(parser)
    parser.add_argument("--batch", type=whole, default=1, metavar="N", help="items along the leading batch axes (1)")
    parser.add_argument(
        "--dtype", default="float32", metavar="DTYPE", help="of reals: float64, float32, bfloat16 or float16"
    )
    parser.add_argument("--depth", type=level, metavar="N", help="show N levels of blocks")
    parser.add_argument("--per-op", action="store_true", help="a line for each op, too")
    parser.add_argument("--training", action="store_true", help="gradients too, and what is saved for them")
    parser.add_argument(
        "--formula", choices=SYMBOLIC, default="macs", help="the figure whose formula stands at the end of a line"
    )
    parser.add_argument("--growth", action="store_true", help="how the costs of each model of FILE grow, in big-O")
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number of 1 or more")
    return int(text)


def level(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number of levels (0 or more)")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Count what a model or a block costs, as numbers and as exact formulas of its sizes: parameters, multiply-adds,
    bytes moved, peak memory of activations and sequential steps, part by part. `--set` gives widths a size, too.
    """
    from ..compiler.cost.bill import CostError
    from ..compiler.cost.table import data, text

    if args.growth:
        return growth(args)
    model, given = opened(args.target, args)
    try:
        cost = model.cost(given, batch=args.batch, dtype=args.dtype)
    except CostError as problem:
        raise CannotRun(str(problem)) from None
    if args.json:
        import json

        print(json.dumps(data(cost, depth=args.depth), indent=2))
    else:
        lines = text(
            cost, depth=args.depth, per_op=args.per_op, training=args.training or args.formula == "backward",
            symbolic=args.formula,
        )  # fmt: skip
        print("\n".join(lines))
    return CLEAN


def growth(args: argparse.Namespace) -> int:
    """The columns of table 1 of Vaswani et al. 2017, for each model of a file."""
    from ..compiler.cost.growth import rows
    from ..compiler.cost.table import aligned

    file, name = split(args.target)
    spec = open_spec(file, args)
    report(spec.warnings)
    made = [row for each in ([name] if name else spec.models) for row in rows(pick(f"{file}:{each}", args, {}).cost())]
    heads = ("", "complexity per layer", "sequential operations", "longest path")
    print("\n".join(aligned([[*row[:1], *row[1:]] for row in [heads, *made]])))
    return CLEAN


def opened(target: str, args: argparse.Namespace) -> tuple[Model, dict[str, Size]]:
    """The model, and the sizes to count it at.

    A width that varies at run time keeps its declaration (a learned table along it has as many rows as its bound);
    everything else that is set is set in the spec.
    """
    settings = dict(args.set)
    try:
        free = run_time(pick(target, args, {}))
    except (AttnError, CannotRun):
        free = set()  # what is wrong is said below, with the settings in place
    model = pick(target, args, {name: value for name, value in settings.items() if name not in free}, warn=True)
    taken = {axis.name: axis.extent for axis in model.graph.axes} | {
        const.name: const.value for const in model.graph.consts
    }
    return model, {name: value for name, value in settings.items() if name in taken and taken[name] != value}


def pick(target: str, args: argparse.Namespace, settings: dict[str, Size], warn: bool = False) -> Model:
    changed = argparse.Namespace(**{**vars(args), "target": target, "set": list(settings.items())})
    return open_model(changed, warn=warn)


def run_time(model: Model) -> set[str]:
    return {axis.name for axis in model.graph.axes if axis.is_width and axis.extent is None}
