"""What a reader sees of a figure: glyphs and their lettering, what meets where, regions, brackets, ports.

Read off the sheet as it is drawn: shapes, texts and dots as they are written, wires as they begin and end. Of a step
of the scene it takes only which marks are one glyph, and which wires are one tensor, as nearness and dashed lines show
it. No coordinates, no ids, no tooltips, no order of what has no order.

Marks of which it matters at which wire they stand are written with `cls="role"` (a `−` at what is subtracted) or, in a
box, `cls="port"`: each belongs to the wires that it is nearest to. Along a heavy bar (split, merge, concat) the order
from top to bottom counts.

Two figures have one signature if they are the same but for the layout (and the names, see `seen`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import hypot
from typing import Any, cast
from unittest.mock import patch

from attnc.compiler.graph.nodes import Graph
from attnc.diagrams import draw
from attnc.diagrams.base.curves import sampled
from attnc.diagrams.base.picture import Box, Point
from attnc.diagrams.base.text import MACRON, Rich, plain
from attnc.diagrams.draw import making
from attnc.diagrams.draw.sheet import Sheet
from attnc.diagrams.layout.wires import Wire
from attnc.diagrams.scene.steps import DrawStep, Section, StepKind
from attnc.diagrams.scene.tensors import Tensor

Owner = DrawStep | Section | None
Signature = tuple[tuple[tuple[int, int], ...], int]


class _Noted(list[Any]):
    """Texts that are placed last, each with the glyph that it was noted for."""

    def __init__(self, sheet: Seen) -> None:
        super().__init__()
        self.sheet, self.owners = sheet, list[Owner]()

    def append(self, item: Any) -> None:
        self.owners.append(self.sheet.owner)
        super().append(item)

    def __iter__(self) -> Iterator[Any]:
        for owner, item in zip(self.owners, super().__iter__(), strict=True):
            self.sheet.owner = owner
            yield item
        self.sheet.owner = None


class _Borders(list[Any]):
    """Sections, while they are drawn."""

    def __init__(self, sheet: Seen) -> None:
        super().__init__()
        self.sheet = sheet

    def __iter__(self) -> Iterator[Any]:
        for border in super().__iter__():
            if not self.sheet.drawing:
                self.sheet.owner = border.section
            yield border


class Seen(Sheet):
    """A sheet that keeps whose each mark is."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.owner: Owner = None
        self.drawing = self.writing = False
        self.marks: list[tuple[Owner, str]] = []  # shapes
        self.entering: list[tuple[Owner, str, Box]] = []  # those that say how something comes into a loop
        self.words: list[tuple[Owner, Rich, Box, str]] = []  # texts, with their class
        self.passing: set[tuple[int, int]] = set()  # wires that run on into a glyph
        super().__init__(*args, **options)

    def across(self, wire: Wire, x0: float, x1: float, y: float) -> None:
        super().across(wire, x0, x1, y)
        self.passing.add((id(self.owner), wire.number))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "step":
            self.owner = value
            self.drawing = "runs" in vars(self)  # the sections are drawn
        if name in ("roles", "later", "notes"):
            value = _Noted(self)
        elif name == "borders":
            kept, value = value, _Borders(self)
            value.extend(kept)
        super().__setattr__(name, value)

    def shape(self, id: str, box: Box, cls: str, tip: str, *, covers: bool = True, **attributes: str) -> None:
        super().shape(id, box, cls, tip, covers=covers, **attributes)
        if "running" in cls or "held" in cls:
            self.entering.append((self.owner, cls, box))
            return
        self.marks.append((self.owner, " ".join((attributes["shape"], attributes.get("cells", ""))).strip()))

    def write(self, x: float, y: float, text: Rich, size: float, *, color: str = "", cls: str = "text") -> Box:
        outer, self.writing = self.writing, True  # a text of several lines is written line by line
        box = super().write(x, y, text, size, color=color, cls=cls)
        self.writing = outer
        if not outer:
            self.words.append((self.owner, text, box, cls))
        return box


