"""What depends on positions and sizes alone is made once a forward, not once a pass of a repeat or a call of a block.

Tables of sines, masks, biases made of distances: the nodes that make them move from a body that runs several times to
whoever calls it, as far out as that spares work; the body takes the table as an argument, reals in the model's own type
(the op `cast`, which is only found here). Numbers known at build time stay where they are. What it does not do: look
into scans and ops of the user's own, take anything out of a model, or move what depends on the number of a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Graph, Input, Node, Repeat, children, makes, owns, reads
from ...graph.traits import Choice, OpTraits, Pointwise
from ...graph.values import Role, Scalar, Value
from ...ops import op_named
from ...sizes.axes import Const
from ...sizes.functions import Connective
from ..tools.tables import Tables
from ..tools.transport import TargetBody, Terms
from ..tools.walk import Fresh, with_operands, with_results


def hoist(graph: Graph) -> Graph:
    """The graph with its tables made as far out as that spares work."""
    return _Hoister(Tables(graph)).graph(graph)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A body divided: `taken` make tables, `nodes` stay and read `tables`; inputs at `unread` can go."""

    graph: Graph
    taken: tuple[Node, ...]
    tables: tuple[Value, ...]
    nodes: tuple[Node, ...]
    unread: frozenset[int]
    fresh: Fresh

    def body(self, given: Sequence[Value], left: Sequence[int], same: Mapping[int, Value]) -> Graph:
        """What is left of the body: it takes these tables behind these inputs, and reads some in place of others."""
        inputs = [self.graph.inputs[place] for place in left]
        inputs += [Input(value.name or _kind(value), value) for value in given]
        nodes = tuple(with_operands(node, same) for node in self.nodes)
        outputs = tuple(replace(one, value=same.get(one.value.id, one.value)) for one in self.graph.outputs)
        return replace(self.graph, inputs=tuple(inputs), nodes=nodes, outputs=outputs)


class _Hoister:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._graphs: dict[int, Graph] = {}
        self._blocks: dict[int, tuple[_Parts, Graph] | None] = {}
        self._keep: list[Graph] = []
        self._owners: dict[Graph, bool] = {}

    def graph(self, graph: Graph) -> Graph:
        """The graph with the tables of what it calls made in it."""
        if id(graph) not in self._graphs:
            self._keep.append(graph)
            self._graphs[id(graph)] = self._rewrite(graph)
        return self._graphs[id(graph)]

    def _rewrite(self, graph: Graph) -> Graph:
        caller = TargetBody(graph)
        for node in graph.nodes:
            match node:
                case Call() if not node.graph.target:
                    caller.add(self._call(caller, node))
                case Repeat():
                    caller.add(self._repeat(caller, node))
                case _:  # the block of a scan gets no more inputs
                    caller.add(node)
        if tuple(caller.nodes) != graph.nodes:
            graph = replace(graph, nodes=tuple(caller.nodes), axes=(*graph.axes, *caller.new_axes))
        return _cast_once(graph)

    # -- calls and repeats ---------------------------------------------------------------------------------------

    def _call(self, caller: TargetBody, node: Call) -> Call:
        found = self._block(node.graph)
        if found is None:
            child = self.graph(node.graph)
            return node if child is node.graph else replace(node, graph=child)
        parts, body = found
        values = {item.value.id: arg for item, arg in zip(parts.graph.inputs, node.args, strict=True)}
        terms = Terms(caller, parts.graph, dict(node.axes), dict(node.consts), values)
        caller.bring(parts.taken, terms)
        left = [arg for place, arg in enumerate(node.args) if place not in parts.unread]
        args = (*left, *(values[value.id] for value in parts.tables))
        return replace(node, graph=body, args=args, axes=tuple(terms.axes.items()))

    def _block(self, graph: Graph) -> tuple[_Parts, Graph] | None:
        """A block that runs several times, divided, and what is left of it; None where nothing can be taken out."""
        if id(graph) not in self._blocks:
            parts = self._divided(graph, 0, None) if id(graph) in self.tables.repeated else None
            if parts is None or not parts.tables:
                self._blocks[id(graph)] = None
            else:
                left = [place for place in range(len(graph.inputs)) if place not in parts.unread]
                self._blocks[id(graph)] = parts, parts.body(parts.tables, left, {})
        return self._blocks[id(graph)]

    def _repeat(self, caller: TargetBody, node: Repeat) -> Repeat:
        bodies = [self.graph(body) for body in node.bodies]
        for body, old in zip(bodies, node.bodies, strict=True):
            caller.new_axes += body.axes[len(old.axes) :]
        divided = [self._divided(body, node.carried, node.index) for body in node.bodies]
        if all(id(body) not in self.tables.repeated for body in node.bodies) or not any(one.tables for one in divided):
            kept = all(a is b for a, b in zip(bodies, node.bodies, strict=True))
            return node if kept else replace(node, bodies=tuple(bodies))
        # All bodies take the same tables, each under a value of its own.
        own: list[dict[int, Value]] = []
        same: list[dict[int, Value]] = []
        tables: dict[int, Value] = {}
        for parts in divided:
            values = {item.value.id: arg for item, arg in zip(parts.graph.inputs, node.args, strict=True)}
            caller.bring(parts.taken, Terms(caller, parts.graph, {}, {}, values, own=False))
            tables |= {values[value.id].id: values[value.id] for value in parts.tables}
            found: dict[int, Value] = {}
            own.append(found)
            same.append({value.id: found.setdefault(values[value.id].id, value) for value in parts.tables})
        unread = frozenset.intersection(*(parts.unread for parts in divided))
        left = [place for place in range(len(node.args)) if place not in unread]
        made = []
        for parts, found, change in zip(divided, own, same, strict=True):
            given = [found[number] if number in found else parts.fresh(value) for number, value in tables.items()]
            made.append(parts.body(given, left, change))
        args = (*(node.args[place] for place in left), *tables.values())
        return replace(node, bodies=tuple(made), args=args)

    # -- one body ------------------------------------------------------------------------------------------------

    def _divided(self, old: Graph, carried: int, index: Const | None) -> _Parts:
        graph = self.graph(old)
        still = self.tables.unchanging(old, graph, carried, index)
        wanted = {output.value.id for output in graph.outputs}
        kept: list[Node] = []
        given: list[Value] = []
        for node in reversed(graph.nodes):
            ours = [out for out in makes(node) if out.id in wanted]
            if self._makes_tables(node, still) and all(still[out.id] and out.role is not Role.CONSTANT for out in ours):
                given += [replace(out, name=out.name or _called(node)) for out in reversed(ours)]
            else:
                kept.append(node)
                wanted |= {value.id for value in reads(node)}
        read = {item.value.id: item.value for item in graph.inputs if item.value.id in still}
        given += [value for value in reversed(read.values()) if value.id in wanted and _table(value)]
        return self._reals(graph, kept[::-1], given[::-1], still)

    def _makes_tables(self, node: Node, still: Mapping[int, bool]) -> bool:
        """Whether a node does nothing but make tables: others have weights, or leave something in the cache."""
        outs = makes(node)
        learns = any(owns(child, self._owners) for child in children(node))
        return bool(outs) and not learns and all(out.id in still for out in outs)

    def _reals(self, graph: Graph, kept: list[Node], given: list[Value], still: Mapping[int, bool]) -> _Parts:
        """Where a table meets nothing but the model's own reals, it is one of them when it comes."""
        fresh = Fresh(graph)
        inputs = {item.value.id for item in graph.inputs}
        change: dict[int, Value] = {}
        casts: list[Node] = []
        for value in given:
            if _table(value) and all(_meets_reals(node, value) for node in kept) and not _shown(graph, value):
                change[value.id] = fresh(replace(value, role=Role.WEIGHT))
                casts.append(Apply(op_named("cast"), (value,), change[value.id]))
        wanted = {value.id for value in given}
        names = {value.id: None if value.id in change else value.name for value in given}
        taken: list[Node] = []
        for node in reversed(graph.nodes):
            if self._makes_tables(node, still) and any(out.id in wanted for out in makes(node)):
                outs = tuple(replace(out, name=names.get(out.id, out.name)) for out in makes(node))
                taken.append(with_results(node, outs))
                wanted |= {value.id for value in reads(node)}
        nodes = tuple(with_operands(node, change) for node in kept)
        given = [change.get(value.id, value) for value in given if value.id in change or value.id not in inputs]
        before, after = index_of(graph).readers, index_of(replace(graph, nodes=nodes)).used
        unread = frozenset(
            place for place, item in enumerate(graph.inputs) if item.value.id in before and item.value.id not in after
        )
        return _Parts(graph, (*reversed(taken), *casts), tuple(given), nodes, unread, fresh)


