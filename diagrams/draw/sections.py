"""Tinted regions, the brackets of repeats and scans, and the text beside brackets."""

from __future__ import annotations

from ..base import theme
from ..base.curves import sampled, straight
from ..base.names import axis_label, barred, listed
from ..base.picture import Box, Cluster, Edge
from ..base.text import Rich, plain, roman, width
from ..base.theme import Theme
from ..canvas.drawing import HEAD, Canvas
from ..layout.glyph_sizes import Slot
from ..layout.heights import Border
from ..scene.steps import DrawStep, Section


def draw_sections(sheet: Canvas) -> None:
    """Draw every region's tint and every repeat's and scan's brackets."""
    for n, border in enumerate(sheet.borders):
        section = border.section
        first, last = border.columns[0], border.columns[-1]
        opens, closes = (step if _there(sheet, border, step) else None for step in (section.enter, section.exit))
        opened = sheet.slots[id(opens)] if opens is not None else None
        border.x0 = sheet.left[first] if opened is None else opened.opening if section.repeat else opened.middle
        border.x1 = sheet.slots[id(closes)].middle if closes is not None else sheet.right[last]
        if not section.repeat:
            begins = opens is not None or section.enter is None  # a table's block has nothing that enters
            _region(sheet, border, f"region{n}", begins, opens is not None and closes is not None)
        if section.repeat and opens is not None:
            _bracket(sheet, border, sheet.slots[id(opens)], way=1)
        if section.repeat and closes is not None:
            _bracket(sheet, border, sheet.slots[id(closes)], way=-1)
            _times(sheet, border, border.x1 - 4)
        if section.loops and not (section.round and opens is not None and closes is not None):
            if opens is not None and closes is not None:
                _loops(sheet, section, border.x0 + 4, border.x1 - 4, border.bottom - 4)
            elif opens is not None or closes is not None:
                _loops_elsewhere(sheet, border, opens is not None)


def draw_rounds(sheet: Canvas) -> None:
    """What goes round in a repeat: a line at the foot of its brackets leads it back. Words stand in it where there is
    room beneath the glyphs, and what is written later wants none of it."""
    wanted = [_around(x, y, width(text, size), size) for x, ys, text, size, _ in sheet.later for y in ys]
    wanted += [_around(*at, wide, size) for _, size, places, wide, *_ in sheet.notes for at in places[:1]]
    for border in sheet.borders:
        section, step = border.section, border.section.exit
        if not section.round or step is None or not all(_there(sheet, border, s) for s in (section.enter, step)):
            continue
        a, b, y, id_ = border.x0 + 4, border.x1 - 4, border.bottom - 1, sheet.slots[id(step)].id
        foot, text = a + HEAD[1] / 2, _going(section)
        sheet.step = step
        sheet.head(f"{id_}_lh", foot, y, leftwards=True)
        sheet.point(f"{id_}_lt", (b, y))
        half, middle = width(text, theme.CAPTION) / 2 + 4, (a + b) / 2
        places = (middle + k * dx for dx in range(0, max(0, int(b - middle - half - 8)), 4) for k in (1, -1))
        boxes = ((x, (x - half, y - 6.5, x + half, y + 6.5)) for x in places)
        x = next((x for x, box in boxes if sheet.occupied.free(box) and not any(_meet(box, b) for b in wanted)), None)
        ends = [(b, f"{id_}_lt"), (foot, f"{id_}_lh")]
        if x is not None:
            ends[1:1] = [(x + half, f"{id_}_l0"), (x - half, f"{id_}_l1")]
            sheet.write(x, y, text, theme.CAPTION, cls="note")
        for (x0, tail), (x1, head) in zip(ends[::2], ends[1::2], strict=True):
            for at, name in ((x0, tail), (x1, head)):
                if name not in sheet.placed:
                    sheet.point(name, (at, y))
            _back(sheet, tail, head, x0, x1, y)


def _around(x: float, y: float, wide: float, high: float) -> Box:
    return x - wide / 2 - 2, y - high / 2 - 1, x + wide / 2 + 2, y + high / 2 + 1


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _back(sheet: Canvas, tail: str, head: str, x0: float, x1: float, y: float) -> None:
    chain = [(x0, y), *straight((x0, y), (x1, y))]
    attributes = {"color": sheet.theme.ink, "penwidth": "1.15", "class": "scalar", "tooltip": "the next step's"}
    sheet.picture.edges.append(Edge(tail, head, chain, attributes))
    sheet.occupied.trace(sampled(chain))


def _there(sheet: Canvas, border: Border, step: DrawStep | None) -> bool:
    """Whether a section's end is in this row."""
    return step is not None and sheet.column_of.get(id(step)) in border.columns


def _region(sheet: Canvas, border: Border, key: str, opened: bool, whole: bool) -> None:
    """The tint of an open block, with its title. opened: whether it begins in this row; whole: and ends there, too."""
    section, x0, x1 = border.section, border.x0, border.x1
    box = (x0, border.top, x1, border.bottom)
    names = (section.title,) if opened else (section.title + ", continued", section.title)
    name = next((n for n in (*names, "") if width(roman(n), theme.BLOCK) < x1 - x0 - 2), "")
    at, cls = ((x0 + x1) / 2, border.top + 9), f"block-{section.name}" if section.name else ""
    cluster = Cluster(key, box, _named(section, name), at, _fill(section, sheet.theme), section.title, theme.BLOCK, cls)
    sheet.picture.clusters.append(cluster)
    sheet.regions.setdefault(id(section), []).append(cluster)
    if name:
        sheet.titles.append((cluster, x0, x1, whole))
    sheet.include(box)


