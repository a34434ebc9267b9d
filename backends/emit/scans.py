"""Scans: a loop over the items of an axis, a call of a block at each of them, and its results stacked.

A *state* is an argument that a result of the step before takes the place of. From the first step on it has the shape
that it keeps: the batch, and of the axes that the scan lifts over those along which it varies (size 1 along others).
What varies along none of these has none of them, as any argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...compiler.graph.nodes import Apply, Scan, reads
from ...compiler.graph.sources import Sources, over_steps
from ...compiler.graph.values import Role, Scalar, Value
from ...compiler.sizes.axes import Axis
from ..plan.plan import ClassPlan, InputState, OutputState, Plan
from ..text.expressions import TERNARY, Code, Variable, call
from ..text.statements import For
from ..text.values import FULL, NONE, SOME, Val, is_table, join_leading, kind_of, needed, places
from .calls import is_bare, keywords, leading_shape, sources_of
from .layout import MemoryLayout, length, plan_axes, shape_of


@dataclass(slots=True)
class _Loop:
    """One scan as it is emitted.

    formals:   of each argument the axes that the block declares, as the caller calls them.
    spread:    the axes that the scan lifts over, outermost first.
    args:      the arguments; of a state its first value.
    broadcast: of each argument the axes of `spread` that it has, but not surely all their items.
    shapes:    of each state, the sizes of its dimensions, leading ones first.
    feeds:     what results hang on, all steps together.
    states:    place of an argument -> place of the result that is its next value.
    carriers:  the other way round.
    """

    node: Scan
    plan: Plan
    own: Mapping[Axis, Axis]
    to_caller: Mapping[Axis, Axis]
    formals: list[list[Axis]]
    spread: tuple[Axis, ...]
    args: list[Val]
    broadcast: list[frozenset[Axis]]
    states: dict[int, int]
    carriers: dict[int, int]
    feeds: tuple[Sources, ...]
    shapes: dict[int, list[Code]]
    made: ClassPlan = field(default_factory=ClassPlan)

    def given(self, place: int, order: Iterable[Axis]) -> tuple[Axis, ...]:
        """The dimensions of an argument: without those lifted over, if it has none of these."""
        return (*(() if is_bare(self.args[place], self.spread) else self.spread), *order)

    def outward(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """Axes of the class as the caller calls them."""
        return tuple(self.to_caller.get(self.own[axis], self.own[axis]) for axis in axes)

    def output(self, place: int) -> OutputState:
        return self.made.outputs[place]

    def as_state(self, place: int) -> bool:
        """Whether a result is collected in the shape of the state that it becomes: if it hangs on how that began."""
        return self.carriers.get(place) in self.feeds[place]

    def hang(self, place: int) -> Sources:
        """What a result of all steps hangs on: in this call, where the class may know of more, which others give it."""
        return self.feeds[place] if self.as_state(place) else over_steps(sources_of(self.made), self.states)[place]

    def has_all(self, place: int) -> bool:
        """Whether a step gives the next value of a state with all its dimensions ahead of those of the block."""
        output, carrier = self.output(place), self.carriers[place]
        if output.leading == FULL or is_bare(self.args[carrier], self.spread):
            return True
        having = {number for number, val in enumerate(self.args) if not is_bare(val, self.spread)}
        made = set[int]()
        for number in places(output.needs):
            made |= self.feeds[self.states[number]] | {number} if number in self.states else {number}
        return (self.feeds[place] | {carrier}) & having <= made


def scan(body: MemoryLayout, node: Scan) -> None:
    """A block called at each index of an axis in order: a loop, whose results are stacked."""
    loop = _loop_of(body, node)
    _take(body, loop)
    _begin_states(body, loop)
    _tell(body, loop)
    loop.made = body.file.lowered(loop.plan)
    last = [place in loop.carriers and _left_alone(body, out, node) for place, out in enumerate(node.outs)]
    collected = [
        out if not last[place] and (body.reads_left(out) or out.id in body.plan.captured) else None
        for place, out in enumerate(node.outs)
    ]
    ends, lists = _steps(body, loop, collected)
    several = sum(out is not None for out in collected) > 1  # then what tells a shape stays until all are stacked
    if not several:
        body.release(node.args)
    for place, out in enumerate(node.outs):
        if last[place]:
            carrier = loop.carriers[place]
            body.keep(out, replace(loop.args[carrier], code=ends[carrier].code))
            continue
        val = _scanned(body, loop, place, out)
        if collected[place] is None:
            body.keep(out, val)
            continue
        bound = _stacked(body, loop, place, lists[place], val, out)
        body.keep(out, bound)
        if out.id in body.plan.captured:
            body.record(out, bound)
    if several:
        body.release(node.args)


def _left_alone(body: MemoryLayout, out: Value, node: Scan) -> bool:
    """Whether the last value of a state is all that is read of it: what a step of decoding goes on from."""
    along = body.along(node.axis)
    if body.graph.stepped is None or (along is not None and along.size > 1):  # the last chunk may be open
        return False
    read = [each for each in body.graph.nodes if out in reads(each)]
    given = any(output.value is out for output in body.graph.outputs) or out.id in body.plan.captured
    left = all(isinstance(each, Apply) and each.op == "leave" and each.axes == (node.axis,) for each in read)
    return bool(read) and left and not given


def _loop_of(body: MemoryLayout, node: Scan) -> _Loop:
    """What the arguments are, and what the scan lifts over: dimensions of theirs that no formal asks for."""
    graph, axis, to_caller = node.graph, node.axis, dict(node.axes)
    vals = [body.env[arg.id] for arg in node.args]
    formals = [[to_caller.get(a, a) for a in item.value.type.axes if a not in graph.lifted] for item in graph.inputs]
    named = set(to_caller.values()) - set(graph.lifted)
    for place, (arg, formal) in enumerate(zip(node.args, formals, strict=True)):
        unlike = named & arg.type.broadcast_axes - {*formal, axis, *vals[place].broadcast}
        vals[place] = body.first(vals[place], [a for a in vals[place].axes if a in unlike])
    spread: dict[Axis, None] = {}
    for val, formal in zip(vals, formals, strict=True):
        known = {*formal, axis, *(set(to_caller.values()) & val.broadcast - frozenset(graph.lifted))}
        spread.update(dict.fromkeys(a for a in val.axes if a not in known))
    read = [out for out in node.outs if body.reads_left(out) or out.id in body.plan.captured]
    idle = [a for a in spread if not any(a in out.type.axes for out in read)]  # nothing that is read has these
    over = body.spreads[body.place] = tuple(a for a in spread if a not in idle)
    states = dict(node.states)
    args = [body.first(val, [a for a in idle if a in val.axes]) for val in vals]
    return _Loop(
        node, body.program.plan(graph), body.program.bindings[id(graph)][0], to_caller, formals,
        over, args, [val.broadcast & {*over} for val in args],
        states, {result: place for place, result in states.items()},
        over_steps(body.program.dependence.of_results(graph), states), {},
    )  # fmt: skip


def _take(body: MemoryLayout, loop: _Loop) -> None:
    """Arguments other than states as each step wants them: those that run along the axis, and the rest."""
    axis = loop.node.axis
    for place, (item, formal) in enumerate(zip(loop.node.graph.inputs, loop.formals, strict=True)):
        val, kind, table = loop.args[place], kind_of(item.value), is_table(item.value)
        if kind is Scalar.REAL:
            val = body.real(val, table)
        if place in loop.node.steps:
            if val.number:  # each step has the same one
                dtype = (body.float64 if table else body.dtype) if kind is Scalar.REAL else None
                val = Val(body.filled(shape_of([body.extent(axis)]), val.code, kind, dtype), (axis,), kind=kind)
            val = body.full(val, [axis, *(a for a in formal if a in val.broadcast)])
            val = body.named(body.align(val, loop.given(place, (axis, *formal))))
        elif place not in loop.states and item.value.role is not Role.CONSTANT:
            if val.number:
                val = body.array(val, formal, kind, table)
            val = body.named(body.align(val, loop.given(place, formal)))
        loop.args[place] = val


def _begin_states(body: MemoryLayout, loop: _Loop) -> None:
    """The first values of states, in the shape that they keep."""
    hang = {place: loop.feeds[result] | {place} for place, result in loop.states.items()}
    shapes = {place: leading_shape(body, loop.args, found) for place, found in hang.items()}
    broadcast = {
        (place, a): _broadcast_size(body, loop, found, a) for place, found in hang.items() for a in loop.spread
    }
    args = list(loop.args)
    for place, shape in shapes.items():
        item, val, formal = loop.node.graph.inputs[place], args[place], loop.formals[place]
        kind, table = kind_of(item.value), is_table(item.value)
        fed = [args[number] for number in hang[place]]
        leading = join_leading(one.leading for one in fed)
        order = (*(() if all(is_bare(one, loop.spread) for one in fed) else loop.spread), *formal)
        same = frozenset(a for a in order if a in loop.spread and not any(one.has(a) for one in fed))
        sizes = [Code.of("*{}", shape)] if shape is not None else []
        sizes += [broadcast[place, a] if a in same else body.extent(a) for a in order]
        loop.shapes[place] = sizes
        if val.number:
            code = body.filled(shape_of(sizes), val.code, kind, body.dtype_of(kind, table))
            val = Val(code, order, kind=kind, table=table)
        else:
            val = body.align(val, order)
            if val.broadcast - same or (leading != NONE and val.leading != FULL):
                val = replace(val, code=body.expanded(val, sizes))
        loop.args[place] = replace(val, broadcast=same, leading=leading)


def _broadcast_size(body: MemoryLayout, loop: _Loop, of: Iterable[int], axis: Axis) -> Code:
    """How long these arguments are along an axis that the scan lifts over, if none surely has all its items."""
    if any(loop.args[place].has(axis) for place in of):
        return Code("")
    tell = [place for place in sorted(of) if axis in loop.broadcast[place]]
    for place in tell:
        loop.args[place] = body.named(loop.args[place])
    sizes = [length(loop.args[place], axis) for place in tell]
    if len(sizes) < 2:
        return sizes[0] if sizes else Code("1")
    return Code.of("{}[0]", call(f"{body.words.library}.broadcast_shapes", *(shape_of([size]) for size in sizes)))


def _tell(body: MemoryLayout, loop: _Loop) -> None:
    """What the block's class learns from these arguments."""
    any_leading = any(val.leading != NONE for val in loop.args)
    for place, (val, formal) in enumerate(zip(loop.args, loop.formals, strict=True)):
        whole = (val.leading == FULL or not any_leading) and all(val.has(a) for a in loop.spread)
        given = NONE if is_bare(val, loop.spread) else FULL if whole else SOME
        back = dict(zip(formal, plan_axes(loop.plan, place), strict=True))
        broadcast = frozenset(back[a] for a in formal if a in val.broadcast)
        body.file.tell(loop.plan, place, InputState(broadcast, given, in_range=False, given=True))


