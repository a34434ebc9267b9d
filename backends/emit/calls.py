"""Calls of blocks, and of ops of the user's own: arguments brought into the callee's layout."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Call, Graph, Input, Repeat
from ...compiler.graph.sources import Sources
from ...compiler.graph.values import IndexInto, Role, Scalar, Value
from ...compiler.sizes.axes import Axis, Const, ConstOf, Static
from ..plan.plan import ClassPlan, InputState, OutputState, Plan
from ..text.expressions import Code, Variable, call, joined
from ..text.names import DEVICE, DTYPE
from ..text.numbers import static_code
from ..text.ranges import ANY
from ..text.statements import Place
from ..text.values import FULL, NONE, SOME, Val, is_table, join_leading, kind_of, needed, places
from .layout import MemoryLayout, leading_of, plan_axes, scope_of, shape_of


def arguments(
    body: MemoryLayout,
    node: Call | Repeat,
    plan: Plan,
    graph: Graph,
    to_caller: Mapping[Axis, Axis],
    spread: Sequence[Axis] = (),
) -> list[Val]:
    """The arguments of a call as the callee's layout wants them; the callee is told of them.

    spread: the axes over which the call lifts. What has neither these nor leading dimensions broadcasts by itself.
    """
    vals = [body.env[arg.id] for arg in node.args]
    arrays = [val for val in vals if not val.number]
    any_leading = any(val.leading != NONE for val in arrays)
    lifted = body.program.lifted(graph)
    keeps = bool(body.program.lifts(body.graph, node))  # what it keeps has all dimensions, whichever call made it
    prepared = []
    for place, (item, val) in enumerate(zip(graph.inputs, vals, strict=True)):
        formal = [to_caller.get(axis, axis) for axis in item.value.type.axes if axis not in lifted]
        back = dict(zip(formal, plan_axes(plan, place), strict=True))
        if item.value.role is Role.CONSTANT:
            prepared.append(val)
            continue
        kind, table = kind_of(item.value), is_table(item.value)
        absent = frozenset(back.values()) if is_optional(graph, item) else frozenset()  # it has no extent to be read
        if val.number and is_optional(graph, item):
            body.file.tell(plan, place, InputState(absent, given=True))
            prepared.append(val)
            continue
        if val.number:
            val = body.array(val, formal, kind, table)
        if kind is Scalar.REAL:
            val = body.real(val, table)
        idle = [axis for axis in val.axes if axis not in (*formal, *spread) and axis not in val.broadcast]
        val = body.first(val, idle)
        whole = (val.leading == FULL or not any_leading) and all(val.has(axis) for axis in spread)
        bare = is_bare(val, spread) and not keeps
        leading = NONE if bare else FULL if whole else SOME
        val = body.align(val, formal if bare else (*spread, *formal))
        broadcast = absent.union(back[axis] for axis in formal if axis in val.broadcast)
        element, in_range = item.value.type.element, True
        if isinstance(element, IndexInto):
            in_range = body.lies_in(val, to_caller.get(element.axis, element.axis))
        body.file.tell(plan, place, InputState(broadcast, leading, in_range, not val.left_out))
        prepared.append(val)
    return prepared


def _spread(body: MemoryLayout, node: Call, to_caller: Mapping[Axis, Axis]) -> tuple[Axis, ...]:
    """The axes over which the call lifts, as the arguments have them: dimensions that no formal asks for."""
    lifts = body.program.lifts(body.graph, node)
    if lifts:
        return lifts
    found: dict[Axis, None] = {}
    for item, arg in zip(node.graph.inputs, node.args, strict=True):
        formal = {to_caller.get(axis, axis) for axis in item.value.type.axes if axis not in node.graph.lifted}
        val = body.env[arg.id]
        # No call lifts over an axis that the callee has of its own, but for one that only sizes hang on. What does
        # not vary along such an axis may have it all the same.
        formal |= set(to_caller.values()) & (val.broadcast | arg.type.broadcast_axes) - set(node.graph.lifted)
        found.update(dict.fromkeys(axis for axis in val.axes if axis not in formal))
    return tuple(found)


def keywords(
    body: MemoryLayout,
    made: ClassPlan,
    plan: Plan,
    graph: Graph,
    to_caller: Mapping[Axis, Axis],
    consts: Mapping[Const, Static],
) -> list[Code]:
    """What a callee wants besides its arguments: extents, a device, a dtype, the number of a pass."""
    own_axes, own_consts = body.program.bindings[id(graph)]
    scope = scope_of(plan, body.file)
    found = []
    for axis in made.extents:
        mine = to_caller.get(own_axes[axis], own_axes[axis])
        found.append(Code.of("{}={}", scope.axes[axis].name, body.extent(mine)))
    for const in made.passed:
        theirs = own_consts[const]
        given = consts.get(theirs, ConstOf(theirs))
        found.append(Code.of("{}={}", scope.consts[const].name, body.static(given)))
    if made.device:
        found.append(Code.of("{}={}", DEVICE, body.device))
    if made.dtype:
        found.append(Code.of("{}={}", DTYPE, body.dtype))
    return found


def built(
    body: MemoryLayout,
    plan: Plan,
    graph: Graph,
    to_caller: Mapping[Axis, Axis],
    consts: Mapping[Const, Static],
    size: Callable[[Axis], Code],
    const_name: Callable[[Const], Code],
) -> list[Code]:
    """The sizes and consts that a callee is built with, in the caller's terms."""
    own_axes, own_consts = body.program.bindings[id(graph)]
    scope, made = scope_of(plan, body.file), body.file.constructor(plan)
    found = []
    for axis in plan.axes:
        mine = to_caller.get(own_axes[axis], own_axes[axis])
        if axis in made.sizes:
            found.append(Code.of("{}={}", scope.axes[axis].name, size(mine)))
        if axis in made.bounds:
            found.append(Code.of("{}={}", scope.bounds[axis].name, size(mine)))
    for const in made.numbers:
        own = own_consts[const]
        code = static_code(consts.get(own, ConstOf(own)), size, const_name)
        found.append(Code.of("{}={}", scope.consts[const].name, code))
    return found


