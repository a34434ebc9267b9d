"""What a choice does not take spoils no gradient: `select(x > 0, log(x), 0)` takes the log of 1 elsewhere.

The gradient of the side that is not taken is 0, but times an infinite derivative that is no number. So the operand of
what may be infinite there is made harmless by the same condition before the op, as one would write by hand with two
choices; it changes no result. Pointwise ops on the way are made anew, those of blocks without weights too; what they
are called does not matter. What it does not do: look through ops that arrange, reduce or contract, or into repeats.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, makes, reads
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import OPS
from ...sizes.arithmetic import substitute
from ...sizes.axes import Literal, known
from ..simplify.dead import alive
from ..tools.walk import Fresh, Walk, reading

HARMLESS = {"exp": 0, "log": 1, "sqrt": 1, "rsqrt": 1}  # operands with a finite result and derivative


def guard(graph: Graph) -> Graph:
    """The graph with what its choices do not take made harmless."""
    return Walk(lambda _, new: _Guard(new).graph())(graph)


class _Guard:
    """Guards the choices of one body."""

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        self.fresh = Fresh(graph)
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.same: dict[int, Value] = {}  # results of calls that are made here now
        self.made: dict[tuple[int, int], Value] = {}  # by value and condition

    def graph(self) -> Graph:
        for node in self.old.nodes:
            node = reading(node, self.same)
            if isinstance(node, Call) and self.chooses(node):
                self.same[node.outs[0].id] = replace(self.here(node), name=node.outs[0].name)
            else:
                self.add(node)
        if len(self.nodes) == len(self.old.nodes):
            return self.old
        outputs = tuple(replace(o, value=self.same.get(o.value.id, o.value)) for o in self.old.outputs)
        return alive(replace(self.old, nodes=tuple(self.nodes), outputs=outputs))

    def add(self, node: Node) -> None:
        if isinstance(node, Apply) and node.op == "select" and node.out.type.element is Scalar.REAL:
            c, x, y = node.operands
            x = self.harmless(x, c)
            if self.risky(y):
                y = self.harmless(y, self.apply("not", (c,), Type(Scalar.BOOL, c.type.axes, c.type.thin), c))
            node = replace(node, operands=(c, x, y))
        self.nodes.append(node)
        self.makers |= {out.id: node for out in makes(node)}

    def apply(self, op: str, operands: tuple[Value, ...], type: Type, like: Value) -> Value:
        role = max(value.role for value in operands)
        out = self.fresh(replace(like, type=type, role=role, name=None))
        self.add(Apply(op, operands, out, span=like.span))
        return out

    def harmless(self, value: Value, c: Value) -> Value:
        """The value, where c holds; elsewhere some finite number with finite derivatives."""
        key = value.id, c.id
        if key not in self.made:
            self.made[key] = self._harmless(value, c) if self.risky(value) else value
        return self.made[key]

    def _harmless(self, value: Value, c: Value) -> Value:
        node = self.makers[value.id]
        if isinstance(node, Call):
            return self.harmless(self.here(node), c)
        assert isinstance(node, Apply)
        operands = [self.harmless(operand, c) for operand in node.operands]
        found = self.hazard(node)
        if found is not None:
            place, number = found
            operands[place] = self.chosen(c, operands[place], number)
        if tuple(operands) == node.operands:
            return value
        out = self.fresh(replace(value, type=_joined(value, *operands), role=max(v.role for v in operands), name=None))
        self.add(replace(node, operands=tuple(operands), out=out))
        return out

    def chosen(self, c: Value, x: Value, number: int) -> Value:
        """x, or the number where c does not hold."""
        node = self.makers.get(x.id)
        if isinstance(node, Apply) and node.op == "select" and node.operands[0].id == c.id:  # as it was written
            return x
        element = Scalar.INT if isinstance(x.type.element, IndexInto) else x.type.element
        constant = Literal(number) if element is Scalar.INT else Literal(float(number))
        other = self.fresh(replace(x, type=Type(element, ()), role=Role.CONSTANT, name=None, exact=False))
        self.add(Constant(constant, other))
        out = self.fresh(replace(x, type=replace(_joined(x, c), element=element), role=max(x.role, c.role), name=None))
        self.nodes.append(Apply("select", (c, x, other), out, span=x.span))
        self.makers[out.id] = self.nodes[-1]
        return out

    # -- what is looked at -----------------------------------------------------------------------------------------

    def hazard(self, node: Apply) -> tuple[int, int] | None:
        """The operand of an op that may make its result or derivative infinite, and what it may be instead."""
        if node.op in HARMLESS:
            return (0, HARMLESS[node.op]) if node.operands[0].role > Role.TABLE else None
        if node.op in ("/", "%"):
            return (1, 1) if node.operands[1].role > Role.TABLE else None
        if node.op != "^":
            return None
        base, exponent = node.operands
        if base.role <= Role.TABLE:
            return (1, 0) if exponent.role > Role.TABLE else None
        maker = self.makers.get(exponent.id)
        number = known(maker.value) if isinstance(maker, Constant) else None
        return None if isinstance(number, int) and number >= 1 else (0, 1)

    def risky(self, value: Value) -> bool:
        """Whether a hazard stands behind the value, with nothing but pointwise ops in between."""
        todo, seen = [value], set[int]()
        while todo:
            value = todo.pop()
            node = self.makers.get(value.id)
            if value.id in seen or value.role <= Role.TABLE or node is None:
                continue
            seen.add(value.id)
            if isinstance(node, Apply) and _is_pointwise(node):
                if self.hazard(node) is not None:
                    return True
                todo += node.operands
            elif isinstance(node, Call) and _is_plain(node.graph) and _has_hazard(node.graph):
                return True
        return False

    def chooses(self, node: Call) -> bool:
        """Whether a block chooses, and what it chooses from may be infinite here."""
        ops = {inner.op for inner in node.graph.nodes if isinstance(inner, Apply)}
        return "select" in ops and _is_plain(node.graph) and any(map(self.risky, node.args))

    def here(self, node: Call) -> Value:
        """The result of a block, made here in place of a call."""
        axes = dict(node.axes)
        sizes, numbers = {a.id: b for a, b in node.axes}, {const.id: static for const, static in node.consts}
        change = {item.value.id: arg for item, arg in zip(node.graph.inputs, node.args, strict=True)}

        def moved(value: Value) -> Value:
            type = value.type
            element = type.element
            if isinstance(element, IndexInto):
                element = IndexInto(axes.get(element.axis, element.axis))
            order = tuple(axes.get(axis, axis) for axis in type.axes)
            made = Type(element, order, frozenset(axes.get(axis, axis) for axis in type.thin))
            change[value.id] = self.fresh(replace(value, type=made, name=None))
            return change[value.id]

        for inner in node.graph.nodes:
            match inner:
                case Constant(value, out):
                    self.add(Constant(substitute(value, sizes, numbers), moved(out)))
                case Positions(axis, out):
                    self.add(Positions(axes.get(axis, axis), moved(out)))
                case Apply(out=out):
                    copy = reading(inner, change)
                    assert isinstance(copy, Apply)
                    self.add(replace(copy, out=moved(out)))
        return change[node.graph.outputs[0].value.id]


def _joined(value: Value, *others: Value) -> Type:
    """The type of the value, with the axes of the others too."""
    types = [value.type, *(other.type for other in others)]
    axes = tuple(dict.fromkeys(axis for type in types for axis in type.axes))
    varies = {axis for type in types for axis in type.axes if axis not in type.thin}
    return replace(value.type, axes=axes, thin=frozenset(axes) - varies)


def _is_pointwise(node: Apply) -> bool:
    return node.op == "broadcast" or (node.op in OPS and OPS[node.op].group == "pointwise")


def _is_plain(graph: Graph) -> bool:
    """Whether a block is made of numbers, positions and pointwise ops alone, with one result."""
    plain = all(isinstance(n, Constant | Positions) or (isinstance(n, Apply) and _is_pointwise(n)) for n in graph.nodes)
    return plain and graph.kind == "block" and not graph.target and len(graph.outputs) == 1


def _has_hazard(graph: Graph) -> bool:
    ops = {node.op for node in graph.nodes if isinstance(node, Apply) and any(v.role > Role.TABLE for v in reads(node))}
    return bool(ops & {*HARMLESS, "/", "%", "^"})