def _steps(
    body: MemoryLayout, loop: _Loop, collected: Sequence[Value | None]
) -> tuple[dict[int, Variable], dict[int, Variable]]:
    """The loop itself; gives the variables of states, and the lists that collect the results that are read."""
    node, graph = loop.node, loop.node.graph
    states = {place: Variable(graph.inputs[place].name, lasting=True) for place in loop.states}
    for place, variable in states.items():
        body.do(loop.args[place].code, variable, comment=body.shown(loop.args[place].axes))
    names = [out and (out.name or output.name) for out, output in zip(collected, graph.outputs, strict=True)]
    lists = {
        place: Variable(f"{name}_steps" if name else "steps", lasting=True)
        for place, (out, name) in enumerate(zip(collected, names, strict=True))
        if out
    }
    for variable in lists.values():
        body.do(Code("[]"), variable)
    axis = node.axis
    words = keywords(body, loop.made, loop.plan, graph, loop.to_caller, dict(node.consts))
    items = {place: Variable(f"{graph.inputs[place].name}_item", lasting=True) for place in node.steps}
    parts = [body.write(body.words.items, loop.args[place].code, loop.args[place].dim(axis)) for place in node.steps]
    over = parts[0] if parts else call("range", body.extent(axis))
    if len(parts) > 1:
        together = Variable("items", lasting=True)
        body.do(call("zip", *parts, strict="True"), together)
        over = together.code
    counters = tuple(items.values()) or (Variable(f"{axis.name}_index"),)
    with body.looping() as steps:
        given = []
        for place, val in enumerate(loop.args):
            taken = items.get(place) or states.get(place)
            given.append(val.code if taken is None else taken.code)
        code = body.invoke(node, loop.plan, given, words)
        targets: list[Variable | None] = []
        for place, output in enumerate(graph.outputs):
            made = Variable(output.name or "y", lasting=True) if place in lists else None
            targets.append(states[loop.carriers[place]] if place in loop.carriers else made)
        body.do(code, *targets)
        for place, target in enumerate(targets):
            if target is not None:
                collect = Code.of("{}.append({})", lists[place].code, target.code) if place in lists else None
                _after_step(body, loop, place, target, collect)
    body.lines.append(For(counters, over, steps))
    return states, lists