def call_block(body: MemoryLayout, node: Call) -> None:
    graph = node.graph
    if graph.kind == "op":
        _foreign(body, node)
        return
    plan = body.program.plan(graph)
    to_caller, consts = dict(node.axes), dict(node.consts)
    spread = body.spreads[body.place] = _spread(body, node, to_caller)
    vals = arguments(body, node, plan, graph, to_caller, spread)
    made = body.file.lowered(plan)
    words = keywords(body, made, plan, graph, to_caller, consts)
    code = body.invoke(node, plan, _written(body, graph, scope_of(plan, body.file).inputs, vals), words)
    own_axes = body.program.bindings[id(graph)][0]
    outs, keeps = [], bool(body.program.lifts(body.graph, node))
    for state, out in zip(made.outputs, node.outs, strict=True):
        outs.append(_result(body, state, out, vals, own_axes, to_caller, spread, keeps))
    _bind_call(body, node, code, outs)


def _written(body: MemoryLayout, graph: Graph, names: Sequence[str], vals: Sequence[Val]) -> list[Code]:
    """The arguments as they are written: what may be left out goes by its name, where it is given at all."""
    found = []
    for item, name, val in zip(graph.inputs, names, vals, strict=True):
        if not is_optional(graph, item):
            found.append(val.code)
        elif not (val.number and item.default is not None and val.code == body.static(item.default)):
            found.append(Code.of("{}={}", name, val.code))
    return found


def _result(
    body: MemoryLayout,
    state: OutputState,
    out: Value,
    vals: list[Val],
    own: Mapping[Axis, Axis],
    to_caller: Mapping[Axis, Axis],
    spread: Sequence[Axis],
    keeps: bool,
) -> Val:
    """keeps: it may come from the cache, where it has all that the call lifts over."""
    fed = [vals[place] for place in places(state.needs) if not vals[place].number]
    needs = needed(vals[place].needs for place in places(state.needs))
    if state.number:
        return Val(Code(""), number=True, kind=kind_of(out), table=True, needs=needs)
    lifts = (keeps and state.leading != NONE) or any(set(val.axes) & set(spread) for val in fed)
    lifted = tuple(spread) if lifts else ()

    def rename(axis: Axis) -> Axis:
        return to_caller.get(own[axis], own[axis])

    broadcast = {rename(axis) for axis in state.broadcast} | {a for a in lifted if not any(val.has(a) for val in fed)}
    if keeps:  # what comes from the cache may have all its items along those that it varies over, or the one
        broadcast = (broadcast - set(lifted)) | (set(lifted) & set(out.type.axes))
    bounds = ANY
    if isinstance(out.type.element, IndexInto) and state.in_range:
        bounds = body.bounds.positions(out.type.element.axis)
    axes = (*lifted, *(rename(axis) for axis in state.axes))
    leading = join_leading(val.leading for val in fed)
    if leading == NONE and state.leading != NONE and (keeps or not lifted):  # it comes from the cache
        leading = SOME
    return Val(
        Code(""), axes, frozenset(broadcast), leading,
        kind_of(out), is_table(out), False, needs, bounds,
    )  # fmt: skip


