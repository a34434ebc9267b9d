"""From tensors to wires: the order of axes within each tensor, and each wire's life.

Axes have no order, so one is chosen. At a contraction the wires of the upper tensor stand in the order free, shared,
contracted, and those of the lower one contracted, shared, free, so that loops and dots nest like brackets. Going back
from the outputs, each step says in which order it would like the axes of its operands (`wishes`). A wire that begins is
put where that order wants it; an order that still does not fit is changed once, just before the step that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from ...compiler.sizes.axes import Axis
from ..scene.steps import DrawStep, Section, StepKind
from ..scene.tensors import Tensor
from .order import Stack


@dataclass(eq=False, slots=True)
class Wire:
    """One axis of one tensor, from the glyph that makes it to the glyph that ends it.

    `axis` is None for a tensor without axes (a thin line says where it goes). `y` by column: points, downwards.
    """

    number: int
    axis: Axis | None
    size: str = ""  # "= 512", on the first wire of each axis where sizes are asked for
    y: dict[int, float] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Dash:
    """The dashed line above a tensor. A strand is a tensor and what becomes of it as steps act on it."""

    strand: int
    y: dict[int, float] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Lane:
    """A lane beneath a tensor for an elementwise op."""

    step: DrawStep
    y: dict[int, float] = field(default_factory=dict)


Track = Wire | Dash | Lane
Fresh = Callable[[Sequence[Axis | None]], list[Wire]]


@dataclass(eq=False, slots=True)
class Meeting:
    """A step's wires: `ins[i]` of operand i, `outs[i]` of result i, top to bottom.

    main:  the operand of a JOIN whose wires go straight on.
    inner: whether the wires of the other operands have heights in the step's own column, and bend within it.
    """

    ins: list[list[Wire]]
    outs: list[list[Wire]] = field(default_factory=list)
    main: int = 0
    inner: bool = True


@dataclass(slots=True)
class Column:
    """One column: its steps, and its tracks from top to bottom on its left and its right side."""

    steps: list[DrawStep]
    left: list[Track] = field(default_factory=list)
    right: list[Track] = field(default_factory=list)
    all: list[Track] = field(default_factory=list)  # the right side, and wires whose heights begin in the next column
    scopes: dict[int, Section | None] = field(default_factory=dict)  # the section of each wire
    after: dict[int, Section | None] = field(default_factory=dict)  # the same, right of this column
    strands: dict[int, int] = field(default_factory=dict)  # the strand of each wire, on the left if it is there


@dataclass(slots=True)
class Weave:
    columns: list[Column]
    meetings: dict[int, Meeting]  # by step


def weave(columns: Sequence[Sequence[DrawStep]], stacks: Sequence[Stack]) -> Weave:
    wishes = _wishes(columns, stacks)
    numbers, strands = count(), count()
    wires: dict[int, list[Wire]] = {}  # of live tensors
    strand: dict[int, int] = {}
    scope: dict[int, Section | None] = {}  # of strands
    dashes: dict[int, Dash] = {}
    born: dict[int, int] = {}  # strand -> the last column in which its wires have no height
    copied: dict[int, int] = {}  # strand -> column in which it was last copied
    out: list[Column] = []
    meetings: dict[int, Meeting] = {}

    def fresh(axes: Sequence[Axis | None]) -> list[Wire]:
        return [Wire(next(numbers), axis) for axis in (axes or (None,))]

    for j, (steps, stack) in enumerate(zip(columns, stacks, strict=True)):
        column = Column(list(steps))
        hidden: set[int] = set()  # wires that bend before this column and have no height in it
        for step in steps:
            _line_up(step, stack.before, wires, wishes, any(copied.get(strand[id(t)]) == j - 1 for t in step.ins))
            meetings[id(step)] = meeting = Meeting([list(wires[id(t)]) for t in step.ins])
            if step.kind is StepKind.JOIN and step.mark != "loop":
                meeting.main = _main(step, stack.before)
                new = [t for i, t in enumerate(step.ins) if i != meeting.main and born.get(strand[id(t)]) == j - 1]
                meeting.inner = bool(new)
                if not meeting.inner:
                    met = {None, *(w.axis for w in meeting.ins[meeting.main])} - set(step.contracted)
                    main = step.ins[meeting.main]
                    for tensor in _vertical(step, stack.before):
                        if tensor is not main:
                            held = wires[id(tensor)]
                            hidden |= {w.number for w in held if w.axis in met}
                            met |= {w.axis for w in held} - set(step.contracted)
        column.left = _tracks(stack.before, wires, strand, dashes, hidden, {})
        lanes: dict[int, Lane] = {}
        late: set[int] = set()
        for step in steps:
            meeting = meetings[id(step)]
            inside = step.border if step.kind is StepKind.ENTER else step.section
            if step.kind is StepKind.ENTER:
                scope.update({strand[id(tensor)]: inside for tensor in step.ins})
            _make(step, meeting, wires, strand, wishes, lambda: next(strands), fresh, stack)
            for k, tensor in enumerate(step.outs):
                scope.setdefault(strand[id(tensor)], inside)
                if step.kind is not StepKind.EXIT:
                    scope[strand[id(tensor)]] = inside
                if step.kind is StepKind.COPY:
                    copied[strand[id(tensor)]] = j
                picked = step.mark == "pick" and not tensor.axes  # its one wire leaves the pill, wherever it goes on
                if picked or (step.kind is StepKind.COPY and k != meeting.main):
                    born[strand[id(tensor)]] = j
                    late |= {w.number for w in wires[id(tensor)]}
            if step.kind is StepKind.LANE:
                lanes[id(step.outs[0])] = Lane(step)
        column.right = _tracks(stack.after, wires, strand, dashes, late, lanes)
        column.all = _tracks(stack.after, wires, strand, dashes, set(), {})
        if lanes:  # the lane keeps its distance to other tracks on the left side too
            below = {id(s.outs[0]): s.ins[0] for s in steps if s.kind is StepKind.LANE}
            lane_of = {id(below[k]): lane for k, lane in lanes.items()}
            column.left = _tracks(
                stack.before, wires_of(stack.before, meetings, steps, wires), strand, dashes, hidden, lane_of
            )
        before = wires_of(stack.before, meetings, steps, wires)
        for tensors, own in ((stack.after, wires), (stack.before, before)):
            for tensor in tensors:
                for wire in own[id(tensor)]:
                    column.scopes[wire.number] = scope[strand[id(tensor)]]
                    column.strands[wire.number] = strand[id(tensor)]
        for step in steps:
            if step.kind is StepKind.EXIT:  # its own column still lies inside
                scope.update({strand[id(tensor)]: step.section for tensor in step.outs})
        for tensor in stack.after:
            column.after.update({wire.number: scope[strand[id(tensor)]] for wire in wires[id(tensor)]})
        out.append(column)
    return Weave(out, meetings)


def wires_of(
    tensors: Sequence[Tensor],
    meetings: Mapping[int, Meeting],
    steps: Sequence[DrawStep],
    wires: Mapping[int, list[Wire]],
) -> dict[int, list[Wire]]:
    """The wires of tensors as they were before the column's steps."""
    out = {id(t): wires[id(t)] for t in tensors if id(t) in wires}
    for step in steps:
        for tensor, own in zip(step.ins, meetings[id(step)].ins, strict=True):
            out[id(tensor)] = own
    return out


