"""Steps that choose items: masks, look-ups and windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...compiler.graph.nodes import Apply
from ...compiler.graph.traits import Arrange, Complement, Conjunction, Disjunction, IndexMap, OpTraits, Pointwise
from ...compiler.graph.values import IndexInto, Scalar
from ...compiler.sizes.axes import Axis
from ..base.text import Rich, bold, italic, joined, roman, spaced
from .formulas.patterns import Case, cases, constant, telling
from .formulas.symbolic import Symbolic, leaf_of, number, of_static, written
from .op_glyphs import LOOKUP, name_of
from .steps import Collector, DrawStep, Frame, Item, StepKind
from .tensors import Learned, Tensor, tail


def lookup(
    steps: Collector, frame: Frame, node: Apply, items: Sequence[Item],
    eaten: tuple[Axis, ...], made: tuple[Axis, ...], axes: tuple[Axis, ...], tip: str,
) -> Item:  # fmt: skip
    out = Tensor(axes, node.out.name or "", isinstance(node.out.type.element, IndexInto))
    if node.weights:
        x = steps.tensor(frame, items[0])
        letter = name_of(node.traits)
        label = tail(node.name or letter)
        born = tuple(a for a in axes if a not in x.axes)
        raised = italic(spaced(label)) if label != letter else ()
        steps.add(
            DrawStep(
                StepKind.THROUGH,
                LOOKUP.mark,
                [x],
                [out],
                frame.section,
                made=born,
                text=bold(letter),
                raised=raised,
                learned=True,
                tip=tip,
            )
        )
        return out
    table, index = items[0], items[1] if len(items) > 1 else number(0)
    if isinstance(table, Symbolic) and isinstance(index, Symbolic) and not table.leaves and not index.leaves:
        return Symbolic("?", text=node.out.name or "", axes=axes, boolean=node.out.type.element is Scalar.BOOL)
    rest = set(table.axes) - set(eaten) if not isinstance(table, Tensor) else set()
    fits = isinstance(index, Tensor) and bool(rest or not index.axes) and not rest & set(index.axes)
    if isinstance(table, Learned) and isinstance(index, Tensor) and fits:
        born = tuple(a for a in axes if a not in index.axes)
        text = bold(spaced(table.name))
        steps.add(
            DrawStep(
                StepKind.THROUGH,
                LOOKUP.mark,
                [index],
                [out],
                frame.section,
                made=born,
                text=text,
                learned=True,
                tip=tip,
                weights=table.key,
            )
        )
        return out
    if isinstance(table, Learned) and isinstance(index, Symbolic) and not index.leaves:
        text = bold(spaced(table.name))
        steps.add(
            DrawStep(
                StepKind.SOURCE,
                "learned",
                [],
                [out],
                frame.section,
                made=axes,
                text=text,
                learned=True,
                late=True,
                tip=tip,
            )
        )
        return out
    x = steps.tensor(frame, table)
    if isinstance(index, Symbolic) and not index.leaves:
        at = joined((*roman("= "), *written(index)))
        gone = tuple(a for a in x.axes if a in eaten)
        born = tuple(a for a in axes if a not in x.axes or a in gone)
        kind = StepKind.ON if gone == born else StepKind.THROUGH
        on = gone if kind is StepKind.ON else ()
        steps.add(DrawStep(kind, "pill", [x], [out], frame.section, eaten=gone, made=born, on=on, text=at, tip=tip))
        return out
    by = steps.tensor(frame, index)
    if len(eaten) == 1 and eaten[0] in x.axes and eaten[0] not in by.axes and by.axes:
        out.axes = tuple(dict.fromkeys((*(a for a in x.axes if a not in eaten), *by.axes)))
        at = (*roman("= "), *italic(spaced(by.name))) if by.name else roman("pick")
        steps.add(DrawStep(StepKind.JOIN, "pick", [x, by], [out], frame.section, contracted=eaten, text=at, tip=tip))
        return out
    steps.add(DrawStep(StepKind.BOX, "plain", [x, by], [out], frame.section, text=roman("look up"), tip=tip))
    return out


def window(frame: Frame, node: Apply) -> Rich:
    """`window −2…0`: the first and the last item that it sees, from the one where it stands."""
    options = {name: of_static(option, frame.axis, frame.consts) for name, option in node.options.items()}
    name, stride, pad = name_of(node.traits), constant(options["stride"]), constant(options["pad"])
    taps = frame.axis(node.made[-1]).extent
    step = roman("") if stride == 1 else (*roman(", stride "), *written(options["stride"]))
    if pad is None or taps is None:
        return (*roman(name), *roman(", pad "), *written(options["pad"]), *step)
    ends = [f"{at:+d}".replace("-", "−") if at else "0" for at in (-pad, taps - 1 - pad)]
    return (*roman(f"{name} {'…'.join(dict.fromkeys(ends))}"), *step)


def masked(steps: Collector, frame: Frame, x: Tensor, mask: Item, over: tuple[Axis, ...]) -> Tensor:
    """`x where mask`: a square over the wires of the mask's axes; what data decides comes in as wires."""
    if isinstance(mask, Symbolic) and mask.truth is True:
        return x
    if isinstance(mask, Tensor) and mask.boolean_input:
        mask = leaf_of(mask)
    named: tuple[Tensor, ...] = ()
    if isinstance(mask, Symbolic):
        where = tuple(a for a in mask.axes if a in x.axes)
        fits = set(mask.axes) <= set(x.axes)
        if where and fits:
            named = tuple(leaf for leaf in mask.leaves if leaf.boolean_input)
        leaves = tuple(leaf for leaf in mask.leaves if leaf not in named)
    else:
        mask = steps.tensor(frame, mask)
        where, leaves, fits = tuple(a for a in mask.axes if a in x.axes), (mask,), True
    seen: tuple[Case, ...] = ()
    if isinstance(mask, Symbolic) and where:
        columns = next((a for a in reversed(where) if a in over), where[-1])
        rest = sorted(
            (a for a in where if a is not columns), key=lambda a: (a.family != columns.family, not a.is_width)
        )
        rows = rest[0] if rest else None
        seen = telling(cases(mask, rows, columns))
        if seen or leaves:
            where = tuple(a for a in (rows, columns) if a is not None)
    note = italic(", ".join(spaced(leaf.name) for leaf in named))
    if not where or not fits:
        other = steps.tensor(frame, mask)
        out = Tensor(tuple(dict.fromkeys((*x.axes, *other.axes))), x.name)
        steps.add(
            DrawStep(StepKind.JOIN, "sign", [x, other], [out], frame.section, roles=((), roman("where")), tip="where")
        )
        return out
    tip = "mask over " + ", ".join(a.name for a in dict.fromkeys((*where, *mask.axes)) if a in x.axes)
    drawn = [_along(steps, frame, leaf, where, x.axes) for leaf in leaves]
    if any(not set(leaf.axes) <= set(x.axes) for leaf in drawn):
        other = steps.tensor(frame, mask)
        drawn, seen = [other], ()
    axes = tuple(dict.fromkeys((*x.axes, *(a for leaf in drawn for a in leaf.axes))))
    out = Tensor(axes, x.name)
    if drawn:
        step = DrawStep(StepKind.JOIN, "mask", [x, *drawn], [out], frame.section, on=where, cases=seen, tip=tip)
    else:
        step = DrawStep(StepKind.ON, "mask", [x], [out], frame.section, on=where, cases=seen, tip=tip)
    step.note = note
    steps.add(step)
    return out


def _along(steps: Collector, frame: Frame, leaf: Tensor, where: Iterable[Axis], axes: tuple[Axis, ...]) -> Tensor:
    """The data of a mask, relabelled to the axes of what is masked, where it has copies of these."""
    swap = {}
    for a in leaf.axes:
        if a not in axes:
            like = next((b for b in where if b.family == a.family and b not in leaf.axes), None)
            if like is not None:
                swap[a] = like
    return steps.relabelled(frame, leaf, tuple(swap.get(a, a) for a in leaf.axes)) if swap else leaf


def keeps_truth(op: OpTraits) -> bool:
    """Whether the op of a mask stays part of the mask's formula: it gives truth values of its operands, joined."""
    match op.reads:
        case Pointwise(Conjunction() | Disjunction() | Complement()) | Arrange(IndexMap.SAME):
            return True
        case _:
            return False
