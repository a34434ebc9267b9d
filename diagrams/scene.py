"""graph -> scene: a flat list of steps over tensors, as they will be drawn.

Blocks drawn open are laid out in the caller's axes; what is known without data (scales, positions, masks of indices)
and parameters is folded into the glyph that uses it; a value read n times is copied. Nothing here knows of places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..compiler.axes import Axis
from ..compiler.graph import (
    Apply,
    Call,
    Constant,
    Graph,
    IndexInto,
    Parameter,
    Positions,
    Repeat,
    Role,
    Scalar,
    Value,
)
from ..compiler.static import Static, evaluate
from .formula import Formula, Pattern, applied, number, of_static, pattern, renamed, written
from .opening import How, Opening, uses
from .table import Glyph, Shape, glyph_of, name_of
from .text import Rich, bold, italic, joined, plain, roman


@dataclass(eq=False, slots=True)
class Tensor:
    """A value as drawn: its axes are its wires. `index`: its elements are indices, so that an arrow says so."""

    axes: tuple[Axis, ...]
    name: str = ""
    index: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A parameter, until something uses it."""

    name: str
    axes: tuple[Axis, ...]


Item = Tensor | Formula | Learned

_TINTS = 6  # colours of regions


class Kind(Enum):
    """How a step meets its wires."""

    SOURCE = "an input, a parameter, a table: wires are born"
    THROUGH = "eats some wires of one tensor, makes some"
    ON = "sits on some wires of one tensor"
    LANE = "beside one tensor"
    JOIN = "several tensors become one"
    BOX = "all wires end, all new wires begin"
    COPY = "one tensor becomes several"
    ENTER = "the border of a region or repeat, going in"
    EXIT = "the border of a region or repeat, going out"
    SINK = "the outputs"


@dataclass(eq=False, slots=True)
class Section:
    """A tinted region or the inside of repeat brackets."""

    repeat: bool
    title: str
    parent: Section | None
    tint: int = 0
    outside: int = 0  # a repeat's values from outside, the same in every pass
    enter: Step | None = None
    exit: Step | None = None

    def inside(self, other: Section | None) -> bool:
        """Whether it is `other` or lies in it."""
        at: Section | None = self
        while at is not None:
            if at is other:
                return True
            at = at.parent
        return False


@dataclass(eq=False, slots=True)
class Step:
    """One glyph. `eaten`, `made` and `on` are axes of the first operand, or of the result; `joined` are the axes that
    a JOIN contracts (loop) or concatenates (bar); shared ones meet in dots without being named."""

    kind: Kind
    mark: str
    ins: list[Tensor]
    outs: list[Tensor]
    section: Section | None
    eaten: tuple[Axis, ...] = ()
    made: tuple[Axis, ...] = ()
    on: tuple[Axis, ...] = ()
    contracted: tuple[Axis, ...] = ()
    text: Rich = ()
    raised: Rich = ()  # a weight's label, as superscript
    note: Rich = ()  # a scale on the arrow of a contraction, masks of a box
    bias: bool = False
    learned: bool = False
    pattern: Pattern | None = None
    border: Section | None = None  # of an ENTER or EXIT
    tint: int = 0
    tip: str = ""
    late: bool = False  # a SOURCE that is born just before it is used
    first: int = 0  # rank of a SINK's or SOURCE's tensor in declared order


@dataclass(slots=True)
class Scene:
    title: str
    steps: list[Step] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)


Axes = Mapping[Axis, Axis]


def scene_of(graph: Graph, opening: Opening, title: str | None = None) -> Scene:
    """What is drawn of a graph, with its blocks open or closed as `opening` says."""
    scene = Scene(graph.name.replace("_", " ") if title is None else title)
    _Flattener(scene, opening).top(graph)
    _prune(scene)
    _copies(scene)
    return scene


@dataclass(slots=True)
class _Frame:
    """The graph being laid out: what its values are, what its axes and consts stand for."""

    graph: Graph
    axes: Axes
    consts: dict[int, Formula]
    section: Section | None
    level: int
    items: dict[int, Item]
    reads: dict[int, int]

    def axis(self, axis: Axis) -> Axis:
        return self.axes.get(axis, axis)

    def shown(self, value: Value) -> tuple[Axis, ...]:
        """The axes that the value varies along, in the figure's terms."""
        return tuple(dict.fromkeys(self.axis(a) for a in value.type.axes if a not in value.type.thin))


