"""From a published configuration (config.json) to the sizes of a spec, by an adapter. Nothing passes unseen."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..spec import Setting
from .adapter import Adapter
from .expressions import Evaluator, ReadTable
from .problem import HubError, as_json, is_a, kind_of, of_kind

_MOST = 1 << 62  # what a size is less than; constants are small, too


@dataclass(frozen=True, slots=True)
class Configured:
    """What a configuration makes of a spec: the model's name in it, its sizes, and bounds of its free widths.

    made_of: the keys that each size is made of, and what they are, in words.
    """

    model: str
    sizes: Mapping[str, Setting]
    bounds: Mapping[str, Setting]
    made_of: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def told(self, message: str, lines: Iterable[str]) -> str:
        """Why the sizes are what they are that a message names, or else the lines that it is about."""
        named = self._named(re.findall(r"`(\w+)`", message)) or self._named(re.findall(r"\w+", " ".join(lines)))
        return "".join(f"; `{size}` is {as_json(self.sizes[size])} because {self.made_of[size]}" for size in named)

    def _named(self, words: Iterable[str]) -> list[str]:
        return [word for word in dict.fromkeys(words) if self.made_of.get(word)]


def configured(adapter: Adapter, config: Mapping[str, Any], name: str = "config.json") -> Configured:
    """What a configuration means for the adapter's spec. `name` is what messages call it.

    Raises HubError for a key or a value that the adapter does not know: it might change what the model computes.
    """
    config = _renamed(adapter, config)
    _known(adapter, config, name)
    model = _model(adapter, config, name)
    for why, (holds, keys) in _sizes(adapter, config, name, adapter.refused).items():
        if holds:
            raise HubError(f"{name}: {why} ({keys}): {adapter.path.name} has no match for that")
    sizes = _sizes(adapter, config, name, adapter.sizes)
    bounds = _sizes(adapter, config, name, adapter.bounds)
    return Configured(
        model,
        {size: value for size, (value, _) in sizes.items()},
        {width: most for width, (most, _) in bounds.items() if most},
        {size: keys for size, (_, keys) in sizes.items()},
    )


def _renamed(adapter: Adapter, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the adapter's names of keys that have two."""
    own = {key: value for key, value in config.items() if key not in adapter.aliases}
    return own | {adapter.aliases[key]: value for key, value in config.items() if key in adapter.aliases}


def _known(adapter: Adapter, config: Mapping[str, Any], name: str) -> None:
    unknown = sorted(set(config) - adapter.keys)
    if unknown:
        near = difflib.get_close_matches(unknown[0], sorted(adapter.keys), n=1)
        listed = ", ".join(f"`{key}`" for key in unknown)
        raise HubError(
            f"{name}: {adapter.path.name} does not know {listed}, which may change what the model computes"
            + (f"; near it: `{near[0]}`" if near else "")
            + f". If not, add it to `harmless` in a copy of {adapter.path} (see `--adapters`)"
        )
    for key, value in config.items():
        of_kind(key, value, adapter.kind(key), name)
    for key, possible in adapter.inside.items():
        table = _at(config, key)
        of_kind(key, table, "table or null", name)
        if strange := sorted(set(table or ()) - {*possible, *adapter.harmless}):
            listed = ", ".join(f"`{inner}`" for inner in strange)
            raise HubError(
                f"{name}: {adapter.path.name} does not know {listed} of `{key}`; it knows {', '.join(possible)}"
            )
        for inner, value in (table or {}).items():
            of_kind(f"{key}.{inner}", value, adapter.kind(inner, top=False), name)
    for key, words in adapter.each.items():
        _one_for_each_layer(key, config.get(key), words, {**adapter.defaults, **config}.get("num_hidden_layers"), name)
    for key, possible in adapter.only.items():
        value = _at(config, key)
        *above, last = key.split(".")
        table = _at(config, ".".join(above)) if above else config
        missing = value is None and (key in adapter.optional or last not in (table or ()))
        if not missing and not any(value == one and is_a(value, kind_of(one)) for one in possible):
            allowed = " or ".join(json.dumps(one) for one in possible)
            raise HubError(f"{name}: `{key}` is {as_json(value)}, and {adapter.spec.name} has it as {allowed} alone")


def _one_for_each_layer(key: str, listed: Any, words: list[Any], layers: Any, name: str) -> None:
    """Raises HubError for a list that is another, or that has other words."""
    if listed is None:
        return
    if strange := [word for word in listed if word not in words]:
        raise HubError(f"{name}: `{key}` has {as_json(strange[0])}; the spec has {', '.join(map(as_json, words))}")
    if layers is not None and len(listed) != layers:
        raise HubError(f"{name}: `{key}` has {len(listed)} words, for {as_json(layers)} layers (`num_hidden_layers`)")


def _at(config: Mapping[str, Any], key: str) -> Any:
    """What stands under a key, or under `table.key` in a nested table; else None."""
    found: Any = config
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _model(adapter: Adapter, config: Mapping[str, Any], name: str) -> str:
    """The model that its head makes of the spec."""
    listed = config.get("architectures") or [next(iter(adapter.architectures))]
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise HubError(f"{name}: `architectures` is {as_json(listed)}, where a list of names is needed")
    for architecture in listed:
        if architecture in adapter.architectures:
            return adapter.architectures[architecture]
    raise HubError(
        f"{name}: `architectures` has {', '.join(listed)}; {adapter.path.name} knows "
        + ", ".join(adapter.architectures)
    )


def _sizes(
    adapter: Adapter, config: Mapping[str, Any], name: str, table: Mapping[str, Any]
) -> dict[str, tuple[Setting, str]]:
    """What the entries of a table of the adapter are, and of which keys each is made."""
    given = {**adapter.defaults, **{key: values[0] for key, values in adapter.only.items()}, **config}
    asked: list[str] = []
    read: dict[str, Any] = {}

    def lookup(key: str) -> Any:
        if key in asked:
            raise HubError(f"{adapter.path}: `{key}` in [terms] is made of itself")
        if key in adapter.terms:
            asked.append(key)
            found = evaluate(adapter.terms[key])
            asked.pop()
            return found
        if key in given or key in adapter.optional or key in adapter.each:
            found = given.get(key)
            if isinstance(found, Mapping):
                return ReadTable(found, key, read)
            if found is not None or key in config:
                read[key] = found
            return found
        raise HubError(f"{adapter.path}: no key, term or function is called `{key}`")

    evaluate = Evaluator(lookup)
    sizes: dict[str, tuple[Setting, str]] = {}
    for size, told in table.items():
        read.clear()
        try:
            value = evaluate.chosen(told) if isinstance(told, Mapping) else evaluate(told)
        except HubError as wrong:
            what = f"`{size}` of {adapter.spec.name} has no value" if table is adapter.sizes else f'"{size}"'
            raise HubError(f"{name}: {what}: {wrong} ({_keys(read)})") from None
        if not _is_setting(value):
            made = f"`{size}` would be {as_json(value)}, made of {as_json(told)}"
            raise HubError(f"{name}: {made}: a number is needed, finite and below 2^62 ({_keys(read)})")
        sizes[size] = (tuple(value) if isinstance(value, list | tuple) else value), _keys(read)
    return sizes


def _keys(read: Mapping[str, Any]) -> str:
    """What they are, in words."""
    return ", ".join(f"`{key}` is {as_json(value)}" for key, value in read.items())


def _is_setting(value: Any) -> bool:
    """Whether it is a number, or a list of them."""
    items = value if isinstance(value, list | tuple) else [value]
    return bool(items) and all(isinstance(item, int | float) and abs(item) < _MOST for item in items)
