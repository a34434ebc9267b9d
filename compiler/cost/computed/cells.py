"""Recurrent networks by PyTorch's kernels: the map of all items, then for each that of the state, and the gates."""

from __future__ import annotations

from ...graph.traits import CellKernel
from ..polynomials.polynomial import ONE, Poly
from .shapes import ArrayShape, Tally

SETUP = 20  # calls before and behind the kernel


def by_kernel(t: Tally, cell: CellKernel, x: ArrayShape, hidden: Poly, start: ArrayShape | None) -> None:
    """All that is done. x: [n, in]; start: the state before the first item, [hidden]."""
    n, given = x.dims
    made = hidden * cell.gates
    t.matmul(x, ArrayShape(frozenset(), (given, made), graded=True))
    later = ArrayShape(x.lead, (ONE, hidden), graded=True)
    first = later if start is not None and start.graded else later.ungraded
    back = ArrayShape(frozenset(), (hidden, made), graded=True)
    if n.at(t.meter.values):
        t.matmul(first, back)
        t.matmul(later, back, times=n - 1)
    t.each(later, ops=cell.operations, times=n)
    t.calls = n * cell.calls + SETUP
