"""Random numbers on many devices: those that have the same value draw the same, those that have parts of it do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .torch_parts import devices_along, own_place

_DRAWS = torch.Generator()
"""Gives each op that draws its seed, the same on all devices."""


def draw_from(seed: int) -> None:
    """Lets what a divided model draws begin anew: as the number of the step, say, so that it can be gone on with."""
    _DRAWS.manual_seed(seed)


def own_draws(training: bool, apart: Sequence[str], function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a function gives that draws at random. apart: axes of the mesh whose devices compute with other values.

    PyTorch's generators are left as they were.
    """
    if not training:
        return function(*given, **named)
    seed = int(torch.randint(1 << 62, (), generator=_DRAWS))
    for axis in apart:
        seed = seed * torch.distributed.get_world_size(devices_along(axis)) + own_place(axis)
    on = {x.device for x in given if isinstance(x, torch.Tensor) and x.is_cuda}
    with torch.random.fork_rng(devices=on):
        torch.manual_seed(seed % (1 << 63))
        return function(*given, **named)


def same_draws() -> tuple[Any, Any]:
    """For what is done again for its gradients: it draws then what it draws now."""
    state = _DRAWS.get_state()

    @contextmanager
    def now() -> Iterator[None]:
        yield

    @contextmanager
    def again() -> Iterator[None]:
        ahead = _DRAWS.get_state()
        _DRAWS.set_state(state)
        try:
            yield
        finally:
            _DRAWS.set_state(ahead)

    return now(), again()
