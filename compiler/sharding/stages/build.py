"""The graph of one stage of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Output, Repeat, Scan, makes, reads, values_of
from ...graph.values import IndexInto, Role, Type, Value
from ...rewrites.tools.walk import with_operands
from ...sizes.arithmetic import substitute
from ...sizes.axes import Arith, Axis, Const, ConstOf, Literal, Static
from ...sizes.ids import PASSES
from ..choose import NoSplit
from .needs import Needs
from .row import DealtNode, Key, NodeRow, Path, passes_of


@dataclass(eq=False)
class StageBuilder:
    """The graph of one stage.

    made: values that are made in it, by where. firsts: of each repeat that has some of its passes here, by what it puts
    before the names of its weights, the number of the first.
    """

    needs: Needs
    stage: int
    firsts: dict[str, int] = field(default_factory=dict)
    _names: dict[tuple[Path, Key], Value] = field(default_factory=dict)
    _locals: dict[Path, dict[Key, Value]] = field(default_factory=dict)

    @property
    def row(self) -> NodeRow:
        return self.needs.row

    @property
    def done(self) -> list[DealtNode]:
        """What it does, in order."""
        done = self.needs.done[self.stage]
        return [node for node in self.row.nodes if node in done]

    def graph(self) -> Graph:
        """The stage as a model: what is sent to it comes before the inputs of the model, in order; its results are what
        it sends on, and at last those of the model.
        """
        root, last = self.row.root, self.stage == len(self.needs.done) - 1
        received = self.needs.sent[self.stage - 1] if self.stage else []
        sent = [] if last else self.needs.sent[self.stage]
        used = {entry.name for entry in root.inputs}
        inputs = []
        for key in received:
            value = self._sent((), key)
            inputs.append(Input(_unused(value.name or "sent", used), value))
        own = [entry for entry in root.inputs if ((), entry.value.id, None) in self._given(received)]
        nodes = self._nodes((), {*received, *(((), entry.value.id, None) for entry in own)}, {*sent, *self.row.outputs})
        if last:
            outputs = tuple(replace(one, value=self._value((), one.value)) for one in root.outputs)
        else:
            names: set[str] = set()
            outputs = tuple(
                Output(_unused(value.name or "sent", names) if len(sent) > 1 else None, value, value.type.axes)
                for value in (self._sent((), key) for key in sent)
            )
        return replace(root, inputs=(*inputs, *own), nodes=nodes, outputs=outputs)

    def _sent(self, path: Path, key: Key) -> Value:
        value = self.at(path, key)
        if value.role is not Role.DATA:
            raise NoSplit(
                f"`pipe` cannot cut {self.row.root.name} at `{value.name or 'a value'}`: it is the same for the whole "
                "batch, and what stages send one another has the batch"
            )
        return value

    def _given(self, received: Sequence[Key]) -> set[Key]:
        """The inputs of the model that it takes: those that it reads, and where a width is known from no other, one of
        that width.
        """
        given = set(self.needs.given[self.stage])
        values = [self.at((), key) for key in (*received, *given)]
        known = {axis.family for value in values for axis in value.type.axes}
        mentioned = {axis.family for node in self.done for value in makes(node.node) for axis in value.type.axes}
        for entry in self.row.root.inputs:
            new = {axis.family for axis in entry.value.type.axes if axis.extent is None} - known
            if new & mentioned and entry.default is None:
                given.add(((), entry.value.id, None))
                known |= new
        return given

    # -- values --------------------------------------------------------------------------------------------------

    def at(self, path: Path, key: Key) -> Value:
        """What stands for a value in a graph: its own, or one that is made for it, in the axes of that graph."""
        if path not in self._locals:
            here: dict[Key, Value] = {}
            for value in values_of(self.row.graphs[path]):
                here.setdefault(self.row.keys[path, value.id], value)
            self._locals[path] = here
        if key in self._locals[path]:
            return self._locals[path][key]
        if (path, key) not in self._names:
            if key[0] == path:
                value = self.row.between[key]
            else:
                place = key[0][len(path)]
                call = self.row.graphs[path].nodes[place]
                assert isinstance(call, Call)
                inner = self.at((*path, place), key)
                value = replace(self.row.fresh[path](inner), type=_outside(call, inner))
            self._names[path, key] = value
        return self._names[path, key]

    def _value(self, path: Path, value: Value) -> Value:
        """What stands for a value of the whole model's graph here: an input of the graph stands for itself."""
        key = self.row.keys[path, value.id]
        if any(value.id == entry.value.id for entry in self.row.graphs[path].inputs):
            return value
        return self.at(path, key)

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _nodes(self, path: Path, known: set[Key], wanted: set[Key]) -> tuple[Node, ...]:
        """The nodes of a graph. known: values that it is given. wanted: those that are read around it."""
        graph, nodes = self.row.graphs[path], list[Node]()
        by_place: dict[int, list[DealtNode]] = {}
        for one in self.done:
            if one.path[: len(path)] == path:
                by_place.setdefault(one.path[len(path)] if len(one.path) > len(path) else one.place, []).append(one)
        reading = {key: [one for one in self.done if key in one.reads] for one in self.done for key in one.makes}
        for place in sorted(by_place):
            mine, node = by_place[place], graph.nodes[place]
            if len(mine[0].path) > len(path):
                assert isinstance(node, Call)
                outside = {key for key, readers in reading.items() if any(each not in mine for each in readers)}
                nodes.append(self._call(path, place, node, mine, wanted | outside))
            elif isinstance(node, Repeat):
                nodes.append(self._repeat(path, node, mine))
            else:
                nodes.append(self._with_reads(path, node))
        return tuple(nodes)

    def _with_reads(self, path: Path, node: Node) -> Node:
        return with_operands(node, {value.id: self._value(path, value) for value in reads(node)})

    def _call(self, path: Path, place: int, node: Call, mine: Sequence[DealtNode], wanted: set[Key]) -> Call:
        inner, graph = (*path, place), node.graph
        made = [key for one in mine for key in one.makes]
        read = dict.fromkeys(key for one in mine for key in one.reads if key not in made)
        inputs, args = [], []
        for entry, arg in zip(graph.inputs, node.args, strict=True):
            if self.row.keys[inner, entry.value.id] in read:
                inputs.append(entry)
                args.append(self._value(path, arg))
        known = {self.row.keys[inner, entry.value.id] for entry in graph.inputs}
        names = {entry.name for entry in graph.inputs}
        for key in read:
            if key not in known:
                value = self.at(inner, key)
                inputs.append(Input(_unused(value.name or "sent", names), value))
                args.append(self.at(path, key))
        outputs, outs = [], []
        names = {output.name or "" for output in graph.outputs}
        for output, out in zip(graph.outputs, node.outs, strict=True):
            key = self.row.keys[path, out.id]
            if key in wanted and key in made:
                outputs.append(replace(output, value=self._value(inner, output.value)))
                outs.append(out)
        known = {self.row.keys[path, out.id] for out in outs}
        for key in dict.fromkeys(made):
            if key in wanted and key not in known:
                value = self.at(inner, key)
                axes = tuple(axis for axis in value.type.axes if axis not in graph.lifted)
                outputs.append(Output(_unused(value.name or "sent", names), value, axes))
                outs.append(self.at(path, key))
        if len(outputs) > 1:
            outputs = [replace(one, name=one.name or _unused("first", names)) for one in outputs]
        nodes = self._nodes(inner, {*read}, wanted)
        part = replace(graph, inputs=tuple(inputs), nodes=nodes, outputs=tuple(outputs))
        return replace(node, graph=part, args=tuple(args), outs=tuple(outs))

    def _repeat(self, path: Path, node: Repeat, mine: Sequence[DealtNode]) -> Repeat:
        count, first, number = len(mine), mine[0].number, passes_of(node)
        assert first is not None
        carried = [self.at(path, key) for key in mine[0].reads[: node.carried]]
        if first == 0:
            carried = [self._value(path, value) for value in node.args[: node.carried]]
        args = (*carried, *(self._value(path, value) for value in node.args[node.carried :]))
        if not node.shared:
            self.firsts[f"{self.row.name(path)}{node.name}"] = first
        if count == number:
            return replace(node, args=args)
        outs = tuple(self.at(path, key) for key in mine[-1].makes)
        bodies, variant = node.bodies, node.variant
        if variant:
            kinds = list(dict.fromkeys(variant[first : first + count]))
            bodies = tuple(bodies[kind] for kind in kinds)
            variant = tuple(kinds.index(kind) for kind in variant[first : first + count])
        index = node.index
        if index is not None and first:
            new = replace(index, id=PASSES + index.id)
            later = Arith("+", (ConstOf(new), Literal(first)))
            bodies, index = tuple(_renumbered(body, {index.id: later}) for body in bodies), new
        return replace(node, count=Literal(count), bodies=bodies, variant=variant, args=args, outs=outs, index=index)


