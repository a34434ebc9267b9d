"""What trials say of a claim that is not proved: a witness that it leaks, or that none was found.

Trials run the graph, which no part of the compiler can: whoever checks a text hands them in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ...dsl.base.records import record
from ..graph.nodes import Graph
from ..sizes.axes import Axis


@record
class Witness:
    """One change of one input that changes an item of a result that must not depend on it. Items count from 0.

    input:  the name of the input, `item` its place along the claimed axis; the item that is new, where it is appended.
    result: the number of the result, `reached` the place of its item that changes.
    change: by how much, and as a share of the result's standard deviation.
    sizes:  of the free axes of the graph by name, as they were tried.
    appended: the item was not changed but appended; then `sizes` are those before.
    """

    input: str
    item: int
    result: int
    reached: int
    change: float
    share: float
    sizes: Mapping[str, int]
    appended: bool = False


@record
class Tried:
    """witness: of a leak, if one was found in so many `trials`. reason: why there could be no trial, if so."""

    witness: Witness | None
    trials: int
    reason: str = ""


Trials = Callable[[Graph, int, Axis, Collection[int]], Tried]
"""Tries a claim: of a graph, the number of a result and the axis claimed; numbers beyond which it must be tried."""


def changes(witness: Witness, graph: Graph, axis: Axis) -> str:
    """A leak in words."""
    output = graph.outputs[witness.result]
    result = f"`{output.name}`" if output.name else "its result"
    if witness.appended:
        cause = f"another item of `{axis.name}` behind the last one"
    else:
        cause = f"another item {witness.item} of `{witness.input}`"
    return f"{cause} changes item {witness.reached} of {result}"


def at_sizes(witness: Witness) -> str:
    """By how much, and where that was seen."""
    sizes = ", ".join(f"{name} = {size}" for name, size in witness.sizes.items())
    where = f" at {sizes}" if sizes else ""
    return (
        f"by {witness.change:.2g}, {witness.share:.2g} of its standard deviation,{where} with weights and inputs drawn "
        "at random; items count from 0"
    )


def searched(tried: Tried | None) -> str:
    """What trials say where they found no leak."""
    if tried is None:
        return "no trial was made"
    if not tried.trials:
        return f"no trial was made: {tried.reason}"
    return f"{tried.trials} trials at small sizes found no leak"
