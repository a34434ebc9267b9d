"""graph -> scene. The contents of an open block are in the axes of its caller; repeats and scans stand in brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...compiler.graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Node,
    Output,
    Parameter,
    Positions,
    Repeat,
    Scan,
    makes,
    owns,
    reads,
)
from ...compiler.graph.values import IndexInto, Scalar, Type, Value
from ...compiler.sizes.axes import Axis, Static, evaluate
from ..base.names import axis_label, listed, name_text, spaced
from ..base.text import Rich, italic, joined, plain, roman
from ..base.titles import Titles
from .copies import prune, split_copies
from .formulas.symbolic import Symbolic, index, leaf_of, of_static, titled, written
from .opening import How, Opening, called, pointwise, segments, uses
from .opsteps import Steps
from .passes import BodyPasses, Part, passes_text, plan
from .selecting import in_box
from .steps import DrawStep, Enters, Frame, Item, Look, Marks, Path, Scene, Section, StepKind, Tint
from .tensors import Learned, Tensor, tail
from .whose import tell_apart
from .wording import sends_in

if TYPE_CHECKING:
    from ...compiler.streams.drawn import DrawnLoop

Inside = Callable[[Frame, list[Item]], list[Item]]  # draws the inside for these operands; gives the results
_COUNTERS = (*"ijknpqrstuvw", "pass")  # letters for the number of a pass that the spec does not name
_UNKNOWN = 8  # how many passes are assumed where their number is not known


def scene_of(
    graph: Graph, opening: Opening, title: str | None = None, arrange: Callable[[Scene], None] | None = None,
    path: Path = (), marks: Marks | None = None, loops: Mapping[Graph, DrawnLoop] | None = None,
) -> Scene:  # fmt: skip
    """What is drawn of a graph, with its blocks open or closed as `opening` says.

    arrange: changes the scene while each value still has one tensor for all of its readers.
    path:    of a block that has a panel of its own, the blocks around it, and itself.
    marks:   what to tint.
    loops:   what is told of graphs of kind "loop".
    """
    titles = Titles(graph)
    scene = Scene(titles.of(graph) if title is None else title)
    _Unfolding(scene, titles, opening, path, marks, loops or {}).top(graph)
    if arrange is not None:
        arrange(scene)
    prune(scene)
    split_copies(scene)
    tell_apart(scene)
    return scene


class _Unfolding(Steps):
    def __init__(
        self, scene: Scene, titles: Titles, opening: Opening, path: Path, marks: Marks | None,
        loops: Mapping[Graph, DrawnLoop],
    ) -> None:  # fmt: skip
        super().__init__(scene, titles, path)
        self.opening, self.marks, self.loops = opening, marks, loops
        self.met: dict[Axis, Axis] = {}  # the figure's axes
        self.later: dict[int, Item] = {}  # formulas to be tinted, by their ids: what shows them is, and their readers

    # -- graphs

    def frame(
        self, graph: Graph, axes: Mapping[Axis, Axis], consts: dict[int, Symbolic], section: Section | None, level: int,
        prefix: str = "", loops: tuple[str, ...] = (),
    ) -> Frame:  # fmt: skip
        """The frame of a graph, all axes of which the figure meets now."""
        frame = Frame(graph, self.met, axes, consts, section, level, {}, uses(graph), prefix, loops)
        made = (out for node in self.opening.canonical.nodes(graph) for out in makes(node))
        for value in (*(entry.value for entry in graph.inputs), *made):
            for axis in value.type.axes:
                frame.axis(axis)
        return frame

    def top(self, graph: Graph) -> None:
        frame = self.frame(graph, {}, {}, None, 0)
        items = frame.items
        for rank, entry in enumerate(graph.inputs):
            index, boolean = _elements(entry.value.type)
            tensor = Tensor(frame.shown(entry.value), entry.name, index, boolean)
            items[entry.value.id] = tensor
            self.span = entry.value.span
            text, tip = name_text(entry.name), f"input {entry.name}"
            self.kinds[entry.name] = note = self.kind(frame, rank)
            source = DrawStep(StepKind.SOURCE, "input", [], [tensor], None, text=text, tip=tip, first=rank, note=note)
            self.add(source).names.add(entry.name)
        self.body(frame)
        results = []
        self.span = graph.span
        for output in graph.outputs:
            tensor = self.tensor(frame, items[output.value.id], output.name or "")
            self.called(frame, output.value, output.name or "")
            axes = tuple(dict.fromkeys(frame.axis(a) for a in output.axes if frame.axis(a) in tensor.axes))
            results.append((tensor, axes, result_name(graph, output)))
        ends = [Tensor((*axes, *(a for a in t.axes if a not in axes)), name) for t, axes, name in results]
        self.add(DrawStep(StepKind.SINK, "output", [t for t, _, _ in results], ends, None))

    def kind(self, frame: Frame, rank: int) -> Rich:
        """What an input is, in small letters: what its numbers count or point into, its default, copies of axes. Of a
        block that has a panel of its own, axes are told apart by its calls."""
        entry, said = frame.graph.inputs[rank], list[Rich]()
        match entry.value.type.element:
            case IndexInto(axis):
                said.append((*italic("#"), *axis_label(frame.axis(axis).label, is_width=False)))
            case Scalar.INT:
                said.append(roman("#"))
            case Scalar.BOOL:
                said.append(roman("yes / no"))
        met: dict[int, Axis] = {}
        for other in frame.graph.inputs[:rank] if not self.path else ():
            for axis in map(frame.axis, other.value.type.axes):
                met.setdefault(axis.family, axis)
        for axis in frame.shown(entry.value) if not self.path else ():
            first = met.setdefault(axis.family, axis)
            if first != axis:
                one, two = (axis_label(a.label, is_width=False) for a in (axis, first))
                said.append((*one, *italic(" like "), *two))
        if any(axis.ragged for axis in entry.value.type.axes):
            said.append(roman("ragged"))
        if entry.default is not None:
            said.append((*roman("? "), *written(self.static(frame, entry.default))))
        return joined(run for k, each in enumerate(said) for run in (*roman("\n" if k else ""), *each))

    def body(self, frame: Frame) -> None:
        if frame.graph.kind == "op":  # an op that the user wrote in Python: its inside is not known
            self.foreign(frame)
        for node in self.opening.canonical.nodes(frame.graph):
            before = len(self.scene.steps)
            match node:
                case Constant(value, out):
                    frame.items[out.id] = self.static(frame, value)
                case Positions(axis, out):
                    at = frame.axis(axis)
                    frame.items[out.id] = Symbolic("position", axis=at, axes=(at,))
                case Parameter(weight, out):
                    path = frame.prefix + weight.name
                    frame.items[out.id] = Learned(tail(weight.name), frame.shown(out), path, frame.loops)
                case Apply():
                    frame.items[node.out.id] = self.apply(frame, node)
                    self.called(frame, node.out, tail(node.name or ""))
                case Call():
                    self.call(frame, node)
                case Repeat():
                    self.repeat(frame, node)
                case Scan():
                    self.scan(frame, node)
            if self.marks is not None:
                self.tint(frame, node, self.marks, before)

    def tint(self, frame: Frame, node: Node, marks: Marks, before: int) -> None:
        """The colour that is asked for behind what makes a value, of a block that is drawn in line behind all of it;
        where another step shows it, behind that.
        """
        for out in makes(node):
            look = marks.looks.get((id(frame.graph), out.id))
            if look is None and any(id(frame.items.get(value.id)) in self.later for value in reads(node)):
                look = marks.within
            item = frame.items.get(out.id)
            step = self.maker.get(id(item)) if isinstance(item, Tensor) else None
            if look is not None and step is None and item is not None:
                self.later[id(item)] = item
            elif look is not None and step is not None and step.number <= before:
                self.tinted(step, marks.within)
            elif look is not None and step is not None and step.border is not None:
                self.tinted(step.border, look)
            elif look is not None:
                for each in self.scene.steps[before:]:
                    self.tinted(each, look)

    def tensor(self, frame: Frame, item: Item, name: str = "") -> Tensor:
        tensor = super().tensor(frame, item, name)
        if self.marks is not None and id(item) in self.later and id(tensor) in self.maker:
            self.tinted(self.maker[id(tensor)], self.marks.within)
        return tensor

    def tinted(self, mark: DrawStep | Section, look: Look) -> None:
        bare = isinstance(mark, DrawStep) and mark.kind is StepKind.COPY
        if not bare and all(tint.mark is not mark for tint in self.scene.tints):
            self.scene.tints.append(Tint(mark, *look))

    def called(self, frame: Frame, value: Value, *names: str) -> None:
        """What hints call the step that has made a value: by the value's name, and by these."""
        item = frame.items[value.id]
        step = self.maker.get(id(item)) if isinstance(item, Tensor) else None
        if step is not None:
            step.names |= {value.name or "", *names} - {""}

    def static(self, frame: Frame, value: Static) -> Symbolic:
        return of_static(value, frame.axis, frame.consts)

    def foreign(self, frame: Frame) -> None:
        """An op of the user's own, standing alone: one plain box."""
        graph = frame.graph
        ins = [self.tensor(frame, frame.items[entry.value.id], entry.name) for entry in graph.inputs]
        outs = [Tensor(frame.shown(out.value), out.name or "") for out in graph.outputs]
        for output, tensor in zip(graph.outputs, outs, strict=True):
            frame.items[output.value.id] = tensor
        text = roman(self.titles.of(graph))
        kind = StepKind.BOX if ins else StepKind.SOURCE
        self.add(DrawStep(kind, "plain", ins, outs, frame.section, text=text, tip=graph.target, late=True))

    # -- blocks, repeats, scans

    def call(self, frame: Frame, node: Call) -> None:
        self.span = node.span or self.span
        how = self.opening.how(node, frame.level)
        if how is How.CLOSED:
            args = [frame.items[v.id] for v in node.args]
            outs = [Tensor(frame.shown(v), v.name or "", *_elements(v.type)[:1]) for v in node.outs]
            self.box(frame, node, args, outs)
            for value, tensor in zip(node.outs, outs, strict=True):
                frame.items[value.id] = tensor
                self.called(frame, value, node.graph.name, *node.name.split("."))
            return
        inner = self.inside(frame, node, frame.section, frame.level + 1)
        args = [frame.items[v.id] for v in node.args]
        section = None
        loop = self.loops.get(node.graph)
        if loop is not None:
            section = self.section(f"{inner.axis(loop.streamed).name} {loop.says}", frame.section)
            args = self.enter_loop(frame, section, args, inner, loop)
        elif how is How.REGION:
            section = self.section(self.titles.call(node), frame.section, block=self.titles.of(node.graph))
            section.name = node.graph.name
            section.whose = frame.prefix + node.name if node.name and owns(node.graph) else ""
            args = self.enter(frame, section, args, inner)
            inner.section = section
        for entry, item in zip(node.graph.inputs, args, strict=True):
            inner.items[entry.value.id] = item
        around, own = self.path, called(node)
        if loop is None:
            self.path = (*around, own | segments(frame.graph, node) if isinstance(node, Call) else own)
        if section is not None and loop is None:
            section.names, section.path = own, around
        self.body(inner)
        self.path = around
        results = [inner.items[output.value.id] for output in node.graph.outputs]
        if section is not None:
            results = self.leave(inner, frame, section, results)
        title = self.titles.of(node.graph)
        for value, result in zip(node.outs, results, strict=True):
            if isinstance(result, Symbolic) and how is not How.REGION:
                given = tuple((const.name, self.static(frame, value)) for const, value in node.consts)
                written = titled(result, title, [frame.axis(outer) for _, outer in node.axes], given)
                if id(result) in self.later:
                    self.later[id(written)] = written
                result = written
            frame.items[value.id] = result
            if loop is None:  # its results have their names inside
                self.called(frame, value)

    def enter_loop(
        self, frame: Frame, section: Section, args: Sequence[Item], inner: Frame, loop: DrawnLoop
    ) -> list[Item]:
        """The border of a loop over tiles, going in."""
        section.streams = inner.axis(loop.streamed)
        section.tiles = {inner.axis(axis): size for axis, size in loop.tiles.items()}
        section.loops = loop.kept
        found = self.enter(frame, section, args, inner)
        given = zip(inner.graph.inputs, found, strict=True)
        section.looked = frozenset(id(item) for entry, item in given if entry.value.id in loop.looked)
        assert section.enter is not None
        section.enter.tip = f"a loop on the chip: {section.title}, keeps {', '.join(loop.kept)}"
        inner.section = section
        return found

    def inside(self, frame: Frame, node: Call | Scan, section: Section | None, level: int) -> Frame:
        axes = {inner: frame.axis(outer) for inner, outer in node.axes}
        for axis in node.graph.lifted:
            axes.setdefault(axis, frame.axis(axis))
        consts = {const.id: self.static(frame, value) for const, value in node.consts}
        prefix = f"{frame.prefix}{node.name}." if node.name else frame.prefix
        return self.frame(node.graph, axes, consts, section, level, prefix, frame.loops)

    def repeat(self, frame: Frame, node: Repeat) -> None:
        """The body between brackets; where passes have different bodies, each of them where it runs."""
        self.span = node.span or self.span
        around, self.path = self.path, (*self.path, segments(frame.graph, node))
        args = [frame.items[v.id] for v in node.args]
        for i in range(node.carried):  # what is carried from pass to pass must be wires
            args[i] = self.tensor(frame, args[i], node.args[i].name or "")
        count = evaluate(node.count)
        if len(node.bodies) == 1:
            passes = tuple(range(int(count) if count is not None else _UNKNOWN))
            shown = str(int(count)) if count is not None else plain(written(self.static(frame, node.count)))
            if node.index is not None and count is not None and int(count) > 1:
                shown += f", {spaced(node.index.name)} = 0…{int(count) - 1}"
            if node.shared:
                shown += ", shared weights"
            args = self.between(frame, node, shown, args, lambda inner, own: self.once_through(
                inner, node, BodyPasses(0, passes), own), turns=len(passes) > 1)  # fmt: skip
        else:
            for part in plan(node.variant):
                args[: node.carried] = self.part(frame, node, part, args, alone=True)
        self.path = around
        for value, result in zip(node.outs, args, strict=False):
            frame.items[value.id] = result

    def part(self, frame: Frame, node: Repeat, part: Part, args: list[Item], *, alone: bool) -> list[Item]:
        """Some passes of a repeat whose bodies differ, one after the other; returns what is carried on."""
        name = spaced(node.index.name) if node.index is not None else "pass"
        when = passes_text(name, part.passes, range(len(node.variant)))
        if isinstance(part, BodyPasses):
            if alone and len(part.passes) == 1:  # brackets, although it runs once, to show that it belongs to a repeat
                title = f"1, {when}" + (", shared weights" if node.shared else "")
                return self.between(frame, node, title, args, lambda inner, own: self.once_through(
                    inner, node, part, own), turns=False)  # fmt: skip
            section = self.section(when, frame.section)
            return self.within(frame, node, section, args, lambda inner, own: self.once_through(inner, node, part, own))

        def inside(inner: Frame, own: list[Item]) -> list[Item]:
            for each in part.parts:
                if len(part.parts) == 1 and isinstance(each, BodyPasses):
                    own[: node.carried] = self.once_through(inner, node, each, own)
                else:
                    own[: node.carried] = self.part(inner, node, each, own, alone=False)
            return own[: node.carried]

        title = f"{part.times}, {when}" if when else str(part.times)
        title += ", shared weights" if node.shared else ""
        return self.between(frame, node, title, args, inside, turns=part.times > 1)

    def between(
        self, frame: Frame, node: Repeat, title: str, args: list[Item], inside: Inside, *, turns: bool
    ) -> list[Item]:
        """Between the brackets of a repeat. turns: whether what it makes goes round."""
        section = self.section(title, frame.section, repeat=True)
        section.names, section.path = frozenset(node.name.split(".")), self.path[:-1]
        if turns:
            section.loops = tuple(entry.name for entry in node.bodies[0].inputs[: node.carried])
        return self.within(frame, node, section, args, inside)

    def within(self, frame: Frame, node: Repeat, section: Section, args: list[Item], inside: Inside) -> list[Item]:
        body = node.bodies[0]
        again = any(frame.graph is other for other in node.bodies)  # brackets within those of the same repeat
        prefix, loops = (frame.prefix, frame.loops) if again else (frame.prefix + node.prefix, _counted(frame, node))
        inner = self.frame(body, frame.axes, frame.consts, section, frame.level, prefix, loops)
        own = self.enter(frame, section, args, inner, node.carried)
        begun = own[: node.carried]
        results = inside(inner, own)
        ends = self.leave(inner, frame, section, results)
        assert section.exit is not None
        named = [(name, end) for name, end in zip(section.loops, ends, strict=False)]
        section.exit.ports = tuple(listed(name for name, end in named if end is out) for out in section.exit.outs)
        made = {id(b): a for a, b in zip(section.exit.ins, section.exit.outs, strict=True)}
        pairs = [(a, made.get(id(b))) for a, b in zip(begun, ends, strict=False)]
        section.carried = tuple((a, b) for a, b in pairs if isinstance(a, Tensor) and b is not None and a is not b)
        return ends

    def once_through(self, frame: Frame, node: Repeat, run: BodyPasses, args: Sequence[Item]) -> list[Item]:
        """One body, as it runs in these passes."""
        body = node.bodies[run.number]
        consts = dict(frame.consts)
        if node.index is not None and run.passes:
            consts[node.index.id] = index(node.index.name, run.passes)
        own = len(node.bodies) > 1 and not node.shared  # then other passes, drawn elsewhere, have other weights
        prefix = f"{frame.prefix}{run.passes[0]}." if own and run.passes else frame.prefix
        inner = self.frame(body, frame.axes, consts, frame.section, frame.level, prefix, frame.loops)
        for entry, item in zip(body.inputs, args, strict=True):
            inner.items[entry.value.id] = item
        self.body(inner)
        return [inner.items[output.value.id] for output in body.outputs]

    def scan(self, frame: Frame, node: Scan) -> None:
        """A scan between brackets, at which its axis ends and begins. A line beneath feeds its state back."""
        self.span = node.span or self.span
        along = frame.axis(node.axis)
        section = self.section(along.name, frame.section, repeat=True)
        section.along = along
        section.names, section.path = called(node), self.path
        how = self.opening.how(node, frame.level)
        inner = self.inside(frame, node, section, frame.level + (how is not How.CLOSED))
        inner.loops = (*frame.loops, "")  # all steps have one set of weights
        section.loops = tuple(node.graph.inputs[at].name for at, _ in sorted(node.states))
        args = self.enter_scan(frame, node, section, inner)
        results: list[Item]
        if how is How.CLOSED:
            outs = [Tensor(inner.shown(out.value), out.name or "") for out in node.graph.outputs]
            self.box(inner, node, args, outs)
            results = list(outs)
        else:
            for entry, arg in zip(node.graph.inputs, args, strict=True):
                inner.items[entry.value.id] = arg
            around = self.path
            self.path = (*around, called(node))
            self.body(inner)
            self.path = around
            results = [inner.items[output.value.id] for output in node.graph.outputs]
        self.leave_scan(frame, node, section, inner, results)

    def enter_scan(self, frame: Frame, node: Scan, section: Section, inner: Frame) -> list[Item]:
        """The opening bracket: what is read step by step, and states; all else is seen from inside as it is."""
        states = dict(node.states)
        step = DrawStep(StepKind.ENTER, "bracket", [], [], frame.section, border=section)
        args: list[Item] = []
        sources: dict[int, Tensor] = {}
        for at, (entry, value) in enumerate(zip(node.graph.inputs, node.args, strict=True)):
            item = frame.items[value.id]
            free = at not in node.steps and at not in states
            if free and not (isinstance(item, Tensor) and not item.boolean_input):
                args.append(item)
                continue
            if not isinstance(item, Tensor) or item.boolean_input:
                number = isinstance(item, Symbolic) and not item.axes
                item = sources.setdefault(id(item) if not number else -at, self.tensor(frame, item))
                if number and at in states:  # `h = 0`
                    made = self.maker[id(item)]
                    made.text = (*name_text(entry.name), *roman(" = "), *made.text)
            axes = inner.shown(entry.value)
            if at in node.steps:
                axes = tuple(a for a in item.axes if a != section.along)
            elif free:
                axes = item.axes
            port = Tensor(axes, entry.name if at in states else item.name, item.index)
            if at in states and not set(item.axes) <= set(axes):
                port.axes = tuple(dict.fromkeys((*item.axes, *axes)))
            how = Enters.RUNNING if at in states else Enters.HELD if free else Enters.ITEM
            _comes_in(step, item, port, how, entry.name if at in states else "")
            args.append(port)
        section.enter = self.add(step)
        return args

    def leave_scan(self, frame: Frame, node: Scan, section: Section, inner: Frame, results: Sequence[Item]) -> None:
        """The closing bracket, behind which results have the axis of the scan."""
        assert section.along is not None
        leave = DrawStep(StepKind.EXIT, "bracket", [], [], frame.section, border=section)
        used: set[int] = set()
        for value, result in zip(node.outs, results, strict=True):
            tensor = self.tensor(inner, result)
            if id(tensor) in used:  # two results are one value
                twin = Tensor(tensor.axes, tensor.name, tensor.index)
                self.add(DrawStep(StepKind.COPY, "copy", [tensor], [twin], section, tip="copy"))
                tensor = twin
            used.add(id(tensor))
            leave.ins.append(tensor)
            leave.outs.append(Tensor((section.along, *tensor.axes), value.name or "", tensor.index))
            frame.items[value.id] = leave.outs[-1]
        leave.kept = frozenset(id(leave.ins[at]) for _, at in node.states)
        goes = {result: node.graph.inputs[at].name for at, result in node.states}
        leave.ports = tuple(name_text(goes.get(k, "")) for k in range(len(leave.ins)))
        section.exit = self.add(leave)

    def section(self, title: str, parent: Section | None, *, repeat: bool = False, block: str = "") -> Section:
        """block: the title of the block that is open."""
        section = Section(repeat, title, parent, self.titles.tint(block) if block else None, block=block)
        self.scene.sections.append(section)
        return section

    def enter(
        self, frame: Frame, section: Section, args: Sequence[Item], inner: Frame, carried: int | None = None
    ) -> list[Item]:
        """The border going in: every tensor that is read inside gets a port.

        If a tensor only relabels another one that enters too, that one alone enters, and is relabelled inside. What is
        carried from pass to pass has a port of its own, even if two such values begin as one tensor, or a pass reads
        the start itself, too.
        """
        ports: dict[int, Tensor] = {}  # of what is held
        step = DrawStep(
            StepKind.ENTER, "bracket" if section.repeat else "border", [], [], frame.section, border=section
        )
        out: list[Item] = []
        inside: list[tuple[int, Tensor, Tensor]] = []  # (argument, what it is a copy of, itself)
        entering = {id(item) for item in args if isinstance(item, Tensor)}
        for i, (entry, item) in enumerate(zip(inner.graph.inputs, args, strict=True)):
            swapped = item
            fresh = carried is not None and i < carried
            solid = isinstance(item, Symbolic) and any(not leaf.boolean_input for leaf in item.leaves)
            if solid and inner.reads.get(entry.value.id):
                swapped = self.tensor(frame, item)
            if isinstance(swapped, Tensor) and not (swapped.boolean_input and not fresh):
                source = self.copied_from(swapped)
                if carried is None and source is not None and id(source) in entering:
                    inside.append((i, source, swapped))
                elif fresh or id(swapped) not in ports:
                    port = Tensor(swapped.axes, swapped.name, swapped.index)
                    how = None if not section.loops else Enters.RUNNING if fresh else Enters.HELD
                    _comes_in(step, swapped, port, how, entry.name if fresh else "")
                    if not fresh:
                        ports[id(swapped)] = port
                    swapped = port
                else:
                    swapped = ports[id(swapped)]
            out.append(swapped)
        section.enter = self.add(step)
        for i, source, copy in inside:
            again = Tensor(copy.axes, copy.name, copy.index)
            self.add(DrawStep(StepKind.COPY, "copy", [ports[id(source)]], [again], section, tip=_RELABEL))
            out[i] = again
        return out

    def copied_from(self, tensor: Tensor) -> Tensor | None:
        """The tensor that this one only relabels, if there is one."""
        step = self.maker.get(id(tensor))
        return step.ins[0] if step is not None and step.kind is StepKind.COPY and len(step.outs) == 1 else None

    def leave(self, inner: Frame, frame: Frame, section: Section, results: Sequence[Item]) -> list[Item]:
        ports: dict[int, Tensor] = {}
        step = DrawStep(StepKind.EXIT, "bracket" if section.repeat else "border", [], [], frame.section, border=section)
        out: list[Item] = []
        for item in results:
            if isinstance(item, Symbolic) and section.name and not item.leaves:  # written where it is read
                out.append(item)
                continue
            swapped = self.tensor(inner, item)
            if id(swapped) not in ports:
                ports[id(swapped)] = Tensor(swapped.axes, swapped.name, swapped.index)
                step.ins.append(swapped)
                step.outs.append(ports[id(swapped)])
            out.append(ports[id(swapped)])
        section.exit = self.add(step)
        return out

    def box(self, frame: Frame, node: Call | Scan, args: Sequence[Item], outs: list[Tensor]) -> None:
        """A closed block: all wires of its operands touch it. An operand that is passed twice comes in once."""
        ins: list[Tensor] = []
        ports: list[str] = []  # the names of these
        step = DrawStep(StepKind.BOX, "block", ins, outs, frame.section, tip=f"{node.graph.name} {node.name}".strip())
        read = uses(node.graph)
        swap = dict(node.axes) if isinstance(node, Call) else {}  # the frame of a scan is that of its block
        for entry, item in zip(node.graph.inputs, args, strict=True):
            if node.graph.kind != "op" and not read.get(entry.value.id):
                continue
            if isinstance(item, Symbolic) and not item.axes and not item.leaves:
                continue
            if isinstance(item, Tensor) and item.boolean_input:
                item = leaf_of(item)
            if isinstance(item, Symbolic) and item.boolean:
                columns = item.axes[-1] if item.axes else None
                rows = item.axes[0] if len(item.axes) > 1 else None
                axes = [frame.axis(swap.get(a, a)) for a in entry.value.type.axes]
                if len(item.axes) > 1 and axes and set(item.axes) <= set(axes):
                    rows, columns = [a for a in axes if a in item.axes][:2]  # in the order of the block's own argument
                if columns is not None:
                    step.cases += in_box(item, rows, columns, self.rank)
                ins.extend(leaf for leaf in item.leaves if not leaf.boolean_input and all(leaf is not t for t in ins))
                ports += [entry.name] * (len(ins) - len(ports))
                continue
            ins.append(self.tensor(frame, item, entry.name))
            ports.append(entry.name)
        step.ins, step.ports = self.once(ins, ports)
        if len(outs) > 1:
            step.results = {id(t): name_text(o.name or "") for t, o in zip(outs, node.graph.outputs, strict=True)}
        step.on = tuple(frame.axis(axis) for axis in node.graph.lifted)
        step.text = roman(self.titles.call(node))
        step.title = self.titles.of(node.graph)
        step.sends = sends_in(node.graph)
        step.panel = self.opening.letter(node)
        step.tint = self.titles.tint(step.title)
        step.block, step.call, step.segments = (
            node.graph.name,
            node,
            segments(frame.graph, node) if isinstance(node, Call) else frozenset(),
        )
        if node.name and owns(node.graph):  # the frame of a scan is that of its block
            self.owns(step, frame.prefix + node.name if isinstance(node, Call) else frame.prefix.removesuffix("."))
        if node.graph.kind == "op":
            step.mark, step.block = "plain", ""
        if not step.ins:
            step.kind, step.late = StepKind.SOURCE, True
        elif pointwise(node.graph) and [set(t.axes) for t in step.ins] == [set(t.axes) for t in outs]:
            step.kind, step.mark = StepKind.LANE, "arrow"  # it touches no wire
        self.add(step)

    def once(self, ins: Sequence[Tensor], names: Sequence[str]) -> tuple[list[Tensor], tuple[Rich, ...]]:
        """The operands without repetition: several that only relabel the axes of one tensor become that tensor. And
        what they are called, one with several names by all of these."""
        roots: list[tuple[Tensor, Tensor]] = []
        called: list[list[str]] = []
        for tensor, name in zip(ins, names, strict=True):
            root = tensor
            while (source := self.copied_from(root)) is not None:
                root = source
            at = next((i for i, (r, _) in enumerate(roots) if r is root), None)
            if at is None:
                roots.append((root, tensor))
                called.append([name])
            else:
                called[at].append(name)
                roots[at] = (root, root if tensor is root else roots[at][1])
        return [tensor for _, tensor in roots], tuple(map(listed, called))


