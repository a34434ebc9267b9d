"""What an adapter's expressions mean: Python's, over the keys of a configuration, by simpleeval, which runs no code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .problem import HubError, as_json


class ReadTable(dict[str, Any]):
    """A table of a configuration. `seen` gets what is read of it, by its path there."""

    def __init__(self, table: Mapping[str, Any], path: str, seen: dict[str, Any]) -> None:
        super().__init__(table)
        self.paths = {key: f"{path}.{key}" for key in table}
        self.seen = seen

    def get(self, name: str, otherwise: Any = None) -> Any:
        if name not in self:
            return otherwise
        path = self.paths.get(name)
        if path is not None and isinstance(self[name], Mapping):
            return ReadTable(self[name], path, self.seen)
        if path is not None:
            self.seen[path] = self[name]
        return self[name]


def get(table: Mapping[str, Any] | None, name: str, otherwise: Any = None) -> Any:
    """What a nested table has under a name, if it is there and has it."""
    found = None if table is None else table.get(name)
    return otherwise if found is None else found


def item(value: Any, place: int) -> Any:
    """What a list has at a place; what is no list has itself everywhere."""
    return value[place] if isinstance(value, list | tuple) else value


def merged(table: Mapping[str, Any] | None, more: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A nested table with what another has in place of its own; either may lack."""
    found = ReadTable({}, "", {})
    for one in (table or {}, more or {}):
        found.update(one)
        if isinstance(one, ReadTable):
            found.paths |= one.paths
            found.seen = one.seen
    return found


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        get,
        item,
        merged,
        len,
        range,
        min,
        max,
        abs,
        sum,
        math.floor,
        math.ceil,
        math.sqrt,
        math.log,
        math.cos,
    )
}


class Evaluator:
    """Expressions over names; `lookup` gives what a name means, and raises HubError for one that means nothing."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        try:
            from simpleeval import EvalWithCompoundTypes
        except ImportError:
            raise HubError('reading a configuration needs simpleeval: pip install "simpleeval>=1.0"') from None
        self._lookup = lookup
        self._eval = EvalWithCompoundTypes(functions=dict(FUNCTIONS), names=lambda node: lookup(node.id))

    def __call__(self, expression: Any) -> Any:
        """The value of a text; what is no text stands for itself. Raises HubError, saying why it has no value."""
        if not isinstance(expression, str):
            return expression
        try:
            return self._eval.eval(expression)
        except HubError:
            raise
        except Exception as wrong:  # the library's own, and whatever arithmetic says of what stands in a file
            raise HubError(f"`{expression}`: {' '.join(str(wrong).split()) or type(wrong).__name__}") from None

    def chosen(self, choice: Mapping[str, Any]) -> Any:
        """`{ of = "key", word = value, .. }`, or a list of these for each item of `{ each = "key", .. }`."""
        words = {word: value for word, value in choice.items() if word not in ("of", "each")}

        def value_of(word: Any, key: str) -> Any:
            name = str(word).lower() if isinstance(word, bool) or word is None else str(word)
            if name not in words:
                raise HubError(f"`{key}` is {as_json(word)} there: the spec has {', '.join(map(as_json, words))}")
            return self(words[name])

        if "each" in choice:
            items = self(choice["each"])
            if not isinstance(items, list | tuple):
                raise HubError(f"`{choice['each']}` is {as_json(items)} there, where a list is needed")
            return [value_of(item, choice["each"]) for item in items]
        if "of" not in choice:
            raise HubError(f"a choice names its key: {{ of = .. }} or {{ each = .. }}, not {dict(choice)}")
        return value_of(self(choice["of"]), choice["of"])
