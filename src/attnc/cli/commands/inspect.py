"""`attnc inspect`."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...dsl.files import read
from ...spec import Model
from ..arguments import natural, sizes, target, whole
from ..arguments import text as plain
from ..output import CLEAN, CannotRun, say, writable, write
from ..target import open_model

if TYPE_CHECKING:
    from ...inspect import Look

SUMMARY = "run a model and look at its attention: pictures, entropy, spectra"
PICTURES = ("png", "svg", "pdf")


def arguments(parser: argparse.ArgumentParser) -> None:
    target(parser)
    parser.add_argument("--weights", metavar="W", help="a .safetensors file with the model's weights")
    parser.add_argument("--seed", type=natural, metavar="N", help="draw weights, and what --random draws, by this seed")
    parser.add_argument("--input", metavar="X.npz", help="the inputs, by name")
    parser.add_argument(
        "--ids", action="append", default=[], type=numbers, metavar="NAME=1,2,3", help="an input of ids"
    )
    parser.add_argument("--text", action="append", default=[], type=named, metavar="NAME=TEXT", help="the same as text")
    parser.add_argument(
        "--tokens", metavar="FILE", help="what --text is made of: a token on each line, in order of ids"
    )
    parser.add_argument(
        "--random", action="append", type=size, metavar="WIDTH=SIZE", help="draw the inputs not given, so wide"
    )
    parser.add_argument(
        "--labels", action="append", default=[], type=named, metavar="WIDTH=A,B,C",
        help="what items are called; WIDTH=@FILE: a label on each line",
    )  # fmt: skip
    parser.add_argument("--capture", action="append", default=[], metavar="PATH", help="a value; may be repeated")
    parser.add_argument("--rows", type=names, default=(), metavar="AXIS,...", help="the axes that rows stand for")
    parser.add_argument("--columns", type=names, default=(), metavar="AXIS,...", help="the axes that columns stand for")
    parser.add_argument("--item", type=natural, default=0, metavar="N", help="which item of a batch is shown (0)")
    parser.add_argument("--to", choices=("numpy", "torch"), default="numpy", help="the backend that runs it (numpy)")
    parser.add_argument("--list", action="store_true", help="what can be captured, with its axes")
    parser.add_argument("--all", action="store_true", help="with --list: values without names of their own, too")
    parser.add_argument("--entropy", action="store_true", help="a table of the entropy of each head")
    parser.add_argument("--spectrum", action="store_true", help="a table of what the first singular values carry")
    parser.add_argument("--rank", action="append", type=whole, metavar="K", help="of --spectrum (1, 8, 32, 128)")
    parser.add_argument("--json", action="store_true", help="tables as JSON")
    parser.add_argument(
        "--figure", action="store_true", help="with -o OUT.html: the model's figure, the maps at its steps"
    )
    parser.add_argument("-o", "--out", metavar="OUT", help=".html, .png, .svg, .pdf, .npz, or a folder, for all of it")
    sizes(parser)


def named(text: str) -> tuple[str, str]:
    """`NAME=ANYTHING`."""
    name, equals, value = plain(text).partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=...")
    return name, value


def size(text: str) -> tuple[str, int]:
    """`WIDTH=SIZE`."""
    name, value = named(text)
    return name, whole(value)


def numbers(text: str) -> tuple[str, list[int] | int]:
    """`NAME=1,2,3`; a number alone, without a comma, has no axis where the input has none."""
    name, value = named(text)
    if not re.fullmatch(r"-?[0-9]+(\s*,\s*-?[0-9]+)*,?", value.strip()):
        raise argparse.ArgumentTypeError(f"in `{text}`, `{value}` is not a list of whole numbers, such as 1,2,3")
    return name, [int(part) for part in value.split(",") if part.strip()]


def names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def run(args: argparse.Namespace) -> int:
    """Run a model on an input and look at values inside by their paths in the spec: attention maps for each head as
    pictures or one HTML page, their entropy and their singular values. Without --capture, all attention weights.
    """
    from ...backends import CannotEmit, CaptureError, WeightsError
    from ...inspect import InspectError

    if args.out is not None and not Path(args.out).is_dir():
        writable(args.out, ("html", *PICTURES, "npz"))
    if args.figure and not (args.out or "").lower().endswith(".html"):
        raise CannotRun("--figure is a page: write it with -o OUT.html")
    model = open_model(args)
    try:
        if args.list:
            print("\n".join(listed(model, args)))
            return CLEAN
        found = looked(model, args)
        tell(found, args, model)
    except (InspectError, WeightsError, CaptureError, CannotEmit) as wrong:
        raise CannotRun(str(wrong)) from None
    return CLEAN


def listed(model: Model, args: argparse.Namespace) -> list[str]:
    """Every value, with its axes (those of the model that they stand for), and what a map of it shows."""
    from ...inspect import spots
    from ...inspect.text import spots_table

    return spots_table(spots(model, named=not args.all))


def looked(model: Model, args: argparse.Namespace) -> Look:
    """Run the model as the command line says."""
    from ...inspect import inputs, look
    from ...inspect.find import chosen

    chosen(model, args.capture)  # what is wrong with these is said first
    given: dict[str, Any] = dict(arrays(args.input)) if args.input else {}
    labels = {name: label_list(name, text) for name, text in args.labels}
    for name, values in args.ids:
        put(given, name, single(model, name, values))
    for name, text in args.text:
        ids, tokens = read_text(name, text, args)
        put(given, name, ids)
        port = next((port for port in model.inputs if port.name == name), None)
        if port is not None and port.axes:
            labels.setdefault(port.axes[-1], tokens)
    weights = loaded(model, args)
    random = dict(args.random) if args.random else None
    ready = inputs(model, given, random=random, seed=args.seed or 0)
    return look(
        model, ready, weights, capture=args.capture, rows=args.rows, columns=args.columns, labels=labels,
        backend=args.to, seed=args.seed or 0,
    )  # fmt: skip


def put(given: dict[str, Any], name: str, value: Any) -> None:
    if name in given:
        raise CannotRun(f"the input `{name}` is given twice")
    given[name] = value


def single(model: Model, name: str, values: list[int]) -> Any:
    """A list, or a number for an input without axes."""
    port = next((port for port in model.inputs if port.name == name), None)
    if port is not None and not port.axes and len(values) == 1:
        return values[0]
    return (
        [bool(value) for value in values]
        if port is not None and port.element == "bool" and set(values) <= {0, 1}
        else values
    )


def loaded(model: Model, args: argparse.Namespace) -> Any:
    """The weights, or None where they are to be drawn."""
    from ...weights import load

    if args.weights is not None:
        try:
            return load(args.weights)
        except OSError as problem:
            raise CannotRun(f"cannot read {args.weights}: {problem.strerror or problem}") from None
    if args.seed is None and model.weights:
        count = len(model.weights)
        raise CannotRun(
            f"{model.name} has {count} weight{'' if count == 1 else 's'}: give them with --weights W.safetensors, "
            "or have them drawn with --seed 0"
        )
    return None


def arrays(file: str) -> dict[str, Any]:
    """What is in an .npz file; nothing is unpickled."""
    import zipfile

    import numpy as np

    try:
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.lib.npyio.NpzFile):
            with found:
                return {name: found[name] for name in found.files}
    except OSError as problem:
        raise CannotRun(f"cannot read {file}: {problem.strerror or problem}") from None
    except (ValueError, zipfile.BadZipFile, EOFError):
        raise CannotRun(f"{file} is not a readable .npz file of plain arrays") from None
    raise CannotRun(f"{file} holds one array without a name; write it with numpy.savez(file, name=array)")


def label_list(name: str, text: str) -> list[str]:
    """Labels between commas, or on the lines of a file."""
    if text.startswith("@"):
        return read(text[1:]).text.splitlines()
    return text.split(",")


def read_text(name: str, text: str, args: argparse.Namespace) -> tuple[list[int], list[str]]:
    """The ids of a text, and its tokens."""
    from ...inspect.model_inputs import ids

    if args.tokens is None:
        raise CannotRun(f"--text {name}=... needs --tokens FILE: a token on each line, in order of ids")
    tokens = read(args.tokens).text.splitlines()
    found = ids(text, tokens)
    return found, [tokens[place] for place in found]


def tell(found: Look, args: argparse.Namespace, model: Model) -> None:
    """Print tables, write files."""
    from ...inspect import text

    ranks = tuple(args.rank) if args.rank else text.RANKS
    if args.json:
        data: dict[str, Any] = {"model": found.model, "values": described(found)}
        if args.entropy:
            data["entropy"] = text.entropies(found)
        if args.spectrum:
            data["spectrum"] = text.spectra(found, ranks)
        print(json.dumps(data, indent=2))
    else:
        tables = [text.entropy_table(found)] if args.entropy else []
        tables += [text.spectrum_table(found, ranks)] if args.spectrum else []
        if not tables and args.out is None:
            tables = [text.values_table(found)]
        print("\n\n".join("\n".join(table) for table in tables), end="\n" if tables else "")
    if args.out is not None:
        written(found, args, ranks, model)


def written(found: Look, args: argparse.Namespace, ranks: tuple[int, ...], model: Model) -> None:
    from ...inspect.curves import save_curves
    from ...inspect.save import save

    out = Path(args.out)
    try:
        if args.figure:
            if args.item not in range(found.batch):
                raise CannotRun(f"there is no item {args.item}: the batch has {found.batch}, counted from 0")
            try:
                page = model.draw().html(found, args.item)
            except ValueError as problem:  # too many numbers, or too large a figure
                raise CannotRun(str(problem)) from None
            write(args.out, page)
        elif args.spectrum and out.suffix.lower()[1:] in PICTURES:
            save_curves(found, out, max(ranks))
        else:
            save(found, out, args.item)
    except OSError as problem:
        raise CannotRun(f"cannot write {out}: {problem.strerror or problem}") from None
    say(f"{out}: {len(found)} value{'' if len(found) == 1 else 's'} of {found.model}")


def described(found: Look) -> list[dict[str, Any]]:
    return [
        {
            "path": one.path,
            "heads": [{"axis": name, "size": size} for name, size in one.heads],
            "rows": [side.outer for side in one.rows],
            "columns": [side.outer for side in one.columns],
            "shape": list(one.array.shape),
        }
        for one in found.maps.values()
    ]
