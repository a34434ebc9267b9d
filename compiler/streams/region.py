"""What is found: a streaming region of one graph, plain enough to write a kernel from.

A region computes reductions over one axis, `streamed`, of values that are larger than anything it reads (scores of
each query and each key). A kernel keeps a tile of the `partitioned` axes, walks along `streamed` in tiles, computes
`inside` for each tile in order, and hands it to the `folds`, whose states are all that stays. Nothing that varies
along both the streamed and the partitioned axes is ever stored, unless weights are a result themselves: `stored`.

What a kernel may rely on:

- All nodes are nodes of the graph, unchanged, and each list is in the graph's order, so that operands come first.
  `before` needs nothing of the loop, `inside` reads inputs, `before` and `inside`, `after` also what the folds make.
  Nodes of tables (positions and their arithmetic) may be in several regions, and in the graph still: they are made
  where they are used.
- A node of `inside` is the fold whose `node` it is, or *pointwise along the streamed axis*: a pointwise op, a
  reduction of axes that are all in `together` (a dot product over the depth of keys; it has no weights), `rename` and
  `broadcast` of other axes, or a lookup (`gather`) in an input that does not vary along the streamed axis.
- Leading batch axes are in no type: they partition (every value of role DATA has them).
- Of a partitioned axis an operand may lack any (keys shared by a group of heads lack `sharing`): it is broadcast.
- What a SHARES or ROOT fold makes inside of the loop is not divided yet: the exponential of score minus the largest so
  far, or the item itself. Only WEIGHTED folds read it, times factors that know nothing of it, and they divide last.
- `after` is pointwise and may be left to the graph: what it reads of the folds is then written in its place.
- A row of which the mask leaves nothing: shares, and what they weigh, are 0; a logarithm of the sum is -inf.
"""

from __future__ import annotations

from ...dsl.base.records import record
from ..graph.nodes import Apply, Node
from ..graph.term import Predicate
from ..graph.values import Role, Value
from ..sizes.axes import Axis
from .rules import RULES, FoldKind, FoldRule


@record
class Fold:
    """One reduction over the streamed axis.

    kind:  which rule of `rules.py` it follows: its state, what is neutral, how two states are combined.
    node:  the op. Its operands are the items: the product of both where it multiplies. Its mask leaves items out. It
           may reduce axes of `together` at once: a tile has all their items.
    of:    of WEIGHTED: the op of the SHARES or ROOT fold whose result is a factor of its items.
    axes:  what its state varies along, for each number of the state alike: of WEIGHTED the accumulator's.
    """

    kind: FoldKind
    node: Apply
    of: Apply | None
    axes: tuple[Axis, ...]

    @property
    def rule(self) -> FoldRule:
        return RULES[self.kind]


@record
class Operand:
    """A value that the region reads from device memory.

    moves:  it varies along the streamed axis: a tile of it is read in each turn of the loop (keys, values, padding);
            else it is read once for a tile of the partitioned axes (queries), or is a table or a number.
    dense:  it varies along the streamed axis and the queries: a bias or mask as large as the scores.
    lookup: nothing but a lookup reads it: it is a table, of which items are read.
    """

    value: Value
    moves: bool
    dense: bool
    lookup: bool

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What it varies along."""
        return varies(self.value)


@record
class StreamingRegion:
    """One streaming region.

    streamed:    the axis that the loop runs along.
    partitioned: the axes whose items know nothing of one another: a program of the grid has a tile of them. In the
                 order of the first fold's result.
    together:    the axes of which a tile has all items: contracted depths, the depth of values.
    queries:     those of `partitioned` that nothing that moves (but dense operands) varies along: the same keys serve
                 a whole tile of them. There may be none.
    before, inside, after: the nodes; see above.
    results:     what is written: read outside, or a result of the graph.
    stored:      shares that are so, too: made again once their sums are known, and written, one for each item.
    seen:        which items along the streamed axis each query sees, where all folds leave out by one mask and that
                 says something of positions: whole tiles in which nothing is seen need not be read.
    """

    streamed: Axis
    partitioned: tuple[Axis, ...]
    together: tuple[Axis, ...]
    queries: tuple[Axis, ...]
    before: tuple[Node, ...]
    inside: tuple[Node, ...]
    after: tuple[Node, ...]
    inputs: tuple[Operand, ...]
    folds: tuple[Fold, ...]
    results: tuple[Value, ...]
    stored: tuple[Value, ...]
    seen: Predicate | None

    def fold(self, node: Node) -> Fold | None:
        """The fold that a node of `inside` is."""
        return next((fold for fold in self.folds if fold.node is node), None)

    @property
    def rows(self) -> Axis | None:
        """The one of the queries that has tiles; of the others a program has one item."""
        return tiled(self.queries)

    @property
    def random(self) -> bool:
        """Whether something is drawn at random in it while a model is trained."""
        return any(isinstance(node, Apply) and node.traits.random for node in self.inside)


@record
class Refusal:
    """A reduction over an axis, of values larger than what they are made of, that does not stream.

    node: the op in the way. why: what it does, as the end of a sentence that begins with the op.
    folds: the reductions over the axis that would have streamed but for it.
    """

    axis: Axis
    node: Node | None
    why: str
    folds: tuple[Apply, ...]


@record
class Streams:
    """What was found in one graph."""

    regions: tuple[StreamingRegion, ...]
    refusals: tuple[Refusal, ...]


def tiled(queries: tuple[Axis, ...]) -> Axis | None:
    """The axis of queries that has tiles: the last of the widths."""
    return next((axis for axis in reversed(queries) if axis.is_width), queries[-1] if queries else None)


def varies(value: Value) -> tuple[Axis, ...]:
    """The axes that a value varies along."""
    return tuple(axis for axis in value.type.axes if axis not in value.type.broadcast_axes)


def is_table(value: Value) -> bool:
    """Whether it is made of positions, sizes and numbers alone."""
    return value.role <= Role.TABLE