def _cast_once(graph: Graph) -> Graph:
    """A table that several nodes read as a real of the model's own type becomes one at once."""
    index = index_of(graph)
    fresh = Fresh(graph)
    change: dict[int, Value] = {}
    nodes: list[Node] = []
    for old in graph.nodes:
        node = with_operands(old, change)
        outs = []
        for out in makes(node):
            found = index.takers(out)
            if (
                _table(out)
                and len(found) > 1
                and not _shown(graph, out)
                and all(_meets_reals(one, out) for one in found)
            ):
                change[out.id] = fresh(replace(out, role=Role.WEIGHT, name=out.name or _called(node)))
                out = replace(out, name=None)
            outs.append(out)
        nodes.append(with_results(node, tuple(outs)) if any(out.id in change for out in outs) else node)
        nodes += [Apply(op_named("cast"), (out,), change[out.id]) for out in outs if out.id in change]
    return replace(graph, nodes=tuple(nodes)) if change else graph


def _called(node: Node) -> str:
    """What to call a table that the spec does not name."""
    match node:
        case Call(graph):
            return graph.name
        case Apply(OpTraits(reads=Pointwise(meaning)), out=out) if isinstance(meaning, Choice | Connective):
            return _kind(out)  # `select` does not say what is chosen, nor `and` what is true
        case Apply(traits, out=out):  # `+` cannot name a variable
            return traits.name if traits.name.isidentifier() else _kind(out)
        case _:
            return "table"


def _kind(value: Value) -> str:
    return "mask" if value.type.element is Scalar.BOOL else "table"


def _table(value: Value) -> bool:
    return value.type.element is Scalar.REAL and value.role is Role.TABLE


def _meets_reals(node: Node, value: Value) -> bool:
    """Whether the node reads a table, if it reads it, as a real of the model's own type."""
    if all(other.id != value.id for other in reads(node)):
        return True
    match node:
        case Apply():
            wholly = node.out.type.element is Scalar.REAL  # else it reads them as they are: `x < table`
            met = (node.out,) if wholly else node.operands
            return not node.traits.remembers and any(
                one.type.element is Scalar.REAL and not one.is_table for one in met
            )
        case Call(graph) | Repeat(bodies=(graph, *_)):
            given = zip(graph.inputs, node.args, strict=True)
            return all(not item.value.is_table for item, arg in given if arg.id == value.id)
        case _:
            return False


def _shown(graph: Graph, value: Value) -> bool:
    return any(output.value.id == value.id for output in graph.outputs)