def _tracks(
    stack: Sequence[Tensor],
    wires: Mapping[int, list[Wire]],
    strand: Mapping[int, int],
    dashes: dict[int, Dash],
    hidden: set[int],
    lanes: Mapping[int, Lane],
) -> list[Track]:
    out: list[Track] = []
    for tensor in stack:
        own: list[Track] = [w for w in wires[id(tensor)] if w.number not in hidden]
        if not own:
            continue
        if out:
            out.append(dashes.setdefault(strand[id(tensor)], Dash(strand[id(tensor)])))
        out += own
        if id(tensor) in lanes:
            out.append(lanes[id(tensor)])
    return out


def _main(step: DrawStep, stack: Sequence[Tensor]) -> int:
    """The operand whose wires go straight on: the one with most axes, and of several the highest."""
    height = {id(t): i for i, t in enumerate(stack)}
    if step.mark in ("mask", "pick"):
        return 0
    return min(range(len(step.ins)), key=lambda i: (-len(step.ins[i].axes), height[id(step.ins[i])]))


def _straight(copy: DrawStep) -> Tensor:
    """The copy whose wires go straight on: the first that has the same axes as the original, if there is one."""
    same = set(copy.ins[0].axes)
    return min(copy.outs, key=lambda t: (set(t.axes) != same, copy.outs.index(t)))


