"""What must hold of every figure, whatever it shows: `faults` lists what does not."""

from __future__ import annotations

import itertools

from attnc.diagrams.base.curves import sampled
from attnc.diagrams.base.picture import Box, Node, Point
from attnc.diagrams.draw.bends import crossings_of, pieces_of, upon
from attnc.diagrams.draw.sheet import Sheet
from attnc.diagrams.layout.wires import Wire
from attnc.diagrams.scene.steps import StepKind


def overlap(a: Box, b: Box, slack: float = 0.5) -> bool:
    return a[0] + slack < b[2] and b[0] + slack < a[2] and a[1] + slack < b[3] and b[1] + slack < a[3]


def within(a: Box, b: Box) -> bool:
    return b[0] - 1 <= a[0] and b[1] - 1 <= a[1] and a[2] <= b[2] + 1 and a[3] <= b[3] + 1


def box_of(node: Node) -> Box:
    wide, high = float(node.attributes["width"]) / 2, float(node.attributes["height"]) / 2
    return node.at[0] - wide, node.at[1] - high, node.at[0] + wide, node.at[1] + high


def is_note(node: Node) -> bool:
    return node.attributes.get("class") == "note" and node.attributes["shape"] == "box"


def faults(sheet: Sheet) -> list[str]:
    out: list[str] = []
    boxes = [(id, box) for id, box, _ in sheet.glyphs]
    free = [(text, box) for text, box in sheet.texts if not any(within(box, b) for _, b in boxes)]
    # 1. Labels lie on nothing.
    for i, (text, box) in enumerate(free):
        for other, b in free[i + 1 :]:
            if overlap(box, b):
                out.append(f"text {text!r} on text {other!r}")
        for id, b in boxes:
            if overlap(box, b):
                out.append(f"text {text!r} on glyph {id}")
    traced = [(wire, sampled(chain, 2.0)) for wire, chain in sheet.curves]
    curves = [("wire " + (w.axis.name if w.axis else "-"), points) for w, points in traced]
    curves += [("bracket", sampled(e.points)) for e in sheet.picture.edges if e.attributes["class"] == "repeat"]
    dashes = [("dash", sampled(e.points)) for e in sheet.picture.edges if e.attributes["class"] == "dash"]
    for text, (x0, y0, x1, y1) in free:
        for name, points in curves + dashes:
            if any(x0 + 1 < x < x1 - 1 and y0 + 1 < y < y1 - 1 for x, y in points):
                out.append(f"text {text!r} on a {name} at {x0:.0f},{y0:.0f}")
    # Nothing lies on a note but its own text.
    notes = [(n.id, box_of(n), n.attributes["tooltip"]) for n in sheet.picture.nodes if is_note(n)]
    for k, (id, own, said) in enumerate(notes):
        for text, box in sheet.texts:
            if overlap(own, box) and not (within(box, own) and text.replace("*", "") in said.replace("*", "")):
                out.append(f"text {text!r} on {id}")
        for other, box in [*boxes, *((other, box) for other, box, _ in notes[k + 1 :])]:
            if overlap(own, box):
                out.append(f"glyph {other} on {id}")
        for name, points in curves + dashes:
            if any(own[0] < x < own[2] and own[1] < y < own[3] for x, y in points):
                out.append(f"a {name} on {id}")
    # 2. A glyph covers only the wires that it names.
    for id, (x0, y0, x1, y1), step in sheet.glyphs:
        meeting = sheet.meetings[id_of(step)]
        own = {w.number for ws in (*meeting.ins, *meeting.outs) for w in ws}
        if step.kind in (StepKind.THROUGH, StepKind.ON):
            had, has = {w.number for w in meeting.ins[0]}, {w.number for w in meeting.outs[0]}
            through = (
                (had & has)
                if step.kind is StepKind.THROUGH
                else {w.number for w in meeting.ins[0] if w.axis not in step.on}
            )
            own -= through - {w.number for w in meeting.ins[0] if w.axis in step.each}
        for wire, points in traced:
            if wire.number not in own and any(x0 + 1 < x < x1 - 1 and y0 + 1 < y < y1 - 1 for x, y in points):
                out.append(f"wire {wire.axis.name if wire.axis else '-'} runs through {id} ({step.tip})")
    for i, (id, box, step) in enumerate(sheet.glyphs):
        for other, b, s in sheet.glyphs[i + 1 :]:
            if s is not step and overlap(box, b):
                out.append(f"glyph {id} on glyph {other}")
    for id, (_, y0, _, y1), step in sheet.glyphs:  # the mark of what comes into a loop
        if id.rpartition("_m")[2].isdigit() and step.enters:
            outs, column = sheet.meetings[id_of(step)].outs, sheet.column_of[id_of(step)]
            mine = {w.number for w in outs[int(id.rpartition("_m")[2])]}
            if {w.number for own in outs for w in own if y0 < w.y[column] < y1} != mine:
                out.append(f"the mark {id} does not stand on its own wires")
    clusters = sheet.picture.clusters
    for k, region in enumerate(clusters):
        x, y = region.label_at
        if region.label and any(c.box[0] < x < c.box[2] and c.box[1] < y < c.box[3] for c in clusters[k + 1 :]):
            out.append(f"something covers the title of {region.id}")
    # 3. No wire ends in nothing, and wires never run backwards.
    for wire, chain in sheet.curves:
        if any(b[0] < a[0] - 0.01 for a, b in zip(chain[::3], chain[3::3], strict=False)):
            out.append(f"wire {wire.axis.name if wire.axis else '-'} runs backwards")
    placed = {n.id for n in sheet.picture.nodes}
    out += [f"edge {e.tail} -> {e.head} ends in nothing" for e in sheet.picture.edges if {e.tail, e.head} - placed]
    ids = [n.id for n in sheet.picture.nodes]
    out += [f"two nodes {id}" for id in sorted({i for i in ids if ids.count(i) > 1})] if len(ids) < 3000 else []
    # 4. In each column order and least distances hold; a tensor's wires are neighbours where it is born.
    for j, column in enumerate(sheet.columns):
        for side in (column.left, column.right):
            ys = [track.y[j] for track in side]
            if any(b - a < 5 for a, b in itertools.pairwise(ys)):
                out.append(f"lanes too close in column {j}")
        for step in column.steps:
            for wires in sheet.meetings[id_of(step)].outs:
                at = [column.right.index(w) for w in wires if w in column.right]
                if at and sorted(at) != list(range(min(at), min(at) + len(at))):
                    out.append(f"wires apart at {step.tip}")
    # 5. The page.
    x0, _, x1, _ = sheet.extent
    if (x1 - x0) * sheet.scale > sheet.page + 1:
        out.append("wider than the page")
    # 6. Every result is labelled at its end.
    for column in sheet.columns:
        for step in column.steps:
            if step.kind is StepKind.SINK:
                ends = [w for ws in sheet.meetings[id_of(step)].ins for w in ws]
                out += [f"no label at output {w.axis.name}" for w in ends if w.axis and not _labelled(sheet, w)]
    # 7. The brackets of a scan lie around every glyph inside.
    for border in sheet.borders:
        for id, (_, y0, _, y1), step in sheet.glyphs:
            inside = border.section.along and step.section is not None and step.section.inside(border.section)
            if inside and sheet.column_of[id_of(step)] in border.columns and not border.top < y0 < y1 < border.bottom:
                out.append(f"glyph {id} hangs out of {border.section.title!r}")
    # 8. What goes round a scan is fed back beneath everything in it.
    backs = [e.points for e in sheet.picture.edges if e.attributes.get("tooltip") == "the next step's"]
    for points in backs:
        for id, (x0, y0, x1, y1), _ in sheet.glyphs:
            if any(x0 < x < x1 and y0 < y < y1 for x, y in sampled(points)):
                out.append(f"what is fed back runs through {id}")
    return out


