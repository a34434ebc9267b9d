"""JSON and TOML of others, which may nest without end: read to a depth that whatever handles them later can bear.

The parser of `json`, and `repr` and `==` of lists, recurse in C and trust Python's limit, which `compiler.sizes.limits`
raises beyond what the stack of C holds: the process would end without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

DEEPEST = 100  # what is published nests five deep

_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_LONG = re.compile(r'(?:"([^"\\]*+)"\s*:\s*)?-?(\d{4301,})')  # Python's limit, sys.get_int_max_str_digits


def too_deep(text: str) -> bool:
    """Whether JSON nests deeper than DEEPEST; seen without following it down."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for mark in _MARKS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark[0], 0)
        if depth > DEEPEST:
            return True
    return False


def from_json(text: str | bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """What JSON says. Raises ValueError for what is none, is too deep, or has a number too long for Python."""
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    if too_deep(text):
        raise ValueError(_TOO_DEEP)
    try:
        return json.loads(text, object_hook=object_hook)
    except json.JSONDecodeError:
        raise
    except ValueError:
        key, digits = next((found.groups() for found in _LONG.finditer(text)), (None, ""))
        raise ValueError(f"{f'`{key}`' if key else 'a number'} has {len(digits):,} digits") from None


def from_toml(text: str) -> dict[str, Any]:
    """What TOML says. Raises ValueError for what is none, or nests deeper than DEEPEST."""
    import tomllib  # Python code, which no depth ends

    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        inner = (table.values() if isinstance(table, dict) else table for table in level)
        level = [one for some in inner for one in some if isinstance(one, dict | list)]
    if level:
        raise ValueError(_TOO_DEEP)
    return found


_TOO_DEEP = f"it nests deeper than {DEEPEST}"
