"""Which divided model runs: the code of a device names axes of a mesh, and each model has a mesh of its own.

So several may take turns in one process, forward and backward, in whichever order and threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch.distributed.device_mesh import DeviceMesh


@dataclass
class Draws:
    """What a model has drawn so far.

    number: of the next op that draws. ahead: of those that a stage of a pipeline does next, where it has not all.
    """

    seed: int = 0
    number: int = 0
    ahead: tuple[int, ...] = ()

    def begin(self, seed: int) -> None:
        """Anew: from the number of a step, say, so that a run can be gone on with."""
        self.seed, self.number, self.ahead = seed, 0, ()

    def next(self) -> int:
        """The number of the op that draws now: of those of the whole model, the same on all devices."""
        if self.ahead:
            number, *rest = self.ahead
            self.ahead = tuple(rest)
            return number
        self.number += 1
        return self.number - 1


@dataclass(eq=False)
class DividedRun:
    """A divided model on this device.

    zero:       as in `parallelize`: what of weights is scattered over devices that have the same.
    sums_later: whether gradients of micro-batches add up on each device until they are summed over devices.
    """

    mesh: DeviceMesh
    zero: int = 3
    sums_later: bool = False
    draws: Draws = field(default_factory=Draws)


class _Running(threading.local):
    """Of each thread the models whose code runs in it, the innermost last. Gradients may have threads of their own."""

    def __init__(self) -> None:
        self.models: list[DividedRun] = []


_RUNNING = _Running()


def running_model() -> DividedRun:
    """The model whose code calls this. Raises RuntimeError where none runs."""
    if not _RUNNING.models:
        raise RuntimeError("a part of a divided model runs within that alone: call the module that `parallelize` gave")
    return _RUNNING.models[-1]


def runs(model: DividedRun) -> bool:
    """Whether it is the code of this model that runs."""
    return bool(_RUNNING.models) and _RUNNING.models[-1] is model


@contextmanager
def run_as(model: DividedRun) -> Iterator[None]:
    """In it weights of the model are the parts of this device, and axes those of its mesh."""
    _RUNNING.models.append(model)
    try:
        yield
    finally:
        _RUNNING.models.pop()
