"""Records: what `dataclass(frozen=True, slots=True)` makes, at a tenth of what that takes.

`dataclass` writes and compiles six functions for each class whenever it is imported, half a millisecond, and itself
imports `inspect`; `attnc check` has some two hundred. The functions of a record are written once the first of them is
called, and most never are. To `dataclasses.fields`, `is_dataclass`, `replace` and `inspect.signature` it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from dataclasses import field as field
    from dataclasses import replace as replace
    from functools import cached_property as cached_property

T = TypeVar("T")
_MISSING = object()


class _Member:
    """What is said of a field, as `dataclasses.field` takes it."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "repr", "type")

    def __init__(
        self,
        default: Any = _MISSING,
        *,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        kw_only: bool = False,
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare, self.kw_only = init, repr, compare, kw_only
        self.type: Any = None


class _Cached:
    """`functools.cached_property` without the lock that it takes before Python 3.12, slower than most answers are."""

    def __init__(self, ask: Callable[[Any], Any]) -> None:
        self.ask, self.name, self.__doc__ = ask, ask.__name__, ask.__doc__

    def __get__(self, of: Any, owner: type | None = None) -> Any:
        if of is None:
            return self
        answer = of.__dict__[self.name] = self.ask(of)
        return answer


if not TYPE_CHECKING:
    field, cached_property = _Member, _Cached

    def replace(of: T, /, **changes: object) -> T:
        """Another record, with these fields in place of those it has."""
        if hasattr(of, "__replace__"):
            return of.__replace__(**changes)
        import dataclasses

        return dataclasses.replace(of, **changes)


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T], /) -> type[T]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, eq: bool = True, slots: bool = True) -> Callable[[type[T]], type[T]]: ...


def record(cls: Any = None, /, *, eq: bool = True, slots: bool = True) -> Any:
    """A frozen dataclass with slots, equal where its fields are, and hashable.

    eq: False for one that is equal to itself alone. slots: False where it is to hold what is no field, such as a
    `cached_property`. What the class defines itself stays, and `__post_init__` is called.
    """

    def made(of: Any) -> Any:
        return _made(of, frozen=True, eq=eq, slots=slots)

    return made if cls is None else made(cls)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """A class with a constructor of its fields, which may change: equal to itself alone."""
    made: type[T] = _made(cls, frozen=False, eq=False, slots=False)
    return made


def _made(cls: Any, *, frozen: bool, eq: bool, slots: bool) -> Any:
    own = _own_members(cls)
    inherited: dict[str, _Member] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= base.__dict__.get("__members__", {})
    members = inherited | own
    content = set(cls.__dict__)
    if slots:
        cls = _with_slots(cls, own, inherited)
    else:
        for name, member in own.items():
            if member.default is not _MISSING:
                setattr(cls, name, member.default)
            elif name in content:
                delattr(cls, name)

    def completed() -> Any:
        for name, function in _compiled(cls, members, frozen).items():
            if name in late:
                setattr(cls, name, function)
        return cls

    late: dict[str, Callable[..., Any]] = {
        "__init__": lambda self, *given, **named: completed().__init__(self, *given, **named)
    }
    if eq:
        late["__eq__"] = lambda self, other: completed().__eq__(self, other)
        late["__hash__"] = lambda self: completed().__hash__(self)
    late = {name: function for name, function in late.items() if name not in content}

    def replaced(self: Any, **changes: Any) -> Any:
        cls.__replace__ = _replacer(members)
        return self.__replace__(**changes)

    cls.__members__, cls.__replace__ = members, replaced
    cls.__signature__ = _Signature(completed)
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        setattr(cls, name, _AsDataclass(cls, name, frozen))
    matched = tuple(name for name, member in members.items() if member.init and not member.kw_only)
    for name, made in {**late, **(_FROZEN if frozen else {}), "__repr__": _shown, "__match_args__": matched}.items():
        if name not in content:
            setattr(cls, name, made)
    return cls


def _own_members(cls: Any) -> dict[str, _Member]:
    own = {}
    for name, kind in cls.__annotations__.items():
        if "ClassVar" not in kind:
            default = cls.__dict__.get(name, _MISSING)
            assert type(default).__name__ != "Field", f"{cls.__qualname__}.{name}: take `field` from here"
            own[name] = member = default if isinstance(default, _Member) else _Member(default)
            member.type = kind
    return own


