"""Ops that move items about without computing: broadcast, split, merge, concat; and dropout, index, the loss.

`x[a as b]` and `x[a = e]` have rows too (`rename`, `gather`), though they are written as brackets on a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..graph.traits import Arrange, Gather, IndexMap, OpCost, Pointwise, Reduce, Sum
from ..graph.typed_value import union
from ..graph.values import IndexInto, Scalar, Type
from ..problems.axes import AxisUse
from ..problems.elements import SwappedTargets, Wanted, WrongElement
from ..problems.marks import MergedInOtherOrder, SizesDiffer
from ..problems.plain import Plain
from ..sizes.arithmetic import provably_different
from ..sizes.axes import Arith, Axis, Number, SizeOf, Static, evaluate
from .broadcasting import may_broadcast
from .marks import check_scores
from .table import Brackets, Notation, Op, OpCall, Option
from .use import lacks, numbers, one_axis, outside, twice, wrong_table

if TYPE_CHECKING:
    from ..graph.typed_value import TypedValue


def broadcast(call: OpCall) -> TypedValue | None:
    """The operand, the same for every index of the axes in brackets."""
    x = call.operands[0]
    for axis, span in zip(call.made, call.made_spans, strict=True):
        if x.has(axis):
            return call.fail(Plain.BROADCAST_TWICE.at(span, axis, x.type))
    return call.make(Type(x.element, (*call.made, *x.type.axes), x.type.broadcast_axes), mark=x.mark, range=x.range)


def _sizes(call: OpCall, whole: Axis, parts: Sequence[Axis], sign: str) -> bool:
    """Sizes that cannot agree are an error; what depends on run-time widths is checked at run time."""
    total: Static = SizeOf(parts[0])
    for axis in parts[1:]:
        total = Arith(sign, (total, SizeOf(axis)))
    if not call.at.taken or not provably_different(SizeOf(whole), total):
        return True
    a, b = evaluate(SizeOf(whole)), evaluate(total)
    sizes = None if a is None or b is None else (a, b)
    call.fail(SizesDiffer(call.bracket_span, call.shown, whole, tuple(parts), call.op.reads, sizes))
    return False


def split(call: OpCall) -> TypedValue | None:
    """a = b * |c| + c: one axis as several. It may change the kind."""
    x = call.operands[0]
    if not one_axis(call):
        return None
    axis = call.axes[0]
    if not x.has(axis):
        return lacks(call, x, axis, call.spans[0], AxisUse.SPLITS, call.axis_spans[0])
    for made, span in zip(call.made, call.made_spans, strict=True):
        if x.has(made) and made != axis:
            return twice(call, made, span)
    if not _sizes(call, axis, call.made, "*"):
        return None
    key = (axis.id, frozenset(part.id for part in call.made))
    call.at.splits[key] = (*call.at.splits.get(key, ()), (tuple(call.made), call.span))
    axes = tuple(new for old in x.type.axes for new in (call.made if old == axis else (old,)))
    mark = (x.mark - {axis}) | set(call.made) if axis in x.mark else x.mark
    return call.make(Type(x.element, axes, x.type.broadcast_axes), mark=frozenset(mark), range=x.range)


def merge(call: OpCall) -> TypedValue | None:
    """Several axes as one, the first the slowest. Axes split from one axis go back to it only in that order
    (D: merge).
    """
    x = call.operands[0]
    if len(call.made) != 1:
        return call.fail(Plain.MERGE_FORM.at(call.bracket_span))
    made = call.made[0]
    for axis, span in zip(call.axes, call.axis_spans, strict=True):
        if not x.has(axis):
            return lacks(call, x, axis, call.spans[0], AxisUse.MERGES, span)
    if x.has(made) and made not in call.axes:
        return twice(call, made, call.made_spans[0])
    if not _sizes(call, made, call.axes, "*"):
        return None
    _in_the_order_of_the_split(call, made)
    place = x.type.axes.index(call.axes[0])
    rest = [axis for axis in x.type.axes if axis not in call.axes]
    before = sum(axis in rest for axis in x.type.axes[:place])
    axes = (*rest[:before], made, *rest[before:])
    mark = x.mark
    if mark & set(call.axes):
        mark = (mark - set(call.axes)) | {made} if set(call.axes) <= mark else frozenset()
    return call.make(Type(x.element, axes, x.type.broadcast_axes), mark=frozenset(mark), range=x.range)


def _in_the_order_of_the_split(call: OpCall, made: Axis) -> None:
    """Axes split from one axis go back to it only in the order of the split."""
    found = call.at.splits.get((made.id, frozenset(axis.id for axis in call.axes)), ())
    if not found or any(parts == tuple(call.axes) for parts, _ in found):
        return
    parts, span = found[-1]
    place = call.axis_spans[0].to(call.axis_spans[-1])
    call.fail(MergedInOtherOrder(place, made, parts, tuple(call.axes), span))


def concat(call: OpCall) -> TypedValue | None:
    """Operands one after the other along an axis: `concat[a, b -> c](x, y)`, one axis for each operand."""
    if len(call.made) != 1 or len(call.axes) != len(call.operands):
        return call.fail(Plain.PARTS_FORM.at(call.bracket_span, len(call.operands), len(call.axes), len(call.made)))
    made = call.made[0]
    for axis, span, wire, place in zip(call.axes, call.axis_spans, call.operands, call.spans, strict=True):
        if not wire.has(axis):
            return lacks(call, wire, axis, place, AxisUse.JOINS, span)
        if wire.element != call.operands[0].element and not (wire.is_number and call.operands[0].is_number):
            return call.fail(Plain.JOINED_MIXED.at(place, call.operands[0].type, wire.type))
        for other, joined, where in zip(call.operands, call.axes, call.spans, strict=True):
            if other.has(made) and made not in call.axes:
                return twice(call, made, call.made_spans[0])
            if joined != axis and other.has(axis):
                return call.fail(Plain.JOINED_TWICE.at(where, axis, made, other.type, there=place))
    if not _sizes(call, made, call.axes, "+"):
        return None
    if not may_broadcast(call, ignore=frozenset(call.axes), outer=True):
        return None
    axes, broadcast_axes = union(call.operands)
    gone = set(call.axes)
    first = next(i for i, axis in enumerate(axes) if axis in gone)
    kept = [axis for axis in axes if axis not in gone]
    kept.insert(sum(axis not in gone for axis in axes[:first]), made)
    element = Scalar.REAL if any(wire.element is Scalar.REAL for wire in call.operands) else call.operands[0].element
    return call.make(Type(element, tuple(kept), broadcast_axes - gone))


def flip(call: OpCall) -> TypedValue | None:
    """y[a] = x[a = |a| - 1 - a]."""
    x = call.operands[0]
    for axis, span in zip(call.axes, call.axis_spans, strict=True):
        if not x.has(axis):
            return lacks(call, x, axis, call.spans[0], AxisUse.FLIPS, span)
    return call.make(x.type, mark=x.mark, range=x.range)


def dropout(call: OpCall) -> TypedValue | None:
    """x with each item left out with probability p and the rest scaled by 1 / (1 - p), in training only."""
    if not numbers(call):
        return None
    x = call.operands[0]
    return call.make(Type(Scalar.REAL, x.type.axes, x.type.broadcast_axes), mark=x.mark)


def index(call: OpCall) -> TypedValue | None:
    """An int as an index into an axis; checked."""
    i = call.operands[0]
    if i.element is not Scalar.INT:
        return call.fail(WrongElement(call.spans[0], i.type, Wanted.INT))
    if len(call.made) != 1:
        return call.fail(Plain.INDEX_FORM.at(call.bracket_span))
    if outside(call, i, call.made[0], call.spans[0]):
        return None
    return call.make(Type(IndexInto(call.made[0]), i.type.axes, i.type.broadcast_axes), range=i.range)


def cross_entropy(call: OpCall) -> TypedValue | None:
    """Minus the log-probability of each target under softmax over the axis in brackets (nats)."""
    if not one_axis(call):
        return None
    logits, ids = call.operands
    vocab = call.axes[0]
    if isinstance(logits.element, IndexInto) and logits.element.axis.family == vocab.family and ids.has(vocab):
        first, second = call.spans
        return call.fail(SwappedTargets(first, logits.type, ids.type, second, call.span))
    if not logits.has(vocab):
        return lacks(call, logits, vocab, call.spans[0], AxisUse.LOGITS, call.axis_spans[0])
    if not isinstance(ids.element, IndexInto):
        return call.fail(WrongElement(call.spans[1], ids.type, Wanted.TARGETS, axis=vocab))
    if ids.element.axis.family != vocab.family:
        return wrong_table(call, ids, vocab, call.spans[1])
    if ids.has(vocab):
        return call.fail(Plain.TARGETS_ALONG.at(call.spans[1], vocab, ids.type))
    if not may_broadcast(call, ignore=frozenset({vocab}), always=True, outer=True):
        return None
    check_scores(call)
    axes, broadcast_axes = union(call.operands)
    return call.make(Type(Scalar.REAL, tuple(a for a in axes if a != vocab), broadcast_axes))


def written_elsewhere(call: OpCall) -> TypedValue | None:
    """`rename` and `gather` are written as brackets on a value."""
    raise AssertionError(call.op.name)


def _share(value: Number) -> str | None:
    return None if 0 <= value < 1 else "it must be at least 0 and less than 1"


ROWS: tuple[Op, ...] = (
    Op(
        "rename",
        "arrange",
        "x[a as b]",
        "The same values along another copy of the axis.",
        "width a\nwidth b like a\nblock f(x: [a]) -> [b] {\n    return x[a as b]\n}\n",
        "width a, b\nblock f(x: [a]) -> [b] {\n    return x[a as b]\n}\n",
        written_elsewhere,
        Brackets.MAP,
        notation=Notation.ITEM,
        sign="as",
        reads=Arrange(IndexMap.SAME),
        cost=OpCost(work=0, moves=False),
    ),
    Op(
        "gather",
        "arrange",
        "x[a = e]",
        "The items of x at the indices e along a; axes that e shares with x align.",
        "width seq\ndepth vocab = 9, model = 4\n"
        "block f(E: [vocab, model], ids: vocab[seq]) -> [seq, model] {\n    return E[vocab = ids]\n"
        "}\n",
        "width seq\ndepth d = 4\nblock f(x: [seq, d]) -> [seq, d] {\n    return x[seq = seq - 1]\n}\n",
        written_elsewhere,
        Brackets.MAP,
        notation=Notation.ITEM,
        sign="=",
        operands=("x", "e"),
        reads=Gather(),
        cost=OpCost(work=0, saves=("discrete",)),
    ),
    Op(
        "broadcast",
        "arrange",
        "broadcast[w](x)",
        "x, the same for every index of the axes in brackets.",
        "width w\nblock f(x: [], y: [w]) -> [w] {\n    return broadcast[w](x) + y\n}\n",
        "width w\nblock f(x: [w]) -> [w] {\n    return broadcast[w](x)\n}\n",
        broadcast,
        Brackets.MADE,
        reads=Arrange(IndexMap.NEW),
        cost=OpCost(work=0, moves=False),
    ),
    Op(
        "split",
        "arrange",
        "split[a -> b, c](x)",
        "One axis as several: a = b * |c| + c.",
        "depth a = 6, b = 2, c = 3\nblock f(x: [a]) -> [b, c] {\n    return split[a -> b, c](x)\n}\n",
        "depth a = 6, b = 2, c = 4\nblock f(x: [a]) -> [b, c] {\n    return split[a -> b, c](x)\n}\n",
        split,
        Brackets.MAP,
        reads=Arrange(IndexMap.DIGITS),
        cost=OpCost(work=0, moves=False),
    ),
    Op(
        "merge",
        "arrange",
        "merge[b, c -> a](x)",
        "Several axes as one: a = b * |c| + c.",
        "depth a = 6, b = 2, c = 3\nblock f(x: [b, c]) -> [a] {\n    return merge[b, c -> a](x)\n}\n",
        "depth a = 6, b = 2, c = 3\nblock f(x: [a]) -> [a] {\n"
        "    y = split[a -> b, c](x)\n    return merge[c, b -> a](y)\n}\n",
        merge,
        Brackets.MAP,
        reads=Arrange(IndexMap.NUMBER),
        cost=OpCost(work=0, moves=False),
    ),
    Op(
        "concat",
        "arrange",
        "concat[a, b -> c](x, y)",
        "One after the other along an axis.",
        "depth a = 2, b = 3, c = 5\nblock f(x: [a], y: [b]) -> [c] {\n    return concat[a, b -> c](x, y)\n}\n",
        "depth a = 2, b = 3, c = 6\nblock f(x: [a], y: [b]) -> [c] {\n    return concat[a, b -> c](x, y)\n}\n",
        concat,
        Brackets.MAP,
        operands=("x", "y"),
        variadic=True,
        reads=Arrange(IndexMap.PARTS),
        cost=OpCost(work=0),
    ),
    Op(
        "flip",
        "arrange",
        "flip[a](x)",
        "x with the items along the axes in brackets in the opposite order: y[a] = x[a = |a| - 1 - a].",
        "width q, k\nblock f(x: [q, k]) -> [q, k] {\n    return flip[k](x)\n}\n",
        "width q, k\nblock f(x: [q]) -> [q] {\n    return flip[k](x)\n}\n",
        flip,
        Brackets.ACTS,
        reads=Arrange(IndexMap.MIRRORED),
        cost=OpCost(work=0),
        since="0.2",
    ),
    Op(
        "index",
        "order",
        "index[a](i)",
        "An int as an index into an axis, checked.",
        "width seq\ndepth a = 9\nblock f(i: int[seq]) -> a[seq] {\n    return index[a](i)\n}\n",
        "width seq\ndepth a = 9\nblock f(i: [seq]) -> a[seq] {\n    return index[a](i)\n}\n",
        index,
        Brackets.INTO,
        operands=("i",),
        reads=Pointwise(Sum((1,))),
        jumps=True,
        cost=OpCost(work=0, moves=False),
    ),
    Op(
        "dropout",
        "random",
        "dropout(x, 0.1)",
        "Leaves items out with probability p in training (Srivastava et al. 2014); else x.",
        "block f(x: []) -> [] {\n    return dropout(x, 0.1)\n}\n",
        "block f(x: []) -> [] {\n    return dropout(x, 1.5)\n}\n",
        dropout,
        positional=1,
        options=(Option("p", None, "the probability of leaving an item out", _share),),
        reads=Pointwise(Sum((1,))),
        random=True,
        cost=OpCost(2, saves=("mask",)),
    ),
    Op(
        "cross_entropy",
        "loss",
        "cross_entropy[vocab](logits, ids)",
        "Minus the log-probability of each target, in nats; `smoothing` spreads that share evenly "
        "over all classes (Szegedy 2016).",
        "width seq\ndepth vocab = 9\nblock f(logits: [seq, vocab], ids: vocab[seq]) -> [seq] {\n"
        "    return cross_entropy[vocab](logits, ids)\n}\n",
        "width seq\ndepth vocab = 9\nblock f(logits: [seq, vocab], ids: int[seq]) -> [seq] {\n"
        "    return cross_entropy[vocab](logits, ids)\n}\n",
        cross_entropy,
        Brackets.ACTS,
        operands=("logits", "ids"),
        options=(Option("smoothing", 0.0, "label smoothing", _share),),
        drawn="cross-\nentropy",
        latex="CrossEntropy",
        reads=Reduce(None, logits=True),
        spends=True,
        cost=OpCost(5, reads=True, saves=("copy", "discrete")),
    ),
)
