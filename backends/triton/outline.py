"""Streaming regions of a graph become calls of kernels: ops made elsewhere, as a spec's own `op` are."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from ...compiler.graph.nodes import Apply, Call, Graph, Input, Output, makes
from ...compiler.graph.values import Role, Scalar, Type, Value
from ...compiler.rewrites.simplify.dead import alive
from ...compiler.rewrites.tools.order import in_order
from ...compiler.rewrites.tools.walk import Fresh, Walk
from ...compiler.streams.find import find
from ...dsl.base.records import replace
from .points import functions
from .read import Reason, kernels
from .tiles import FreeNames, Kernel, NoKernel


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
        found = find(graph)
        for refusal in found.refusals:
            op = refusal.node.op if isinstance(refusal.node, Apply) else type(refusal.node).__name__.lower()
            self.reasons.append(Reason(f"{graph.name}, along {refusal.axis.name}", f"`{op}` {refusal.why}"))
        calls: list[tuple[Kernel, Call]] = []
        fresh = Fresh(graph)
        for region in found.regions:
            wish = next((value.name for value in region.results if value.name), None) or graph.name
            try:
                made = kernels(graph, region, wish, self.names)
                for kernel in made:
                    functions(kernel)  # whether it can be written
            except NoKernel as reason:
                self.reasons.append(Reason(f"{graph.name}, along {region.streamed.name}", str(reason)))
                continue
            calls += [(kernel, self._call(kernel, fresh)) for kernel in made]
        if not calls:
            return graph
        self.kernels += [kernel for kernel, _ in calls]
        gone = {out.id for _, call in calls for out in call.outs}
        kept = [node for node in graph.nodes if not any(out.id in gone for out in makes(node))]
        return alive(replace(graph, nodes=tuple(in_order([*kept, *(call for _, call in calls)]))))

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
        given = [*zip(kernel.results, ((weighed.depth,) for weighed in kernel.values), strict=True)]
        for value, own in [*given, (kernel.logsum, ()), (kernel.shares, (kernel.columns,))]:
            if value is not None:
                axes = (*kernel.batch, kernel.rows, *own)
                made = Value(next(ids), Type(Scalar.REAL, axes), Role.DATA, None, None)
                outputs.append(Output(None, made, axes))
                outs.append(value)
        axes_used = tuple(dict.fromkeys(axis for part in kernel.inputs for axis in part.axes))
        op = Graph(
            kernel.name, "op", axes_used, len(axes_used), (), (), tuple(inputs), (), tuple(outputs),
            target=f"{self.module}:{kernel.name}",
        )  # fmt: skip
        args = tuple(part.value for part in kernel.inputs)
        return Call(op, kernel.name, args, tuple(outs), tuple((axis, axis) for axis in axes_used), ())
