"""Random numbers on many devices: those that have the same value draw the same, those that have parts of it do not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from .torch_parts import devices_along, own_place


@dataclass
class Draws:
    """Gives each op that draws its seed, the same on all devices.

    number: of the next op that draws. ahead: of those that a stage of a pipeline does next, where it has not all.
    """

    seed: int = 0
    number: int = 0
    ahead: tuple[int, ...] = ()

    def next(self) -> int:
        if self.ahead:
            number, *rest = self.ahead
            self.ahead = tuple(rest)
        else:
            number, self.number = self.number, self.number + 1
        return int.from_bytes(hashlib.sha256(f"{self.seed}\n{number}".encode()).digest()[:7], "little")


_DRAWS = Draws()


def draw_from(seed: int) -> None:
    """Lets what a divided model draws begin anew: as the number of the step, say, so that it can be gone on with."""
    _DRAWS.seed, _DRAWS.number, _DRAWS.ahead = seed, 0, ()


@contextmanager
def part_of_draws(own: Sequence[int], every: int) -> Iterator[None]:
    """In it a stage does these of the draws of the whole model, of which there are so many."""
    first = _DRAWS.number
    _DRAWS.number, _DRAWS.ahead = first + every, tuple(first + each for each in own)
    try:
        yield
    finally:
        _DRAWS.ahead = ()


def own_draws(training: bool, apart: Sequence[str], function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a function gives that draws at random. apart: axes of the mesh whose devices compute with other values.

    PyTorch's generators are left as they were.
    """
    if not training:
        return function(*given, **named)
    seed = _DRAWS.next()
    for axis in apart:
        seed = seed * torch.distributed.get_world_size(devices_along(axis)) + own_place(axis)
    on = {x.device for x in given if isinstance(x, torch.Tensor) and x.is_cuda}
    with torch.random.fork_rng(devices=on):
        torch.manual_seed(seed % (1 << 63))
        return function(*given, **named)


def same_draws() -> tuple[Any, Any]:
    """For what is done again for its gradients: it draws then what it draws now."""
    state = _DRAWS.number, _DRAWS.ahead

    @contextmanager
    def now() -> Iterator[None]:
        yield

    @contextmanager
    def again() -> Iterator[None]:
        ahead = _DRAWS.number, _DRAWS.ahead
        _DRAWS.number, _DRAWS.ahead = state
        try:
            yield
        finally:
            _DRAWS.number, _DRAWS.ahead = ahead

    return now(), again()
