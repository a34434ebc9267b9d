"""Where a missing axis went: which op took it away, or held two uses of it together, as the help of an error says it.

The classic case is attention of a width to itself without a second copy of the width (D4): `dot[key](Q, K)` pairs each
`seq` of Q with the same `seq` of K, the scores have `seq` once, and what is averaged with them has it no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

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
            step, width = product
            name = words.quoted(width.name)
            says = f"{_shown(step, words)} takes each {name} of its operands with the same {name}"
            return f"{says}; {_two_copies(step, width, around, words)}"
        if taker is not None and axis.is_width and _weighs(taker, makers):
            says = f"{_shown(taker, words)} averages over {words.quoted(axis.name)}, which its weights have once"
            return f"{says}; {_two_copies(None, axis, around, words)}"
        if taker is not None:
            return f"{_shown(taker, words)} {_verb(taker)} {words.quoted(axis.name)}"
    return ""


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


def _two_copies(scores: Apply | None, width: Axis, around: Surroundings, words: Wording) -> str:
    """How attention of a width to itself is written."""
    known = copies(width, around)
    copy, how = (known[0], "") if known else new_copy(width, around, words)
    q = words.quoted
    declare = f"declare {how}" if how else f"use its copy {q(copy)}"
    rename = f"[{width.name} as {copy}]"
    if scores is None:
        renamed = q(f"k{rename}")
    else:
        depths = ", ".join(axis.name for axis in scores.axes if axis != width) or "..."
        first, last = _written(scores.operands[0], "q"), indexed(_written(scores.operands[-1], "k"), rename)
        renamed = q(f"dot[{depths}]({first}, {last})")
    return (
        f"attention of a width to itself needs two copies of it: {declare}, rename what is looked at, {renamed}, "
        f"then {q(f'softmax[{copy}]')}, and {q(f'dot[{copy}]')} with the values renamed too"
    )


def _written(value: Value, otherwise: str) -> str:
    """The value as it is written for its op, if that is short."""
    text = value.name or (value.span.text if value.span is not None else "")
    return text if 0 < len(text) <= 30 else otherwise


def _shown(step: Apply, words: Wording) -> str:
    span = step.span
    line = f" on line {span.source.position(span.start)[0]}" if span is not None else ""
    return words.quoted(f"{step.op}[{', '.join(axis.name for axis in step.axes)}]") + line