def id_of(step: object) -> int:
    return id(step)


def _labelled(sheet: Sheet, wire: Wire) -> bool:
    end = sheet.ends[wire.number]
    y = wire.y[end.column]
    return any(box[0] > end.x - 90 and abs((box[1] + box[3]) / 2 - y) < 14 for _, box in sheet.texts)


def crossings(sheet: Sheet) -> int:
    """How often wires cross, their common ends apart."""
    traced = [sampled(chain, 2.0) for _, chain in sheet.curves]
    count = 0
    for a, b in itertools.combinations(traced, 2):
        lo, hi = max(a[0][0], b[0][0]) + 1, min(a[-1][0], b[-1][0]) - 1
        signs = []
        x = lo
        while x < hi:
            d = _height(a, x) - _height(b, x)
            if abs(d) > 1:
                signs.append(d > 0)
            x += 2
        count += sum(p != q for p, q in itertools.pairwise(signs))
    return count


def piled(chains: list[list[Point]]) -> list[Point]:
    """The places where three wires cross in one point."""
    pieces, own = pieces_of(chains)
    found = [crossing for bend in own for crossing in crossings_of(chains, bend, pieces)]
    return sorted({a[:2] for k, a in enumerate(found) for b in found[k + 1 :] if upon(a, b)})


def bends(sheet: Sheet) -> int:
    """How many pieces of wires are not level."""
    return sum(
        abs(a[1] - b[1]) > 0.5 for _, chain in sheet.curves for a, b in zip(chain[::3], chain[3::3], strict=False)
    )


def _height(points: list[tuple[float, float]], x: float) -> float:
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if x0 <= x <= x1:
            return y0 if x1 - x0 < 1e-9 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1]
