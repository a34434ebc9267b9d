"""Where everything in a figure lies: rows, the height (y) of each wire, the x of each column. Points, y downwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...compiler.sizes.axes import Axis
from ..base import theme
from ..base.paper import Paper
from ..base.text import width
from ..scene.steps import DrawStep, Scene, StepKind
from . import rows
from .columns import columns_of
from .glyph_sizes import Slot, bar_note, born, label_of, measure
from .heights import Border, RowHeights
from .order import order_of
from .weave import weave
from .wires import Column, Meeting, Track, Weave, Wire

HEAD = 7.0  # the length of the arrowhead of a wire that goes on in another row
PAD = 3.6  # left free around the figure (DOT's `pad`)
_APART = 27.0  # between rows
_TRIES = 4  # ways to fold the figure into rows, for each way to place inputs
_JOINT = 12.0  # between the start of a folded row and its first column, about


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
        self._fold(best, best.widths, length)
        self._stand(starts=10 if len(self.rows) < 12 else 3)
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
            prices = self._fold(folded, widths, length)
            if self.rows in seen:
                break
            seen.append(self.rows)
            self._stand(starts=1)
            self._widths()
            lengths = [self.right[row[-1]] - self.left[row[0]] for row in self.rows]
            folded.cost = rows.cost(lengths, prices, length)
            if best is None or folded.cost < best.cost:
                best = folded
                row_of = {id(step): r for r, row in enumerate(self.rows) for j in row for step in self.columns[j].steps}
                first = {key: plan[b][0] for key, (_, b) in waits.items() if b < len(plan)}
                best.parted = frozenset(key for key, reader in first.items() if row_of[key] < row_of[id(reader)])
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

    def _fold(self, plan: Folded, widths: Sequence[float], length: float) -> list[float]:
        """Fold into rows; returns what each fold costs."""
        folded, prices = rows.fold(plan.woven.columns, widths, plan.starts, length, plan.stranded)
        self.columns = [column for row in folded for column in row]
        self.rows = []
        at = 0
        for part in folded:
            self.rows.append(list(range(at, at + len(part))))
            at += len(part)
        return prices

    def _stand(self, starts: int) -> None:
        """Find the heights in every row."""
        for column in self.columns:
            for track in (*column.left, *column.right):
                track.y.clear()
        self.borders = []
        top = 0.0
        self.heights: list[tuple[float, float]] = []
        for row in self.rows:
            borders, low = RowHeights(self.columns, self.meetings, self.scene.sections, row).placed(top, starts)
            self.borders += borders
            low += _APART
            self.heights.append((top, low))
            top = low

    def lower(self, first: int, by: float) -> None:
        """Move a row, and those beneath it, further down."""
        moved = {j for row in self.rows[first:] for j in row}
        for track in {id(t): t for j in moved for t in (*self.columns[j].left, *self.columns[j].right)}.values():
            for j in moved & track.y.keys():
                track.y[j] += by
        for border in self.borders:
            if border.columns[0] in moved:
                border.top, border.bottom = border.top + by, border.bottom + by

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
        steepest = max((abs(y - end) for y, end in self._bends(j, following)), default=0.0)
        return 4.0 if steepest < 0.01 else min(32.0, 7.0 + 0.17 * steepest)

    def _bends(self, j: int, following: int) -> Iterator[tuple[float, float]]:
        """The heights between which wires run from column j to the next."""
        for track in self.columns[j].right:
            if isinstance(track, Wire) and following in track.y:
                yield track.y[j], track.y[following]
        for step in self.columns[j].steps:
            if step.mark == "pick" or step.kind is StepKind.COPY:
                for y, wire in _begun(step, self.meetings[id(step)], j):
                    if following in wire.y:
                        yield y, wire.y[following]
        for step in self.columns[following].steps:
            if step.kind is StepKind.JOIN and step.mark != "loop" and not self.meetings[id(step)].inner:
                for wire, target in _merging(self.meetings[id(step)]):
                    if j in wire.y and following in target.y:
                        yield wire.y[j], target.y[following]


def _begun(step: DrawStep, meeting: Meeting, j: int) -> Iterator[tuple[float, Wire]]:
    """The wires that a dot at column j begins, and where it lies."""
    if step.mark == "pick":
        ended = [wire.y[j] for wire in meeting.ins[0] if wire.axis in step.contracted]
        yield from ((sum(ended) / len(ended), wire) for wire in born(meeting))
    else:
        for own in meeting.outs:
            yield from ((old.y[j], wire) for old, wire in zip(meeting.ins[0], own, strict=True) if j in old.y)


def _merging(meeting: Meeting) -> Iterator[tuple[Wire, Wire]]:
    """Wires that run into those of the main operand, with these."""
    main = {wire.axis: wire for wire in meeting.ins[meeting.main]}
    for own in meeting.ins:
        yield from ((wire, main[wire.axis]) for wire in own if wire.axis in main)


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
