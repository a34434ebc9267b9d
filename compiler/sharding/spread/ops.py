"""An op split over devices: along one of the axes that it runs over for each mesh axis, its operands brought there, and
its result from there to where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...graph.nodes import Apply, Constant, Parameter, Positions, reads
from ...graph.traits import Arrange, Combination, Gather, Reduce
from ...graph.values import Scalar
from ...ops.internal import ALONE
from ...sizes.axes import Axis, Literal
from ..placement import Placement, loops
from ..sends import ADD_BIAS, ENTERED, SendKind
from .bringing import bring
from .elementary import elementary
from .free import is_free, set_free
from .growing import GrowingGraph
from .lookups import is_true, looked_up, zero_elsewhere
from .moving import collective, moved, send
from .splits import partner, splittable


def plain_node(here: GrowingGraph, node: Constant | Positions | Parameter | Apply) -> None:
    """A node with no graph in it."""
    match node:
        case Constant() | Positions():
            set_free(here, node)
        case Parameter():
            _parameter(here, node)
        case Apply() if is_free(here, node):
            set_free(here, node)
        case Apply():
            _apply(here, node)


def _parameter(here: GrowingGraph, node: Parameter) -> None:
    weight, out = node.weight, node.out
    place = here.places.along([axis for axis in loops(out) if axis.extent is not None])
    new = here.places.at(out, place)
    here.now[out.id] = new, place
    later = here.later.get(out.id, frozenset())
    here.keep(weight, place, tuple(ENTERED if m in later else None for m in range(len(place))))
    here.entered[out.id] = later
    here.parameters.append(out.id)
    here.nodes.append(replace(node, weight=here.cut(weight, place), out=new))
    if not weight.frozen:
        here.graded.add(out.id)


def _apply(here: GrowingGraph, node: Apply) -> None:
    operands = reads(node)
    graded = any(value.id in here.graded for value in operands) or any(not w.frozen for w in node.weights)
    work = work_of(here, node)
    if any(axis in node.axes for axis in work):
        steps = elementary(node, here.fresh, graded)
        if len(steps) > 1:
            for step in steps:
                plain_node(here, step)
            return
    brought = []
    for value in operands:
        have = loops(value)
        brought.append(bring(here, value, those_of(work, have), work))
    for number, weight in enumerate(node.weights):
        # what is added to a sum of parts is done where the sum is
        done = here.places.of(node.out) if number and any(axis in node.axes for axis in work) else work
        here.keep(weight, those_of(done, [axis for dim in weight.dims for axis in dim]), done)
    if graded and node.traits.gradient and node.out.type.element is Scalar.REAL:
        here.graded.add(node.out.id)
    made = tuple(axis and partner(node, axis) for axis in work)
    out = loops(node.out)
    partial = frozenset(n for n, axis in enumerate(made) if axis is not None and axis not in out)
    new = replace(
        node,
        operands=tuple(brought[: len(node.operands)]),
        mask=brought[-1] if node.mask is not None else None,
        axes=here.places.local(node.axes, work),
        made=here.places.local(node.made, made),
        each=here.places.local(node.each, work),
        weights=tuple(here.cut(w, here.weights[w.name][1]) for w in node.weights),
    )
    local = those_of(made, out)
    if isinstance(node.traits.reads, Arrange) and not partial and local == here.places.of(node.out):
        here.makers[node.out.id] = node
    finish(here, new, local, partial, node)


def those_of(place: Placement, axes: Iterable[Axis]) -> Placement:
    """The same for something that has these axes."""
    axes = {*axes}
    return tuple(axis if axis in axes else None for axis in place)


def work_of(here: GrowingGraph, node: Apply) -> Placement:
    """Along which axis each mesh axis splits the op; None: each of its devices does all of it."""
    claims = here.places.claims
    over = dict.fromkeys(axis for value in (*reads(node), node.out) for axis in loops(value))
    over.update(dict.fromkeys((*node.axes, *node.made)))
    over.update(dict.fromkeys(axis for weight in node.weights for dim in weight.dims for axis in dim))
    found: list[Axis | None] = []
    for number in range(len(here.places.mesh.axes)):
        able = [
            (claim, axis)
            for axis in over
            for claim in claims.get(axis, ())
            if claim.mesh == number and splittable(node, axis, number, claims)
        ]
        found.append(min(able, key=lambda each: each[0])[1] if able else None)
    return tuple(found)


def finish(here: GrowingGraph, node: Apply, local: Placement, partial: frozenset[int], old: Apply) -> None:
    """The node, and what brings its result to where it belongs. partial: mesh axes along which it is one of parts."""
    out, wanted = old.out, here.places.of(old.out)
    value = here.new(out, local)
    bias = node.weights[1:] if partial and isinstance(node.traits.reads, Reduce) else ()
    inside = []
    if isinstance(node.traits.reads, Gather):
        by: tuple[int, ...] = ()
        for m in sorted(partial):
            by = (*by, m)
            node, found = looked_up(here, node, here.places.parts.of(old.axes[0], by), m)
            inside.append(found)
    if bias:
        node = replace(node, options={**node.options, ALONE: Literal(True)})
    here.nodes.append(replace(node, out=value))
    truths = bool(inside) and out.type.element is Scalar.BOOL
    if truths:  # they are summed as numbers
        out = replace(out, type=replace(out.type, element=Scalar.INT))
    for found in inside:
        value = zero_elsewhere(here, found, value, here.new(out, local))
    for m in sorted(partial):
        largest, b = _largest(old), wanted[m]
        b = None if b in local[m + 1 :] else b  # parts within its parts
        local = (*local[:m], b if largest is None else None, *local[m + 1 :])
        kind = SendKind.SETTLE if largest is not None else SendKind.REDUCE if b is None else SendKind.SCATTER
        op = collective(here, kind, m, out.id in here.graded, largest=largest is not False)
        value = send(here, op, value, here.new(out, local), (None, b))
        if kind is SendKind.REDUCE and op.graded and m in here.places.at_last(out):
            value = send(here, collective(here, SendKind.ENTER, m, True), value, here.new(out, local), (None, None))
    value = moved(here, out, value, local, wanted)
    if bias:
        added = here.new(out, wanted)
        here.nodes.append(
            Apply(ADD_BIAS, (value,), added, made=node.made, name=node.name, weights=bias, span=node.span)
        )
        value = added
    if truths:
        value = is_true(here, value, here.new(old.out, wanted))
    here.now[out.id] = value, wanted


def _largest(node: Apply) -> bool | None:
    """Whether the largest of what devices have of their parts is taken, or the smallest; None where it is the sum."""
    match node.traits.reads:
        case Reduce(combination=Combination(largest=largest)):
            return largest
        case _:
            return None
