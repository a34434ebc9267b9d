"""What is made of the places of new items alone, by some ops, is read from a table (`tabulate`).

Sines and cosines of a place do not change from step to step. So the step makes them for many places at once, and later
ones take rows of that. The op that makes such a value gets the option `table`; what it is made of is made with the
table.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Constant, Graph, Positions, Stepped, makes, reads
from ...graph.traits import Arrange, IndexMap, OpTraits, Pointwise, Reduce
from ...graph.values import Scalar
from ...rewrites.tools.walk import Walk
from ...sizes.axes import Axis, Literal, axes_in

TABLE = Literal(True)
FEW = 2  # ops that are done sooner than a table is read


def tabulate(step: Graph) -> Graph:
    """The graph of a step whose tables of places are marked."""
    return Walk(lambda _, graph: _marked(graph))(step)


def _marked(graph: Graph) -> Graph:
    tables = set[int]() if graph.stepped is None else _tables(graph, graph.stepped)
    if not tables:
        return graph
    nodes = (
        replace(node, options={**node.options, "table": TABLE})
        if isinstance(node, Apply) and node.out.id in tables
        else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def _tables(graph: Graph, stepped: Stepped) -> set[int]:
    """The reals, by the ids of their values, that are made of places by more than a few ops and read by others."""
    ops: dict[int, frozenset[int]] = {}  # of values made of places and numbers alone: the ops that they take
    for node in graph.nodes:
        match node:
            case Constant(value, out) if all(axis.extent is not None for axis in axes_in(value)):
                ops[out.id] = frozenset()
            case Positions(axis, out) if axis.extent is not None:
                ops[out.id] = frozenset()
            case Apply(traits=OpTraits(caches=True, remembers=False), operands=(), axes=(axis,), out=out) if (
                axis.family == stepped.new
            ):
                ops[out.id] = frozenset()
            case Apply(out=out) if _of_each_place(node, stepped) and all(value.id in ops for value in reads(node)):
                ops[out.id] = frozenset({out.id}).union(*(ops[value.id] for value in reads(node)))
    read = {output.value.id for output in graph.outputs}
    for node in graph.nodes:
        inside = isinstance(node, Apply) and node.out.id in ops
        read |= {value.id for value in reads(node) if not inside}
    return {
        node.out.id
        for node in graph.nodes
        if isinstance(node, Apply) and len(ops.get(node.out.id, ())) > FEW and node.out.id in read
        if node.out.type.element is Scalar.REAL and len(_new(node.out.type.axes, stepped)) == 1
    }


def _of_each_place(node: Apply, stepped: Stepped) -> bool:
    """Whether what an op makes for a place is made of what is there for that place alone."""
    along = (
        *node.axes,
        *node.made,
        *node.each,
        *(axis for static in node.options.values() for axis in axes_in(static)),
    )
    if node.weights or any(axis.extent is None for axis in along):
        return False
    match node.traits:
        case OpTraits(random=True) | OpTraits(caches=True) | OpTraits(checks=True):
            return False
        case OpTraits(reads=Pointwise() | Reduce() | Arrange(IndexMap.SAME | IndexMap.DIGITS | IndexMap.NUMBER)):
            return True
        case _:
            return False


def _new(axes: tuple[Axis, ...], stepped: Stepped) -> list[Axis]:
    return [axis for axis in axes if axis.family == stepped.new]


def tables_of(graph: Graph) -> list[Apply]:
    """The ops of a step whose results are tables, in order."""
    return [node for node in graph.nodes if isinstance(node, Apply) and "table" in node.options]


def made_into(graph: Graph) -> list[int]:
    """The places of the nodes that tables are made by, in order."""
    wanted, places = {node.out.id for node in tables_of(graph)}, list[int]()
    for place, node in reversed([*enumerate(graph.nodes)]):
        if any(value.id in wanted for value in makes(node)):
            wanted |= {value.id for value in reads(node)}
            places.append(place)
    return places[::-1]


def made_for_tables(graph: Graph) -> set[int]:
    """The places of the nodes that make tables, and what nothing else reads."""
    made, tables = made_into(graph), {node.out.id for node in tables_of(graph)}
    others = {output.value.id for output in graph.outputs}
    others |= {value.id for place, node in enumerate(graph.nodes) if place not in made for value in reads(node)}
    hidden = set()
    for place in reversed(made):
        made_here = {value.id for value in makes(graph.nodes[place])}
        if made_here & others and not made_here & tables:
            others |= {value.id for value in reads(graph.nodes[place])}
        else:
            hidden.add(place)
    return hidden
