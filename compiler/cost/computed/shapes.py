"""Arrays without numbers: a function of the runtime is gone through with shapes, and what it does is added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce

from ...sizes.axes import Axis
from ..polynomials.polynomial import ONE, ZERO, Poly, product
from ..work import BATCH_SIZE, Meter, Work

Lead = frozenset[Axis | None]  # None: the batch


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """lead:   the axes ahead, in any order: of two arrays those of both.
    dims:   the sizes of the dimensions behind; one of size 1 goes with any.
    graded: whether it has a gradient.
    """

    lead: Lead
    dims: tuple[Poly, ...]
    graded: bool = False

    @property
    def mT(self) -> ArrayShape:
        """The last two dimensions exchanged."""
        *ahead, rows, columns = self.dims
        return replace(self, dims=(*ahead, columns, rows))

    @property
    def ungraded(self) -> ArrayShape:
        return replace(self, graded=False)

    def having(self, *dims: Poly) -> ArrayShape:
        """The same with other dimensions behind."""
        return replace(self, dims=dims)


def together(shapes: Iterable[ArrayShape]) -> ArrayShape:
    """What they give item by item."""

    def both(a: ArrayShape, b: ArrayShape) -> ArrayShape:
        more = len(a.dims) - len(b.dims)
        x, y = (ONE,) * -more + a.dims, (ONE,) * more + b.dims
        dims = tuple(m if n == ONE else n for m, n in zip(x, y, strict=True))
        return ArrayShape(a.lead | b.lead, dims, a.graded or b.graded)

    return reduce(both, shapes)


@dataclass
class Tally:
    """What was done so far. times: how often each thing is done that is done now."""

    meter: Meter
    macs: Poly = field(default=ZERO)
    back: Poly = field(default=ZERO)
    ops: Poly = field(default=ZERO)
    calls: Poly = field(default=ZERO)
    far: Poly = field(default=ZERO)

    @property
    def work(self) -> Work:
        return Work(self.macs, self.macs, self.back, self.back, self.ops, calls=self.calls, far=self.far)

    def items(self, shape: ArrayShape) -> Poly:
        axes = [axis for axis in shape.lead if axis is not None]
        lead = self.meter.scope.product(sorted(axes, key=lambda axis: axis.id))
        return lead * product(shape.dims) * (BATCH_SIZE if None in shape.lead else ONE)

    def matmul(self, a: ArrayShape, b: ArrayShape, times: Poly = ONE, read: bool = True) -> ArrayShape:
        """The product of matrices. read: whether anything is made of it, so that it has a gradient."""
        (*m, rows, inner), (*n, _, columns) = a.dims, b.dims
        ahead = together([a.having(*m), b.having(*n)])
        macs = self.items(ahead) * rows * inner * columns * times
        self.macs += macs
        self.back += macs * (a.graded + b.graded) if read else ZERO
        return self._made(ahead.having(*ahead.dims, rows, columns), times)

    def inverse(self, x: ArrayShape) -> ArrayShape:
        """Of matrices that are 1 on the diagonal and 0 above it. Its gradient is another, and a product."""
        size = x.dims[-1]
        macs = self.items(x) * (size - 1) * Fraction(1, 2)
        self.macs += macs
        self.back += (macs + self.items(x) * size) * x.graded
        return self._made(x)

    def each(self, *shapes: ArrayShape, ops: int = 1, times: Poly = ONE) -> ArrayShape:
        """So many ops of a number of each array, in one call."""
        out = together(shapes)
        self.ops += self.items(out) * ops * times
        return self._made(out, times)

    def summed(self, x: ArrayShape) -> ArrayShape:
        """Over the last dimension."""
        self.ops += self.items(x)
        return self._made(x.having(*x.dims[:-1]))

    def _made(self, out: ArrayShape, times: Poly = ONE) -> ArrayShape:
        """By one call."""
        self.calls += times
        self.far += self.meter.far(self.items(out) * self.meter.real) * times
        return out
