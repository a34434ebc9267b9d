"""From tensors to wires, column by column: each wire's life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from ...compiler.sizes.axes import Axis
from ..scene.steps import DrawStep, Section, StepKind
from ..scene.tensors import Tensor
from .axis_order import axes_of, line_up, main_operand, straight_copy, vertical, wishes_of
from .order import Stack
from .wires import Column, Dash, Lane, Meeting, Track, Weave, Wire

Wires = Mapping[int, list[Wire]]
"""Of each tensor, from top to bottom."""


def weave(columns: Sequence[Sequence[DrawStep]], stacks: Sequence[Stack]) -> Weave:
    weaver = _Weaver(wishes_of(columns, stacks))
    out = [weaver.column(j, steps, stack) for j, (steps, stack) in enumerate(zip(columns, stacks, strict=True))]
    return Weave(out, weaver.meetings)


class _Weaver:
    """What is known at a column of the tensors that are live there.

    strand: of each tensor; `scope` the section of each strand.
    born:   of a strand the last column in which its wires have no height; `copied` where it was last copied.
    """

    def __init__(self, wishes: Mapping[int, list[Axis]]) -> None:
        self.wishes = wishes
        self.meetings: dict[int, Meeting] = {}
        self._numbers, self._strands = count(), count()
        self._wires: dict[int, list[Wire]] = {}
        self._strand: dict[int, int] = {}
        self._scope: dict[int, Section | None] = {}
        self._dashes: dict[int, Dash] = {}
        self._born: dict[int, int] = {}
        self._copied: dict[int, int] = {}

    def column(self, j: int, steps: Sequence[DrawStep], stack: Stack) -> Column:
        column = Column(list(steps))
        hidden: set[int] = set()  # wires that bend before this column and have no height in it
        for step in steps:
            bending = any(self._copied.get(self._strand[id(tensor)]) == j - 1 for tensor in step.ins)
            line_up(step, stack.before, self._wires, self.wishes, bending)
            meeting = self.meetings[id(step)] = Meeting([list(self._wires[id(tensor)]) for tensor in step.ins])
            if step.kind is StepKind.JOIN and step.mark != "loop":
                hidden |= self._meet(j, step, meeting, stack.before)
        late: set[int] = set()  # wires that have no height before the next column
        for step in steps:
            late |= self._act(j, step, self.meetings[id(step)], stack)
        lanes = {id(step.outs[0]): (id(step.ins[0]), Lane(step)) for step in steps if step.kind is StepKind.LANE}
        before = self._before(steps, stack.before)
        # A lane keeps its distance to other tracks on the left side too.
        column.left = self._tracks(stack.before, before, hidden, dict(lanes.values()))
        column.right = self._tracks(stack.after, self._wires, late, {out: lane for out, (_, lane) in lanes.items()})
        column.all = self._tracks(stack.after, self._wires, set(), {})
        for tensors, own in ((stack.after, self._wires), (stack.before, before)):
            for tensor in tensors:
                strand = self._strand[id(tensor)]
                for wire in own[id(tensor)]:
                    column.scopes[wire.number], column.strands[wire.number] = self._scope[strand], strand
        for step in steps:
            if step.kind is StepKind.EXIT:  # its own column still lies inside
                self._scope.update({self._strand[id(tensor)]: step.section for tensor in step.outs})
        for tensor in stack.after:
            scope = self._scope[self._strand[id(tensor)]]
            column.after.update({wire.number: scope for wire in self._wires[id(tensor)]})
        return column

    def _meet(self, j: int, step: DrawStep, meeting: Meeting, stack: Sequence[Tensor]) -> set[int]:
        """Which operand goes straight on; returns the wires of others that bend towards its own before the column."""
        meeting.main = main_operand(step, stack)
        main = step.ins[meeting.main]
        others = [tensor for tensor in step.ins if tensor is not main]
        meeting.inner = any(self._born.get(self._strand[id(tensor)]) == j - 1 for tensor in others)
        hidden: set[int] = set()
        if not meeting.inner:
            met = {None, *(wire.axis for wire in meeting.ins[meeting.main])} - set(step.contracted)
            for tensor in vertical(step, stack):
                if tensor is not main:
                    held = self._wires[id(tensor)]
                    hidden |= {wire.number for wire in held if wire.axis in met}
                    met |= {wire.axis for wire in held} - set(step.contracted)
        return hidden

    def _act(self, j: int, step: DrawStep, meeting: Meeting, stack: Stack) -> set[int]:
        """The wires of a step's results; returns those that have no height before the next column."""
        inside = step.border if step.kind is StepKind.ENTER else step.section
        if step.kind is StepKind.ENTER:
            self._scope.update({self._strand[id(tensor)]: inside for tensor in step.ins})
        meeting.outs = self._results(step, meeting, stack)
        self._wires.update({id(tensor): list(own) for tensor, own in zip(step.outs, meeting.outs, strict=True)})
        if step.kind is StepKind.SINK:
            self._wires.update({id(tensor): list(own) for tensor, own in zip(step.ins, meeting.ins, strict=True)})
        late: set[int] = set()
        for k, tensor in enumerate(step.outs):
            strand = self._strand[id(tensor)]
            self._scope.setdefault(strand, inside)
            if step.kind is not StepKind.EXIT:
                self._scope[strand] = inside
            if step.kind is StepKind.COPY:
                self._copied[strand] = j
            picked = step.mark == "pick" and not tensor.axes  # its one wire leaves the pill, wherever it goes on
            if picked or (step.kind is StepKind.COPY and k != meeting.main):
                self._born[strand] = j
                late |= {wire.number for wire in self._wires[id(tensor)]}
        return late

    def _before(self, steps: Sequence[DrawStep], tensors: Sequence[Tensor]) -> Wires:
        """The wires of tensors as they were before the column's steps."""
        out = {id(tensor): self._wires[id(tensor)] for tensor in tensors if id(tensor) in self._wires}
        for step in steps:
            out |= {id(t): own for t, own in zip(step.ins, self.meetings[id(step)].ins, strict=True)}
        return out

    def _tracks(
        self, stack: Sequence[Tensor], wires: Wires, hidden: set[int], lanes: Mapping[int, Lane]
    ) -> list[Track]:
        out: list[Track] = []
        for tensor in stack:
            own: list[Track] = [wire for wire in wires[id(tensor)] if wire.number not in hidden]
            if not own:
                continue
            if out:
                strand = self._strand[id(tensor)]
                out.append(self._dashes.setdefault(strand, Dash(strand)))
            out += own
            if id(tensor) in lanes:
                out.append(lanes[id(tensor)])
        return out

    # -- what a step makes

    def _fresh(self, axes: Sequence[Axis | None]) -> list[Wire]:
        return [Wire(next(self._numbers), axis) for axis in (axes or (None,))]

    def _wish(self, tensor: Tensor) -> list[Axis]:
        """The order in which its reader would like its axes."""
        return self.wishes.get(id(tensor), list(tensor.axes))

    def _go_on(self, tensor: Tensor, of: Tensor | None) -> None:
        """The tensor is what has become of another one, or begins a strand."""
        self._strand[id(tensor)] = next(self._strands) if of is None else self._strand[id(of)]

    def _results(self, step: DrawStep, meeting: Meeting, stack: Stack) -> list[list[Wire]]:
        match step.kind:
            case StepKind.SOURCE:
                for tensor in step.outs:
                    self._go_on(tensor, None)
                return [self._fresh(list(t.axes) if step.mark == "input" else self._wish(t)) for t in step.outs]
            case StepKind.BOX:
                return [self._of_box(step, meeting, tensor, stack.before) for tensor in step.outs]
            case StepKind.COPY:
                return self._copies(step, meeting)
            case StepKind.JOIN:
                order = vertical(step, stack.before)
                self._go_on(step.outs[0], order[0])
                return [self._looped(step, order) if step.mark == "loop" else self._joined(step, meeting, order)]
            case StepKind.THROUGH:
                self._go_on(step.outs[0], step.ins[0])
                return [self._through(step, meeting.ins[0], self._wish(step.outs[0]))]
            case StepKind.ENTER | StepKind.EXIT:
                ends = list(zip(step.ins, step.outs, meeting.ins, strict=False))
                for tensor, out, _ in ends:
                    self._go_on(out, tensor)
                return [self._crossing(tensor, out, own) for tensor, out, own in ends]
            case _:
                for tensor, out in zip(step.ins, step.outs, strict=True):
                    self._go_on(out, tensor)
                return list(meeting.ins)

    def _of_box(self, step: DrawStep, meeting: Meeting, tensor: Tensor, stack: Sequence[Tensor]) -> list[Wire]:
        """In the order of an operand with the same axes, the first one if it can be, else the highest."""
        height = {id(t): i for i, t in enumerate(stack)}
        twins = [i for i, t in enumerate(step.ins) if set(t.axes) == set(tensor.axes)]
        self._go_on(tensor, vertical(step, stack)[0] if tensor is step.outs[0] else None)
        if not twins:
            return self._fresh(self._wish(tensor))
        return self._fresh(axes_of(meeting.ins[min(twins, key=lambda i: (i != 0, height[id(step.ins[i])]))]))

    def _copies(self, step: DrawStep, meeting: Meeting) -> list[list[Wire]]:
        """Of one, whose wires go straight on, only those are new whose axes have another name."""
        source, own, top = step.ins[0], meeting.ins[0], straight_copy(step)
        meeting.main = step.outs.index(top)
        outs: list[list[Wire]] = []
        for tensor in step.outs:
            swap = dict(zip(source.axes, tensor.axes, strict=True))
            self._go_on(tensor, source if tensor is top else None)
            if tensor is top:
                outs.append(
                    [w if w.axis is None or swap[w.axis] == w.axis else self._fresh([swap[w.axis]])[0] for w in own]
                )
            else:
                outs.append(self._fresh([swap[axis] for axis in axes_of(own)]))
        return outs

    def _through(self, step: DrawStep, own: list[Wire], wish: list[Axis]) -> list[Wire]:
        """What is made begins where what is eaten ends."""
        made = sorted(step.made, key=lambda a: wish.index(a) if a in wish else 99)
        rest = [w for w in own if w.axis is not None and w.axis not in step.eaten]
        hit = [i for i, w in enumerate(own) if w.axis in step.eaten]
        new = self._fresh(made) if made or not rest else []
        if hit:
            at = sum(w.axis not in step.eaten and w.axis is not None for w in own[: hit[0]])
        else:  # no axis ends: below as many axes as the wished order has above it
            at = sum(w.axis in wish[: wish.index(made[0])] for w in rest) if made and made[0] in wish else len(rest)
        return [*rest[:at], *new, *rest[at:]]

    def _crossing(self, tensor: Tensor, out: Tensor, own: list[Wire]) -> list[Wire]:
        """The wires behind a bracket. The axis of a scan ends at the opening one and begins at the closing one."""
        if set(tensor.axes) == set(out.axes):
            return own
        wish = self._wish(out)
        keep = [w for w in own if w.axis in out.axes]
        fresh = (axis for axis in out.axes if axis not in tensor.axes)
        for axis in sorted(fresh, key=lambda a: wish.index(a) if a in wish else 99):
            before = set(wish[: wish.index(axis)]) if axis in wish else set()
            at = max((i + 1 for i, w in enumerate(keep) if w.axis in before), default=0)
            keep[at:at] = self._fresh([axis])
        return keep or self._fresh([])

    def _looped(self, step: DrawStep, order: Sequence[Tensor]) -> list[Wire]:
        """Behind a contraction: the upper tensor's own wires, new ones for shared axes, and the lower tensor's own."""
        upper, lower = self._wires[id(order[0])], self._wires[id(order[-1])]
        above, below = axes_of(upper), axes_of(lower)
        shared = [axis for axis in above if axis in below and axis not in step.contracted]
        joined = [w for w in upper if w.axis is not None and w.axis not in below]
        joined += self._fresh(shared) if shared else []
        joined += [w for w in lower if w.axis is not None and w.axis not in above]
        return joined or self._fresh([])

    def _joined(self, step: DrawStep, meeting: Meeting, order: Sequence[Tensor]) -> list[Wire]:
        """The main operand's wires go on, with those of axes that it lacks."""
        lead = step.ins[meeting.main]
        have = {w.axis for w in self._wires[id(lead)]}
        new = self._fresh(step.made) if step.mark == "bar" else []
        keep: list[Wire] = []
        placed = False
        scalar = not any(t.axes for t in step.ins)
        for tensor in order:
            for w in self._wires[id(tensor)]:
                if w.axis in step.contracted:
                    if not placed:
                        keep += new
                        placed = True
                elif (tensor is lead or w.axis not in have) and (w.axis is not None or (scalar and tensor is lead)):
                    keep.append(w)
                    have.add(w.axis)
        return keep or self._fresh([])
