"""Weights, their gradients and the optimiser's state, scattered over the devices that have the same of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ...cost.bill import REALS
from ..collectives import Means
from .memory import AHEAD, HALF_STATES, STATES
from .parts import WeightParts

WeightSending = tuple[str, int, Means, int, int]
"""Why, along which mesh axis, how, the bytes that a device gives, and how often."""


@dataclass(frozen=True)
class ScatteredWeights:
    """What a device holds of weights and sends of them in a step of training.

    zero:   what is scattered (ZeRO: Rajbhandari et al. 2020): the optimiser's state (1), gradients (2) and weights (3),
            too; 0: nothing. micro: the micro-batches of a step.
    dtype:  what is computed in. reduce: in what gradients are summed and kept.
    """

    parts: WeightParts
    zero: int
    micro: int
    dtype: str
    reduce: str

    @cached_property
    def sendings(self) -> tuple[WeightSending, ...]:
        """What is scattered along one axis is less along the next."""
        size, summed = REALS[self.dtype], REALS[self.reduce]
        given: dict[tuple[str, int, Means, int], int] = {}

        def add(why: str, mesh: int, means: Means, times: int, bytes: int) -> None:
            given[why, mesh, means, times] = given.get((why, mesh, means, times), 0) + bytes

        copied, rounds = self.parts.copied if self.zero else (), self.micro if self.zero > 1 else 1
        for (items, reached, partial), weights in self.parts.alike.items():
            for number in sorted(partial, key=lambda number: (number in copied, number)):
                axis = self.parts.mesh.axes[number]
                if axis.size == 1:
                    continue
                if reached:
                    means = Means.REDUCE_SCATTER if number in copied else Means.ALL_REDUCE
                    add("gradients", number, means, rounds, weights * items * summed)
                if number in copied:
                    items //= axis.size
                    for why in ("weights, forward", "weights, backward") if self.zero == 3 else ("weights",):
                        add(why, number, Means.ALL_GATHER, self.micro if self.zero == 3 else 1, weights * items * size)
        return tuple((why, mesh, means, bytes, times) for (why, mesh, means, times), bytes in given.items())

    @cached_property
    def sent(self) -> int:
        """Bytes that a device sends."""
        axes = self.parts.mesh.axes
        return sum(means.sent(given, axes[mesh].size) * times for _, mesh, means, given, times in self.sendings)

    @property
    def _cast(self) -> bool:
        """Whether weights are only there in float32, and cast when gathered: mixed precision of `fully_shard`."""
        return self.zero == 3 and REALS[self.reduce] > REALS[self.dtype]

    @cached_property
    def weights(self) -> int:
        return self._bytes(REALS[self.reduce if self._cast else self.dtype], 3)

    @cached_property
    def gradients(self) -> int:
        return self._bytes(REALS[self.reduce], 2, learned=True)

    @cached_property
    def optimiser(self) -> int:
        return self._bytes(STATES.get(self.reduce if self._cast else self.dtype, HALF_STATES), 1, learned=True)

    @cached_property
    def gathered(self) -> int:
        """Weights that are scattered, while they are used, and gradients that are to be scattered: those of a unit."""
        size, units = REALS[self.dtype], {**self.parts.units} if self._devices(2) > 1 else {}
        always = units.pop("", 0)
        largest = max(units.values(), default=0)
        summed = largest * (size + REALS[self.reduce])
        return summed + (always + AHEAD * largest) * size if self.zero == 3 else summed

    def _bytes(self, each: int, zero: int, learned: bool = False) -> int:
        """Bytes of something that each weight has, scattered over its copies where this much is."""
        devices, alike = self._devices(zero), self.parts.alike.items()
        each_of = ((items, weights) for (items, reached, _), weights in alike if reached or not learned)
        return sum(-(-items * each // devices) * weights for items, weights in each_of)

    def _devices(self, zero: int) -> int:
        """Over how many devices something of each weight is scattered, where `zero` is this or more."""
        return math.prod(self.parts.mesh.axes[n].size for n in self.parts.copied) if self.zero >= zero else 1
