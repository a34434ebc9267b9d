"""Types and values: what flows between the nodes of a graph."""

from __future__ import annotations

from enum import Enum, IntEnum

from ...dsl.base.records import field, record
from ...dsl.source import Span
from ..sizes.axes import Axis


class Scalar(Enum):
    """What the elements are, unless they are indices."""

    REAL = "real"
    BOOL = "bool"
    INT = "int"


@record
class IndexInto:
    """Elements are indices into this axis (D2: `vocab[seq]`)."""

    axis: Axis


Element = Scalar | IndexInto


@record
class Type:
    """An element kind and a set of axes, `axes`, in order of writing or making.

    broadcast_axes: those of `axes` along which the value does not vary (see nodes.py).
    """

    element: Element
    axes: tuple[Axis, ...]
    broadcast_axes: frozenset[Axis] = frozenset()

    @property
    def varying(self) -> tuple[Axis, ...]:
        """The axes along which the value varies."""
        return (
            tuple(axis for axis in self.axes if axis not in self.broadcast_axes) if self.broadcast_axes else self.axes
        )


class Role(IntEnum):
    """What a value depends on. A result's role is the largest of its operands'."""

    CONSTANT = 0  # numbers known at build time, or sizes: no axes
    TABLE = 1  # indices of axes (positions, masks): no weights, no data. Computed in float64
    WEIGHT = 2  # learned parameters
    DATA = 3  # a model's inputs: carries the leading batch axes


@record
class Value:
    """One value: made once, read many times. `name` is the spec's variable, where it has one.

    exact: a real that carries data, but is made of whole numbers alone: float64, as a table is (rewrites/exact.py).
    """

    id: int  # unique and rising within its graph
    type: Type = field(compare=False)
    role: Role = field(compare=False)
    name: str | None = field(compare=False)
    span: Span | None = field(compare=False, repr=False)
    exact: bool = field(default=False, compare=False)

    @property
    def is_table(self) -> bool:
        """Whether it is a real that depends on whole numbers and sizes only."""
        return self.type.element is Scalar.REAL and (self.role <= Role.TABLE or self.exact)


def is_real(value: Value) -> bool:
    return value.type.element is Scalar.REAL