def _axes(wires: Sequence[Wire]) -> list[Axis]:
    return [w.axis for w in wires if w.axis is not None]


def _reorder(wires: list[Wire], axes: Sequence[Axis]) -> None:
    rank = {axis: i for i, axis in enumerate(axes)}
    wires.sort(key=lambda w: rank.get(w.axis, -1) if w.axis is not None else -1)


def _vertical(step: DrawStep, stack: Sequence[Tensor]) -> list[Tensor]:
    height = {id(t): i for i, t in enumerate(stack)}
    return sorted(step.ins, key=lambda t: height[id(t)])


def _line_up(
    step: DrawStep,
    stack: Sequence[Tensor],
    wires: dict[int, list[Wire]],
    wishes: Mapping[int, list[Axis]],
    bending: bool,
) -> None:
    """Bring the operands' wires into the order that the step needs."""
    match step.kind:
        case StepKind.JOIN if step.mark in ("loop", "bar"):
            upper, lower = _vertical(step, stack)[0], _vertical(step, stack)[-1]
            if step.mark == "bar":
                for i, tensor in enumerate(_vertical(step, stack)):
                    own = _axes(wires[id(tensor)])
                    joint = [a for a in own if a in step.contracted]
                    rest = [a for a in own if a not in step.contracted]
                    _reorder(wires[id(tensor)], [*rest, *joint] if i == 0 else [*joint, *rest])
                return
            a, b = _axes(wires[id(upper)]), _axes(wires[id(lower)])
            above, below = nested(a, b, step.contracted, a, b)
            if a and a[0] in b and a[0] not in step.contracted:  # then it crosses on its way to the dot anyway
                above = [*(x for x in a if x not in step.contracted), *(x for x in above if x in step.contracted)]
            _reorder(wires[id(upper)], above)
            _reorder(wires[id(lower)], below)
        case StepKind.THROUGH | StepKind.ON:
            held = wires[id(step.ins[0])]
            now = _axes(held)
            wish = [a for a in wishes.get(id(step.ins[0]), now) if a in now]
            named = step.on if step.kind is StepKind.ON else step.eaten
            group = [a for a in now if a in named]
            if inner := [a for a in now if a in step.each]:
                _reorder(held, together(now, beside(now, inner, group), wishes.get(id(step.outs[0]), ())))
                return
            if step.kind is StepKind.THROUGH and len(step.made) > len(group) and len(wish) == len(now) and not bending:
                group, now = [a for a in wish if a in named], wish  # to reorder now crosses fewer wires than later
            if step.mark == "mask":
                group = [a for a in step.on if a in now]
            _reorder(held, together(now, group, wishes.get(id(step.outs[0]), ())) if len(group) > 1 else now)
        case StepKind.JOIN if step.mark == "mask":
            held = wires[id(step.ins[0])]
            now = _axes(held)
            group = [a for a in step.on if a in now]
            _reorder(held, together(now, group, wishes.get(id(step.outs[0]), ())))
            for tensor in step.ins[1:]:
                _reorder(wires[id(tensor)], _axes(held))
        case StepKind.JOIN:
            main = step.ins[_main(step, stack)]
            for tensor in step.ins:
                if tensor is not main:
                    _reorder(wires[id(tensor)], _axes(wires[id(main)]))
        case StepKind.SINK:
            for tensor, end in zip(step.ins, step.outs, strict=True):
                _reorder(wires[id(tensor)], end.axes)
        case _:
            pass


