"""The order of axes within each tensor.

Axes have no order, so one is chosen. At a contraction the wires of the upper tensor stand in the order free, shared,
contracted, and those of the lower one contracted, shared, free, so that loops and dots nest like brackets. Going back
from the outputs, each step says in which order it would like the axes of its operands (`wishes_of`). A wire that begins
is put where that order wants it; an order that still does not fit is changed once, just before the step that needs it
(`line_up`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...compiler.sizes.axes import Axis
from ..scene.steps import DrawStep, StepKind
from ..scene.tensors import Tensor
from .order import Stack
from .wires import Wire


def wishes_of(columns: Sequence[Sequence[DrawStep]], stacks: Sequence[Stack]) -> dict[int, list[Axis]]:
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
            main = straight_copy(step)
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
            order = vertical(step, stack)
            upper, lower = order[0], order[-1]
            rank = {a: i for i, a in enumerate(want)}
            a = sorted(upper.axes, key=lambda x: rank.get(x, 99))
            b = sorted(lower.axes, key=lambda x: rank.get(x, 99))
            wish[id(upper)], wish[id(lower)] = nested(a, b, step.contracted, a, b)
        case StepKind.JOIN:
            want = of(step.outs[0])
            for i, tensor in enumerate(vertical(step, stack)):
                own = [a for a in want if a in tensor.axes]
                joint = [a for a in tensor.axes if a not in own]
                wish[id(tensor)] = [*own, *joint] if i == 0 else [*joint, *own]
        case _:
            pass


def line_up(
    step: DrawStep,
    stack: Sequence[Tensor],
    wires: dict[int, list[Wire]],
    wishes: Mapping[int, list[Axis]],
    bending: bool,
) -> None:
    """Bring the operands' wires into the order that the step needs. bending: whether they bend just before it."""
    match step.kind:
        case StepKind.JOIN if step.mark == "loop":
            upper, lower = (wires[id(tensor)] for tensor in (vertical(step, stack)[0], vertical(step, stack)[-1]))
            a, b = axes_of(upper), axes_of(lower)
            above, below = nested(a, b, step.contracted, a, b)
            if a and a[0] in b and a[0] not in step.contracted:  # then it crosses on its way to the dot anyway
                above = [*(x for x in a if x not in step.contracted), *(x for x in above if x in step.contracted)]
            _reorder(upper, above)
            _reorder(lower, below)
        case StepKind.JOIN if step.mark == "bar":
            for i, tensor in enumerate(vertical(step, stack)):
                own = axes_of(wires[id(tensor)])
                joint = [a for a in own if a in step.contracted]
                rest = [a for a in own if a not in step.contracted]
                _reorder(wires[id(tensor)], [*rest, *joint] if i == 0 else [*joint, *rest])
        case StepKind.JOIN if step.mark == "mask":
            held = wires[id(step.ins[0])]
            now = axes_of(held)
            _reorder(held, together(now, [a for a in step.on if a in now], wishes.get(id(step.outs[0]), ())))
            for tensor in step.ins[1:]:
                _reorder(wires[id(tensor)], axes_of(held))
        case StepKind.JOIN:
            main = step.ins[main_operand(step, stack)]
            for tensor in step.ins:
                if tensor is not main:
                    _reorder(wires[id(tensor)], axes_of(wires[id(main)]))
        case StepKind.THROUGH | StepKind.ON:
            held = wires[id(step.ins[0])]
            _reorder(held, _around_glyph(step, axes_of(held), wishes, bending))
        case StepKind.SINK:
            for tensor, end in zip(step.ins, step.outs, strict=True):
                _reorder(wires[id(tensor)], end.axes)
        case _:
            pass


def _around_glyph(step: DrawStep, now: list[Axis], wishes: Mapping[int, list[Axis]], bending: bool) -> Sequence[Axis]:
    """An order in which the wires that a glyph sits on, or ends, lie side by side."""
    wish = [a for a in wishes.get(id(step.ins[0]), now) if a in now]
    named = step.on if step.kind is StepKind.ON else step.eaten
    group = [a for a in now if a in named]
    behind = wishes.get(id(step.outs[0]), ())
    if inner := [a for a in now if a in step.each]:
        return together(now, beside(now, inner, group), behind)
    if step.kind is StepKind.THROUGH and len(step.made) > len(group) and len(wish) == len(now) and not bending:
        group, now = [a for a in wish if a in named], wish  # to reorder now crosses fewer wires than later
    if step.mark == "mask":
        group = [a for a in step.on if a in now]
    return together(now, group, behind) if len(group) > 1 else now


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


def main_operand(step: DrawStep, stack: Sequence[Tensor]) -> int:
    """The operand whose wires go straight on: the one with most axes, and of several the highest."""
    height = {id(t): i for i, t in enumerate(stack)}
    if step.mark in ("mask", "pick"):
        return 0
    return min(range(len(step.ins)), key=lambda i: (-len(step.ins[i].axes), height[id(step.ins[i])]))


def straight_copy(copy: DrawStep) -> Tensor:
    """The copy whose wires go straight on: the first that has the same axes as the original, if there is one."""
    same = set(copy.ins[0].axes)
    return min(copy.outs, key=lambda t: (set(t.axes) != same, copy.outs.index(t)))


def axes_of(wires: Sequence[Wire]) -> list[Axis]:
    return [w.axis for w in wires if w.axis is not None]


def _reorder(wires: list[Wire], axes: Sequence[Axis]) -> None:
    rank = {axis: i for i, axis in enumerate(axes)}
    wires.sort(key=lambda w: rank.get(w.axis, -1) if w.axis is not None else -1)


def vertical(step: DrawStep, stack: Sequence[Tensor]) -> list[Tensor]:
    height = {id(t): i for i, t in enumerate(stack)}
    return sorted(step.ins, key=lambda t: height[id(t)])
