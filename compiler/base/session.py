"""What one run of the checker shares: fresh ids, the formulas of file-level sizes, and the mistakes of files."""

from __future__ import annotations

from ...dsl.base.records import field, mutable
from ...dsl.source import Span
from ..sizes.axes import Axis, Const, Kind, Number, Static, Value
from .problems import Problem, Problems


@mutable
class Session:
    """`formulas` and `const_formulas` say how file-level axes and consts depend on others, by id.

    `waiting`: what is wrong with the size of a library's axis, by its id; said if a block that is used mentions it.
    """

    problems: Problems = field(default_factory=Problems)
    formulas: dict[int, Static] = field(default_factory=dict)
    const_formulas: dict[int, Static] = field(default_factory=dict)
    waiting: dict[int, list[Problem]] = field(default_factory=dict)
    _ids: int = 0

    def fresh(self) -> int:
        self._ids += 1
        return self._ids

    def axis(
        self,
        name: str,
        kind: Kind,
        *,
        label: str | None = None,
        extent: int | None = None,
        size: Static | None = None,
        bound: int | None = None,
        family: int | None = None,
        span: Span | None = None,
        ragged: bool = False,
    ) -> Axis:
        """A new axis; in a family of its own, unless a family is given."""
        id = self.fresh()
        family = id if family is None else family
        return Axis(id, name, kind, label or name, extent, size, bound, family, span, ragged)

    def const(self, name: str, value: Value | None, *, is_index: bool = False, like: Number | None = None) -> Const:
        return Const(self.fresh(), name, value, is_index, like)
