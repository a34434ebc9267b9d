"""Streaming regions of a graph become calls of kernels: ops made elsewhere, as a spec's own `op` are."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from ...compiler.graph.nodes import Apply, Call, Graph, Input, Node, Output, Positions, makes, reads
from ...compiler.graph.traits import SMALLEST, Reduce
from ...compiler.graph.values import IndexInto, Role, Scalar, Type, Value
from ...compiler.ops import op_reading
from ...compiler.rewrites.simplify.dead import alive
from ...compiler.rewrites.tools.order import in_order
from ...compiler.rewrites.tools.walk import Fresh, Walk
from ...compiler.sizes.axes import Axis, Const, known
from ...compiler.streams.find import find
from ...dsl.base.records import replace
from ..text.scopes import names_of
from . import wrapper
from .backward import back_columns, back_rows
from .forward import forward, shares
from .names import FOLD, FreeNames, of_file, plain
from .points import functions
from .read import Reason, kernels
from .tiles import Kernel, NoKernel


def text(kernel: Kernel, digest: str = "") -> str:
    """All of a kernel. Raises NoKernel for what has no form in Triton."""
    parts = [functions, forward, *([shares] if kernel.shares is not None else [])]
    parts += [back_rows, back_columns] if kernel.trains else []
    return "\n\n\n".join([*(part(kernel) for part in parts), wrapper.text(kernel, digest)])


@dataclass
class Outliner:
    """Takes kernels out of graphs. module: the file that is to hold them."""

    module: str
    kernels: list[Kernel] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    names: FreeNames = field(default_factory=lambda: FreeNames(["d_score"]))
    written: dict[str, str] = field(default_factory=dict)  # from the text of a kernel to its name: one is enough

    def __call__(self, graph: Graph) -> Graph:
        return Walk(lambda _, new: self._one(new))(graph)

    def _one(self, graph: Graph) -> Graph:
        if graph.kind == "op":
            return graph
        placed, starts, more = _placed(graph)
        found = find(placed)
        for refusal in found.refusals:
            op = refusal.node.op if isinstance(refusal.node, Apply) else type(refusal.node).__name__.lower()
            self.reasons.append(Reason(f"{graph.name}, along {refusal.axis.name}", f"`{op}` {refusal.why}"))
        calls: list[tuple[Kernel, Call]] = []
        for region in found.regions:
            several = [value.name for value in region.results if value.name and len(found.regions) > 1]
            method = [graph.stepped.method] if graph.stepped is not None else []
            wish = "_".join([graph.name, *several[:1], *method])
            try:
                made = [(one, text(one)) for one in kernels(placed, region, starts)]
            except NoKernel as reason:
                self.reasons.append(Reason(f"{graph.name}, along {region.streamed.name}", str(reason)))
                continue
            named = [self._named(kernel, body, wish) for kernel, body in made]
            calls += [(kernel, self._call(kernel)) for kernel in named]
        if not calls:
            return graph
        gone = {out.id for _, call in calls for out in call.outs}
        kept = [node for node in (*graph.nodes, *more) if not any(out.id in gone for out in makes(node))]
        return alive(replace(graph, nodes=tuple(in_order([*kept, *(call for _, call in calls)]))))

    def _named(self, kernel: Kernel, body: str, wish: str) -> Kernel:
        """The kernel by its name in the file, which is that of an earlier one where both are the same."""
        if body not in self.written:
            name = plain(wish.replace("__", "_"), "fold", of_file())
            used = {use.name for use in names_of(body).uses if use.home is not None}
            name = FreeNames(self.names.taken | used).give(name, FOLD)  # what it is given may not hide its functions
            self.written[body] = self.names.give(name, FOLD)
            self.kernels.append(replace(kernel, name=self.written[body]))
        return replace(kernel, name=self.written[body])

    def _call(self, kernel: Kernel) -> Call:
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
        consts = {
            Const(place, name, known(static)): static for place, (name, static) in enumerate(kernel.written.items())
        }
        op = Graph(
            kernel.name, "op", axes_used, len(axes_used), tuple(consts), (), tuple(inputs), (), tuple(outputs),
            target=f"{self.module}:{kernel.name}",
        )  # fmt: skip
        args = tuple(part.value for part in kernel.inputs)
        return Call(
            op, kernel.name, args, tuple(outs), tuple((axis, axis) for axis in axes_used), tuple(consts.items())
        )


def _placed(graph: Graph) -> tuple[Graph, dict[Axis, Value], list[Node]]:
    """A step with positions as other graphs have them; the place of the first item along each of their axes, and what
    makes that. Items stand in a row, whatever they are: new ones, those that are kept, chunks of them.
    """
    if graph.stepped is None:
        return graph, {}, []
    fresh, starts, more, nodes = Fresh(graph), dict[Axis, Value](), list[Node](), list[Node]()
    for node in graph.nodes:
        match node:
            case Apply(out=Value(type=Type(IndexInto(), (axis,)))) if not reads(node) and not node.weights:
                nodes.append(Positions(axis, node.out))
                if axis not in starts:
                    starts[axis] = fresh(replace(node.out, type=Type(Scalar.INT, ()), name=f"first_{axis.name}"))
                    more.append(Apply(op_reading(Reduce(SMALLEST)), (node.out,), starts[axis], axes=(axis,)))
            case _:
                nodes.append(node)
    return replace(graph, nodes=tuple(nodes)), starts, more
