"""Copies of an axis that a block knows, or could declare (D4)."""

from __future__ import annotations

from collections.abc import Iterable

from ..sizes.axes import Axis
from .environment import Environment


def copies(axis: Axis, environment: Environment, apart: Iterable[Axis] = ()) -> list[str]:
    """The names of its copies that the block knows, but for some; else of those of the file that it might."""
    not_these = {axis.name, *(other.name for other in apart)}
    known = [other.name for other in environment.names.values() if other.family == axis.family]
    of_file = environment.module.axes.values()
    families = {other.family for other in of_file if environment.of_file.get(other.id) == axis}
    might = [other.name for other in of_file if other.family in families]
    return [name for name in known if name not in not_these] or [name for name in might if name not in not_these]


def new_copy(axis: Axis, environment: Environment) -> tuple[str, str]:
    """A free name for a copy of an axis, and how it is declared."""
    taken = environment.names.keys() | environment.module.spans.keys()
    copy = next((name for name in ("past", "other", "second") if name not in taken), f"{axis.name}2")
    if axis.name in environment.block.generics:
        return copy, f"`{copy}: {axis.kind.value} like {axis.name}` among the parameters"
    return copy, f"`{axis.kind.value} {copy} like {axis.name}`"
