"""One class for a block, whether its attention is given a mask, is causal, or sees everything.

Masks of positions stand at their attention, and so a block that is called with `past <= target` and with a mask of
padding has become two graphs, which differ in nothing else. Here they become one again: `mask`, an argument that may be
left out, and `causal`, a truth value that each call gives. What the attention sees is then

    mask and (k <= q or not causal)

which is what `Predicate` says, and backends have a kernel for. What it does not do: touch a block that is called in one
way alone, one whose attention has a bias, or a mask that says more of positions: that stays known to its class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Parameter, Positions, Scan, children, makes, reads
from ...graph.term import Leaf, Position, Predicate, Term, TermOp, leaves
from ...graph.values import Role, Scalar, Type, Value
from ...masks.kinds import is_causal
from ...sizes.axes import Axis, Literal, show_static
from ...sizes.functions import Compared, Complement, Conjunction, Disjunction
from ..tools.walk import Fresh, Walk, with_predicate

ALL, GIVEN, CAUSAL = "everything", "given", "causal"  # what the attention of a block sees
EVERYTHING, NOT = Literal(True), Literal(False)  # where a call does not say


@dataclass(frozen=True, slots=True)
class _MaskUse:
    """What the one attention of a block sees; `mask` is the input that it is given, and nothing else reads."""

    node: Apply
    sees: str
    mask: Input | None = None


Ways = dict[int, tuple[Graph, _MaskUse]]
"""Blocks whose mask could be an argument, by the ids of their graphs."""

Arguments = tuple[str, bool, bool]
"""What the mask of a block is called, whether it is an argument, and whether that it is causal is one."""


def mask_arguments(graph: Graph, like: Graph | None = None) -> Graph:
    """The graph where such blocks are one.

    like: the model of whose decoding the graph is a part: what is called whole there is a block of the model.
    """
    ways = {id(one): (one, way) for one in _blocks(graph) if (way := _way(one)) is not None}
    wanted = _wanted(ways) if like is None else _as_in(like, ways)
    if not wanted:
        return graph

    def step(old: Graph, new: Graph) -> Graph:
        new = _calling(old, new, ways, wanted)
        return _taking(new, ways[id(old)][1], *wanted[id(old)]) if id(old) in wanted else new

    return Walk(step)(graph)


def _wanted(ways: Ways) -> dict[int, Arguments]:
    """The arguments of each block that is called in several ways, by the id of its graph."""
    alike: dict[object, list[int]] = {}
    for key, (graph, way) in ways.items():
        alike.setdefault(_skeleton(graph, way.mask), []).append(key)
    wanted: dict[int, Arguments] = {}
    for keys in alike.values():
        found = [ways[key][1] for key in keys]
        sees = {way.sees for way in found}
        if len(sees) > 1:
            name = next((way.mask.name for way in found if way.mask is not None), "mask")
            wanted |= dict.fromkeys(keys, (name, GIVEN in sees, CAUSAL in sees))
    return wanted


def _as_in(like: Graph, ways: Ways) -> dict[int, Arguments]:
    known: dict[object, Arguments] = {}
    for graph in _blocks(like):
        optional = [item for item in graph.inputs if item.default is not None]
        if optional:
            masks = [item.name for item in optional if item.value.role is not Role.CONSTANT]
            known[_skeleton(graph, *optional)] = ("".join(masks), bool(masks), len(optional) > len(masks))
    found = ((key, known.get(_skeleton(graph, way.mask)), way) for key, (graph, way) in ways.items())
    return {key: arguments for key, arguments, way in found if arguments is not None and _fits(way, arguments)}


def _fits(way: _MaskUse, arguments: Arguments) -> bool:
    _, given, causal = arguments
    return {GIVEN: given, CAUSAL: causal, ALL: True}[way.sees]


def _blocks(root: Graph) -> Iterator[Graph]:
    """The blocks that calls alone have: what a scan runs takes what it is given item by item."""
    found, scanned, left = {id(root): root}, set[int](), [root]
    while left:
        graph = left.pop()
        for node in graph.nodes:
            for child in children(node):
                scanned |= {id(child)} if isinstance(node, Scan) else set()
                if id(child) not in found:
                    found[id(child)] = child
                    left.append(child)
    yield from (one for key, one in found.items() if one.kind == "block" and key not in scanned and not one.target)


def _way(graph: Graph) -> _MaskUse | None:
    """What the attention of a block sees, if it has one, under a mask that could be an argument."""
    found = [node for node in graph.nodes if isinstance(node, Apply) and node.op == "attention"]
    if len(found) != 1 or graph.stepped is not None or "cap" in found[0].options or len(found[0].operands) != 3:
        return None
    (node,) = found
    if node.mask is None and node.seen is None:
        return _MaskUse(node, ALL)
    if node.seen is not None:
        return _MaskUse(node, CAUSAL) if is_causal(node.seen) else None
    mask = next((item for item in graph.inputs if item.value == node.mask), None)
    if mask is None or mask.value.role is Role.CONSTANT:
        return None
    readers = [value for one in graph.nodes for value in reads(one) if value == mask.value]
    axes = {axis for axis in mask.value.type.axes if axis not in graph.lifted}
    if len(readers) > 1 or axes != {node.made[0], node.axes[1]}:
        return None
    return _MaskUse(node, GIVEN, mask)


def _skeleton(graph: Graph, *without: Input | None) -> object:
    """What two graphs of one block have in common that differ in masks alone."""
    numbers: dict[int, int] = {}

    def new(value: Value) -> object:
        numbers[value.id] = len(numbers)
        axes = [axis.name for axis in value.type.axes if axis not in graph.lifted]
        return (value.role is Role.CONSTANT, value.is_table, sorted(axes), value.name)

    place = None if graph.span is None else (graph.span.source.name, graph.span.start)
    parts: list[object] = [graph.name, graph.kind, place, [axis.name for axis in graph.axes]]
    parts += [(item.name, new(item.value)) for item in graph.inputs if item not in without]
    for node in graph.nodes:
        read = [numbers[value.id] for value in reads(node) if value.id in numbers]
        parts.append((type(node).__name__, *_kind(node), read, *map(new, makes(node))))
        parts += [_skeleton(child) for child in children(node)]
    parts += [(output.name, numbers[output.value.id]) for output in graph.outputs]
    return repr(parts)


def _kind(node: Node) -> tuple[object, ...]:
    match node:
        case Apply():
            options = [(name, show_static(static)) for name, static in sorted(node.options.items())]
            axes = [[axis.name for axis in some] for some in (node.axes, node.made, node.each)]
            masked = node.op != "attention" and node.mask is not None
            return (node.op, node.name, options, axes, masked, [weight.name for weight in node.weights])
        case Constant(value):
            return (show_static(value),)
        case Positions(axis):
            return (axis.name,)
        case Parameter(weight):
            return (weight.name,)
        case Call() | Scan():
            return (node.name, [(const.name, show_static(static)) for const, static in node.consts])
        case _:
            return (node.name, show_static(node.count), node.variant)


def _taking(graph: Graph, way: _MaskUse, name: str, given: bool, causal: bool) -> Graph:
    """The block with these arguments, its last ones."""
    fresh, node = Fresh(graph), way.node
    q, k = node.made[0], node.axes[1]
    inputs = [item for item in graph.inputs if item is not way.mask]
    mask: Value | None = None
    if given:
        kind = Type(Scalar.BOOL, (q, k), frozenset({q, k}))
        if way.mask is not None:
            old = way.mask.value.type
            lifted = tuple(axis for axis in old.axes if axis not in (q, k))
            kind = Type(Scalar.BOOL, (*lifted, q, k), old.broadcast_axes)
        mask = fresh(Value(0, kind, Role.DATA, name, None))
        inputs.append(Input(name, mask, EVERYTHING))
    if causal:
        truth = fresh(Value(0, Type(Scalar.BOOL, ()), Role.CONSTANT, "causal", None))
        inputs.append(Input("causal", truth, NOT))
        changed = with_predicate(
            replace(node, mask=None, seen=None, operands=node.operands[:3]), seen(q, k, mask, truth)
        )
    else:
        changed = replace(node, mask=mask)
    nodes = tuple(changed if one is node else one for one in graph.nodes)
    return replace(graph, inputs=tuple(inputs), nodes=nodes)


def _calling(old: Graph, new: Graph, ways: Ways, wanted: Mapping[int, Arguments]) -> Graph:
    """A graph whose calls give these arguments. old: as it was, with what it called then."""
    nodes: list[Node] = []
    ids = count(10**9)
    for before, node in zip(old.nodes, new.nodes, strict=True):
        if not isinstance(before, Call) or not isinstance(node, Call) or id(before.graph) not in wanted:
            nodes.append(node)
            continue
        way = ways[id(before.graph)][1]
        pairs = [*zip(before.graph.inputs, node.args, strict=True)]
        args = [arg for item, arg in pairs if item is not way.mask]
        _, given, causal = wanted[id(before.graph)]
        if given and way.mask is not None:
            args += [arg for item, arg in pairs if item is way.mask]
        usual = [EVERYTHING] if given and way.mask is None else []
        for truth in (*usual, *([Literal(way.sees == CAUSAL)] if causal else [])):
            out = Value(next(ids), Type(Scalar.BOOL, ()), Role.CONSTANT, None, None)
            nodes.append(Constant(truth, out))
            args.append(out)
        nodes.append(replace(node, args=tuple(args)))
    return new if len(nodes) == len(new.nodes) else replace(new, nodes=tuple(nodes))


def seen(q: Axis, k: Axis, mask: Value | None, causal: Value) -> Predicate:
    """What such attention sees."""
    at_or_before = TermOp(Compared("<="), (Position(k), Position(q)))
    term: Term = TermOp(Disjunction(), (at_or_before, TermOp(Complement(), (Leaf(causal, "causal"),))))
    return Predicate(q, k, term if mask is None else TermOp(Conjunction(), (Leaf(mask, mask.name or ""), term)))


def arguments(predicate: Predicate | None) -> tuple[Value | None, Value] | None:
    """The mask and the truth value that a predicate of this kind is made of."""
    found = () if predicate is None else tuple(leaf.value for leaf in leaves(predicate.term))
    if predicate is None or not 1 <= len(found) <= 2:
        return None
    mask, causal = (found[0] if len(found) > 1 else None), found[-1]
    if causal.role is not Role.CONSTANT:  # a mask may say so of data, key by key
        return None
    return (mask, causal) if predicate == seen(predicate.q, predicate.k, mask, causal) else None