def beside(now: Sequence[Axis], inner: Sequence[Axis], group: Sequence[Axis]) -> list[Axis]:
    """The axes of a glyph's weights on that side of the others that it names where more of them are."""
    first = sum(now.index(a) < now.index(b) for a in inner for b in group) * 2 >= len(inner) * len(group)
    return [*inner, *group] if first else [*group, *inner]


def together(now: Sequence[Axis], group: Sequence[Axis], wish: Sequence[Axis] = ()) -> list[Axis]:
    """`now`, but with `group` side by side in its own order, put where that crosses fewest wires; of several such
    places, where the first and last axis are those of `wish`."""
    rest = [a for a in now if a not in group]
    places = {a: i for i, a in enumerate(now)}

    def crossings(order: Sequence[Axis]) -> int:
        at = [places[a] for a in order]
        return sum(at[i] > at[k] for i in range(len(at)) for k in range(i + 1, len(at)))

    options = [[*rest[:k], *group, *rest[k:]] for k in range(len(rest) + 1)]
    return min(
        options,
        key=lambda order: (crossings(order), list(order[-1:]) != list(wish[-1:]), list(order[:1]) != list(wish[:1])),
    )


def nested(
    a: Sequence[Axis], b: Sequence[Axis], contracted: Sequence[Axis], wish_a: Sequence[Axis], wish_b: Sequence[Axis]
) -> tuple[list[Axis], list[Axis]]:
    """Orders of two tensors that meet: free, shared, contracted over contracted, shared, free."""
    first = {x: i for i, x in enumerate(wish_a)}
    second = {x: i for i, x in enumerate(wish_b)}
    shared = sorted((x for x in a if x in b and x not in contracted), key=lambda x: first.get(x, 0))
    inner = sorted((x for x in a if x in contracted), key=lambda x: first.get(x, 0))
    free_a = sorted((x for x in a if x not in shared and x not in inner), key=lambda x: first.get(x, 0))
    free_b = sorted((x for x in b if x not in shared and x not in inner), key=lambda x: second.get(x, 0))
    return [*free_a, *shared, *inner], [*inner[::-1], *shared[::-1], *free_b]


