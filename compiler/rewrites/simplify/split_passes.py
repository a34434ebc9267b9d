"""A repeat whose passes differ by a truth that depends on the pass's number gets a body for each kind of pass.

In `mask = past <= seq and (i % 2 == 1 or seq - past < near)` every other pass is causal and the rest are bands: two
bodies, each with a mask that is known. What it does not do: split `shared` repeats, or by numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...graph.nodes import Apply, Constant, Graph, Node, Repeat
from ...graph.traits import Complement, Conjunction, Disjunction, OpTraits, Pointwise
from ...sizes.arithmetic import substitute
from ...sizes.axes import Const, Literal, consts_in, known
from ..tools.walk import Walk, with_nodes

MOST = 4  # kinds of passes


def split_passes(graph: Graph) -> Graph:
    """The graph with such repeats split."""
    return Walk(lambda _, new: _split(new))(graph)


def _split(graph: Graph) -> Graph:
    return with_nodes(graph, (_passes(node) if isinstance(node, Repeat) else node for node in graph.nodes))


def _passes(node: Repeat) -> Repeat:
    count = known(node.count)
    if node.index is None or node.shared or not isinstance(count, int):
        return node
    kinds: dict[tuple[int, tuple[bool | None, ...]], int] = {}
    variant = []
    for number in range(count):
        body = node.runs(number)
        truths = tuple(_truths(node.bodies[body], node.index, number))
        variant.append(kinds.setdefault((body, truths), len(kinds)))
    settled = any(truth is not None for _, truths in kinds for truth in truths)
    if not settled or len(kinds) > MOST + len(node.bodies):
        return node
    bodies = tuple(_settled(node.bodies[body], node.index, truths) for body, truths in kinds)
    return replace(node, bodies=bodies, variant=tuple(variant))


def _switches(body: Graph, index: Const) -> Iterator[Constant]:
    """Constants that depend on the pass and are joined with other truths."""
    joined: set[int] = set()
    for node in body.nodes:
        match node:
            case Apply(traits=OpTraits(reads=Pointwise(Conjunction() | Disjunction() | Complement()))):
                joined |= {value.id for value in node.operands}
    for node in body.nodes:
        if isinstance(node, Constant) and node.out.id in joined and index in consts_in(node.value):
            yield node


def _truths(body: Graph, index: Const, number: int) -> Iterator[bool | None]:
    """What the switches are in one pass; None for what is known at run time only."""
    for node in _switches(body, index):
        truth = known(substitute(node.value, {}, {index.id: Literal(number)}))
        yield None if truth is None else bool(truth)


def _settled(body: Graph, index: Const, truths: tuple[bool | None, ...]) -> Graph:
    """The body with these truths in place."""
    settled = {node.out.id: truth for node, truth in zip(_switches(body, index), truths, strict=True)}
    nodes: list[Node] = []
    for node in body.nodes:
        if isinstance(node, Constant) and (truth := settled.get(node.out.id)) is not None:
            node = Constant(Literal(truth), node.out)
        nodes.append(node)
    return replace(body, nodes=tuple(nodes))
