"""Random numbers on many devices: those that have the same value draw the same, those that have parts of it do not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .torch_parts import device_count, own_place
from .torch_running import Draws, running_model


@contextmanager
def part_of_draws(draws: Draws, own: Sequence[int], every: int) -> Iterator[None]:
    """In it a stage does these of the draws of the whole model, of which there are so many."""
    first = draws.number
    draws.number, draws.ahead = first + every, tuple(first + each for each in own)
    try:
        yield
    finally:
        draws.ahead = ()


def own_draws(training: bool, apart: Sequence[str], function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a function gives that draws at random: `F.dropout`, or attention with a `dropout_p`. apart: axes of the mesh
    whose devices compute with other values.

    PyTorch's generators are left as they were.
    """
    if not training:
        return function(*given, **named)
    draws = running_model().draws
    number = draws.next()
    if not (named["dropout_p"] if "dropout_p" in named else given[1]):
        return function(*given, **named)
    seed = int.from_bytes(hashlib.sha256(f"{draws.seed}\n{number}".encode()).digest()[:7], "little")
    for axis in apart:
        seed = seed * device_count(axis) + own_place(axis)
    # `torch.random.fork_rng` and `manual_seed` ask after all kinds of devices, which takes longer than a small layer
    generator = _generator(next(x.device for x in given if isinstance(x, torch.Tensor)))
    before = generator.get_state()
    try:
        generator.manual_seed(seed % (1 << 63))
        return function(*given, **named)
    finally:
        generator.set_state(before)


def _generator(device: torch.device) -> torch.Generator:
    """That from which ops on a device draw."""
    if device.type in ("cpu", "meta"):
        return torch.default_generator
    found: torch.Generator = torch.get_device_module(device).default_generators[device.index]
    return found


def same_draws(draws: Draws) -> tuple[Any, Any]:
    """For what is done again for its gradients: it draws then what it draws now."""
    state = draws.number, draws.ahead

    @contextmanager
    def now() -> Iterator[None]:
        yield

    @contextmanager
    def again() -> Iterator[None]:
        ahead = draws.number, draws.ahead
        draws.number, draws.ahead = state
        try:
            yield
        finally:
            draws.number, draws.ahead = ahead

    return now(), again()
