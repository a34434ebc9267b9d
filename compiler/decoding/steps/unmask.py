"""Masks that hide nothing from one new item (`unmask`).

Of all items so far the newest sees each, under `past <= seq`; and under a window each that its range still holds. So
where a step has one item, attention needs no such mask. The op that makes it gets the option `several`: code makes it
for several new items alone. That is proved as causality is: where the mask is false there must be a contradiction with
what is known of the range, whose items are at most `keep` before the new one, and none is after it.

A mask that is kept for all steps, such as one of padding, is looked at once: where it hides nothing, it is None.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.core.term import Term, constant, exactly, pointwise
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, Stepped, reads
from ...graph.traits import Arrange, IndexMap, OpTraits, Pointwise
from ...graph.values import Scalar, Value
from ...sizes.axes import Literal, known
from ...sizes.forms import LinearForm
from ...sizes.predicates import both

SEVERAL = Literal(True)


def unmask(step: Graph) -> Graph:
    """The graph of a step whose masks are marked that hide nothing from one new item."""
    return _Marks().graph(step, frozenset())


class _Marks:
    """Each graph once for each choice of inputs that may be absent."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, frozenset[int]], Graph] = {}

    def graph(self, graph: Graph, absent: frozenset[int]) -> Graph:
        """absent: the inputs that are such masks, by the ids of their values."""
        if graph.stepped is None:
            return graph
        key = id(graph), absent
        if key not in self._done:
            self._done[key] = self._marked(graph, graph.stepped, absent)
        return self._done[key]

    def _marked(self, graph: Graph, stepped: Stepped, absent: frozenset[int]) -> Graph:
        terms = _terms(graph)
        none = set(absent)
        nodes: list[Node] = []
        for node in graph.nodes:
            match node:
                case Apply(out=out) if (
                    out.id in terms and _sees_all(terms[out.id], out, stepped) and masks_alone(graph, out)
                ):
                    none.add(out.id)
                    nodes.append(replace(node, options={**node.options, "several": SEVERAL}))
                case Apply(op="recall", out=out) if out.type.element is Scalar.BOOL and masks_alone(
                    graph, out, turned=True
                ):
                    none.add(out.id)
                    nodes.append(replace(node, options={**node.options, "several": SEVERAL}))
                case Apply(traits=OpTraits(reads=Arrange(IndexMap.SAME)), operands=(x,), out=out) if x.id in none:
                    none.add(out.id)
                    nodes.append(node)
                case Call(graph=inner):
                    nodes.append(replace(node, graph=self.graph(inner, _entering(inner, node.args, none))))
                case Repeat(bodies=bodies):
                    marked = tuple(self.graph(body, _entering(body, node.args, none)) for body in bodies)
                    nodes.append(replace(node, bodies=marked))
                case _:
                    nodes.append(node)
        return replace(graph, nodes=tuple(nodes), stepped=replace(stepped, absent=absent))


def _entering(graph: Graph, args: tuple[Value, ...], none: set[int]) -> frozenset[int]:
    return frozenset(item.value.id for item, arg in zip(graph.inputs, args, strict=True) if arg.id in none)


def _terms(graph: Graph) -> dict[int, Term]:
    """What is known of the values that are made of places and numbers alone."""
    found: dict[int, Term] = {}
    for node in graph.nodes:
        match node:
            case Constant(value, out):
                found[out.id] = constant(value)
            case Apply(traits=traits, operands=()) if traits.caches and not traits.remembers:
                found[node.out.id] = exactly(LinearForm.index(node.axes[0]))
            case Apply(mask=None) if isinstance(node.traits.reads, Pointwise) and not node.traits.random:
                if all(value.id in found for value in node.operands):
                    found[node.out.id] = pointwise(node.traits.reads.meaning, [found[v.id] for v in node.operands])
            case _:
                pass
    return found


def _sees_all(mask: Term, value: Value, stepped: Stepped) -> bool:
    """Whether a mask [new, range] is true of the newest item and each of its range."""
    kept = {axis: known(keep) for axis, keep in stepped.visible}
    new = [axis for axis in value.type.axes if axis.family == stepped.new]
    past = [axis for axis in value.type.axes if axis in kept]
    if len(new) != 1 or len(past) != 1 or len(value.type.axes) != 2:
        return False
    (q,), (k,) = new, past
    back = LinearForm.index(q) - LinearForm.index(k)
    keep = kept[k]
    near = (LinearForm.number(keep) - back,) if isinstance(keep, int) else ()
    return not both(mask.false, (frozenset({back, *near}),))


def masks_alone(graph: Graph, value: Value, turned: bool = False) -> bool:
    """Whether a value is read as a mask of fused attention alone, here or in the blocks that it goes to.

    turned: it may have other dimensions there, and other axes.
    """
    if graph.stepped is None or any(output.value.id == value.id for output in graph.outputs):
        return False
    readers = (node for node in graph.nodes if value.id in {one.id for one in reads(node)})
    return all(_as_mask(graph, node, value.id, turned) for node in readers)


def _as_mask(graph: Graph, node: Node, value: int, turned: bool) -> bool:
    match node:
        case Apply(op="attention", operands=operands):
            return value not in {one.id for one in operands}
        case Apply(traits=OpTraits(reads=Arrange(IndexMap.SAME)), out=out) if turned:
            return masks_alone(graph, out, turned)
        case Call(graph=inner, args=args):
            bodies, carried = (inner,), 0
        case Repeat(bodies=bodies, args=args, carried=carried):
            pass
        case _:
            return False
    places = [place for place, arg in enumerate(args) if arg.id == value]
    return all(
        place >= carried
        and (turned or _takes(body, body.inputs[place].value))
        and masks_alone(body, body.inputs[place].value, turned)
        for body in bodies
        for place in places
    )


def _takes(graph: Graph, mask: Value) -> bool:
    """Whether a block takes a mask as it lies, queries first: what may be absent is not turned round."""
    return graph.stepped is not None and mask.type.axes[0].family == graph.stepped.new