def _after_step(body: MemoryLayout, loop: _Loop, place: int, target: Variable, collect: Code | None) -> None:
    """A result of one step: an array, collected, and of a state as the next step takes it."""
    output, graph, carrier = loop.output(place), loop.node.graph, loop.carriers.get(place)
    value = graph.outputs[place].value
    becomes = value if carrier is None else graph.inputs[carrier].value
    kind, table = kind_of(becomes), is_table(becomes)
    if output.number:  # the same at each step
        body.do(body.filled(Code("()"), target.code, kind, body.dtype_of(kind, table)), target)
    elif kind is Scalar.REAL:
        made = Val(target.code, kind=kind_of(value), table=is_table(value))
        cast = body.real(made, table)
        if cast is not made:
            body.do(cast.code, target)
    if collect is not None and not loop.as_state(place):
        body.do(collect)
    if carrier is None:
        return
    axes, formal, shape = loop.outward(output.axes), tuple(loop.formals[carrier]), loop.shapes[carrier]
    if not output.number and axes != formal:
        body.do(body.permute(Val(target.code, axes), formal).code, target, comment=body.shown(formal))
    if output.broadcast or (shape and output.number) or not loop.has_all(place):
        body.do(body.expanded(Val(target.code), shape), target)
    if collect is not None and loop.as_state(place):
        body.do(collect)