class _Flattener:
    def __init__(self, scene: Scene, opening: Opening) -> None:
        self.scene = scene
        self.opening = opening
        self.maker: dict[int, Step] = {}  # of a tensor
        self.tints: dict[str, int] = {}

    # -- graphs

    def top(self, graph: Graph) -> None:
        items: dict[int, Item] = {}
        frame = _Frame(graph, {}, {}, None, 0, items, uses(graph))
        for rank, given in enumerate(graph.inputs):
            tensor = Tensor(frame.shown(given.value), given.name, isinstance(given.value.type.element, IndexInto))
            items[given.value.id] = tensor
            tip = f"input {given.name}"
            self.add(
                Step(Kind.SOURCE, "input", [], [tensor], None, text=italic(_spaced(given.name)), tip=tip, first=rank)
            )
        self.body(frame)
        results = []
        for output in graph.outputs:
            tensor = self.tensor(frame, items[output.value.id], output.name or "")
            axes = tuple(dict.fromkeys(frame.axis(a) for a in output.axes if frame.axis(a) in tensor.axes))
            results.append((tensor, axes, output.name))
        ends = [Tensor((*axes, *(a for a in t.axes if a not in axes)), name or "") for t, axes, name in results]
        named = [name for _, _, name in results if name]
        self.add(Step(Kind.SINK, "output", [t for t, _, _ in results], ends, None, text=roman("\n".join(named))))

    def body(self, frame: _Frame) -> None:
        for node in frame.graph.nodes:
            match node:
                case Constant(value, out):
                    frame.items[out.id] = self.static(frame, value)
                case Positions(axis, out):
                    at = frame.axis(axis)
                    frame.items[out.id] = Formula("position", axis=at, axes=(at,))
                case Parameter(weight, out):
                    frame.items[out.id] = Learned(_tail(weight.name), frame.shown(out))
                case Apply():
                    frame.items[node.out.id] = self.apply(frame, node)
                case Call():
                    self.call(frame, node)
                case Repeat():
                    self.repeat(frame, node)

    def static(self, frame: _Frame, value: Static) -> Formula:
        return of_static(value, frame.axis, frame.consts)

    def add(self, step: Step) -> Step:
        self.scene.steps.append(step)
        for tensor in step.outs:
            self.maker[id(tensor)] = step
        return step

    def tensor(self, frame: _Frame, item: Item, name: str = "") -> Tensor:
        """The item as wires: a table or a parameter is born where it is first needed so."""
        match item:
            case Tensor():
                return item
            case Learned(weight, axes):
                tensor = Tensor(axes, weight)
                self.add(
                    Step(Kind.SOURCE, "learned", [], [tensor], frame.section, made=axes, text=bold(_spaced(weight)),
                         learned=True, late=True, tip=f"learned {weight}")
                )  # fmt: skip
                return tensor
            case Formula():
                if item.leaves:
                    return self.computed(frame, item)
                short = written(item, 40)
                label = italic(_spaced(item.text or name)) if item.text or name else short
                tensor = Tensor(item.axes, item.text or name)
                tip = f"table {item.text or name}".strip()
                step = Step(Kind.SOURCE, "table", [], [tensor], frame.section, text=label, late=True, tip=tip)
                if item.boolean and 1 <= len(item.axes) <= 2:
                    rows = item.axes[0] if len(item.axes) > 1 else None
                    step.pattern = pattern(item, rows, item.axes[-1])
                if step.pattern is not None:
                    step.mark, step.on, step.text = "predicate", item.axes, short if plain(short) != "…" else label
                self.add(step)
                return tensor

    def computed(self, frame: _Frame, item: Formula) -> Tensor:
        """A formula over data that was put off, drawn after all."""
        if item.data is not None:
            return item.data
        operands: list[Item] = [a.data if a.data is not None else a for a in item.args]
        if item.op == "rename":
            return self.relabelled(frame, self.tensor(frame, operands[0]), item.axes)
        return self.pointwise(frame, item.op, operands, item.axes, item.text)

    # -- ops

    def apply(self, frame: _Frame, node: Apply) -> Item:
        items = [frame.items[v.id] for v in node.operands]
        glyph = glyph_of(node.op)
        axes = frame.shown(node.out)
        eaten = tuple(frame.axis(a) for a in node.axes)
        made = tuple(frame.axis(a) for a in node.made)
        boolean = node.out.type.element is Scalar.BOOL
        given = node.out.name or ""
        if glyph.shape is Shape.SILENT and items:
            return items[0]
        if all(isinstance(item, Formula) for item in items) and node.mask is None and node.out.role is not Role.WEIGHT:
            args = tuple(item for item in items if isinstance(item, Formula))
            lazy = boolean and any(arg.leaves for arg in args)
            if lazy or not any(arg.leaves for arg in args):
                if glyph.shape is Shape.RENAME:
                    return renamed(args[0], dict(zip(eaten, made, strict=False)))
                return Formula(node.op, args, text=given, axes=axes, boolean=boolean)
        if boolean and node.op in ("and", "or", "not", "rename") and not any(isinstance(i, Learned) for i in items):
            args = tuple(i if isinstance(i, Formula) else _leaf(i) for i in items if not isinstance(i, Learned))
            return Formula(node.op, args, text=given, axes=axes, boolean=True)
        if node.mask is not None and isinstance(items[0], Formula) and not items[0].axes and not items[0].leaves:
            items[0] = self.tensor(frame, frame.items[node.mask.id])  # `sum(1 where m)` counts m
        elif node.mask is not None:
            items[0] = self.masked(frame, self.tensor(frame, items[0]), frame.items[node.mask.id], eaten)
        tip = f"{node.op}[{', '.join(a.name for a in node.axes)}]" if node.axes else node.op
        if node.name:
            tip += f" {node.name}"
        match glyph.shape:
            case Shape.RENAME:
                if isinstance(items[0], Learned):
                    swap = dict(zip(eaten, made, strict=False))
                    return Learned(items[0].name, tuple(swap.get(a, a) for a in items[0].axes))
                return self.relabelled(frame, self.tensor(frame, items[0]), axes)
            case Shape.LOOKUP:
                return self.lookup(frame, node, items, eaten, made, axes, tip)
            case Shape.CONTRACT:
                return self.contract(frame, items, eaten, axes, given, tip)
            case Shape.CONCAT:
                tensors = [self.tensor(frame, item) for item in items]
                out = Tensor(axes, given)
                self.add(Step(Kind.JOIN, "bar", tensors, [out], frame.section, made=made, contracted=eaten, tip=tip))
                return out
            case Shape.LANE | Shape.JOIN:
                if node.axes:
                    return self.unary(frame, node, Glyph(Shape.THROUGH, "pill"), items, eaten, made, axes, tip)
                scaled = self.rides(frame, node, items)
                return scaled or self.pointwise(frame, node.op, items, axes, given)
            case Shape.BOX:
                tensors = [self.tensor(frame, item) for item in items]
                out = Tensor(axes, given)
                self.add(Step(Kind.BOX, "plain", tensors, [out], frame.section, text=roman(name_of(node.op)), tip=tip))
                return out
            case _:
                return self.unary(frame, node, glyph, items, eaten, made, axes, tip)

    def unary(
        self, frame: _Frame, node: Apply, glyph: Glyph, items: Sequence[Item],
        eaten: tuple[Axis, ...], made: tuple[Axis, ...], axes: tuple[Axis, ...], tip: str,
    ) -> Tensor:  # fmt: skip
        """One tensor in, one out; further operands make it a box."""
        tensors = [self.tensor(frame, item) for item in items if not (isinstance(item, Formula) and not item.axes)]
        out = Tensor(axes, node.out.name or "", isinstance(node.out.type.element, IndexInto))
        text = roman(name_of(node.op))
        if len(tensors) != 1:
            kind = Kind.BOX if tensors else Kind.SOURCE
            mark = "plain" if tensors else "table"
            self.add(Step(kind, mark, tensors, [out], frame.section, text=text, late=True, tip=tip))
            return out
        x = tensors[0]
        step = Step(Kind.THROUGH, glyph.mark, [x], [out], frame.section, text=text, tip=tip, learned=bool(node.weights))
        if glyph.shape is Shape.ON:
            step.kind, step.on = Kind.ON, tuple(a for a in eaten if a in x.axes)
        else:
            step.eaten = tuple(a for a in x.axes if a in eaten or a not in axes)
            step.made = tuple(a for a in axes if a in made or a not in x.axes)
        if glyph.mark == "learned":
            step.text, step.raised = bold(glyph.text), italic(_spaced(_tail(node.name or "")))
            step.bias = any(w.name.endswith("bias") for w in node.weights)
        if not step.on and not step.eaten and not step.made:
            step.kind, step.mark = Kind.LANE, "arrow"
        self.add(step)
        return out

    def relabelled(self, frame: _Frame, x: Tensor, axes: tuple[Axis, ...]) -> Tensor:
        """The same wires under other labels: a copy of one."""
        out = Tensor(_in_order(axes, x.axes), x.name, x.index)
        self.add(Step(Kind.COPY, "copy", [x], [out], frame.section, tip="the same values along a copy of the axis"))
        return out

    def lookup(
        self, frame: _Frame, node: Apply, items: Sequence[Item],
        eaten: tuple[Axis, ...], made: tuple[Axis, ...], axes: tuple[Axis, ...], tip: str,
    ) -> Item:  # fmt: skip
        out = Tensor(axes, node.out.name or "", isinstance(node.out.type.element, IndexInto))
        if node.op == "embed":
            x = self.tensor(frame, items[0])
            label = _tail(node.name or "E")
            born = tuple(a for a in axes if a not in x.axes)
            text = bold("E") if label != "E" else bold(label)
            raised = italic(_spaced(label)) if label != "E" else ()
            self.add(
                Step(
                    Kind.THROUGH,
                    "embed",
                    [x],
                    [out],
                    frame.section,
                    made=born,
                    text=text,
                    raised=raised,
                    learned=True,
                    tip=tip,
                )
            )
            return out
        table, index = items[0], items[1] if len(items) > 1 else number(0)
        if isinstance(table, Formula) and isinstance(index, Formula) and not table.leaves and not index.leaves:
            return Formula("?", text=node.out.name or "", axes=axes, boolean=node.out.type.element is Scalar.BOOL)
        rest = set(table.axes) - set(eaten) if not isinstance(table, Tensor) else set()
        if isinstance(table, Learned) and isinstance(index, Tensor) and not rest & set(index.axes):
            born = tuple(a for a in axes if a not in index.axes)
            text = bold(_spaced(table.name))
            self.add(
                Step(Kind.THROUGH, "embed", [index], [out], frame.section, made=born, text=text, learned=True, tip=tip)
            )
            return out
        if isinstance(table, Learned) and isinstance(index, Formula) and not index.leaves:
            text = bold(_spaced(table.name))
            self.add(
                Step(
                    Kind.SOURCE,
                    "learned",
                    [],
                    [out],
                    frame.section,
                    made=axes,
                    text=text,
                    learned=True,
                    late=True,
                    tip=tip,
                )
            )
            return out
        x = self.tensor(frame, table)
        if isinstance(index, Formula) and not index.leaves:
            at = joined((*roman("= "), *written(index)))
            gone = tuple(a for a in x.axes if a in eaten)
            born = tuple(a for a in axes if a not in x.axes or a in gone)
            kind = Kind.ON if gone == born else Kind.THROUGH
            on = gone if kind is Kind.ON else ()
            self.add(Step(kind, "pill", [x], [out], frame.section, eaten=gone, made=born, on=on, text=at, tip=tip))
            return out
        by = self.tensor(frame, index)
        self.add(Step(Kind.BOX, "plain", [x, by], [out], frame.section, text=roman("look up"), tip=tip))
        return out

    def contract(
        self, frame: _Frame, items: Sequence[Item], over: tuple[Axis, ...], axes: tuple[Axis, ...], name: str, tip: str
    ) -> Tensor:
        """A product, two tensors at a time; with a parameter whose other axes are new, a learned map."""
        rest = list(items)
        left = rest.pop(0)
        if isinstance(left, Learned) and rest and isinstance(rest[0], Tensor):
            left, rest[0] = rest[0], left
        x = self.tensor(frame, left)
        if not rest:
            out = Tensor(axes, name)
            eaten = tuple(a for a in x.axes if a in over)
            self.add(Step(Kind.THROUGH, "pill", [x], [out], frame.section, eaten=eaten, text=roman("sum"), tip=tip))
            return out
        while rest:
            other = rest.pop(0)
            later: set[Axis] = set()
            for item in rest:
                later |= set(item.axes)
            eaten = tuple(a for a in over if a in x.axes and a in other.axes and a not in later)
            kept = [a for a in (*x.axes, *other.axes) if a not in eaten]
            out = Tensor(tuple(dict.fromkeys(kept)), "" if rest else name)
            if isinstance(other, Learned) and not (set(other.axes) - set(eaten)) & set(x.axes):
                born = tuple(a for a in other.axes if a not in eaten)
                step = Step(Kind.THROUGH, "learned", [x], [out], frame.section, eaten=eaten, made=born, learned=True)
                step.text = bold(_spaced(other.name))
            else:
                y = self.tensor(frame, other)
                step = Step(Kind.JOIN, "loop", [x, y], [out], frame.section, contracted=eaten)
            step.tip = tip
            self.add(step)
            x = out
        return x

    def rides(self, frame: _Frame, node: Apply, items: Sequence[Item]) -> Tensor | None:
        """A scale right after a contraction rides on its arrow."""
        if node.op not in ("*", "/") or len(items) != 2:
            return None
        for at, (x, c) in enumerate(((items[0], items[1]), (items[1], items[0]))):
            if not isinstance(x, Tensor) or not isinstance(c, Formula) or c.axes or c.leaves or (at and node.op == "/"):
                continue
            step = self.maker.get(id(x))
            if step is None or step.mark != "loop" or step.note or step.section is not frame.section:
                continue
            if not step.contracted or frame.reads.get(node.operands[at].id) != 1:
                continue
            step.note = applied(node.op, c)
            x.name = node.out.name or x.name
            return x
        return None

    def pointwise(self, frame: _Frame, op: str, items: Sequence[Item], axes: tuple[Axis, ...], name: str) -> Tensor:
        """Element by element: beside the wires for one tensor, dots where several meet."""
        solid: list[Tensor] = []
        scalars: list[tuple[int, Formula]] = []
        for i, item in enumerate(items):
            if isinstance(item, Formula) and not item.axes and not item.leaves:
                scalars.append((i, item))
            else:
                solid.append(self.tensor(frame, item))
        glyph = glyph_of(op)
        out = Tensor(axes, name)
        text = roman(name_of(op))
        if len(solid) == 1:
            if len(scalars) == 1 and ((len(items) == 2 and glyph.shape is Shape.JOIN) or op in ("^", "%")):
                text = applied(op, scalars[0][1], flipped=scalars[0][0] == 0)
            elif scalars:
                inner = ", ".join("".join(r.text for r in written(s)) for _, s in scalars)
                text = roman(f"{name_of(op)}({inner})")
            if set(axes) == set(solid[0].axes):
                self.add(Step(Kind.LANE, "arrow", solid, [out], frame.section, text=joined(text), tip=op))
                return out
        if not solid:
            self.add(Step(Kind.SOURCE, "table", [], [out], frame.section, text=text, late=True, tip=op))
            return out
        mark = glyph.mark if glyph.shape is Shape.JOIN else "sign"
        self.add(Step(Kind.JOIN, mark, solid, [out], frame.section, text=text, tip=op))
        return out

    def masked(self, frame: _Frame, x: Tensor, mask: Item, over: tuple[Axis, ...]) -> Tensor:
        """`x where mask`: a square over the wires of the mask's axes; what data decides comes in as wires."""
        if isinstance(mask, Formula) and mask.truth is True:
            return x
        if isinstance(mask, Formula):
            where = tuple(a for a in mask.axes if a in x.axes)
            leaves = mask.leaves
            fits = set(mask.axes) <= set(x.axes)
        else:
            mask = self.tensor(frame, mask)
            where, leaves, fits = tuple(a for a in mask.axes if a in x.axes), (mask,), True
        seen: Pattern | None = None
        if isinstance(mask, Formula) and where:
            columns = next((a for a in reversed(where) if a in over), where[-1])
            rows = next((a for a in where if a is not columns), None)
            where = tuple(a for a in (rows, columns) if a is not None)
            seen = pattern(mask, rows, columns)
            if seen is not None and all(all(row) for row in seen):
                seen = None
        if not where or not fits:
            other = self.tensor(frame, mask)
            out = Tensor(tuple(dict.fromkeys((*x.axes, *other.axes))), x.name)
            self.add(Step(Kind.JOIN, "sign", [x, other], [out], frame.section, text=roman("where"), tip="where"))
            return out
        tip = "mask over " + ", ".join(a.name for a in where)
        drawn = [self.along(frame, leaf, where, x.axes) for leaf in leaves]
        if any(not set(leaf.axes) <= set(x.axes) for leaf in drawn):
            other = self.tensor(frame, mask)
            drawn, seen = [other], None
        axes = tuple(dict.fromkeys((*x.axes, *(a for leaf in drawn for a in leaf.axes))))
        out = Tensor(axes, x.name)
        if drawn:
            self.add(Step(Kind.JOIN, "mask", [x, *drawn], [out], frame.section, on=where, pattern=seen, tip=tip))
        else:
            self.add(Step(Kind.ON, "mask", [x], [out], frame.section, on=where, pattern=seen, tip=tip))
        return out

    def along(self, frame: _Frame, leaf: Tensor, where: Iterable[Axis], axes: tuple[Axis, ...]) -> Tensor:
        """A mask's data along the axes of what it masks: a copy of an axis stands for the axis."""
        swap = {}
        for a in leaf.axes:
            if a not in axes:
                like = next((b for b in where if b.family == a.family and b not in leaf.axes), None)
                if like is not None:
                    swap[a] = like
        return self.relabelled(frame, leaf, tuple(swap.get(a, a) for a in leaf.axes)) if swap else leaf

    # -- blocks and repeats

    def call(self, frame: _Frame, node: Call) -> None:
        how = self.opening.how(node, frame.level)
        axes = {inner: frame.axis(outer) for inner, outer in node.axes}
        for axis in node.graph.lifted:
            axes.setdefault(axis, frame.axis(axis))
        if how is How.CLOSED:
            self.box(frame, node)
            return
        consts = {const.id: self.static(frame, given) for const, given in node.consts}
        inner = _Frame(node.graph, axes, consts, frame.section, frame.level + 1, {}, uses(node.graph))
        args = [frame.items[v.id] for v in node.args]
        title = block_title(node)
        section = None
        if how is How.REGION:
            section = self.section(False, title, frame.section)
            args = self.enter(frame, section, args, inner)
            inner.section = section
        for given, item in zip(node.graph.inputs, args, strict=True):
            inner.items[given.value.id] = item
        self.body(inner)
        results = [inner.items[output.value.id] for output in node.graph.outputs]
        if section is not None:
            results = self.leave(inner, frame, section, results)
        for value, result in zip(node.outs, results, strict=True):
            frame.items[value.id] = result

    def repeat(self, frame: _Frame, node: Repeat) -> None:
        body = node.bodies[0]
        count = evaluate(node.count)
        shown = (
            str(int(count)) if count is not None else "".join(r.text for r in written(self.static(frame, node.count)))
        )
        if node.shared:
            shown += ", shared weights"
        if len(node.bodies) > 1:  # a static `if` on the index: the first body is drawn, and says that it is not all
            shown += ", passes differ"
        section = self.section(True, shown, frame.section)
        consts = dict(frame.consts)
        if node.index is not None:
            consts[node.index.id] = Formula("symbol", text=node.index.name)
        inner = _Frame(body, frame.axes, consts, section, frame.level, {}, uses(body))
        args = [frame.items[v.id] for v in node.args]
        for i in range(node.carried):  # what goes round must be wires
            args[i] = self.tensor(frame, args[i], node.args[i].name or "")
        args = self.enter(frame, section, args, inner, node.carried)
        for given, item in zip(body.inputs, args, strict=True):
            inner.items[given.value.id] = item
        self.body(inner)
        results = [inner.items[output.value.id] for output in body.outputs]
        for value, result in zip(node.outs, self.leave(inner, frame, section, results), strict=True):
            frame.items[value.id] = result

    def section(self, repeat: bool, title: str, parent: Section | None) -> Section:
        tint = 0
        if not repeat:
            first = self.tints.setdefault(title, len(self.tints))
            around = parent
            taken = set()
            while around is not None:
                if not around.repeat:
                    taken.add(around.tint)
                around = around.parent
            tint = next((t % _TINTS for t in range(first, first + _TINTS) if t % _TINTS not in taken), first % _TINTS)
        section = Section(repeat, title, parent, tint)
        self.scene.sections.append(section)
        return section

    def enter(
        self, frame: _Frame, section: Section, args: Sequence[Item], inner: _Frame, carried: int | None = None
    ) -> list[Item]:
        """The border going in: every tensor that is read inside gets a port."""
        ports: dict[int, Tensor] = {}
        step = Step(Kind.ENTER, "bracket" if section.repeat else "border", [], [], frame.section, border=section)
        out: list[Item] = []
        for i, (given, item) in enumerate(zip(inner.graph.inputs, args, strict=True)):
            swapped = item
            if isinstance(item, Formula) and item.leaves and inner.reads.get(given.value.id):
                swapped = self.tensor(frame, item)
            if isinstance(swapped, Tensor):
                fresh = carried is not None and i < carried  # goes round by itself even if two begin as one
                if id(swapped) not in ports or fresh:
                    port = Tensor(swapped.axes, swapped.name, swapped.index)
                    step.ins.append(swapped)
                    step.outs.append(port)
                    ports[id(swapped)] = port
                    swapped = port
                else:
                    swapped = ports[id(swapped)]
            out.append(swapped)
        section.outside = max(0, len(step.ins) - carried) if carried is not None else 0
        section.enter = self.add(step)
        return out

    def leave(self, inner: _Frame, frame: _Frame, section: Section, results: Sequence[Item]) -> list[Item]:
        ports: dict[int, Tensor] = {}
        step = Step(Kind.EXIT, "bracket" if section.repeat else "border", [], [], frame.section, border=section)
        out: list[Item] = []
        for item in results:
            swapped = self.tensor(inner, item)
            if id(swapped) not in ports:
                ports[id(swapped)] = Tensor(swapped.axes, swapped.name, swapped.index)
                step.ins.append(swapped)
                step.outs.append(ports[id(swapped)])
            out.append(ports[id(swapped)])
        section.exit = self.add(step)
        return out

    def box(self, frame: _Frame, node: Call) -> None:
        """A block kept closed: touched by all wires of what it receives."""
        ins: list[Tensor] = []
        seen: Pattern | None = None
        constants = uses(node.graph)
        for given, value in zip(node.graph.inputs, node.args, strict=True):
            item = frame.items[value.id]
            if not constants.get(given.value.id):
                continue
            if isinstance(item, Formula) and not item.axes and not item.leaves:
                continue
            if isinstance(item, Formula) and item.boolean:
                columns = item.axes[-1]
                rows = item.axes[0] if len(item.axes) > 1 else None
                axes = [frame.axis(dict(node.axes).get(a, a)) for a in given.value.type.axes]
                if len(item.axes) > 1 and axes and set(item.axes) <= set(axes):
                    rows, columns = (a for a in axes if a in item.axes)  # as the formal has them
                found = pattern(item, rows, columns) if len(item.axes) <= 2 else None
                seen = found if found is not None and not all(map(all, found)) else seen
                ins.extend(leaf for leaf in item.leaves if all(leaf is not t for t in ins))
                continue
            ins.append(self.tensor(frame, item, given.name))
        title = block_title(node)
        outs = [Tensor(frame.shown(v), v.name or "") for v in node.outs]
        for value, tensor in zip(node.outs, outs, strict=True):
            frame.items[value.id] = tensor
        tint = self.tints.setdefault(node.graph.name, len(self.tints))
        tip = f"{node.graph.name} {node.name}".strip()
        kind = Kind.BOX if ins else Kind.SOURCE
        self.add(
            Step(
                kind, "block", ins, outs, frame.section, text=roman(title), pattern=seen, tint=tint, tip=tip, late=True
            )
        )


