"""Where everything in a figure lies: rows, the height (y) of each wire, the x of each column. Points, y downwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...compiler.sizes.axes import Axis
from ..base import theme
from ..base.paper import Paper
from ..base.text import width
from ..scene.steps import DrawStep, Scene, Section, StepKind
from . import lanes, rows
from .columns import columns_of
from .glyph_sizes import Slot, bar_note, born, covered, extents, gone, label_of, measure, through
from .order import order_of
from .wires import Column, Dash, Lane, Meeting, Track, Weave, Wire, weave

HEAD = 7.0  # the length of the arrowhead of a wire that goes on in another row
PAD = 3.6  # left free around the figure (DOT's `pad`)
_APART = 27.0  # between rows
_TRIES = 4  # ways to fold the figure into rows, for each way to place inputs
_STRAIGHT = 20.0  # what each point costs by which a wire changes its height; for a dashed line it is 2
_KIN = 0.6  # what each point more between two wires of one tensor costs, in each column
_BRACKET = (15.0, 15.0)  # how far repeat brackets go beyond the wires inside, above and below
_REGION = (30.0, 14.0)  # the same for tinted regions: the title stands above
_LOOP = 17.0  # room beneath a scan for the line that feeds its state back
_NAMED = 24.0  # a glyph that goes further up than this has a name over it
_JOINT = 12.0  # between the start of a folded row and its first column, about
_FOOT = 16.0  # and one that goes further down has text beneath it
_INSIDE = 8.0  # between a border and the next one around it
_OUTSIDE = 9.0  # between a border and a wire or dashed line that is not inside it


@dataclass(slots=True)
class Border:
    """A section's extent in one row."""

    section: Section
    columns: list[int]
    top: float
    bottom: float
    x0: float = 0.0
    x1: float = 0.0


@dataclass(frozen=True, slots=True)
class Placing:
    """Where inputs stand: all before a repeat that does not need them, or not; and which just before their readers."""

    early: bool = False
    late: frozenset[int] = frozenset()


@dataclass(slots=True)
class Folded:
    """One way to fold, found by these widths of columns. `parted`: inputs in another row than their first reader."""

    placing: Placing
    woven: Weave
    stranded: list[int]
    starts: list[float]
    widths: list[float]
    cost: float = 0.0
    parted: frozenset[int] = frozenset()


