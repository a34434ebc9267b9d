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
from functools import lru_cache
from itertools import count, permutations
from typing import NamedTuple

from ..scene.steps import DrawStep, Section, StepKind
from ..scene.tensors import Tensor

_WORK = 60_000  # tensors that all trials together may place; after that the best order so far is taken
_STARTS = 48  # searches that begin at random choices
_TURNED = 0.5  # what it costs that arguments of a block cross right before it, and not what passes it
_DISORDER = 3.0  # what it costs that they do not stand in their order
_OVER = 9.0  # what it costs that a residual goes over the block, or keys over queries, in crossings

Numbers = tuple[int, ...]  # of tensors
Choice = tuple[int, ...]
Begun = tuple[tuple[int, ...], bool]  # numbers of steps, one after each copy; whether the next step gives another


@dataclass(slots=True)
class Stack:
    """The tensors in one column from top to bottom: before its steps (`before`) and after them (`after`)."""

    before: list[Tensor] = field(default_factory=list)
    after: list[Tensor] = field(default_factory=list)


class _Step(NamedTuple):
    """What the search sees of a step, whose tensors are numbers. Equal figures have equal steps: those of a block on
    pages of several widths, and those of one that was drawn before.

    given:   whether it is an input.
    low:     whether the author says where it stands.
    block:   whether its operands are the arguments of a block.
    over:    of two operands, for which it is wrong to lie above the other.
    options: what may be chosen for it.
    beside:  of each tensor that a source's will meet, itself and what it is made of, the nearest first.
    kin:     what lies in the section of a source.
    """

    kind: StepKind
    ins: Numbers
    outs: Numbers
    given: bool
    low: bool
    block: bool
    over: tuple[bool, bool]
    options: tuple[Choice, ...]
    beside: tuple[Numbers, ...]
    kin: frozenset[int]


Steps = tuple[tuple[_Step, ...], ...]  # of each column


class _Followed(NamedTuple):
    """A stack (before, after) for each column, as far as it was followed, and what crosses before each and at last."""

    stacks: list[tuple[Numbers, Numbers]]
    costs: list[float]


def order_of(columns: Sequence[Sequence[DrawStep]]) -> list[Stack]:
    """One stack for each column."""
    steps = [step for column in columns for step in column]
    reader = {id(t): s for s in steps for t in s.ins}
    column_of = {id(s): j for j, column in enumerate(columns) for s in column}
    for step in steps:  # the copy read first on top; copies for one reader in the order of its operands
        if step.kind is StepKind.COPY and len(step.outs) > 1:
            step.outs.sort(key=lambda t: _rank(t, reader, column_of))
    tensors = [tensor for step in steps for tensor in step.outs]
    found = _found(_seen(columns, tensors, reader), tuple(max(1, len(tensor.axes)) for tensor in tensors))
    return [Stack([tensors[t] for t in before], [tensors[t] for t in after]) for before, after in found]


def _seen(columns: Sequence[Sequence[DrawStep]], tensors: Sequence[Tensor], reader: Mapping[int, DrawStep]) -> Steps:
    """What the order hangs on, and nothing else."""
    number = {id(tensor): k for k, tensor in enumerate(tensors)}
    steps = [step for column in columns for step in column]
    maker = {id(t): s for s in steps for t in s.outs}
    scope: dict[int, Section | None] = {}
    begun: dict[int, Begun] = {}
    for step in steps:
        begun.update(_begun(step, begun))
        inside = step.border if step.kind is StepKind.ENTER else step.section
        scope.update((number[id(tensor)], inside) for tensor in step.outs)
    copies = {id(t) for step in steps if step.kind is StepKind.COPY and len(step.outs) > 1 for t in step.outs}

    def one(step: DrawStep, first: bool) -> _Step:
        beside: list[Numbers] = []
        kin: frozenset[int] = frozenset()
        if step.kind is StepKind.SOURCE:
            beside = [tuple(number[key] for key in line) for line in _met(step, reader, maker)]
            if (own := step.section) is not None:
                kin = frozenset(t for t, section in scope.items() if section is not None and section.inside(own))
        return _Step(
            step.kind, tuple(number[id(t)] for t in step.ins), tuple(number[id(t)] for t in step.outs),
            step.mark == "input", bool(step.placed),
            step.kind is StepKind.BOX or (step.kind is StepKind.ENTER and step.mark == "border"),
            _over(step, copies, begun),
            () if first and step.kind is StepKind.SOURCE else _options(step), tuple(beside), kin,
        )  # fmt: skip

    return tuple(tuple(one(step, j == 0) for step in column) for j, column in enumerate(columns))


