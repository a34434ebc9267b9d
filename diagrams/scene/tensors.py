"""What a figure draws as bundles of wires: tensors; and parameters, which become tensors where they are read."""

from __future__ import annotations

from dataclasses import dataclass

from ...compiler.sizes.axes import Axis


@dataclass(eq=False, slots=True)
class Tensor:
    """A value as drawn: its axes are its wires. `index`: its elements are indices, and arrows of look-ups say so.

    `boolean_input`: it is one. A mask made of it shows its name and no wires; for any other reader, wires begin just
    before that reader.
    """

    axes: tuple[Axis, ...]
    name: str = ""
    index: bool = False
    boolean_input: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A parameter that no step has read yet. Many glyphs show the parameter by its name, without wires."""

    name: str
    axes: tuple[Axis, ...]
    path: str = ""  # its own name behind those of what was called
    loops: tuple[str, ...] = ()  # of the repeats that it stands in, what counts their passes (`Frame.loops`)


def tail(name: str) -> str:
    """`norm.weight` -> `norm`; a path's last part."""
    parts = [part for part in name.split(".") if part not in ("weight", "bias")]
    return parts[-1] if parts else name
