"""The graph of `prepare`: what a step reads and no step changes, made once (the keys of an encoder's memory)."""

from __future__ import annotations

from dataclasses import replace

from ..graph.nodes import Apply, Call, Constant, Graph, Node, Output, Parameter, Positions, Repeat, Scan, Stepped, reads
from ..graph.values import Role
from .build import Axes, GraphBuilder, several
from .sites import STATIC, Cell, StepSite, is_kept_whole


class Prepare:
    """Builds it for the static cells in `keys`: each with the name under which it is kept."""

    def __init__(self, root: StepSite, keys: dict[Cell, str], axes: Axes) -> None:
        self.keys, self.axes = keys, axes
        self.needed: set[Cell] = set()
        for cell in keys:
            self._need(cell)
        self.sites = {site for cell in self.needed for site in _above(cell.site)}
        self.root = root

    def _need(self, cell: Cell) -> None:
        todo = [cell]
        while todo:
            cell = todo.pop()
            if cell not in self.needed:
                self.needed.add(cell)
                todo += self._from(cell)

    def _from(self, cell: Cell) -> list[Cell]:
        """What a static value is made of."""
        site, node = cell.site, cell.node
        if node is None:
            if site.parent is None:
                return []
            number = next(i for i, item in enumerate(site.graph.inputs) if item.value is cell.value)
            above = site.parent.graph.nodes[site.index]
            assert isinstance(above, Call | Repeat)
            found = [site.parent.cells[above.args[number].id]]
            if isinstance(above, Repeat) and number < above.carried:
                bodies = site.parent.inside[site.index]
                found += [body.cells[body.graph.outputs[number].value.id] for body in bodies]
            return found
        match node:
            case Call() if not is_kept_whole(site, node):
                child = site.inside[site.graph.nodes.index(node)][0]
                return [child.cells[child.graph.outputs[node.outs.index(cell.value)].value.id]]
            case Repeat():
                number = node.outs.index(cell.value)
                bodies = site.inside[site.graph.nodes.index(node)]
                ends = [(body, (body.graph.outputs[number], body.graph.inputs[number])) for body in bodies]
                return [body.cells[end.value.id] for body, both in ends for end in both]
            case _:
                return [site.cells[value.id] for value in reads(node)]

    def graph(self, site: StepSite, entering: list[Cell], leaving: list[Output]) -> Graph:
        b = GraphBuilder(site, self.axes)
        inputs = []
        for item in site.graph.inputs:
            cell = site.cells[item.value.id]
            if cell in entering or (site.parent is None and cell.kind == STATIC):
                inputs.append(replace(item, value=b.value(cell, ())))
                self._store(b, cell)
        for place, node in enumerate(site.graph.nodes):
            self._node(b, place, node)
        outputs = tuple(replace(o, value=b.get(site.cells[o.value.id], {}), causal=()) for o in leaving)
        stepped = Stepped("prepare", site.origin, site.name, self.axes.new, self.axes.whole, variant=several(site))
        lifted = tuple(axis for axis in site.graph.lifted if not site.timed(axis))
        axes = tuple(axis for axis in site.graph.axes if not site.timed(axis))
        return replace(
            site.graph, axes=axes, params=len(axes), lifted=lifted, inputs=tuple(inputs), nodes=tuple(b.nodes),
            outputs=outputs, stepped=stepped,
        )  # fmt: skip

    def _store(self, b: GraphBuilder, cell: Cell) -> None:
        if cell in self.keys:
            value = b.get(cell, {})
            b.add("store", (value,), b.fresh(value.type, Role.DATA, None, value), self.keys[cell])

    def _node(self, b: GraphBuilder, place: int, node: Node) -> None:
        site = b.site
        match node:
            case Constant(out=out) | Positions(out=out) | Parameter(out=out):
                cell = site.cells[out.id]
                if cell in self.needed:
                    b.nodes.append(replace(node, out=b.value(cell, ())))
                    self._store(b, cell)
            case Apply():
                cell = site.cells[node.out.id]
                if cell in self.needed:
                    operands = tuple(b.get(site.cells[v.id], {}) for v in node.operands)
                    mask = None if node.mask is None else b.get(site.cells[node.mask.id], {})
                    b.nodes.append(replace(node, operands=operands, mask=mask, out=b.value(cell, ())))
                    self._store(b, cell)
            case Call() | Repeat() if place in site.inside:
                self._nested(b, place, node)
            case Call() | Scan() | Repeat():
                if any(site.cells[out.id] in self.needed for out in node.outs):
                    args = tuple(b.get(site.cells[arg.id], {}) for arg in node.args)
                    outs = tuple(b.value(site.cells[out.id], ()) for out in node.outs)
                    b.nodes.append(replace(node, args=args, outs=outs))
                    for out in node.outs:
                        self._store(b, site.cells[out.id])

    def _nested(self, b: GraphBuilder, place: int, node: Call | Repeat) -> None:
        """A block or a repeat of which only what is static is done."""
        site, children = b.site, b.site.inside[place]
        if not any(child in self.sites for child in children):
            return
        taken = [
            number
            for number in range(len(node.args))
            if any(child.cells[child.graph.inputs[number].value.id] in self.needed for child in children)
        ]
        if isinstance(node, Repeat):
            given = [n for n in taken if n < node.carried]
        else:
            given = [n for n, out in enumerate(node.outs) if site.cells[out.id] in self.needed]
        graphs = []
        for child in children:
            entering = [child.cells[child.graph.inputs[number].value.id] for number in taken]
            graphs.append(self.graph(child, entering, [child.graph.outputs[number] for number in given]))
        args = tuple(b.get(site.cells[node.args[number].id], {}) for number in taken)
        outs = tuple(b.value(site.cells[node.outs[number].id], ()) for number in given)
        if isinstance(node, Repeat):
            b.nodes.append(replace(node, bodies=tuple(graphs), args=args, carried=len(given), outs=outs))
        else:
            pairs = tuple((formal, actual) for formal, actual in node.axes if not site.timed(actual))
            b.nodes.append(replace(node, graph=graphs[0], args=args, outs=outs, axes=pairs))
        for number in given:
            self._store(b, site.cells[node.outs[number].id])

    def build(self) -> Graph:
        return self.graph(self.root, [], [])


def _above(site: StepSite | None) -> list[StepSite]:
    found = []
    while site is not None:
        found.append(site)
        site = site.parent
    return found