def _comes_in(step: DrawStep, item: Tensor, port: Tensor, how: Enters | None, name: str) -> None:
    """At an opening bracket or border. name: of what goes round."""
    step.ins.append(item)
    step.outs.append(port)
    if how is not None:
        step.enters = (*step.enters, how)
        step.ports = (*step.ports, name_text(name))


def _counted(frame: Frame, node: Repeat) -> tuple[str, ...]:
    """What counts the passes of the repeats around the body of this one (`Frame.loops`). Without a name, i, j, ..."""
    if evaluate(node.count) == 1:
        return frame.loops
    letter = next(letter for letter in _COUNTERS[len(frame.loops) :] if letter not in frame.loops)
    name = spaced(node.index.name) if node.index is not None else letter
    return (*frame.loops, "" if node.shared else name)


def result_name(graph: Graph, output: Output) -> str:
    """What a result is called: as declared, else as the value that is returned; but not as an input that it was made of
    by binding the name again."""
    own = output.value.name or ""
    return output.name or ("" if own in {entry.name for entry in graph.inputs} else own)


_RELABEL = "the same values along a copy of the axis"


def _elements(type: Type) -> tuple[bool, bool]:
    """Whether the elements are indices, and whether they are truth values."""
    return isinstance(type.element, IndexInto), type.element is Scalar.BOOL