def _named(section: Section, name: str) -> Rich:
    """The title of a region; of a loop over tiles it begins with the letter of the axis that streams."""
    axis = section.streams
    letter = () if axis is None else axis_label(axis.label, is_width=False)
    if axis is None or not name or any(run.shift for run in letter):
        return roman(name)
    return roman(plain(letter) + name.removeprefix(axis.name))  # of one style: a renderer measures each by itself


def _bracket(sheet: Canvas, border: Border, slot: Slot, way: int) -> None:
    """way: 1 for that which opens, -1 for that which closes."""
    top, bottom = border.top, border.bottom
    x, high = slot.opening + 4 if way > 0 else slot.middle - 4, bottom - top
    a, b = f"{slot.id}_t", f"{slot.id}_b"
    sheet.point(a, (x, top))
    sheet.point(b, (x, bottom))
    bulge = x - 9 * way
    chain = [(x, top), (bulge, top + 0.18 * high), (bulge, bottom - 0.18 * high), (x, bottom)]
    look = {"color": sheet.theme.ink, "penwidth": "2.4", "class": "repeat"}
    sheet.picture.edges.append(Edge(a, b, chain, {**look, "tooltip": f"repeat {border.section.title}"}))
    sheet.occupied.trace(sampled(chain))
    sheet.include((x - 9, top, x + 9, bottom))


def _times(sheet: Canvas, border: Border, x: float) -> None:
    """Behind the closing bracket: how often, or along what."""
    top, bottom, along = border.top, border.bottom, border.section.along
    text = roman(f"×{border.section.title}")
    if along is not None:
        text = (*roman("each "), *axis_label(along.label, is_width=along.is_width))
    wide = width(text, theme.COUNT)
    half = wide / 2
    places = [(x + 5 + half, top + 1), (x + 5 + half, top - 8), (x + 3, top - 9), (x - half, top - 9)]
    places += [(x + 5 + half, bottom), (x + 5 + half, bottom + 8), (x, bottom + 10)]
    # If another bracket opens right behind this one: above or below it, or inside the brackets.
    places += [(x + k * half, y) for y in (top - 17, bottom + 19) for k in (1, 0, -1)]
    places += [(x - 12 - half, y) for y in (top + 7, bottom - 7)]
    over = along.label if along is not None and barred(along.label) else ""
    sheet.notes.append((text, theme.COUNT, places, wide, over, True))


def _loops_elsewhere(sheet: Canvas, border: Border, opens: bool) -> None:
    """What goes round where the other bracket is in another row: it is said in words."""
    names, bottom = border.section.loops, border.bottom
    text = _going(border.section) if opens else (*roman("next "), *listed(names))
    x, wide = border.x0 if opens else border.x1, width(text, theme.CAPTION)
    places = [(x + side * (10 + wide / 2), bottom - 7) for side in ((1, -1) if opens else (-1, 1))]
    along = range(18, int(border.x1 - border.x0 - wide) - 10, 8) if border.section.streams is not None else ()
    places += [(x + (k + wide / 2) * (1 if opens else -1), bottom - 7) for k in along]
    sheet.notes.append((text, theme.CAPTION, [*places, (x, bottom + 9)], wide, "", not border.section.round))


def _going(section: Section) -> Rich:
    """The state of a scan has its name; what goes round in a repeat needs none where it is alone."""
    alone = len(section.loops) == 1
    names = () if alone and section.along is None else (*listed(section.loops), *roman(" "))
    return (*names, *roman("goes round" if alone else "go round"))


def _fill(section: Section, colors: Theme) -> str:
    """The tint of a region: that of its block, wherever it is drawn. Where the region around it has the same one (there
    are more blocks than tints, or no colours), the next: else no border would be seen."""
    around = section.parent
    while around is not None and around.repeat:
        around = around.parent
    taken = _fill(around, colors) if around is not None else ""
    if section.tint is None:
        return colors.part if colors.part != taken else colors.region[-1]
    own = (colors.region[(section.tint + k) % len(colors.region)] for k in (0, 1))
    return next(fill for fill in own if fill != taken)


def _loops(sheet: Canvas, section: Section, a: float, b: float, y: float) -> None:
    """The state of a scan or a loop over tiles: a line beneath leads it back from the closing bracket to the opening
    one."""
    text = _going(section) if section.streams is None else (*roman("keeps "), *listed(section.loops))
    if width(text, theme.CAPTION) > b - a - 16:
        text = listed(section.loops)
    wide = width(text, theme.CAPTION)
    step = section.exit
    assert step is not None
    tail, head = f"{sheet.slots[id(step)].id}_lt", f"{sheet.slots[id(step)].id}_lh"
    sheet.point(tail, (b, y))
    sheet.head(head, a + HEAD[1] / 2, y, leftwards=True)
    _back(sheet, tail, head, b, a + HEAD[1] / 2, y)
    middle = (a + b) / 2
    places = [(middle + k * dx, y + dy) for dy in (-8.0, 9.0) for dx in range(0, int((b - a) / 2), 4) for k in (1, -1)]
    sheet.notes.append((text, theme.CAPTION, places, wide, "", True))
