"""The weights of a model on a mesh, in parts: what each device has of them, however copies of it are scattered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...graph.inventory import extent
from ..mesh import Mesh
from ..weights import PlacedWeight
from .memory import unit


@dataclass(frozen=True)
class WeightParts:
    """placed: where each weight lies, by its path. over: mesh axes along which weights may be scattered; None: all."""

    mesh: Mesh
    placed: Mapping[str, PlacedWeight]
    over: frozenset[int] | None = None

    def renamed(self, path: Callable[[str], str]) -> WeightParts:
        """The same under other paths; what does not hang on these is not counted again."""
        made = replace(self, placed={path(each): placed for each, placed in self.placed.items()})
        vars(made).update({name: getattr(self, name) for name in ("parameters", "copied", "unsplit", "alike", "units")})
        return made

    def items(self, path: str) -> int:
        """How many items of a weight a device has, not counted what is scattered over copies."""
        placed = self.placed[path]
        split = (by.size for axis, by in zip(placed.place, self.mesh.axes, strict=True) if axis is not None)
        return _items(placed) // math.prod(split)

    @cached_property
    def whole(self) -> int:
        """How many items all weights of the model have."""
        return sum(map(_items, self.placed.values()))

    @cached_property
    def parameters(self) -> int:
        """How many items of all weights a device has."""
        return sum(map(self.items, self.placed))

    @cached_property
    def copied(self) -> tuple[int, ...]:
        """The mesh axes along which weights can be scattered: devices have the same of all of them, and work of their
        own, a part of the batch or of a width. So `parallelize` does it, whose weights lie on one mesh: where experts
        are divided along an axis, the other weights are whole along it.
        """
        every = self.placed.values()
        axes = [number for number, axis in enumerate(self.mesh.axes) if axis.size > 1 and every]
        several = axes if self.over is None else sorted(self.over.intersection(axes))
        return tuple(n for n in several if all(n in each.partial and each.place[n] is None for each in every))

    @cached_property
    def unsplit(self) -> frozenset[int]:
        """The mesh axes along which no weight is split."""
        split = {n for placed in self.placed.values() for n, axis in enumerate(placed.place) if axis is not None}
        return frozenset(range(len(self.mesh.axes))) - split

    @cached_property
    def alike(self) -> Mapping[tuple[int, bool, frozenset[int]], int]:
        """How many weights have so many items on a device, have gradients or not, of parts along these mesh axes."""
        return Counter((self.items(path), each.learned, each.partial) for path, each in self.placed.items())

    @cached_property
    def units(self) -> Mapping[str, int]:
        """The items of the weights that are gathered together."""
        found = Counter[str]()
        for path in self.placed:
            found[unit(path)] += self.items(path)
        return found


def _items(placed: PlacedWeight) -> int:
    return math.prod(extent(axis) for dim in placed.weight.dims for axis in dim)
