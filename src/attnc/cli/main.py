"""From an argument vector to an exit status; every exception ends here, as one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ..compiler.sizes.limits import deep
from ..dsl.errors import AttnError
from ..version import __version__
from .arguments import Parser, color, command_first
from .output import CLEAN, COULD_NOT_RUN, INTERRUPTED, WRONG, CannotRun, complain, report, use_color

# Where each is: a module, imported when it is asked for, that has SUMMARY (a line for `attnc -h`), arguments(parser),
# and run(args) -> exit status; its docstring is the help.
COMMANDS = {
    "check": ".commands.check",
    "fmt": ".commands.fmt",
    "watch": ".commands.watch",
    "draw": ".commands.draw",
    "show": ".commands.show",
    "compile": ".commands.compile",
    "summary": ".reports.summary",
    "reads": ".reports.reads",
    "cost": ".reports.cost",
    "diff": ".reports.diff",
    "shard": ".devices.shard",
    "inspect": ".commands.inspect",
    "import": ".hub.import_",
    "run": ".hub.run",
    "export": ".hub.export",
    "adopt": ".hub.adopt",
    "adapters": ".hub.adapters",
    "convert": ".commands.convert",
    "explain": ".commands.explain",
    "lsp": ".commands.lsp",
    "completion": ".commands.completion",
}


def parser(only: str | None = None) -> Parser:
    """only: the one command that is asked for."""
    top = Parser(
        prog="attnc",
        description="Check, draw and compile attention architectures written in the .attn language.",
        epilog="Exit status: 0 clean, 1 the spec is wrong, 2 it could not run. Diagnostics go to stderr.",
        allow_abbrev=False,
    )
    top.commands = tuple(COMMANDS)
    top.add_argument("--version", action="version", version=f"attnc {__version__}")
    made = top.add_subparsers(metavar="COMMAND", parser_class=Parser)
    top.choices = made.choices
    top.set_defaults(run=lambda _: say_help(top))
    for name in COMMANDS if only is None else (only,):
        command = import_module(COMMANDS[name], __package__)
        about = " ".join((command.run.__doc__ or "").split())
        one: Parser = made.add_parser(name, help=command.SUMMARY, description=about, allow_abbrev=False)
        command.arguments(one)
        color(one)
        one.set_defaults(run=command.run, top=top)
    return top


def say_help(of: Parser) -> int:
    of.print_help()
    return CLEAN


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status. Every exception ends here, as one line."""
    try:
        status = _run(argv)
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
    except CannotRun as problem:
        complain(str(problem))
        return COULD_NOT_RUN
    except OSError as problem:
        complain(_said(problem).replace("\n", "\\n"))  # in the name of a file
        return COULD_NOT_RUN
    except Exception as bug:
        if os.environ.get("ATTNC_DEBUG") == "1":
            raise
        complain(
            f"internal error: {type(bug).__name__}: {bug}. Please report it with the spec; "
            "ATTNC_DEBUG=1 shows where it happened"
        )
        return COULD_NOT_RUN


def _run(argv: Sequence[str] | None) -> int:
    try:
        given = sys.argv[1:] if argv is None else [*argv]
        if given and given[0][:1] == "-" and given[0] not in ("-", "-h", "--help", "--version"):
            given = command_first(given, parser().choices)
        alone = given and given[0] in COMMANDS and given[0] != "completion"  # which lists those of all
        args = parser(given[0] if alone else None).parse_args(given)
    except SystemExit as done:  # -h, --version
        return done.code if isinstance(done.code, int) else COULD_NOT_RUN
    use_color(getattr(args, "color", "auto"))
    with deep():
        status: int = args.run(args)
    return status


def _said(problem: OSError) -> str:
    """What went wrong with which file, without the number of the error."""
    if problem.strerror is None:
        return str(problem)
    if problem.filename is None:  # of all that is written, only stdout has no name
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at exit
        return f"cannot write to stdout: {problem.strerror}"
    return f"{problem.filename}: {problem.strerror}"
