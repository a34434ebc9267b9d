"""Repeats: a loop over the passes, each of which takes what the one before gave.

The passes may differ: a repeat has a body for each kind of pass. What is carried must have one layout, whichever body
gave it and whichever takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Graph, Repeat
from ...compiler.graph.sources import Sources, over_passes
from ...compiler.sizes.axes import Axis
from ..plan.plan import Plan
from ..text.expressions import Code, Variable
from ..text.ranges import ANY
from ..text.statements import Begin, Block, Do, Statement
from ..text.values import FULL, NONE, SOME, Val, is_table, join_leading, kind_of, needed, places
from ..text.writing import is_one_of
from .calls import CallCode, sources_of


class RepeatCode(CallCode):
    """Emits repeats."""

    def _repeat(self, node: Repeat) -> None:
        plans = [self.program.plan(body) for body in node.bodies]
        vals = self._enter(node, plans)
        self._agree(plans, node.carried)
        if node.index is not None and self.counts(node):
            self.counters[node.index] = Variable(node.index.name)
        keywords = [self.keywords(plan, body, {}, {}) for plan, body in zip(plans, node.bodies, strict=True)]
        hang = over_passes([sources_of(plan) for plan in plans], node.carried)
        leading = self._leading(node, plans, vals, hang)
        extra = [self.named(val) if not val.number else val for val in vals[node.carried :]]
        targets = self._begin(node, vals[: node.carried])
        self.lines.append(self.loop(node, plans, targets, [val.code for val in extra], keywords))
        self.release(node.args)
        self._leave(node, plans, vals, hang, targets, leading)

    def _enter(self, node: Repeat, plans: Sequence[Plan]) -> list[Val]:
        """The arguments, as all bodies take them; each body is emitted."""
        if node.index is not None and not self.program.has_list(node):
            for plan, body in zip(plans, node.bodies, strict=True):
                for const, theirs in self.program.bindings[id(body)][1].items():
                    if theirs == node.index:
                        plan.late[const] = None
        for plan, body in zip(plans, node.bodies, strict=True):
            self._late(plan, body, {})
        vals: list[Val] = []
        for plan, body in zip(plans, node.bodies, strict=True):
            written = len(self.lines)
            found = self._arguments(node, plan, body, {})
            if vals:
                del self.lines[written:]
            vals = vals or found
            if not self.file.knows(plan):
                self.file.emit(plan)
        return vals

    def _agree(self, plans: Sequence[Plan], carried: int) -> None:
        """What one pass returns, the next one takes, whichever bodies these are."""
        for plan in plans:
            for place in range(carried):
                for other in plans:
                    state = other.outputs[place]
                    assert state is not None
                    change = dict(zip(other.axes, plan.axes, strict=False)) if other is not plan else {}
                    taken = plan.inputs[place]
                    taken.broadcast |= {change.get(axis, axis) for axis in state.broadcast}
                    leading = state.leading
                    taken.leading = leading if taken.leading is None or taken.leading == leading else SOME
                    taken.in_range = taken.in_range and state.in_range

    def _leading(
        self, node: Repeat, plans: Sequence[Plan], vals: list[Val], hang: Sequence[Sources]
    ) -> dict[int, Code]:
        """Of each result that may lose leading dimensions, the code of those that it must have.

        Told before the loop: what tells them goes round.
        """
        leading: dict[int, Code] = {}
        for place in _losing(plans, vals, hang):
            if not self.reads_left(node.outs[place]) and node.outs[place].id not in self.plan.captured:
                continue
            shape = self.leading_shape(vals, hang[place])
            assert shape is not None
            leading[place] = shape if shape.variable else self.let("lead", Val(shape, number=True)).code
        return leading

    def by_pass(
        self, node: Repeat, counter: Variable, calls: Sequence[Code], targets: Sequence[Variable]
    ) -> list[Statement]:
        """What the passes of a loop do: each kind of pass has its call."""
        comment = ", ".join(self.shown(self.core(value.type.axes)) for value in node.outs)
        done = [Do(code, tuple(targets), comment) for code in calls]
        if len(done) == 1:
            return [*done]
        found: list[Statement] = []
        for kind, each in enumerate(done[:-1]):
            these = [place for place, which in enumerate(node.variant) if which == kind]
            condition = Code.of(is_one_of("{}", these), counter.code)
            found.append(Block(Code.of("elif {}" if kind else "if {}", condition), [each]))
        return [*found, Block(Code("else"), done[-1:])]

    def _begin(self, node: Repeat, carried: Sequence[Val]) -> list[Variable]:
        """The variables of what is carried, with their first values."""
        variables = tuple(Variable(out.name or "x", lasting=True) for out in node.outs)
        self.lines.append(
            Begin(variables, tuple(val.code for val in carried), tuple(self.shown(val.axes) for val in carried))
        )
        return [*variables]

    def _leave(
        self, node: Repeat, plans: Sequence[Plan], vals: Sequence[Val], hang: Sequence[Sources],
        targets: Sequence[Variable], leading: dict[int, Code],
    ) -> None:  # fmt: skip
        """The results, as they lie behind the loop."""
        after = [self._broadcast_after(plan, node.bodies[place]) for place, plan in enumerate(plans)]
        for place, (out, target) in enumerate(zip(node.outs, targets, strict=True)):
            val = vals[place]
            broadcast = val.broadcast.union(*(made[place] for made in after))
            if place in leading:
                own = [Code.of(f"*{{}}.shape[-{len(val.axes)}:]", target.code)] if val.axes else []
                shape = [Code.of("*{}", leading[place]), *own]
                self.do(self.expanded(Val(target.code), shape), target, comment=self.shown(val.axes))
            result = replace(
                val, code=target.code, broadcast=broadcast, kind=kind_of(out), table=is_table(out),
                leading=join_leading(vals[number].leading for number in hang[place]),
                needs=needed(vals[number].needs for number in hang[place]),
                bounds=ANY,
            )  # fmt: skip
            self._keep(out, result)
            if out.id in self.plan.captured:
                self.record(out, result)

    def _broadcast_after(self, plan: Plan, body: Graph) -> list[set[Axis]]:
        """Of each result of a pass, the axes that may be of size 1."""
        own = self.program.bindings[id(body)][0]
        return [{own[axis] for axis in state.broadcast} for state in plan.outputs if state is not None]


def _losing(plans: Sequence[Plan], vals: Sequence[Val], hang: Sequence[Sources]) -> list[int]:
    """The results of a repeat that may lack leading dimensions of what they hang on: the value that a pass makes
    anew has only those of what it is made of.
    """
    wanted = [{number for number in found if vals[number].leading != NONE} for found in hang]
    losing = {
        place for place, found in enumerate(wanted) if vals[place].leading != FULL and not found <= {place}
    }  # if there is no pass

    def made(plan: Plan, place: int) -> set[int]:
        """The arguments whose leading dimensions the value of one pass has."""
        state = plan.outputs[place]
        assert state is not None
        if state.leading == FULL:
            return wanted[place]
        return {
            number
            for source in places(state.needs)
            for number in (wanted[source] if source < len(wanted) else {source})
            if source not in losing
        }

    while more := {
        place
        for place, found in enumerate(wanted)
        if place not in losing and not all(found <= made(plan, place) for plan in plans)
    }:
        losing |= more
    return sorted(place for place in losing if not vals[place].number)
