"""Tensors in whatever a module takes and gives, by name, and other values for them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def leaves(value: object, name: str) -> Iterator[tuple[str, Tensor]]:
    """The tensors in a value, with their names: of dicts, tuples, lists and dataclasses."""
    if isinstance(value, Tensor):
        yield name, value
    for key, part in _parts(value):
        yield from leaves(part, f"{name}{key}")


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f".{key}", part) for key, part in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from ((f".{key}", part) for key, part in zip(value._fields, value, strict=True))
    elif isinstance(value, tuple | list):
        yield from ((f"[{place}]", part) for place, part in enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value))


def replaced(value: Any, name: str, tensors: Mapping[str, Tensor]) -> Any:
    """A value with other tensors in the places of its own, by their names as `leaves` gives them."""
    if isinstance(value, Tensor):
        return tensors[name]
    parts = {key: replaced(part, f"{name}{key}", tensors) for key, part in _parts(value)}
    if isinstance(value, Mapping):
        return dict(zip(value, parts.values(), strict=True))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*parts.values())
    if isinstance(value, tuple | list):
        return type(value)(parts.values())
    if parts:
        return dataclasses.replace(value, **{key[1:]: part for key, part in parts.items()})
    return value


def arguments(module: Callable[..., Any], inputs: Tensor | Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, in order: of those given by position, what the module calls them."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    values = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    try:
        taken = inspect.signature(getattr(module, "forward", module)).parameters.values()
        names = [each.name for each in taken if each.kind is each.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):  # a function of C
        names = []
    names += [f"input {place}" for place in range(len(names), len(values))]
    return dict(zip(names, values, strict=False))


def outputs(result: object) -> dict[str, Tensor]:
    """The tensors of a result by name: `output`, `output[0]`, or the key or field alone."""
    named = isinstance(result, Mapping) or not isinstance(result, tuple | list) or hasattr(result, "_fields")
    return {name.removeprefix("output.") if named else name: value for name, value in leaves(result, "output")}


def numbers(value: Tensor) -> Tensor:
    """A result to compare: of its own memory, in float64, where all machines have it; complex as two numbers."""
    value = value.detach().cpu()
    return (torch.view_as_real(value) if value.is_complex() else value).to(torch.float64, copy=True)


def stays(name: str, value: Tensor) -> bool:
    """Whether an input is no information to change but says which is: a mask, a label that is left out."""
    if value.dtype == torch.bool or "mask" in name or not value.numel():
        return True
    if value.is_floating_point():
        return bool((value <= torch.finfo(value.dtype).min).any())  # added to scores
    return not value.is_complex() and bool((value < 0).any())


def other(value: Tensor, generator: torch.Generator) -> Tensor:
    """Other values of the same kind: in the range of the floats, among the integers; the same where there are none."""
    if value.dtype == torch.bool:
        return ~value
    if value.is_complex():
        return torch.view_as_complex(other(torch.view_as_real(value), generator))
    if value.is_floating_point():
        known = value[value.isfinite()].double().cpu()
        least, most = (known.min(), known.max()) if known.numel() else (torch.zeros(()), torch.zeros(()))
        drawn = torch.rand(value.shape, generator=generator, dtype=torch.float64)
        if least < most:
            drawn = least + (most - least) * drawn
        else:  # all the same: around it
            drawn = least + torch.randn(value.shape, generator=generator, dtype=torch.float64)
        return torch.where(value.isfinite(), drawn.to(value), value)
    kinds: Tensor = value.unique()  # type: ignore[no-untyped-call]
    if len(kinds) == 1:
        return value
    steps = torch.randint(1, len(kinds), value.shape, generator=generator).to(value.device)
    return kinds[(torch.searchsorted(kinds, value) + steps) % len(kinds)]
