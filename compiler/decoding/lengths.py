"""The lengths that a model takes along time (`lengths`): of `width chunk = seq / 16` the multiples of 16.

What is made of all items at once is made in a step of those so far and as many more, copies of the last one, as make
the next such length: by causality no item so far depends on what stands behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ..graph.extents import claim_of, quotients
from ..graph.nodes import Apply, Call, Graph, Repeat, Scan
from ..sizes.arithmetic import replaced, solved
from ..sizes.axes import Arith, Axis, ConstOf, Literal, SizeOf, Static, axes_in, known

TRIED = 4096

Sizes = Mapping[Axis, Static]


def lengths(graph: Graph, time: Axis) -> tuple[int, int] | None:
    """The least length and the step to the next, as far as one step tells them; None if no length is one."""
    terms = list(dict.fromkeys(_terms(graph, {}, time)))
    steps = [
        denominator for term in terms for _, below in quotients(term) if isinstance(denominator := known(below), int)
    ]

    def fits(length: int) -> bool:
        return all(_fits(term, time, length) for term in terms)

    for step in dict.fromkeys((math.lcm(*steps), math.prod(steps))):
        least = next((length for length in range(min(step + TRIED, 2 * TRIED)) if fits(length)), None)
        if least is not None and all(fits(least + step * times) for times in (1, 2, 3)):
            return least, step
    return None


def _terms(graph: Graph, given: Sizes, time: Axis) -> Iterator[Static]:
    """What must be a whole number from 0 up: extents that follow from time's, and room that an op has to have."""
    sizes = dict(given)
    for axis in graph.axes:
        if axis.size is not None and axis.extent is None:
            sizes.setdefault(axis, _put(axis.size, sizes))
        for part in axes_in(axis.size) if axis.family == time.family and axis.size is not None else ():
            turned = solved(axis, part)
            if part.extent is None and turned is not None:
                sizes.setdefault(part, turned)
    for size in sizes.values():
        if any(part.family == time.family for part in axes_in(size)):
            yield size
    for node in graph.nodes:
        match node:
            case Apply():
                claim = claim_of(node)
                if claim is not None and claim[1] == "<=":
                    yield Arith("-", (_put(claim[2], sizes), _put(claim[0], sizes)))
            case Call() | Scan():
                inner = {formal: sizes.get(actual, SizeOf(actual)) for formal, actual in node.axes}
                yield from _terms(node.graph, {**sizes, **inner}, time)
            case Repeat():
                for body in node.bodies:
                    yield from _terms(body, sizes, time)
            case _:
                pass


def _put(size: Static, sizes: Sizes) -> Static:
    return replaced(size, lambda part: sizes.get(part.axis, part) if isinstance(part, SizeOf) else part)


def _fits(term: Static, time: Axis, length: int) -> bool:
    """Whether it is a whole number from 0 up, as far as is known."""

    def at(size: Static) -> Static:
        def extent(part: SizeOf | ConstOf) -> Static:
            return Literal(length) if isinstance(part, SizeOf) and part.axis.family == time.family else part

        return replaced(size, extent)

    for above, below in quotients(term):
        a, b = known(at(above)), known(at(below))
        if a is not None and b is not None and (b == 0 or a % b):
            return False
    size = known(at(term))
    return size is None or (size >= 0 and size % 1 == 0)
