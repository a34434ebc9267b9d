"""Which bodies run several times in a forward, and which of their nodes are the same every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...graph.nodes import Apply, Call, Constant, Graph, Positions, Repeat, Scan, makes, owns, reads
from ...graph.values import IndexInto, Role, Value
from ...sizes.axes import Axis, Const, SizeOf, Static, axes_in, consts_in, depends_on_pass, known
from .same import draws, pure


class Tables:
    """The tables of a whole model. repeated: ids of the bodies that make the same tables several times."""

    def __init__(self, root: Graph) -> None:
        self.repeated: set[int] = set()
        self._formals: dict[int, set[Axis]] = {}  # of a block: axes that every call of it gives
        self._odd: set[tuple[int, int]] = set()  # inputs that some call gives something of another type
        self._home: dict[int, Graph] = {}  # of the body of a repeat: the block or model around it
        self._seen: set[tuple[int, bool]] = set()
        self._visit(root, False)
        self._one_class(root, set())

    def _visit(self, graph: Graph, many: bool) -> None:
        if (id(graph), many) in self._seen:
            return
        self._seen.add((id(graph), many))
        if many:
            self.repeated.add(id(graph))
        calls = Counter(_tables_of(node) for node in graph.nodes if isinstance(node, Call))
        for node in graph.nodes:
            match node:
                case Call(child) | Scan(child):
                    formals = {formal for formal, _ in node.axes}
                    self._formals[id(child)] = self._formals.get(id(child), formals) & formals
                    self._odd |= {(id(child), place) for place in _odd(child, node.args, dict(node.axes))}
                    again = isinstance(node, Call) and child.kind == "block" and (many or calls[_tables_of(node)] > 1)
                    self._visit(child, again)
                case Repeat():
                    count = known(node.count)
                    for body in node.bodies:
                        self._home[id(body)] = self._home.get(id(graph), graph)
                        self._odd |= {(id(body), place) for place in _odd(body, node.args, {})}
                        self._visit(body, many or (isinstance(count, int) and count > 1))
                case _:
                    pass

    def _one_class(self, graph: Graph, seen: set[int]) -> None:
        """Calls that share weights share a class: where their graphs differ, nothing is taken out of these."""
        if id(graph) in seen:
            return
        seen.add(id(graph))
        called: dict[str, list[Graph]] = {}
        for node in graph.nodes:
            children = (
                node.bodies if isinstance(node, Repeat) else (node.graph,) if isinstance(node, Call | Scan) else ()
            )
            if isinstance(node, Call | Scan) and node.name and owns(node.graph):
                called.setdefault(node.name, []).append(node.graph)
                if isinstance(node, Scan):
                    called[node.name].append(graph)  # another graph, so that what is scanned counts as differing
            for child in children:
                self._one_class(child, seen)
        for graphs in called.values():
            if len({id(one) for one in graphs}) > 1:
                for one in graphs:
                    if one is not graph:
                        self._leave(one)

    def _leave(self, graph: Graph) -> None:
        self.repeated.discard(id(graph))
        for node in graph.nodes:
            for child in node.bodies if isinstance(node, Repeat) else (node.graph,) if isinstance(node, Call) else ():
                self._leave(child)

    # -- one body ------------------------------------------------------------------------------------------------

    def outside(self, graph: Graph, axis: Axis) -> bool:
        """Whether the caller of the body knows the extent of the axis."""
        if axis.extent is not None or axis in graph.lifted:
            return True
        if graph.stepped is not None:
            keep = dict(graph.stepped.visible).get(axis)
            if keep is not None:
                return not consts_in(keep)
            if axis.family in (graph.stepped.new, graph.stepped.whole.family):
                return True
        if id(graph) in self._home:
            return self.outside(self._home[id(graph)], axis)
        if graph.kind == "block":
            known = self._formals.get(id(graph), set())
        else:
            known = {a for item in graph.inputs if item.default is None for a in item.value.type.axes}
        if axis in known or axis.family in {other.family for other in known}:
            return True
        return axis.size is not None and all(self.outside(graph, part) for part in axes_in(axis.size))

    def unchanging(self, old: Graph, graph: Graph, carried: int, index: Const | None) -> dict[int, bool]:
        """The values that are the same every time a body runs, by id: whether making them costs work.

        old: the body as it was when the model was looked at.
        """

        def outside(axis: Axis) -> bool:
            return self.outside(old, axis) and not depends_on_pass(SizeOf(axis), index)

        def fixed(static: Static) -> bool:
            return not depends_on_pass(static, index) and all(map(outside, axes_in(static)))

        def fits(value: Value) -> bool:
            element = value.type.element
            axes = [*value.type.axes, element.axis] if isinstance(element, IndexInto) else value.type.axes
            return all(map(outside, axes))

        found: dict[int, bool] = {}
        for place, item in enumerate(graph.inputs):
            table = place >= carried and item.value.role <= Role.TABLE and (id(old), place) not in self._odd
            if table and fits(item.value):
                found[item.value.id] = False
        for node in graph.nodes:
            if not all(value.id in found for value in reads(node)) or not all(map(fits, makes(node))):
                continue
            match node:
                case Constant(value):
                    ok, work = fixed(value), False
                case Positions():
                    ok, work = True, False
                case Apply():
                    ok, work = _table(node) and all(map(fixed, node.options.values())), _is_work(node)
                    ok = ok and all(map(outside, (*node.axes, *node.made, *node.each)))
                case Call():
                    ok, work = node.graph.kind == "block" and pure(node.graph) and not _a_method(node.graph), True
                    ok = ok and all(out.role <= Role.TABLE for out in node.outs)
                    ok = ok and all(outside(actual) for _, actual in node.axes)
                    ok = ok and all(fixed(static) for _, static in node.consts)
                case _:
                    ok = work = False
            if ok:
                work = work or any(found[value.id] for value in reads(node))
                found.update({out.id: work for out in makes(node)})
        return found


def _table(node: Apply) -> bool:
    """Whether an op makes a table of tables, or is where one becomes a real of the model's own type."""
    if node.weights or node.name or draws(node) or node.traits.remembers or node.op == "attention":
        return False
    return node.op == "cast" or node.out.role <= Role.TABLE


def _is_work(node: Apply) -> bool:
    """Whether it is worth making once. Another view of an operand stays where it is read; an int that becomes an index
    is checked.
    """
    kinds = [isinstance(value.type.element, IndexInto) for value in (node.out, *node.operands)]
    checked = node.traits.meaning is not None and kinds == [True, False]
    return node.traits.cost.moves or checked


def _a_method(graph: Graph) -> bool:
    """Whether it is the step of a block: `forward` has that block's module at the same place."""
    return graph.stepped is not None and graph.stepped.origin is not None


def _odd(graph: Graph, args: Sequence[Value], axes: Mapping[Axis, Axis]) -> Iterator[int]:
    """The places of arguments that are not of the type of their formal, or lack an axis of it."""
    for place, (item, arg) in enumerate(zip(graph.inputs, args, strict=True)):
        formal = item.value
        same = {axes.get(axis, axis) for axis in formal.type.axes} == set(arg.type.axes)
        kinds = (isinstance(one.type.element, IndexInto) or one.type.element for one in (formal, arg))
        lacks = formal.type.broadcast_axes or arg.type.broadcast_axes
        if lacks or not same or formal.role != arg.role or len(set(kinds)) > 1:
            yield place


def _tables_of(node: Call) -> object:
    """What two calls must have in common to make the same tables."""
    graph = node.graph
    return (graph.name, tuple(actual for formal, actual in node.axes if formal not in graph.lifted), node.consts)
