"""Records: what `dataclass(frozen=True, slots=True)` makes, in a third of the time.

`dataclass` writes and compiles six functions for each class whenever it is imported, half a millisecond; `attnc check`
has more than a hundred. Of a record what is called often is compiled, at once; whatever else there is are the same
functions for all.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass with slots: equal where its fields are, and hashable; `fields`, `replace` and `match` know it.

    What the class defines itself stays, and `__post_init__` is called. No field is for keywords alone (`kw_only`).
    """
    own = set(vars(cls))
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    methods = _compiled(made, fields(made)) | _SHARED
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    kept: type[T] = made
    return kept


def _compiled(cls: type, every: tuple[Field[Any], ...]) -> dict[str, Any]:
    """The functions that are called often: a constructor, equality and hash, compiled as one text."""
    names: dict[str, Any] = {"_put": object.__setattr__, "_MISSING": MISSING}
    parameters, lines = ["self"], ["pass"]
    for one in every:
        name, default = one.name, f"_default_{one.name}"
        value = name if one.init else default
        if one.default_factory is not MISSING:
            names[default] = one.default_factory
            value = f"{default}() if {name} is _MISSING else {name}" if one.init else f"{default}()"
            parameters += [f"{name}=_MISSING"] if one.init else []
        elif one.default is not MISSING:
            names[default] = one.default
            parameters += [f"{name}={default}"] if one.init else []
        elif one.init:
            parameters.append(name)
        else:  # `__post_init__` puts it there
            continue
        lines.append(f"_put(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    mine, theirs = ("".join(f"{of}.{one.name}, " for one in every if one.compare) for of in ("self", "other"))
    text = [f"def __init__({', '.join(parameters)}):", *(f" {line}" for line in lines)]
    text += ["def __eq__(self, other):", f" if other.__class__ is self.__class__: return ({mine}) == ({theirs})"]
    text += [" return NotImplemented", "def __hash__(self):", f" return hash(({mine}))"]
    exec("\n".join(text), names)
    made = {name: names[name] for name in ("__init__", "__eq__", "__hash__")}
    for name, function in made.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
    made["__init__"].__annotations__ = {one.name: one.type for one in every if one.init} | {"return": None}
    return made


def _shown(self: Any) -> str:
    parts = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({parts})"


def _refuse(self: Any, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_SHARED = {
    "__repr__": _shown,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
