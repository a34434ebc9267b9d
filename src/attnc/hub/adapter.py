"""What a published kind of model is here: a TOML file beside the specs, read into an `Adapter`.

    model_type = "mistral"                # of config.json, or a list of them
    spec = "decoder.attn"                 # beside this file, or in the zoo that comes with attnc
    map = "llama.map"                     # which weights are which (attnc.weights.maps)
    include = ["rope.toml"]               # tables of other files, which this one adds to
    optional = ["head_dim"]               # keys that may lack: then None
    harmless = ["initializer_range"]      # keys that do not change what is computed, also in nested tables
    batched = true                        # whether theirs has examples where the spec has no axis for them

    [architectures]                       # of config.json, and the model of the spec
    MistralForCausalLM = "decoder"

    [inputs]                              # ours, and what theirs is called in their forward
    ids = "input_ids"
    real = "attention_mask"

    [defaults]                            # what a key means that config.json has not
    hidden_size = 4096

    [aliases]                             # other names of keys; where a file has both, this one counts
    hidden_dim = "hidden_size"

    [each]                                # lists of a word for each of `num_hidden_layers`, and which words there are
    layer_types = ["full_attention", "sliding_attention"]

    [only]                                # what the spec cannot do otherwise: any other value is refused
    pretraining_tp = [1]
    "attn_config.alibi" = [true]          # of a nested table

    [inside]                              # what a nested table of config.json may have
    rope_scaling = ["rope_type", "factor"]

    [kinds]                               # of what kind a value is, if its default does not say it (`problem.KINDS`)
    head_dim = "whole number"             # null too, where the key is optional, if not "or absent"
    factor = "number or null"             # also of nested tables

    [terms]                               # names for what several sizes are made of
    heads = "num_attention_heads"

    [sizes]                               # each depth, width and const of the spec: an expression of the keys
    model = "hidden_size"
    groups = "num_key_value_heads or heads"
    act = { of = "hidden_act", silu = 0, gelu = 1 }                    # a value for each word
    windows = { each = "layer_types", full_attention = 0, sliding_attention = "sliding_window" }   # a list

    [refused]                             # what the spec cannot do either, and when: told to the user as it stands here
    "its pictures are not square" = "item(image_size, 0) != item(image_size, 1)"

    [bounds]                              # how many items a free width of the spec may have at most; 0: any number
    seq = "max_position_embeddings if rope_type == 'dynamic' else 0"

Expressions are Python's, without anything that could run code (simpleeval): numbers, comparisons, `and`, `or`, `a if b
else c`, lists and their comprehensions, `rope.factor` for what is nested, and the functions of `expressions.FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..dsl.nested import from_toml
from .problem import ANY, KINDS, HubError, kind_of

Table = Mapping[str, Any]
_TEXTS = ("model_type", "spec", "map")
_LISTS = ("optional", "harmless")
_TABLES = (
    "architectures",
    "inputs",
    "aliases",
    "defaults",
    "each",
    "only",
    "inside",
    "kinds",
    "terms",
    "sizes",
    "bounds",
    "refused",
)
_TRUTHS = ("batched",)
_DEEPEST = 8  # files that include files

_PACKAGED = Path(__file__).resolve().parents[1] / "zoo"  # in the wheel
_BESIDE = Path(__file__).resolve().parents[3] / "examples" / "zoo"  # in a checkout


@dataclass(frozen=True)
class Adapter:
    """How one kind of model is read; see this module's head for what each field is."""

    path: Path
    model_types: tuple[str, ...]
    spec: Path
    map: Path
    architectures: Mapping[str, str]
    inputs: Mapping[str, str]
    aliases: Mapping[str, str]
    defaults: Table
    each: Mapping[str, list[Any]]
    only: Mapping[str, list[Any]]
    inside: Mapping[str, list[Any]]
    kinds: Mapping[str, str]
    terms: Mapping[str, str]
    sizes: Table
    bounds: Table
    refused: Mapping[str, str]
    optional: frozenset[str] = field(default=frozenset())
    harmless: frozenset[str] = field(default=frozenset())
    batched: bool = True

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of config.json that it knows."""
        only = (key for key in self.only if "." not in key)
        return frozenset({*self.defaults, *self.aliases, *self.each, *only, *self.optional, *self.harmless})

    def kind(self, key: str, top: bool = True) -> str:
        """Of what kind a key's value is, in the words of `problem.KINDS`. top: it is a key of no nested table."""
        if top and key in self.harmless:
            return ANY
        default = self.defaults.get(key)
        usual = "list of words or null" if key in self.each else ANY if default is None else kind_of(default)
        said = self.kinds.get(key, usual)
        lacks = top and key in self.optional and default is None and not {"null", "absent"} & {*said.split(" or ")}
        return f"{said} or null" if lacks else said

    @staticmethod
    def read(path: Path) -> Adapter:
        """Raises HubError if the file is no adapter, OSError if it cannot be read."""
        tables = _read(path, 0)
        for name in ("model_type", "spec", "map"):
            if not tables.get(name):
                raise HubError(f"{path}: an adapter says its `{name}`")
        for name in ("architectures", "inputs", "sizes"):
            if not tables.get(name):
                raise HubError(f"{path}: an adapter has a table [{name}]")
        types = tables["model_type"]
        return Adapter(
            path,
            tuple([types] if isinstance(types, str) else types),
            Path(tables["spec"]),
            Path(tables["map"]),
            optional=frozenset(tables.get("optional", [])),
            harmless=frozenset(tables.get("harmless", [])),
            batched=tables.get("batched", True),
            **{name: tables.get(name, {}) for name in _TABLES},
        )


