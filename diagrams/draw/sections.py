"""Tinted regions, the brackets of repeats and scans, and the text beside brackets."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import theme
from ..base.curves import sampled, straight
from ..base.names import axis_label, barred, listed
from ..base.picture import Cluster, Edge
from ..base.text import Rich, roman, width
from ..base.theme import Theme
from ..canvas.drawing import HEAD, Canvas
from ..layout.wires import Wire
from ..scene.steps import DrawStep, Section, StepKind


def draw_sections(sheet: Canvas) -> None:
    """Draw every region's tint and every repeat's and scan's brackets."""
    for n, border in enumerate(sheet.borders):
        section = border.section
        first, last = border.columns[0], border.columns[-1]
        opens = section.enter is not None and sheet.column_of.get(id(section.enter)) in border.columns
        closes = section.exit is not None and sheet.column_of.get(id(section.exit)) in border.columns
        x0 = sheet.slots[id(section.enter)].middle if opens else sheet.left[first]
        x1 = sheet.slots[id(section.exit)].middle if closes else sheet.right[last]
        border.x0, border.x1 = x0, x1
        top, bottom = border.top, border.bottom
        if not section.repeat:
            opened = opens or section.enter is None  # a table's block has nothing that enters
            names = (section.title,) if opened else (section.title + ", continued", section.title)
            name = next((n for n in (*names, "") if width(roman(n), theme.BLOCK) < x1 - x0 - 2), "")
            title = roman(name)
            fill = _fill(section, sheet.theme)
            at = ((x0 + x1) / 2, top + 9)
            cls = f"block-{section.name}" if section.name else ""
            cluster = Cluster(f"region{n}", (x0, top, x1, bottom), title, at, fill, section.title, theme.BLOCK, cls)
            sheet.picture.clusters.append(cluster)
            if name:
                sheet.titles.append((cluster, x0, x1, opens and closes))
            sheet.include((x0, top, x1, bottom))
            continue
        for opening, there in ((True, opens), (False, closes)):
            if not there:
                continue
            step = section.enter if opening else section.exit
            slot = sheet.slots[id(step)]
            x = slot.middle + (4 if opening else -4)
            bulge = -9 if opening else 9
            a, b = f"{slot.id}_t", f"{slot.id}_b"
            sheet.point(a, (x, top))
            sheet.point(b, (x, bottom))
            high = bottom - top
            chain = [(x, top), (x + bulge, top + 0.18 * high), (x + bulge, bottom - 0.18 * high), (x, bottom)]
            sheet.picture.edges.append(
                Edge(
                    a,
                    b,
                    chain,
                    {
                        "color": sheet.theme.ink,
                        "penwidth": "2.4",
                        "class": "repeat",
                        "tooltip": f"repeat {section.title}",
                    },
                )
            )
            sheet.occupied.trace(sampled(chain))
            sheet.include((x - 9, top, x + 9, bottom))
            if not opening:
                text = roman(f"×{section.title}")
                if section.along is not None:
                    text = (*roman("each "), *axis_label(section.along.label, is_width=section.along.is_width))
                wide = width(text, theme.COUNT)
                half = wide / 2
                places = [(x + 5 + half, top + 1), (x + 5 + half, top - 8), (x + 3, top - 9), (x - half, top - 9)]
                places += [(x + 5 + half, bottom), (x + 5 + half, bottom + 8), (x, bottom + 10)]
                # If another bracket opens right behind this one: above or below it, or inside the brackets.
                places += [(x + k * half, y) for y in (top - 17, bottom + 19) for k in (1, 0, -1)]
                places += [(x - 12 - half, y) for y in (top + 7, bottom - 7)]
                over = section.along.label if section.along is not None and barred(section.along.label) else ""
                sheet.notes.append((text, theme.COUNT, places, wide, over))
        if section.loops and opens and closes:
            _loops(sheet, section, x0 + 4, x1 - 4, bottom - 4)
        elif section.loops and (opens or closes):  # the other bracket is in another row: say it in words
            own = listed(section.loops)
            goes = " goes round" if len(section.loops) == 1 else " go round"
            text = (*own, *roman(goes)) if opens else (*roman("next "), *own)
            x, wide = x0 if opens else x1, width(text, theme.CAPTION)
            places = [(x + side * (10 + wide / 2), bottom - 7) for side in ((1, -1) if opens else (-1, 1))]
            sheet.notes.append((text, theme.CAPTION, [*places, (x, bottom + 9)], wide, ""))


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
    """The state of a scan: a line beneath leads it back from the closing bracket to the opening one."""
    text = listed(section.loops)
    wide = width(text, theme.CAPTION)
    step = section.exit
    assert step is not None
    tail, head = f"{sheet.slots[id(step)].id}_lt", f"{sheet.slots[id(step)].id}_lh"
    sheet.point(tail, (b, y))
    sheet.head(head, a + HEAD[1] / 2, y, leftwards=True)
    chain = [(b, y), *straight((b, y), (a + HEAD[1] / 2, y))]
    attributes = {"color": sheet.theme.ink, "penwidth": "1.15", "class": "scalar", "tooltip": "the next step's"}
    sheet.picture.edges.append(Edge(tail, head, chain, attributes))
    sheet.occupied.trace(sampled(chain))
    middle = (a + b) / 2
    places = [(middle + k * dx, y + dy) for dy in (-8.0, 9.0) for dx in range(0, int((b - a) / 2), 4) for k in (1, -1)]
    sheet.notes.append((text, theme.CAPTION, places, wide, ""))


def write_outside(sheet: Canvas) -> None:
    """Write "same in every pass" at values that enter a repeat from outside."""
    for j, column in enumerate(sheet.columns):
        for step in column.steps:
            if step.kind is not StepKind.ENTER or step.border is None or not step.border.outside:
                continue
            first = len(step.ins) - step.border.outside
            if not _beside(sheet, j, [own[0] for own in sheet.meetings[id(step)].ins[first:]]):
                _beneath(sheet, step, listed(t.name for t in step.ins[first:] if t.name))


def _beside(sheet: Canvas, j: int, wires: Sequence[Wire]) -> bool:
    """Write it over one of the wires, behind the bracket. Returns whether there was room."""
    text = roman("same in every pass")
    wide = width(text, theme.CAPTION)
    for wire in wires:
        runs = (r for r in sheet.runs if r.wire is wire and r.x1 > sheet.right[j] and abs(r.y - wire.y[j]) < 1)
        run = next(runs, None)
        if run is None:
            continue
        x, end = sheet.right[j] + 3 + wide / 2, run.x1 - wide / 2
        while x < end:
            if sheet.occupied.free((x - wide / 2 - 2, wire.y[j] - 13.5, x + wide / 2 + 2, wire.y[j] - 2.5)):
                sheet.write(x, wire.y[j] - 8, text, theme.CAPTION, cls="note")
                return True
            x += 4
    return False


def _beneath(sheet: Canvas, step: DrawStep, names: Rich) -> None:
    """Write it near the lower end of the brackets, inside them or beneath them."""
    text = (*names, *roman((": " if names else "") + "same in every pass"))
    wide = width(text, theme.CAPTION)
    slot = sheet.slots[id(step)]
    border = next(b for b in sheet.borders if b.section is step.border and slot.column in b.columns)
    for y in (border.bottom - 7, border.bottom + 7):
        for k in range(12):
            x = border.x0 + 14 + wide / 2 + 8 * k
            if sheet.occupied.free((x - wide / 2 - 2, y - 6.5, x + wide / 2 + 2, y + 6)):
                sheet.write(x, y, text, theme.CAPTION, cls="note")
                return
