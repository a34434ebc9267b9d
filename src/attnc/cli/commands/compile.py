"""`attnc compile`."""

from __future__ import annotations

import argparse
import keyword
import sys
from collections.abc import Mapping
from pathlib import Path

from ...spec import Model
from ..arguments import mesh_sizes, sizes, splits, target
from ..output import CLEAN, CannotRun, complain, writable, write, write_all
from ..target import open_model

SUMMARY = "write PyTorch or NumPy code"
FILES = ("decoding", "checked", "single_file")  # what says what is written


def arguments(parser: argparse.ArgumentParser) -> None:
    from ...compiler.pipeline import NAMES

    target(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="tell instead what each rewrite does, how attention and its masks are computed, and what decoding keeps",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PASS",
        help=f"leave a rewrite out: {', '.join(NAMES)}; may be repeated",
    )
    parser.add_argument(
        "--to",
        choices=("torch", "numpy", "triton"),
        help="what the code is to use; triton: PyTorch, and OUT_kernels.py, kernels of what streams",
    )
    parser.add_argument(
        "-o",
        dest="out",
        metavar="OUT",
        help="a .py file, beside which goes what it imports of ours; without it, or with -, stdout",
    )
    parser.add_argument(
        "--decoding",
        action="store_true",
        help="write OUT_decoding.py too: prepare, step, generate and stream for these classes, over a cache",
    )
    parser.add_argument(
        "--checked",
        action="store_true",
        help="hold inputs to all that the spec says of them: bounds, copies of axes, batch axes, kinds of integers",
    )
    parser.add_argument(
        "--single-file",
        action="store_true",
        help="put all in one file, the model first, then what else it would import of ours",
    )
    parser.add_argument(
        "--mesh",
        type=mesh_sizes,
        metavar="NAME=N,..",
        help="write OUT_parallel.py too: the model divided over a mesh of devices, such as data=2,model=4, as "
        "`attnc shard` plans it",
    )
    splits(parser)
    sizes(parser)


def run(args: argparse.Namespace) -> int:
    """Write a model or a block as Python: it needs torch (or NumPy) and jaxtyping, not attnc. What it needs of ours is
    a file beside it, attnc_runtime_torch.py (or _numpy.py), one for all models of a folder. With --explain, tell what
    compiling does: each rewrite, each attention and its mask, decoding.
    """
    from ...compiler.pipeline import passes_without

    args.out = None if args.out == "-" else args.out
    _check(args)
    try:
        passes_without(args.without)
    except ValueError as problem:
        raise CannotRun(f"--without: {problem}") from None
    model = open_model(args)
    if args.explain:
        text = str(model.explain(without=args.without))
        if args.out is None:
            sys.stdout.write(text)
        else:
            write(args.out, text)
        return CLEAN
    _write(args, _texts(args, model))
    return CLEAN


def _check(args: argparse.Namespace) -> None:
    """What of the command cannot be, before any work is done."""
    if args.out is not None:
        writable(args.out, ())
    if args.explain:
        given = [f"--{name.replace('_', '-')}" for name in (*FILES, "mesh") if getattr(args, name)]
        if given:
            raise CannotRun(f"--explain writes no code: leave {' and '.join(given)} out")
        return
    if args.to is None:
        raise CannotRun("what is the code to use? --to torch or --to numpy (or --explain, which writes no code)")
    if args.to == "triton":
        given = [f"--{name.replace('_', '-')}" for name in ("single_file", "mesh") if getattr(args, name)]
        if given:
            raise CannotRun(f"--to triton writes a module and its kernels: leave {' and '.join(given)} out")
    if args.mesh and (args.to != "torch" or args.single_file):
        raise CannotRun("--mesh writes a file of PyTorch beside the model's: it takes --to torch, not --single-file")
    if not (args.decoding or args.mesh or args.to == "triton") or args.single_file:
        return
    if not _is_a_file(args.out):
        option, or_else = ("--mesh", "") if args.mesh else ("--decoding", ", or add --single-file")
        option, or_else = ("--to triton", "") if args.to == "triton" else (option, or_else)
        raise CannotRun(f"{option} writes a file beside the model's: name that with -o{or_else}")
    path = Path(args.out)
    if path.suffix != ".py" or not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        wish = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in path.stem)
        wish = wish if wish.isidentifier() and not keyword.iskeyword(wish) else f"_{wish}"
        raise CannotRun(
            f"{args.out}: a file beside it imports the model's, whose name must be one that Python can import: "
            f"-o {path.with_name(f'{wish}.py')}"
        )


def _is_a_file(out: str | None) -> bool:
    """Whether something can lie beside what is written: not beside stdout, a device or a pipe."""
    return out is not None and (Path(out).is_file() or not Path(out).exists())


def _texts(args: argparse.Namespace, model: Model) -> dict[str, str]:
    """The texts, by the names of the files that are to hold them; that of the model comes first."""
    from ...backends import CannotEmit
    from ...compiler.sharding.mesh import CannotDivide

    shared = {"checked": args.checked, "decoding": args.decoding, "without": args.without}
    try:
        if args.single_file:
            return {"": model.source(args.to, single_file=True, **shared)}
        name = Path(args.out).stem if args.decoding or args.mesh or args.to == "triton" else "model"
        return model.files(args.to, name, mesh=args.mesh, splits=dict(args.split), **shared)
    except CannotDivide as problem:
        raise CannotRun(problem.on_command_line) from None
    except (CannotEmit, ValueError) as problem:
        raise CannotRun(str(problem)) from None


def _write(args: argparse.Namespace, texts: Mapping[str, str]) -> None:
    (_, text), *others = texts.items()
    if not _is_a_file(args.out):
        if args.out is None:
            sys.stdout.write(text)
            sys.stdout.flush()  # what cannot be written needs no advice
        else:
            write(args.out, text)
        for name, _ in others:
            module = name.removesuffix(".py")
            complain(f"this imports {module}: -o OUT.py writes that beside it, --single-file puts it into the text")
        return
    folder = Path(args.out).parent
    found = {args.out: text}
    for name, other in others:
        path = folder / name
        if path.name == Path(args.out).name:
            raise CannotRun(f"cannot write {args.out}: the code imports a file of that name; name another one")
        ours = name.startswith(("attnc_runtime", "attnc_parallel"))
        if ours and _is_there(path, other):
            continue
        if not ours and not _may_go(path):
            raise CannotRun(f"{path} is there, and attnc did not write it: move it, or name another file with -o")
        found[str(path)] = other
    write_all(found)


def _is_there(path: Path, text: str) -> bool:
    """Whether the file that all models of a folder import is there. Raises CannotRun if another lies in its place."""
    from ...backends.files.code import version_of_runtime

    if not path.exists():
        return False
    found, wanted = version_of_runtime(_read(path)), version_of_runtime(text)
    if found == wanted:
        return True
    what = "is no file that attnc wrote" if found is None else f"is of attnc {found}, and this one writes {wanted}"
    raise CannotRun(
        f"{path} {what}: nothing is written; use another folder or --single-file, or delete it and compile the models "
        "of its folder again"
    )


def _may_go(path: Path) -> bool:
    """Whether nothing is lost where a file of decoding is written."""
    return not path.exists() or "written by attnc " in _read(path)[:500]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise CannotRun(f"cannot read {path}: {problem.strerror or problem}") from None
