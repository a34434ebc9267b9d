"""Masks of positions go to the attention that they belong to, and stay symbolic there: `Apply.seen` for `Apply.mask`.

A predicate is often made by a caller and passed through blocks and repeats. Its term is followed to the attention; only
what it reads besides positions (padding, the length of a prefix, numbers) is passed on, as arguments of its own. So a
block called with a causal and with a banded mask becomes two classes, neither of which takes a mask.

What it does not do: touch masks that say nothing of positions, or go into calls of one set of weights with unlike
masks, into models called by models, and into scans. These keep their mask as an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ....dsl.source import Span
from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Positions, Repeat, Scan, owns, values_of
from ...graph.term import Leaf, Number, Position, Predicate, Term, change, leaves, parts, plain, positional
from ...graph.traits import keeps_truths
from ...graph.typed_value import static_element
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...masks.read import Reader
from ...sizes.axes import Axis, ConstOf, Literal, known, show_static
from ..simplify.dead import alive
from ..tools.walk import with_predicate

Given = tuple[tuple[int, Term, tuple[Value, ...]], ...]  # place of an input, its term in the callee, the new inputs


def place_masks(graph: Graph) -> Graph:
    """The graph with every mask of positions at its attention."""
    return _Placer().graph(graph, ()).graph


@dataclass(frozen=True, slots=True)
class _Placed:
    """A graph rewritten, and which of the inputs that it had nothing reads any more."""

    graph: Graph
    unread: frozenset[int]


class _Placer:
    def __init__(self) -> None:
        self._memo: dict[object, _Placed] = {}
        self._wants: dict[int, frozenset[int]] = {}

    # -- which inputs are masks -----------------------------------------------------------------------------------

    def wants(self, graph: Graph) -> frozenset[int]:
        """The inputs that reach a mask of fused attention, joined with other truths or passed on, in this graph."""
        if id(graph) not in self._wants:
            wanted: set[int] = set()
            for node in reversed(graph.nodes):
                match node:
                    case Apply(op="attention", mask=Value() as mask):
                        wanted.add(mask.id)
                    case Apply() if node.out.id in wanted and keeps_truths(node.traits.reads):
                        wanted |= {value.id for value in node.operands}
                    case Call():
                        wanted |= {node.args[place].id for place in self.wants(node.graph)}
                    case Repeat():
                        for body in node.bodies:
                            wanted |= {node.args[place].id for place in self.wants(body) if place >= node.carried}
                    case _:
                        pass
            self._wants[id(graph)] = frozenset(p for p, item in enumerate(graph.inputs) if item.value.id in wanted)
        return self._wants[id(graph)]

    # -- one graph ------------------------------------------------------------------------------------------------

    def graph(self, graph: Graph, given: Given) -> _Placed:
        """The graph where these inputs are known by their terms."""
        key = (id(graph), tuple((place, _spell(term, values)) for place, term, values in given))
        if key not in self._memo:
            self._memo[key] = self._rewrite(graph, given)
        return self._memo[key]

    def _rewrite(self, graph: Graph, given: Given) -> _Placed:
        reader = Reader(graph, {graph.inputs[place].value.id: term for place, term, _ in given})
        new = [Input(value.name or "x", value) for _, _, values in given for value in values]
        fresh = _Fresh(graph, new)
        unlike = self._unlike(graph, reader)
        nodes: list[Node] = []
        for node in graph.nodes:
            match node:
                case Apply(op="attention", mask=mask, seen=None):
                    nodes += _settle(node, Number(Literal(True)) if mask is None else reader.term(mask), fresh)
                case Call() if node.graph.kind == "op":
                    nodes.append(node)
                case Call():
                    passed = [] if node.name in unlike else self._passed(node, reader)
                    made = _Made(fresh)
                    passed = [(place, made.known(term, node.graph.lifted)) for place, term in passed]
                    entered, args, constants = self._enter((node.graph,), node.args, passed, fresh)
                    nodes += [*made.nodes, *constants, replace(node, graph=entered[0], args=args)]
                case Repeat():
                    passed = self._through(node, reader)
                    bodies, args, constants = self._enter(node.bodies, node.args, passed, fresh)
                    nodes += [*constants, replace(node, bodies=bodies, args=args)]
                case Scan():
                    nodes.append(replace(node, graph=self.graph(node.graph, ()).graph))
                case _:
                    nodes.append(node)
        kept = alive(replace(graph, inputs=(*graph.inputs, *new), nodes=tuple(nodes)))
        used = index_of(kept).used
        unread = frozenset(place for place, _, _ in given if graph.inputs[place].value.id not in used)
        same = not new and list(map(id, kept.nodes)) == list(map(id, graph.nodes))
        return _Placed(graph if same else kept, unread)

    # -- going into calls and repeats -----------------------------------------------------------------------------

    def _passed(self, node: Call, reader: Reader) -> list[tuple[int, Term]]:
        """The masks that a call passes on, as terms in the callee's axes; the leaves are the caller's values still."""
        if node.name == "" or node.graph.kind == "model":
            return []
        found = []
        for place in sorted(self.wants(node.graph)):
            formal = node.graph.inputs[place].value.type.axes
            back = {actual: axis for axis, actual in node.axes if axis in formal}
            back |= {axis: axis for axis in node.graph.lifted if not axis.is_width}
            term = _transported(reader.term(node.args[place]), back)
            if term is not None:
                found.append((place, term))
        return found

    def _through(self, node: Repeat, reader: Reader) -> list[tuple[int, Term]]:
        found = []
        for place in sorted({place for body in node.bodies for place in self.wants(body) if place >= node.carried}):
            term = reader.term(node.args[place])
            if _structured(term, set(node.args[place].type.axes)):
                found.append((place, term))
        return found

    def _enter(
        self, graphs: tuple[Graph, ...], args: tuple[Value, ...], passed: list[tuple[int, Term]], fresh: _Fresh
    ) -> tuple[tuple[Graph, ...], tuple[Value, ...], list[Node]]:
        """The graphs with these masks known, and what they are called with: data of the masks comes last."""
        constants: list[Node] = []
        entering: list[Value] = []
        shape: list[tuple[int, Term, list[_Entry]]] = []
        for place, term in passed:
            entries = _entries(term)
            entering += [fresh.constant(e, constants) if e.value is None else fresh.own[e.value.id] for e in entries]
            shape.append((place, term, entries))
        placed = []
        for graph in graphs:
            names = _Fresh(graph, [])
            given = tuple(_argument(place, term, entries, names) for place, term, entries in shape)
            placed.append(self.graph(graph, given))
        gone = frozenset.intersection(*(one.unread for one in placed))
        made = tuple(self._without(one.graph, gone) for one in placed)
        left = tuple(arg for place, arg in enumerate(args) if place not in gone)
        return made, (*left, *entering), constants

    def _without(self, graph: Graph, places: frozenset[int]) -> Graph:
        """The graph without these inputs: one object for all calls of one graph."""
        if not places:
            return graph
        key = ("without", id(graph), places)
        if key not in self._memo:
            kept = tuple(item for place, item in enumerate(graph.inputs) if place not in places)
            self._memo[key] = _Placed(replace(graph, inputs=kept), places)
        return self._memo[key].graph

    def _unlike(self, graph: Graph, reader: Reader) -> set[str]:
        """Names of calls that share weights but would get unlike masks: one set of weights is of one class."""
        found: dict[str, set[object]] = {}
        for node in graph.nodes:
            if isinstance(node, Call) and node.graph.kind != "op" and owns(node.graph):
                passed = self._passed(node, reader)
                spelled = tuple((place, _spell(term, ())) for place, term in passed)
                found.setdefault(node.name, set()).add(spelled)
        return {name for name, ways in found.items() if len(ways) > 1}


def _structured(term: Term, axes: set[Axis]) -> bool:
    """Whether a mask is more than a dense one: it says something of positions, or joins what varies along one axis."""
    if positional(term) or isinstance(term, Leaf):
        return positional(term)
    return any(len(axes & (set(leaf.value.type.axes) - leaf.value.type.broadcast_axes)) < 2 for leaf in leaves(term))


# -- one mask ---------------------------------------------------------------------------------------------------------


def _settle(node: Apply, term: Term, fresh: _Fresh) -> list[Node]:
    """The attention with its mask as a term, if that is worth it: it says something of positions, or of unlike data.

    Always where scores are capped, which no kernel does but that for masks of positions. The predicate is one of a
    query's and a key's position: those along other axes (heads that see unlike spans) are made, and read as data.
    """
    q, k = node.made[0], node.axes[1]
    others = {part.axis for part in parts(term) if isinstance(part, Position)} - {q, k}
    made = _Made(fresh)
    found = made.known(term, others)
    if not _structured(found, {q, k}) and "cap" not in node.options:
        return [node]
    return [*made.nodes, with_predicate(node, Predicate(q, k, plain(found)))]


class _Made:
    """Positions along axes that are not those of a mask's queries and keys: made once, and read as data."""

    def __init__(self, fresh: _Fresh) -> None:
        self._fresh = fresh
        self._made: dict[Axis, Positions] = {}

    @property
    def nodes(self) -> list[Node]:
        return [*self._made.values()]

    def known(self, term: Term, axes: Collection[Axis]) -> Term:
        """The term with these positions as data."""

        def data(part: Position | Number | Leaf) -> Term:
            if not isinstance(part, Position) or part.axis not in axes:
                return part
            if part.axis not in self._made:
                out = self._fresh.value(Type(IndexInto(part.axis), (part.axis,)), Role.TABLE, part.axis.name)
                self._made[part.axis] = Positions(part.axis, out)
            return Leaf(self._made[part.axis].out, part.axis.name)

        found = change(term, data)
        assert found is not None
        return found


