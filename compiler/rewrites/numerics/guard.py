"""What a mask or a branch leaves out spoils no gradient: `select(x > 0, log(x), 0)` takes the log of 1 elsewhere.

The gradient of what is left out is 0, but times an infinite derivative that is no number. So the operand of what may be
infinite there is made harmless before the op, where none of its results is used (`conditions.py`), as one would write
by hand with two choices; it changes no result. A factor that hangs on positions and sizes alone spoils the gradient of
the other one: there it is made harmless too. Pointwise ops on the way, and calls of blocks without weights, are made
anew for each condition under which they are read; what puts items together, draws at random or has weights is read
under one condition, that of all that reads it. A block, or the body of a loop, is told where its results are used, if
a hazard is in it. Of an op of one's own no domain is known: its results are chosen behind it, and no gradient leaves
it of what is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ....dsl.base.records import replace
from ...graph.core.index import Nest, index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan, children, makes, reads
from ...graph.traits import (
    Choice,
    Combination,
    Function,
    Normalise,
    Pointwise,
    Power,
    Quotient,
    Reduce,
    Remainder,
    Sum,
)
from ...graph.values import IndexInto, Role, Scalar, Value
from ...ops import OPS
from ...sizes.axes import Literal, known
from ..simplify.dead import alive
from ..tools.order import in_order
from ..tools.walk import Walk, with_operands, with_results
from .conditions import CHOICE, Condition, both
from .uses import Told, ToldGraphs, UsingBody, is_plain

STOPPED = next(op for op in OPS.values() if op.meaning == Sum((1,)) and not op.gradient)


def guard(graph: Graph) -> Graph:
    """The graph with what its masks and choices leave out made harmless."""
    blocks = _Blocks()
    return Walk(lambda _, new: _Guard(new, blocks).graph({}))(graph)


class _Guard(UsingBody):
    """Guards the masks and choices of one body."""

    def __init__(self, graph: Graph, blocks: _Blocks) -> None:
        super().__init__(graph, blocks.telling)
        self.blocks = blocks
        self.risky: set[int] = set()  # values behind which a hazard stands, with nothing but ops and blocks in between
        self.guarded: dict[tuple[int, Condition], Value] = {}
        for node in graph.nodes:
            self.append(node)

    def graph(self, results: Mapping[int, Condition | None]) -> Graph:
        """The body with all guarded. results: under which conditions some of them are used, by their values' ids."""
        if not self.risky:
            return self.old
        found = self.demanded(results)
        nodes = [self.guarding(node, self.outs(node, found)) for node in self.old.nodes]
        outputs = [
            replace(output, value=self.harmless(output.value, results.get(output.value.id) or ()))
            for output in self.old.outputs
        ]
        same = all(now is old for now, old in zip(nodes, self.old.nodes, strict=True))
        if same and all(now.value is old.value for now, old in zip(outputs, self.old.outputs, strict=True)):
            return self.old
        made = self.nodes[len(self.old.nodes) :]
        return alive(replace(self.old, nodes=tuple(in_order([*nodes, *made])), outputs=tuple(outputs)))

    def guarding(self, node: Node, outs: Sequence[Condition | None]) -> Node:
        """A node of the body, with what it leaves out made harmless: by itself, or because its results are left out."""
        if not any(value.id in self.risky for value in (*reads(node), *makes(node))):
            return node
        if is_plain(node):  # made anew for each condition under which it is read
            outs = [()] * len(outs)
        now = self.applied(node, outs)
        if any(new.role > old.role for new, old in zip(makes(now), makes(node), strict=True)):
            return node
        self.makers |= {out.id: now for out in makes(now)}
        return now

    def append(self, node: Node) -> None:
        super().append(node)
        match node:
            case Apply(out=out) if out.role > Role.TABLE and out.type.element is Scalar.REAL:
                if self.hazards(node) or any(value.id in self.risky for value in node.operands):
                    self.risky.add(out.id)
            case Call() if _is_own(node):
                self.risky |= {out.id for out in node.outs if out.type.element is Scalar.REAL}
            case Call() | Repeat() | Scan():
                given = any(arg.id in self.risky for arg in node.args)
                inner = [any(each) for each in zip(*map(self.blocks.risky, children(node)), strict=True)]
                given |= not isinstance(node, Call) and any(inner)  # what goes round comes to others
                self.risky |= {out.id for out, risky in zip(node.outs, inner, strict=True) if risky or given}

    def harmless(self, value: Value, condition: Condition) -> Value:
        """The value where these truths hold; elsewhere some finite number with finite derivatives."""
        if value.id not in self.risky:
            return value
        condition = self.anywhere(condition, value.type.varying)
        if not condition:
            return value
        key = value.id, condition
        if key not in self.guarded:
            self.guarded[key] = self._harmless(value, condition)
        return self.guarded[key]

    def _harmless(self, value: Value, condition: Condition) -> Value:
        node = self.makers[value.id]
        if _is_own(node):
            return self.chosen(condition, value, 0)
        if not is_plain(node):
            return value
        used = index_of(self.old).used | {value.id}
        outs = [self.anywhere(condition, out.type.varying) if out.id in used else None for out in makes(node)]
        now = self.applied(node, outs)
        if now is node:
            return value
        made = tuple(self.fresh(replace(out, name=None)) for out in makes(now))
        self.append(with_results(now, made))
        for old, here, new in zip(makes(node), outs, made, strict=True):
            self.guarded.setdefault((old.id, here or ()), new)
        return self.guarded[value.id, condition]

    def applied(self, node: Node, outs: Sequence[Condition | None]) -> Node:
        """A node whose results are used under these conditions, with what it reads made harmless."""
        match node:
            case Call() if _is_own(node):
                return self.cut(node, outs)
            case Call() | Repeat() | Scan():
                return self.nested(node, outs)
        used: dict[int, Condition] = {}
        for value, condition in self.uses(node, outs):
            used[value.id] = both(used.get(value.id, condition), condition)
        now = with_operands(node, {id: self.harmless(value, used[id]) for value in reads(node) if used[id := value.id]})
        if not isinstance(now, Apply) or not isinstance(node, Apply):
            return now
        hazards, operands = self.hazards(node), list(now.operands)
        for place, number in hazards.items():
            after = outs[0] or ()
            before = self.before(after, node, place)
            if operands[place].role < Role.DATA:  # what all items share is used
                shared = {*operands[place].type.varying}
                before = tuple(c for c in before if c in after or {*c.type.axes} & shared)
            if before:
                operands[place] = self.chosen(before, operands[place], number)
        if tuple(operands) == node.operands:
            return node
        role = max(value.role for value in (*operands, now.out))
        return replace(now, operands=tuple(operands), out=replace(now.out, role=role))

    def chosen(self, condition: Condition, x: Value, number: float) -> Value:
        """x, or the number where not all of these hold. What is a table stays as exact as one."""
        node = self.makers.get(x.id)
        if _chooses(node):  # by some of these already
            instead = self.makers.get(node.operands[2].id)
            if isinstance(instead, Constant) and known(instead.value) == number:
                held = self.holds(node.operands[0])
                condition = tuple(truth for truth in condition if truth not in held)
        if not condition:
            return x
        c = self.joined(condition)
        element = Scalar.INT if isinstance(x.type.element, IndexInto) else x.type.element
        if number % 1:
            element = Scalar.REAL
        other = self.number(Literal(int(number)) if element is Scalar.INT else Literal(float(number)), element)
        role = max(x.role, c.role)
        exact = x.exact or (x.is_table and role > Role.TABLE)
        out = self.fresh(replace(x, type=replace(x.type, element=element), role=role, name=None, exact=exact))
        self.append(Apply(CHOICE, (c, x, other), out, span=x.span))
        return out

    # -- what is looked at -----------------------------------------------------------------------------------------

    def hazards(self, node: Apply) -> dict[int, float]:
        """The operands of an op that may make its result or a derivative infinite, and what each may be instead.

        A number of positions and sizes alone that may be infinite is one: it spoils the gradients of other factors.
        """
        reads = node.traits.reads
        joins = isinstance(reads, Pointwise) or (isinstance(reads, Reduce) and reads.multiplies)
        tables = [place for place, x in enumerate(node.operands) if joins and x.role <= Role.TABLE]
        infinite = {place: 1 for place in tables if not self.tables.is_finite(node.operands[place])}
        return infinite | self._of_its_own(node)

    def _of_its_own(self, node: Apply) -> dict[int, float]:
        match node.traits.reads, node.operands:
            case Pointwise(Function(harmless=float() | int() as number)), (x,) if x.role > Role.TABLE:
                return {0: number}
            case Pointwise(Quotient(whole=False) | Remainder()), (_, divisor):
                return {} if divisor.role <= Role.TABLE and self.tables.has_no_0(divisor) else {1: 1}
            case Pointwise(Power()), (base, exponent) if base.role <= Role.TABLE:
                return {1: 0} if exponent.role > Role.TABLE else {}
            case Pointwise(Power()), (base, exponent):
                maker = self.makers.get(exponent.id)
                power = known(maker.value) if isinstance(maker, Constant) else None
                return {} if isinstance(power, int) and power >= 1 else {0: 1}
            case Normalise(squares=Combination(), centred=False), _ if known(node.options.get("eps", Literal(0))) == 0:
                return {0: 1}
            case _:
                return {}

    # -- what is nested, and ops of one's own ------------------------------------------------------------------------

    def nested(self, node: Nest, outs: Sequence[Condition | None]) -> Nest:
        """What is nested is told where its results are used, if a hazard is in it."""
        used = self.used(node, outs)
        args = tuple(self.harmless(arg, condition) for arg, condition in zip(node.args, used.args, strict=True))
        graphs, read = self.blocks.guarded(used.told)
        more = tuple(used.given[place] for place in read)
        if graphs == children(node) and args == node.args:
            return node
        places = zip(node.outs, *(graph.outputs for graph in graphs), strict=False)
        results = tuple(replace(out, role=max(out.role, *(one.value.role for one in all))) for out, *all in places)
        match node:
            case Repeat():
                return replace(node, bodies=graphs, args=(*args, *more), outs=results)
            case Scan():
                steps = (place for place, c in enumerate(more, len(args)) if node.axis in c.type.axes)
                node = replace(node, steps=(*node.steps, *steps))
        return replace(node, graph=graphs[0], args=(*args, *more), outs=results)

    def cut(self, node: Call, outs: Sequence[Condition | None]) -> Call:
        """An op of one's own: no gradient leaves it of what is not used of its results."""
        return replace(node, args=tuple(self._cut(arg, c) for arg, c in self.uses(node, outs)))

    def _cut(self, arg: Value, condition: Condition) -> Value:
        arg = self.harmless(arg, condition)
        if not condition or arg.role < Role.WEIGHT or arg.type.element is not Scalar.REAL:
            return arg
        c, axes = self.joined(condition), arg.type.axes
        stopped = self.made(STOPPED, (arg,), Scalar.REAL, axes)
        axes = (*(axis for axis in c.type.axes if axis not in axes), *axes)
        return self.made(CHOICE, (c, arg, stopped), Scalar.REAL, axes)


