"""Values in generated code: an expression, and what is known of the array that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from ...compiler.graph.values import IndexInto, Scalar, Value
from ...compiler.sizes.axes import Axis
from .expressions import Code
from .ranges import ANY, Interval
from .writing import is_path

PYTHON: dict[Scalar, type] = {Scalar.REAL: float, Scalar.BOOL: bool, Scalar.INT: int}  # types of numbers
NONE, SOME, FULL = 0, 1, 2  # leading dimensions: surely none; perhaps some, perhaps of size 1; all that any value has


class CannotEmit(Exception):
    """A graph that this backend cannot turn into code; the message says what and in whose name."""


def without_code(op: str, name: str, backend: str) -> CannotEmit:
    """What is raised for an op of the table that a backend cannot write; `name` is that of the graph with the op."""
    return CannotEmit(
        f"{name}: `{op}` has no code for {backend}: its row in compiler/ops has no template for an op done item by "
        f"item, and backends/{backend}/ops.py has no function"
    )


@dataclass(frozen=True, slots=True)
class Val:
    """A value in generated code.

    axes:      its dimensions, last ones, in memory order.
    broadcast: those that may be of size 1 instead of their extent.
    leading:   the dimensions before these: NONE, SOME or FULL.
    kind:      how its elements are stored: an index is an int.
    table:     a real computed from whole numbers alone: float64, whatever the model's own type.
    number:    a Python number, not an array.
    needs:     which arguments of the class it depends on: a set of their places, as bits.
    bounds:    what is known of an integer's value.
    absent:    it may be None, so that nobody can read a size from it.
    left_out:  where it is of one item, and its axis is not, it is an input that the model was not given, and true.
    """

    code: Code
    axes: tuple[Axis, ...] = ()
    broadcast: frozenset[Axis] = frozenset()
    leading: int = NONE
    kind: Scalar = Scalar.REAL
    table: bool = False
    number: bool = False
    needs: int = 0
    bounds: Interval = ANY
    absent: bool = False
    left_out: bool = False

    @property
    def atom(self) -> Code:
        """The expression, fit to be followed by `.` or `[`."""
        return self.code.atom

    @property
    def name(self) -> str:
        """What the argument of a class or function is called."""
        return self.code.reads[0][0].name

    @property
    def lasting(self) -> bool:
        """Whether it surely is a variable, or an attribute: its expression is not written where it is read."""
        variable = self.code.variable
        return is_path(self.code.text) if variable is None else variable.lasting

    def dim(self, axis: Axis) -> int:
        """The dimension of an axis, counted from the right: -1 is the last."""
        return self.axes.index(axis) - len(self.axes)

    def has(self, axis: Axis) -> bool:
        """Whether the axis is a dimension that surely has its full extent."""
        return axis in self.axes and axis not in self.broadcast


def needed(sets: Iterable[int]) -> int:
    """The union of sets of arguments."""
    return reduce(or_, sets, 0)


def places(needs: int) -> list[int]:
    """The arguments of a set, in order."""
    return [place for place in range(needs.bit_length()) if needs >> place & 1]


def join_leading(leading: Iterable[int]) -> int:
    """The leading dimensions of a result of broadcasting."""
    found = set(leading)
    return FULL if FULL in found else SOME if SOME in found else NONE


def kind_of(value: Value) -> Scalar:
    """How the elements are stored."""
    element = value.type.element
    return Scalar.INT if isinstance(element, IndexInto) else element


def is_table(value: Value) -> bool:
    """A real that hangs on whole numbers and sizes only: kept in float64 until it meets weights or real data."""
    return value.is_table
