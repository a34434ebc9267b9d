"""A mesh of devices, and which axes of a spec its axes split."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..base.names import listed
from ..sizes.axes import Axis

BATCH = "batch"
"""The leading batch axes, which a spec does not write, as an axis that a mesh can split."""
PIPE = "pipe"
"""The axis of a mesh along which devices have stages of the model (`stages`): it splits no axis."""


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """One axis of a mesh: `size` devices, which split what `splits` names, the first of these that a value has."""

    name: str
    size: int
    splits: tuple[str, ...]

    @property
    def copies(self) -> bool:
        """Whether it splits the batch."""
        return BATCH in self.splits


@dataclass(frozen=True, slots=True)
class Mesh:
    """Devices in rows, columns and so on. A device's place along the last axis counts fastest."""

    axes: tuple[MeshAxis, ...]

    @property
    def devices(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    @property
    def copies(self) -> int:
        """How many of them split the batch: each has a copy of the model, or a part of one with others."""
        return math.prod(axis.size for axis in self.axes if axis.copies)

    @property
    def stages(self) -> int:
        """How many stages a pipeline has; 1: there is none."""
        return next((axis.size for axis in self.axes if axis.name == PIPE), 1)

    def of_stage(self) -> Mesh:
        """The mesh of the devices of one stage."""
        return Mesh(tuple(axis for axis in self.axes if axis.name != PIPE))

    def __str__(self) -> str:
        return ", ".join(f"{axis.name} = {axis.size}" for axis in self.axes)


def mesh_of(sizes: Mapping[str, int], splits: Mapping[str, tuple[str, ...]]) -> Mesh:
    """The mesh with these axes, in order. Raises ValueError for a size below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"the mesh axis `{name}` is {size}: it takes 1 device or more")
    return Mesh(tuple(MeshAxis(name, size, splits.get(name, ())) for name, size in sizes.items()))


class CannotDivide(ValueError):
    """What a mesh cannot do. What to write instead is an argument for who calls from Python, which is its text, and an
    option for who writes commands.
    """

    def __init__(self, said: str, write: tuple[str, Sequence[str]] | None = None) -> None:
        """said: with a `{}` for what the axis `write[0]` of a mesh should split."""
        mesh, axes = write or ("", ())
        argument = f"splits={{{json.dumps(mesh)}: {json.dumps([*axes])}}}"
        super().__init__(said.replace("{}", f"`{argument}`"))
        self.on_command_line = said.replace("{}", f"`--split {mesh}={','.join(axes)}`")


class Indivisible(CannotDivide):
    """An axis that does not divide over the devices that split it. size: of an axis that has no fixed one."""

    def __init__(self, axis: Axis, by: Sequence[MeshAxis], devices: int, size: int | None = None) -> None:
        items = axis.extent if size is None else size
        assert items is not None
        fitting = [str(n) for n in range(2, min(items, 4096) + 1) if items % n == 0][:8]
        able = f"it divides over {', '.join(fitting)}" if fitting else "it does not divide at all"
        others = [each for each in by[0].splits if each != axis.name]
        super().__init__(
            f"`{axis.name}` has {items:,} items, which the {devices:,} devices of "
            f"{listed([one.name for one in by])} do not divide: {able}{'; or leave it whole, {}' if others else ''}",
            (by[0].name, others),
        )