def _transported(term: Term, back: Mapping[Axis, Axis]) -> Term | None:
    """A term in the axes of a callee; None if that is not worth it, or if the callee lacks axes of its positions."""
    if not _structured(term, set(back)):
        return None

    def inside(part: Position | Number | Leaf) -> Term | None:
        if isinstance(part, Position):
            return Position(back[part.axis]) if part.axis in back else None
        if isinstance(part, Leaf):
            kind = part.value.type
            there = Type(
                Scalar.INT if isinstance(kind.element, IndexInto) else kind.element,
                axes=tuple(back.get(axis, axis) for axis in kind.axes),
                broadcast_axes=frozenset(back.get(axis, axis) for axis in kind.broadcast_axes),
            )
            return replace(part, value=replace(part.value, type=there))
        return part

    return change(term, inside)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a mask reads besides positions: a value of the caller, or a number."""

    part: Leaf | Number
    value: Value | None
    type: Type
    role: Role
    name: str  # of the new input
    known: int | float | bool | None
    spelled: str  # what a report calls it


def _entries(term: Term) -> list[_Entry]:
    """What of a term is passed as an argument: data, and numbers that are no literals."""
    found: dict[Leaf | Number, _Entry] = {}

    def one(part: Position | Number | Leaf) -> Term | None:
        if isinstance(part, Leaf) and part not in found:
            value = part.value
            name = part.name or value.name or "data"
            wish = name if name.isidentifier() else "number"
            whole = isinstance(value.type.element, IndexInto)
            kind = replace(value.type, element=Scalar.INT) if whole else value.type
            found[part] = _Entry(part, value, kind, value.role, wish, part.known, name)
        elif isinstance(part, Number) and not isinstance(part.static, Literal) and part not in found:
            name = part.static.const.name if isinstance(part.static, ConstOf) else "number"
            kind = Type(static_element(part.static), ())
            text = show_static(part.static)
            spelled = text[1:-1] if text.startswith("(") else text
            found[part] = _Entry(part, None, kind, Role.CONSTANT, name, known(part.static), spelled)
        return part

    change(term, one)
    return list(found.values())


def _argument(place: int, term: Term, entries: list[_Entry], fresh: _Fresh) -> tuple[int, Term, tuple[Value, ...]]:
    """The term with its arguments as new inputs of the callee."""
    inside: dict[Leaf | Number, Leaf] = {}
    for entry in entries:
        span = entry.value.span if entry.value is not None else None
        value = fresh.value(entry.type, entry.role, entry.name, span)
        inside[entry.part] = Leaf(
            value, entry.spelled, entry.part.why if isinstance(entry.part, Leaf) else "", entry.known
        )
    found = change(term, lambda part: part if isinstance(part, Position) else inside.get(part, part))
    assert found is not None
    return place, found, tuple(leaf.value for leaf in inside.values())


class _Fresh:
    """New values of one graph."""

    def __init__(self, graph: Graph, more: Iterable[Input]) -> None:
        self.own = {value.id: value for value in (*values_of(graph), *(item.value for item in more))}
        self._next = max(self.own, default=0) + 1

    def value(self, type: Type, role: Role, name: str | None, span: Span | None = None) -> Value:
        made = Value(self._next, type, role, name, span)
        self.own[made.id] = made
        self._next += 1
        return made

    def constant(self, entry: _Entry, nodes: list[Node]) -> Value:
        """A number made just before it is passed on."""
        assert isinstance(entry.part, Number)
        out = self.value(entry.type, Role.CONSTANT, None)
        nodes.append(Constant(entry.part.static, out))
        return out


def _spell(term: Term, values: tuple[Value, ...]) -> object:
    """What two terms must have in common to be the same: their leaves by place and type, not by id."""
    order = {leaf.value.id: place for place, leaf in enumerate(leaves(term))}

    def spell(part: Term) -> object:
        match part:
            case Position(axis):
                return ("axis", axis.id)
            case Number(static):
                return ("number", repr(static))
            case Leaf(value):
                kind = value.type
                axes = (tuple(a.id for a in kind.axes), tuple(sorted(a.id for a in kind.broadcast_axes)))
                return ("leaf", order[value.id], axes, repr(kind.element), value.role, value.name, part.known)
            case _:
                return (part.meaning, *(spell(arg) for arg in part.args))

    return spell(term)