def block_title(node: Call) -> str:
    """`multihead.self` is called "self multihead"; a label that is the block's own name is not said twice."""
    block = _spaced(node.graph.name)
    label = _spaced(_tail(node.name))
    return block if not label or label == block else f"{label} {block}"


def _tail(name: str) -> str:
    """`norm.weight` -> `norm`; a path's last part."""
    parts = [part for part in name.split(".") if part not in ("weight", "bias")]
    return parts[-1] if parts else name


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _leaf(tensor: Tensor) -> Formula:
    return Formula("data", data=tensor, axes=tensor.axes, text=tensor.name)


def _in_order(axes: tuple[Axis, ...], like: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """`axes` so that each stands where the axis of `like` that it relabels stood."""
    fresh = iter([a for a in axes if a not in like])
    return tuple(a if a in axes else next(fresh) for a in like)


# -- what is read, and how often -----------------------------------------------------------------------------------


def _prune(scene: Scene) -> None:
    """Drop what nothing reads: no wire ends in nothing."""
    read: set[int] = set()
    kept: list[Step] = []
    for step in reversed(scene.steps):
        if step.kind is Kind.SINK:
            live = True
        elif step.kind in (Kind.ENTER, Kind.EXIT):
            pairs = [(a, b) for a, b in zip(step.ins, step.outs, strict=True) if id(b) in read]
            section = step.border
            if section is not None and section.outside and step.kind is Kind.ENTER:
                section.outside = max(0, section.outside - (len(step.ins) - len(pairs)))
            step.ins, step.outs = [a for a, _ in pairs], [b for _, b in pairs]
            live = bool(pairs)
        else:
            step.outs = [t for t in step.outs if id(t) in read]
            live = bool(step.outs)
        if live:
            read.update(id(t) for t in step.ins)
            kept.append(step)
    scene.steps = kept[::-1]
    alive = {id(step) for step in scene.steps}
    for section in scene.sections:
        if section.enter is not None and id(section.enter) not in alive:
            section.enter = None
        if section.exit is not None and id(section.exit) not in alive:
            section.exit = None
    scene.sections = [s for s in scene.sections if s.enter is not None or s.exit is not None]


def _copies(scene: Scene) -> None:
    """One tensor, one reader: a value read n times is copied. A relabelling that reads a copy becomes one."""
    readers: dict[int, list[tuple[Step, int]]] = {}
    for step in scene.steps:
        for at, tensor in enumerate(step.ins):
            readers.setdefault(id(tensor), []).append((step, at))
    depth = _depths(scene.steps, readers)
    gone: set[int] = set()
    extra: dict[int, list[Step]] = {}

    def split(tensor: Tensor, among: list[tuple[Step, int]], section: Section | None) -> Step | None:
        """A copy step for the first readers; the rest get one strand, copied again later."""
        if len(among) < 2:
            return None
        nearest = min(depth[id(s)] for s, _ in among)
        now = [r for r in among if depth[id(r[0])] <= nearest + 1]
        rest = among[len(now) :] if now == among[: len(now)] else [r for r in among if r not in now]
        copy = Step(Kind.COPY, "copy", [tensor], [], section, tip="copy")
        if len(rest) == 1:
            now, rest = among, []
        for step, at in now:
            if step.kind is Kind.COPY and step.mark == "copy" and len(step.outs) == 1 and step.section is section:
                copy.outs.append(step.outs[0])
                gone.add(id(step))
            else:
                strand = Tensor(tensor.axes, tensor.name, tensor.index)
                step.ins[at] = strand
                copy.outs.append(strand)
        if rest:
            strand = Tensor(tensor.axes, tensor.name, tensor.index)
            copy.outs.append(strand)
            for step, at in rest:
                step.ins[at] = strand
            again = split(strand, rest, section)
            if again is not None:
                extra.setdefault(id(copy), []).append(again)
        return copy

    out: list[Step] = []
    for step in scene.steps:
        if id(step) in gone:
            continue
        out.append(step)
        inside = step.border if step.kind is Kind.ENTER else step.section
        for tensor in step.outs:
            among = [r for r in readers.get(id(tensor), ()) if id(r[0]) not in gone]
            copy = split(tensor, among, inside)
            while copy is not None:
                out.append(copy)
                later = extra.get(id(copy))
                copy = later[0] if later else None
    scene.steps = [s for s in out if id(s) not in gone]
    # A relabelled strand may itself be read several times.
    _copies_again(scene)


def _copies_again(scene: Scene) -> None:
    readers: dict[int, int] = {}
    for step in scene.steps:
        for tensor in step.ins:
            readers[id(tensor)] = readers.get(id(tensor), 0) + 1
    if any(count > 1 for count in readers.values()):
        _copies(scene)


def _depths(steps: Sequence[Step], readers: Mapping[int, list[tuple[Step, int]]]) -> dict[int, int]:
    """How many steps lie before each."""
    depth: dict[int, int] = {}
    ready: dict[int, int] = {}
    entered: dict[int, int] = {}
    for step in steps:
        at = max((ready.get(id(t), 0) for t in step.ins), default=0)
        if step.section is not None:
            at = max(at, entered.get(id(step.section), 0))
        depth[id(step)] = at
        if step.border is not None and step.kind is Kind.ENTER:
            entered[id(step.border)] = at + 1
        for tensor in step.outs:
            ready[id(tensor)] = at + 1
    return depth