def _unused(name: str, used: set[str]) -> str:
    """A name that is not in use yet; now it is."""
    found, number = name, 2
    while found in used:
        found, number = f"{name}_{number}", number + 1
    used.add(found)
    return found


def _outside(call: Call, value: Value) -> Type:
    """The type of a value of a block in the axes of its caller."""
    names = dict(call.axes)

    def outside(axis: Axis) -> Axis:
        if axis not in names and axis in call.graph.axes:
            raise NoSplit(
                f"`pipe` cuts the block `{call.graph.name}` at `{value.name or 'a value'}`, which has an axis of the "
                f"block's own, `{axis.name}`: declare that outside of it"
            )
        return names.get(axis, axis)

    element = value.type.element
    return Type(
        IndexInto(outside(element.axis)) if isinstance(element, IndexInto) else element,
        tuple(map(outside, value.type.axes)),
        frozenset(map(outside, value.type.broadcast_axes)),
    )


def _renumbered(body: Graph, consts: Mapping[int, Static]) -> Graph:
    """The body of a repeat, the number of its pass said otherwise."""

    def now(static: Static) -> Static:
        return substitute(static, {}, dict(consts))

    def given(consts: Sequence[tuple[Const, Static]]) -> tuple[tuple[Const, Static], ...]:
        return tuple((const, now(static)) for const, static in consts)

    nodes: list[Node] = []
    for node in body.nodes:
        match node:
            case Constant():
                nodes.append(replace(node, value=now(node.value)))
            case Apply():
                nodes.append(replace(node, options={name: now(each) for name, each in node.options.items()}))
            case Call() | Scan():
                nodes.append(replace(node, consts=given(node.consts)))
            case Repeat():
                inner = tuple(_renumbered(each, consts) for each in node.bodies)
                nodes.append(replace(node, count=now(node.count), bodies=inner))
            case _:
                nodes.append(node)
    return replace(body, nodes=tuple(nodes))
