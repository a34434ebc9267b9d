"""A `record` is to whoever uses it what `dataclass(frozen=True, slots=True)` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from attnc.dsl.base.records import record


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
    body |= {one.name: field(default=one.default, default_factory=one.default_factory, init=one.init, repr=one.repr,
                             compare=one.compare) for one in fields(cls)}  # fmt: skip
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
    assert replace(one, parts=(3,)).size == 1
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
