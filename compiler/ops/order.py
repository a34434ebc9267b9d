"""Ops that look along an axis by position or by rank: windows, padding, sorting, picking the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.traits import Arrange, IndexMap, OpCost, Reduce, Window
from ..graph.values import IndexInto, Scalar, Type
from ..problems.axes import AxisUse, WidthOfWindow
from ..problems.marks import NoRoom, TooManyRanks
from ..problems.plain import Plain
from ..sizes.arithmetic import provably_more
from ..sizes.axes import Arith, Number, SizeOf, known
from .reduce import masked_axes, masks
from .table import Brackets, Op, OpCall, Option
from .use import lacks, numbers, twice

if TYPE_CHECKING:
    from ..graph.typed_value import TypedValue
    from ..sizes.axes import Axis


def window(call: OpCall) -> TypedValue | None:
    """y[s, t] = x[a = s * stride + t - pad], and 0 where that is outside of x."""
    x = call.operands[0]
    if len(call.axes) != 1 or len(call.made) != 2:
        return call.fail(Plain.WINDOW_FORM.at(call.bracket_span))
    axis, (place, tap) = call.axes[0], call.made
    if not x.has(axis):
        return lacks(call, x, axis, call.spans[0], AxisUse.SLIDES, call.axis_spans[0])
    if not numbers(call):
        return None
    if tap.extent is None and tap.is_width:
        return call.fail(WidthOfWindow(call.made_spans[1], tap))
    stride = known(call.options["stride"])
    if place == axis and stride is not None and stride != 1 and call.at.taken:
        return call.fail(Plain.FEWER_WINDOWS.at(call.made_spans[0], axis, tap, stride))
    for made, span in zip(call.made, call.made_spans, strict=True):
        if x.has(made) and made != axis:
            return twice(call, made, span)
    axes = tuple(new for old in x.type.axes for new in (call.made if old == axis else (old,)))
    return call.make(Type(x.element, axes, x.type.broadcast_axes))


def pad(call: OpCall) -> TypedValue | None:
    """y[b] = x[a = b - left], and `value` where that is outside of x."""
    x = call.operands[0]
    if len(call.axes) != 1 or len(call.made) != 1:
        return call.fail(Plain.PAD_FORM.at(call.bracket_span))
    axis, made = call.axes[0], call.made[0]
    if not x.has(axis):
        return lacks(call, x, axis, call.spans[0], AxisUse.PADS, call.axis_spans[0])
    if not numbers(call):
        return None
    if x.has(made) and made != axis:
        return twice(call, made, call.made_spans[0])
    small, large, left = known(SizeOf(axis)), known(SizeOf(made)), known(call.options["left"])
    needed = Arith("+", (SizeOf(axis), call.options["left"])) if left != 0 else SizeOf(axis)
    if call.at.taken and provably_more(needed, SizeOf(made)):
        sizes = None if small is None or large is None or left is None else (small, large, left)
        return call.fail(NoRoom(call.bracket_span, axis, made, needed, sizes))
    axes = tuple(made if old == axis else old for old in x.type.axes)
    element = Scalar.REAL if x.element is Scalar.REAL or isinstance(known(call.options["value"]), float) else Scalar.INT
    return call.make(Type(element, axes, x.type.broadcast_axes))


def rank(call: OpCall) -> TypedValue | None:
    """argsort: indices into an axis, along an axis of ranks that is as long."""
    axis = _ranked(call)
    if axis is None:
        return None
    made = call.made[0]
    small, large = known(SizeOf(made)), known(SizeOf(axis))
    if made.family != axis.family and (small is None or small != large) and call.at.taken:
        return call.fail(Plain.NO_SUCH_RANKS.at(call.made_spans[0], call.shown, axis, made, axis.kind.value))
    return _ranks(call)


def best(call: OpCall) -> TypedValue | None:
    """topk: indices into an axis, along an axis of ranks that is no longer."""
    axis = _ranked(call)
    if axis is None:
        return None
    made = call.made[0]
    small, large = known(SizeOf(made)), known(SizeOf(axis))
    if call.at.taken and provably_more(SizeOf(made), SizeOf(axis)):
        sizes = None if small is None or large is None else (small, large)
        return call.fail(TooManyRanks(call.made_spans[0], axis, made, sizes))
    return _ranks(call)


def _ranked(call: OpCall) -> Axis | None:
    """The axis that is put in order; None where a mistake is reported."""
    x = call.operands[0]
    if len(call.axes) != 1 or len(call.made) != 1:
        call.fail(Plain.RANKS_FORM.at(call.bracket_span, call.shown, call.op.usage))
        return None
    axis, made = call.axes[0], call.made[0]
    if not x.has(axis):
        lacks(call, x, axis, call.spans[0], AxisUse.ORDERS, call.axis_spans[0])
        return None
    if not numbers(call):
        return None
    if not masks(call):
        return None
    twice = next((wire for wire in (x, call.mask) if wire is not None and wire.has(made)), None)
    if twice is not None:
        call.fail(Plain.RANKS_TWICE.at(call.made_spans[0], made, twice.type, axis, axis.kind.value))
        return None
    return axis


def _ranks(call: OpCall) -> TypedValue | None:
    axis, made = call.axes[0], call.made[0]
    axes, broadcast_axes = masked_axes(call)
    return call.make(Type(IndexInto(axis), tuple(made if old == axis else old for old in axes), broadcast_axes))


def _whole(value: Number) -> str | None:
    return None if isinstance(value, int) and value >= 0 else "it must be a whole number of 0 or more"


def _step(value: Number) -> str | None:
    return None if isinstance(value, int) and value >= 1 else "it must be a whole number of 1 or more"


ROWS: tuple[Op, ...] = (
    Op(
        "window",
        "arrange",
        "window[seq -> seq, tap](x, pad = |tap| - 1)",
        "The items around each place: y[s, t] = x[seq = s * stride + t - pad], 0 outside of x. With `linear` it is a "
        "convolution; `pad = |tap| - 1` looks at the past alone.",
        "width seq\ndepth d = 4, tap = 3\nblock f(x: [seq, d]) -> [seq, tap, d] {\n"
        "    return window[seq -> seq, tap](x, pad = |tap| - 1)\n}\n",
        "width seq, tap\ndepth d = 4\nblock f(x: [seq, d]) -> [seq, tap, d] {\n"
        "    return window[seq -> seq, tap](x)\n}\n",
        window,
        Brackets.MAP,
        options=(
            Option("stride", 1, "steps from one window to the next", _step),
            Option("pad", 0, "zeros before x", _whole),
        ),
        reads=Window(),
        cost=OpCost(work=0),
    ),
    Op(
        "pad",
        "arrange",
        "pad[a -> b](x, left = 1)",
        "x within a longer axis: y[b] = x[a = b - left], `value` outside of x.",
        "depth a = 3, b = 5\nblock f(x: [a]) -> [b] {\n    return pad[a -> b](x, left = 1)\n}\n",
        "depth a = 3, b = 5\nblock f(x: [a]) -> [b] {\n    return pad[a -> b](x, left = 3)\n}\n",
        pad,
        Brackets.MAP,
        options=(
            Option("left", 0, "how much longer at the start", _whole),
            Option("value", 0, "what stands outside of x"),
        ),
        reads=Arrange(IndexMap.SHIFTED),
        cost=OpCost(work=0),
    ),
    Op(
        "topk",
        "order",
        "topk[k -> best](x where m)",
        "The indices of the |best| largest along an axis, of those that the mask keeps, the largest first; of equals "
        "the first. Where there are fewer, the rest are picks of nothing: -1 as a result of a model.",
        "width q, k\ndepth best = 2\nblock f(x: [q, k]) -> k[q, best] {\n    return topk[k -> best](x)\n}\n",
        "width seq\ndepth a = 9, k = 10\nblock f(x: [seq, a]) -> a[seq, k] {\n    return topk[a -> k](x)\n}\n",
        best,
        Brackets.MAP,
        reads=Reduce(None, indices=True, largest_first=True),
        jumps=True,
        masked=True,
        cost=OpCost(reads=True),
    ),
    Op(
        "argsort",
        "order",
        "argsort[a -> r](x)",
        "The indices that put an axis into rising order; equals keep theirs. What a mask leaves out comes last, as "
        "picks of nothing.",
        "width q, k\nwidth r like k\nblock f(x: [q, k]) -> k[q, r] {\n    return argsort[k -> r](x)\n}\n",
        "width seq, r\nblock f(x: [seq]) -> seq[r] {\n    return argsort[seq -> r](x)\n}\n",
        rank,
        Brackets.MAP,
        options=(Option("descending", False, "the largest first"),),
        reads=Reduce(None, indices=True, largest_first=False),
        jumps=True,
        masked=True,
        cost=OpCost(reads=True),
    ),
)
