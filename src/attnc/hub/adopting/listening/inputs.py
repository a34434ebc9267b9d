"""What a module is called with: inputs that the user's function gives, or such as its forward seems to ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch

from ...problem import HubError
from .factory import made, theirs
from .trace import tensors

BATCH = 3
_LENGTHS = (11, 8, 5)
_SIDES = (16, 24, 28, 32, 48, 64, 96, 128, 224, 256, 384)
_DEPTHS = 4
_SIZES = ("image_size", "img_size", "imagesize", "input_size")


@dataclass(frozen=True)
class Inputs:
    """Arguments of one call, by their names in `forward`; tensors of the same kinds can be drawn again.

    given: by the user. bounds: of indices, what they stay below. padding: indices that are not drawn, since theirs
    holds the gradients of their rows at zero. items_first: the module wants [items, batch, ...]; here all are
    [batch, items, ...].
    """

    values: Mapping[str, Any]
    bounds: Mapping[str, int]
    given: bool = False
    padding: frozenset[int] = frozenset()
    items_first: bool = False

    @property
    def batch(self) -> int:
        """How many examples there are."""
        return next(iter(self.drawn.values())).shape[0]

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in self.values.items() if isinstance(value, torch.Tensor)}

    @property
    def drawn(self) -> dict[str, torch.Tensor]:
        """Those that are no masks."""
        return {name: one for name, one in self.tensors.items() if name in self.bounds}

    def call(self, module: torch.nn.Module, dtype: torch.dtype) -> Any:
        """What the module gives. Raises what it raises."""
        return _call(module, self.of(dtype)._as_wanted())

    def _as_wanted(self) -> dict[str, Any]:
        turned = {name: one.transpose(0, 1) for name, one in self.drawn.items() if self.items_first and one.ndim < 4}
        return {**self.values, **turned}

    def of(self, dtype: torch.dtype) -> Inputs:
        """The same, reals of another type."""
        values = {
            name: value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
            for name, value in self.values.items()
        }
        return replace(self, values=values)

    def again(self, seed: int, shorter: int = 0) -> Inputs:
        """Others of the same kinds, items fewer by so many."""
        draw = torch.Generator().manual_seed(seed)
        values = dict(self.values)
        for name, value in self.drawn.items():
            shape = list(value.shape)
            if shorter and not self.given and len(shape) in (2, 3):
                shape[1] -= shorter
            values[name] = self._drawn(name, shape, draw)
        return replace(self, values=values)

    def _drawn(self, name: str, shape: list[int], draw: torch.Generator) -> torch.Tensor:
        if not self.bounds[name]:
            return torch.randn(shape, generator=draw, dtype=self.values[name].dtype)
        free = torch.tensor([i for i in range(self.bounds[name]) if i not in self.padding])
        return free[torch.randint(0, len(free), shape, generator=draw)]

    def is_batched(self, module: torch.nn.Module) -> bool:
        """Whether an example changes its own results alone."""
        if self.batch < 2:
            return False
        other = {
            name: torch.cat([(one[:1] + 1) % bound if (bound := self.bounds[name]) else one[:1].flip(-1) + 1, one[1:]])
            for name, one in self.drawn.items()
        }
        runs = (self, replace(self, values={**self.values, **other}))
        with torch.no_grad():
            one, another = (tensors(each.call(module, torch.get_default_dtype())) for each in runs)
        return any(_is_own(a, b, self.batch, self.items_first) for a, b in zip(one[:1], another[:1], strict=True))


def _is_own(one: torch.Tensor, another: torch.Tensor, batch: int, items_first: bool) -> bool:
    """Whether there is an axis of examples, of which the first alone may have changed."""
    if one.shape != another.shape:
        return False
    axes = [axis for axis, size in enumerate(one.shape) if size == batch]
    if not axes and one.ndim and one.shape[0] % batch == 0:  # examples and items are one axis
        shape = (-1, batch, *one.shape[1:]) if items_first else (batch, -1)
        one, another, axes = one.reshape(shape), another.reshape(shape), [int(items_first)]
    rest = [tuple(each.narrow(axis, 1, batch - 1) for each in (one, another)) for axis in axes]
    limit = 1e-5 * float(one.nan_to_num().double().std(correction=0))
    return any(float((a.nan_to_num() - b.nan_to_num()).abs().max()) <= limit for a, b in rest)


def _call(module: torch.nn.Module, values: Mapping[str, Any]) -> Any:
    parameters = inspect.signature(module.forward).parameters.values()
    alone = {one.name for one in parameters if one.kind is one.POSITIONAL_ONLY}
    starred = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    if alone or (starred and not set(values) <= {one.name for one in parameters}):
        return module(*values.values())
    return module(**values)


def inputs_of(module: torch.nn.Module, place: str | None) -> Inputs:
    """Those of the user's function, or the first guess with which the module runs.

    Raises HubError where the function's are none, or no guess fits.
    """
    found = _guessed(module) if place is None else _given(module, made(place, "function of inputs"), place)
    tables = [one for one in module.modules() if isinstance(one, torch.nn.Embedding)]
    padding = frozenset(one.padding_idx for one in tables if one.padding_idx is not None)
    spare = all(bound > 1 + len(padding) for bound in found.bounds.values() if bound)
    return replace(found, padding=padding if spare else frozenset())


def _guessed(module: torch.nn.Module) -> Inputs:
    wrong: Exception | None = None
    ran = ""
    for guess in _guesses(module):
        for items_first in (False, True):
            tried = replace(guess, items_first=items_first)
            try:
                with torch.no_grad():
                    results = tensors(tried.call(module, torch.get_default_dtype()))
                if tried.is_batched(module):
                    return tried
                ran = "an example changes the results of others" if results else "it gives no tensor of real numbers"
            except Exception as failed:
                wrong = wrong or failed
    if ran:
        raise HubError(f"{type(module).__name__} is not understood: {ran}")
    why = f" ({theirs(wrong, 'called with what seemed to fit')})" if wrong is not None else ""
    raise HubError(
        f"{type(module).__name__}{inspect.signature(module.forward)}: its inputs could not be guessed{why}: "
        "give a function that returns the arguments of one call, a tensor, a tuple or a dict: --inputs package:function"
    )


def _given(module: torch.nn.Module, found: Any, place: str) -> Inputs:
    names = [one.name for one in inspect.signature(module.forward).parameters.values()]
    if isinstance(found, torch.Tensor):
        found = (found,)
    if isinstance(found, list | tuple):
        names += [f"input{i}" for i in range(len(names), len(found))]
        found = dict(zip(names, found, strict=False))
    if not isinstance(found, Mapping) or not any(isinstance(one, torch.Tensor) for one in found.values()):
        raise HubError(f"{place}: inputs are a tensor, a tuple or a dict of arguments, not {type(found).__name__}")
    bounds = {}
    for name, value in found.items():
        if isinstance(value, torch.Tensor) and value.dtype != torch.bool and "mask" not in name:
            bounds[name] = 0 if value.is_floating_point() else int(value.max()) + 1
    first = next((one for name, one in found.items() if name in bounds), None)
    if first is None or first.ndim < 2 or max(first.shape[:2]) < 2:
        raise HubError(f"{place}: the first input should be a batch of two examples or more, [batch, ...]")
    if first.ndim > 1 and not first.is_floating_point() and first.shape[0] == first.shape[1]:
        raise HubError(f"{place}: give as many examples as not items, [2, 7] say: the axes could not be told apart")
    inputs = Inputs(found, bounds, True)
    try:
        with torch.no_grad():
            inputs.call(module, torch.get_default_dtype())
    except Exception as failed:
        raise HubError(theirs(failed, f"called with what {place} gives")) from None
    turned = {name: one.transpose(0, 1).contiguous() for name, one in inputs.drawn.items() if 1 < one.ndim < 4}
    for tried in (inputs, replace(inputs, values={**found, **turned}, items_first=True)):
        if tried.is_batched(module):
            return tried
    raise HubError(
        f"{place}: the first input should be a batch of two examples or more, [batch, ...], each computed on its own"
    )


# -- guesses -------------------------------------------------------------------------------------------------------


def _guesses(module: torch.nn.Module) -> Iterator[Inputs]:
    parameters = [one for one in inspect.signature(module.forward).parameters.values() if one.name != "self"]
    plain = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    asked = [one.name for one in plain if one.default is one.empty]
    if not asked:
        names = [one.name for one in parameters if one.kind not in (one.VAR_KEYWORD,)]
        asked = [name for name in ("input_ids", "pixel_values", "decoder_input_ids") if name in names] or names[:1]
        if "pixel_values" in asked and "input_ids" not in asked:
            asked = ["pixel_values"]
    if not asked:
        return
    masks = [name for name in asked if "mask" in name]
    reading = [name for name in asked if name not in masks]
    tables = [one for one in module.modules() if isinstance(one, torch.nn.Embedding)]
    if not 1 <= len(reading) <= (2 if tables else 3):
        return
    kinds = [_ids, _pictures, _vectors] if tables else [_pictures, _vectors]
    for kind in kinds:
        for values, bounds in kind(module, reading):
            for masked in _masks(masks, [values[name] for name in reading]):
                yield Inputs({name: {**values, **masked}[name] for name in asked}, bounds)


Guess = tuple[dict[str, torch.Tensor], dict[str, int]]


def _ids(module: torch.nn.Module, names: list[str]) -> Iterator[Guess]:
    sizes = {one.num_embeddings for one in module.modules() if isinstance(one, torch.nn.Embedding)}
    for length in _LENGTHS:
        for size in sorted(sizes, reverse=True):
            draw = torch.Generator().manual_seed(0)
            lengths = [length + 2 * (len(names) - 1 - i) for i in range(len(names))]
            values = {
                name: torch.randint(0, size, (BATCH, count), generator=draw)
                for name, count in zip(names, lengths, strict=True)
            }
            for one in values.values():
                one[0, 0] = size - 1  # so that too large a guess is seen
            yield values, dict.fromkeys(names, size)


def _pictures(module: torch.nn.Module, names: list[str]) -> Iterator[Guess]:
    if len(names) > 1:
        return
    colours = [one.in_channels for one in module.modules() if isinstance(one, torch.nn.Conv2d)] or [3, 1]
    told: list[tuple[int, int]] = []
    for one in module.modules():
        for name in _SIZES:
            size = getattr(one, name, getattr(getattr(one, "config", None), name, None))
            if isinstance(size, int):
                told.append((size, size))
            elif isinstance(size, list | tuple) and len(size) == 2 and all(isinstance(each, int) for each in size):
                told.append((size[0], size[1]))
    reach = max((max(one.kernel_size) for one in module.modules() if isinstance(one, torch.nn.Conv2d)), default=1)
    for high, wide in dict.fromkeys([*told, *((side, side) for side in _SIDES if side >= 2 * reach)]):
        for colour in dict.fromkeys(colours):
            draw = torch.Generator().manual_seed(0)
            yield {names[0]: torch.randn(BATCH, colour, high, wide, generator=draw)}, {names[0]: 0}


def _vectors(module: torch.nn.Module, names: list[str]) -> Iterator[Guess]:
    """Of each the depths that weights have, first alike; the last two of three are as long (keys, values)."""
    sizes = [*dict.fromkeys(one.shape[-1] for one in module.parameters() if one.ndim > 1)][:_DEPTHS]
    lengths = [_LENGTHS[0] + 2 * (len(names) - 1 - i) for i in range(len(names))]
    lengths[-2:] = lengths[-2:] if len(names) < 3 else [lengths[-1]] * 2
    for some in sorted(product(sizes, repeat=len(names)), key=lambda some: len(set(some))):
        draw = torch.Generator().manual_seed(0)
        shapes = [(BATCH, count, size) for count, size in zip(lengths, some, strict=True)]
        values = [torch.randn(shape, generator=draw) for shape in shapes]
        yield dict(zip(names, values, strict=True)), dict.fromkeys(names, 0)


def _masks(names: list[str], read: list[torch.Tensor]) -> Iterator[dict[str, Any]]:
    """Masks of nothing, in some of the forms that they have: none; of source and target."""
    if not names:
        yield {}
        return
    yield dict.fromkeys(names)
    first, last = read[0].shape[1], read[-1].shape[1]
    forms: list[Callable[[int, bool], torch.Tensor]] = [
        lambda count, past: torch.ones(1, count, count).tril().bool() if past else torch.ones(BATCH, 1, count).bool(),
        lambda count, past: (
            torch.ones(1, 1, count, count).tril().bool() if past else torch.ones(BATCH, 1, 1, count).bool()
        ),
    ]
    for form in forms:
        yield {
            name: form(last, True) if "tgt" in name or "target" in name or "trg" in name else form(first, False)
            for name in names
        }
