"""The parser of the command line, and the arguments that commands share."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NoReturn

from ..spec import Setting, Size, suggestion
from .output import CannotRun
from .target import STDIN, split


class Parser(argparse.ArgumentParser):
    """argparse, saying one line about a mistake, with near names."""

    commands: tuple[str, ...] = ()
    choices: Mapping[str, Parser] = {}

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"argument COMMAND: invalid choice: '(.*?)'", message)
        if unknown:
            raise CannotRun(_no_command(unknown[1], self.commands) + f" (see `{self.prog} -h`)")
        raise CannotRun(f"{message} (see `{self.prog} -h`)")


def _no_command(word: str, commands: Sequence[str]) -> str:
    """What to say of the first word, which is no command; often a file stands where one should."""
    file, _ = split(word)
    if word == STDIN or file.endswith(".attn") or os.path.exists(file):
        return f"`{word}` is no command: one stands before it, as in `attnc check {shlex.quote(file)}`"
    return f"no command `{word}`{suggestion(word, commands)}"


def command_first(given: Sequence[str], commands: Mapping[str, Parser]) -> list[str]:
    """Options of a command may stand before it, too: behind it they mean the same."""
    for place, word in enumerate(given):
        if word in commands and not _takes(commands[word], given[place - 1]):
            return [word, *given[:place], *given[place + 1 :]]
    raise CannotRun("no command: name one, as in `attnc check FILE` (see `attnc -h`)")


def _takes(command: Parser, option: str) -> bool:
    """Whether the word behind an option is its value."""
    action = command._option_string_actions.get(option)
    return action is not None and action.nargs != 0


def color(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="whether mistakes are told in colours; auto: on a terminal, unless NO_COLOR is set",
    )


def target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="FILE[:NAME]", help="a spec, and which of its models or blocks")


def hints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hints",
        metavar="FILE",
        help='what the author says of the figure; by default NAME.figure, if it lies beside NAME.attn; "" for nothing',
    )


def sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        type=setting,
        help="give a depth, fixed width or const this value, a list as 0,512; may be repeated",
    )
    parser.add_argument("--config", metavar="NAME", help="use this `config` of the spec")
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="DIR",
        help="let `use` read files of this folder too; may be repeated",
    )


def splits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--split", action="append", default=[], type=split_axes, metavar="NAME=AXIS,..", help="what a mesh axis splits"
    )


def natural(text: str, least: int = 0, what: str = "of {least} or more") -> int:
    """A whole number, as `type=` of an argument."""
    if not re.fullmatch(r"[0-9]+", text) or int(text) < least:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number {what.format(least=least)}")
    return int(text)


def whole(text: str) -> int:
    return natural(text, 1)


def levels(text: str) -> int:
    return natural(text, what="of levels (0 or more)")


def text(given: str) -> str:
    """Text that is written into what others read. The bytes of an argument need not be any."""
    try:
        found = given.encode(errors="surrogateescape").decode()  # where the locale has less than UTF-8, it may be that
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"`{given}` is not UTF-8 text") from None
    if "\ufffe" in found or "\uffff" in found:
        raise argparse.ArgumentTypeError(f"`{given}` holds what is no character")
    return found


def setting(text: str) -> tuple[str, Setting]:
    """`NAME=VALUE`; the value is an int, a float, `true` or `false`, or a list of them, as `[0, 512]` or `0,512`."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=VALUE")
    value = value.strip()
    if "," in value or value[:1] == "[":
        inside = value[1:-1] if value[:1] == "[" and value[-1:] == "]" else value
        items = [each.strip() for each in inside.split(",")]
        return name, tuple(_number(text, each) for each in (items[:-1] if items[1:] and not items[-1] else items))
    return name, _number(text, value)


def _number(text: str, value: str) -> Size:
    if value in ("true", "false"):
        return value == "true"
    if re.fullmatch(r"[+-]?[0-9]+", value):
        return int(value)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
        number = float(value)
        whole = "." not in value and number.is_integer() and abs(number) < 1e18  # 2e3 counts as 2000 does
        return int(number) if whole else number
    raise argparse.ArgumentTypeError(f"in `{text}`, `{value}` is not a number, true or false")


def mesh_sizes(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in text.split(","):
        named = re.fullmatch(r"\s*([A-Za-z_]\w*)=([0-9]+)\s*", one)
        if not named or int(named[2]) < 1:
            raise argparse.ArgumentTypeError(f"`{one}` is not NAME=DEVICES, such as data=2")
        if named[1] in found:
            raise argparse.ArgumentTypeError(f"the mesh has two axes named `{named[1]}`")
        found[named[1]] = int(named[2])
    return found


UNITS = {f"{p}{i}b": (1024.0 if i else 1000.0) ** n for i in ("", "i") for n, p in enumerate("kmgtp", 1)}


def memory_size(text: str) -> float:
    """Bytes: a number with its unit, as `80GB` or `79.6GiB`; of a plain number, gigabytes."""
    named = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]*)\s*", text)
    unit = UNITS.get((named[2] or "GB").lower()) if named else None
    if named is None or unit is None or not float(named[1]):
        raise argparse.ArgumentTypeError(
            f"`{text}` is no size of memory: write a number and its unit, such as 80GB (10^9 bytes) or 79.6GiB (2^30)"
        )
    return float(named[1]) * unit


def above_zero(text: str) -> float:
    if not re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) or not 0 < float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return float(text)


def split_axes(text: str) -> tuple[str, tuple[str, ...]]:
    named = re.fullmatch(r"([A-Za-z_]\w*)=([A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)", text)
    if not named:
        raise argparse.ArgumentTypeError(f"`{text}` is not NAME=AXIS,AXIS, such as model=heads,inner")
    return named[1], tuple(named[2].split(","))