@lru_cache(maxsize=256)
def _found(columns: Steps, weights: tuple[int, ...]) -> list[tuple[Numbers, Numbers]]:
    """The best order of a few searches. weights: how many wires each tensor has, one at least."""
    search = _Search(columns, weights)
    search.descend({})
    if search.best.costs[-1] >= _OVER:
        search.descend(dict.fromkeys(search.late, (1,)))
    chance = random.Random(0)
    for _ in range(_STARTS):
        if search.best.costs[-1] < 1e-9 or search.budget < 0:
            break
        search.descend({key: chance.choice(ways) for key, ways in search.options.items() if chance.random() < 0.3})
    return search.best.stacks


def _options(step: DrawStep) -> tuple[Choice, ...]:
    """What may be chosen for a step: the order of copies; for a source, above or below; else which operand stays."""
    if step.kind is StepKind.SOURCE:
        return (0,), (1,)
    if step.kind is StepKind.COPY and len(step.outs) > 1:
        plain = tuple(range(len(step.outs)))
        if len(plain) <= 3:
            return tuple(permutations(plain))
        return plain, plain[::-1], *(plain[k:] + plain[:k] for k in range(1, len(plain)))
    if step.kind in (StepKind.JOIN, StepKind.BOX) and len(step.ins) > 1:
        return tuple((k,) for k in range(min(4, len(step.ins))))
    return ()


class _Search:
    """Local search: changes the choice for one step at a time, and keeps the best order that was found."""

    def __init__(self, columns: Steps, weights: Sequence[int]) -> None:
        self.weights = weights
        numbers = count()
        self.columns = [[(next(numbers), step) for step in column] for column in columns]
        self.column_of = [j for j, column in enumerate(columns) for _ in column]
        steps = [each for column in self.columns for each in column if each[1].options]
        kinds = (StepKind.COPY,), (StepKind.SOURCE,), (StepKind.JOIN, StepKind.BOX)
        self.options = {key: step.options for group in kinds for key, step in steps if step.kind in group}
        self.late = [key for key, step in steps if step.kind is StepKind.SOURCE and not step.given]
        self.best = _Followed([], [float("inf")])
        self.budget = _WORK
        self.asked = [[key for key, _ in column if key in self.options] for column in self.columns]
        self.known: dict[tuple[int, Numbers, tuple[Choice | None, ...]], tuple[tuple[Numbers, Numbers], float]] = {}

    def descend(self, choice: dict[int, Choice]) -> None:
        now = self._follow(choice, None, 0, float("inf"))
        size = 1 + sum(len(after) for _, after in now.stacks)
        for _ in range(3):
            improved = False
            for key, ways in self.options.items():
                if self.budget < 0 or now.costs[-1] < 1e-9:
                    return
                for way in ways:
                    if way == choice.get(key):
                        continue
                    self.budget -= size
                    trial = {**choice, key: way}
                    found = self._follow(trial, now, self.column_of[key], now.costs[-1] - 1e-9)
                    if found.costs[-1] < now.costs[-1] - 1e-9:
                        now, choice, improved = found, trial, True
            if not improved:
                return

    def _follow(self, choice: Mapping[int, Choice], near: _Followed | None, first: int, most: float) -> _Followed:
        """The order that follows from the choices; once it costs `most`, no further.

        near: the order that follows from choices which differ at one step of column `first`. Up to there the two are
              one, and again from where the same tensors lie in the same order.
        """
        order = _Followed([], [0.0]) if near is None else _Followed(near.stacks[:first], near.costs[: first + 1])
        for j in range(first, len(self.columns)):
            if order.costs[-1] >= most:
                return order
            before = order.stacks[-1][1] if j else ()
            case = j, before, tuple(map(choice.get, self.asked[j]))
            if case not in self.known:
                self.known[case] = self._column(j, list(before), choice)
            stack, cost = self.known[case]
            order.stacks.append(stack)
            order.costs.append(order.costs[-1] + cost)
            if near is not None and stack[1] == near.stacks[j][1]:
                more = order.costs[-1] - near.costs[j + 1]
                order.costs.extend(cost + more for cost in near.costs[j + 2 :])
                order.stacks.extend(near.stacks[j + 1 :])
                break
        if order.costs[-1] < self.best.costs[-1] - 1e-9:
            self.best = order
        return order

    def _column(self, j: int, stack: list[int], choice: Mapping[int, Choice]) -> tuple[tuple[Numbers, Numbers], float]:
        """The stack before and after the steps of a column, and what its crossings cost."""
        cost = 0.0
        for key, step in self.columns[j]:
            if len(step.ins) > 1:
                cost += self._gather(stack, step, choice.get(key))
                if step.over[0] or step.over[1]:
                    cost += _OVER * step.over[stack.index(step.ins[1]) < stack.index(step.ins[0])]
            if step.kind is StepKind.SINK:
                target = sorted(stack, key=lambda t: step.ins.index(t) if t in step.ins else -1)
                cost += self._crossings(stack, target)
                stack[:] = target
        before = tuple(stack)
        boxes: list[Numbers] = []  # the results of each box in this column: nothing new is put between them
        for key, step in self.columns[j]:
            outs = step.outs
            if step.kind is StepKind.COPY and len(outs) > 1 and key in choice:
                order = choice[key]
                cost += 0.3 * (order != tuple(range(len(outs))))
                outs = tuple(outs[k] for k in order)
            if step.kind is StepKind.SOURCE:
                above = key in choice and choice[key][0] == 1
                _insert(stack, step, boxes, above=above)
                cost += 0.3 * above
                continue
            if not step.ins:
                stack.extend(outs)
                continue
            if step.kind in (StepKind.ENTER, StepKind.EXIT):
                swap = dict(zip(step.ins, outs, strict=False))
                ending = step.ins[len(outs) :]
                stack[:] = [swap.get(t, t) for t in stack if t not in ending]
                continue
            if step.kind is StepKind.BOX:
                boxes.append(outs)
            at = min(map(stack.index, step.ins))
            stack[:] = [t for t in stack if t not in step.ins]
            stack[at:at] = outs
        return (before, tuple(stack)), cost

    def _gather(self, stack: list[int], step: _Step, choice: Choice | None) -> float:
        """Bring a step's operands side by side: to the chosen one, or in the cheapest way. Returns how many wires
        cross, and what it costs that the arguments of a block do not stand in their order."""
        places = sorted(map(stack.index, step.ins))
        as_they_are = [stack[i] for i in places]
        ways = [(as_they_are, 0.0)]
        if step.block and as_they_are != list(step.ins):
            ways = [(as_they_are, _DISORDER), (list(step.ins), _TURNED)]
        best: tuple[float, list[int]] | None = None
        for group, price in ways:
            if group is as_they_are and places[-1] - places[0] == len(places) - 1:
                if best is None or price < best[0]:
                    best = price, list(stack)
                continue
            for anchor in places if choice is None else (places[min(choice[0], len(places) - 1)],):
                target = [t for t in stack[:anchor] if t not in step.ins] + group
                target += [t for t in stack[anchor:] if t not in step.ins]
                cost = self._crossings(stack, target) + price
                if best is None or cost < best[0]:
                    best = cost, target
        assert best is not None
        stack[:] = best[1]
        return best[0]

    def _crossings(self, old: Sequence[int], new: Sequence[int]) -> int:
        """How many wires cross when the stack is rearranged."""
        first, last = 0, len(old)
        while first < last and old[first] == new[first]:
            first += 1
        while first < last and old[last - 1] == new[last - 1]:
            last -= 1
        height = {t: i for i, t in enumerate(new[first:last])}
        moved = [(height[t], self.weights[t]) for t in old[first:last]]
        return sum(w * v for k, (at, w) in enumerate(moved) for below, v in moved[k + 1 :] if at > below)


