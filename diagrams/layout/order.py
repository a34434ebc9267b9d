"""Which tensor lies above which, column by column.

A step needs its operands side by side; those of a block, closed or open, in the order of its arguments if that is to be
had for a few crossings, so that it is drawn the same wherever it occurs. What goes past a block and is added to its
result lies beneath it. Of two factors the one that the spec begins to make first lies above: so queries, keys and
values stand in that order.

Free to choose are the order of copies, and where parameters and late inputs go. At first, copies lie one under the
other, the one that is read first on top; then other choices are tried one by one, and kept where they save crossings.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from ..scene.steps import DrawStep, Section, StepKind
from ..scene.tensors import Tensor

_WORK = 60_000  # tensors that all trials together may place; after that the best order so far is taken
_STARTS = 48  # searches that begin at random choices
_TURNED = 0.5  # what it costs that arguments of a block cross right before it, and not what passes it
_DISORDER = 3.0  # what it costs that they do not stand in their order
_OVER = 9.0  # what it costs that a residual goes over the block, or keys over queries, in crossings

Choice = tuple[int, ...]
Begun = tuple[tuple[int, ...], bool]  # numbers of steps, one after each copy; whether the next step gives another


@dataclass(slots=True)
class Stack:
    """The tensors in one column from top to bottom: before its steps (`before`) and after them (`after`)."""

    before: list[Tensor] = field(default_factory=list)
    after: list[Tensor] = field(default_factory=list)


def order_of(columns: Sequence[Sequence[DrawStep]]) -> list[Stack]:
    """One stack for each column."""
    copies = [s for column in columns for s in column if s.kind is StepKind.COPY and len(s.outs) > 1]
    reader = {id(t): s for column in columns for s in column for t in s.ins}
    column_of = {id(s): j for j, column in enumerate(columns) for s in column}
    for copy in copies:  # the copy read first on top; copies for one reader in the order of its operands
        copy.outs.sort(key=lambda t: _rank(t, reader, column_of))
    meets = [s for column in columns for s in column if s.kind in (StepKind.JOIN, StepKind.BOX) and len(s.ins) > 1]
    free = [s for column in columns for s in column if s.kind is StepKind.SOURCE and column_of[id(s)] > 0]
    options = {id(step): _options(step) for step in (*copies, *free, *meets)}
    maker = {id(t): s for column in columns for s in column for t in s.outs}
    met = {id(s): _met(s, reader, maker) for column in columns for s in column if s.kind is StepKind.SOURCE}
    search = _Search(columns, met, options)
    search.descend({})
    if search.cost >= _OVER:
        search.descend({id(step): (1,) for step in free if step.mark != "input"})
    chance = random.Random(0)
    for _ in range(_STARTS):
        if search.cost < 1e-9 or search.budget < 0:
            break
        search.descend({key: chance.choice(ways) for key, ways in options.items() if chance.random() < 0.3})
    return search.best


def _options(step: DrawStep) -> list[Choice]:
    """What may be chosen for a step: the order of copies; for a source, above or below; else which operand stays."""
    if step.kind is StepKind.SOURCE:
        return [(0,), (1,)]
    if step.kind is not StepKind.COPY:
        return [(k,) for k in range(min(4, len(step.ins)))]
    plain = tuple(range(len(step.outs)))
    if len(plain) <= 3:
        return list(permutations(plain))
    return [plain, plain[::-1], *(plain[k:] + plain[:k] for k in range(1, len(plain)))]


class _Search:
    """Local search: changes the choice for one step at a time, and keeps the best order that was found."""

    def __init__(
        self, columns: Sequence[Sequence[DrawStep]], met: Mapping[int, list[list[int]]],
        options: Mapping[int, list[Choice]],
    ) -> None:  # fmt: skip
        self.columns, self.met, self.options = columns, met, options
        self.scope: dict[int, Section | None] = {}
        self.copies: set[int] = set()  # tensors that are copies
        self.begun: dict[int, Begun] = {}
        for step in (step for column in columns for step in column):
            self.begun.update(_begun(step, self.begun))
            inside = step.border if step.kind is StepKind.ENTER else step.section
            self.scope.update((id(tensor), inside) for tensor in step.outs)
            if step.kind is StepKind.COPY and len(step.outs) > 1:
                self.copies.update(map(id, step.outs))
        self.best: list[Stack] = []
        self.cost = float("inf")
        self.budget = _WORK

    def descend(self, choice: dict[int, Choice]) -> None:
        stacks, cost = self.tried(choice)
        size = 1 + sum(len(s.after) for s in stacks)
        for _ in range(3):
            improved = False
            for key, ways in self.options.items():
                if self.budget < 0 or cost < 1e-9:
                    return
                for way in ways:
                    if way == choice.get(key):
                        continue
                    self.budget -= size
                    trial = {**choice, key: way}
                    _, trial_cost = self.tried(trial, cost - 1e-9)
                    if trial_cost < cost - 1e-9:
                        cost, choice, improved = trial_cost, trial, True
            if not improved:
                return

    def tried(self, choice: Mapping[int, Choice], most: float = float("inf")) -> tuple[list[Stack], float]:
        stacks, cost = self._simulate(choice, most)
        if cost < self.cost - 1e-9:
            self.best, self.cost = stacks, cost
        return stacks, cost

    def _simulate(self, choice: Mapping[int, Choice], most: float) -> tuple[list[Stack], float]:
        """The stacks that follow from the choices, and what their crossings cost; once that is `most`, no further."""
        stack: list[Tensor] = []
        stacks: list[Stack] = []
        cost = 0.0
        for column in self.columns:
            if cost >= most:
                break
            for step in column:
                if len(step.ins) > 1:
                    cost += _gather(stack, step, choice.get(id(step)))
                    cost += _OVER * _upside_down(stack, step, self.copies, self.begun)
                if step.kind is StepKind.SINK:
                    want = {id(t): i for i, t in enumerate(step.ins)}
                    target = sorted(stack, key=lambda t: want.get(id(t), -1))
                    cost += _crossings(stack, target)
                    stack[:] = target
            here = Stack(list(stack))
            boxes: list[set[int]] = []  # the results of each box in this column: nothing new is put between them
            for step in column:
                outs = list(step.outs)
                if step.kind is StepKind.COPY and len(outs) > 1:
                    order = choice.get(id(step))
                    if order is not None:
                        cost += 0.3 * (order != tuple(range(len(outs))))
                        outs = [outs[k] for k in order]
                if step.kind is StepKind.SOURCE:
                    _insert(stack, step, self.met, self.scope, boxes, above=choice.get(id(step), (0,))[0] == 1)
                    cost += 0.3 * choice.get(id(step), (0,))[0]
                    continue
                if not step.ins:
                    stack.extend(outs)
                    continue
                if step.kind in (StepKind.ENTER, StepKind.EXIT):
                    swap = {id(a): b for a, b in zip(step.ins, step.outs, strict=False)}
                    ending = {id(a) for a in step.ins[len(step.outs) :]}
                    stack[:] = [swap.get(id(t), t) for t in stack if id(t) not in ending]
                    continue
                if step.kind is StepKind.BOX:
                    boxes.append({id(t) for t in outs})
                ids = {id(t) for t in step.ins}
                at = next(i for i, t in enumerate(stack) if id(t) in ids)
                stack[:] = [t for t in stack if id(t) not in ids]
                stack[at:at] = outs
            here.after = list(stack)
            stacks.append(here)
        return stacks, cost


def _rank(tensor: Tensor, reader: Mapping[int, DrawStep], column_of: Mapping[int, int]) -> tuple[int, int, int]:
    step = reader[id(tensor)]
    at = next(i for i, t in enumerate(step.ins) if t is tensor)
    again = step.kind is StepKind.COPY and len(step.outs) > 1  # a copy that is copied again goes beneath the others
    return (1 if again else 0, column_of[id(step)], at)


def _weight(tensor: Tensor) -> int:
    return max(1, len(tensor.axes))


def _gather(stack: list[Tensor], step: DrawStep, choice: Choice | None) -> float:
    """Bring a step's operands side by side: to the chosen one, or in the cheapest way. Returns how many wires cross,
    and what it costs that the arguments of a block do not stand in their order."""
    ids = {id(t) for t in step.ins}
    places = [i for i, t in enumerate(stack) if id(t) in ids]
    as_they_are = [stack[i] for i in places]
    ways = [(as_they_are, 0.0)]
    block = step.kind is StepKind.BOX or (step.kind is StepKind.ENTER and step.mark == "border")
    if block and as_they_are != step.ins:
        ways = [(as_they_are, _DISORDER), (list(step.ins), _TURNED)]
    best: tuple[float, list[Tensor]] | None = None
    for group, price in ways:
        if group is as_they_are and places[-1] - places[0] == len(places) - 1:
            if best is None or price < best[0]:
                best = price, list(stack)
            continue
        for anchor in places if choice is None else (places[min(choice[0], len(places) - 1)],):
            target = [t for t in stack[:anchor] if id(t) not in ids] + group
            target += [t for t in stack[anchor:] if id(t) not in ids]
            cost = _crossings(stack, target) + price
            if best is None or cost < best[0]:
                best = cost, target
    assert best is not None
    stack[:] = best[1]
    return best[0]


def _begun(step: DrawStep, begun: Mapping[int, Begun]) -> dict[int, Begun]:
    """When the spec begins to make the results of a step. A copy keeps that of its tensor, and so does what a border
    lets through; what is made of a copy or of an input begins anew, after it."""
    if step.kind in (StepKind.ENTER, StepKind.EXIT):
        return {id(b): begun[id(a)] for a, b in zip(step.ins, step.outs, strict=False)}
    if step.kind is StepKind.COPY:
        path, fresh = begun[id(step.ins[0])]
        return {id(t): (path, fresh or len(step.outs) > 1) for t in step.outs}
    if step.mark == "input":
        return {id(t): ((), True) for t in step.outs}
    paths = [(*path, step.number) if fresh else path for path, fresh in (begun[id(t)] for t in step.ins)]
    return {id(t): (min(paths, default=(step.number,)), False) for t in step.outs}


def _upside_down(stack: Sequence[Tensor], step: DrawStep, copies: set[int], begun: Mapping[int, Begun]) -> bool:
    """Whether of two tensors that are added the upper one is a copy of what the other is made of; or of two factors the
    lower one was begun first."""
    if step.kind is not StepKind.JOIN or len(step.ins) != 2:
        return False
    upper, lower = sorted(step.ins, key=lambda t: next(i for i, other in enumerate(stack) if other is t))
    if step.mark == "loop":
        return begun[id(upper)][0] > begun[id(lower)][0]
    return step.mark == "sign" and id(upper) in copies and id(lower) not in copies


def _crossings(old: Sequence[Tensor], new: Sequence[Tensor]) -> int:
    """How many wires cross when the stack is rearranged."""
    first, last = 0, len(old)
    while first < last and old[first] is new[first]:
        first += 1
    while first < last and old[last - 1] is new[last - 1]:
        last -= 1
    height = {id(t): i for i, t in enumerate(new[first:last])}
    moved = [(height[id(t)], _weight(t)) for t in old[first:last]]
    return sum(w * v for k, (at, w) in enumerate(moved) for below, v in moved[k + 1 :] if at > below)


def _met(source: DrawStep, reader: Mapping[int, DrawStep], maker: Mapping[int, DrawStep]) -> list[list[int]]:
    """Of each tensor (by id) that those of a source will meet: itself, and what it is made of, the nearest first.

    What an input meets further on says nothing: inputs stand in their order.
    """
    out = []
    for tensor in source.outs:
        step = reader[id(tensor)]
        given = source.mark == "input"
        while not given and len(step.ins) == len(step.outs) == 1 and step.kind is not StepKind.SINK:
            tensor = step.outs[0]
            step = reader[id(tensor)]
        for line in ([other] for other in step.ins if other is not tensor):
            for t in () if given else line:  # grows as it goes
                line += [below for below in maker[id(t)].ins if below not in line]
            out.append([id(t) for t in line])
    return out


def _insert(
    stack: list[Tensor],
    step: DrawStep,
    met: Mapping[int, list[list[int]]],
    scope: Mapping[int, Section | None],
    boxes: Sequence[set[int]],
    *,
    above: bool,
) -> None:
    """Put new tensors next to those that they will meet; if none is there, at the bottom (or top) of their section."""
    present = {id(t): i for i, t in enumerate(stack)}
    found = (next((present[key] for key in line if key in present), None) for line in met.get(id(step), ()))
    beside = sorted(at for at in found if at is not None)
    section = scope[id(step.outs[0])]
    if not beside and section is not None:
        beside = [i for i, t in enumerate(stack) if (s := scope[id(t)]) is not None and s.inside(section)]
    at = (beside[0] if above else beside[-1] + 1) if beside else (0 if above else len(stack))
    if step.placed:
        at = len(stack)
    for box in boxes:
        places = [i for i, t in enumerate(stack) if id(t) in box]
        if places[0] < at <= places[-1]:
            at = places[0] if above else places[-1] + 1
    stack[at:at] = step.outs
