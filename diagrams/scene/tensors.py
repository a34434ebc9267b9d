"""What a figure draws as bundles of wires: tensors, and parameters until something uses them."""

from __future__ import annotations

from dataclasses import dataclass

from ...compiler.sizes.axes import Axis


@dataclass(eq=False, slots=True)
class Tensor:
    """A value as drawn: its axes are its wires. `index`: its elements are indices, so that an arrow says so.

    `given`: a truth value that comes in as an input. A mask names it, without wires; what else reads it has it born
    there.
    """

    axes: tuple[Axis, ...]
    name: str = ""
    index: bool = False
    given: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A parameter, until something uses it."""

    name: str
    axes: tuple[Axis, ...]
    key: int = 0  # one for each parameter