def _bind_call(body: MemoryLayout, node: Call, code: Code, outs: list[Val]) -> None:
    if len(outs) == 1:
        val, out = replace(outs[0], code=code), node.outs[0]
        if body.program.plan(node.graph).on_path:  # done for what it records, whoever reads its result
            val = body.let(out.name or "x", val)
        body.finish(node, out, val)
        return
    body.release(node.args)
    if not outs:  # done for what it leaves in the cache
        body.do(code)
        return
    targets: list[Variable | None] = []
    for out, val in zip(node.outs, outs, strict=True):
        read = body.reads_left(out) > 0 or out.id in body.plan.captured
        variable = Variable(out.name or "x", lasting=True)
        targets.append(variable if read else None)
        body.keep(out, replace(val, code=variable.code) if read else val)
    body.do(code, *targets, comment=", ".join(body.shown(val.axes) for val in outs))
    for out in node.outs:
        if out.id in body.plan.captured:
            body.record(out, body.env[out.id])


def leading_shape(body: MemoryLayout, args: list[Val], of: Iterable[int]) -> Code | None:
    """The leading dimensions of these arguments together, as a shape; None where there are none.

    Arguments that tell them get names in `args`.
    """
    leading = [place for place in sorted(of) if args[place].leading != NONE and not args[place].absent]
    whole = [place for place in leading if args[place].leading == FULL]
    tell = whole[:1] or leading
    for place in tell:  # once: they are read below too
        args[place] = body.let("x", args[place], Place.NAMED)
    shapes = [leading_of(args[place]) for place in tell]
    if len(shapes) < 2:
        return shapes[0] if shapes else None
    together = call(f"{body.words.library}.broadcast_shapes", *shapes)  # none of them need have all of it
    return body.let("lead", Val(together, number=True)).code


def _foreign(body: MemoryLayout, node: Call) -> None:
    """A call of an op of the user's own: its inputs in memory order, declared axes at their extents; consts by name."""
    graph = node.graph
    to_caller = dict(node.axes)
    formals = [[to_caller.get(a, a) for a in item.value.type.axes if a not in graph.lifted] for item in graph.inputs]
    vals = [body.env[arg.id] for arg in node.args]
    spread: dict[Axis, None] = {}
    for val, formal in zip(vals, formals, strict=True):
        spread.update(dict.fromkeys(a for a in val.axes if a not in formal))
    args = []
    for item, val, formal in zip(graph.inputs, vals, formals, strict=True):
        if val.number:
            kind = kind_of(item.value)
            shape = shape_of([body.extent(axis) for axis in formal])
            args.append(body.filled(shape, val.code, kind, body.dtype if kind is Scalar.REAL else None))
            continue
        if item.value.type.element is Scalar.REAL:
            val = body.real(val, False)
        args.append(body.align(body.full(val, formal), (*spread, *formal)).code)
    for const, static in node.consts:
        name = f"{const.name}_" if keyword.iskeyword(const.name) else const.name
        args.append(Code.of("{}={}", name, body.static(static)))
    leading = join_leading(val.leading for val in vals if not val.number)
    needs = needed(val.needs for val in vals)
    outs = []
    for output, out in zip(graph.outputs, node.outs, strict=True):
        axes = (*spread, *(to_caller.get(a, a) for a in output.axes if a not in graph.lifted))
        broadcast = frozenset(axis for axis in spread if not any(val.has(axis) for val in vals))
        outs.append(Val(Code(""), axes, broadcast, leading, kind_of(out), False, False, needs, ANY))
    _bind_call(body, node, call(body.file.foreign(graph), *args), outs)


def cache_at(graph: Graph, counter: Variable | None = None) -> Code:
    """The part of the cache that belongs to a step or a preparation where it stands, in the pass that is counted."""
    if graph.stepped is None:
        return Code("")
    if counter is None:
        return Code(f'cache.at("{graph.stepped.segment}")')
    return Code.of('cache.at(f"{}")', counted(graph.stepped.segment, counter))


def counted(segment: str, counter: Variable) -> Code:
    """The inside of an f-string: `layers.{i}` with the variable that counts."""
    first, *rest = segment.split("{i}")
    return joined([first, *(part for after in rest for part in ("{", counter.code, "}", after))], "")


def is_optional(graph: Graph, item: Input) -> bool:
    """Whether calls of a block may leave an argument out: a mask, or that it is causal."""
    return item.default is not None and graph.kind == "block"


def is_bare(val: Val, spread: Iterable[Axis]) -> bool:
    """Whether an argument has neither leading dimensions nor any of the axes over which a call lifts."""
    return val.leading == NONE and not {*val.axes}.intersection(spread)


def sources_of(made: ClassPlan) -> tuple[Sources, ...]:
    """Which arguments the results of a class hang on."""
    return tuple(frozenset(places(state.needs)) for state in made.outputs)
