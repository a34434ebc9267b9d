"""How large each glyph is: along x, and how far it goes above and below the wires that it touches. All in points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from ...compiler.sizes.axes import Axis
from ..base import theme
from ..base.names import axis_label, name_text
from ..base.text import Rich, Run, folded, height, joined, lines, plain, roman, rows, width
from ..scene.steps import DrawStep, Section, StepKind
from ..scene.wording import sent_letters
from .ports import ABOVE, BELOW, LINE, TICK, ports_of
from .wires import Meeting, Wire

DOT = 6.0  # diameter of a copy or merge dot
LOOP = 17.0  # half-loop, along x
INDEX = 17.0  # the arrow of an index into an embedding
FORMULA = 190.0  # how wide a line of a formula is, at most
SHORT = 90.0  # a formula up to so wide is set larger; with a name, it stands beneath that
BRACKET = 12.0  # a bracket, along x
TURN = 20.0  # room for wires that run into one dot within a column


@dataclass(frozen=True, slots=True)
class GlyphSize:
    """Lengths along x: of level wire before the glyph, of the glyph, and of level wire after it."""

    before: float
    core: float
    after: float


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a glyph is drawn: its column, and the x of its left and right side."""

    id: str
    column: int
    x0: float
    x1: float

    @property
    def middle(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def opening(self) -> float:
        """The middle of an opening bracket, behind which the marks of what comes in stand."""
        return self.x0 + 4.5


def label_of(wire: Wire) -> Rich:
    if wire.axis is None:
        return ()
    return (*axis_label(wire.axis.label, is_width=wire.axis.is_width), *roman(wire.size))


def tile_label(wire: Wire, loop: Section) -> Rich:
    """`q / 128`, where a wire enters a loop over tiles; nothing where a tile has all of the axis."""
    return tiled(wire.axis, loop.tiles[wire.axis]) if wire.axis is not None and wire.axis in loop.tiles else ()


def tiled(axis: Axis, size: int) -> Rich:
    return *axis_label(axis.label, is_width=axis.is_width), *roman(f" / {size}")


def born(meeting: Meeting) -> list[Wire]:
    """Wires that the step makes."""
    had = {w.number for own in meeting.ins for w in own}
    return [w for own in meeting.outs for w in own if w.number not in had]


def gone(meeting: Meeting) -> list[Wire]:
    """Wires that the step ends."""
    have = {w.number for own in meeting.outs for w in own}
    return [w for own in meeting.ins for w in own if w.number not in have]


def covered(step: DrawStep, meeting: Meeting) -> list[Wire]:
    """The wires that an ON glyph sits on."""
    return [w for w in meeting.ins[0] if w.axis in step.on]


def through(step: DrawStep, meeting: Meeting) -> list[Wire]:
    """The wires that run through a learned map, of axes that its weights have too."""
    have = {w.number for own in meeting.outs for w in own}
    return [w for w in meeting.ins[0] if w.axis in step.each and w.number in have] if step.each else []


def _labels(wires: Sequence[Wire]) -> float:
    return max((width(label_of(w), theme.AXIS) for w in wires), default=0.0)


def wrapped(text: str, most: float = 62.0) -> str:
    """A block's title in lines of about `most` points."""
    out: list[str] = []
    for word in text.replace("-", "- ").split():
        joint = "" if out and out[-1].endswith("-") else " "
        if out and width(roman(out[-1] + joint + word), theme.BLOCK) <= most:
            out[-1] += joint + word
        else:
            out.append(word)
    return "\n".join(out) or " "


def block_text(step: DrawStep) -> str:
    """What stands in a closed block: its title, and beneath it how often it sends."""
    sends = ", ".join(f"{count} {plain(sent_letters(op))}" for op, count in step.sends)
    return wrapped(plain(step.text)) + (f"\n{sends}" if sends else "")


def bar_note(step: DrawStep, meeting: Meeting) -> Rich:
    """What stands at a bar that pads; and `h·k`, where axes that it splits or merges do not lie in that order."""
    for axes, wires in ((step.made, born(meeting)), (step.eaten, gone(meeting))):
        if len(axes) > 1 and [wire.axis for wire in wires] != list(axes):
            labels = [axis_label(axis.label, is_width=False) for axis in axes]
            return joined(run for k, label in enumerate(labels) for run in (*roman("·" if k else ""), *label))
    return step.note


def table_lines(step: DrawStep) -> list[tuple[Rich, float]]:
    """What is written where the wires of a table or number begin, and the font size of each line."""
    if step.note:
        return [(step.text, theme.GLYPH), *([] if is_apart(step) else [(step.note, theme.CAPTION)])]
    size = theme.GLYPH if width(step.text, theme.GLYPH) <= SHORT else theme.CAPTION
    return [(line, size) for line in lines(step.text, FORMULA, size)]


def is_apart(step: DrawStep) -> bool:
    """Whether the formula of a table with a name is so long that it stands beneath the figure."""
    return step.mark == "table" and width(step.note, theme.CAPTION) > SHORT


def leading(size: float) -> float:
    """From one line of a formula to the next."""
    return 1.15 * size


def stacked(name: Rich) -> Rich:
    """The name of an input, in two lines where it has words for them."""
    if len(name) != 1:  # a letter with a subscript
        return name
    words = name[0].text.split()
    cut = min(range(1, len(words)), key=lambda k: max(len(" ".join(words[:k])), len(" ".join(words[k:]))), default=0)
    return (Run(f"{' '.join(words[:cut])}\n{' '.join(words[cut:])}", name[0].style),) if cut else name


def measure(step: DrawStep, meeting: Meeting) -> GlyphSize:
    after = _labels(born(meeting)) + 7 if born(meeting) else 6.0
    match step.kind:
        case StepKind.SOURCE:
            return _source(step, after)
        case StepKind.THROUGH if step.mark != "pill":
            return _through(step, meeting, after)
        case StepKind.THROUGH | StepKind.ON if step.mark == "pill":
            return GlyphSize(8, pill_width(step), after if step.made else 12)
        case StepKind.ON:
            return _on(step)
        case StepKind.LANE:
            return GlyphSize(2, width(step.text, theme.BLOCK) + 27, 2)
        case StepKind.JOIN:
            return _join(step, meeting, after)
        case StepKind.BOX:
            inner = max(width(roman(block_text(step)), theme.BLOCK), masks_size(step)[0])
            inner = max(inner, _beside_title(step, meeting) + 2 * TICK - 4) + 2
            return GlyphSize(4, max(44.0, ports_of(step, title_height(step)).wide(inner)), after)
        case StepKind.COPY if len(step.outs) == 1:  # another name: the label finds room further on, if not here
            return GlyphSize(0, 4, 4)
        case StepKind.COPY:
            return GlyphSize(3, 3, after if any(w in meeting.outs[meeting.main] for w in born(meeting)) else 0)
        case StepKind.ENTER if step.border is not None and step.border.tiles:
            tiles = (tile_label(wire, step.border) for own in meeting.outs for wire in own)
            return GlyphSize(1, 4, max((width(text, theme.AXIS) + 12 for text in tiles if text), default=1))
        case StepKind.ENTER if step.mark == "bracket":
            return GlyphSize(3, BRACKET, max(3.0, ports_width(step) - 8))
        case StepKind.EXIT if step.mark == "bracket":
            return GlyphSize(max(3.0, ports_width(step)), BRACKET, 3)
        case StepKind.ENTER | StepKind.EXIT:
            return GlyphSize(1, 4, 1)
        case StepKind.SINK:
            live = [w for own in meeting.ins for w in own]
            return GlyphSize(4, _labels(live) + 8 + names_width(step), 0)
        case _:
            return _OTHER


_OTHER = GlyphSize(6, 20, 6)


def _source(step: DrawStep, after: float) -> GlyphSize:
    match step.mark:
        case "learned":
            return GlyphSize(2, learned_width(step), after)
        case "predicate":
            return GlyphSize(2, width(predicate_text(step), theme.WORD) + 8 + squares_width(step), after)
        case "hidden" | "pill":
            return GlyphSize(2, pill_width(step), after)
        case "input":
            return GlyphSize(0, max(width(text, size) for text, size in input_lines(step)) + 7, after)
        case "block":
            return GlyphSize(2, max(44.0, width(roman(block_text(step)), theme.BLOCK) + 15), after)
        case _:
            return GlyphSize(2, max(width(text, size) for text, size in table_lines(step)) + 6, after)


def _through(step: DrawStep, meeting: Meeting, after: float) -> GlyphSize:
    match step.mark:
        case "learned":
            return GlyphSize(5, learned_width(step), after)
        case "embed":
            return GlyphSize(INDEX, learned_width(step), after)
        case "bar":
            half = width(bar_note(step, meeting), theme.CAPTION) / 2
            return GlyphSize(max(8, half), 4, max(after, half))
        case "birth":
            return GlyphSize(2, 6, after)
        case _:
            return _OTHER


def _on(step: DrawStep) -> GlyphSize:
    match step.mark:
        case "ring":
            letters = tuple(run for run in step.text if run.shift >= 0)  # an index may stand nearer to the edge
            ring = max(24.0, width(letters, theme.CAPTION) + 7, width(step.text, theme.CAPTION) + 3)
            ring += 7 if step.one else 0
            beside = max(3.0, (width(step.note, theme.CAPTION) - ring) / 2 + 2)
            return GlyphSize(beside, ring, beside)
        case "triangle":
            return GlyphSize(6, 21, 5)
        case "sent":
            return GlyphSize(7, width(step.text, theme.CAPTION) + 14, 7)
        case _:
            return GlyphSize(7, mask_width(step), 6)


def _join(step: DrawStep, meeting: Meeting, after: float) -> GlyphSize:
    match step.mark:
        case "loop":
            note = max((width(line, theme.CAPTION) for line in scale_lines(step)), default=-14.0) + 14
            core = (LOOP if step.contracted else 0) + note + (TURN if born(meeting) else 0)
            return GlyphSize(8 if step.contracted else 2, core, after)
        case "bar":
            return GlyphSize(TURN if meeting.inner else 6, 14, after)
        case "pick":
            return GlyphSize(TURN if meeting.inner else 2, DOT + 8 + pill_width(step), after)
        case "mask":
            return GlyphSize(TURN if meeting.inner else 2, mask_width(step) + 10, 6)
        case _:
            return GlyphSize(TURN if meeting.inner else 0, DOT, max(7.0, width(step.text, theme.GLYPH) / 2))


def _beside_title(step: DrawStep, meeting: Meeting) -> float:
    """How wide those lines of a block's title are beside which wires pass, about: where wires stand at their pitch."""
    lines = block_text(step).split("\n")
    top = -7.0 * (len(lines) - 1 + bool(step.panel)) - masks_size(step)[1] / 2
    most = 0.0
    for own in (*meeting.ins, *meeting.outs) if step.on else ():
        for k, wire in enumerate(own):
            y = theme.PITCH * (k - (len(own) - 1) / 2)
            near = (line for n, line in enumerate(lines) if abs(top + 14 * n - y) < LINE)
            most = max([most, *(width(roman(line), theme.BLOCK) for line in near if wire.axis in step.on)])
    return most


def extents(step: DrawStep, meeting: Meeting) -> dict[int, tuple[float, float]]:
    """How far a glyph goes above and below each wire that it touches, by wire."""
    every = [w for own in (*meeting.ins, *meeting.outs) for w in own]
    match step.kind:
        case StepKind.BOX:
            most = max((len(own) for own in (*meeting.ins, *meeting.outs)), default=1)
            least = theme.PITCH * (most - 1) + 24 + 40 * (max(len(meeting.ins), len(meeting.outs)) - 1)
            extra = max(0.0, (box_height(step) - least) / 2)
            return {w.number: (ABOVE + extra, BELOW + extra) for w in every}
        case StepKind.THROUGH:
            touched = [*gone(meeting), *born(meeting), *through(step, meeting)]
            most = max(len(gone(meeting)), len(born(meeting)))
            far = _beyond(height(pill_text(step), theme.CAPTION) + 8, most, 12.0) if step.mark == "pill" else 12.0
            below = 25.0 if step.mark == "bar" and bar_note(step, meeting) else far
            return {w.number: (far, below) for w in touched}
        case StepKind.SOURCE if step.mark in ("learned", "block", "hidden"):
            return {w.number: (13.0, 13.0) for w in every}
        case StepKind.SOURCE if step.mark == "predicate":
            far = _beyond(height(predicate_text(step), theme.WORD) + 4, len(every), 13.0)
            return {w.number: (far, far) for w in every}
        case StepKind.SOURCE if step.mark == "pill":
            far = _beyond(height(pill_text(step), theme.CAPTION) + 8, len(every), 13.0)
            return {w.number: (far, far) for w in every}
        case StepKind.SOURCE if step.mark == "table" and every:
            beyond = max(
                4.0, (sum(leading(size) for _, size in table_lines(step)) + 4 - theme.PITCH * (len(every) - 1)) / 2
            )
            return {every[0].number: (beyond, 4.0), every[-1].number: (beyond if len(every) == 1 else 4.0, beyond)}
        case StepKind.SOURCE if step.mark == "input" and step.note and every:
            high = sum(leading(size) for _, size in input_lines(step))
            far = _beyond(high, len(every), 4.0) if high > 32 else 4.0  # as high as names of two lines are anyway
            return {every[0].number: (far, 4.0), every[-1].number: (far if len(every) == 1 else 4.0, far)}
        case StepKind.ON if step.mark == "pill":
            far = _beyond(height(pill_text(step), theme.CAPTION) + 8, len(covered(step, meeting)), 13.0)
            return {w.number: (far, far) for w in covered(step, meeting)}
        case StepKind.ON:
            high = 22.0 if step.mark == "triangle" else 13.0
            return {w.number: _named(step, meeting, high) for w in covered(step, meeting)}
        case StepKind.JOIN if step.mark == "mask":
            return {w.number: _named(step, meeting, 13.0) for w in meeting.ins[0] if w.axis in step.on}
        case StepKind.JOIN if step.mark == "pick":
            far = _beyond(height(pill_text(step), theme.CAPTION) + 8, len(step.contracted), 12.0)
            return {w.number: (far, far) for w in meeting.ins[0] if w.axis in step.contracted}
        case StepKind.ENTER if any(goes_as(step)):
            return {ws[0].number: (22.0, 8.0) for ws, text in zip(meeting.outs, goes_as(step), strict=False) if text}
        case StepKind.EXIT if any(goes_as(step)):
            return {ws[0].number: (17.0, 4.0) for ws, text in zip(meeting.ins, goes_as(step), strict=False) if text}
        case StepKind.JOIN if step.mark in ("sign", "gate"):
            main = meeting.ins[meeting.main]
            return {main[0].number: (22.0, 4.0)} if main else {}
        case _:
            return {}


def _beyond(need: float, wires: int, least: float) -> float:
    """How far a glyph of this height goes beyond so many wires side by side."""
    return max(least, (need - theme.PITCH * (wires - 1)) / 2)


def at_foot(step: DrawStep, meeting: Meeting) -> bool:
    """Whether a mask lies over the lowest wire of its tensor, so that its name can stand beneath it."""
    return bool(meeting.ins[0]) and meeting.ins[0][-1].axis in step.on


def _named(step: DrawStep, meeting: Meeting, high: float) -> tuple[float, float]:
    """How far a mask with its predicate over or under it reaches up and down."""
    if not step.note:
        return high, 13.0
    more = height(mask_text(step), theme.CAPTION)
    return (13.0, 13.0 + more) if at_foot(step, meeting) else (15.0 + more, 13.0)


def name_size(step: DrawStep) -> float:
    """The font size of a name: an input of one or two letters is set larger than a word."""
    if step.mark == "input":
        return theme.NAME if len(plain(step.text)) <= 2 else theme.WORD
    return theme.GLYPH


def input_lines(step: DrawStep) -> list[tuple[Rich, float]]:
    """The name of an input and what it is, line by line, with their font sizes. Beneath a name of two lines, or of a
    word in its second, there is no room for a third."""
    size, (*first, last) = name_size(step), rows(stacked(step.text))
    said = rows(step.note) if step.note else []
    if first and said:
        last, said = joined((*last, Run(" ", last[-1].style), *said[0])), said[1:]
    return [*((line, size) for line in (*first, last)), *((line, theme.CAPTION) for line in said)]


def scale_lines(step: DrawStep) -> list[Rich]:
    """The lines of the scale on the arrow of a contraction."""
    return lines(step.note, FORMULA, theme.CAPTION) if step.note else []


def names_width(step: DrawStep) -> float:
    """The room for the names of results."""
    return max((width(name_text(t.name), theme.GLYPH) + 8 for t in step.outs if t.name), default=0.0)


def goes_as(step: DrawStep) -> tuple[Rich, ...]:
    """What the operands of a bracket are called where several values go round; else it needs no names."""
    several = step.border is not None and len(step.border.loops) > 1
    return step.ports if several else ()


def ports_width(step: DrawStep) -> float:
    """The room for these names."""
    return max((width(text, theme.CAPTION) + 5 for text in goes_as(step)), default=0.0)


def learned_width(step: DrawStep) -> float:
    letters = width(step.text, theme.GLYPH) + max(width(step.raised, theme.RAISED), 11.0 if step.bias else 0.0)
    return max(26.0, letters + 9) + (4 if step.one else 0)


def mask_side(wires: int) -> float:
    return theme.PITCH * (min(wires, 3) - 1) + 17 if wires > 1 else 22.0


def pill_text(step: DrawStep) -> Rich:
    """What a pill says, in lines."""
    return folded(step.text, theme.CAPTION, 150.0)


def pill_width(step: DrawStep) -> float:
    return max(22.0, width(pill_text(step), theme.CAPTION) + 10)


def pill_span(step: DrawStep, wires: Sequence[Wire], column: int) -> tuple[float, float]:
    """From its top to its bottom: over its wires, and as high as its text needs."""
    top, bottom = span(wires, column, 10)
    more = max(0.0, height(pill_text(step), theme.CAPTION) + 8 - (bottom - top)) / 2
    return top - more, bottom + more


_LINE = 120.0  # how wide the lines of a predicate beneath its square are, at most
_BOX_LINE = 84.0  # and within a box


def mask_text(step: DrawStep) -> Rich:
    """What is written under a mask, or over it, in lines: the more there is to say, the longer they are."""
    whole = sum(width(row, theme.CAPTION) for row in rows(step.note))
    return folded(step.note, theme.CAPTION, min(max(_LINE, sqrt(60 * whole)), 2 * _LINE))


def predicate_text(step: DrawStep) -> Rich:
    """What is written beside a predicate that begins there, in lines."""
    return folded(step.text, theme.WORD, 130.0)


def mask_width(step: DrawStep) -> float:
    """The width of a mask: of its squares side by side, or of what is written under them."""
    return max(squares_width(step), width(mask_text(step), theme.CAPTION) + 4 if step.note else 0.0)


def squares_width(step: DrawStep) -> float:
    return max(1, len(step.cases)) * mask_side(len(step.on))


SQUARE = 16.0  # a mask's side within a block's box


def masks_size(step: DrawStep) -> tuple[float, float]:
    """Width and height that a box needs for the masks at its foot."""
    lines = mask_lines(step)
    if not lines:
        return 0.0, 0.0
    return SQUARE + max(4 + width(text, theme.CAPTION) if text else 0.0 for text in lines), sum(map(mask_line, lines))


def mask_lines(step: DrawStep) -> list[Rich]:
    """The text beside each mask in a box: in which passes it holds, and its predicate or the name of its data."""
    return [folded(case.text, theme.CAPTION, _BOX_LINE) for case in step.cases]


def mask_line(text: Rich) -> float:
    """The height of one mask in a box, with the text beside it."""
    return max(22.0, height(text, theme.CAPTION) + 6)


def title_height(step: DrawStep) -> float:
    """That of a box's title, the letter of its panel, and its masks."""
    return (block_text(step).count("\n") + 1 + bool(step.panel)) * 14 + masks_size(step)[1]


def box_height(step: DrawStep) -> float:
    """The height that a box needs for its title, the letter of its panel, and its masks."""
    return title_height(step) + 12


def span(wires: Sequence[Wire], column: int, beyond: float) -> tuple[float, float]:
    """From above the highest of the wires to below the lowest."""
    ys = [w.y[column] for w in wires]
    return min(ys) - beyond, max(ys) + beyond
