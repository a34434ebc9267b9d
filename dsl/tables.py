"""The parser for grammar.lark, built once per machine: its tables are kept in the user's cache folder.

Building takes a quarter of a second, reading the tables a tenth of that. They are stored as JSON, never as a pickle:
whatever a file in the cache holds, reading it runs nothing. A table that does not fit is built anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

GRAMMAR = Path(__file__).with_name("grammar.lark")
START = "item"
_BUILDING = Lock()  # Lark reads a grammar by way of `ast`, which in CPython 3.11 may fail in several threads at once


def load_parser(transformer: object, folder: Path | None = None, *, keep_all_tokens: bool = False) -> lark.Lark:
    """The LALR parser, with the tables from `folder` (default: the user's cache) where they are at hand.

    keep_all_tokens: the transformer gets every token, and nothing in the place of what is not there (the formatter).
    """
    grammar = GRAMMAR.read_text("utf-8")
    made_from = "\0".join((grammar, lark.__version__, sys.version, START, *(["all tokens"] if keep_all_tokens else [])))
    key = hashlib.sha256(made_from.encode()).hexdigest()
    folder = cache_folder() if folder is None else folder
    path = None if folder is None else folder / f"grammar-{key[:32]}.json"
    if path is not None:
        stored = _read(path, key)
        if stored is not None:
            # Whatever is wrong with the tables (another program's file, half a disk): build.
            with suppress(Exception):
                loaded: lark.Lark = lark.Lark._load_from_dict(  # type: ignore[no-untyped-call]
                    stored["data"], stored["memo"], transformer=transformer
                )
                return loaded
    parser = build_parser(grammar, transformer, keep_all_tokens=keep_all_tokens)
    if path is not None:
        with suppress(OSError):
            _write(path, {"key": key, **_dump(parser)})
    return parser


def build_parser(
    grammar: str, transformer: object = None, strict: bool = False, keep_all_tokens: bool = False
) -> lark.Lark:
    """Build the tables. Strict: any conflict of rules or terminals is an error (needs `interegular`; for tests)."""
    with _BUILDING:
        return lark.Lark(
            grammar,
            parser="lalr",
            lexer="contextual",
            start=START,
            maybe_placeholders=not keep_all_tokens,
            keep_all_tokens=keep_all_tokens,
            strict=strict,
            transformer=transformer,
        )


def cache_folder() -> Path | None:
    """`attnc` in XDG_CACHE_HOME, else in ~/.cache; None where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the specification says to ignore any other
        return Path(base) / "attnc"
    try:
        return Path.home() / ".cache" / "attnc"
    except RuntimeError:
        return None


def _dump(parser: lark.Lark) -> dict[str, Any]:
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    # Loading takes only these two from the caller, and JSON cannot hold them.
    data["options"] = {key: value for key, value in data["options"].items() if key not in ("transformer", "_plugins")}
    return {"data": data, "memo": memo}


def _read(path: Path, key: str) -> dict[str, Any] | None:
    try:
        if not _ours(path.parent):
            return None
        stored = json.loads(path.read_text("utf-8"), object_pairs_hook=_with_numbers)
    except (OSError, ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) and stored.get("key") == key else None


def _with_numbers(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    # JSON knows text keys alone; the states and the memo are numbered.
    return {int(key) if key.isdecimal() else key: value for key, value in pairs}


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write the whole file or none of it: other processes may read and write it at this moment."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _ours(path.parent):
        return
    import tempfile  # not needed where the tables are at hand already

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".grammar-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, separators=(",", ":"))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _ours(folder: Path) -> bool:
    """Whether nobody else can put files into the folder."""
    user = getattr(os, "geteuid", None)  # Windows has no such users, nor has a browser: folders there are one's own
    if user is None:
        return True
    found = folder.stat()
    return found.st_uid == user() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
