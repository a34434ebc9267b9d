"""What a mask or a branch leaves out spoils no gradient: `select(x > 0, log(x), 0)` takes the log of 1 elsewhere.

The gradient of what is left out is 0, but times an infinite derivative that is no number. So the operand of what may be
infinite there is made harmless before the op, where none of its results is used (`conditions.py`), as one would write
by hand with two choices; it changes no result. A factor that hangs on positions and sizes alone spoils the gradient of
the other one: there it is made harmless too. Pointwise ops on the way, and calls of blocks without weights, are made
anew for each condition under which they are read; what puts items together, draws at random or has weights is read
under one condition, that of all that reads it. A block is told where its results are used, if a hazard is in it. It
ends at results of repeats and of scans, and at ops of one's own, of which no domain is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TypeGuard

from ....dsl.base.records import record, replace
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, makes, reads
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
)
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_meaning
from ...ops.undo import arranges
from ...sizes.axes import Literal, known
from ..simplify.dead import alive
from ..tools.order import in_order
from ..tools.same import pure
from ..tools.walk import Fresh, Walk, with_operands, with_results
from .conditions import Condition, both
from .uses import UsedInputs, UsedInputsOf, UsingBody


def guard(graph: Graph) -> Graph:
    """The graph with what its masks and choices leave out made harmless."""
    blocks = _Blocks()
    return Walk(lambda _, new: _Guard(new, blocks).graph({}))(graph)


class _Guard(UsingBody):
    """Guards the masks and choices of one body."""

    def __init__(self, graph: Graph, blocks: _Blocks) -> None:
        super().__init__(graph, blocks.used_inputs_of)
        self.blocks = blocks
        self.risky: set[int] = set()  # values behind which a hazard stands, with nothing but ops and blocks in between
        self.guarded: dict[tuple[int, Condition], Value] = {}
        for node in graph.nodes:
            self.append(node)

    def graph(self, results: Mapping[int, Condition]) -> Graph:
        """The body with all guarded. results: under which conditions some of them are used, by their values' ids."""
        if not self.risky:
            return self.old
        found = self.demanded(results)
        nodes = [self.guarding(node, [found.get(out.id, ()) for out in makes(node)]) for node in self.old.nodes]
        outputs = [
            replace(output, value=self.harmless(output.value, results.get(output.value.id, ())))
            for output in self.old.outputs
        ]
        same = all(now is old for now, old in zip(nodes, self.old.nodes, strict=True))
        if same and all(now.value is old.value for now, old in zip(outputs, self.old.outputs, strict=True)):
            return self.old
        made = self.nodes[len(self.old.nodes) :]
        return alive(replace(self.old, nodes=tuple(in_order([*nodes, *made])), outputs=tuple(outputs)))

    def guarding(self, node: Node, outs: Sequence[Condition]) -> Node:
        """A node of the body, with what it leaves out made harmless: by itself, or because its results are left out."""
        if not any(value.id in self.risky for value in (*reads(node), *makes(node))):
            return node
        if _is_plain(node):  # made anew for each condition under which it is read
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
            case Call(graph=graph) if graph.kind == "block" and not graph.target:
                given = any(arg.id in self.risky for arg in node.args)
                inner = self.blocks.risky(graph)
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
        if not _is_plain(node):
            return value
        outs = [condition if out.id == value.id else () for out in makes(node)]
        now = self.applied(node, outs)
        if now is node:
            return value
        made = tuple(self.fresh(replace(out, name=None)) for out in makes(now))
        self.append(with_results(now, made))
        return next(new for new, old in zip(made, makes(node), strict=True) if old.id == value.id)

    def applied(self, node: Node, outs: Sequence[Condition]) -> Node:
        """A node whose results are used under these conditions, with what it reads made harmless."""
        if isinstance(node, Call):
            return self.called(node, outs)
        used: dict[int, Condition] = {}
        for value, condition in self.uses(node, outs):
            used[value.id] = both(used.get(value.id, condition), condition)
        now = with_operands(node, {id: self.harmless(value, used[id]) for value in reads(node) if used[id := value.id]})
        if not isinstance(now, Apply) or not isinstance(node, Apply):
            return now
        hazards, operands = self.hazards(node), list(now.operands)
        for place, number in hazards.items():
            before = self.before(outs[0], node, place)
            if operands[place].role < Role.DATA:  # what all items share is used
                shared = {*operands[place].type.varying}
                before = tuple(c for c in before if c in outs[0] or {*c.type.axes} & shared)
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
        other = self.number(Literal(int(number)) if element is Scalar.INT else Literal(float(number)), element, x)
        role = max(x.role, c.role)
        exact = x.exact or (x.is_table and role > Role.TABLE)
        out = self.fresh(replace(x, type=replace(x.type, element=element), role=role, name=None, exact=exact))
        self.append(Apply(op_meaning(Choice()), (c, x, other), out, span=x.span))
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

    # -- blocks ----------------------------------------------------------------------------------------------------

    def called(self, node: Call, outs: Sequence[Condition]) -> Call:
        """A call whose results are used under these conditions: the block is told, where a hazard is in it."""
        known = [tuple(c for c in out if _inside(node, c.type) is not None) for out in outs]
        truths = [self.joined(condition) if condition else None for condition in known]
        theirs = [None if c is None else replace(c, type=_inside(node, c.type) or c.type) for c in truths]
        told = self.blocks.told(node.graph, theirs)
        more = tuple(c for c in truths if c is not None)
        given = self.given(replace(node, args=(*node.args, *more)), told.uses)
        args = tuple(self.harmless(arg, condition) for arg, condition in zip(node.args, given, strict=False))
        if told.graph is node.graph and args == node.args:
            return node
        results = tuple(
            replace(out, role=max(out.role, output.value.role))
            for out, output in zip(node.outs, told.graph.outputs, strict=True)
        )
        if told.graph is not node.graph:
            args = (*args, *more)
        return replace(node, graph=told.graph, args=args, outs=results)


