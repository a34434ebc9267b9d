"""From a published configuration (config.json) to the sizes of a spec, by an adapter. Nothing passes unseen."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..spec import Setting
from .adapter import Adapter
from .expressions import Evaluator
from .problem import HubError, as_json

_MOST = 1 << 62  # what a size is less than; constants are small, too


@dataclass(frozen=True, slots=True)
class Configured:
    """What a configuration makes of a spec: the model's name in it, its sizes, and bounds of its free widths."""

    model: str
    sizes: Mapping[str, Setting]
    bounds: Mapping[str, Setting]


def configured(adapter: Adapter, config: Mapping[str, Any], name: str = "config.json") -> Configured:
    """What a configuration means for the adapter's spec. `name` is what messages call it.

    Raises HubError for a key or a value that the adapter does not know: it might change what the model computes.
    """
    config = _renamed(adapter, config)
    _known(adapter, config, name)
    sizes = _sizes(adapter, config, name, adapter.sizes)
    if refused := [why for why, holds in _sizes(adapter, config, name, adapter.refused).items() if holds]:
        raise HubError(f"{name}: {'; '.join(refused)}: {adapter.path.name} has no match for that")
    bounds = _sizes(adapter, config, name, adapter.bounds)
    return Configured(
        _model(adapter, config, name),
        sizes,
        {width: most for width, most in bounds.items() if most},
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
    for key, possible in adapter.inside.items():
        table = _at(config, key)
        if table is not None and not isinstance(table, Mapping):
            raise HubError(f"{name}: `{key}` is {as_json(table)}, where a table is needed")
        if strange := sorted(set(table or ()) - {*possible, *adapter.harmless}):
            listed = ", ".join(f"`{inner}`" for inner in strange)
            raise HubError(
                f"{name}: {adapter.path.name} does not know {listed} of `{key}`; it knows {', '.join(possible)}"
            )
    for key, words in adapter.each.items():
        _one_for_each_layer(key, config.get(key), words, {**adapter.defaults, **config}.get("num_hidden_layers"), name)
    for key, possible in adapter.only.items():
        value = _at(config, key)
        missing = value is None and (key in adapter.optional or key not in config)
        if not missing and value not in possible:
            allowed = " or ".join(json.dumps(one) for one in possible)
            raise HubError(f"{name}: `{key}` is {as_json(value)}, and {adapter.spec.name} has it as {allowed} alone")


def _one_for_each_layer(key: str, listed: Any, words: list[Any], layers: Any, name: str) -> None:
    """Raises HubError for a list that is another, or that has other words."""
    if listed is None:
        return
    if not isinstance(listed, list):
        raise HubError(f"{name}: `{key}` is {as_json(listed)}, where a list of words is needed, one for each layer")
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


def _sizes(adapter: Adapter, config: Mapping[str, Any], name: str, table: Mapping[str, Any]) -> dict[str, Setting]:
    """What the entries of a table of the adapter are."""
    given = {**adapter.defaults, **{key: values[0] for key, values in adapter.only.items()}, **config}
    asked: list[str] = []

    def lookup(key: str) -> Any:
        if key in asked:
            raise HubError(f"{adapter.path}: `{key}` in [terms] is made of itself")
        if key in adapter.terms:
            asked.append(key)
            found = evaluate(adapter.terms[key])
            asked.pop()
            return found
        if key in given:
            return given[key]
        if key in adapter.optional or key in adapter.each:
            return None
        raise HubError(f"{adapter.path}: no key, term or function is called `{key}`")

    evaluate = Evaluator(lookup)
    sizes: dict[str, Setting] = {}
    for size, told in table.items():
        try:
            value = evaluate.chosen(told) if isinstance(told, Mapping) else evaluate(told)
        except HubError as wrong:
            raise HubError(f"{name}: `{size}` of {adapter.spec.name} has no value: {wrong}") from None
        sizes[size] = _setting(value, size, told, name)
    return sizes


def _setting(value: Any, size: str, told: Any, name: str) -> Setting:
    """A number, or a list of them. Raises HubError."""
    items = value if isinstance(value, list | tuple) else [value]
    if items and all(isinstance(item, int | float) and abs(item) < _MOST for item in items):
        return tuple(items) if isinstance(value, list | tuple) else value
    made = f"`{size}` would be {as_json(value)}, made of {as_json(told)}"
    raise HubError(f"{name}: {made}: a number is needed, finite and below 2^62")
