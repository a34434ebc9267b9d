"""Whose axis (LANGUAGE D13): a file declares an axis or const, and a block that it uses has its own of that name.

The axes of a used file are its own unless the `use` names them. So `heads = 4` here leaves the `heads = 8` there, and
all that is derived of it, as they are: said where the names are the same, nothing in the call decides, and the two
could be one. Another kind, a copy, or the same formula of the same axes is no mix-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.mentions import walk
from ..base.names import listed
from ..calls.checker import Checker
from ..names.modules import BlockDef, Module
from ..names.uses import agree
from ..sizes.axes import Axis, Const, Literal, Number


@dataclass
class _Meeting:
    """A name of this file, and the blocks that have another under it, each by the name it has here."""

    name: str
    mine: Axis | Const
    theirs: dict[str, Axis | Const] = field(default_factory=dict)

    def is_shown(self, spans: set[Span]) -> bool:
        """Whether the declaration of this file stands among these places, and one of the others."""
        mine, *others = [item.span if isinstance(item, Axis) else None for item in (self.mine, *self.theirs.values())]
        return mine in spans and not spans.isdisjoint(others)


@dataclass
class Whose:
    """The meetings of one module, found and reported."""

    checker: Checker
    module: Module
    needed: dict[tuple[BlockDef, tuple[str, ...]], frozenset[int]] = field(default_factory=dict)

    def tell(self) -> set[str]:
        """Report each name once, with all that leave it out; the names that were found."""
        said = [found for found in self.checker.session.diagnostics if found.code == "E0212"]
        shown = [{label.span for label in found.related} for found in said]
        meetings = self._meetings()
        for meeting in meetings.values():
            if not any(map(meeting.is_shown, shown)):  # those that met in a value are reported there
                self._report(meeting)
        return set(meetings)

    def _report(self, meeting: _Meeting) -> None:
        module, name, mine = self.module, meeting.name, meeting.mine
        differing = [block for block, theirs in meeting.theirs.items() if self._differ(block, mine, theirs)]
        block = next(iter(differing or meeting.theirs))
        theirs = meeting.theirs[block]
        alike = [each for each, item in meeting.theirs.items() if _number(item) == _number(theirs)]
        has = f"{listed(alike)} {'has its' if len(alike) == 1 else 'have their'} own `{name}`"
        if None in (_number(mine), _number(theirs)):
            message = f"{has}, which is not the one of this file"
        elif _number(mine) == _number(theirs):
            message = f"{has}: {_shown(theirs)} as here, but a config or `--set` changes this one alone"
        else:
            message = f"`{name}` is {_shown(mine)} here, but {has}, which is {_shown(theirs)}"
        in_use = _in_use(module.blocks[block], name, theirs)
        ours = any(isinstance(item, s.AxisDecl | s.ConstDecl) and item.name.text == name for item in module.file.items)
        fix = [edit for each, item in meeting.theirs.items() for edit in self._edits(each, name, item)]
        own = f"if its own is meant, say `{name} as other` there"
        if not ours and not all(agree(mine, other) for other in meeting.theirs.values()):
            help, fix = f"declare `{name}` in this file and name it in each `use`: there is one for all then; {own}", []
        elif in_use:
            help = f"name it in the `use`, and this one holds there too; {own}"
        else:
            help = (
                f"give it in the call, and this one holds there too: `{block}[{name} = {name}]`; or give its own size"
            )
        wrong = bool(differing) and ours and in_use
        related = [(module.places.get(each), f"`{each}` comes without `{name}`") for each in meeting.theirs]
        place = theirs.span if isinstance(theirs, Axis) else module.blocks[block].module.places.get(name)
        self.checker.session.report(
            "E0212" if wrong else "W0513",
            message,
            module.places.get(name),
            related=[*related, (place, f"the `{name}` of `{block}`")],
            help=help,
            fix=list(dict.fromkeys(fix)),
            warning=not wrong,
        )

    def _meetings(self) -> dict[str, _Meeting]:
        found: dict[str, _Meeting] = {}
        have: dict[str, Axis | Const] = {**self.module.consts, **self.module.axes}
        known = {item.id for item in have.values()}
        for own in self.module.own:
            for callee, bound in own.mentions.calls:
                block = self.module.blocks.get(callee)
                if block is None or block.module is self.module:
                    continue
                for name, theirs in self._left(block, bound).items():
                    mine = have.get(name)
                    if mine is None or theirs.id in known or not self._could_be_one(mine, theirs):
                        continue
                    # What the block's file has no name for is that file's affair, unless sizes are not as here.
                    if _in_use(block, name, theirs) or self._differ(callee, mine, theirs):
                        found.setdefault(name, _Meeting(name, mine)).theirs.setdefault(callee, theirs)
        return found

    def _left(self, block: BlockDef, bound: tuple[str, ...]) -> dict[str, Axis | Const]:
        """What a call of the block reads of files and does not give, by the name that the block's file has for it, or
        that its brackets take.
        """
        needed = self._needed(block, bound)
        left = {name: item for name, item in self.checker.file_names(block).items() if item.id in needed}
        in_use = {item.id for name, item in left.items() if _in_use(block, name, item)}
        return {name: item for name, item in left.items() if _in_use(block, name, item) or item.id not in in_use}

    def _needed(self, block: BlockDef, bound: tuple[str, ...]) -> frozenset[int]:
        """The axes and consts of files, by id, that a call which gives those of these names leaves as they are."""
        key = (block, bound)
        if key in self.needed:
            return self.needed[key]
        self.needed[key] = frozenset()  # of a block that calls itself, which is an error
        names = self.checker.file_names(block)
        given = {names[name].id for name in bound if name in names}
        left = list(_mentioned(block))
        for callee, theirs in block.mentions.calls:
            other = block.module.blocks.get(callee)
            left += self._needed(other, theirs) if other is not None else ()
        found: set[int] = set()
        while left:
            id = left.pop()
            if id not in given and id not in found:
                found.add(id)
                left += self.checker.parts(id)
        self.needed[key] = frozenset(id for id in found if not given or not self.checker.hangs_on(id, given))
        return self.needed[key]

    def _could_be_one(self, mine: Axis | Const, theirs: Axis | Const) -> bool:
        """Whether the one could stand for the other, and is not so already."""
        if isinstance(mine, Axis) != isinstance(theirs, Axis):
            return False
        if isinstance(mine, Axis) and isinstance(theirs, Axis) and mine.kind is not theirs.kind:
            return False
        formula = self.checker.formula(mine.id)
        return formula is None or isinstance(formula, Literal) or formula != self.checker.formula(theirs.id)

    def _differ(self, block: str, mine: Axis | Const, theirs: Axis | Const) -> bool:
        """Whether a size of the block is another than with the one of this file."""
        one, other = _number(mine), _number(theirs)
        if one is None or other is None or one == other:
            return False
        axes, _ = self.checker.closure(self.module.blocks[block])
        return isinstance(mine, Axis) or any(self.checker.hangs_on(axis.id, {theirs.id}) for axis in axes)

    def _edits(self, callee: str, name: str, theirs: Axis | Const) -> Iterator[tuple[Span, str]]:
        """The edits that give a block this file's axis or const: in the `use`, or where that cannot, in each call."""
        block = self.module.blocks[callee]
        if _in_use(block, name, theirs):
            yield from self.module.also_used(callee, name)
            return
        for own in self.module.own:
            shared = {
                node.name.text
                for node in walk(own.decl.body)
                if isinstance(node, s.Share) and node.block.text == callee
            }
            for node in walk(own.decl.body):
                if not isinstance(node, s.CallExpr) or node.callee.text not in {callee, *shared}:
                    continue
                items = node.brackets.items if node.brackets else ()
                if any(item.value is not None and item.name.text == name for item in items):
                    continue
                place = node.brackets.span.end - 1 if node.brackets else (node.label or node.callee).span.end
                given = f"{name} = {name}"
                yield Span(node.span.source, place, place), f", {given}" if node.brackets else f"[{given}]"


def _mentioned(block: BlockDef) -> Iterator[int]:
    """The axes and consts of its file that a block itself mentions, by id."""
    said, module = block.mentions, block.module
    for name in said.names:
        item = module.axes.get(name) or module.consts.get(name)
        if item is not None and name not in block.generics and name not in said.declared:
            yield item.id


def _in_use(block: BlockDef, name: str, item: Axis | Const) -> bool:
    """Whether a `use` of the block's file brings the item under this name."""
    there = block.module.axes.get(name) or block.module.consts.get(name)
    return there is not None and there.id == item.id


def _number(item: Axis | Const) -> Number | None:
    return item.extent if isinstance(item, Axis) else item.value


def _shown(item: Axis | Const) -> str:
    number = _number(item)
    return str(number).lower() if isinstance(number, bool) else f"{number}"
