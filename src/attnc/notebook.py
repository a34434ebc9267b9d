"""`%load_ext attnc`: specs in the cells of a notebook.

    %%attn [NAME] [--config NAME] [--set NAME=VALUE]... [--path DIR]...

The cell is a spec. Where it is wrong, its mistakes are printed, with carets, and nothing changes; else NAME (`spec`) is
bound to it, each of its models to the model's own name, and the last model, or block, is shown as the living figure.
"""

from __future__ import annotations

import shlex
import sys
from typing import Any, Protocol

from .cli.arguments import Parser, sizes
from .cli.output import CannotRun
from .dsl.errors import AttnError
from .dsl.render import render_all
from .spec import Model, Spec, loads

CELL = "the cell"


class Shell(Protocol):
    """What is used of IPython's shell. user_ns: the variables of the notebook."""

    user_ns: dict[str, Any]

    def register_magic_function(self, func: Any, magic_kind: str = ..., magic_name: str | None = ...) -> None: ...


def load_ipython_extension(shell: Shell) -> None:
    """Called by `%load_ext attnc`."""

    def attn(line: str, cell: str) -> Model | None:
        try:
            return checked_cell(shell.user_ns, line, cell)
        except AttnError as wrong:
            print(render_all(wrong.diagnostics), file=sys.stderr)
        except (CannotRun, ValueError) as problem:  # of shlex: a quotation that does not end
            print(f"%%attn: {problem}", file=sys.stderr)
        return None

    shell.register_magic_function(attn, "cell", "attn")


def checked_cell(variables: dict[str, Any], line: str, cell: str) -> Model | None:
    """Binds what a cell declares; its last model, or block, if there is any. Raises AttnError for a wrong spec,
    CannotRun for a wrong line.
    """
    args = _parser().parse_args(shlex.split(line))
    if not args.name.isidentifier():
        raise CannotRun(f"`{args.name}` is not the name of a variable")
    spec = loads(cell, name=CELL, base=".", config=args.config, sizes=dict(args.set), path=args.path)
    if spec.warnings:
        print(render_all(spec.warnings), file=sys.stderr)
    variables.update({name: spec.model(name) for name in spec.models} | {args.name: spec})
    return _shown(spec)


def _parser() -> Parser:
    parser = Parser(prog="%%attn", add_help=False, allow_abbrev=False)
    parser.add_argument("name", nargs="?", default="spec", metavar="NAME")
    sizes(parser)
    return parser


def _shown(spec: Spec) -> Model | None:
    if spec.models:
        return spec.model(spec.models[-1])
    for name in reversed(spec.blocks):
        try:
            return spec.block(name)
        except AttnError:  # it cannot stand alone
            continue
    return None
