"""Where a missing axis went: which op took it away, or held two uses of it together, as the help of an error says it.

The classic case is attention of a width to itself without a second copy of the width (D4): `dot[key](Q, K)` pairs each
`seq` of Q with the same `seq` of K, the scores have `seq` once, and what is averaged with them has it no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...dsl.source import Span
from ..base.names import indexed
from ..graph.nodes import Apply
from ..graph.traits import Arrange, Combination, Gather, IndexMap, Normalise, Pointwise, Reduce
from ..graph.typed_value import TypedValue
from ..graph.values import Role, Value
from ..problems.axes import Surroundings
from ..sizes.axes import Axis
from ..typing.builder import Builder
from .copies import copies, new_copy
from .words import Wording

_FAR = 50  # so many ops behind a value are looked at


def explain(wire: TypedValue, axes: Iterable[Axis], around: Surroundings, words: Wording) -> str:
    """How a value of a block lost one of the axes that it lacks, in words; "" where it had none of them."""
    if wire.value is None or not isinstance(wire.home, Builder):
        return ""
    makers = _makers(wire.home)
    for axis in axes:
        taker = _taker(wire.value, makers, axis)
        product = _product(wire.value, makers, axis, taker)
        if product is not None:
            return _diagonal(*product, axis, around, words)
        if taker is not None and axis.is_width and _weighs(taker, makers):
            says = f"{_shown(taker, words)} averages over {words.quoted(axis.name)}, which its weights have once"
            return f"{says}; {_two_copies(None, axis, around, words)}"
        if taker is not None:
            return f"{_shown(taker, words)} {_verb(taker)} {words.quoted(axis.name)}"
    return ""


def alone(wire: TypedValue, axes: Iterable[Axis]) -> list[tuple[Span | None, str]]:
    """Where a product of a width with itself keeps of all pairs those of an item with itself, and what stands there."""
    if wire.value is None or not isinstance(wire.home, Builder):
        return []
    makers = _makers(wire.home)
    for axis in axes:
        product = _product(wire.value, makers, axis, _taker(wire.value, makers, axis))
        if product is not None:
            return [(product[0].span, f"each `{product[1].name}` meets itself alone here")]
    return []


def paired(wire: TypedValue, axis: Axis, around: Surroundings, words: Wording) -> str:
    """What to write where a value is such a product, and lacks the copy of the width that it was to have; else ""."""
    if wire.value is None or not isinstance(wire.home, Builder) or not axis.is_width:
        return ""
    makers = _makers(wire.home)
    product = _product(wire.value, makers, axis, None)
    if product is None:
        return ""
    normalised = any(isinstance(step.traits.reads, Normalise) for step in _back([wire.value], makers))
    return _diagonal(*product, axis, around, words, whole=normalised)


def _diagonal(step: Apply, width: Axis, axis: Axis, around: Surroundings, words: Wording, whole: bool = True) -> str:
    """whole: what follows the product lacks the copy, too."""
    says = f"{_shown(step, words)} takes each {words.quoted(width.name)} with itself alone: the diagonal of all pairs"
    return f"{says}; {_two_copies(step, width, around, words, axis, whole)}"


def unmapped(wire: TypedValue, wanted: Iterable[Axis], more: Iterable[Axis], words: Wording) -> str:
    """Which operand brought depths that are too many, and in place of which it had to be mapped back; else ""."""
    if wire.value is None or not isinstance(wire.home, Builder) or any(axis.is_width for axis in more):
        return ""
    makers, new = _makers(wire.home), set(more)
    for step in _back([wire.value], makers):
        bring = [operand for operand in step.operands if new & set(operand.type.axes)]
        others = [operand for operand in step.operands if operand not in bring]
        lost = [axis for axis in wanted for other in others if axis in other.type.axes and not axis.is_width]
        lost = [axis for axis in lost if axis not in bring[0].type.axes] if len(bring) == 1 else []
        if lost and isinstance(step.traits.reads, Pointwise):
            has, back = (
                words.listed(axis for axis in bring[0].type.axes if axis in new),
                ", ".join(a.name for a in lost),
            )
            text, other = (_written(each, "...", 60) for each in (bring[0], others[0]))
            mapped = f"linear.back[{', '.join(axis.name for axis in more)} -> {back}]({text})"
            return (
                f"{words.quoted(other)} has {words.listed(lost)}, and {words.quoted(text)} has {has} in its place: map "
                f"it back, {words.quoted(mapped)}"
            )
    return ""


def widened(wire: TypedValue, more: Iterable[Axis]) -> str:
    """The learned map that makes a value, as it takes more depths that its operand has; "" if it is none such."""
    step = _makers(wire.home).get(wire.value.id) if wire.value is not None and isinstance(wire.home, Builder) else None
    if step is None or not step.weights or not isinstance(step.traits.reads, Reduce) or step.each or step.span is None:
        return ""
    if any(axis.is_width or axis in step.made or axis not in step.operands[0].type.axes for axis in more):
        return ""
    called = step.span.text.split("[")[0]
    eaten = ", ".join(axis.name for axis in (*more, *step.axes))
    return f"{called}[{eaten} -> {', '.join(axis.name for axis in step.made)}]"


def reduced(wire: TypedValue, axis: Axis) -> bool:
    """Whether an op took the axis away, as a sum does; not a product that pairs each item with the same one."""
    if wire.value is None or not isinstance(wire.home, Builder):
        return False
    makers = _makers(wire.home)
    taker = _taker(wire.value, makers, axis)
    return taker is not None and _product(wire.value, makers, axis, taker) is None


def _makers(home: Builder) -> dict[int, Apply]:
    return {node.out.id: node for node in home.nodes if isinstance(node, Apply)}


def _taker(value: Value, makers: Mapping[int, Apply], axis: Axis) -> Apply | None:
    """The nearest op behind a value that took an axis away."""
    return next((step for step in _back([value], makers) if axis in _taken(step)), None)


def _product(value: Value, makers: Mapping[int, Apply], axis: Axis, taker: Apply | None) -> tuple[Apply, Axis] | None:
    """The scores of an attention that lacks a copy of a width, if that is what took the axis, or never made it."""
    start = taker.operands if taker is not None and _weighs(taker, makers) else [value]
    for step in _back(start, makers):
        if _multiplies(step) and not _weighs(step, makers):
            for width in _shared(step):
                if width.family == axis.family or axis in step.axes:
                    return step, width
    return None


def _back(values: Iterable[Value], makers: Mapping[int, Apply]) -> Iterator[Apply]:
    """The ops behind values, nearest first, up to the products that they are made of."""
    seen: set[int] = set()
    left = list(values)
    while left and len(seen) < _FAR:
        step = makers.get(left.pop(0).id)
        if step is None or step.out.id in seen:
            continue
        seen.add(step.out.id)
        yield step
        match step.traits.reads:
            case Pointwise() if not step.made:
                left += step.operands
            case Normalise(weights=True) | Arrange(IndexMap.SAME | IndexMap.MIRRORED):
                left += step.operands
            case Reduce(multiplies=True) if step.weights:
                left += step.operands
            case _:
                pass


def _taken(step: Apply) -> set[Axis]:
    """The axes that its operands have and its result has not."""
    return {axis for operand in step.operands for axis in operand.type.axes} - set(step.out.type.axes)


def _weighs(step: Apply, makers: Mapping[int, Apply]) -> bool:
    """Whether it is an average: an operand is weights that sum to one over what is contracted."""
    behind = _back(step.operands, makers) if _multiplies(step) else ()
    weights = (back for back in behind if isinstance(back.traits.reads, Normalise) and back.traits.reads.weights)
    return any(set(back.axes) & set(step.axes) for back in weights)


def _multiplies(step: Apply) -> bool:
    """Whether it sums products of its operands: a learned map multiplies its one operand with weights."""
    return isinstance(step.traits.reads, Reduce) and step.traits.reads.multiplies and not step.weights


def _verb(step: Apply) -> str:
    """What an op does to an axis that it takes away."""
    match step.traits.reads:
        case Gather():
            return "picks along"
        case Reduce(multiplies=True) if step.weights:
            return "maps"
        case Reduce(Combination(adds=True, averages=averages)):
            return "averages over" if averages else "sums over"
        case _:
            return "takes away"


def _shared(step: Apply) -> list[Axis]:
    """The widths along which at least two operands that carry data run together."""
    data = [operand for operand in step.operands if operand.role is Role.DATA]
    widths = dict.fromkeys(axis for operand in data for axis in operand.type.axes if axis.is_width)
    varying = [set(operand.type.axes) - operand.type.broadcast_axes for operand in data]
    return [width for width in widths if sum(width in axes for axes in varying) > 1]


def _two_copies(
    scores: Apply | None,
    width: Axis,
    around: Surroundings,
    words: Wording,
    wanted: Axis | None = None,
    whole: bool = True,
) -> str:
    """How attention of a width to itself is written. wanted: the axis that is missing: its copy, maybe."""
    known = copies(width, around)
    copy, how = (known[0], "") if known else new_copy(width, around, words)
    if wanted is not None and wanted != width and wanted.family == width.family:
        copy, how = wanted.name, ""
    q = words.quoted
    declare = f"declare {how}" if how else f"use its copy {q(copy)}"
    rename = f"[{width.name} as {copy}]"
    if scores is None:
        renamed = q(f"k{rename}")
    else:
        depths = ", ".join(axis.name for axis in scores.axes if axis != width) or "..."
        first, last = _written(scores.operands[0], "q"), indexed(_written(scores.operands[-1], "k"), rename)
        renamed = q(f"dot[{depths}]({first}, {last})")
    if not whole:
        return f"pairs of a width with itself need two copies of it: {declare}, and rename one side, {renamed}"
    return (
        f"attention of a width to itself needs two copies of it: {declare}, rename what is looked at, {renamed}, "
        f"then {q(f'softmax[{copy}]')}, and {q(f'dot[{copy}]')} with the values renamed too"
    )


def _written(value: Value, otherwise: str, most: int = 30) -> str:
    """The value as it is written for its op, if that is short."""
    text = value.name or (value.span.text if value.span is not None else "")
    return text if 0 < len(text) <= most else otherwise


def _shown(step: Apply, words: Wording) -> str:
    span = step.span
    line = f" on line {span.source.position(span.start)[0]}" if span is not None else ""
    return words.quoted(f"{step.op}[{', '.join(axis.name for axis in step.axes)}]") + line
