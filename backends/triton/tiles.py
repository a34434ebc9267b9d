"""What one kernel computes: the scores of a query and a key as an expression, how they fold over keys, what they weigh.

A kernel has a tile of `rows` (queries), walks along `columns` (keys), and for each program one item of every axis of
`batch`, and of the leading axes, which are in no type. All that it reads is a `Features` (queries, keys, values: a
vector for each row or column) or a `PairNumber` (a number for each row, column, both or neither, or a small table).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...compiler.graph.term import Term
from ...compiler.graph.traits import Meaning
from ...compiler.graph.values import Scalar, Value
from ...compiler.sizes.axes import Axis, Static
from ...compiler.streams.rules import FoldKind


@dataclass(frozen=True, eq=False)
class Features:
    """[*batch, place, depth]: a vector for each row, or for each column."""

    name: str
    value: Value
    batch: tuple[Axis, ...]
    place: Axis
    depth: Axis

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (*self.batch, self.place, self.depth)


@dataclass(frozen=True, eq=False)
class PairNumber:
    """[*batch, *own]: numbers that scores are made of; `own` is rows, columns, both, neither, or a table's axis.

    learns: it is real and no table of positions, so that a gradient may be wanted.
    """

    name: str
    value: Value
    batch: tuple[Axis, ...]
    own: tuple[Axis, ...]
    kind: Scalar
    learns: bool
    looked_up: bool = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (*self.batch, *self.own)


@dataclass(frozen=True, eq=False)
class StaticPoint:
    """A number known at build time."""

    number: int | float | bool
    kind: Scalar


@dataclass(frozen=True, eq=False)
class PairPlace:
    """The position of the row, or of the column."""

    axis: Axis
    kind: Scalar = Scalar.INT


@dataclass(frozen=True, eq=False)
class Load:
    """A number of a leaf; of a table, that at an index."""

    leaf: PairNumber
    at: Point | None = None

    @property
    def kind(self) -> Scalar:
        return self.leaf.kind


@dataclass(frozen=True, eq=False)
class Score:
    """The product of a row's and a column's vector."""

    name: str
    rows: Features
    columns: Features
    kind: Scalar = Scalar.REAL


@dataclass(frozen=True, eq=False)
class Done:
    """A pointwise op. exact: it is computed in float64, since a whole number or a truth value is made of it."""

    op: str
    meaning: Meaning
    args: tuple[Point, ...]
    kind: Scalar
    name: str
    exact: bool = False


class NoKernel(ValueError):
    """What has no kernel and stays as it is, and why."""


Part = Features | PairNumber
Point = StaticPoint | PairPlace | Load | Score | Done


@dataclass(frozen=True, eq=False)
class Kernel:
    """One fold over `columns`, and all that is weighed by it.

    fold:    SHARES (softmax), ROOT (L2 norm), or TOTAL: shares are the scores themselves.
    eps:     the least length of an L2 norm.
    score:   what is folded; `seen`: where (None: everywhere); `term`: the same as a term, for bounds of the loop.
    values:  what is weighed: one result [*batch, rows, depth] each.
    results: the values of the graph that these are; `logsum`: that which is the logarithm of a softmax's sum, if read;
             `shares`: that which is all shares, if read elsewhere, too.
    written: consts and sizes of which numbers in it are made, by name: it is of those alone.
    starts:  in a step of decoding, the place of the first row and of the first column, where it is not 0.
    trains:  whether a gradient may be wanted; not in steps.
    """

    name: str
    rows: Axis
    columns: Axis
    batch: tuple[Axis, ...]
    fold: FoldKind
    eps: float
    score: Point
    seen: Point | None
    term: Term | None
    values: tuple[Features, ...]
    results: tuple[Value, ...]
    logsum: Value | None
    shares: Value | None
    starts: Mapping[Axis, PairNumber]
    trains: bool
    written: Mapping[str, Static]
    names: dict[Axis, str] = field(default_factory=dict)

    def begins(self, axis: Axis) -> str:
        """The place of the first item along the axis, as a kernel calls it; "" where it is 0."""
        return f"{self.starts[axis].name}_tile" if axis in self.starts else ""

    @property
    def scores(self) -> tuple[Score, ...]:
        return tuple(point for point in self.points() if isinstance(point, Score))

    @property
    def leaves(self) -> tuple[PairNumber, ...]:
        return tuple(dict.fromkeys(point.leaf for point in self.points() if isinstance(point, Load)))

    @property
    def features(self) -> tuple[Features, ...]:
        """Queries, keys and values, each once."""
        found = [part for score in self.scores for part in (score.rows, score.columns)]
        return tuple(dict.fromkeys((*found, *self.values)))

    @property
    def inputs(self) -> tuple[Features | PairNumber, ...]:
        return (*self.features, *self.leaves)

    def points(self) -> Iterator[Point]:
        """All that the score and its mask are made of, each once, operands first."""
        roots = [self.score] if self.seen is None else [self.score, self.seen]
        yield from ordered(roots)


def ordered(roots: list[Point]) -> list[Point]:
    """Each point once, operands first."""
    found: dict[int, Point] = {}

    def add(point: Point) -> None:
        if id(point) in found:
            return
        for arg in point.args if isinstance(point, Done) else (point.at,) if isinstance(point, Load) else ():
            if arg is not None:
                add(arg)
        found[id(point)] = point

    for root in roots:
        add(root)
    return list(found.values())