def _is_own(node: Node) -> bool:
    """Whether it is an op of the user's own, of which no domain is known."""
    return isinstance(node, Call) and bool(node.graph.target)


def _chooses(node: Node | None) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.traits.meaning == Choice()


class _Blocks:
    """What is known of the blocks and bodies of a file."""

    def __init__(self) -> None:
        self.telling = ToldGraphs()
        self._risky: dict[Graph, list[bool]] = {}
        self._guarded: dict[tuple[Graph, ...], tuple[tuple[Graph, ...], Sequence[int]]] = {}

    def risky(self, graph: Graph) -> list[bool]:
        """Of each result of a graph, whether a hazard stands behind it in the graph itself."""
        if graph not in self._risky:
            body = _Guard(graph, self)
            self._risky[graph] = [output.value.id in body.risky for output in graph.outputs]
        return self._risky[graph]

    def guarded(self, told: tuple[Told, ...]) -> tuple[tuple[Graph, ...], Sequence[int]]:
        """What a node holds, guarded where it is told that its results are used; which of the truths it then reads."""
        key = tuple(each.graph for each in told)
        if key not in self._guarded:
            graphs = tuple(_Guard(each.graph, self).graph(each.results) if each.more else each.graph for each in told)
            if graphs == key:  # it needs none
                self._guarded[key] = tuple(each.origin for each in told), ()
                return self._guarded[key]
            own, used = len(key[0].inputs) - told[0].more, [index_of(graph).used for graph in graphs]
            read = [
                place
                for place in range(told[0].more)
                if any(graph.inputs[own + place].value.id in ids for graph, ids in zip(graphs, used, strict=True))
            ]
            places = [*range(own), *(own + place for place in read)]
            kept = (replace(graph, inputs=tuple(graph.inputs[place] for place in places)) for graph in graphs)
            self._guarded[key] = tuple(kept), read
        return self._guarded[key]
