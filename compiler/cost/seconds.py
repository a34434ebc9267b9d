"""About how long a forward pass takes in PyTorch on one core: an estimate by which of two forms the cheaper is told.

Four numbers, fitted to forms of retention, linear attention, the delta rule, selective scans and recurrent networks
(bench/forms.py, which compares it with what is measured). It knows nothing of other machines, and nothing of gradients.
"""

from __future__ import annotations

from collections.abc import Callable

from .polynomials.figure import Figure
from .polynomials.polynomial import Poly
from .work import Work

MULTIPLY_ADD, OPERATION, FAR, CALL = 3.2e-11, 8e-10, 4e-10, 4e-6  # seconds of one


def seconds(work: Work, figure: Callable[[Poly], Figure]) -> float:
    """Of the work of a walk that is `timed`."""
    each = ((work.macs, MULTIPLY_ADD), (work.ops, OPERATION), (work.far, FAR), (work.calls, CALL))
    return sum(figure(poly).value * seconds for poly, seconds in each)


def duration(seconds: float) -> str:
    """Two digits and a unit: `1.2 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 0.995 * size:
            return f"{_two(seconds / size)} {unit}"
    return f"{_two(seconds / 1e-6)} µs"


def _two(number: float) -> str:
    return f"{number:.1f}" if number < 9.95 else f"{float(f'{number:.2g}'):,.0f}"
