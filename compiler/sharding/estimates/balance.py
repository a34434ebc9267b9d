"""How evenly work is spread over the devices of a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from ...cost.bill import CostError
from ...cost.report import cost
from ...graph.nodes import Graph
from ...rewrites.numerics.exact import mark_exact
from ...sizes.axes import Number
from ..mesh import Mesh


def imbalance(graph: Graph, mesh: Mesh, sizes: Mapping[str, Number] | None) -> tuple[tuple[str, ...], float]:
    """The mesh axes along which devices do more the later their items are, and how many times the mean the last does.

    What a causal model does for its first items is what it does where there are no others: the work of a device is that
    of the items up to its last, without that of those before its first. Everything else that is split is split evenly,
    but for items that pick experts, of which nothing is known here.
    """
    causal = {axis.name for output in graph.outputs for axis in output.causal}
    found, most = [], 1.0
    for axis in mesh.axes:
        width = next((name for name in axis.splits if name in causal), None)
        if width is None or axis.size == 1:
            continue
        length = cost(mark_exact(graph), sizes).sizes.get(width, 0)
        with suppress(CostError):  # sizes that hang on this one
            all = _work(graph, {**(sizes or {}), width: length})
            before = _work(graph, {**(sizes or {}), width: max(length - length // axis.size, 1)})
            if all:
                found.append(axis.name)
                most *= (all - before) * axis.size / all
    return tuple(found), most


def _work(graph: Graph, sizes: Mapping[str, Number]) -> int:
    bill = cost(mark_exact(graph), sizes)
    return bill.kept.value + bill.figure(bill.part.work.kept_back).value