class FigureLayout:
    """The scene on a page.

    rows:     the columns (by number) of each row.
    left, right: sides of each column.
    heights:  of each row, the y at which it begins and at which the next may begin.
    slots:    of each step, where its glyph goes.
    borders:  the extents of sections, row by row.
    """

    def __init__(self, scene: Scene, paper: Paper, *, sizes: bool = False) -> None:
        self.scene = scene
        self.page = paper.width - 2 * PAD
        self.columns: list[Column] = []
        self.rows: list[list[int]] = []
        self.borders: list[Border] = []
        self.meetings: dict[int, Meeting] = {}
        length = self.page * theme.CAPTION / paper.least
        best = self._tried(Placing(), length, sizes)
        if len(self.rows) > 1:
            best = self._placed(best, length, sizes)
        self._fold(best, best.widths, length, starts=10 if len(self.rows) < 12 else 3)
        self._widths()

    def keep(self, start: int, end: int) -> None:
        """Only these rows. Columns keep their numbers; those of other rows have nothing in them."""
        self.rows = self.rows[start:end]
        kept = {j for row in self.rows for j in row}
        self.columns = [column if j in kept else Column([]) for j, column in enumerate(self.columns)]
        self.borders = [border for border in self.borders if border.columns[0] in kept]
        for step in [step for step, slot in self.slots.items() if slot.column not in kept]:
            del self.slots[step]

    # -- where inputs stand

    def _placed(self, best: Folded, length: float, sizes: bool) -> Folded:
        """The cheapest rows of some ways to place inputs."""
        for early in (False, True) if any(section.repeat for section in self.scene.sections) else (False,):
            trial = best if not early else self._tried(Placing(early=True), length, sizes)
            while trial.parted - trial.placing.late:  # an input stands in a row, and its first reader in another one
                if trial.cost < best.cost:
                    best = trial
                placing = Placing(early, trial.placing.late | trial.parted)
                trial = self._tried(placing, length, sizes)
            if trial.cost < best.cost:
                best = trial
        if self.meetings is not best.woven.meetings:
            best = self._tried(best.placing, length, sizes)  # again: copies are sorted in place
        return best

    def _tried(self, placing: Placing, length: float, sizes: bool) -> Folded:
        """The cheapest of some ways to fold: one is chosen by the widths of columns, which hang on the fold."""
        plan = columns_of(self.scene, early=placing.early, late=placing.late)
        woven = weave(plan, order_of(plan))
        self.meetings = woven.meetings
        if sizes:
            _sized(woven.columns)
        waits = rows.waiting(plan)
        stranded = [sum(a <= j < b for a, b in waits.values()) for j in range(len(plan))]
        starts = [_start(column.left) + _JOINT for column in woven.columns]
        widths = _estimates(woven.columns, self.meetings)
        best: Folded | None = None
        seen: list[list[list[int]]] = []
        for _ in range(_TRIES):
            folded = Folded(placing, woven, stranded, starts, widths)
            prices = self._fold(folded, widths, length, starts=1)
            self._widths()
            lengths = [self.right[row[-1]] - self.left[row[0]] for row in self.rows]
            folded.cost = rows.cost(lengths, prices, length)
            if best is None or folded.cost < best.cost:
                best = folded
                row_of = {id(step): r for r, row in enumerate(self.rows) for j in row for step in self.columns[j].steps}
                first = {key: plan[b][0] for key, (_, b) in waits.items() if b < len(plan)}
                best.parted = frozenset(key for key, reader in first.items() if row_of[key] < row_of[id(reader)])
            if self.rows in seen:
                break
            seen.append(self.rows)
            widths = self._measured(woven.columns)
        assert best is not None
        return best

    # -- folding, lanes, columns

    def _measured(self, columns: Sequence[Column]) -> list[float]:
        """How wide each column turned out, with the gap after it."""
        wide: dict[int, float] = {}
        for row in self.rows:
            for j in row:
                end = self.left[j + 1] if j != row[-1] and self.columns[j + 1].steps else self.right[j] + 8
                wide[id(self.columns[j])] = end - self.left[j]
        return [wide[id(column)] for column in columns]

    def _fold(self, plan: Folded, widths: Sequence[float], length: float, starts: int) -> list[float]:
        """Fold and find the heights; returns what each fold costs."""
        folded, prices = rows.fold(plan.woven.columns, widths, plan.starts, length, plan.stranded)
        self.columns = [column for row in folded for column in row]
        self.rows = []
        at = 0
        for part in folded:
            self.rows.append(list(range(at, at + len(part))))
            at += len(part)
        for column in self.columns:
            for track in (*column.left, *column.right):
                track.y.clear()
        self.borders = []
        top = 0.0
        self.heights: list[tuple[float, float]] = []
        for row in self.rows:
            low = self._lanes(row, top, starts) + _APART
            self.heights.append((top, low))
            top = low
        return prices

    def lower(self, first: int, by: float) -> None:
        """Move a row, and those beneath it, further down."""
        moved = {j for row in self.rows[first:] for j in row}
        for track in {id(t): t for j in moved for t in (*self.columns[j].left, *self.columns[j].right)}.values():
            for j in moved & track.y.keys():
                track.y[j] += by
        for border in self.borders:
            if border.columns[0] in moved:
                border.top, border.bottom = border.top + by, border.bottom + by

    def _lanes(self, row: Sequence[int], top: float, starts: int) -> float:
        """Heights of one row's tracks, beginning at `top`; returns where the row ends."""
        index: dict[tuple[int, int], int] = {}  # (column, track) -> variable
        tracks: list[tuple[int, Track]] = []
        gaps: list[lanes.Gap] = []
        fences: list[lanes.Gap] = []
        stacked: list[lanes.Gap] = []
        pulls: list[lanes.Pull] = []
        ties: list[lanes.Tie] = []
        for j in row:
            for track in (*self.columns[j].left, *self.columns[j].right):
                if (j, id(track)) not in index:
                    index[j, id(track)] = len(tracks)
                    tracks.append((j, track))
        n = len(tracks)
        held: dict[int, list[int]] = {}  # section -> its columns in this row
        sections = list(self.scene.sections)
        for j in row:
            inside = set()
            for track in (*self.columns[j].left, *self.columns[j].right):
                for section in self._around(track, j):
                    inside.add(id(section))
            for section in sections:
                if id(section) in inside:
                    held.setdefault(id(section), []).append(j)
        edges: dict[int, tuple[int, int]] = {}
        for section in sections:
            if id(section) in held:
                edges[id(section)] = (n, n + 1)
                n += 2
        halos: dict[int, dict[int, tuple[float, float]]] = {}  # column -> wire -> how far glyphs go above and below it
        for j in row:
            column = self.columns[j]
            halo = halos[j] = {}
            for step in column.steps:
                for k, (above, below) in extents(step, self.meetings[id(step)]).items():
                    had = halo.get(k, (0.0, 0.0))
                    halo[k] = max(above, had[0]), max(below, had[1])
            enclosed = self._enclosed(j)
            for side in (column.left, column.right):
                for a, b in pairwise(side):
                    gap = _gap(a, b, halo)
                    gaps.append((index[j, id(a)], index[j, id(b)], gap))
                    kin = isinstance(a, Wire) and isinstance(b, Wire)
                    pulls.append((index[j, id(a)], index[j, id(b)], _KIN if kin else 0.02))
                self._fences(j, side, enclosed, index, edges, fences, pulls, halo)
            stacked += self._stacked(j, index, halo)
            for step in column.steps:
                meeting = self.meetings[id(step)]
                for a_wire, b_wire, weight in _alignments(step, meeting):
                    if (j, id(a_wire)) in index and (j, id(b_wire)) in index:
                        pulls.append((index[j, id(a_wire)], index[j, id(b_wire)], weight))
                for own in _together(step, meeting):  # what one glyph covers stands at the pitch of a tensor
                    for a_wire, b_wire in pairwise(own):
                        if (j, id(a_wire)) in index and (j, id(b_wire)) in index:
                            ties.append((index[j, id(a_wire)], index[j, id(b_wire)], theme.PITCH))
        last: dict[int, int] = {}
        for v, (_, track) in enumerate(tracks):
            if isinstance(track, Lane):
                continue
            if id(track) in last:
                pulls.append((last[id(track)], v, 2.0 if isinstance(track, Dash) else _STRAIGHT))
            last[id(track)] = v
        # Gaps that cannot all be kept are left out, as where a wire from outside crosses a border.
        for wanted in (stacked, fences):
            if lanes.sound(n, gaps + wanted):
                gaps += wanted
        y = lanes.heights(n, gaps, pulls, ties, starts)
        beyond = [
            halos[j].get(track.number, (0.0, 0.0)) if isinstance(track, Wire) else (0.0, 0.0) for j, track in tracks
        ]
        if top:  # beneath another row: what goes far up from a wire has room
            top += max([0.0, *(beyond[v][0] - _NAMED - y[v] for v in range(len(tracks)))])
        for v, (j, track) in enumerate(tracks):
            track.y[j] = top + y[v]
        low = max((top + y[v] + max(0.0, beyond[v][1] - _FOOT) for v in range(len(tracks))), default=top)
        for section in sections:
            if id(section) not in held:
                continue
            above, below = edges[id(section)]
            self.borders.append(Border(section, held[id(section)], top + y[above], top + y[below]))
            low = max(low, top + y[below])
        return low + 8

    def _stacked(
        self, j: int, index: dict[tuple[int, int], int], halo: dict[int, tuple[float, float]]
    ) -> list[lanes.Gap]:
        """Gaps that keep the glyphs of one column apart: all wires of one lie above all wires of the next."""
        column = self.columns[j]
        held: list[tuple[int, list[list[Wire]]]] = []
        right = {id(track): k for k, track in enumerate(column.right)}
        for step in column.steps:
            meeting = self.meetings[id(step)]
            sides = []  # each from above to below
            for group, side in ((meeting.ins, column.left), (meeting.outs, column.right)):
                own = {id(w) for ws in group for w in ws}
                sides.append([track for track in side if isinstance(track, Wire) and id(track) in own])
            if sides[1] and step.kind not in (StepKind.ENTER, StepKind.EXIT):
                held.append((right[id(sides[1][0])], sides))
        held.sort(key=lambda pair: pair[0])
        out = []
        for (_, upper), (_, lower) in pairwise(held):
            for a_side in upper:
                for b_side in lower:
                    if not a_side or not b_side:
                        continue
                    a, b = a_side[-1], b_side[0]
                    gap = halo.get(a.number, (0.0, 0.0))[1] + halo.get(b.number, (0.0, 0.0))[0] + 6
                    out.append((index[j, id(a)], index[j, id(b)], max(theme.PITCH, gap)))
        return out

    def _around(self, track: Track, j: int) -> list[Section]:
        """The sections that a track lies in at a column, innermost first."""
        if isinstance(track, Dash):
            return []
        scopes = self.columns[j].scopes
        section = track.step.section if isinstance(track, Lane) else scopes.get(track.number)
        for step in self.columns[j].steps:  # what comes in past the border
            inner = step.section
            if inner is None or inner is section or not (section is None or inner.inside(section)):
                continue
            if any(wire is track for own in self.meetings[id(step)].ins for wire in own):
                section = inner
        out = []
        while section is not None:
            out.append(section)
            section = section.parent
        return out

    def _enclosed(self, j: int) -> set[tuple[int, int]]:
        """Dashed lines that lie within a section on one side of a column: on the other they may touch its border."""
        out: set[tuple[int, int]] = set()
        for side in (self.columns[j].left, self.columns[j].right):
            members: dict[int, list[int]] = {}
            for k, track in enumerate(side):
                for section in self._around(track, j):
                    members.setdefault(id(section), []).append(k)
            for key, places in members.items():
                inside = side[places[0] : places[-1]]
                out |= {(id(track), key) for track in inside if isinstance(track, Dash)}
        return out

    def _fences(
        self,
        j: int,
        side: Sequence[Track],
        enclosed: set[tuple[int, int]],
        index: dict[tuple[int, int], int],
        edges: dict[int, tuple[int, int]],
        gaps: list[lanes.Gap],
        pulls: list[lanes.Pull],
        halo: dict[int, tuple[float, float]],
    ) -> None:
        """Gaps that keep the borders of sections between what is inside and what is outside."""
        inside: dict[int, list[int]] = {}
        order: dict[int, Section] = {}
        for k, track in enumerate(side):
            for section in self._around(track, j):
                inside.setdefault(id(section), []).append(k)
                order[id(section)] = section
        for key, members in inside.items():
            section = order[key]
            above, below = edges[key]
            pad = _BRACKET if section.repeat else _REGION
            first, last = side[members[0]], side[members[-1]]
            extra_top = max(0.0, halo.get(first.number, (0.0, 0.0))[0] - 13) if isinstance(first, Wire) else 0.0
            extra_foot = max(0.0, halo.get(last.number, (0.0, 0.0))[1] - 13) if isinstance(last, Wire) else 0.0
            gaps.append((above, index[j, id(first)], pad[0] + extra_top))
            gaps.append((index[j, id(last)], below, pad[1] + (_LOOP + extra_foot if section.loops else 0.0)))
            pulls.append((above, index[j, id(first)], 0.0005))
            pulls.append((index[j, id(last)], below, 0.0005))
            if members[-1] - members[0] + 1 - len(members) > sum(
                isinstance(side[k], Dash) for k in range(members[0], members[-1] + 1)
            ):
                continue  # something from outside runs through the section: no border can keep it out
            if members[0] > 0 and (id(side[members[0] - 1]), key) not in enclosed:
                gaps.append((index[j, id(side[members[0] - 1])], above, _OUTSIDE))
            if members[-1] + 1 < len(side) and (id(side[members[-1] + 1]), key) not in enclosed:
                gaps.append((below, index[j, id(side[members[-1] + 1])], _OUTSIDE))
            if section.parent is not None and id(section.parent) in edges:
                outer_top, outer_bottom = edges[id(section.parent)]
                title = 16.0 if not section.parent.repeat else 0.0
                gaps.append((outer_top, above, _INSIDE + title))
                gaps.append((below, outer_bottom, _INSIDE))

    def _widths(self) -> None:
        """The x at which every column begins and ends, and every glyph in it."""
        self.left: list[float] = [0.0] * len(self.columns)
        self.right: list[float] = [0.0] * len(self.columns)
        self.slots: dict[int, Slot] = {}
        self.column_of: dict[int, int] = {}
        for row in self.rows:
            x = 0.0
            for k_in_row, j in enumerate(row):
                column = self.columns[j]
                sizes = [measure(step, self.meetings[id(step)]) for step in column.steps]
                before = max((size.before for size in sizes), default=0.0)
                start = HEAD + 1 if k_in_row else _start(column.left)  # of a column at the end or start of a folded row
                if k_in_row and any(s.kind is StepKind.COPY for s in self.columns[row[k_in_row - 1]].steps):
                    earlier = {id(s) for s in self.columns[row[k_in_row - 1]].right}
                    going = {id(s) for s in column.right}
                    fresh = [s for s in column.left if isinstance(s, Wire) and id(s) not in earlier | going]
                    before = max(before, max((width(label_of(w), theme.AXIS) + 8 for w in fresh), default=0.0))
                    for step in column.steps:  # its word stands on the level stretch before the dot
                        meeting = self.meetings[id(step)]
                        if step.roles and any(id(wire) not in earlier for wire in meeting.ins[meeting.main]):
                            before = max(before, width(step.roles[meeting.main], theme.CAPTION) + 10)
                core = max((size.core for size in sizes), default=0.0)
                pairs = list(zip(column.steps, sizes, strict=True))
                after = max(
                    (size.after - (0.0 if _at_right(s) else max(0.0, (core - size.core) / 2)) for s, size in pairs),
                    default=start,
                )
                spare = 0.0  # labels may stand over the bends of the gap
                kinds = {s.kind for s in column.steps}
                if kinds & {StepKind.BOX, StepKind.THROUGH} and StepKind.SOURCE not in kinds:
                    spare, after = max(0.0, after - 4.0), min(after, 4.0)
                    following = self.columns[row[k_in_row + 1]].steps if k_in_row + 1 < len(row) else []
                    said = any(s.mark == "bar" and bar_note(s, self.meetings[id(s)]) for s in column.steps)
                    if any(s.kind is StepKind.SINK for s in following) and not said:
                        spare = 0.0  # the label stands at the output
                self.left[j], self.right[j] = x, x + before + core + max(0.0, after)
                for k, (step, size) in enumerate(zip(column.steps, sizes, strict=True)):
                    if _at_right(step):
                        x1 = x + before + core
                        slot = Slot(f"op{j}_{k}", j, x1 - size.core, x1)
                    elif step.kind is StepKind.JOIN and step.mark != "loop":
                        slot = Slot(f"op{j}_{k}", j, x + before, x + before + size.core)
                    else:
                        x0 = x + before + (core - size.core) / 2
                        slot = Slot(f"op{j}_{k}", j, x0, x0 + size.core)
                    self.slots[id(step)] = slot
                    self.column_of[id(step)] = j
                if k_in_row + 1 < len(row):
                    x = self.right[j] + max(spare, self._gap_after(j, row[k_in_row + 1]))

    def _gap_after(self, j: int, following: int) -> float:
        """How wide the gap after column j is: wires bend in it, and the steeper they do, the wider it must be."""
        steepest = 0.0
        for track in self.columns[j].right:
            if isinstance(track, Wire) and following in track.y:
                steepest = max(steepest, abs(track.y[j] - track.y[following]))
        for step in self.columns[j].steps:
            if step.mark == "pick":
                meeting = self.meetings[id(step)]
                ended = [w.y[j] for w in meeting.ins[0] if w.axis in step.contracted]
                for wire in born(meeting):
                    if following in wire.y:
                        steepest = max(steepest, abs(sum(ended) / len(ended) - wire.y[following]))
            if step.kind is StepKind.COPY:
                meeting = self.meetings[id(step)]
                source = meeting.ins[0]
                for own in meeting.outs:
                    for old, wire in zip(source, own, strict=True):
                        if following in wire.y and j in old.y:
                            steepest = max(steepest, abs(old.y[j] - wire.y[following]))
        for step in self.columns[following].steps:
            meeting = self.meetings[id(step)]
            if step.kind is StepKind.JOIN and step.mark != "loop" and not meeting.inner:
                main = {w.axis: w for w in meeting.ins[meeting.main]}
                for own in meeting.ins:
                    for wire in own:
                        target = main.get(wire.axis)
                        if target is not None and j in wire.y and following in target.y:
                            steepest = max(steepest, abs(wire.y[j] - target.y[following]))
        if steepest < 0.01:
            return 4.0
        return min(32.0, 7.0 + 0.17 * steepest)


