"""A `record` is to whoever uses it what `dataclass(frozen=True, slots=True)` makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import pytest

from attnc.dsl.base.records import field, mutable, record, replace


@record
class Told:
    """With all that a field can be."""

    name: str
    span: int = field(compare=False, repr=False)
    parts: tuple[int, ...] = ()
    seen: list[int] = field(default_factory=list, compare=False)
    size: int = field(init=False, compare=False, repr=False)
    known: dict[str, int] = field(init=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", len(self.parts))


@record
class Empty:
    """Without fields."""


@record
class Own:
    """With a hash and words of its own."""

    value: float

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


def as_dataclass(cls: type[Any]) -> Any:
    kept = ("__doc__", "__module__", "__qualname__", "__annotations__", "__post_init__")
    body = {name: value for name, value in vars(cls).items() if name in kept}
    said = ("default", "default_factory", "init", "repr", "compare")
    body |= {one.name: dataclasses.field(**{key: getattr(one, key) for key in said}) for one in fields(cls)}
    return dataclass(frozen=True, slots=True)(type(cls.__name__, (), body))


@pytest.mark.parametrize("made", [Told, as_dataclass(Told)])
def test_as_a_dataclass_does(made: Callable[..., Any]) -> None:
    one, other = made("a", 1, (1, 2)), made("a", 2, parts=(1, 2))
    assert one == other
    assert hash(one) == hash(other) == hash(("a", (1, 2)))
    assert one != made("b", 1, (1, 2))
    assert one != ("a", (1, 2))
    assert repr(one) == "Told(name='a', parts=(1, 2), seen=[], known={})"
    assert (one.span, one.size, one.seen is other.seen, one.known is other.known) == (1, 2, False, False)
    assert replace(one, parts=(3,)).size == dataclasses.replace(one, parts=(3,)).size == 1
    with pytest.raises((TypeError, ValueError)):
        replace(one, size=2)
    assert [each.name for each in fields(one)] == ["name", "span", "parts", "seen", "size", "known"]
    assert list(inspect.signature(made).parameters) == ["name", "span", "parts", "seen"]
    assert not hasattr(one, "__dict__")
    match one:
        case object(name=name, parts=[first, *_]):
            assert (name, first) == ("a", 1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(FrozenInstanceError):
        del one.name
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'span'"):
        made("a")
    assert (copy.copy(one), copy.deepcopy(one)) == (one, one)


def test_copies_and_what_is_its_own() -> None:
    told = Told("a", 1)
    again = pickle.loads(pickle.dumps(told))
    assert (again, again.span, again.size) == (told, 1, 0)
    assert Empty() == Empty() != Told("a", 1)
    assert hash(Empty()) == hash(())
    assert Empty.__match_args__ == ()
    assert (hash(Own(1.0)), repr(Own(1.0)), Own(1.0) == Own(1.0)) == (7, "own", True)
    nan = float("nan")
    assert Own(nan) == Own(nan)  # as a tuple that holds the very object


@record(eq=False, slots=False)
class Cached:
    """Equal to itself alone, and with more than its fields."""

    size: int
    unit: str = field(default="m", kw_only=True)

    @cached_property
    def twice(self) -> int:
        return 2 * self.size


@record
class Derived(Told):
    """With the fields of another, one of them with a default now."""

    span: int = 3
    last: bool = True


@mutable
class Counter:
    """What changes."""

    count: int = 0
    seen: list[int] = field(default_factory=list)


def test_other_kinds() -> None:
    one = Cached(2, unit="cm")
    assert (one.twice, one.unit, Cached(2).unit, one == Cached(2, unit="cm"), one == one) == (4, "cm", "m", False, True)
    assert (Cached.__match_args__, replace(one, size=3).unit) == (("size",), "cm")
    with pytest.raises(FrozenInstanceError):
        one.size = 3  # type: ignore[misc]
    made = Derived("a", parts=(1,))
    assert (made.span, made.size, made.last) == (3, 1, True)
    assert [each.name for each in fields(made)][-2:] == ["known", "last"]
    assert made == Derived("a", parts=(1,)) != Derived("a", parts=(1,), last=False)
    counter = Counter()
    counter.count += 1
    counter.seen.append(4)
    assert (repr(counter), Counter().seen, counter == Counter(1, [4])) == ("Counter(count=1, seen=[4])", [], False)
    assert is_dataclass(counter)
    assert str(inspect.signature(Counter)).startswith("(count: 'int' = 0, seen: 'list[int]' = ")


def test_a_dataclass_over_a_record() -> None:
    made = dataclass(frozen=True, slots=True)(type("Over", (Cached,), {"__annotations__": {"more": int}}))(
        2, 5, unit="x"
    )
    assert (made.size, made.more, made.unit, dataclasses.replace(made, more=6).more) == (2, 5, "x", 6)