def _rank(tensor: Tensor, reader: Mapping[int, DrawStep], column_of: Mapping[int, int]) -> tuple[int, int, int]:
    step = reader[id(tensor)]
    at = next(i for i, t in enumerate(step.ins) if t is tensor)
    again = step.kind is StepKind.COPY and len(step.outs) > 1  # a copy that is copied again goes beneath the others
    return (1 if again else 0, column_of[id(step)], at)


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


def _over(step: DrawStep, copies: set[int], begun: Mapping[int, Begun]) -> tuple[bool, bool]:
    """For which of two operands it is wrong to lie above: of two that are added for the copy of what the other is made
    of, of two factors for the one that was begun last."""
    if step.kind is not StepKind.JOIN or len(step.ins) != 2:
        return False, False
    a, b = map(id, step.ins)
    if step.mark == "loop":
        return begun[a][0] > begun[b][0], begun[b][0] > begun[a][0]
    if step.mark == "sign":
        return a in copies and b not in copies, b in copies and a not in copies
    return False, False


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


def _insert(stack: list[int], step: _Step, boxes: Sequence[Numbers], *, above: bool) -> None:
    """Put new tensors next to those that they will meet; if none is there, at the bottom (or top) of their section."""
    present = {t: i for i, t in enumerate(stack)}
    found = (next((present[t] for t in line if t in present), None) for line in step.beside)
    beside = sorted(at for at in found if at is not None)
    if not beside:
        beside = [i for i, t in enumerate(stack) if t in step.kin]
    at = (beside[0] if above else beside[-1] + 1) if beside else (0 if above else len(stack))
    if step.low:
        at = len(stack)
    for box in boxes:
        places = [present[t] for t in box]
        if min(places) < at <= max(places):
            at = min(places) if above else max(places) + 1
    stack[at:at] = step.outs