def _start(tracks: Sequence[Track]) -> float:
    """How wide the start of a row is to which wires come from another one: they have arrowheads and labels there."""
    return (
        HEAD + 7 + max((width(label_of(track), theme.AXIS) for track in tracks if isinstance(track, Wire)), default=0)
    )


def _at_right(step: DrawStep) -> bool:
    """Whether its glyph stands at the right of its column, because wires begin there."""
    return step.kind in (StepKind.COPY, StepKind.SOURCE)


def _sized(columns: Sequence[Column]) -> None:
    """The first wire of each axis says how many items it has, if that is known."""
    seen: set[Axis] = set()
    for column in columns:
        for track in column.right:
            if isinstance(track, Wire) and track.axis is not None and track.axis not in seen:
                seen.add(track.axis)
                if track.axis.extent is not None:
                    track.size = f"={track.axis.extent}"


def _gap(a: Track, b: Track, halo: dict[int, tuple[float, float]]) -> float:
    below = halo.get(a.number, (0.0, 0.0))[1] if isinstance(a, Wire) else 0.0
    above = halo.get(b.number, (0.0, 0.0))[0] if isinstance(b, Wire) else 0.0
    if isinstance(a, Lane) or isinstance(b, Lane):
        if isinstance(a, Lane) and isinstance(b, Dash):
            return theme.ABOVE_DASH + 3
        if isinstance(a, Lane):
            return max(theme.LANE + 6, 9 + above)
        return max(theme.LANE, 10 + below)
    if isinstance(b, Dash):
        return max(theme.ABOVE_DASH, below + 4)
    if isinstance(a, Dash):
        return max(theme.BELOW_DASH, above + 4)
    return max(theme.PITCH, *(far for far in (above, below) if far > _NAMED), 0.0)


