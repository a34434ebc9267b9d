"""Running sums of products, read at once: `dot[key](q, cumsum[t](k * v))` is attention without a softmax, in chunks.

Neither the products nor their sums are made. Where the same queries read `cumsum[t](k)`, too, to divide by it, that is
one more value of each item, 1: such an op `weighs` what the attention reads, and one call computes both. The same of
what is written as pairs (pairs.py).
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.core.index import Index, index_of
from ...graph.nodes import Apply, Graph, Node, makes
from ...graph.traits import ADDED, Running
from ...graph.values import Value
from ...ops import op_named
from ..simplify.dead import alive
from ..tools.order import in_order
from ..tools.walk import Walk
from .forms import Maker, Summand, counting, is_product
from .pairs import summed_pairs

ALONE = ("start", "erase")  # options of an attention that counts nothing beside


def running_sums(graph: Graph) -> Graph:
    """The graph with such sums read in chunks."""
    return Walk(lambda _, new: _summed(new))(graph)


def _summed(graph: Graph) -> Graph:
    make, index = Maker(graph), index_of(graph)
    make.makers = dict(index.made_by)
    done: dict[int, Apply] = {}
    for node in graph.nodes:
        for value in makes(node):
            done |= summed_pairs(make, value, [] if value.id in index.returned else index.takers(value))
        one = _in_chunks(make, node, index)
        if one is not None:
            done[one.out.id] = one
    if not done:
        return graph
    nodes = [*make.nodes, *(done.get(makes(node)[0].id, node) if makes(node) else node for node in graph.nodes)]
    return alive(counted_beside(replace(graph, nodes=tuple(nodes))))


def _in_chunks(make: Maker, node: Node, index: Index) -> Apply | None:
    """The attention that a sum over axes of running sums is, which nothing else reads."""
    if not isinstance(node, Apply) or not is_product(node) or len(node.operands) < 2:
        return None
    running = (x for x in node.operands if _is_running(make.makers.get(x.id)) and x.id not in index.returned)
    sums = [make.makers.get(x.id) for x in running if len(index.takers(x)) == 1]
    if len(sums) != 1 or not isinstance(made := sums[0], Apply):
        return None
    (t,), d = made.axes, frozenset(node.axes)
    term = make.factors(made.operands[0])
    queries = tuple(x for x in node.operands if x.id != made.out.id)
    keys, rest = term.having(d), term.without(d)
    seen, known, given = (frozenset(axis for x in some for axis in x.type.axes) for some in (queries, keys, rest))
    value = frozenset(made.out.type.axes) - d - {t} - seen - known
    fits = d <= seen & known and t in seen & known & given and value and value <= given
    if not fits or frozenset(node.out.type.axes) != (seen | known | given) - d:
        return None
    operands = make.product(Summand(queries)), make.product(Summand(keys)), make.product(Summand(rest, term.sign))
    axes, values = ([axis for axis in made.out.type.axes if axis in some] for some in (d, value))
    return replace(node, traits=op_named("linear_attention"), operands=operands, axes=(t, *axes), made=tuple(values))


def _is_running(node: Node | None) -> bool:
    return isinstance(node, Apply) and node.traits.reads == Running(ADDED)


def counted_beside(graph: Graph) -> Graph:
    """The graph where sums of keys that the queries of an attention read are counted by that; its nodes in order."""
    index = index_of(graph)
    others = {
        _read(node.operands[0], node.operands[1], node.axes[0], node): node
        for node in graph.nodes
        if isinstance(node, Apply) and node.op == "linear_attention" and not any(name in node.options for name in ALONE)
    }
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Apply) and is_product(node) and len(node.operands) == 2 and others:
            for q, sums in (node.operands, node.operands[::-1]):
                made = index.op(sums)
                if made is not None and (_is_running(made) or made.op == "recurrence"):
                    beside = others.get(_read(q, made.operands[0], made.axes[0], made))
                    if beside is not None and frozenset(beside.axes[1:]) == frozenset(node.axes):
                        node = counting(beside, node)
                        break
        nodes.append(node)
    return replace(graph, nodes=tuple(in_order(nodes)))


def _read(q: Value, k: Value, t: object, node: Apply) -> object:
    """What a sum of keys and an attention must have in common for one call to compute both."""
    behind = 3 if node.op == "linear_attention" else 1
    return q.id, k.id, t, tuple(x.id for x in node.operands[behind:]), tuple(sorted(node.options))
