"""Steps that choose items: masks, look-ups and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...compiler.graph.nodes import Apply
from ...compiler.graph.traits import (
    Arrange,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    IndexMap,
    OpTraits,
    Pointwise,
    Sum,
)
from ...compiler.sizes.axes import Axis
from ..base.names import name_text
from ..base.text import Rich, bold, joined, roman
from .formulas.definitions import spelled
from .formulas.patterns import GENERAL, PADDED, Case, cases, elided, telling
from .formulas.predicates import PredicateText, placed, predicate
from .formulas.symbolic import Symbolic, leaf_of, looked_up, number, written
from .op_glyphs import LOOKUP, name_of
from .steps import Collector, DrawnOp, DrawStep, Frame, Item, StepKind
from .tensors import Learned, Tensor, tail


def lookup(steps: Collector, op: DrawnOp) -> Item:
    frame = op.frame
    if op.node.weights:
        return _learned(steps, op)
    table, index = op.items[0], op.items[1] if len(op.items) > 1 else number(0)
    if isinstance(table, Symbolic) and isinstance(index, Symbolic) and not table.leaves and not index.leaves:
        if len(op.eaten) != 1:
            return Symbolic("?", text=op.name, axes=op.axes, boolean=op.boolean)
        return replace(looked_up(table, op.eaten[0], index, op.axes), text=op.name)
    if isinstance(table, Learned) and isinstance(index, Tensor):
        rest = set(table.axes) - set(op.eaten)
        if (rest or not index.axes) and not rest & set(index.axes):
            text = name_text(table.name, "b")
            step = DrawStep(StepKind.THROUGH, LOOKUP.mark, [index], [], frame.section, text=text)
            steps.passes(frame, step, table.path, table.loops)
            return _embedded(steps, op, index, step)
    x = steps.tensor(frame, table)
    if isinstance(index, Symbolic) and not index.leaves:
        return _at(steps, op, x, index)
    return _picked(steps, op, x, steps.tensor(frame, index))


def _learned(steps: Collector, op: DrawnOp) -> Tensor:
    """A table of the op's own."""
    frame, name = op.frame, op.node.name or ""
    x = steps.tensor(frame, op.items[0])
    letter = name_of(op.node.traits)
    label = tail(name or letter)
    step = DrawStep(StepKind.THROUGH, LOOKUP.mark, [x], [], frame.section, text=bold(letter))
    step.raised = name_text(label) if label != letter else ()
    steps.passes(frame, step, frame.prefix + name, frame.loops)
    return _embedded(steps, op, x, step)


def _embedded(steps: Collector, op: DrawnOp, index: Tensor, step: DrawStep) -> Tensor:
    """The items of a learned table, at the wires of the index that says which."""
    out = op.indices()
    step.outs, step.learned, step.tip = [out], True, op.tip
    step.made = tuple(axis for axis in op.axes if axis not in index.axes)
    steps.add(step)
    return out


def _at(steps: Collector, op: DrawnOp, x: Tensor, index: Symbolic) -> Tensor:
    """The item at an index that is known without data: a pill that says it."""
    out = op.indices()
    at = joined((*roman("= "), *_index_text(index)))
    gone = tuple(a for a in x.axes if a in op.eaten)
    born = tuple(a for a in op.axes if a not in x.axes or a in gone)
    kind = StepKind.ON if gone == born else StepKind.THROUGH
    on = gone if kind is StepKind.ON else ()
    steps.add(
        DrawStep(kind, "pill", [x], [out], op.frame.section, eaten=gone, made=born, on=on, text=at, tip=op.tip)
    )  # fmt: skip
    return out


def _picked(steps: Collector, op: DrawnOp, x: Tensor, by: Tensor) -> Tensor:
    """The items that data say: the wires of the index come in."""
    gone = tuple(a for a in op.eaten if a in x.axes)
    if not gone:  # every item is the same one
        return x
    if set(gone) & set(by.axes):  # it ends, and that of the index goes on
        twins = {a: replace(a, id=-1 - a.id) for a in gone}
        x, gone = steps.relabelled(op.frame, x, tuple(twins.get(a, a) for a in x.axes)), tuple(twins.values())
    out = op.indices()
    out.axes = tuple(dict.fromkeys((*(a for a in x.axes if a not in gone), *by.axes)))
    at = (*roman("= "), *(name_text(by.name) or roman("·")))
    steps.add(DrawStep(StepKind.JOIN, "pick", [x, by], [out], op.frame.section, contracted=gone, text=at, tip=op.tip))
    return out


def _index_text(index: Symbolic) -> Rich:
    """The text for a known index: its formula, or the name of the block that it is made by."""
    while index.meaning == Sum((1,)) and not index.block:  # `index[axis](..)`: the wire says which axis
        (index,) = index.args
    return written(replace(index, op="along")) if index.block else spelled(index)