def _together(step: DrawStep, meeting: Meeting) -> list[list[Wire]]:
    """Groups of wires that a glyph covers, and that so must lie side by side."""
    match step.kind:
        case StepKind.ON:
            return [covered(step, meeting)]
        case StepKind.JOIN if step.mark == "mask":
            return [[w for w in meeting.ins[0] if w.axis in step.on]]
        case StepKind.THROUGH if step.each:
            inner = through(step, meeting)
            ends = gone(meeting), born(meeting)
            sides = zip((meeting.ins[0], meeting.outs[0]), ends, strict=True)
            return [[w for w in side if w in own or w in inner] for side, own in sides]
        case StepKind.THROUGH:
            return [gone(meeting), born(meeting)]
        case StepKind.SOURCE if step.mark in ("predicate", "learned", "table", "hidden", "pill"):
            return meeting.outs
        case _:
            return []


def _alignments(step: DrawStep, meeting: Meeting) -> list[tuple[Wire, Wire, float]]:
    """Pairs of wires, before and after a glyph, that should have one height; and how much that matters."""
    out: list[tuple[Wire, Wire, float]] = []
    ins = [w for own in meeting.ins for w in own]
    outs = [w for own in meeting.outs for w in own]
    match step.kind:
        case StepKind.THROUGH:
            old, new = gone(meeting), [w for w in outs if w not in meeting.ins[0]]
            out += [(a, b, 2.0 - 0.1 * abs(i - k)) for i, a in enumerate(old) for k, b in enumerate(new)]
            if len(old) == len(new):
                out += [(a, b, 6.0) for a, b in zip(old, new, strict=True)]
        case StepKind.BOX:
            for own in meeting.outs:  # an operand with the result's axes goes on straight
                axes = [w.axis for w in own]
                like = next((ws for ws in meeting.ins if [w.axis for w in ws] == axes), None)
                out += [(a, b, 4.0) for a, b in zip(like or (), own, strict=False)]
        case StepKind.JOIN:
            kept = {w.number for w in ins}
            for wire in outs:
                if wire.number not in kept:
                    if step.mark != "pick":
                        out += [(w, wire, 1.0) for w in ins if w.axis == wire.axis]
                    if step.mark in ("bar", "pick"):
                        out += [(w, wire, 1.0) for w in ins if w.axis in step.contracted]
        case StepKind.COPY:
            main = meeting.outs[meeting.main]
            out += [(a, b, 8.0) for a, b in zip(meeting.ins[0], main, strict=True) if a is not b]
        case _:
            pass
    return out


def _estimates(columns: Sequence[Column], meetings: dict[int, Meeting]) -> list[float]:
    """About how wide each column is with the gap after it."""
    out = []
    for j, column in enumerate(columns):
        sizes = [measure(step, meetings[id(step)]) for step in column.steps]
        wide = max(size.before for size in sizes) + max(size.core for size in sizes) + max(size.after for size in sizes)
        gap = 6.0
        if any(s.kind is StepKind.COPY and len(s.outs) > 1 for s in column.steps):
            gap = 40.0
        elif j + 1 < len(columns):
            following = columns[j + 1]
            if any(s.kind is StepKind.JOIN and s.mark != "loop" for s in following.steps):
                gap = 40.0
            elif [id(s) for s in column.right if isinstance(s, Wire) and s in following.left] != [
                id(s) for s in following.left if isinstance(s, Wire) and s in column.right
            ]:
                gap = 30.0
        out.append(wide + gap)
    return out
