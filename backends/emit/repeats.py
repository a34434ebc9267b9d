"""Repeats: a loop over the passes, each of which takes what the one before gave.

The passes may differ: a repeat has a body for each kind of pass. What is carried must have one layout, whichever body
gave it and whichever takes it.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Graph, Repeat
from ...compiler.graph.sources import Sources, over_passes
from ...compiler.sizes.axes import Axis
from ..plan.plan import Plan
from ..text.expressions import Code
from ..text.ranges import ANY
from ..text.values import FULL, NONE, SOME, Val, is_table, join_leading, kind_of, needed, places
from .calls import CallCode, sources_of


class RepeatCode(CallCode):
    """Emits repeats."""

    def _repeat(self, node: Repeat) -> None:
        plans = [self.program.plan(body) for body in node.bodies]
        vals = self._enter(node, plans)
        self._agree(plans, node.carried)
        if node.index is not None and self.counts(node):
            self.counters[node.index] = self.namer.give(node.index.name)
        keywords = [self.keywords(plan, body, {}, {}) for plan, body in zip(plans, node.bodies, strict=True)]
        hang = over_passes([sources_of(plan) for plan in plans], node.carried)
        leading = self._leading(node, plans, vals, hang)
        extra = [self.named(val) if not val.number else val for val in vals[node.carried :]]
        targets = self._begin(node, vals[: node.carried])
        loop = self.loop(node, plans, targets, [val.text for val in extra], keywords)
        self.release(node.args[node.carried :])  # each pass reads them: the loop's own names are others
        self.lines += [self.indent + text for text in loop]
        if node.index in self.counters:
            self.namer.free(self.counters[node.index])
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

    def _leading(self, node: Repeat, plans: Sequence[Plan], vals: list[Val], hang: Sequence[Sources]) -> dict[int, str]:
        """Of each result that may lose leading dimensions, the code of those that it must have.

        Told before the loop: what tells them goes round.
        """
        leading: dict[int, str] = {}
        for place in _losing(plans, vals, hang):
            if not self.reads_left(node.outs[place]) and node.outs[place].id not in self.plan.captured:
                continue
            shape = self.leading_shape(vals, hang[place]).removeprefix("*")
            leading[place] = shape if shape.isidentifier() else self.namer.give("lead")
            if shape != leading[place]:
                self.line(f"{leading[place]} = {shape}")
        return leading

    def _begin(self, node: Repeat, carried: Sequence[Val]) -> list[str]:
        """The variables of what is carried, with their first values."""
        before = [(val.text, val.names) for val in carried]
        # Values that enter unchanged must outlive the loop's own names.
        self.release(node.args[: node.carried])
        targets: list[str] = []
        for out, (text, _) in zip(node.outs, before, strict=True):
            wish = out.name or "x"
            reuse = text.isidentifier() and not keyword.iskeyword(text) and not self.namer.is_taken(text)
            if reuse:
                self.namer.take(text)
            targets.append(text if reuse else self.namer.give(wish))
        changed = [(t, text, val) for t, (text, _), val in zip(targets, before, carried, strict=True) if t != text]
        if len(changed) > 1:  # at once: an initial value may be another one's variable
            self.line(f"{', '.join(t for t, _, _ in changed)} = {', '.join(text for _, text, _ in changed)}")
        elif changed:
            self.line(f"{changed[0][0]} = {changed[0][1]}", self.shown(changed[0][2].axes))
        return targets

    def _leave(
        self, node: Repeat, plans: Sequence[Plan], vals: Sequence[Val], hang: Sequence[Sources],
        targets: Sequence[str], leading: dict[int, str],
    ) -> None:  # fmt: skip
        """The results, as they lie behind the loop."""
        after = [self._broadcast_after(plan, node.bodies[place]) for place, plan in enumerate(plans)]
        for place, (out, target) in enumerate(zip(node.outs, targets, strict=True)):
            val = vals[place]
            broadcast = val.broadcast.union(*(made[place] for made in after))
            if place in leading:
                own = f", *{target}.shape[-{len(val.axes)}:]" if val.axes else ""
                self.line(
                    f"{target} = {self.expanded(Val(Code(target)), f'*{leading[place]}{own}')}", self.shown(val.axes)
                )
            result = replace(
                val, code=Code(target), broadcast=broadcast, kind=kind_of(out), table=is_table(out),
                leading=join_leading(vals[number].leading for number in hang[place]),
                needs=needed(vals[number].needs for number in hang[place]),
                names=frozenset({target}), bounds=ANY,
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
