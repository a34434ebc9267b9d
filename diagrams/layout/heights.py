"""The heights (y) of one row's tracks: what keeps them apart, and which of them would like to lie at one height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..base import theme
from ..scene.steps import DrawStep, Section, StepKind
from . import lanes
from .glyph_sizes import born, covered, extents, gone, through
from .wires import Column, Dash, Lane, Meeting, Track, Wire

_STRAIGHT = 20.0  # what each point costs by which a wire changes its height; for a dashed line it is 2
_KIN = 0.6  # what each point more between two wires of one tensor costs, in each column
_BRACKET = (15.0, 15.0)  # how far repeat brackets go beyond the wires inside, above and below
_REGION = (30.0, 14.0)  # the same for tinted regions: the title stands above
_LOOP = 17.0  # room beneath a scan or a loop over tiles for the line that feeds its state back, and its names above it
_WORDS = 9.0  # room for words in its place, at an opening bracket whose closing one is in another row
_NAMED = 24.0  # a glyph that goes further up than this has a name over it
_FOOT = 16.0  # and one that goes further down has text beneath it
_INSIDE = 8.0  # between a border and the next one around it
_OUTSIDE = 9.0  # between a border and a wire or dashed line that is not inside it

Halo = dict[int, tuple[float, float]]
"""How far glyphs go above and below wires, by the wires' numbers."""
_NONE = (0.0, 0.0)


@dataclass(slots=True)
class Border:
    """A section's extent in one row."""

    section: Section
    columns: list[int]
    top: float
    bottom: float
    x0: float = 0.0
    x1: float = 0.0


