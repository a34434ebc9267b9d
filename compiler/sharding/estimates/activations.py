"""What is kept of a forward pass for its gradients, by how much of it is done again for them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from ...cost.memory import Memory
from ...cost.polynomials.polynomial import ZERO, Poly, largest, total
from ...cost.walk import Part
from ...cost.work import BATCH_SIZE, Meter
from ...graph.nodes import Apply, Call, Graph, Node, Repeat, makes, reads
from ...graph.traits import Anything, Reduce
from ...graph.values import Role
from ...rewrites.kernels.attention import fuse_attention
from ...rewrites.simplify.constants import fold_truths
from ..collectives import passes
from ..sends import Collective, SendKind


class Checkpointing(Enum):
    """What each pass of a repeat does again for its gradients (Chen et al. 2016).

    SELECTIVE: all but the results of attention, of sums that are scattered, and of every second map by weights, as
    torchtitan's `selective` by `op`; a pass is done again one at a time. FULL: all.
    """

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


def activations(graph: Graph, memory: Memory, meter: Meter, how: Checkpointing) -> tuple[Poly, Poly]:
    """Bytes of one micro-batch: what is kept until the gradients need it; and the largest pass that is done again.

    graph, memory: of one device, as the spec has it; its memory with attention fused.
    """
    if how is Checkpointing.NONE:
        return memory.saved + _results(memory), ZERO
    kept, again = _of(fuse_attention(fold_truths(graph)[0])[0], memory, meter, how)
    return kept + _results(memory), again


def _results(memory: Memory) -> Poly:
    return total(result.bytes for result in memory.results if result.saved)


def _of(graph: Graph, memory: Memory, meter: Meter, how: Checkpointing) -> tuple[Poly, Poly]:
    kept, again = memory.saved, [ZERO]
    for place, node in enumerate(graph.nodes):
        below = memory.below.get(place)
        if below is None:
            continue
        if isinstance(node, Call):
            inner = Meter(meter.scope.inside(node), meter.real, meter.values)
            more, once = _of(node.graph, below, inner, how)
            kept = kept - below.saved + more
            again.append(once)
        elif isinstance(node, Repeat):
            more, once = _passes(node, below, meter, how)
            kept = kept - below.saved + more
            again.append(once)
    return kept, largest(again, meter.values)


def _passes(node: Repeat, memory: Memory, meter: Meter, how: Checkpointing) -> tuple[Poly, Poly]:
    """Of a repeat: what enters its passes and what else is kept of each; and the largest pass."""
    count = int(meter.scope.number(node.count).at(meter.values))
    passes = memory.passes * (count if len(memory.passes) == 1 else 1)
    if not passes:
        return ZERO, ZERO
    carried = list(enumerate(node.args[: node.carried]))
    entering = total(meter.bytes(value) for _, value in carried)
    before = total(meter.bytes(value) for place, value in carried if place in passes[0].inputs)  # of what made them
    kept = entering * count - before
    if how is Checkpointing.SELECTIVE:
        for number, _ in enumerate(passes):
            body = node.bodies[node.runs(number)]
            turn = Meter(meter.scope.turn(node.index, Poly.of(number)), meter.real, meter.values)
            kept = kept + total(_selected(body, turn))
    return kept, largest((one.saved for one in passes), meter.values)


def _selected(graph: Graph, meter: Meter) -> Iterator[Poly]:
    """The bytes of the results that are not made again."""
    maps = 0
    for node, inside in _ops(graph, meter):
        if not isinstance(node, Apply):
            continue
        if _is_map(node):
            maps += 1
            if maps % 2:
                yield inside.bytes(node.out)
        elif _is_attention(node) or (isinstance(node.traits, Collective) and node.traits.kind is SendKind.SCATTER):
            yield inside.bytes(node.out)


def work_again(part: Part, graph: Graph, meter: Meter, how: Checkpointing) -> Poly:
    """Multiply-adds of one micro-batch that are done again for gradients: of each pass of an outermost repeat all that
    is kept of it, or every second map by weights. part: the bill of the graph.
    """
    if how is Checkpointing.FULL:
        return total(_of_passes(part))
    return total(_second_maps(graph, meter)) if how is Checkpointing.SELECTIVE else ZERO


def _of_passes(part: Part) -> Iterator[Poly]:
    if part.kind == "repeat":
        yield part.work.kept
        return
    for inner in part.parts:
        yield from _of_passes(inner)


def _second_maps(graph: Graph, meter: Meter) -> Iterator[Poly]:
    for node, inside in _ops(graph, meter):
        if isinstance(node, Repeat):
            for body, first, runs in passes(node):
                turn = Meter(inside.scope.turn(node.index, Poly.of(first)), inside.real, inside.values)
                for map, where in [each for each in _ops(body, turn) if _is_map(each[0])][1::2]:
                    axes = dict.fromkeys(axis for value in (*reads(map), *makes(map)) for axis in value.type.axes)
                    batch = BATCH_SIZE if any(out.role is Role.DATA for out in makes(map)) else 1
                    yield where.scope.product(axes) * batch * runs


def _is_map(node: Node) -> bool:
    return (
        isinstance(node, Apply)
        and bool(node.weights)
        and isinstance(node.traits.reads, Reduce)
        and node.traits.reads.multiplies
    )


def _is_attention(node: Apply) -> bool:
    """Whether all of softmax attention is one op: of what reads more than two values it alone needs its result."""
    result = "result" in node.traits.cost.saves
    return result and isinstance(node.traits.reads, Anything) and len(node.operands) > 2


def _ops(graph: Graph, meter: Meter) -> Iterator[tuple[Node, Meter]]:
    for node in graph.nodes:
        if isinstance(node, Call):
            yield from _ops(node.graph, Meter(meter.scope.inside(node), meter.real, meter.values))
        else:
            yield node, meter
