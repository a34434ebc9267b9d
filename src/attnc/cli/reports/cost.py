"""`attnc cost`."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ...dsl.files import read, readable
from ..arguments import levels, sizes, whole
from ..output import CLEAN, CannotRun, report, say, writable
from ..target import open_spec, opened, pick, split
from .cost_plot import plot, require

if TYPE_CHECKING:
    from ...compiler.cost.compare import Crossing
    from ...compiler.cost.report import Cost

SUMMARY = "count parameters, multiply-adds, bytes and memory"
SYMBOLIC = ("parameters", "macs", "kept", "backward", "operations", "moved", "peak", "steps")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="FILE[:NAME]", help="a spec, and which of its models or blocks")
    parser.add_argument("--compare", nargs="+", metavar="FILE[:NAME]", help="two specs side by side")
    sizes(parser)
    parser.add_argument("--batch", type=whole, default=1, metavar="N", help="items along the leading batch axes (1)")
    parser.add_argument(
        "--dtype", default="float32", metavar="DTYPE", help="of reals: float64, float32, bfloat16 or float16"
    )
    parser.add_argument("--depth", type=levels, metavar="N", help="show N levels of blocks")
    parser.add_argument("--per-op", action="store_true", help="a line for each op, too")
    parser.add_argument("--training", action="store_true", help="gradients too, and what is saved for them")
    parser.add_argument(
        "--formula", choices=SYMBOLIC, default="macs", help="the figure whose formula stands at the end of a line"
    )
    parser.add_argument("--plot", metavar="OUT", help="draw the cost against a width, into a .svg, .pdf or .png file")
    parser.add_argument("--over", type=span, metavar="NAME=LOW..HIGH", help="the width of the plot")
    parser.add_argument("--growth", action="store_true", help="how the costs of each model of FILE grow, in big-O")
    parser.add_argument("--streams", action="store_true", help="what can be computed in tiles, and what that moves")
    parser.add_argument(
        "--device", metavar="DEVICE", help="of --streams: h100 (if none is named), h200, a100, FILE.toml"
    )
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def span(text: str) -> tuple[str, int, int]:
    """`NAME=LOW..HIGH`."""
    found = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)=([0-9]+)\.\.([0-9]+)", text)
    if not found or not 1 <= int(found[2]) < int(found[3]):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=LOW..HIGH, such as seq=16..65536")
    return found[1], int(found[2]), int(found[3])


def run(args: argparse.Namespace) -> int:
    """Count what a model or a block costs, as numbers and as exact formulas of its sizes: parameters, multiply-adds,
    bytes moved, peak memory of activations, sequential steps and longest paths, part by part. `--set` gives widths a
    size, too. `--compare A B` puts two side by side. `--streams` finds what can be computed in tiles of a device.
    """
    from ...compiler.cost.bill import CostError

    targets = [target for target in (args.target, *(args.compare or ())) if target is not None]
    if args.compare and len(targets) != 2:
        raise CannotRun(f"--compare puts two specs side by side, but {len(targets)} are named")
    if not targets:
        raise CannotRun("which spec? write `attnc cost FILE[:NAME]`")
    if (args.plot is None) != (args.over is None):
        raise CannotRun("--plot OUT.svg goes with --over NAME=LOW..HIGH: the width, and from where to where")
    if args.plot is not None:
        writable(args.plot, ("svg", "pdf", "png"))
        require()
    if args.device is not None and not args.streams:
        raise CannotRun("--device goes with --streams: say what it is counted for")
    if args.streams:
        return streamed(args)
    if args.growth:
        return growth(args)
    try:
        bills = [CountedSpec(target, args) for target in targets]
        if args.plot is not None:
            drawn(bills, args)
        else:
            (compared if len(bills) == 2 else shown)(bills, args)
    except CostError as problem:
        raise CannotRun(str(problem)) from None
    return CLEAN


class CountedSpec:
    """One spec of the command line, to be counted at any size of a width."""

    def __init__(self, target: str, args: argparse.Namespace) -> None:
        self.target, self.args = target, args
        self.model, self.given = opened(target, args)

    def cost(self, **more: int) -> Cost:
        return self.model.cost({**self.given, **more}, batch=self.args.batch, dtype=self.args.dtype)


def shown(bills: list[CountedSpec], args: argparse.Namespace) -> None:
    from ...compiler.cost.table import data, text

    cost = bills[0].cost()
    if args.json:
        import json

        print(json.dumps(data(cost, depth=args.depth), indent=2))
        return
    training = args.training or args.formula == "backward"
    print("\n".join(text(cost, depth=args.depth, per_op=args.per_op, training=training, symbolic=args.formula)))


def streamed(args: argparse.Namespace) -> int:
    """What streams, and what that takes on a device."""
    from ...compiler.cost.bill import CostError
    from ...compiler.streams.device import DeviceError
    from ...compiler.streams.report import data

    shown_otherwise = {"--compare": args.compare, "--plot": args.plot, "--growth": args.growth, "--depth": args.depth}
    more = {**shown_otherwise, "--per-op": args.per_op, "--training": args.training}
    for name, value in more.items():
        if value not in (None, False):
            raise CannotRun(f"--streams is a report of its own: leave {name} out")
    try:
        model, given = opened(args.target, args)
        found = model.streams(given, device=args.device or "h100", batch=args.batch, dtype=args.dtype)
    except (CostError, DeviceError) as problem:
        raise CannotRun(str(problem)) from None
    if args.json:
        import json

        print(json.dumps(data(found), indent=2))
    else:
        print(found)
    return CLEAN


def compared(bills: list[CountedSpec], args: argparse.Namespace) -> None:
    from ...compiler.cost.compare import figures, shared_widths, text

    a, b = (bill.cost() for bill in bills)
    asked = dict.fromkeys((args.formula, "macs", "kept", "moved", "peak"))
    found = [one for width in shared_widths(a, b) for one in crossed(bills, width, list(asked))]
    if args.json:
        import json

        places = [{"figure": c.figure, "width": c.width, "size": c.size, "cheaper": c.cheaper} for c in found]
        print(json.dumps({"first": a.name, "second": b.name, "figures": figures(a, b), "crossings": places}, indent=2))
        return
    print("\n".join(text(a, b, found, depth=args.depth, column=args.formula)))


def crossed(bills: list[CountedSpec], width: str, figures: list[str]) -> list[Crossing]:
    from ...compiler.cost.compare import crossings

    a, b = bills
    names = (a.model.name, b.model.name) if a.model.name != b.model.name else (a.target, b.target)
    return crossings(names, lambda n: a.cost(**{width: n}), lambda n: b.cost(**{width: n}), width, figures)


def drawn(bills: list[CountedSpec], args: argparse.Namespace) -> None:
    """Cost against a width, at steps of a quarter of a doubling."""
    from ...compiler.cost.bill import CostError
    from ...compiler.cost.compare import FIGURES
    from ...compiler.cost.table import COLUMNS

    width, low, high = args.over
    sizes = sorted({round(low * 2 ** (step / 4)) for step in range(200)} | {high})
    curves = {}
    for bill in bills:
        points: list[tuple[int, int]] = []
        problem: CostError | None = None
        for size in (size for size in sizes if size <= high):
            try:
                points.append((size, FIGURES[args.formula](bill.cost(**{width: size}))))
            except CostError as wrong:
                problem = wrong
        if problem is not None and len(points) < 2:
            raise problem
        curves[bill.model.name if bill.model.name not in curves else readable(bill.target)] = points
    found = crossed(bills, width, [args.formula]) if len(bills) == 2 else []
    plot(args.plot, curves, [c for c in found if low <= c.size <= high], width=width, figure=COLUMNS[args.formula][0])
    say(f"{args.plot}: {', '.join(curves)} over {width} from {low:,} to {high:,}")


def growth(args: argparse.Namespace) -> int:
    """The columns of table 1 of Vaswani et al. 2017, for each model of a file."""
    from ...compiler.cost.growth import rows
    from ...compiler.cost.table import aligned

    file, name = split(args.target or "")
    spec = open_spec(read(file), args)
    report(spec.warnings)
    made = [row for each in ([name] if name else spec.models) for row in rows(pick(f"{file}:{each}", args, {}).cost())]
    heads = ("", "complexity per layer", "sequential operations", "longest path")
    print("\n".join(aligned([heads, *made])))
    return CLEAN