def _with_slots(cls: Any, own: Mapping[str, _Member], inherited: Mapping[str, _Member]) -> Any:
    """The class once more: slots are made with it."""
    content = {name: value for name, value in cls.__dict__.items() if name not in own}
    content = {name: value for name, value in content.items() if name not in ("__dict__", "__weakref__")}
    content["__slots__"] = tuple(name for name in own if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _compiled(cls: type[Any], members: Mapping[str, _Member], frozen: bool) -> dict[str, Callable[..., Any]]:
    """The functions that are called often: a constructor, equality and hash, compiled as one text."""
    names: dict[str, Any] = {"_MISSING": _MISSING, "_put": object.__setattr__}
    parameters, named, lines = ["self"], ["*"], ["pass"]
    for name, one in members.items():
        into = named if one.kw_only else parameters
        default = f"_default_{name}"
        value = name if one.init else default
        if one.default_factory is not _MISSING:
            names[default] = one.default_factory
            value = f"{default}() if {name} is _MISSING else {name}" if one.init else f"{default}()"
            into += [f"{name}=_MISSING"] if one.init else []
        elif one.default is not _MISSING:
            names[default] = one.default
            into += [f"{name}={default}"] if one.init else []
        elif one.init:
            into.append(name)
        else:  # `__post_init__` puts it there
            continue
        slot = getattr(cls, name, None)
        if frozen and isinstance(slot, MemberDescriptorType):
            names[f"_set_{name}"] = slot.__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"_put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    compared = [name for name, one in members.items() if one.compare]
    if len(named) > 1:
        parameters += named
    text = [f"def __init__({', '.join(parameters)}):", *(f" {line}" for line in lines)]
    text += ["def __eq__(self, other):", f" if other.__class__ is self.__class__: return {_same(compared)}"]
    whole = len(compared) == 1 and members[compared[0]].type == int.__name__  # its own hash
    text += [" return NotImplemented", "def __hash__(self):"]
    text += [f" return {_tuple('self', compared)}" if whole else f" return hash({_tuple('self', compared)})"]
    exec("\n".join(text), names)
    made = {name: names[name] for name in ("__init__", "__eq__", "__hash__")}
    for name, function in made.items():
        function.__qualname__ = f"{cls.__qualname__}.{name}"
    made["__init__"].__annotations__ = {n: one.type for n, one in members.items() if one.init} | {"return": None}
    return made


def _tuple(of: str, names: Sequence[str]) -> str:
    """What is compared of a record; of a single field itself, for axes and values are looked up by the million."""
    return f"{of}.{names[0]}" if len(names) == 1 else f"({''.join(f'{of}.{name}, ' for name in names)})"


def _same(names: Sequence[str]) -> str:
    """As tuples are compared, which take one object to equal itself."""
    mine, theirs = _tuple("self", names), _tuple("other", names)
    return f"{mine} is {theirs} or {mine} == {theirs}" if len(names) == 1 else f"{mine} == {theirs}"


def _replacer(members: Mapping[str, _Member]) -> Any:
    """Of a record, another one: what is given by name, else what this one has."""
    given = [name for name, one in members.items() if one.init]
    parameters = ["self", *(["*"] if given else []), *(f"{name}=_MISSING" for name in given)]
    values = []
    for name in sorted(given, key=lambda each: members[each].kw_only):
        value = f"self.{name} if {name} is _MISSING else {name}"
        values.append(f"{name}={value}" if members[name].kw_only else value)
    made: dict[str, Any] = {"_MISSING": _MISSING}
    exec(f"def __replace__({', '.join(parameters)}): return self.__class__({', '.join(values)})", made)
    return made["__replace__"]


class _AsDataclass:
    """What others ask of a dataclass, made when they do."""

    def __init__(self, of: Any, name: str, frozen: bool) -> None:
        self.of, self.name, self.frozen = of, name, frozen

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        import dataclasses

        given = []
        for name, one in self.of.__members__.items():
            said: dict[str, Any] = {"init": one.init, "repr": one.repr, "compare": one.compare, "kw_only": one.kw_only}
            for key in ("default", "default_factory"):
                if getattr(one, key) is not _MISSING:
                    said[key] = getattr(one, key)
            given.append((name, one.type, dataclasses.field(**said)))
        made = dataclasses.make_dataclass("made", given, init=False, repr=False, eq=False, frozen=self.frozen)
        setattr(self.of, self.name, getattr(made, self.name))
        return getattr(made, self.name)


class _Signature:
    """For `inspect.signature`: that of the constructor, which may not be compiled yet."""

    def __init__(self, completed: Callable[[], Any]) -> None:
        self.completed = completed

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        import inspect

        if instance is not None:
            raise AttributeError("__signature__")
        self.completed()
        own = inspect.signature(owner.__init__)
        return own.replace(parameters=[*own.parameters.values()][1:])


def _shown(self: Any) -> str:
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in self.__members__.items() if one.repr)
    return f"{self.__class__.__qualname__}({parts})"


def _refuse(self: Any, name: str, value: object = None) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__members__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__members__, state, strict=True):
        object.__setattr__(self, name, value)


_FROZEN: dict[str, Callable[..., Any]] = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
