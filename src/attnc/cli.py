"""The command line: `attnc check | draw | show | compile | summary | convert | explain`.

Diagnostics go to stderr, what was asked for to stdout. Exit status: 0 clean, 1 the spec is wrong, 2 it could not run.
Nothing but the standard library is imported before a command needs it: `attnc check` loads lark, never NumPy or torch.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from . import __version__
from .dsl.diagnostic import AttnError, Diagnostic
from .spec import Model, Size, Spec, load, suggestion

if TYPE_CHECKING:
    from .compiler.inventory import WeightSpec
    from .diagrams import Diagram

CLEAN, WRONG, COULD_NOT_RUN = 0, 1, 2
INTERRUPTED = 130  # what a shell reports of a command ended by Ctrl-C

UNKNOWN_SETTING, UNKNOWN_CONFIG = "E0601", "E0602"  # without a span: of the command line


COMMANDS = ("check", "draw", "show", "compile", "summary", "convert", "explain")


class CannotRun(Exception):
    """One line for the user; exit status 2."""


# -- the command line ----------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """argparse, saying one line about a mistake, with near names."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"argument COMMAND: invalid choice: '(.*?)'", message)
        if unknown:
            message = f"no command `{unknown[1]}`{suggestion(unknown[1], COMMANDS)}"
        raise CannotRun(f"{message} (see `{self.prog} -h`)")


