"""The column of each step.

A step stands in the first column after those of its operands, so that independent steps share a column. What is inside
a region or repeat lies between the two columns of its border. A repeat shares its columns with nothing outside it, and
what is first needed after the repeat stands after it. Inputs stand at the left unless a repeat lies before their first
reader; parameters and tables stand just before that reader. A layout may ask for what a repeat does not need to stand
before it all the same (`early`), or for inputs to stand just before their readers (`late`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..scene.steps import DrawStep, Scene, Section, StepKind


def columns_of(scene: Scene, *, early: bool = False, late: Collection[int] = ()) -> list[list[DrawStep]]:
    """The steps of each column, left to right; within a column in the scene's order. `late`: inputs, by id."""
    steps = scene.steps
    n = len(steps)
    at = {id(step): i for i, step in enumerate(steps)}
    before: list[set[int]] = [set() for _ in range(n)]
    after: list[set[int]] = [set() for _ in range(n)]

    def edge(a: int, b: int) -> None:
        if a != b:
            before[b].add(a)
            after[a].add(b)

    maker = {id(t): i for i, step in enumerate(steps) for t in step.outs}
    for i, step in enumerate(steps):
        for tensor in step.ins:
            edge(maker[id(tensor)], i)
        inner: Section | None = step.section
        while inner is not None:  # inside its borders
            if inner.enter is not None:
                edge(at[id(inner.enter)], i)
            if inner.exit is not None:
                edge(i, at[id(inner.exit)])
            inner = inner.parent
    _apart(scene, steps, at, before, edge, early=early)
    order = _sorted(before, after)
    column = [0] * n
    for i in order:
        column[i] = max((column[j] + 1 for j in before[i]), default=0)
    last = max(column, default=0)
    for i, step in enumerate(steps):
        if step.kind is StepKind.SINK:
            column[i] = last
    latest = [last] * n
    for i in reversed(order):
        latest[i] = min((latest[j] - 1 for j in after[i]), default=last)
    for i in reversed(order):  # parameters and tables stand as late as may be
        step = steps[i]
        behind = step.kind is StepKind.COPY and any(id(steps[j]) in late for j in before[i])
        if behind or (step.kind is StepKind.SOURCE and (step.late or before[i] or id(step) in late)):
            column[i] = min((column[j] for j in after[i]), default=last) - 1
    _abreast(steps, order, before, after, column)
    low = min(column, default=0)
    out: list[list[DrawStep]] = [[] for _ in range(last - low + 1)]
    for i, step in enumerate(steps):
        out[column[i] - low].append(step)
    return [c for c in out if c]


def _sorted(before: Sequence[set[int]], after: Sequence[set[int]]) -> list[int]:
    """Topological order; ties in the scene's order of becoming free."""
    left = [len(b) for b in before]
    order = [i for i, count in enumerate(left) if not count]
    for i in order:
        for j in sorted(after[i]):
            left[j] -= 1
            if not left[j]:
                order.append(j)
    assert len(order) == len(before), "the scene's steps go round in a circle"
    return order


def _closure(n: int, edges: Sequence[set[int]], order: Sequence[int]) -> list[int]:
    """For each step the steps reached from it along `edges`, as a bit set."""
    out = [0] * n
    for i in order:
        bits = 0
        for j in edges[i]:
            bits |= out[j] | (1 << j)
        out[i] = bits
    return out


def _apart(
    scene: Scene,
    steps: Sequence[DrawStep],
    at: dict[int, int],
    before: list[set[int]],
    edge: Callable[[int, int], None],
    *,
    early: bool,
) -> None:
    """Give each repeat columns of its own: every step of its scope comes before or after it."""
    n = len(steps)
    holders = {id(holder) for s in scene.sections if s.repeat for holder in _chain(s)}
    repeats = [s for s in scene.sections if id(s) in holders and s.enter is not None and s.exit is not None]
    known: set[int] = set()
    made: set[int] = set()  # tensors (by id) that are known without data
    for i, step in enumerate(steps):
        if all(id(t) in made for t in step.ins) if step.ins else step.kind is StepKind.SOURCE and step.late:
            known.add(i)
            made |= {id(t) for t in step.outs}
    for k, repeat in enumerate(repeats):
        assert repeat.enter is not None and repeat.exit is not None
        after: list[set[int]] = [set() for _ in range(n)]
        for i, sources in enumerate(before):
            for j in sources:
                after[j].add(i)
        order = _sorted(before, after)
        up = _closure(n, before, order)
        down = _closure(n, after, order[::-1])
        enter, leave = at[id(repeat.enter)], at[id(repeat.exit)]
        inside = up[leave] & down[enter] | (1 << enter) | (1 << leave)
        later_repeats = 0
        for other in repeats[k + 1 :]:
            if other.parent is repeat.parent and other.enter is not None:
                later_repeats |= (1 << at[id(other.enter)]) | down[at[id(other.enter)]]
        behind = down[leave]
        # Where what is known without data stands hangs on where its readers do, so these come first.
        for i in (*(i for i in range(n) if i not in known), *(i for i in reversed(order) if i in known)):
            step, bit = steps[i], 1 << i
            if inside & bit or up[enter] & bit or down[leave] & bit:
                continue
            if step.section is not repeat.parent or step.kind is StepKind.SINK:
                continue
            below = down[i] | bit
            needed_before = below & (up[enter] | (1 << enter))
            if needed_before:
                continue
            late = i in known and all(behind >> j & 1 for j in after[i])
            if below & inside:  # something inside reads it without the border between
                edge(i, enter)
            elif late or (not early and (below & (down[leave] | later_repeats) or i > leave)):
                edge(leave, i)
                behind |= bit
            elif not up[i] >> leave & 1:
                edge(i, enter)


def _chain(section: Section | None) -> list[Section]:
    """The section and those around it."""
    out = []
    while section is not None:
        out.append(section)
        section = section.parent
    return out


def _abreast(
    steps: Sequence[DrawStep],
    order: Sequence[int],
    before: Sequence[set[int]],
    after: Sequence[set[int]],
    column: list[int],
) -> None:
    """Where there is slack, learned maps stand under one another (the L of Q beside those of K and V)."""
    for i in reversed(order):
        step = steps[i]
        if step.kind is not StepKind.THROUGH or not step.learned:
            continue
        end = min((column[j] for j in after[i]), default=column[i] + 1) - 1
        for c in range(column[i] + 1, end + 1):
            if any(
                j != i and column[j] == c and steps[j].mark == step.mark and steps[j].section is step.section
                for j in range(len(steps))
            ):
                column[i] = c
                break
