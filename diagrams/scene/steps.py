"""A scene: a flat list of steps over tensors, as they will be drawn, and what collects them from a graph. Nothing here
has a position yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from ...compiler.graph.nodes import Apply, Call, Graph, Scan
from ...compiler.graph.values import IndexInto, Scalar, Value
from ...compiler.sharding.sends import Collective
from ...compiler.sizes.axes import Axis
from ...dsl.source import Span
from ..base.names import name_text
from ..base.text import Rich, italic, lowered
from ..base.titles import Titles
from .formulas.patterns import Case
from .formulas.symbolic import Symbolic
from .tensors import Learned, Tensor


class StepKind(Enum):
    """How a step meets its wires."""

    SOURCE = "an input, a parameter, a table: wires begin"
    THROUGH = "eats some wires of one tensor, makes some"
    ON = "sits on some wires of one tensor"
    LANE = "beside one tensor"
    JOIN = "several tensors become one"
    BOX = "all wires end, all new wires begin"
    COPY = "one tensor becomes several"
    ENTER = "the border of a region or repeat, going in"
    EXIT = "the border of a region or repeat, going out"
    SINK = "the outputs"


class Enters(Enum):
    """How a value comes into a loop."""

    RUNNING = "it is the start of what goes round"
    HELD = "it is the same in every pass"
    ITEM = "a scan reads it item by item"


Path = tuple[frozenset[str], ...]
"""The open blocks around something, outermost first: the names and labels of each."""


@dataclass(eq=False, slots=True)
class Section:
    """A tinted region or the inside of the brackets of a repeat or scan (`along` its axis)."""

    repeat: bool
    title: str
    parent: Section | None
    tint: int | None = 0  # None: it is no block's
    along: Axis | None = None  # of a scan: the axis that it runs along
    name: str = ""  # of the block that is open
    block: str = ""  # its title
    whose: str = ""  # of an open block that has weights: their path, from the figure's graph on
    loops: tuple[str, ...] = ()  # the names of what goes round: of a repeat, a scan, or a loop over tiles
    streams: Axis | None = None  # of a loop over tiles: the axis that it runs along,
    tiles: Mapping[Axis, int] = field(default_factory=dict)  # how many items of an axis a tile has, where not all,
    looked: frozenset[int] = frozenset()  # and what comes in (by id) but stays in memory, for items are looked up in it
    carried: tuple[tuple[Tensor, Tensor], ...] = ()  # of a repeat: what a pass begins with, and what it goes on with
    enter: DrawStep | None = None
    exit: DrawStep | None = None
    names: frozenset[str] = frozenset()  # what hints call it: the block or repeat, and the label of its call
    path: Path = ()

    @property
    def round(self) -> bool:
        """Whether it is a repeat in which something goes round."""
        return bool(self.loops) and self.along is None and self.streams is None

    def inside(self, other: Section | None) -> bool:
        """Whether it is `other` or lies in it."""
        at: Section | None = self
        while at is not None:
            if at is other:
                return True
            at = at.parent
        return False


@dataclass(eq=False, slots=True)
class DrawStep:
    """One glyph: tensors `ins` become tensors `outs`.

    eaten, made, on: axes whose wires end at the glyph, begin at it, or pass under it (of a BOX: the block is the same
        for every item of these).
    contracted: axes that a JOIN contracts (mark `loop`) or concatenates (`bar`). Axes that its operands share, and that
        are not among these, meet in dots.
    each: axes that the weights of a learned map have too: their wires run through the box, with a dot on them.
    """

    kind: StepKind
    mark: str
    ins: list[Tensor]
    outs: list[Tensor]
    section: Section | None
    eaten: tuple[Axis, ...] = ()
    made: tuple[Axis, ...] = ()
    on: tuple[Axis, ...] = ()
    contracted: tuple[Axis, ...] = ()
    each: tuple[Axis, ...] = ()
    text: Rich = ()
    raised: Rich = ()  # a weight's label, as superscript
    note: Rich = ()  # the scale on the arrow of a contraction; the names of the masks of a box; what an input is
    roles: tuple[Rich, ...] = ()
    enters: tuple[Enters, ...] = ()  # of an opening bracket: how each of its operands comes in
    counted: bool = False  # its weights are new in each pass of a repeat around it, and an index at its letter says so
    one: bool = False  # they are one set for all passes of a repeat around it
    ports: tuple[Rich, ...] = ()  # what its operands are called in a box, or what they go on as behind a bracket;
    results: dict[int, Rich] = field(default_factory=dict)  # of a box: and its results, by their tensors (by id)
    bias: bool = False
    learned: bool = False
    cases: tuple[Case, ...] = ()  # of a mask: what it keeps, in which passes
    border: Section | None = None  # of an ENTER or EXIT
    tint: int = 0
    tip: str = ""
    late: bool = False  # a SOURCE that stands just before the step that reads it
    first: int = 0  # rank of a SINK's or SOURCE's tensor in declared order
    block: str = ""  # of a closed block: its name,
    call: Call | Scan | None = None  # what calls it,
    segments: frozenset[str] = frozenset()  # and what paths of values may call that
    title: str = ""  # of a block: what it is called, wherever it occurs
    panel: str = ""  # of a closed block: the letter of the panel that shows its contents
    kept: frozenset[int] = frozenset()  # an EXIT's operands (by id) that end there if nothing outside reads them
    weights: int = 0  # glyphs with the same number (not 0) share their weights
    whose: str = ""  # the path of the weights, from the figure's graph on
    span: Span | None = None  # where the spec says it
    number: int = 0  # in the order of the spec
    names: set[str] = field(default_factory=set)  # what hints call it: its value, its weights, its block
    path: Path = ()
    breaks: bool = False  # the author wants a row to begin here
    sends: tuple[
        tuple[Collective, int], ...
    ] = ()  # of a closed block: the collectives in it, and how often each is done
    sent: Collective | None = None  # of a collective of a mesh; `sent_along`: the axes split before it, and behind it
    sent_along: tuple[Axis, ...] = ()
    placed: bool = False  # of an input: the author says its place among the others, which is that in the scene


Mark = tuple[DrawStep | Section, Axis | None]
"""What a note speaks of: a step, an open block, or the wire of an axis of what a step makes."""


@dataclass(eq=False, slots=True)
class Callout:
    """A note of the author's: text in a box of this colour, tied to marks. `side`: "above", "below", or "" for any."""

    text: str
    color: str
    side: str
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Tint:
    """A colour behind a glyph or an open block. sign: a character in its corner, where colours do not say it all."""

    mark: DrawStep | Section
    color: str
    sign: str = ""