def parser() -> Parser:
    top = Parser(
        prog="attnc",
        description="Check, draw and compile attention architectures written in the .attn language.",
        epilog="Exit status: 0 clean, 1 the spec is wrong, 2 it could not run. Diagnostics go to stderr.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"attnc {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
        about = " ".join((run.__doc__ or "").split())
        made: Parser = commands.add_parser(name, help=text, description=about, allow_abbrev=False)
        made.set_defaults(run=run)
        return made

    def target(made: Parser) -> None:
        made.add_argument("target", metavar="FILE[:NAME]", help="a spec, and which of its models or blocks")

    def sizes(made: Parser) -> None:
        made.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            type=setting,
            help="give a depth, fixed width or const this value; may be repeated",
        )
        made.add_argument("--config", metavar="NAME", help="use this `config` of the spec")

    made = command("check", check, "report every mistake in specs")
    made.add_argument("files", nargs="+", metavar="FILE", help="a spec (.attn)")
    sizes(made)
    made.add_argument("--json", action="store_true", help="print the diagnostics to stdout as JSON")

    made = command("draw", draw, "draw a neural-circuit diagram")
    target(made)
    made.add_argument(
        "-o", dest="out", metavar="OUT", help="a .svg, .pdf, .png, .dot, .tex or .html file; without it, DOT on stdout"
    )
    how = made.add_mutually_exclusive_group()
    how.add_argument(
        "--open",
        metavar="BLOCK,...",
        type=names,
        default=(),
        help="draw these blocks from the inside, the others as boxes",
    )
    how.add_argument("--depth", type=depth, metavar="N", help="open N levels of blocks")
    made.add_argument(
        "--close", metavar="BLOCK,...", type=names, default=(), help="draw these blocks as boxes, whatever else is said"
    )
    made.add_argument("--width", type=length, metavar="LENGTH", help="of the page: 5.5in (also cm, mm, pt)")
    made.add_argument("--theme", choices=("color", "mono"), default="color", help="colours, or ink alone")
    made.add_argument("--title", metavar="TEXT", help='what stands above the figure; "" for nothing')
    made.add_argument("--sizes", action="store_true", help="give the size of each axis at its first label")
    made.add_argument("--legend", action="store_true", help="a strip beneath that explains axes and glyphs")
    made.add_argument("--outline", action="store_true", help="in .svg, letters as curves, so that no font is needed")
    made.add_argument("--gallery", metavar="OUT/", help="draw every model and block of FILE into this folder")
    sizes(made)

    made = command("show", show, "print the equations of a model or a block")
    target(made)
    made.add_argument("--latex", action="store_true", required=True, help="in Named Tensor Notation, as LaTeX")
    sizes(made)

    made = command("compile", emit, "write PyTorch or NumPy code")
    target(made)
    made.add_argument("--to", required=True, choices=("torch", "numpy"), help="what the code is to use")
    made.add_argument("-o", dest="out", metavar="OUT", help="a .py file; without it, stdout")
    sizes(made)

    made = command("summary", summary, "list every weight")
    target(made)
    sizes(made)

    made = command("convert", convert, "convert weights to a spec's names, or back")
    made.add_argument("map", metavar="MAP", help="says which weights are which (see examples/zoo/*.map)")
    made.add_argument("weights", metavar="IN", help="a .safetensors file, or the .safetensors.index.json of several")
    made.add_argument("out", metavar="OUT", help="the .safetensors file to write")
    target(made)
    made.add_argument("--to", required=True, choices=("attnc", "foreign"), help="whose names OUT is to have")
    sizes(made)

    made = command("explain", explain, "explain the code of an error, with a wrong and a right program")
    made.add_argument("code", metavar="CODE", help="such as E0307")
    return top


def setting(text: str) -> tuple[str, Size]:
    """`NAME=VALUE`; the value is an int, a float, `true` or `false`."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    if re.fullmatch(r"[+-]?[0-9]+", value):
        return name, int(value)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
        return name, float(value)
    raise argparse.ArgumentTypeError(f"in `{text}`, `{value}` is not a number, true or false")


def names(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"`{text}` is not a list of block names with commas between")
    return found


def depth(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number of levels (0 or more)")
    return int(text)


def length(text: str) -> float:
    """A width of a page, in inches: `5.5in`, `14cm`, `140mm`, `397pt`, or a number of inches."""
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*(in|cm|mm|pt|)", text)
    inches = float(found[1]) / {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27, "": 1.0}[found[2]] if found else 0.0
    if not 0.5 <= inches <= 200:
        raise argparse.ArgumentTypeError(f"`{text}` is not a width such as 5.5in, 14cm, 140mm or 397pt")
    return inches


# -- commands ------------------------------------------------------------------------------------------------------


def check(args: argparse.Namespace) -> int:
    """Report every mistake in the specs, in one run. Warnings do not change the exit status."""
    status = CLEAN
    found: list[Diagnostic] = []
    for file in args.files:
        try:
            diagnostics: Sequence[Diagnostic] = open_spec(file, args).warnings
        except AttnError as wrong:
            diagnostics = wrong.diagnostics
            status = max(status, WRONG)
        except OSError as problem:
            whole, name = split(file)
            complain(
                f"{problem} (`check` takes whole files: {whole})" if name and os.path.exists(whole) else str(problem)
            )
            status = COULD_NOT_RUN
            continue
        found += diagnostics
        if not diagnostics and not args.json:
            say(f"{file}: ok")
    if args.json:
        import json

        from .dsl.render import to_json

        print(json.dumps(to_json(found), indent=2))
    else:
        report(found)
    return status


def draw(args: argparse.Namespace) -> int:
    """Draw the neural-circuit diagram of a model or a block, as SVG, PDF, PNG, DOT, TikZ (.tex) or an HTML page by the
    ending of OUT. All but DOT and TikZ need the program `dot` of Graphviz. Without -o, DOT goes to stdout.
    """
    from .diagrams import UnknownBlock
    from .diagrams.export import FORMATS, ExportError

    if args.out is not None:
        writable(args.out, FORMATS)
        if args.outline and not args.out.lower().endswith(".svg"):
            raise CannotRun("--outline is for .svg files: PDF and PNG bring their letters along anyway")
    if args.gallery is not None:
        return gallery(args)
    model = open_model(args)
    try:
        diagram = drawn(model, args)
        if args.out is None:
            sys.stdout.write(diagram.dot)
        else:
            diagram.save(args.out, outline=args.outline)
    except (UnknownBlock, ExportError) as problem:
        raise CannotRun(str(problem)) from None
    return CLEAN


def drawn(model: Model, args: argparse.Namespace) -> Diagram:
    """The diagram that the flags ask for; what is wrong with it goes to stderr."""
    diagram = model.draw(
        open=args.open,
        close=args.close,
        depth=args.depth,
        width=args.width,
        theme=args.theme,
        title=args.title,
        sizes=args.sizes,
        legend=args.legend,
    )
    for warning in diagram.warnings:
        complain(f"{model.name}: {warning}")
    return diagram


def gallery(args: argparse.Namespace) -> int:
    """Every model and block of a file as SVG, and a page that shows them all."""
    from .diagrams.export import ExportError
    from .diagrams.gallery import index

    file, name = split(args.target)
    if name is not None or args.out is not None or args.open or args.close:
        raise CannotRun("--gallery draws all of a file: it goes without :NAME, -o, --open and --close")
    spec = open_spec(file, args)
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
            drawn(model, args).save(folder / f"{each}.svg", outline=args.outline)
        except ExportError as problem:
            raise CannotRun(str(problem)) from None
        made.append(each)
    write(str(folder / "index.html"), index(spec.name, made))
    say(f"{folder}: {len(made)} diagrams and index.html")
    return CLEAN


def show(args: argparse.Namespace) -> int:
    """Print the equations of a model or a block: `--latex` in Named Tensor Notation (Chiang, Rush and Barak)."""
    sys.stdout.write(open_model(args).latex())
    return CLEAN


def emit(args: argparse.Namespace) -> int:
    """Write a model or a block as stand-alone Python: it needs torch (or NumPy) and jaxtyping, not attnc."""
    if args.out is not None:
        writable(args.out, ())
    model = open_model(args)
    from .backends import CannotEmit

    try:
        text = model.source(args.to)
    except CannotEmit as problem:
        raise CannotRun(str(problem)) from None
    if args.out is None:
        sys.stdout.write(text)
    else:
        write(args.out, text)
    return CLEAN


def summary(args: argparse.Namespace) -> int:
    """List every weight of a model or a block: its path, axes, shape, init and number of parameters; and the total."""
    print("\n".join(table(open_model(args))))
    return CLEAN


def convert(args: argparse.Namespace) -> int:
    """Convert weights to the names and shapes of a model (`--to attnc`), or from them (`--to foreign`), to just the
    names that the file had. Number formats stay as they are. OUT is written whole or not at all.
    """
    from .weights import WeightsError
    from .weights.convert import convert_file

    writable(args.out, ("safetensors",))
    model = open_model(args)
    try:
        convert_file(args.map, args.weights, args.out, model, reverse=args.to == "foreign")
    except WeightsError as wrong:
        raise CannotRun(str(wrong)) from None
    except OSError as problem:
        raise CannotRun(f"{problem.filename or args.out}: {problem.strerror or problem}") from None
    return CLEAN


def explain(args: argparse.Namespace) -> int:
    """Explain the code of an error or a warning, with a wrong and a right program."""
    from .dsl import catalogue

    page = catalogue.explain(args.code)
    if page is None:
        near = ", ".join(catalogue.near(args.code))
        raise CannotRun(
            f"no error has the code `{args.code}`; " + (f"near it: {near}" if near else "codes look like E0307")
        )
    sys.stdout.write(page)
    return CLEAN


# -- what commands share -------------------------------------------------------------------------------------------


def open_spec(file: str, args: argparse.Namespace) -> Spec:
    """Read and check one file, with `--set` and `--config`.

    Raises AttnError if it is wrong, OSError if it cannot be read, CannotRun for a setting or config it does not have.
    """
    try:
        return load(file, config=args.config, sizes=dict(args.set))
    except AttnError as wrong:
        for found in wrong.diagnostics:
            if found.span is None and found.code in (UNKNOWN_SETTING, UNKNOWN_CONFIG):
                raise CannotRun(found.message + (f" ({found.help})" if found.help else "")) from None
        raise


def open_model(args: argparse.Namespace) -> Model:
    """The model or block that `FILE[:NAME]` names. Raises as `open_spec` does."""
    file, name = split(args.target)
    spec = open_spec(file, args)
    report(spec.warnings)
    name = name or the_only(spec)
    if name in spec.blocks:
        return spec.block(name)
    try:
        return spec.model(name)
    except LookupError:
        known = spec.models + spec.blocks
        raise CannotRun(f"{file} has no model or block `{name}`{suggestion(name, known)}") from None


def split(target: str) -> tuple[str, str | None]:
    """`FILE` or `FILE:NAME`. A file may have colons in its path: what exists as it stands is a file."""
    file, colon, name = target.rpartition(":")
    if colon and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and not os.path.exists(target):
        return file, name
    return target, None


def the_only(spec: Spec) -> str:
    """The only model, else the only block; raises CannotRun with the names if the choice is open."""
    for names in (spec.models, spec.blocks):
        if len(names) == 1:
            return names[0]
        if names:
            listed = ", ".join(spec.models + spec.blocks)
            raise CannotRun(f"which one of {spec.name}? write {spec.name}:NAME; it has {listed}")
    raise CannotRun(f"{spec.name} has no model and no block")


def table(model: Model) -> list[str]:
    """The weights of a model as lines of aligned text, and their total."""
    weights = model.weights.values()
    rows = [("path", "axes", "shape", "init", "parameters")]
    for weight in weights:
        axes, shape = f"[{', '.join(weight.axes)}]", " x ".join(map(str, weight.shape)) or "1"
        rows.append((weight.path, axes, shape, init(weight), f"{weight.size:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1].rjust(widths[-1])]
        )
        for row in rows
    ]
    total, frozen = sum(weight.size for weight in weights), sum(weight.size for weight in weights if weight.frozen)
    note = f" ({frozen:,} of them frozen)" if frozen else ""
    return [*lines, "", f"{total:,} parameters in {len(weights):,} weights{note}"]


def init(weight: WeightSpec) -> str:
    """How a weight begins, as a spec writes it; `default` with the numbers that it comes to."""
    kind, args = weight.init.kind, weight.init.args
    if kind == "default":
        kind, args = ("uniform", (weight.fan_in**-0.5,)) if weight.fan_in else ("normal", (1.0,))
    text = f"{kind}({', '.join(f'{arg:.4g}' for arg in args)})" if args else kind
    return f"{text} frozen" if weight.frozen else text


# -- output --------------------------------------------------------------------------------------------------------


def say(line: str) -> None:
    print(line, file=sys.stderr)


def complain(message: str) -> None:
    say(f"attnc: {message}")


def report(diagnostics: Sequence[Diagnostic]) -> None:
    """Render diagnostics to stderr, in colour on a terminal (unless NO_COLOR is set)."""
    if diagnostics:
        from .dsl.render import render_all

        colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        say(render_all(diagnostics, colour=colour))


def writable(out: str, endings: Sequence[str]) -> None:
    """Say early that an output cannot be written, rather than after the work is done. No `endings`: any will do."""
    path = Path(out)
    if path.is_dir():
        raise CannotRun(f"{out or 'an empty name'} is a folder; name a file in it")
    if path.suffix == ".attn":
        raise CannotRun(f"cannot write {out}: that is the name of a spec; name another file")
    if not path.parent.is_dir():
        raise CannotRun(f"cannot write {out}: there is no folder {path.parent}")
    if endings and path.suffix.removeprefix(".").lower() not in endings:
        raise CannotRun(f"cannot write {out}: its name must end in one of {', '.join(f'.{e}' for e in endings)}")


def write(out: str, text: str) -> None:
    """Write the whole text or nothing: into a file beside `out`, then renamed. Raises CannotRun."""
    path = Path(out)
    try:
        if path.exists() and not path.is_file():  # a device or a pipe, such as /dev/stdout
            path.write_text(text, encoding="utf-8")
            return
        path = path.resolve()  # a link stays a link
        beside = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise CannotRun(f"cannot write {out}: {problem.strerror or problem}") from None


# -- the edge ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status. Every exception ends here, as one line."""
    try:
        args = parser().parse_args(argv)
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except AttnError as wrong:
        report(wrong.diagnostics)
        return WRONG
    except BrokenPipeError:
        # Whoever read our output has gone. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CannotRun, OSError) as problem:
        complain(str(problem))
        return COULD_NOT_RUN
    except SystemExit as done:  # -h, --version
        return done.code if isinstance(done.code, int) else COULD_NOT_RUN
    except Exception as bug:
        if os.environ.get("ATTNC_DEBUG") == "1":
            raise
        complain(
            f"internal error: {type(bug).__name__}: {bug}. Please report it with the spec; "
            "ATTNC_DEBUG=1 shows where it happened"
        )
        return COULD_NOT_RUN


def entry() -> None:
    """The console script."""
    sys.exit(main())
