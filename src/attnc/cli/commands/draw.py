"""`attnc draw`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...dsl.errors import AttnError
from ...dsl.files import read
from ...spec import Model, Size
from ..arguments import hints, levels, mesh_sizes, sizes, splits, target, text
from ..output import CLEAN, CannotRun, complain, report, say, writable, write
from ..target import open_model, open_spec, opened, split

if TYPE_CHECKING:
    from ...compiler.streams.report import StreamReport
    from ...diagrams import Diagram

SUMMARY = "draw a neural-circuit diagram"


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    parser.add_argument(
        "-o", dest="out", metavar="OUT", help="a .svg, .pdf, .png, .dot, .tex or .html file; without it, DOT on stdout"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--open",
        metavar="BLOCK,...",
        type=names,
        action="extend",
        default=[],
        help="draw these blocks from the inside, the others as boxes",
    )
    how.add_argument("--depth", type=levels, metavar="N", help="open N levels of blocks")
    parser.add_argument(
        "--close",
        metavar="BLOCK,...",
        type=names,
        action="extend",
        default=[],
        help="draw these blocks as boxes, whatever else is said",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--width", type=length, metavar="LENGTH", help="of the page: 5.5in (also cm, mm, pt)")
    size.add_argument(
        "--page",
        type=page,
        metavar="PAGE",
        help="the page: 5.5x9in, neurips, acl-column, ieee, slide-16x9 or poster; what is too large for it is drawn in "
        "panels, each in a file of its own (OUT-a, OUT-b, ..)",
    )
    parser.add_argument(
        "--type", type=points, metavar="SIZE", help="of letters: 8pt, the same for all figures of a paper"
    )
    parser.add_argument("--theme", choices=("color", "mono"), default="color", help="colours, or ink alone")
    parser.add_argument("--title", type=text, metavar="TEXT", help='what stands above the figure; "" for nothing')
    parser.add_argument("--sizes", action="store_true", help="give the size of each axis at its first label")
    parser.add_argument("--legend", action="store_true", help="a strip beneath that explains axes and glyphs")
    hints(parser)
    parser.add_argument("--tint", action="store_true", help="colours behind values, those of `show --tint`")
    parser.add_argument("--outline", action="store_true", help="in .svg, letters as curves, so that no font is needed")
    parser.add_argument("--mesh", type=mesh_sizes, metavar="NAME=N,..", help="split over these devices: data=2,model=4")
    splits(parser)
    parser.add_argument(
        "--levels", action="store_true", help="draw what streams as loops over tiles, wires hatched by level of memory"
    )
    parser.add_argument("--device", metavar="DEVICE", help="of --levels: h100 (if not named), h200, a100, FILE.toml")
    parser.add_argument("--dtype", metavar="DTYPE", help="of --levels: of reals (bfloat16 if none is named)")
    parser.add_argument("--watch", action="store_true", help="draw again at each change of FILE, until ctrl-C")
    parser.add_argument("--gallery", metavar="OUT/", help="draw every model and block of FILE into this folder")
    sizes(parser)


def names(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"`{text}` is not a list of block names with commas between")
    return found


def length(text: str) -> float:
    """A width of a page, in inches."""
    from ...diagrams.base.paper import inches

    try:
        return inches(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def points(text: str) -> float:
    """A size of letters, in points."""
    from ...diagrams.draw.diagram import letters

    try:
        return letters(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is not a size of letters such as 8pt (4 to 72)") from None


def page(text: str) -> str:
    """A page, as `Model.draw` takes it."""
    from ...diagrams.base.paper import paper

    try:
        paper(text)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from None
    return text


def run(args: argparse.Namespace) -> int:
    """Draw the neural-circuit diagram of a model or a block, as SVG, PDF, PNG, DOT, TikZ (.tex) or an HTML page by the
    ending of OUT. All but DOT, TikZ and HTML need the program `dot` of Graphviz. Without -o, DOT goes to stdout.
    """
    from ...diagrams.formats.export import FORMATS

    args.out = None if args.out == "-" else args.out
    if args.out is not None:
        writable(args.out, FORMATS)
        if args.outline and not args.out.lower().endswith(".svg"):
            raise CannotRun("--outline is for .svg files: PDF and PNG bring their letters along anyway")
    if args.split and args.mesh is None:
        raise CannotRun("--split says what an axis of a mesh splits: which devices? Write --mesh data=2,model=4")
    for name, given in (("--device", args.device), ("--dtype", args.dtype)):
        if given is not None and not args.levels:
            raise CannotRun(f"{name} goes with --levels: say what tiles are chosen for")
    if args.levels and args.mesh is not None:
        raise CannotRun("--levels are those of one device, --mesh has many: draw one figure of each")
    if args.watch:
        return followed(args)
    if args.gallery is not None:
        return gallery(args)
    return once(args)


def once(args: argparse.Namespace) -> int:
    """Draw it."""
    from ...compiler.cost.bill import CostError
    from ...compiler.sharding.mesh import CannotDivide
    from ...compiler.streams.device import DeviceError
    from ...compiler.streams.drawn import NothingStreams
    from ...diagrams import TooLarge, UnknownBlock
    from ...diagrams.formats.export import ExportError

    try:
        model, given = opened(args.target, args) if args.levels else (open_model(args), {})
        diagram = drawn(model, args, given)
        if args.out is None:
            sys.stdout.write("".join(each.dot for each in (diagram, *diagram.panels)))
        else:
            diagram.save(args.out, outline=args.outline)
            if diagram.panels and not args.out.lower().endswith(".html"):
                out = Path(args.out)
                files = [f"{out.stem}{each.suffix}{out.suffix}" for each in (diagram, *diagram.panels)]
                complain(f"the figure is in {len(files)} files, for one page does not hold it: {', '.join(files)}")
    except CannotDivide as problem:
        raise CannotRun(problem.on_command_line) from None
    except (UnknownBlock, TooLarge, ExportError, CostError, DeviceError, NothingStreams) as problem:
        raise CannotRun(str(problem)) from None
    return CLEAN


def followed(args: argparse.Namespace) -> int:
    """Draw again at each change of the file, of what it uses and of its hints."""
    from time import sleep

    from ...watch.changes import EVERY, seen, used

    if args.out is None or args.gallery is not None:
        raise CannotRun("--watch draws into a file, again and again: which? Write -o OUT, without --gallery")
    file, _ = split(args.target)
    beside = [args.hints] if args.hints else [str(Path(file).with_suffix(".figure"))]
    try:
        while True:
            files = [*used(file, args.path), *beside]
            now = seen(files)
            try:
                once(args)
                say(f"{args.out}: drawn")
            except AttnError as wrong:
                report(wrong.diagnostics)
            except (CannotRun, OSError) as problem:
                complain(str(problem))
            while seen(files) == now:
                sleep(EVERY)
    except KeyboardInterrupt:
        return CLEAN


def drawn(model: Model, args: argparse.Namespace, given: Mapping[str, Size] | None = None) -> Diagram:
    """The diagram that the flags ask for; what is wrong with it goes to stderr. given: sizes for --levels."""
    levels: bool | StreamReport = False
    if args.levels:
        levels = model.streams(given, device=args.device or "h100", dtype=args.dtype or "bfloat16")
    diagram = model.draw(
        open=args.open,
        close=args.close,
        depth=args.depth,
        width=args.width,
        type=args.type,
        page=args.page,
        theme=args.theme,
        title=args.title,
        sizes=args.sizes,
        legend=args.legend,
        hints={} if args.hints == "" else args.hints,
        tint=args.tint,
        mesh=args.mesh,
        splits=dict(args.split),
        levels=levels,
    )
    for warning in diagram.warnings:
        complain(f"{model.name}: {warning}")
    return diagram


def gallery(args: argparse.Namespace) -> int:
    """Every model and block of a file as SVG, and a page that shows them all."""
    from ...diagrams import TooLarge
    from ...diagrams.formats.export import ExportError
    from ...diagrams.formats.gallery import index

    file, name = split(args.target)
    if name is not None or args.out is not None or args.open or args.close or args.hints or args.mesh or args.levels:
        raise CannotRun(
            "--gallery draws all of a file: it goes without :NAME, -o, --open, --close, --mesh, --levels and "
            "--hints FILE"
        )
    spec = open_spec(read(file), args)
    report(spec.warnings)
    folder = Path(args.gallery)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as problem:
        raise CannotRun(f"cannot write to {folder}: {problem.strerror or problem}") from None
    made = []
    for each in (*spec.models, *spec.blocks):
        try:
            model = spec.block(each) if each in spec.blocks else spec.model(each)
        except AttnError:
            complain(f"`{each}` cannot stand alone, so it is not drawn")
            continue
        try:
            diagram = drawn(model, args)
            diagram.save(folder / f"{each}.svg", outline=args.outline)
        except TooLarge as large:
            complain(f"{large}")
            continue
        except ExportError as problem:
            raise CannotRun(str(problem)) from None
        made += [f"{each}{panel.suffix}" for panel in (diagram, *diagram.panels)]
    write(str(folder / "index.html"), index(spec.name, made))
    say(f"{folder}: {len(made)} diagrams and index.html")
    return CLEAN
