"""What stands in the way of an import: one message for the user. Of what kind a value of JSON must be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..dsl.base.escapes import escaped

_MOST = 100  # letters of a value in a message


class HubError(ValueError):
    """A folder, a configuration or an adapter that does not fit. The message says what, where, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))


def as_json(value: Any) -> str:
    """A value of a file, as much of it as a line bears."""
    text = json.dumps(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


# -- kinds, in the words of adapters and of messages ------------------------------------------------------------------


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, float) or _whole(value)


KINDS: Mapping[str, Callable[[Any], bool]] = {  # the narrowest first
    "absent": lambda value: False,  # beside another: a key that may be left out, but never null
    "null": lambda value: value is None,
    "truth value": lambda value: isinstance(value, bool),
    "whole number": _whole,
    "number": _number,
    "text": lambda value: isinstance(value, str),
    "list of words": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "list of whole numbers": lambda value: isinstance(value, list) and all(map(_whole, value)),
    "list of numbers": lambda value: isinstance(value, list) and all(map(_number, value)),
    "list": lambda value: isinstance(value, list),
    "table": lambda value: isinstance(value, Mapping),
}
ANY = "null or text or number or truth value or list or table"


def kind_of(value: Any) -> str:
    return next(kind for kind, holds in KINDS.items() if holds(value))


def is_a(value: Any, kind: str) -> bool:
    """Whether a value is of a kind, or of one of several: `number or null`."""
    return any(KINDS[one](value) for one in kind.split(" or "))


def of_kind(key: str, value: Any, kind: str, name: str) -> None:
    """Raises HubError for a value of another kind. key, name: what messages call it and its file."""
    if not is_a(value, kind):
        wanted = f"a {kind.removesuffix(' or null').removesuffix(' or absent')}".replace("a text", "text")
        raise HubError(f"{name}: `{key}` is {as_json(value)}, where {wanted} is needed")