def seen(graph: Graph, names: Mapping[str, str] | None = None, **options: Any) -> Signature:
    """The signature of the figure that `draw` makes. names: what each name stands for, to compare renamed figures."""
    with patch.object(making, "Sheet", Seen):
        sheet = cast(Seen, draw(graph, title="", **options)._sheet)
    return _Figure(sheet, names or {}).signature()


_COLOURS: dict[object, int] = {}  # one number for each kind of point, the same in all figures


def _colour(kind: object) -> int:
    return _COLOURS.setdefault(kind, len(_COLOURS))


class _Figure:
    """The figure as a graph of coloured points, which forgets where anything lies."""

    def __init__(self, sheet: Seen, names: Mapping[str, str]) -> None:
        self.sheet, self.names = sheet, names
        self.colours: dict[object, object] = {}
        self.ties: dict[object, list[tuple[str, object]]] = {}
        self.one: dict[int, int] = {}  # tensors that are the same value: copies, and what passes a tinted border
        self.kept: list[object] = []
        self._labels()
        self._texts()
        self.along: dict[int, list[Point]] = {}  # points of each wire, which has a curve in each of its rows
        for wire, chain in sheet.curves:
            self.along.setdefault(wire.number, []).extend(sampled(chain, 2.0))
        self.back = {e.tail for e in sheet.picture.edges if e.attributes.get("class") == "scalar"}  # rails, too
        for column in sheet.columns:
            for step in column.steps:
                self._join(step)
        for column in sheet.columns:
            for step in column.steps:
                self._step(step)
        self._sections()
        self._links()
        beneath = " ".join(self.said(text) for _, text, _, cls in sheet.words if cls == "where")
        self.point("page", ("page", beneath))

    # -- points

    def point(self, key: object, colour: object) -> None:
        self.colours.setdefault(key, colour)
        self.ties.setdefault(key, [])

    def tie(self, a: object, b: object, how: str) -> None:
        """From `a` to `b`."""
        self.ties[a].append((f"> {how}", b))
        self.ties[b].append((f"< {how}", a))

    def signature(self) -> Signature:
        """The colours refined by those of their neighbours until nothing changes, and how often each occurs."""
        self._traced()
        now = {key: _colour(colour) for key, colour in self.colours.items()}
        rounds, kinds = 0, 0
        while len(set(now.values())) > kinds:
            kinds, rounds = len(set(now.values())), rounds + 1
            now = {
                key: _colour((colour, tuple(sorted((how, now[other]) for how, other in self.ties[key]))))
                for key, colour in now.items()
            }
        return tuple(sorted(Counter(now.values()).items())), rounds

    def _traced(self) -> None:
        """A wire is called what it is called anywhere along it: not every stretch has room for a label."""
        done: set[object] = set()
        for start in self.colours:
            if start in done or not (isinstance(start, tuple) and start[0] == "wire"):
                continue
            whole = [start]
            done.add(start)
            for key in whole:  # grows as it goes
                for how, other in self.ties[key]:
                    if how.endswith("goes on") and other not in done:
                        done.add(other)
                        whole.append(other)
            labels = sorted({label for key in whole for label in cast(Any, self.colours[key])[2:] if label})
            for key in whole:
                self.colours[key] = (*cast(Any, self.colours[key])[:2], *labels)

    # -- lettering

    def said(self, text: Rich) -> str:
        """A text as it reads, names replaced."""
        out = []
        for run in text:
            words = re.sub(r"[α-ωϕΑ-Ω]|[A-Za-z]\w*", lambda m: self.names.get(m[0], m[0]), run.text.replace("\n", " "))
            out.append(("^" if run.shift > 0 else "_" if run.shift < 0 else "") + words)
        return re.sub(r"\s+", " ", "".join(out)).strip()

    def _labels(self) -> None:
        """What stands at each wire, whichever of its labels found a place."""
        self.labels: dict[int, str] = {}
        for _, text, (x0, y0, x1, y1), cls in self.sheet.words:
            if not cls.startswith("label"):
                continue
            x, size = (x0 + x1) / 2, (y1 - y0)
            y = y0 + size * 0.55
            for run in self.sheet.runs:
                if run.x0 - 2 <= x <= run.x1 + 2 and min(abs(run.y - 8.5 - y), abs(run.y + 9.5 - y)) < 0.1:
                    self.labels[run.wire.number] = self.said(text).replace(MACRON, "")

    def _texts(self) -> None:
        self.texts: dict[int, list[tuple[Rich, Box, str]]] = {}
        for owner, text, box, cls in self.sheet.words:
            if owner is not None and cls.partition(" ")[0] not in ("label", "title", "legend"):
                self.texts.setdefault(id(owner), []).append((text, box, cls))
        self.shapes: dict[int, list[str]] = {}
        for owner, shape in self.sheet.marks:
            self.shapes.setdefault(id(owner), []).append(shape)

    # -- tensors

    def root(self, tensor: Tensor) -> int:
        self.kept.append(tensor)
        at = id(tensor)
        while self.one.get(at, at) != at:
            at = self.one[at]
        return at

    def _join(self, step: DrawStep) -> None:
        """Copies are the value that they copy; so is what passes the border of a tinted region."""
        if step.kind is StepKind.COPY:
            pairs = [(step.ins[0], out) for out in step.outs if set(out.axes) == set(step.ins[0].axes)]
        elif step.border is not None and not step.border.repeat:
            pairs = list(zip(step.ins, step.outs, strict=False))
        else:
            pairs = []
        for a, b in pairs:
            if set(a.axes) == set(b.axes):
                self.one[self.root(b)] = self.root(a)

    def value(self, tensor: Tensor, wires: Sequence[Wire]) -> object:
        """The point of a tensor; its wires are points beside it."""
        key = ("value", self.root(tensor))
        self.point(key, "value")
        for wire in wires:
            self.wire(tensor, wire)
        return key

    def wire(self, tensor: Tensor, wire: Wire) -> object:
        axis = wire.axis
        kind = "none" if axis is None else "width" if axis.is_width else "depth"
        key = ("wire", self.root(tensor), axis)
        new = key not in self.colours
        self.point(key, ("wire", kind))
        if label := self.labels.get(wire.number):
            self.colours[key] = ("wire", kind, label)
        if new:
            self.tie(("value", self.root(tensor)), key, "has")
        return key

    # -- steps

    def _step(self, step: DrawStep) -> None:
        meeting = self.sheet.meetings[id(step)]
        ins = list(zip(step.ins, meeting.ins, strict=False))
        outs = list(zip(step.outs, meeting.outs, strict=False)) if step.kind is not StepKind.SINK else []
        for tensor, wires in (*ins, *outs):
            self.value(tensor, wires)
        if step.border is not None and not step.border.repeat:
            return
        if step.kind is StepKind.COPY:
            self._relabelled(step, ins, outs)
            return
        shapes = self.shapes.get(id(step), [])
        mine = self.texts.get(id(step), [])
        at_wires = self._at_wires(step, mine, [own for _, own in ins], [own for _, own in outs])
        if shapes == ["triangle"]:  # it is a softmax where nothing else is said: there is not always room for the word
            mine = [(text, box, cls) for text, box, cls in mine if plain(text) != "softmax"]
        free = sorted(self.said(text) for k, (text, _, _) in enumerate(mine) if k not in at_wires and not _round(text))
        me, column = ("step", id(step)), self.sheet.column_of[id(step)]
        self.point(me, ("glyph", tuple(sorted(shapes)), tuple(free)))
        if step.section is not None:
            self._inside(me, step.section)
        passing = {w.number for own in meeting.ins for w in own} & {w.number for own in meeting.outs for w in own}
        covers = {w.number for w in meeting.ins[0]} if meeting.ins else set()
        covers &= {w.number for w in self._under(step)}
        covers &= passing if step.mark not in ("gate", "sign") else set()  # these stand above the dots, over no wire
        going_on = {w.axis for own in meeting.ins for w in own} & {w.axis for own in meeting.outs for w in own}
        bar = "box" in shapes and step.mark == "bar"
        for side, tensors in (("in", ins), ("out", outs)):
            for k, (tensor, wires) in enumerate(tensors):
                port = (side, id(step), k)
                notes = tuple(sorted(self.said(mine[n][0]) for n, at in at_wires.items() if at == (side, k)))
                levels = [w.y[column] for w in wires if column in w.y]
                marks = {
                    cls for owner, cls, box in self.sheet.entering
                    if owner is step and side == "in" and all(box[1] < y < box[3] for y in levels)
                }  # fmt: skip
                self.point(port, ("port", side, notes, *sorted(marks)))
                self.tie(me, port, "at")
                self.tie(port, self.value(tensor, wires), "of")
                for wire in wires:
                    how = "passes" if wire.number in passing else "touches"
                    if step.kind is StepKind.JOIN and wire.axis in going_on:  # which wire goes straight on says nothing
                        how = "meets"
                    how += " under" if wire.number in covers else ""
                    how += " on" if (id(step), wire.number) in self.sheet.passing else ""
                    if bar and how == "touches" and self._at_bar(step, wire, side):
                        how += f" {self._rank(step, wire, side)}"
                    self.tie(port, self.wire(tensor, wire), how)
        if step.kind not in (StepKind.BOX, StepKind.SOURCE, StepKind.SINK):
            for tensor, wires in outs:
                for wire in wires:
                    for other, own in ins:
                        for before in own:
                            if before.number == wire.number or before.axis == wire.axis:
                                self.tie(self.wire(other, before), self.wire(tensor, wire), "goes on")
        if step.border is not None:  # what goes through a bracket keeps its place
            for k in range(min(len(ins), len(outs))):
                self.tie(("in", id(step), k), ("out", id(step), k), "through")
            self._inside(me, step.border)

    def _relabelled(self, step: DrawStep, ins: Any, outs: Any) -> None:
        """A wire that goes on under another label."""
        source, wires = ins[0]
        held = {w.axis: w for w in wires}
        for tensor, own in outs:
            if self.root(tensor) == self.root(source):
                continue
            me = ("relabel", id(tensor))
            self.point(me, "relabel")
            self.tie(self.value(source, wires), me, "from")
            self.tie(me, self.value(tensor, own), "to")
            swap = dict(zip(tensor.axes, step.ins[0].axes, strict=False))
            for wire in own:
                before = held.get(swap.get(wire.axis)) if wire.axis is not None else None
                if before is not None:
                    self.tie(self.wire(source, before), self.wire(tensor, wire), "is called")

    def _under(self, step: DrawStep) -> list[Wire]:
        """Wires that run through a shape of the step."""
        column = self.sheet.column_of[id(step)]
        boxes = [box for _, box, own in self.sheet.glyphs if own is step]
        meeting = self.sheet.meetings[id(step)]
        wires = [w for own in meeting.ins for w in own]
        return [w for w in wires if column in w.y and any(b[1] < w.y[column] < b[3] for b in boxes)]

    def _at_bar(self, step: DrawStep, wire: Wire, side: str) -> bool:
        return step.kind is StepKind.THROUGH or side == "out" or wire.axis in step.contracted

    def _rank(self, step: DrawStep, wire: Wire, side: str) -> int:
        meeting = self.sheet.meetings[id(step)]
        column = self.sheet.column_of[id(step)]
        mine = {w.number for own in (meeting.ins if side == "in" else meeting.outs) for w in own}
        there = {w.number for own in (meeting.outs if side == "in" else meeting.ins) for w in own}
        every = [w for own in (meeting.ins if side == "in" else meeting.outs) for w in own]
        own = [w for w in every if w.number in mine - there and self._at_bar(step, w, side)]
        return sorted(own, key=lambda w: w.y.get(column, 0.0)).index(wire)

    def _at_wires(
        self, step: DrawStep, texts: Sequence[tuple[Rich, Box, str]],
        ins: Sequence[Sequence[Wire]], outs: Sequence[Sequence[Wire]],
    ) -> dict[int, tuple[str, int]]:  # fmt: skip
        """At which operand or result each mark stands that says something of it."""
        found: dict[int, tuple[str, int]] = {}
        column, slot = self.sheet.column_of[id(step)], self.sheet.slots[id(step)]
        for k, (_, box, cls) in enumerate(texts):
            y = (box[1] + box[3]) / 2
            kind = cls.split()
            if "port" in kind:
                side, tensors = ("in", ins) if "in" in kind else ("out", outs)
                levels = [[w.y[column] for w in own if column in w.y] or [1e9] for own in tensors]
                if step.border is not None:  # it stands right above its wires
                    apart = [(min(ys) - y if min(ys) > y else 1e9, at) for at, ys in enumerate(levels)]
                else:
                    apart = [(abs((min(ys) + max(ys)) / 2 - y), at) for at, ys in enumerate(levels)]
            elif step.kind is StepKind.SINK:  # the name of a result stands in the middle of its wires
                side = "in"
                apart = [(abs(sum(w.y[column] for w in own) / len(own) - y), at) for at, own in enumerate(ins)]
            elif "role" in kind:
                side = "in"
                apart = []
                for at, own in enumerate(ins):
                    near = [p for w in own for p in self.along.get(w.number, ()) if slot.x0 - 64 < p[0] <= slot.x1 + 1]
                    apart.append((min((_gap(box, p) for p in near), default=1e9), at))
            else:
                continue
            apart.sort()
            if len(apart) == 1 or (apart and apart[0][0] + 0.2 < apart[1][0]):
                found[k] = (side, apart[0][1])
        return found

    # -- what lies around

    def _inside(self, me: object, section: Section) -> None:
        key = ("section", id(section))
        self.point(key, self._section(section))
        self.tie(me, key, "in")

    def _section(self, section: Section) -> object:
        titles = {self.said(text) for text, _, _ in self.texts.get(id(section), ()) if not _round(text)}
        clusters = self.sheet.picture.clusters
        shown = {self.said(c.label) for c in clusters if c.tip == section.title and not section.repeat and c.label}
        titles |= {"goes round"} if section.repeat and self._goes_round(section) else set()
        return ("section", section.repeat, tuple(sorted(titles | {s for s in shown if "continued" not in s})))

    def _goes_round(self, section: Section) -> bool:
        """A line at the foot of brackets says it, if they stand in one row; else words at either of them."""
        ends = [step for step in (section.enter, section.exit) if step is not None]
        words = [text for owner in (section, *ends) for text, _, _ in self.texts.get(id(owner), ())]
        return any(map(_round, words)) or any(f"{self.sheet.slots[id(step)].id}_lt" in self.back for step in ends)

    def _sections(self) -> None:
        for section in self.sheet.scene.sections:
            if ("section", id(section)) in self.colours and section.parent is not None:
                self._inside(("section", id(section)), section.parent)

    def _links(self) -> None:
        """Dotted lines between glyphs that share weights."""
        for edge in self.sheet.picture.edges:
            if edge.attributes.get("style") != "dotted":
                continue
            ends = [self._glyph_at(edge.points[0]), self._glyph_at(edge.points[-1])]
            if None not in ends:
                for one, other in (ends, ends[::-1]):
                    self.tie(("step", id(one)), ("step", id(other)), "shares weights with")

    def _glyph_at(self, at: tuple[float, float]) -> DrawStep | None:
        for _, (x0, y0, x1, y1), step in self.sheet.glyphs:
            if x0 - 1 <= at[0] <= x1 + 1 and y0 - 1 <= at[1] <= y1 + 1:
                return step
        return None


def _round(text: Rich) -> bool:
    """Whether it says that something goes round in a loop."""
    return plain(text).startswith("next ") or plain(text).endswith(("go round", "goes round"))


def _gap(box: Box, p: tuple[float, float]) -> float:
    x0, y0, x1, y1 = box
    return hypot(max(x0 - p[0], p[0] - x1, 0.0), max(y0 - p[1], p[1] - y1, 0.0))