def zoo() -> Path:
    return _PACKAGED if _PACKAGED.is_dir() else _BESIDE


def _found(path: Path, name: str) -> Path:
    """The file that another calls `name`. Raises HubError where there is none."""
    for folder in (path.parent, zoo()):
        if (folder / name).is_file():
            return folder / name
    raise HubError(f"{path}: there is no file {name}, beside it or in {zoo()}")


def _read(path: Path, depth: int) -> dict[str, Any]:
    """A file's tables, on top of those of the files that it includes."""
    if depth > _DEEPEST:
        raise HubError(f"{path}: files include each other")
    try:
        own = from_toml(path.read_text(encoding="utf-8"))
    except ValueError as wrong:
        raise HubError(f"{path}: this cannot be read as TOML: {wrong}") from None
    _check(path, own)
    own |= {name: str(_found(path, own[name])) for name in ("spec", "map") if name in own}
    found: dict[str, Any] = {}
    for name in own.pop("include", []):
        _add(found, _read(_found(path, name), depth + 1))
    _add(found, own)
    return found


def _add(found: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name in _TABLES and name != "architectures":  # those are its own
            found[name] = {**found.get(name, {}), **value}
        elif name in _LISTS:
            found[name] = [*found.get(name, []), *value]
        else:
            found[name] = value


def _check(path: Path, own: dict[str, Any]) -> None:
    """Each entry is of the kind that it has to be. Raises HubError."""
    for name, value in own.items():
        if name in _TABLES:
            good = isinstance(value, dict)
        elif name in (*_LISTS, "include") or (name == "model_type" and isinstance(value, list)):
            good = isinstance(value, list) and all(isinstance(one, str) for one in value)
        elif name in _TEXTS:
            good = isinstance(value, str)
        elif name in _TRUTHS:
            good = isinstance(value, bool)
        else:
            known = ", ".join((*_TEXTS, "include", *_LISTS, *_TRUTHS, *_TABLES))
            raise HubError(f"{path}: an adapter has no entry `{name}`; it has {known}")
        if not good:
            kinds = {
                **dict.fromkeys(_TABLES, "a table"),
                **dict.fromkeys(_TEXTS, "text"),
                **dict.fromkeys(_TRUTHS, "true or false"),
            }
            kind = kinds.get(name, "a list of texts")
            raise HubError(f"{path}: `{name}` must be {kind}")
    for name, value in own.get("kinds", {}).items():
        if strange := [word for word in str(value).split(" or ") if word not in KINDS]:
            raise HubError(f"{path}: `{name}` in [kinds] is {strange[0]}; there are {', '.join(KINDS)}")
    for table in ("architectures", "inputs", "aliases", "kinds", "terms"):
        for name, value in own.get(table, {}).items():
            if not isinstance(value, str):
                raise HubError(f"{path}: `{name}` in [{table}] must be text")
    for table in ("each", "only", "inside"):
        for name, value in own.get(table, {}).items():
            if not isinstance(value, list):
                raise HubError(f"{path}: `{name}` in [{table}] must be a list of what is possible")
