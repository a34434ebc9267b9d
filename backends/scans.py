"""Scans: a loop over the items of an axis, a call of a block at each of them, and its results stacked.

A *state* is an argument that a result of the step before takes the place of. From the first step on it has the shape
that it keeps: the batch, and of the axes that the scan lifts over those along which it varies (size 1 along others).
What varies along none of these has none of them, as any argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..compiler.axes import Axis
from ..compiler.graph import Scan, Value
from ..compiler.sources import Sources, over_steps, sources
from .calls import Calls, is_bare, sources_of
from .layout import plan_axes
from .plan import OutputState, Plan
from .static_code import Code
from .values import FULL, NONE, SOME, Val, is_table, join_leads, kind_of, needed


@dataclass(slots=True)
class _Loop:
    """One scan as it is emitted.

    formals:   of each argument the axes that the block declares, as the caller calls them.
    spread:    the axes that the scan lifts over, outermost first.
    args:      the arguments; of a state its first value.
    lead:      the leading dimensions of one step, as a part of a shape.
    shapes:    of each state, as the code of a shape.
    feeds:     what states hang on, all steps together, by the places of their results.
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
    states: dict[int, int]
    carriers: dict[int, int]
    feeds: tuple[Sources, ...]
    lead: list[str]
    shapes: dict[int, str]

    def given(self, place: int, order: Iterable[Axis]) -> tuple[Axis, ...]:
        """The dimensions of an argument: without those lifted over, if it has none of these."""
        return (*(() if is_bare(self.args[place], self.spread) else self.spread), *order)

    def outward(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """Axes of the class as the caller calls them."""
        return tuple(self.to_caller.get(self.own[axis], self.own[axis]) for axis in axes)

    def output(self, place: int) -> OutputState:
        output = self.plan.outputs[place]
        assert output is not None
        return output


class Scans(Calls):
    """Emits scans."""

    def _scan(self, node: Scan) -> None:
        """A block called at each index of an axis in order: a loop, whose results are stacked."""
        graph, consts = node.graph, dict(node.consts)
        loop = self._loop_of(node)
        self._take(loop)
        self._begin_states(loop)
        self._tell(loop)
        self._late(loop.plan, graph, consts)
        if not self.file.knows(loop.plan):
            self.file.emit(loop.plan)
        collected = [out if self.reads_left(out) or out.id in self.plan.captured else None for out in node.outs]
        lists = self._steps(loop, collected)
        self.release(node.args)
        for place, out in enumerate(node.outs):
            val = self._scanned(loop, place, out)
            if collected[place] is None:
                self._keep(out, val)
                continue
            bound = self._stacked(loop, lists[place], val, out)
            self._keep(out, bound)
            if out.id in self.plan.captured:
                self.record(out, bound)

    def _loop_of(self, node: Scan) -> _Loop:
        """What the arguments are, and what the scan lifts over: dimensions of theirs that no formal asks for."""
        graph, axis, to_caller = node.graph, node.axis, dict(node.axes)
        vals = [self.env[arg.id] for arg in node.args]
        formals = [
            [to_caller.get(a, a) for a in item.value.type.axes if a not in graph.lifted] for item in graph.inputs
        ]
        named = set(to_caller.values()) - set(graph.lifted)
        for place, (arg, formal) in enumerate(zip(node.args, formals, strict=True)):
            unlike = named & arg.type.thin - {*formal, axis, *vals[place].thin}
            vals[place] = self.first(vals[place], [a for a in vals[place].axes if a in unlike])
        spread: dict[Axis, None] = {}
        for val, formal in zip(vals, formals, strict=True):
            known = {*formal, axis, *(set(to_caller.values()) & val.thin - frozenset(graph.lifted))}
            spread.update(dict.fromkeys(a for a in val.axes if a not in known))
        read = [out for out in node.outs if self.reads_left(out) or out.id in self.plan.captured]
        idle = [a for a in spread if not any(a in out.type.axes for out in read)]  # nothing that is read has these
        self.spreads[self.place] = tuple(a for a in spread if a not in idle)
        states = dict(node.states)
        return _Loop(
            node, self.program.plan(graph), self.program.bindings[id(graph)][0], to_caller, formals,
            self.spreads[self.place], [self.first(val, [a for a in idle if a in val.axes]) for val in vals],
            states, {result: place for place, result in states.items()},
            over_steps(sources(graph, self.program.sources), states), [], {},
        )  # fmt: skip

    def _take(self, loop: _Loop) -> None:
        """Arguments other than states as each step wants them: those that run along the axis, and the rest."""
        axis = loop.node.axis
        for place, (item, formal) in enumerate(zip(loop.node.graph.inputs, loop.formals, strict=True)):
            val, kind, table = loop.args[place], kind_of(item.value), is_table(item.value)
            if kind == "real":
                val = self.real(val, table)
            if place in loop.node.steps:
                if val.number:  # each step has the same one
                    shape, dtype = f"({self.extent(axis).text},)", self.float64() if table else self.dtype
                    text = self.filled(shape, val.text, kind, dtype if kind == "real" else "")
                    val = Val(Code(text), (axis,), kind=kind, table=table)
                val = self.full(val, [axis, *(a for a in formal if a in val.thin)])
                val = self.named(self.align(val, loop.given(place, (axis, *formal))))
            elif place not in loop.states:
                val = self.named(self.align(val, loop.given(place, formal)))
            loop.args[place] = val

    def _begin_states(self, loop: _Loop) -> None:
        """The first values of states, in the shape that they keep."""
        loop.lead = self._lead_shape(loop.args)
        for place, result in loop.states.items():
            item, val, formal = loop.node.graph.inputs[place], loop.args[place], loop.formals[place]
            kind, table = kind_of(item.value), is_table(item.value)
            fed = [loop.args[number] for number in loop.feeds[result] | {place}]
            leads = any(one.lead != NONE for one in fed)
            order = (*(() if all(is_bare(one, loop.spread) for one in fed) else loop.spread), *formal)
            same = frozenset(a for a in order if a in loop.spread and not any(one.has(a) for one in fed))
            sizes = [*(loop.lead if leads else ()), *("1" if a in same else self.extent(a).text for a in order)]
            loop.shapes[place] = ", ".join(sizes)
            if val.number:
                shape = f"({loop.shapes[place]}{',' if len(sizes) == 1 else ''})"
                text = self.filled(shape, val.text, kind, self.dtype_of(kind, table))
                val = Val(Code(text), order, kind=kind, table=table)
            else:
                val = self.align(val, order)
                if val.thin - same or (leads and val.lead != FULL):
                    val = replace(val, code=Code(self.expanded(val, loop.shapes[place])))
            loop.args[place] = replace(val, thin=same, lead=FULL if leads else NONE)

    def _tell(self, loop: _Loop) -> None:
        """What the block's class learns from these arguments."""
        any_lead = any(val.lead != NONE for val in loop.args)
        for place, (val, formal) in enumerate(zip(loop.args, loop.formals, strict=True)):
            state = loop.plan.inputs[place]
            whole = (val.lead == FULL or not any_lead) and all(val.has(a) for a in loop.spread)
            given = NONE if is_bare(val, loop.spread) else FULL if whole else SOME
            state.lead = given if state.lead is None or state.lead == given else SOME
            back = dict(zip(formal, plan_axes(loop.plan, place), strict=True))
            state.thin |= {back[a] for a in formal if a in val.thin}
            state.in_range = False

    def _steps(self, loop: _Loop, collected: Sequence[Value | None]) -> list[str]:
        """The loop itself; returns the lists in which it collects the results that are read."""
        node, graph = loop.node, loop.node.graph
        names = {place: self.namer.give(graph.inputs[place].name) for place in loop.states}
        for place, name in names.items():
            self.line(f"{name} = {loop.args[place].text}", self.shown(loop.args[place].axes))
        lists = [self.namer.give(f"{out.name or 'step'}_steps") if out else "_" for out in collected]
        for name in lists:
            if name != "_":
                self.line(f"{name} = []")
        axis = node.axis
        counter = self.namer.give(axis.name if axis.name not in self.scope.axes.values() else f"{axis.name}_index")
        self.line(f"for {counter} in range({self.extent(axis).text}):")
        self.indent += "    "
        given = []
        for place, val in enumerate(loop.args):
            after = "".join(", :" for _ in loop.formals[place])
            taken = f"{val.atom}[..., {counter}{after}]" if place in node.steps else val.text
            given.append(names.get(place, taken))
        keywords = self.keywords(loop.plan, graph, loop.to_caller, dict(node.consts))
        text = self.invoke(node, loop.plan, given, keywords)
        targets = []
        for place, output in enumerate(graph.outputs):
            if place in loop.carriers:
                targets.append(names[loop.carriers[place]])
            else:
                targets.append(self.namer.give(output.name or "y") if lists[place] != "_" else "_")
        self.line(f"{', '.join(targets)} = {text}")
        for place, target in enumerate(targets):
            if target != "_":
                self._after_step(loop, place, target)
            if lists[place] != "_":
                self.line(f"{lists[place]}.append({target})")
        self.indent = self.indent[:-4]
        return lists

    def _after_step(self, loop: _Loop, place: int, target: str) -> None:
        """A result of one step: an array, and of a state as the next step takes it."""
        output, graph, carrier = loop.output(place), loop.node.graph, loop.carriers.get(place)
        if output.number is not None:  # the same at each step
            value = (graph.outputs[place] if carrier is None else graph.inputs[carrier]).value
            dtype = self.dtype_of(kind_of(value), is_table(value))
            self.line(f"{target} = {self.filled('()', target, kind_of(value), dtype)}")
        if carrier is None:
            return
        made, formal = loop.outward(output.axes), tuple(loop.formals[carrier])
        if output.number is None and made != formal:
            self.line(f"{target} = {self.permute(Val(Code(target), made), formal).text}", self.shown(formal))
        if output.thin or (output.lead != FULL and not is_bare(loop.args[carrier], loop.spread)):
            self.line(f"{target} = {self.expanded(Val(Code(target)), loop.shapes[carrier])}")

    def _scanned(self, loop: _Loop, place: int, out: Value) -> Val:
        """What is known of a result of all steps; its code is to come."""
        output, carrier, spread = loop.output(place), loop.carriers.get(place), loop.spread
        if carrier is not None:
            state, hang = loop.args[carrier], loop.feeds[place] | {carrier}
            ahead, axes = tuple(a for a in state.axes if a in spread), tuple(loop.formals[carrier])
            thin, lead = state.thin, state.lead
        else:
            # Of this call: the class may know of more, which other calls give it.
            hang = over_steps(sources_of(loop.plan), loop.states)[place]
            fed = [loop.args[number] for number in hang]
            ahead, axes = () if all(is_bare(val, spread) for val in fed) else spread, loop.outward(output.axes)
            thin = frozenset(a for a in ahead if not any(val.has(a) for val in fed)) | {*loop.outward(output.thin)}
            lead = join_leads(NONE if val.lead == NONE else output.lead for val in fed)
        table = is_table(loop.node.graph.outputs[place].value)  # of a step: what comes of a scan carries data
        needs = needed(self.env[loop.node.args[number].id].needs for number in hang)
        return Val(Code("_"), (*ahead, loop.node.axis, *axes), thin, lead, kind_of(out), table, False, needs)

    def _stacked(self, loop: _Loop, collected: str, val: Val, out: Value) -> Val:
        """The results of all steps in one array; there may be no step."""
        axis = loop.node.axis
        sizes = ["0" if a == axis else "1" if a in val.thin else self.extent(a).text for a in val.axes]
        shape = ", ".join([*(loop.lead if val.lead != NONE else ()), *sizes])
        empty = self.filled(f"({shape},)", "0", val.kind, self.dtype_of(val.kind, val.table))
        text = self.stacked(collected, val.dim(axis))
        val = replace(val, code=Code(f"{text} if {collected} else {empty}", 0))
        return self.let(out.name or "x", self.real(val, is_table(out)) if val.kind == "real" else val)

    def _lead_shape(self, args: list[Val]) -> list[str]:
        """The leading dimensions of one step, as a part of a shape. The arguments that tell them get names."""
        leads = [place for place, val in enumerate(args) if not val.number and val.lead != NONE]
        if not leads:
            return []
        whole = [place for place in leads if args[place].lead == FULL]
        tell = whole[:1] or leads
        for place in tell:  # once: they are read below too
            args[place] = self.named(args[place])
        vals = [args[place] for place in tell]
        shapes = [f"{val.text}.shape[:-{len(val.axes)}]" if val.axes else f"{val.text}.shape" for val in vals]
        if len(shapes) == 1:
            return [f"*{shapes[0]}"]
        lead = self.namer.give("lead")  # none of them need have all of it
        self.line(f"{lead} = {self.library}.broadcast_shapes({', '.join(shapes)})")
        return [f"*{lead}"]
