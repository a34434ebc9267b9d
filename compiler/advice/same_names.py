"""Whose axis (LANGUAGE D13): a file declares an axis or const, and a block that it uses has its own of that name.

The axes of a used file are its own unless the `use` names them. So `heads = 4` here leaves the `heads = 8` there, and
all that is derived of it, as they are: said where the names are the same, nothing in the call decides, and the two
could be one. A const and a depth are never one, but the one may be meant to give the other its number, where that is
counted by. A width, a copy, or the same formula of the same axes is no mix-up.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable
from ...dsl.source import Span
from ..base.mentions import walk
from ..base.problems import Problem
from ..calls.checker import Checker
from ..graph.nodes import Call, Graph, Scan, nested
from ..names.modules import BlockDef, Module
from ..names.uses import agree
from ..problems.names import Remedy, SameName
from ..problems.relayed import Relayed
from ..sizes.axes import Axis, Const, Kind, Literal, Value


@mutable
class _SameName:
    """A name of this file, and the blocks that have another under it, each by the name it has here."""

    name: str
    mine: Axis | Const
    theirs: dict[str, Axis | Const] = field(default_factory=dict)

    def is_shown(self, spans: set[Span]) -> bool:
        """Whether the declaration of this file stands among these places, and one of the others."""
        mine, *others = [item.span if isinstance(item, Axis) else None for item in (self.mine, *self.theirs.values())]
        return mine in spans and not spans.isdisjoint(others)


def same_names(checker: Checker, module: Module) -> Iterator[str]:
    """The names of a module that used blocks leave out, each reported once."""
    yield from SameNames(checker, module).report()


@mutable
class SameNames:
    """The same names of one module, found and reported."""

    checker: Checker
    module: Module
    needed: dict[tuple[BlockDef, tuple[str, ...]], frozenset[int]] = field(default_factory=dict)

    def report(self) -> set[str]:
        """Report each name once, with all that leave it out; the names that were found."""
        meetings, met = self._meetings(), [p for p in self.checker.session.problems.found if p.code == "E0212"]
        shown = [_declared(problem) for problem in met]
        for meeting in meetings.values():
            if not any(map(meeting.is_shown, shown)):  # those that met in a value are reported there
                self._report(meeting)
        return set(meetings)

    def _report(self, meeting: _SameName) -> None:
        module, name, mine = self.module, meeting.name, meeting.mine
        differing = [block for block, theirs in meeting.theirs.items() if self._differ(block, mine, theirs)]
        block = next(iter(differing or meeting.theirs))
        theirs = meeting.theirs[block]
        alike = [each for each, item in meeting.theirs.items() if _number(item) == _number(theirs)]
        other_kind = isinstance(mine, Axis) != isinstance(theirs, Axis)
        lifted = self._lifted(meeting)
        in_use = _in_use(module.blocks[block], name, theirs) and not other_kind
        ours = any(isinstance(item, s.AxisDecl | s.ConstDecl) and item.name.text == name for item in module.file.items)
        fix: list[tuple[Span, str]] = []
        # A const takes the axis as a number, and so does a call that lifts over it: that may not mention the axis.
        given = f"|{name}|" if lifted or (other_kind and isinstance(mine, Axis)) else name
        if not ours and not other_kind and not all(agree(mine, other) for other in meeting.theirs.values()):
            remedy = Remedy.DECLARE
        elif any(lifted):
            remedy = Remedy.SIZE
        elif in_use and not lifted:
            remedy, fix = Remedy.USE, [edit for each in meeting.theirs for edit in module.also_used(each, name)]
        else:
            remedy, fix = (
                Remedy.CALL,
                [edit for each in meeting.theirs for edit in self._bracket_edits(each, name, given)],
            )
        there = theirs.span if isinstance(theirs, Axis) else module.blocks[block].module.spans.get(name)
        self.checker.session.problems.add(
            SameName(
                module.spans.get(name),
                bool(differing) and ours and in_use,
                name,
                block,
                there,
                (_kind(mine), _kind(theirs)),
                (_number(mine), _number(theirs)),
                tuple(alike),
                tuple((each, module.spans.get(each)) for each in meeting.theirs),
                remedy,
                given,
                tuple(dict.fromkeys(fix)),
            )
        )

    def _meetings(self) -> dict[str, _SameName]:
        found: dict[str, _SameName] = {}
        have: dict[str, Axis | Const] = {**self.module.consts, **self.module.axes}
        known = {item.id for item in have.values()}
        for own in self.module.own:
            for callee, bound in own.mentions.calls:
                block = self.module.blocks.get(callee)
                if block is None or block.module is self.module:
                    continue
                for name, theirs in self._left(block, bound).items():
                    mine = have.get(name)
                    if mine is None or theirs.id in known or not self._could_be_one(block, mine, theirs):
                        continue
                    if self.module.is_used(callee, name):  # as another kind, which is an error of its own
                        continue
                    # What the block's file has no name for is that file's affair, unless sizes are not as here.
                    if _in_use(block, name, theirs) or self._differ(callee, mine, theirs):
                        found.setdefault(name, _SameName(name, mine)).theirs.setdefault(callee, theirs)
        return found

    def _left(self, block: BlockDef, bound: tuple[str, ...]) -> dict[str, Axis | Const]:
        """What a call of the block reads of files and does not give, by the name that the block's file has for it, or
        that its brackets take.
        """
        needed = self._needed(block, bound)
        left = {name: item for name, item in self.checker.closures.file_names(block).items() if item.id in needed}
        in_use = {item.id for name, item in left.items() if _in_use(block, name, item)}
        return {name: item for name, item in left.items() if _in_use(block, name, item) or item.id not in in_use}

    def _needed(self, block: BlockDef, bound: tuple[str, ...]) -> frozenset[int]:
        """The axes and consts of files, by id, that a call which gives those of these names leaves as they are."""
        key = (block, bound)
        if key in self.needed:
            return self.needed[key]
        self.needed[key] = frozenset()  # of a block that calls itself, which is an error
        names = self.checker.closures.file_names(block)
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
                left += self.checker.closures.parts(id)
        self.needed[key] = frozenset(id for id in found if not given or not self.checker.closures.hangs_on(id, given))
        return self.needed[key]

    def _could_be_one(self, block: BlockDef, mine: Axis | Const, theirs: Axis | Const) -> bool:
        """Whether the one could stand for the other in the block, and is not so already."""
        if isinstance(mine, Axis) != isinstance(theirs, Axis):
            return _is_size(mine) and _is_size(theirs) and (isinstance(theirs, Axis) or self._counts(block, theirs))
        if isinstance(mine, Axis) and isinstance(theirs, Axis) and mine.kind is not theirs.kind:
            return False
        formula = self.checker.closures.formula(mine.id)
        return formula is None or isinstance(formula, Literal) or formula != self.checker.closures.formula(theirs.id)

    def _counts(self, block: BlockDef, const: Const) -> bool:
        """Whether sizes of the block, or the passes of a repeat in it or in what it calls, hang on a const."""
        counting, seen, left = {axis.id for axis in self.checker.closures.of(block)[0]}, {block}, [block]
        while left:
            one = left.pop()
            module = one.module
            for node in walk(one.decl.body):
                if isinstance(node, s.RepeatStatement):
                    names = {each.text for each in walk(node.count) if isinstance(each, s.Name)} - set(one.generics)
                    counting.update(module.consts[name].id for name in names if name in module.consts)
            called = {module.blocks[name] for name, _ in one.mentions.calls if name in module.blocks} - seen
            seen |= called
            left += called
        return const.id in counting or any(self.checker.closures.hangs_on(id, {const.id}) for id in counting)

    def _differ(self, block: str, mine: Axis | Const, theirs: Axis | Const) -> bool:
        """Whether a size of the block is another than with the one of this file."""
        one, other = _number(mine), _number(theirs)
        if one is None or other is None or one == other:
            return False
        axes, _ = self.checker.closures.of(self.module.blocks[block])
        return isinstance(theirs, Axis) or any(self.checker.closures.hangs_on(axis.id, {theirs.id}) for axis in axes)

    def _lifted(self, meeting: _SameName) -> list[bool]:
        """For each call of these blocks along the axis of this file, as an argument has it: whether it stands in a
        block that is itself called along it.
        """
        names = {self.module.blocks[callee].name for callee in meeting.theirs}
        found = []
        for own in self.module.own:
            alone = self.checker.alone.get(own)
            axis = alone.environment.signature.of_file.get(meeting.mine.id) if alone is not None else None
            for graph, call in _calls(alone.graph) if alone is not None and alone.graph is not None else ():
                if call.graph.name in names and any(axis in value.type.axes for value in call.args):
                    found.append(axis in graph.lifted)
        return found

    def _bracket_edits(self, callee: str, name: str, given: str) -> Iterator[tuple[Span, str]]:
        """The edits that give it in the brackets of each call."""
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
                text = f"{name} = {given}"
                yield Span(node.span.source, place, place), f", {text}" if node.brackets else f"[{text}]"


def _calls(graph: Graph) -> Iterator[tuple[Graph, Call | Scan]]:
    """Every call in a graph and where it stands, those in what it calls too, each graph once."""
    return ((each, node) for each in nested(graph) for node in each.nodes if isinstance(node, Call | Scan))


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


def _is_size(item: Axis | Const) -> bool:
    """Whether it is a depth, or a const that could be the size of one."""
    number = _number(item)
    return item.kind is Kind.DEPTH if isinstance(item, Axis) else number is None or (type(number) is int and number > 0)


def _kind(item: Axis | Const) -> str:
    return item.kind.value if isinstance(item, Axis) else "const"


def _number(item: Axis | Const) -> Value | None:
    return item.extent if isinstance(item, Axis) else item.value


def _declared(problem: Problem) -> set[Span]:
    """Where the axes are declared that a mistake is about."""
    if isinstance(problem, Relayed):
        return _declared(problem.problem)
    return {fact.span for fact in vars(problem).values() if isinstance(fact, Axis) and fact.span is not None}
