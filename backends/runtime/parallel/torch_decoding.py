"""Decoding on a mesh: every device is given all prompts, does its part of these rows, and has all new items.

Along axes of the mesh that split the batch each device has some of the rows. After each step all devices are told the
items of all rows, so that all stop at the same step, and none waits for others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import torch
from torch import Tensor

from ..torch.cache import Cache
from ..torch.decoding import Decoder, gather, gathered, unwrapped
from ..torch.maps import sharded
from .torch_parts import device_count, gather_parts, own_place
from .torch_running import run_as


def over_parts(function: Callable[..., Any]) -> Callable[..., Any]:
    """`prepare` or `step` of one device: scattered weights are gathered for it alone."""

    def run(net: Any, /, *given: Any, **named: Any) -> Any:
        with run_as(net._run):
            return function(net, *given, **named)

    @wraps(function)
    def call(net: Any, /, *given: Any, **named: Any) -> Any:
        if sharded(net):
            return gathered(net, partial(run, net))(*given, **named)
        with torch.inference_mode():
            return run(net, *given, **named)

    return call


class DividedDecoder(Decoder):
    """`generate` and `stream` on a mesh."""

    __slots__ = ()

    def prepare(self, /, **inputs: Any) -> Cache:
        with run_as(self.net._run):
            cache: Cache = unwrapped(self.prepare_)(self.net, **inputs)
            return cache

    def step(self, items: Tensor, cache: Cache, last: int) -> Tensor:
        with run_as(self.net._run):
            return super().step(items, cache, last)

    def begin(self, static: Any) -> None:
        if static:
            raise ValueError(f"{self.decodes.model}: what devices send each other has no fixed place: leave static out")
        gather(self.net)

    def part(self, x: Tensor) -> Tensor:
        """Devices have equally many rows: where these do not divide, the last one is done again."""
        place, count = 0, 1
        with run_as(self.net._run):
            for axis in self.decodes.apart:
                size = device_count(axis)
                place, count = place * size + own_place(axis), count * size
        if count == 1 or not len(x):
            return x
        each = -(-len(x) // count)
        return x[torch.arange(place * each, place * each + each, device=x.device).clamp(max=len(x) - 1)]

    def whole(self, x: Tensor, rows: int) -> Tensor:
        """Of devices that have the same rows the items of the first."""
        with run_as(self.net._run):
            for axis in self.decodes.alike:
                x = gather_parts(x[None], 0, axis)[0]
            for axis in reversed(self.decodes.apart):
                x = gather_parts(x, 0, axis)
        return x[:rows]
