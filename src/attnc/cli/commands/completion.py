"""`attnc completion`: what a shell has to know to complete our commands, options and files, by `shtab`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from ..output import CLEAN, CannotRun

SUMMARY = "print a script that completes commands, options and files in a shell"
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
# By what stands for them in the help: arguments that are files, and folders.
FILES = ("FILE", "FILE[:NAME]", "DIR|FILE[:NAME]", "OUT", "MAP", "IN", "W", "X.npz")
FOLDERS = ("DIR", "OUT/")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}")


def run(args: argparse.Namespace) -> int:
    """Print a script that completes commands, options and names of files. In bash: `source <(attnc completion bash)`;
    docs/cli.md says where each shell looks for it.
    """
    try:
        import shtab
    except ImportError:
        raise CannotRun('completion is made by shtab: pip install "shtab>=1.13"') from None
    for action in actions(args.top):
        if isinstance(action, argparse._SubParsersAction):
            for command in action._choices_actions:
                action.choices[command.dest].description = command.help  # a shell shows a line
        elif action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(args.top, shell=args.shell))
    return CLEAN


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of a parser, and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from actions(command)
