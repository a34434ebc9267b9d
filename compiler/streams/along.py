"""One graph, seen along one width: which values are wide, and which ops can be done item by item of the width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..graph.core.index import Index, index_of
from ..graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan, reads
from ..graph.traits import Arrange, Choice, Gather, IndexMap, Lookup, Normalise, Pointwise, Reduce
from ..graph.values import Value
from ..sizes.axes import Axis, known
from .region import is_table, varies


def reduced(node: Node) -> tuple[Axis, ...]:
    """The axes that an op puts items together along."""
    return node.axes if isinstance(node, Apply) and isinstance(node.traits.reads, Reduce | Normalise) else ()


def multiplies(node: Node) -> bool:
    """Whether it is a contraction: a sum of products."""
    return isinstance(node, Apply) and isinstance(node.traits.reads, Reduce) and node.traits.reads.multiplies


def left_out(value: Value, index: Index) -> tuple[Value, Value] | None:
    """m and x, if the value is `select(m, x, 0)`: of what is summed, the mask leaves that out."""
    node = index.op(value)
    if node is None or node.traits.reads != Pointwise(Choice()):
        return None
    zero = index.maker(node.operands[2])
    return (node.operands[0], node.operands[1]) if isinstance(zero, Constant) and known(zero.value) == 0 else None


class Along:
    """One graph, seen along one width."""

    def __init__(self, graph: Graph, axis: Axis) -> None:
        self.graph, self.axis = graph, axis
        self.index = index_of(graph)
        self.wide: dict[int, bool] = {}  # of a wide value, by id: whether a product of what is contracted is in it
        for node in graph.nodes:
            self._widen(node)

    def moves(self, value: Value) -> bool:
        return self.axis in varies(value)

    def _widen(self, node: Node) -> None:
        """Says whether what a node makes is wide: larger than each of its operands, or made of what is. Tables are made
        where they are used, so one of several widths makes what is made with it wide; one of this width alone is as
        large as what is compared with one number (`key < lengths`).
        """
        if not isinstance(node, Apply) or not self.moves(node.out) or is_table(node.out):
            return
        wide = [self.wide[value.id] for value in reads(node) if value.id in self.wide]
        axes = set(varies(node.out))
        tables = [value for value in node.operands if is_table(value)]
        grown = all(not axes <= {*varies(value)} for value in node.operands if value not in tables)
        grown &= axes != {self.axis} or not tables
        grown &= node.traits.reads != Arrange(IndexMap.SAME)
        grown |= any(self.moves(value) and sum(axis.is_width for axis in varies(value)) > 1 for value in tables)
        if wide or (grown and self.hindered(node) is None):
            self.wide[node.out.id] = any(wide) or multiplies(node)

    def hindered(self, node: Apply) -> str | None:
        """What keeps an op from being done for one item of the axis alone; None if nothing does."""
        reads_so = node.traits.reads
        match reads_so:
            case _ if node.weights or node.traits.acts or node.traits.caches or node.traits.remembers:
                mixes = f"mixes {listed(node.axes)} of every pair with weights: each tile would need all of them"
                return mixes if node.weights else "does more than compute"
            case Pointwise(Lookup()):
                return "looks up a learned table of its own"
            case Pointwise():
                return None
            case Reduce(combination) if self.axis not in node.axes:
                if combination is None or reads_so.indices:
                    return f"picks along {listed(node.axes)}"
                mixed = [value for value in node.operands if self.wide.get(value.id)]
                return f"mixes {listed(node.axes)}: each tile would need all of them" if mixed else None
            case Arrange(IndexMap.SAME | IndexMap.NEW) if self.axis not in (*node.axes, *node.made):
                return None
            case Arrange(IndexMap.NEW):
                return None if self.axis in node.made else "rearranges the axis"
            case Gather():
                return f"picks along {listed(node.axes)}" if self.axis in node.axes else None
            case Normalise() if self.axis not in node.axes:
                return f"normalises over {listed(node.axes)}: each tile would need all of them"
            case Reduce() | Normalise():
                return f"needs all of {self.axis.name} before the first result"
            case _:
                return "does not go item by item"

    # -- candidates -----------------------------------------------------------------------------------------------

    def groups(self) -> Iterator[list[Apply]]:
        """The reductions over the axis of wide values, those together that share one."""
        seeds = [
            node
            for node in self.graph.nodes
            if isinstance(node, Apply)
            and self.axis in reduced(node)
            and any(value.id in self.wide for value in reads(node))
        ]
        owner: dict[int, int] = {}
        groups: dict[int, list[Apply]] = {}
        for place, seed in enumerate(seeds):
            values = self._behind(seed)
            if isinstance(seed.traits.reads, Normalise):
                values.add(seed.out.id)
            joined = {owner[value] for value in values if value in owner}
            number = min(joined, default=place)
            merged = [one for key in sorted(joined) for one in groups.pop(key)]
            groups[number] = [*merged, seed]
            for one in groups[number]:
                owner |= dict.fromkeys((*self._behind(one), one.out.id), number)
        yield from ([seed for seed in seeds if seed in group] for group in groups.values())

    def _behind(self, seed: Apply) -> set[int]:
        """The wide values that a reduction is made of, by id."""
        found: set[int] = set()
        left = [value for value in reads(seed) if value.id in self.wide]
        while left:
            value = left.pop()
            if value.id not in found:
                found.add(value.id)
                left += [one for one in reads(self.index.made_by[value.id]) if one.id in self.wide]
        return found


def listed(axes: Iterable[Axis]) -> str:
    return ", ".join(axis.name for axis in axes)


def written(node: Node) -> str:
    """An op as messages name it: `softmax[past]`, `linear.before`."""
    match node:
        case Apply():
            axes = f"[{listed(node.axes)}]" if node.axes and not node.made else ""
            return f"`{node.op}.{node.name}`" if node.name else f"`{node.op}{axes}`"
        case Call() | Scan():
            return f"`{node.name or node.graph.name}`"
        case Repeat():
            return f"`repeat {node.name}`"
        case _:
            return "a number"
