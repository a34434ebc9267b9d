"""What blocks mention of their files: the axes and consts that become their implicit parameters (D8)."""

from __future__ import annotations

from collections.abc import Set

from ...dsl.base.records import field, mutable
from ..base.session import Session
from ..names.modules import BlockDef
from ..sizes.arithmetic import mentions
from ..sizes.axes import Axis, Const, Static, axes_in, consts_in


@mutable
class Closures:
    """carried: of each block the ids of those axes that are no mere part of a size."""

    session: Session
    carried: dict[BlockDef, frozenset[int]] = field(default_factory=dict)
    _known: dict[BlockDef, tuple[list[Axis], list[Const]]] = field(default_factory=dict)

    def of(self, block: BlockDef) -> tuple[list[Axis], list[Const]]:
        """The axes and consts of files that a block mentions, itself or by way of what it calls: its
        implicit parameters.
        """
        if block in self._known:
            return self._known[block]
        self._known[block], self.carried[block] = ([], []), frozenset()  # one that calls itself is refused elsewhere
        axes, consts = self._mentioned(block)
        parts: set[int] = set()
        module = block.module
        for callee, bound in block.mentions.calls:
            other = module.blocks.get(callee)
            if other is None or other is block:
                continue
            their_axes, their_consts = self.of(other)
            skip = {other.module.axes[name].id for name in bound if name in other.module.axes}
            skip |= {other.module.consts[name].id for name in bound if name in other.module.consts}
            for axis in their_axes:
                if axis.id not in skip and not self.hangs_on(axis.id, skip):
                    if axis.id not in self.carried[other] and axis.id not in axes:
                        parts.add(axis.id)
                    elif axis.id in self.carried[other]:
                        parts.discard(axis.id)
                    axes[axis.id] = axis
            for const in their_consts:
                if const.id not in skip and not self.hangs_on(const.id, skip):
                    consts[const.id] = const
        self.carried[block] = frozenset(axes) - parts
        for id in list(axes):
            self._add_parts(id, axes, consts)
        for id in list(consts):
            self._add_parts(id, axes, consts)
        ordered: dict[int, Axis] = {}
        for axis in axes.values():
            self._after_its_parts(axis, axes, ordered)
        self._known[block] = (list(ordered.values()), list(consts.values()))
        return self._known[block]

    def _mentioned(self, block: BlockDef) -> tuple[dict[int, Axis], dict[int, Const]]:
        """What a block mentions itself."""
        module, own = block.module, {*block.generics, *block.mentions.declared}
        names = [name for name in block.mentions.names if name not in own]
        axes = {module.axes[name].id: module.axes[name] for name in names if name in module.axes}
        numbers = [name for name in names if name not in module.axes and name in module.consts]
        module.read.update(name for name in names if name in module.axes or name in module.consts)
        return axes, {module.consts[name].id: module.consts[name] for name in numbers}

    def file_names(self, block: BlockDef) -> dict[str, Axis | Const]:
        """The axes and consts of files that a call may give anew, by the names that they have in the block's file.

        Also by their own, which the file that uses them may have given them, where that means nothing else there.
        """
        axes, consts = self.of(block)
        module = block.module
        there: dict[str, Axis | Const] = {**module.axes, **module.consts}
        names: dict[int, list[str]] = {}
        for name, own in there.items():
            names.setdefault(own.id, []).append(name)
        found: dict[str, Axis | Const] = {}
        items: list[Axis | Const] = [*axes, *consts]
        for item in items:
            for name in (*names.get(item.id, ()), item.name):
                if name not in block.generics and there.get(name, item).id == item.id:
                    found.setdefault(name, item)
        return found

    def _after_its_parts(self, axis: Axis, axes: dict[int, Axis], ordered: dict[int, Axis]) -> None:
        """A derived axis stands after what it is derived from: code computes sizes in this order."""
        formula = self.formula(axis.id)
        for part in axes_in(formula) if formula is not None else []:
            if part.id not in ordered:
                self._after_its_parts(axes[part.id], axes, ordered)
        ordered[axis.id] = axis

    def formula(self, id: int) -> Static | None:
        """How a file's axis or const depends on others."""
        return self.session.formulas.get(id) or self.session.const_formulas.get(id)

    def parts(self, id: int) -> set[int]:
        """The axes and consts in the formula of one."""
        formula = self.formula(id)
        return set() if formula is None else set().union(*mentions(formula))

    def hangs_on(self, id: int, ids: Set[int]) -> bool:
        """Whether a file's axis or const is derived from one of these."""
        seen, left = {id}, [id]
        while left:
            parts = self.parts(left.pop())
            if parts & ids:
                return True
            left += parts - seen
            seen |= parts
        return False

    def _add_parts(self, id: int, axes: dict[int, Axis], consts: dict[int, Const]) -> None:
        """What a derived size is derived from is mentioned too."""
        formula = self.formula(id)
        if formula is None:
            return
        for axis in axes_in(formula):
            if axis.id not in axes:
                axes[axis.id] = axis
                self._add_parts(axis.id, axes, consts)
        for const in consts_in(formula):
            if const.id not in consts:
                consts[const.id] = const
                self._add_parts(const.id, axes, consts)
