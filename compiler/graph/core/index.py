"""Who makes and reads each value of a graph, and where a graph runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....dsl.base.records import cached_property, record
from ...sizes.arithmetic import substitute
from ...sizes.axes import Axis, Const, Static, axes_in, consts_in
from ..nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan, makes, reads
from ..traits import Arrange, IndexMap, Pointwise, Sum
from ..values import Value
from .kept import kept

Nest = Call | Repeat | Scan
"""A node that holds graphs."""


class Index:
    """What can be looked up in one graph, by the ids of its values. Each table is made when it is first asked for.

    `index_of` makes one for each graph object, so that no analysis makes its own.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def makers(self) -> Mapping[int, tuple[Node, int]]:
        """The node that makes a value, and which of that node's results it is. Inputs have none."""
        return {out.id: (node, place) for node in self.graph.nodes for place, out in enumerate(makes(node))}

    @cached_property
    def made_by(self) -> Mapping[int, Node]:
        """The node that makes a value."""
        return {key: node for key, (node, _) in self.makers.items()}

    @cached_property
    def readers(self) -> Mapping[int, tuple[tuple[Node, int], ...]]:
        """Each node that reads a value, and at which place of `reads(node)`, in order. Of what is not read, nothing."""
        found: dict[int, list[tuple[Node, int]]] = {}
        for node in self.graph.nodes:
            for place, value in enumerate(reads(node)):
                found.setdefault(value.id, []).append((node, place))
        return {key: tuple(uses) for key, uses in found.items()}

    @cached_property
    def inputs(self) -> Mapping[int, int]:
        """Which input a value is."""
        return {entry.value.id: place for place, entry in enumerate(self.graph.inputs)}

    @cached_property
    def returned(self) -> frozenset[int]:
        """The values that are results."""
        return frozenset(output.value.id for output in self.graph.outputs)

    @cached_property
    def used(self) -> frozenset[int]:
        """The values that a node reads, or that are results."""
        return self.returned.union(self.readers)

    def maker(self, value: Value) -> Node | None:
        """The node that makes it; None if it is an input."""
        return self.made_by.get(value.id)

    def op(self, value: Value) -> Apply | None:
        """The op that makes it; None if it is an input, or made by something else."""
        found = self.maker(value)
        return found if isinstance(found, Apply) else None

    def uses(self, value: Value) -> tuple[tuple[Node, int], ...]:
        """Each node that reads it, and at which place of `reads(node)`, in order."""
        return self.readers.get(value.id, ())

    def takers(self, value: Value) -> list[Node]:
        """The nodes that read it, each once."""
        return list({id(node): node for node, _ in self.uses(value)}.values())

    def alone(self, value: Value) -> bool:
        """Whether one node reads it, once, and it is no result: it may be put into that node."""
        return len(self.uses(value)) == 1 and value.id not in self.returned

    def number(self, value: Value) -> Static | None:
        """The constant that it is, spread, renamed or converted or not."""
        match self.maker(value):
            case Constant(static):
                return static
            case Apply(operands=(one,)) as node if node.traits.reads in _SAME_NUMBER:
                return self.number(one)
            case _:
                return None


_SAME_NUMBER = (Arrange(IndexMap.NEW), Arrange(IndexMap.SAME), Pointwise(Sum((1,))))


@kept
def index_of(graph: Graph) -> Index:
    """The index of a graph, which keeps it."""
    return Index(graph)


@record(slots=False)
class Site:
    """A graph as it runs in one place of a model: what its own axes and consts stand for there.

    axes, consts: in terms of the outermost graph. Two places where these are the same are one site: what an analysis
    finds in the one holds in the other. So no name of a call, and no number of a pass, is part of it: what hangs on
    these (the path of a weight) is put before an answer on the way out (`Flow.outward`).
    """

    axes: frozenset[tuple[Axis, Axis]] = frozenset()
    consts: frozenset[tuple[Const, Static]] = frozenset()

    @cached_property
    def _numbers(self) -> dict[int, Static]:
        return {const.id: number for const, number in self.consts}

    @cached_property
    def _own(self) -> Mapping[int, Axis]:
        return {formal.id: actual for formal, actual in self.axes}

    @cached_property
    def _families(self) -> Mapping[int, Axis]:
        """Of several formals of one family, that which the others are copies of, or the first."""
        pairs = sorted(self.axes, key=lambda pair: (pair[0].id != pair[0].family, pair[0].id, pair[1].id))
        return {formal.family: actual for formal, actual in reversed(pairs)}

    def axis(self, own: Axis) -> Axis:
        """The axis of the outermost graph that this one, or one of its family, stands for; itself if none does."""
        return self._own.get(own.id) or self._families.get(own.family, own)

    def family(self, own: int) -> Axis | None:
        """The axis of the outermost graph that a family here stands for."""
        return self._families.get(own)

    def number(self, static: Static) -> Static:
        """A number here, with what its consts stand for put in; sizes of axes stay as they are."""
        return substitute(static, {}, self._numbers) if self.consts else static

    def behind_consts(self, static: Static) -> set[Axis]:
        """The axes of the outermost graph in what the consts of a number stand for here."""
        stand_for = (self._numbers.get(const.id) for const in consts_in(static)) if self.consts else ()
        return {axis for number in stand_for if number is not None for axis in axes_in(number)}

    def outermost(self, static: Static) -> Static:
        """A number here, in terms of the outermost graph."""
        return substitute(static, {axis.id: self.axis(axis) for axis in axes_in(static)}, self._numbers)

    def inside(self, node: Nest) -> Site:
        """Where the graph runs that a node of a graph here holds. Bodies of a repeat are part of the graph around."""
        if isinstance(node, Repeat):
            return self
        consts = ((const, self.outermost(static)) for const, static in node.consts if const.value is None)
        return Site(self.axes_inside(node).axes, frozenset(consts))

    def axes_inside(self, node: Nest) -> Site:
        """The same for what hangs on no number."""
        if isinstance(node, Repeat):
            return self
        lifted = [(axis, self.axis(axis)) for axis in node.graph.lifted]
        return Site(frozenset([*lifted, *((formal, self.axis(actual)) for formal, actual in node.axes)]))


OUTERMOST = Site()


def path_of(node: Node, number: int | None = None) -> str:
    """What a node puts before the paths of the weights in what it runs: `layers.3.`, `layers.*.`, `Q.`, or nothing.

    number: of the pass of a repeat; None for any.
    """
    match node:
        case Repeat(shared=True):
            return node.prefix
        case Repeat():
            return f"{node.name}.{'*' if number is None else number}."
        case Call() | Scan():
            return f"{node.name}." if node.name else ""
        case _:
            return ""


def below(paths: Iterable[str], prefix: str) -> frozenset[str]:
    """Those of the paths that begin so, without it."""
    return frozenset(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
