"""Wires, dashed lines between tensors, and dotted lines between glyphs that share weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..base import theme
from ..base.curves import bend, sampled, straight
from ..base.picture import Box, Edge, Point
from ..canvas.drawing import HEAD, Canvas, Stretch
from ..layout.wires import Dash, Wire
from ..scene.steps import DrawStep, StepKind
from .bends import separate

_DASH = 24.0  # a dashed line shorter than this many points is not drawn


def draw_row(sheet: Canvas, row: Sequence[int]) -> None:
    """The wires of one row."""
    wires: dict[int, Wire] = {}
    for j in row:
        for track in (*sheet.columns[j].left, *sheet.columns[j].right):
            if isinstance(track, Wire):
                wires[track.number] = track
    span = set(row)
    routes = [_route(sheet, wire, [j for j in row if j in wire.y], row, span) for wire in wires.values()]
    separate([route.chain for route in routes])
    for route in routes:
        _wire(sheet, route, row)


@dataclass(slots=True)
class _Route:
    """Of a wire in one row: the glyphs at its ends, its curves, its level stretches (from, to, y).

    out, met, on: whether it ends as an output, in a bend to a dot, or to go on in another row.
    """

    wire: Wire
    tail: str
    head: str
    chain: list[Point]
    runs: list[tuple[float, float, float]]
    out: bool
    met: bool
    on: bool


def _route(sheet: Canvas, wire: Wire, columns: Sequence[int], row: Sequence[int], span: set[int]) -> _Route:
    start, end = sheet.starts.get(wire.number), sheet.ends.get(wire.number)
    here = start is not None and start.column in span
    ends_here = end is not None and end.column in span
    color = sheet.color(wire)
    first, last = columns[0], columns[-1]
    if here and start is not None:
        tail = start.node
        y = wire.y[first] if not start.gap else sheet.at[start.node][1]
        chain: list[Point] = [(start.x, y)]
    else:
        tail = f"w{wire.number}s{row[0]}"
        sheet.head(tail, sheet.left[first] + HEAD[1] / 2, wire.y[first], color)
        chain = [(sheet.left[first] + HEAD[1] / 2, wire.y[first])]
    begin = chain[0][0] + (0.0 if here else HEAD[1] / 2)
    runs: list[tuple[float, float, float]] = []

    def level(to: float) -> None:
        """Go on level to this x."""
        if to > chain[-1][0] + 0.01:
            chain.extend(straight(chain[-1], (to, chain[-1][1])))

    flat_from = begin
    for j in columns:
        y = wire.y[j]
        if abs(y - chain[-1][1]) > 0.01:
            edge = max(sheet.right[j - 1] if j - 1 in span and j - 1 in wire.y else chain[-1][0], chain[-1][0])
            level(edge)
            runs.append((flat_from, chain[-1][0], chain[-1][1]))
            chain.extend(bend(chain[-1], (sheet.left[j], y)))
            flat_from = sheet.left[j]
    if ends_here and end is not None:
        head = end.node
        if end.gap:
            level(sheet.right[last])
        else:
            level(end.x)
        runs.append((flat_from, chain[-1][0], chain[-1][1]))
        if end.tail is not None:
            chain.extend(end.tail)
        elif end.to is not None:
            chain.extend(bend(chain[-1], end.to))
    else:
        head = f"w{wire.number}e{row[0]}"
        x = sheet.right[last] - HEAD[1] / 2
        level(x)
        runs.append((flat_from, x, chain[-1][1]))
        sheet.head(head, x, chain[-1][1], color)
    if len(chain) < 4:
        chain.extend(straight(chain[-1], (chain[-1][0] + 0.01, chain[-1][1])))
    out = ends_here and end is not None and any(s.kind is StepKind.SINK for s in sheet.columns[end.column].steps)
    met = ends_here and end is not None and end.to is not None
    return _Route(wire, tail, head, chain, runs, out, met, not ends_here)


def _wire(sheet: Canvas, route: _Route, row: Sequence[int]) -> None:
    wire, chain, color = route.wire, route.chain, sheet.color(route.wire)
    axis = wire.axis
    kind = wire.kind
    attributes = {
        "color": color,
        "penwidth": f"{theme.PENS[kind]:g}",
        "class": f"wire w{wire.number} {kind}" + (f" axis-{axis.name}" if axis is not None else ""),
        "id": f"wire{wire.number}" + ("" if row[0] == 0 else f"r{row[0]}"),
        "tooltip": f"{axis.name} ({kind})" if axis is not None else "no axes",
    }
    sheet.picture.edges.append(Edge(route.tail, route.head, chain, attributes))
    sheet.occupied.trace(sampled(chain))
    sheet.curves.append((wire, chain))
    sheet.rows_of.append(row)
    x0, _, x1, y1 = sheet.extent
    # Needed for a wire without axes: it has no label above it that would keep the title away.
    sheet.include((x0, min(y for _, y in chain), x1, y1))
    runs = [run for run in route.runs if run[1] - run[0] > 1]
    for k, (a, b, y) in enumerate(runs):
        last = k == len(runs) - 1
        sheet.runs.append(
            Stretch(wire, a, b, y, k == 0, out=route.out and last, met=route.met and last, on=route.on and last)
        )


def draw_dashes(sheet: Canvas) -> None:
    """Dashed lines between tensors; they end where the tensors meet."""
    for row in sheet.rows:
        seen: dict[int, Dash] = {}
        for j in row:
            for track in (*sheet.columns[j].left, *sheet.columns[j].right):
                if isinstance(track, Dash):
                    seen[id(track)] = track
        for dash in seen.values():
            columns = [j for j in row if j in dash.y]
            groups: list[list[int]] = []
            for j in columns:
                if groups and groups[-1][-1] == j - 1 and _falls_free(sheet, dash, j - 1, j):
                    groups[-1].append(j)
                else:
                    groups.append([j])
            for group in groups:
                _dash(sheet, dash, group)


def _falls_free(sheet: Canvas, dash: Dash, a: int, b: int) -> bool:
    """Whether a dashed line may go on to the next column: if it stays level, or bends where nothing else is drawn."""
    start, end = (sheet.right[a], dash.y[a]), (sheet.left[b], dash.y[b])
    if abs(start[1] - end[1]) <= 0.01:
        return True
    bent = sampled([start, *bend(start, end)])
    return all(sheet.occupied.free((x - 2, y - 2, x + 2, y + 2)) for x, y in bent)


def _dash(sheet: Canvas, dash: Dash, group: Sequence[int]) -> None:
    first, last = group[0], group[-1]
    x0 = sheet.left[first]
    if dash not in sheet.columns[first].left:
        x0 = min(
            (
                sheet.starts[s.number].x
                for s in sheet.columns[first].right
                if isinstance(s, Wire)
                and sheet.columns[first].strands.get(s.number) == dash.strand
                and s.number in sheet.starts
                and sheet.starts[s.number].column == first
            ),
            default=sheet.right[first],
        )
    x1 = sheet.right[last]
    if dash not in sheet.columns[last].right:
        for step in sheet.columns[last].steps:
            meeting = sheet.meetings[id(step)]
            if len(step.ins) > 1 and any(
                sheet.columns[last].strands.get(w.number) == dash.strand for own in meeting.ins for w in own
            ):
                x1 = sheet.slots[id(step)].x0 - (0 if step.kind is StepKind.BOX else 4)
    chain: list[Point] = [(x0, dash.y[first])]
    for a, b in pairwise(group):
        if abs(dash.y[a] - dash.y[b]) > 0.01:
            if sheet.right[a] > chain[-1][0]:
                chain.extend(straight(chain[-1], (sheet.right[a], dash.y[a])))
            chain.extend(bend(chain[-1], (sheet.left[b], dash.y[b])))
    if x1 > chain[-1][0]:
        chain.extend(straight(chain[-1], (x1, chain[-1][1])))
    if len(chain) < 4 or chain[-1][0] - chain[0][0] < _DASH:
        return
    a_id, b_id = f"d{dash.strand}_{first}a", f"d{dash.strand}_{first}b"
    sheet.point(a_id, chain[0])
    sheet.point(b_id, chain[-1])
    attributes = {"color": sheet.theme.ink, "penwidth": "1.4", "style": "dashed", "class": "dash", "tooltip": "and"}
    sheet.picture.edges.append(Edge(a_id, b_id, chain, attributes))
    sheet.occupied.trace(sampled(chain))


def draw_links(sheet: Canvas) -> None:
    """A dotted line between two glyphs of a row that share their weights: from each glyph to the nearest earlier one
    that can be reached without touching other glyphs."""
    boxes = {id(step): box for _, box, step in reversed(sheet.glyphs)}
    for row in sheet.rows:
        earlier: dict[int, list[Box]] = {}
        for j in row:
            for step in sheet.columns[j].steps:
                if not step.weights or id(step) not in boxes:
                    continue
                own = boxes[id(step)]
                others = earlier.setdefault(step.weights, [])
                any(_link(sheet, other, own, step) for other in sorted(others, key=lambda box: _apart(box, own)))
                others.append(own)


def _apart(a: Box, b: Box) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _link(sheet: Canvas, a: Box, b: Box, step: DrawStep) -> bool:
    """Draw the dotted line between two glyphs, if there is room for it; returns whether there was."""
    xa, xb = (a[0] + a[2]) / 2, (b[0] + b[2]) / 2
    if abs(xa - xb) < 2:  # one under the other
        upper, lower = (a, b) if a[1] < b[1] else (b, a)
        chains = [[(xa, upper[3]), *straight((xa, upper[3]), (xa, lower[1]))]]
    else:
        chains = []
        for deep in (16.0, 26.0, 40.0, 60.0):
            chains.append([(xa, a[3]), (xa, max(a[3], b[3]) + deep), (xb, max(a[3], b[3]) + deep), (xb, b[3])])
            chains.append([(xa, a[1]), (xa, min(a[1], b[1]) - deep), (xb, min(a[1], b[1]) - deep), (xb, b[1])])
    for chain in chains:
        if all(sheet.occupied.clear(p) for p in sampled(chain)[2:-2]):
            sheet.stroke(f"{sheet.slots[id(step)].id}_share", chain, sheet.theme.ink, "1", "shared")
            sheet.picture.edges[-1].attributes.update(style="dotted", tooltip="the same weights")
            return True
    return False
