"""A block without weights that is one expression stands where it is called, as if the spec had written it there.

What it counts as one: a single result, made of at most MOST ops by way of nothing that has a name or is read twice.
So `attend` is one once its attention is fused, and so is a cap of scores; a block of several statements stays one of
its own, and so does what learns, stops a run, or keeps anything between steps of decoding. `open_blocks` takes any
block of ops without weights, where who calls it wants to see all of what they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, makes, values_of
from ...graph.term import Number, Position, parts
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...sizes.axes import Axis, Static, axes_in
from ..tools.transport import TargetBody, Terms
from ..tools.walk import Walk, with_names, with_operands

MOST = 4


def inline(graph: Graph, masks: bool = False) -> Graph:
    """The graph with calls of such blocks replaced by what they do. masks: of blocks that make truths, of however many
    ops, and of no others.
    """
    return Walk(lambda _, new: _inlined(new, lambda block: _is_expression(block, masks)))(graph)


def open_blocks(graph: Graph, opens: Callable[[Graph], bool]) -> Graph:
    """The graph with calls of those blocks without weights replaced for which `opens` holds, whatever they make."""
    return Walk(lambda _, new: _inlined(new, lambda block: _is_plain(block) and opens(block), own=True))(graph)


def _inlined(graph: Graph, chosen: Callable[[Graph], bool], own: bool = False) -> Graph:
    if all(_terms_of(node, chosen, own) is None for node in graph.nodes):
        return graph
    body = TargetBody(graph)
    same: dict[int, Value] = {}  # of a result of a call that goes: what stands for it
    names: dict[int, str | None] = {}
    for old in graph.nodes:
        node = with_operands(old, same)
        axes = _terms_of(node, chosen, own)
        if not isinstance(node, Call) or axes is None:
            body.add(node)
            continue
        inner, known = node.graph, len(body.nodes)
        values = {item.value.id: arg for item, arg in zip(inner.inputs, node.args, strict=True)}
        terms = Terms(body, inner, axes, dict(node.consts), values)
        body.bring(inner.nodes, terms)
        fresh = {value.id for one in body.nodes[known:] for value in makes(one)}
        for out, result in zip(node.outs, inner.outputs, strict=True):
            same[out.id] = made = terms.values[result.value.id]
            if made.id in fresh:
                names[made.id] = out.name  # what the caller calls it, who may not call it anything
            elif out.name is not None and made.name is None:
                names[made.id] = out.name
    outputs = tuple(replace(one, value=same.get(one.value.id, one.value)) for one in graph.outputs)
    nodes = tuple(with_names(node, names) for node in body.nodes)
    return replace(graph, nodes=nodes, outputs=outputs, axes=(*graph.axes, *body.new_axes))


def _terms_of(node: Node, chosen: Callable[[Graph], bool], own: bool) -> dict[Axis, Axis] | None:
    """What the axes of a call's block are here, if the call goes: of a chosen one, given what the block declares. own:
    the block may have axes of its own.
    """
    if not isinstance(node, Call) or not chosen(node.graph):
        return None
    graph, axes = node.graph, dict(node.axes)
    if not own and any(axis in graph.axes and axis not in axes for axis in _mentioned(graph)):
        return None
    inner, outer = graph.outputs[0].value, node.outs[0]
    # A step calls blocks as the model does, which lift over the axis that its new items have in their place.
    before = [axis for axis in inner.type.axes if axis in graph.lifted and axis not in outer.type.axes]
    known = {axes.get(axis, axis) for axis in inner.type.axes}
    after = [axis for axis in outer.type.axes if axis not in known]
    if len(before) != len(after) or len(before) > 1:
        return None
    axes.update(zip(before, after, strict=True))
    given = [*zip((item.value for item in graph.inputs), node.args, strict=True)]
    if any({*arg.type.axes} - {axes.get(axis, axis) for axis in formal.type.axes} for formal, arg in given):
        return None
    return axes if all(_alike(formal, arg) for formal, arg in (*given, (inner, outer))) else None


def _is_plain(graph: Graph) -> bool:
    """Whether a block does ops without weights alone, and keeps nothing."""
    if graph.kind != "block" or graph.target or graph.stepped is not None:
        return False
    for node in graph.nodes:
        match node:
            case Apply(traits=traits) if node.weights or node.name or traits.acts or _is_of_decoding(node):
                return False
            case Constant() | Positions() | Apply():
                continue
            case _:
                return False
    return True


def _is_expression(graph: Graph, masks: bool) -> bool:
    if graph.kind != "block" or graph.target or len(graph.outputs) != 1:
        return False
    if masks and graph.outputs[0].value.type.element is not Scalar.BOOL:
        return False
    index = index_of(graph)
    result = graph.outputs[0].value
    for node in graph.nodes:
        if not isinstance(node, Constant | Positions | Apply):
            return False
        if isinstance(node, Apply) and (node.weights or node.name or node.traits.acts or _is_of_decoding(node)):
            return False
        for out in makes(node):
            if out.id == result.id and index.uses(out):
                return False
            if masks:
                continue
            if (
                out.id != result.id
                and (out.name is not None or len(index.uses(out)) > 1)
                and out.role is not Role.CONSTANT
            ):
                return False
    return masks or sum(isinstance(node, Apply) and node.traits.cost.moves for node in graph.nodes) <= MOST


def _is_of_decoding(node: Apply) -> bool:
    return node.traits.caches or node.traits.remembers


def _alike(formal: Value, arg: Value) -> bool:
    """Whether what a caller has is of the kind that the block's own ops were made for."""
    kinds = [Scalar.INT if isinstance(x.type.element, IndexInto) else x.type.element for x in (formal, arg)]
    number = [x.role is Role.CONSTANT for x in (formal, arg)]
    if all(number):  # a whole one is a real, too
        return kinds[0] is kinds[1] or kinds == [Scalar.REAL, Scalar.INT]
    return kinds[0] is kinds[1] and not any(number) and formal.is_table == arg.is_table


def _mentioned(graph: Graph) -> Iterator[Axis]:
    """The axes of what a graph of ops does."""
    for value in values_of(graph):
        yield from _of_type(value.type)
    for node in graph.nodes:
        match node:
            case Constant(number):
                yield from axes_in(number)
            case Positions(axis):
                yield axis
            case Apply():
                yield from (*node.axes, *node.made, *node.each)
                statics: list[Static] = [*node.options.values()]
                for part in parts(node.seen.term) if node.seen is not None else ():
                    match part:
                        case Position(axis):
                            yield axis
                        case Number(static):
                            statics.append(static)
                for static in statics:
                    yield from axes_in(static)


def _of_type(type: Type) -> Iterator[Axis]:
    yield from type.axes
    if isinstance(type.element, IndexInto):
        yield type.element.axis