def _make(
    step: DrawStep, meeting: Meeting, wires: dict[int, list[Wire]], strand: dict[int, int],
    wishes: Mapping[int, list[Axis]], number: Callable[[], int], fresh: Fresh, stack: Stack,
) -> None:  # fmt: skip
    """The wires of a step's results."""
    outs: list[list[Wire]] = []
    match step.kind:
        case StepKind.SOURCE:
            for tensor in step.outs:
                strand[id(tensor)] = number()
                axes = list(tensor.axes) if step.mark == "input" else wishes.get(id(tensor), list(tensor.axes))
                outs.append(fresh(axes))
        case StepKind.BOX:
            height = {id(t): i for i, t in enumerate(stack.before)}
            for tensor in step.outs:
                twins = sorted(
                    (i for i, t in enumerate(step.ins) if set(t.axes) == set(tensor.axes)),
                    key=lambda i: (i != 0, height[id(step.ins[i])]),
                )
                like = twins[0] if twins else 0
                first = tensor is step.outs[0]
                strand[id(tensor)] = strand[id(_vertical(step, stack.before)[0])] if first else number()
                axes = _axes(meeting.ins[like]) if twins else wishes.get(id(tensor), list(tensor.axes))
                outs.append(fresh(axes))
        case StepKind.COPY:
            source = step.ins[0]
            own = meeting.ins[0]
            top = _straight(step)
            meeting.main = step.outs.index(top)
            for tensor in step.outs:
                swap = dict(zip(source.axes, tensor.axes, strict=True))
                strand[id(tensor)] = strand[id(source)] if tensor is top else number()
                if tensor is top:
                    outs.append([w if w.axis is None or swap[w.axis] == w.axis
                                 else fresh([swap[w.axis]])[0] for w in own])  # fmt: skip
                else:
                    axes = [swap[w.axis] for w in own if w.axis is not None]
                    outs.append(fresh(axes))
        case StepKind.JOIN:
            outs.append(_joined(step, meeting, wires, strand, fresh, stack))
        case StepKind.THROUGH:
            own, tensor = meeting.ins[0], step.outs[0]
            strand[id(tensor)] = strand[id(step.ins[0])]
            wish = wishes.get(id(tensor), list(tensor.axes))
            made = sorted(step.made, key=lambda a: wish.index(a) if a in wish else 99)
            rest = [w for w in own if w.axis is not None and w.axis not in step.eaten]
            hit = [i for i, w in enumerate(own) if w.axis in step.eaten]
            new = fresh(made) if made or not rest else []
            if hit:
                at = sum(w.axis not in step.eaten and w.axis is not None for w in own[: hit[0]])
            else:  # no axis ends: below as many axes as the wished order has above it
                at = sum(w.axis in wish[: wish.index(made[0])] for w in rest) if made and made[0] in wish else len(rest)
            outs.append([*rest[:at], *new, *rest[at:]])
        case StepKind.ENTER | StepKind.EXIT:
            for tensor, out, own in zip(step.ins, step.outs, meeting.ins, strict=False):
                strand[id(out)] = strand[id(tensor)]
                outs.append(_crossing(tensor, out, own, wishes.get(id(out), list(out.axes)), fresh))
        case _:
            for tensor, out, own in zip(step.ins, step.outs, meeting.ins, strict=True):
                strand[id(out)] = strand[id(tensor)]
                outs.append(own)
    meeting.outs = outs
    for tensor, own in zip(step.outs, outs, strict=True):
        wires[id(tensor)] = list(own)
    if step.kind is StepKind.SINK:
        for tensor, own in zip(step.ins, meeting.ins, strict=True):
            wires[id(tensor)] = list(own)


def _crossing(tensor: Tensor, out: Tensor, own: list[Wire], wish: Sequence[Axis], fresh: Fresh) -> list[Wire]:
    """The wires behind a bracket. The axis of a scan ends at the opening one and begins at the closing one."""
    if set(tensor.axes) == set(out.axes):
        return own
    keep = [w for w in own if w.axis in out.axes]
    for axis in sorted((a for a in out.axes if a not in tensor.axes), key=lambda a: wish.index(a) if a in wish else 99):
        before = set(wish[: wish.index(axis)]) if axis in wish else set()
        at = max((i + 1 for i, w in enumerate(keep) if w.axis in before), default=0)
        keep[at:at] = fresh([axis])
    return keep or fresh([])