class RowHeights:
    """The tracks of one row, in each of its columns a variable of `lanes.heights`; and two for each section's borders.

    index: the variable of a track in a column; `tracks` the other way round.
    held:  the columns of each section that has something in the row; `edges` its upper and lower border.
    gaps:  what is kept; `stacked` and `fences` too, where they can be: a wire from outside may cross a border.
    """

    def __init__(
        self, columns: Sequence[Column], meetings: dict[int, Meeting], sections: Sequence[Section], row: Sequence[int]
    ) -> None:
        self.columns, self.meetings = columns, meetings
        self.index: dict[tuple[int, int], int] = {}
        self.tracks: list[tuple[int, Track]] = []
        for j in row:
            for track in (*columns[j].left, *columns[j].right):
                if (j, id(track)) not in self.index:
                    self.index[j, id(track)] = len(self.tracks)
                    self.tracks.append((j, track))
        self.held = self._held(row)
        self.here = {id(step) for j in row for step in columns[j].steps}
        self.whole = {id(s) for s in sections if {id(s.enter), id(s.exit)} <= self.here}  # that begin and end here
        self.sections = [section for section in sections if id(section) in self.held]
        first = len(self.tracks)
        self.edges = {id(section): (first + 2 * k, first + 2 * k + 1) for k, section in enumerate(self.sections)}
        self.halos = {j: self._halo(columns[j]) for j in row}
        self.gaps: list[lanes.Gap] = []
        self.fences: list[lanes.Gap] = []
        self.stacked: list[lanes.Gap] = []
        self.pulls: list[lanes.Pull] = []
        self.ties: list[lanes.Tie] = []
        for j in row:
            self._apart(j)
            self._stack(j)
            self._align(j)
        self._straighten()

    def placed(self, top: float, starts: int) -> tuple[list[Border], float]:
        """Gives the tracks their heights, from `top` on; returns the borders of sections, and where the row ends."""
        n = len(self.tracks) + 2 * len(self.edges)
        gaps = self.gaps
        for wanted in (self.stacked, self.fences):
            if lanes.sound(n, gaps + wanted):
                gaps += wanted
        y = lanes.heights(n, gaps, self.pulls, self.ties, starts)
        beyond = [self.halos[j].get(t.number, _NONE) if isinstance(t, Wire) else _NONE for j, t in self.tracks]
        if top:  # beneath another row: what goes far up from a wire has room
            top += max([0.0, *(up - _NAMED - y[v] for v, (up, _) in enumerate(beyond))])
        for v, (j, track) in enumerate(self.tracks):
            track.y[j] = top + y[v]
        low = max((top + y[v] + max(0.0, down - _FOOT) for v, (_, down) in enumerate(beyond)), default=top)
        borders = []
        for section in self.sections:
            above, below = (top + y[edge] for edge in self.edges[id(section)])
            borders.append(Border(section, self.held[id(section)], above, below))
            low = max(low, below)
        return borders, low + 8

    # -- what is there

    def _held(self, row: Sequence[int]) -> dict[int, list[int]]:
        held: dict[int, list[int]] = {}
        for j in row:
            sides = (*self.columns[j].left, *self.columns[j].right)
            for key in dict.fromkeys(id(section) for track in sides for section in self._around(track, j)):
                held.setdefault(key, []).append(j)
        return held

    def _halo(self, column: Column) -> Halo:
        halo: Halo = {}
        for step in column.steps:
            for k, (above, below) in extents(step, self.meetings[id(step)]).items():
                had = halo.get(k, _NONE)
                halo[k] = max(above, had[0]), max(below, had[1])
        return halo

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

    # -- what is wanted

    def _apart(self, j: int) -> None:
        """Gaps between the tracks of a column, on either side, and what keeps wires of one tensor together."""
        enclosed = self._enclosed(j)
        for side in (self.columns[j].left, self.columns[j].right):
            for a, b in pairwise(side):
                ends = self.index[j, id(a)], self.index[j, id(b)]
                self.gaps.append((*ends, _gap(a, b, self.halos[j])))
                self.pulls.append((*ends, _KIN if isinstance(a, Wire) and isinstance(b, Wire) else 0.02))
            self._fence(j, side, enclosed)

    def _fence(self, j: int, side: Sequence[Track], enclosed: set[tuple[int, int]]) -> None:
        """Gaps that keep the borders of sections between what is inside and what is outside."""
        halo, fences = self.halos[j], self.fences
        inside: dict[int, list[int]] = {}
        order: dict[int, Section] = {}
        for k, track in enumerate(side):
            for section in self._around(track, j):
                inside.setdefault(id(section), []).append(k)
                order[id(section)] = section
        for key, members in inside.items():
            section = order[key]
            above, below = self.edges[key]
            pad = _BRACKET if section.repeat else _REGION
            first, last = side[members[0]], side[members[-1]]
            extra_top = max(0.0, halo.get(first.number, _NONE)[0] - 13) if isinstance(first, Wire) else 0.0
            extra_foot = max(0.0, halo.get(last.number, _NONE)[1] - 13) if isinstance(last, Wire) else 0.0
            fences.append((above, self.index[j, id(first)], pad[0] + extra_top))
            line = _LOOP + extra_foot if section.loops else 0.0
            if section.round:  # it runs at the foot of the brackets
                line = extra_foot if key in self.whole else _WORDS if id(section.enter) in self.here else 0.0
            fences.append((self.index[j, id(last)], below, pad[1] + line))
            self.pulls.append((above, self.index[j, id(first)], 0.0005))
            self.pulls.append((self.index[j, id(last)], below, 0.0005))
            if members[-1] - members[0] + 1 - len(members) > sum(
                isinstance(side[k], Dash) for k in range(members[0], members[-1] + 1)
            ):
                continue  # something from outside runs through the section: no border can keep it out
            if members[0] > 0 and (id(side[members[0] - 1]), key) not in enclosed:
                fences.append((self.index[j, id(side[members[0] - 1])], above, _OUTSIDE))
            if members[-1] + 1 < len(side) and (id(side[members[-1] + 1]), key) not in enclosed:
                fences.append((below, self.index[j, id(side[members[-1] + 1])], _OUTSIDE))
            if section.parent is not None and id(section.parent) in self.edges:
                outer_top, outer_bottom = self.edges[id(section.parent)]
                title = 16.0 if not section.parent.repeat else 0.0
                fences.append((outer_top, above, _INSIDE + title))
                fences.append((below, outer_bottom, _INSIDE))

    def _stack(self, j: int) -> None:
        """Gaps that keep the glyphs of one column apart: all wires of one lie above all wires of the next."""
        column, halo = self.columns[j], self.halos[j]
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
        for (_, upper), (_, lower) in pairwise(held):
            for a_side in upper:
                for b_side in lower:
                    if not a_side or not b_side:
                        continue
                    a, b = a_side[-1], b_side[0]
                    gap = halo.get(a.number, _NONE)[1] + halo.get(b.number, _NONE)[0] + 6
                    self.stacked.append((self.index[j, id(a)], self.index[j, id(b)], max(theme.PITCH, gap)))

    def _align(self, j: int) -> None:
        """What a glyph joins lies at one height; what one glyph covers stands at the pitch of a tensor."""
        for step in self.columns[j].steps:
            meeting = self.meetings[id(step)]
            for a, b, weight in _alignments(step, meeting):
                if (j, id(a)) in self.index and (j, id(b)) in self.index:
                    self.pulls.append((self.index[j, id(a)], self.index[j, id(b)], weight))
            for own in _together(step, meeting):
                for a, b in pairwise(own):
                    if (j, id(a)) in self.index and (j, id(b)) in self.index:
                        self.ties.append((self.index[j, id(a)], self.index[j, id(b)], theme.PITCH))

    def _straighten(self) -> None:
        """Each track keeps its height from column to column."""
        last: dict[int, int] = {}
        for v, (_, track) in enumerate(self.tracks):
            if isinstance(track, Lane):
                continue
            if id(track) in last:
                self.pulls.append((last[id(track)], v, 2.0 if isinstance(track, Dash) else _STRAIGHT))
            last[id(track)] = v


def _gap(a: Track, b: Track, halo: Halo) -> float:
    below = halo.get(a.number, _NONE)[1] if isinstance(a, Wire) else 0.0
    above = halo.get(b.number, _NONE)[0] if isinstance(b, Wire) else 0.0
    if isinstance(a, Lane) or isinstance(b, Lane):
        if isinstance(a, Lane) and isinstance(b, Dash):
            return theme.ABOVE_DASH + (8 if a.step.sent is not None else 3)  # the box of a collective is higher
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
        case StepKind.ENTER:  # a start that lacks axes of what goes round, such as a number, leads to the middle of it
            for own, inner in zip(meeting.ins, meeting.outs, strict=False):
                lost = [wire for wire in own if wire.axis is None]
                out += [(wire, inner[(len(inner) - 1) // 2], 4.0) for wire in lost if wire not in inner]
        case StepKind.COPY:
            main = meeting.outs[meeting.main]
            out += [(a, b, 8.0) for a, b in zip(meeting.ins[0], main, strict=True) if a is not b]
        case _:
            pass
    return out
