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
from ..plan.plan import ClassPlan, InputState, Plan
from ..text.expressions import Code, Variable
from ..text.ranges import ANY
from ..text.statements import Begin, Block, Do, Statement
from ..text.values import FULL, NONE, Val, is_table, join_leading, kind_of, needed, places
from ..text.writing import is_one_of
from .calls import arguments, keywords, leading_shape, sources_of
from .layout import MemoryLayout


def repeat(body: MemoryLayout, node: Repeat) -> None:
    plans = [body.program.plan(graph) for graph in node.bodies]
    vals = _enter(body, node, plans)
    made = [body.file.lowered(plan) for plan in plans]
    _agree(body, plans, made, node.carried)
    if node.index is not None and body.counts(node):
        body.counters[node.index] = Variable(node.index.name)
    words = [keywords(body, *each, {}, {}) for each in zip(made, plans, node.bodies, strict=True)]
    hang = over_passes([*map(sources_of, made)], node.carried)
    leading = _leading(body, node, made, vals, hang)
    extra = [body.named(val) if not val.number else val for val in vals[node.carried :]]
    targets = _begin(body, node, vals[: node.carried])
    body.lines.append(body.loop(node, plans, targets, [val.code for val in extra], words))
    body.release(node.args)
    _leave(body, node, made, vals, hang, targets, leading)


def _enter(body: MemoryLayout, node: Repeat, plans: Sequence[Plan]) -> list[Val]:
    """The arguments, as all bodies take them."""
    vals: list[Val] = []
    for plan, graph in zip(plans, node.bodies, strict=True):
        written = len(body.lines)
        found = arguments(body, node, plan, graph, {})
        if vals:
            del body.lines[written:]
        vals = vals or found
    return vals


def _agree(body: MemoryLayout, plans: Sequence[Plan], made: Sequence[ClassPlan], carried: int) -> None:
    """What one pass returns, the next one takes, whichever bodies these are."""
    for plan in plans:
        for place in range(carried):
            for other, its in zip(plans, made, strict=True):
                state = its.outputs[place]
                change = dict(zip(other.axes, plan.axes, strict=False)) if other is not plan else {}
                broadcast = frozenset(change.get(axis, axis) for axis in state.broadcast)
                body.file.tell(plan, place, InputState(broadcast, state.leading, state.in_range, given=True))


def _leading(
    body: MemoryLayout, node: Repeat, made: Sequence[ClassPlan], vals: list[Val], hang: Sequence[Sources]
) -> dict[int, Code]:
    """Of each result that may lose leading dimensions, the code of those that it must have.

    Told before the loop: what tells them goes round.
    """
    leading: dict[int, Code] = {}
    for place in _losing(made, vals, hang):
        if not body.reads_left(node.outs[place]) and node.outs[place].id not in body.plan.captured:
            continue
        shape = leading_shape(body, vals, hang[place])
        assert shape is not None
        leading[place] = shape if shape.variable else body.let("lead", Val(shape, number=True)).code
    return leading


def by_pass(
    body: MemoryLayout, node: Repeat, counter: Variable, calls: Sequence[Code], targets: Sequence[Variable]
) -> list[Statement]:
    """What the passes of a loop do: each kind of pass has its call."""
    comment = ", ".join(body.shown(body.core(value.type.axes)) for value in node.outs)
    done = [Do(code, tuple(targets), comment) for code in calls]
    if len(done) == 1:
        return [*done]
    found: list[Statement] = []
    for kind, each in enumerate(done[:-1]):
        these = [place for place, which in enumerate(node.variant) if which == kind]
        condition = Code.of(is_one_of("{}", these), counter.code)
        found.append(Block(Code.of("elif {}" if kind else "if {}", condition), [each]))
    return [*found, Block(Code("else"), done[-1:])]


def _begin(body: MemoryLayout, node: Repeat, carried: Sequence[Val]) -> list[Variable]:
    """The variables of what is carried, with their first values."""
    variables = tuple(Variable(out.name or "x", lasting=True) for out in node.outs)
    body.lines.append(
        Begin(variables, tuple(val.code for val in carried), tuple(body.shown(val.axes) for val in carried))
    )
    return [*variables]


def _leave(body: MemoryLayout, node: Repeat, made: Sequence[ClassPlan], vals: Sequence[Val], hang: Sequence[Sources],
    targets: Sequence[Variable], leading: dict[int, Code],
) -> None:  # fmt: skip
    """The results, as they lie behind the loop."""
    after = [_broadcast_after(body, each, graph) for each, graph in zip(made, node.bodies, strict=True)]
    for place, (out, target) in enumerate(zip(node.outs, targets, strict=True)):
        val = vals[place]
        broadcast = val.broadcast.union(*(found[place] for found in after))
        if place in leading:
            own = [Code.of(f"*{{}}.shape[-{len(val.axes)}:]", target.code)] if val.axes else []
            shape = [Code.of("*{}", leading[place]), *own]
            body.do(body.expanded(Val(target.code), shape), target, comment=body.shown(val.axes))
        result = replace(
            val, code=target.code, broadcast=broadcast, kind=kind_of(out), table=is_table(out),
            leading=join_leading(vals[number].leading for number in hang[place]),
            needs=needed(vals[number].needs for number in hang[place]),
            bounds=ANY,
        )  # fmt: skip
        body.keep(out, result)
        if out.id in body.plan.captured:
            body.record(out, result)


def _broadcast_after(body: MemoryLayout, made: ClassPlan, graph: Graph) -> list[set[Axis]]:
    """Of each result of a pass, the axes that may be of size 1."""
    own = body.program.bindings[id(graph)][0]
    return [{own[axis] for axis in state.broadcast} for state in made.outputs]


def _losing(plans: Sequence[ClassPlan], vals: Sequence[Val], hang: Sequence[Sources]) -> list[int]:
    """The results of a repeat that may lack leading dimensions of what they hang on: the value that a pass makes
    anew has only those of what it is made of.
    """
    wanted = [{number for number in found if vals[number].leading != NONE} for found in hang]
    losing = {
        place for place, found in enumerate(wanted) if vals[place].leading != FULL and not found <= {place}
    }  # if there is no pass

    def made(plan: ClassPlan, place: int) -> set[int]:
        """The arguments whose leading dimensions the value of one pass has."""
        state = plan.outputs[place]
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