Look = tuple[str, str]
"""A colour and a sign."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What to tint. looks: of what makes a value, by the graph and the value (by their ids); within: of a glyph that
    shows such a thing among others.
    """

    looks: Mapping[tuple[int, int], Look]
    within: Look


@dataclass(slots=True)
class Scene:
    title: str
    steps: list[DrawStep] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    callouts: list[Callout] = field(default_factory=list)
    tints: list[Tint] = field(default_factory=list)  # colours behind glyphs


Item = Tensor | Symbolic | Learned


@dataclass(slots=True)
class Frame:
    """A graph while its steps are made: the item of each value (by id), and what its axes and consts stand for.

    met: the figure's axes, by those of the graphs. Their ids count in the order in which the figure meets them, not in
         that in which a file declares them: formulas and masks put in order by them do not hang on that.
    """

    graph: Graph
    met: dict[Axis, Axis]
    axes: Mapping[Axis, Axis]
    consts: dict[int, Symbolic]
    section: Section | None
    level: int
    items: dict[int, Item]
    reads: dict[int, int]
    prefix: str = ""  # what the names of its weights begin with
    loops: tuple[str, ...] = ()  # of each repeat around it: what counts its passes; "" if they share their weights

    def axis(self, axis: Axis) -> Axis:
        own = self.axes.get(axis) or self.met.get(axis)
        if own is None:
            own = self.met[axis] = replace(axis, id=len(self.met))
        return own

    def shown(self, value: Value) -> tuple[Axis, ...]:
        """The axes that the value varies along, in the figure's terms."""
        return tuple(dict.fromkeys(self.axis(a) for a in value.type.axes if a not in value.type.broadcast_axes))