def one_hot(
    steps: Collector, frame: Frame, node: Apply, items: Sequence[Item], axes: tuple[Axis, ...]
) -> Tensor | None:
    """`axis == index`: a pill with the comparison, at which the axis begins."""
    if not isinstance(node.traits.meaning, Compared) or len(items) != 2:
        return None
    data = next((item for item in items if isinstance(item, Tensor)), None)
    at = next((item for item in items if isinstance(item, Symbolic) and item.op == "position"), None)
    if data is None or at is None or at.axis is None or at.axis in data.axes or not data.axes:
        return None
    sides = tuple(at if item is at else Symbolic("data", data=data, text=data.name or "·") for item in items)
    if node.traits.meaning.sign in ("==", "!="):  # they have no order
        sides = tuple(sorted(sides, key=lambda side: side is not at))
    out = Tensor(axes, node.out.name or "")
    text = joined((*roman("["), *written(Symbolic(node.op, sides, node.traits)), *roman("]")))
    steps.add(
        DrawStep(StepKind.THROUGH, "pill", [data], [out], frame.section, made=(at.axis,), text=text, tip="comparison")
    )
    return out


def masked(steps: Collector, frame: Frame, x: Tensor, mask: Item, over: tuple[Axis, ...]) -> Tensor:
    """`x where mask`: a square over the wires of the mask's axes, with its predicate; what data decides comes in as
    wires, but for inputs, which are named."""
    if isinstance(mask, Symbolic) and mask.truth is True:
        return x
    if isinstance(mask, Tensor) and mask.boolean_input:
        mask = leaf_of(mask)
    if not isinstance(mask, Symbolic):
        mask = leaf_of(steps.tensor(frame, mask))
    where = tuple(a for a in mask.axes if a in x.axes)
    if not where or not set(mask.axes) <= set(x.axes):
        other = steps.tensor(frame, mask)
        out = Tensor(tuple(dict.fromkeys((*x.axes, *other.axes))), x.name)
        steps.add(
            DrawStep(StepKind.JOIN, "sign", [x, other], [out], frame.section, roles=((), roman("where")), tip="where")
        )
        return out
    data = [(leaf, axes) for leaf, axes in placed(mask) if not leaf.boolean_input]
    names = {leaf.name for leaf, _ in data}
    if len(data) > 1 and ("" in names or len(names) < len({id(leaf) for leaf, _ in data})):
        mask = leaf_of(steps.tensor(frame, mask))  # nothing would tell them apart in its predicate
        data = [(leaf, axes) for leaf, axes in placed(mask)]
    columns = next((a for a in reversed(where) if a in over), where[-1])
    rest = sorted((a for a in where if a is not columns), key=lambda a: (a.family != columns.family, not a.is_width))
    rows = rest[0] if rest else None
    seen = telling(cases(mask, rows, columns, steps.rank)) if mask.op != "data" or mask.leaves[0].boolean_input else ()
    if seen or data:
        where = tuple(a for a in (rows, columns) if a is not None)
    tip = "mask over " + ", ".join(a.name for a in dict.fromkeys((*where, *mask.axes)) if a in x.axes)
    drawn = [leaf if axes == leaf.axes else steps.relabelled(frame, leaf, axes) for leaf, axes in data]
    axes = tuple(dict.fromkeys((*x.axes, *(a for leaf in drawn for a in leaf.axes))))
    out = Tensor(axes, x.name)
    step = DrawStep(StepKind.JOIN if drawn else StepKind.ON, "mask", [x, *drawn], [out], frame.section, on=where,
                    cases=seen, tip=tip)  # fmt: skip
    whole = predicate(mask, rows, columns, steps.rank)
    step.note = () if data and whole.data else said(seen, whole)
    steps.add(step)
    return out


def said(seen: Sequence[Case], whole: PredicateText) -> Rich:
    """What is written at a mask: its predicate, case by case; nothing where the triangle that is drawn says all."""
    if len(seen) > 1 and not elided(seen):
        lines = [(*case.when, *roman(": "), *case.said.rich) for case in seen if case.said is not None]
        return joined(run for k, line in enumerate(lines) for run in (*roman("\n" if k else ""), *line))
    only = seen[0].said if len(seen) == 1 else None
    only = only or whole
    return () if only.causal else only.rich


def in_box(item: Symbolic, rows: Axis | None, columns: Axis, rank: Callable[[Tensor], int]) -> tuple[Case, ...]:
    """What a closed block shows of a mask that it gets: squares, and what is written beside them."""
    whole = predicate(item, rows, columns, rank)
    seen = telling(cases(item, rows, columns, rank)) if len(item.axes) <= 2 else ()
    if not seen:
        by_data = whole.data and any(not leaf.boolean_input for leaf in item.leaves)
        return (Case((), PADDED if len(item.axes) == 1 else GENERAL, text=() if by_data else whole.rich),)
    if len(seen) == 1:
        one = seen[0].said or whole
        return (replace(seen[0], text=() if one.causal else one.named or one.rich),)
    if elided(seen):
        last = (*seen[-1].when, *roman(": "), *whole.rich)
        return (*(replace(case, text=case.when) for case in seen[:-1]), replace(seen[-1], text=last))
    return tuple(replace(case, text=(*case.when, *roman(": "), *(case.said or whole).rich)) for case in seen)


def keeps_truth(op: OpTraits) -> bool:
    """Whether the op of a mask stays part of the mask's formula: it gives truth values of its operands, joined."""
    match op.reads:
        case Pointwise(Conjunction() | Disjunction() | Complement()) | Arrange(IndexMap.SAME):
            return True
        case _:
            return False
