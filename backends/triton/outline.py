"""Streaming regions of a graph become calls of kernels: ops made elsewhere, as a spec's own `op` are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from ...compiler.graph.nodes import Apply, Call, Graph, Input, Node, Output, makes, reads
from ...compiler.graph.traits import (
    Arrange,
    Combination,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Sum,
)
from ...compiler.graph.values import Role, Scalar, Type, Value
from ...compiler.rewrites.simplify.dead import alive
from ...compiler.rewrites.tools.walk import Fresh, Walk
from ...compiler.sizes.axes import Axis
from ...compiler.streams.find import find
from ...compiler.streams.region import varies
from ...dsl.base.records import replace
from .points import functions
from .read import FreeNames, NoKernel, Reason, kernels
from .tiles import Kernel


@dataclass
class Outliner:
    """Takes kernels out of graphs. module: the file that is to hold them."""

    module: str
    kernels: list[Kernel] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    names: FreeNames = field(default_factory=FreeNames)

    def __call__(self, graph: Graph) -> Graph:
        return Walk(lambda _, new: self._one(new))(graph)

    def _one(self, graph: Graph) -> Graph:
        if graph.kind == "op":
            return graph
        opened = spread_sums(graph)
        found = find(opened)
        for refusal in found.refusals:
            op = refusal.node.op if isinstance(refusal.node, Apply) else type(refusal.node).__name__.lower()
            self.reasons.append(Reason(f"{graph.name}, along {refusal.axis.name}", f"`{op}` {refusal.why}"))
        calls: list[tuple[Kernel, Call]] = []
        fresh = Fresh(opened)
        for region in found.regions:
            wish = next((value.name for value in region.results if value.name), None) or graph.name
            try:
                made = kernels(opened, region, wish, self.names)
                for kernel in made:
                    functions(kernel)  # whether it can be written
            except (NoKernel, NotImplementedError) as reason:
                self.reasons.append(Reason(f"{graph.name}, along {region.streamed.name}", str(reason)))
                continue
            calls += [(kernel, self._call(kernel, fresh)) for kernel in made]
        if not calls:
            return graph
        self.kernels += [kernel for kernel, _ in calls]
        gone = {value.id for kernel, _ in calls for value in (*kernel.results, kernel.logsum) if value is not None}
        kept = [node for node in opened.nodes if not any(out.id in gone for out in makes(node))]
        return alive(replace(opened, nodes=tuple(_in_order([*kept, *(call for _, call in calls)], opened))))

    def _call(self, kernel: Kernel, fresh: Fresh) -> Call:
        ids = count(1)
        inputs = [
            Input(
                part.name,
                Value(next(ids), Type(part.value.type.element, part.axes), part.value.role, part.name, None),
            )
            for part in kernel.inputs
        ]
        outputs = []
        outs = []
        for value, weighed in zip(kernel.results, kernel.values, strict=True):
            axes = (*kernel.batch, kernel.rows, weighed.depth)
            made = Value(next(ids), Type(Scalar.REAL, axes), Role.DATA, None, None)
            outputs.append(Output(None, made, axes))
            outs.append(value)
        if kernel.logsum is not None:
            axes = (*kernel.batch, kernel.rows)
            outputs.append(Output(None, Value(next(ids), Type(Scalar.REAL, axes), Role.DATA, None, None), axes))
            outs.append(kernel.logsum)
        axes_used = tuple(dict.fromkeys(axis for part in kernel.inputs for axis in part.axes))
        op = Graph(
            kernel.name, "op", axes_used, len(axes_used), (), (), tuple(inputs), (), tuple(outputs),
            target=f"{self.module}:{kernel.name}",
        )  # fmt: skip
        args = tuple(part.value for part in kernel.inputs)
        return Call(op, kernel.name, args, tuple(outs), tuple((axis, axis) for axis in axes_used), ())


def _in_order(nodes: list[Node], graph: Graph) -> Iterator[Node]:
    """The nodes, operands first, else in the order given."""
    makers = {out.id: node for node in nodes for out in makes(node)}
    done: set[int] = set()

    def emit(node: Node) -> Iterator[Node]:
        if id(node) in done:
            return
        done.add(id(node))
        for value in reads(node):
            if value.id in makers:
                yield from emit(makers[value.id])
        yield node

    for node in nodes:
        yield from emit(node)


# -- contractions of sums of shares -----------------------------------------------------------------------------------


def spread_sums(graph: Graph) -> Graph:
    """A contraction of a sum of softmaxes, or of factors without its axis times them, is one of each softmax: rule 4 of
    compiler/streams/rules.py. So each has a kernel of its own, and what joins them is done with their results.
    """
    makers = {out.id: node for node in graph.nodes for out in makes(node)}
    nodes: list[Node] = []
    fresh = Fresh(graph)
    changed: dict[int, Value] = {}
    for node in graph.nodes:
        if isinstance(node, Apply) and _contracts(node):
            for weights, values in (node.operands, node.operands[::-1]):
                if isinstance(makers.get(weights.id), Apply) and not _shares(makers[weights.id], node.axes[0]):
                    made = _MovedContraction(makers, node, values, fresh)
                    result = made.of(weights)
                    if result is not None and made.several:
                        last = made.nodes.pop()
                        assert isinstance(last, Apply)
                        nodes += [*made.nodes, replace(last, out=replace(node.out, type=_like(last.out, node.out)))]
                        changed[node.out.id] = result
                        break
        if not (isinstance(node, Apply) and node.out.id in changed):
            nodes.append(node)
    return alive(replace(graph, nodes=tuple(nodes))) if changed else graph


def _like(made: Value, out: Value) -> Type:
    assert {*made.type.axes} == {*out.type.axes}
    return out.type


def _contracts(node: Apply) -> bool:
    match node.traits.reads:
        case Reduce(Combination(adds=True, averages=False), multiplies=True):
            return len(node.operands) == 2 and len(node.axes) == 1 and not node.weights and node.mask is None
        case _:
            return False


def _shares(node: Node | None, axis: Axis) -> bool:
    return isinstance(node, Apply) and isinstance(node.traits.reads, Normalise) and node.axes == (axis,)


class _MovedContraction:
    """One contraction, moved to what its first operand is a sum of."""

    def __init__(self, makers: dict[int, Node], node: Apply, values: Value, fresh: Fresh) -> None:
        self.makers, self.node, self.values, self.fresh = makers, node, values, fresh
        self.axis = node.axes[0]
        self.nodes: list[Node] = []
        self.known: dict[int, Value] = {}
        self.several = False

    def _out(self, value: Value, axes: tuple[Axis, ...], broadcast: frozenset[Axis] = frozenset()) -> Value:
        return self.fresh(replace(value, type=Type(Scalar.REAL, axes, broadcast), name=None, role=Role.DATA))

    def of(self, value: Value) -> Value | None:
        """The contraction of this value."""
        if value.id not in self.known:
            made = self._made(value)
            if made is None:
                return None
            self.known[value.id] = made
        return self.known[value.id]

    def _made(self, value: Value) -> Value | None:
        node = self.makers.get(value.id)
        if not isinstance(node, Apply) or node.weights or value.type.broadcast_axes:
            return None
        if _shares(node, self.axis):
            rest = [axis for axis in value.type.axes if axis != self.axis]
            axes = (*rest, *(a for a in self.values.type.axes if a not in rest and a != self.axis))
            out = self._out(self.node.out, axes)
            self.nodes.append(replace(self.node, operands=(value, self.values), out=out))
            return out
        match node.traits.reads:
            case Pointwise(Sum()):
                parts = [self.of(operand) for operand in node.operands]
                self.several = True
                return None if any(part is None for part in parts) else self._again(node, [p for p in parts if p])
            case Pointwise(Product() | Quotient(whole=False)):
                operands = [self._same_along(operand) for operand in node.operands]
                moving = [self.axis in varies(operand) for operand in operands]
                if sum(moving) != 1 or (moving[1] and not isinstance(node.traits.meaning, Product)):
                    return None
                parts = [self.of(x) if moves else x for x, moves in zip(operands, moving, strict=True)]
                self.several = True
                return None if any(part is None for part in parts) else self._again(node, [p for p in parts if p])
            case Gather() if self.axis not in (*node.axes, *node.made) and self.axis not in varies(node.operands[1]):
                if {*node.axes} & {*self.values.type.axes}:
                    return None
                inner = self.of(node.operands[0])
                self.several = True
                if inner is None:
                    return None
                axes = tuple(a for a in inner.type.axes if a not in node.axes)
                more = tuple(a for a in varies(node.operands[1]) if a not in axes)
                out = self._out(self.node.out, (*axes, *more))
                self.nodes.append(replace(node, operands=(inner, node.operands[1]), out=out))
                return out
            case Arrange():
                return None
            case _:
                return None

    def _same_along(self, value: Value) -> Value:
        """What a value is a copy of for each item of the axis, if it is one."""
        node = self.makers.get(value.id)
        if isinstance(node, Apply) and node.traits.reads == Arrange(IndexMap.NEW) and self.axis in node.made:
            return node.operands[0]
        return value

    def _again(self, node: Apply, operands: list[Value]) -> Value:
        axes = tuple(dict.fromkeys(axis for x in operands for axis in x.type.axes))
        out = self._out(self.node.out, axes)
        self.nodes.append(replace(node, operands=tuple(operands), out=out))
        return out