@dataclass(slots=True)
class DrawnOp:
    """An op of a graph as the figure has it. axes: of its result. eaten, made: in its brackets, that end and begin."""

    frame: Frame
    node: Apply
    items: list[Item]
    axes: tuple[Axis, ...]
    eaten: tuple[Axis, ...]
    made: tuple[Axis, ...]

    @classmethod
    def of(cls, frame: Frame, node: Apply) -> DrawnOp:
        items, axes = [frame.items[value.id] for value in node.operands], frame.shown(node.out)
        return cls(frame, node, items, axes, tuple(map(frame.axis, node.axes)), tuple(map(frame.axis, node.made)))

    @property
    def name(self) -> str:
        return self.node.out.name or ""

    @property
    def boolean(self) -> bool:
        return self.node.out.type.element is Scalar.BOOL

    @property
    def tip(self) -> str:
        brackets = f"[{', '.join(axis.name for axis in self.node.axes)}]" if self.node.axes else ""
        return f"{self.node.op}{brackets}" + (f" {self.node.name}" if self.node.name else "")

    def result(self) -> Tensor:
        return Tensor(self.axes, self.name)

    def indices(self) -> Tensor:
        """The result, marked where its elements are indices."""
        return Tensor(self.axes, self.name, isinstance(self.node.out.type.element, IndexInto))


class Collector(ABC):
    """Collects the steps of a scene."""

    def __init__(self, scene: Scene, titles: Titles, path: Path = ()) -> None:
        self.scene, self.titles = scene, titles
        self.maker: dict[int, DrawStep] = {}  # of a tensor
        self.keys: dict[str, int] = {}  # of weights that glyphs may share, by their paths
        self.span: Span | None = None  # where the spec says what is being drawn
        self.path = path  # the open blocks that it is in
        self.kinds: dict[str, Rich] = {}  # of the inputs, by their names: what they are

    def add(self, step: DrawStep) -> DrawStep:
        self.scene.steps.append(step)
        step.number = len(self.scene.steps)
        step.span = step.span or self.span
        step.path = self.path
        for tensor in step.outs:
            self.maker[id(tensor)] = step
        return step

    def passes(self, frame: Frame, step: DrawStep, path: str, learned: tuple[str, ...]) -> None:
        """The weights of this path are its, and stand within the repeats `learned`. Tell in which of the passes around
        they are others: an index at the letter; and whether there is a repeat for all passes of which they are one."""
        self.owns(step, path)
        letters = [letter for letter in learned if letter]
        step.counted, step.one = bool(letters), len(letters) < len(frame.loops)
        if letters:
            index = italic("".join(letters) if max(map(len, letters)) == 1 else ", ".join(letters))
            step.text = step.text if step.raised else lowered(step.text, index)
            step.raised = lowered(step.raised, index)

    def owns(self, step: DrawStep, path: str) -> None:
        """The weights of this path are its."""
        step.weights, step.whose = self.keys.setdefault(path, len(self.keys) + 1), path

    def rank(self, tensor: Tensor) -> int:
        """The place of an input among the inputs."""
        step = self.maker.get(id(tensor))
        return step.first if step is not None else 0

    @abstractmethod
    def tensor(self, frame: Frame, item: Item, name: str = "") -> Tensor:
        """The item as a tensor with wires."""

    def named_again(self, frame: Frame, item: Tensor, axes: tuple[Axis, ...]) -> Tensor:
        """A boolean input (`boolean_input`) once more, with wires that begin at its name."""
        again = Tensor(axes, item.name, item.index, frame.section is None)
        text = name_text(item.name)
        self.add(
            DrawStep(
                StepKind.SOURCE, "input", [], [again], frame.section, text=text, late=True, tip=f"input {item.name}",
                note=self.kinds.get(item.name, ()),
            )
        )  # fmt: skip
        return again

    def relabelled(self, frame: Frame, x: Tensor, axes: tuple[Axis, ...]) -> Tensor:
        """The same values under other labels of axes: a copy step with one result."""
        if x.boolean_input:
            return self.named_again(frame, x, _in_order(axes, x.axes))
        out = Tensor(_in_order(axes, x.axes), x.name, x.index)
        self.add(
            DrawStep(StepKind.COPY, "copy", [x], [out], frame.section, tip="the same values along a copy of the axis")
        )
        return out


def _in_order(axes: tuple[Axis, ...], like: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """`axes` so that each stands where the axis of `like` that it relabels stood."""
    fresh = iter([a for a in axes if a not in like])
    return tuple(a if a in axes else next(fresh) for a in like)
