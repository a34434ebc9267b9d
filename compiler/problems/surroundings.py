"""What is known of axes where a mistake stands: copied when it is found, for more may be declared further down."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...dsl import syntax as s
from ..base.problems import Record
from ..sizes.axes import Axis


class Surroundings(Record):
    """names:   the axes that the block knows there, by name.
    file:     those of its file; of_file: what stands in the block for one of these, by its id.
    declared: all names that the file declares or uses.
    lifted:   axes that calls bring, which the block cannot name.
    block:    as it is declared; beside: the other blocks of its file.
    """

    names: Mapping[str, Axis]
    file: Mapping[str, Axis]
    of_file: Mapping[int, Axis]
    declared: Collection[str]
    lifted: tuple[Axis, ...]
    block: s.BlockDecl
    beside: tuple[s.BlockDecl, ...]

    @property
    def parameters(self) -> set[str]:
        """The names in the brackets of the block."""
        return {generic.name.text for generic in self.block.generics}