def _joined(
    step: DrawStep, meeting: Meeting, wires: Mapping[int, list[Wire]], strand: dict[int, int], fresh: Fresh,
    stack: Stack,
) -> list[Wire]:  # fmt: skip
    out = step.outs[0]
    order = _vertical(step, stack.before)
    lead = order[0] if step.mark == "loop" else step.ins[meeting.main]
    strand[id(out)] = strand[id(order[0])]
    if step.mark == "loop":
        upper, lower = wires[id(order[0])], wires[id(order[-1])]
        below = {w.axis for w in lower if w.axis is not None}
        above = {w.axis for w in upper if w.axis is not None}
        shared = [w.axis for w in upper if w.axis in below and w.axis not in step.contracted and w.axis is not None]
        joined = [w for w in upper if w.axis is not None and w.axis not in below]
        joined += fresh(shared) if shared else []
        joined += [w for w in lower if w.axis is not None and w.axis not in above]
        return joined or fresh([])
    have = {w.axis for w in wires[id(lead)]}
    new = fresh(step.made) if step.mark == "bar" else []
    keep: list[Wire] = []
    placed = False
    scalar = not any(t.axes for t in step.ins)
    for tensor in order:
        for w in wires[id(tensor)]:
            if w.axis in step.contracted:
                if not placed:
                    keep += new
                    placed = True
            elif (tensor is lead or w.axis not in have) and (w.axis is not None or (scalar and tensor is lead)):
                keep.append(w)
                have.add(w.axis)
    return keep or fresh([])


def _wishes(columns: Sequence[Sequence[DrawStep]], stacks: Sequence[Stack]) -> dict[int, list[Axis]]:
    """For each tensor the order in which its reader would like its axes, from the outputs back."""
    wish: dict[int, list[Axis]] = {}
    for column, stack in zip(reversed(columns), reversed(stacks), strict=True):
        for step in column:
            _wish(step, stack.before, wish)
    return wish


def _wish(step: DrawStep, stack: Sequence[Tensor], wish: dict[int, list[Axis]]) -> None:
    def of(tensor: Tensor) -> list[Axis]:
        return wish.get(id(tensor), list(tensor.axes))

    match step.kind:
        case StepKind.SINK:
            for tensor, end in zip(step.ins, step.outs, strict=True):
                wish[id(tensor)] = list(end.axes)
        case StepKind.ENTER | StepKind.EXIT | StepKind.LANE:
            for tensor, out in zip(step.ins, step.outs, strict=False):
                want = of(out)
                wish[id(tensor)] = [*(a for a in tensor.axes if a not in want), *(a for a in want if a in tensor.axes)]
        case StepKind.ON:
            want = of(step.outs[0])
            group = [a for a in step.on if a in want]
            wish[id(step.ins[0])] = together(want, group) if len(group) > 1 else want
        case StepKind.COPY:
            main = _straight(step)
            back = dict(zip(main.axes, step.ins[0].axes, strict=True))
            wish[id(step.ins[0])] = [back[a] for a in of(main)]
        case StepKind.THROUGH:
            x, want = step.ins[0], of(step.outs[0])
            made = [a for a in want if a in step.made]
            eaten = [a for a in x.axes if a in step.eaten]
            rest = [a for a in want if a not in step.made]
            if made:
                at = sum(a not in step.made for a in want[: want.index(made[0])])
            else:
                at = sum(a not in step.eaten for a in x.axes[: x.axes.index(eaten[0])]) if eaten else 0
            wish[id(x)] = whole = [*rest[:at], *eaten, *rest[at:]]
            if inner := [a for a in whole if a in step.each]:
                wish[id(x)] = together(whole, beside(whole, inner, eaten))
        case StepKind.JOIN if step.mark == "loop":
            want = of(step.outs[0])
            order = _vertical(step, stack)
            upper, lower = order[0], order[-1]
            rank = {a: i for i, a in enumerate(want)}
            a = sorted(upper.axes, key=lambda x: rank.get(x, 99))
            b = sorted(lower.axes, key=lambda x: rank.get(x, 99))
            wish[id(upper)], wish[id(lower)] = nested(a, b, step.contracted, a, b)
        case StepKind.JOIN:
            want = of(step.outs[0])
            for i, tensor in enumerate(_vertical(step, stack)):
                own = [a for a in want if a in tensor.axes]
                joint = [a for a in tensor.axes if a not in own]
                wish[id(tensor)] = [*own, *joint] if i == 0 else [*joint, *own]
        case _:
            pass