def _scanned(body: MemoryLayout, loop: _Loop, place: int, out: Value) -> Val:
    """What is known of a result of all steps; its code is to come."""
    output, spread, hang = loop.output(place), loop.spread, loop.hang(place)
    graph, carrier = loop.node.graph, loop.carriers.get(place)
    if carrier is not None and loop.as_state(place):
        state = loop.args[carrier]
        ahead, axes = tuple(a for a in state.axes if a in spread), tuple(loop.formals[carrier])
        broadcast, leading = state.broadcast, state.leading
    else:
        fed = [loop.args[number] for number in hang]
        ahead, axes = () if all(is_bare(val, spread) for val in fed) else spread, loop.outward(output.axes)
        broadcast = frozenset(a for a in ahead if not any(val.has(a) for val in fed)) | {
            *loop.outward(output.broadcast)
        }
        leading = join_leading(NONE if val.leading == NONE else output.leading for val in fed)
    table = is_table((graph.outputs[place] if carrier is None else graph.inputs[carrier]).value)  # that of a step
    needs = needed(body.env[loop.node.args[number].id].needs for number in hang)
    return Val(Code(""), (*ahead, loop.node.axis, *axes), broadcast, leading, kind_of(out), table, False, needs)


def _stacked(body: MemoryLayout, loop: _Loop, place: int, collected: Variable, val: Val, out: Value) -> Val:
    """The results of all steps in one array; there may be no step."""
    axis = loop.node.axis
    sizes = ["0" if a == axis else "1" if a in val.broadcast else body.extent(a) for a in val.axes]
    leading = leading_shape(body, loop.args, loop.hang(place)) if val.leading != NONE else None
    shape = shape_of([Code.of("*{}", leading), *sizes] if leading else sizes)
    empty = body.filled(shape, Code("0"), val.kind, body.dtype_of(val.kind, val.table))
    code = body.write(body.words.stacked, collected.code, val.dim(axis))
    val = replace(val, code=Code.of("{} if {} else {}", code, collected.code, empty, level=TERNARY))
    return body.let(out.name or "x", body.real(val, is_table(out)) if val.kind is Scalar.REAL else val)