def _inside(node: Call, type: Type) -> Type | None:
    """A type of the graph around in the axes of a block; None if it has an axis that is none there, or is two."""
    theirs = {axis: [axis] for axis in node.graph.lifted}
    for formal, actual in node.axes:
        theirs.setdefault(actual, []).append(formal)
    if any(len(theirs.get(axis, ())) != 1 for axis in type.axes):
        return None
    broadcast_axes = frozenset(theirs[axis][0] for axis in type.broadcast_axes)
    return replace(type, axes=tuple(theirs[axis][0] for axis in type.axes), broadcast_axes=broadcast_axes)


def _is_plain(node: Node) -> bool:
    """Whether a node may be made anew for each condition under which it is read: it costs little, and draws nothing."""
    match node:
        case Call():
            return pure(node.graph)
        case Apply():
            pointwise = isinstance(node.traits.reads, Pointwise) and not (node.axes or node.made or node.weights)
            return arranges(node) or (pointwise and not node.traits.random)
        case _:
            return False


def _chooses(node: Node | None) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.traits.reads == Pointwise(Choice())


@record(eq=False)
class _ToldBlock:
    """A block that is told where its results are used; the block itself if that changes nothing in it."""

    graph: Graph
    uses: UsedInputs


class _Blocks:
    """What is known of the blocks of a file."""

    def __init__(self) -> None:
        self.used_inputs_of = UsedInputsOf()
        self._risky: dict[Graph, list[bool]] = {}
        self._told: dict[tuple[object, ...], _ToldBlock] = {}

    def risky(self, graph: Graph) -> list[bool]:
        """Of each result of a block, whether a hazard stands behind it in the block itself."""
        if graph not in self._risky:
            body = _Guard(graph, self)
            self._risky[graph] = [output.value.id in body.risky for output in graph.outputs]
        return self._risky[graph]

    def told(self, graph: Graph, like: Sequence[Value | None]) -> _ToldBlock:
        """A block that is given one more truth for some of its results: where that is used."""
        key = graph, *(c and (c.type, c.role) for c in like)
        if key not in self._told:
            fresh, names = Fresh(graph), {item.name for item in graph.inputs}
            free = (name for i in count(1) if (name := f"used_{i}" if i > 1 else "used") not in names)
            inputs = [None if c is None else fresh(replace(c, name=next(free))) for c in like]
            more = [Input(str(value.name), value) for value in inputs if value is not None]
            asked = replace(graph, inputs=(*graph.inputs, *more))
            results: dict[int, Condition] = {}
            for output, value in zip(graph.outputs, inputs, strict=True):
                condition = () if value is None else (value,)
                results[output.value.id] = both(results.get(output.value.id, condition), condition)
            guarded = _Guard(asked, self).graph(results) if more else asked
            uses = self.used_inputs_of.where(asked, results)
            self._told[key] = _ToldBlock(graph if guarded is asked else guarded, uses)
        return self._told[key]
