"""Ops that own weights. Learned maps act on depth, or on a width whose size is fixed (D9); D11 says how they
are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...dsl.source import Span
from ..graph.nodes import Init, Weight
from ..graph.traits import ADDED, AVERAGED, Lookup, Normalise, OpCost, Pointwise, Reduce
from ..graph.values import IndexInto, Role, Scalar, Type
from ..problems.axes import AxisTwice, AxisUse, WidthOfWeights
from ..problems.elements import Wanted, WrongElement
from ..problems.plain import Plain
from ..sizes.axes import Number
from .table import Brackets, Op, OpCall, Option
from .use import lacks, numbers, one_axis, truth, twice, wrong_table

if TYPE_CHECKING:
    from ..graph.typed_value import TypedValue
    from ..sizes.axes import Axis


def _positive(value: Number) -> str | None:
    return None if value > 0 else "it must be more than 0"


def _fixed(call: OpCall, axes: list[Axis], spans: Sequence[Span]) -> bool:
    """Every axis has a size known at build time."""
    for axis, span in zip(axes, spans, strict=True):
        if call.at.lacks_size(axis):
            call.fail(WidthOfWeights(span, call.shown, axis))
            return False
    return True


def linear(call: OpCall) -> TypedValue | None:
    """x [.., eaten] -> [.., made]: weight (made, eaten) as `nn.Linear` stores it, bias (made)."""
    x = call.operands[0]
    for axis, span in zip(call.axes, call.axis_spans, strict=True):
        if not x.has(axis):
            return lacks(call, x, axis, call.spans[0], AxisUse.MAPS, span)
    if not numbers(call):
        return None
    ok = _fixed(call, call.axes, call.axis_spans) and _fixed(call, call.made, call.made_spans)
    if not ok or not _fixed(call, call.each, call.each_spans):
        return None
    left = [axis for axis in x.type.axes if axis not in call.axes]
    for axis, span in zip(call.made, call.made_spans, strict=True):
        if axis in left:
            return call.fail(AxisTwice(span, axis, call.at.surroundings, (call.span, call.axis_spans[0])))
    each = tuple(call.each)
    eaten, made = tuple(call.axes), tuple(call.made)
    init = _fans(call.init or Init("default"), eaten, made)
    weights = [Weight(f"{call.name}.weight", (*((a,) for a in each), made, eaten), init, False, call.span)]
    if truth(call, "bias"):
        bias = Init("zeros") if call.init else init
        weights.append(Weight(f"{call.name}.bias", (*((a,) for a in each), made), bias, False, call.span))
    axes = (*left, *(a for a in each if a not in left), *made)
    return call.make(
        Type(Scalar.REAL, axes, x.type.broadcast_axes - set(each)), role=Role.WEIGHT, weights=tuple(weights)
    )


def _fans(init: Init, fan_in: tuple[Axis, ...], fan_out: tuple[Axis, ...]) -> Init:
    return Init(init.kind, init.args, fan_in, fan_out)


def embed(call: OpCall) -> TypedValue | None:
    """ids `vocab[..]` -> [.., model]: the rows of a learned table."""
    if (
        not one_axis(call)
        or not _fixed(call, call.axes, call.axis_spans)
        or not _fixed(call, call.made, call.made_spans)
    ):
        return None
    ids, vocab = call.operands[0], call.axes[0]
    if not isinstance(ids.element, IndexInto):
        return call.fail(WrongElement(call.spans[0], ids.type, Wanted.EMBEDDED, axis=vocab))
    if ids.element.axis.family != vocab.family:
        return wrong_table(call, ids, vocab, call.spans[0])
    for axis, span in zip(call.made, call.made_spans, strict=True):
        if axis in ids.type.axes:
            return twice(call, axis, span)
    init = call.init or Init("normal", (1.0,))
    weight = Weight(
        f"{call.name}.weight", ((vocab,), tuple(call.made)), _fans(init, (vocab,), tuple(call.made)), False, call.span
    )
    return call.make(
        Type(Scalar.REAL, (*ids.type.axes, *call.made), ids.type.broadcast_axes), role=Role.WEIGHT, weights=(weight,)
    )


def norm(call: OpCall) -> TypedValue | None:
    """layernorm and rmsnorm: over the axes in brackets, with a learned scale (and bias)."""
    x = call.operands[0]
    for axis, span in zip(call.axes, call.axis_spans, strict=True):
        if not x.has(axis):
            return lacks(call, x, axis, call.spans[0], AxisUse.NORMALISES, span)
    if not numbers(call):
        return None
    if call.init is not None and call.init.kind == "xavier":
        return call.fail(Plain.XAVIER_SCALE.at(call.span, call.shown))
    dims = tuple((axis,) for axis in call.axes)
    weights = []
    if truth(call, "scale"):
        weights.append(Weight(f"{call.name}.weight", dims, call.init or Init("ones"), False, call.span))
    if "bias" in call.options and truth(call, "bias"):
        weights.append(Weight(f"{call.name}.bias", dims, Init("zeros"), False, call.span))
    if weights and not _fixed(call, call.axes, call.axis_spans):
        return None
    role = Role.WEIGHT if weights else Role.CONSTANT
    return call.make(Type(Scalar.REAL, x.type.axes, x.type.broadcast_axes), role=role, weights=tuple(weights))


_BIAS = Option("bias", True, "whether it has a bias")
ROWS: tuple[Op, ...] = (
    Op(
        "linear",
        "learned",
        "linear[model -> heads, key](x)",
        "A learned linear map of the axes before the arrow to those behind it, for each index of all "
        "other axes. Axes before "
        "a colon, `linear[expert: a -> b]`, have weights of their own.",
        "width seq\ndepth model = 8, inner = 16\nblock f(x: [seq, model]) -> [seq, inner] {\n"
        "    return linear.up[model -> inner](x)\n}\n",
        "width seq, out\ndepth model = 8\nblock f(x: [seq, model]) -> [out, model] {\n"
        "    return linear.mix[seq -> out](x)\n}\n",
        linear,
        brackets=Brackets.MAP,
        options=(_BIAS,),
        learned=True,
        label="map",
        each=True,
        drawn="L",
        reads=Reduce(ADDED, multiplies=True, skips_zeros=True),
        cost=OpCost(work=0, saves=("x",)),
    ),
    Op(
        "embed",
        "learned",
        "embed[vocab -> model](ids)",
        "The learned vector of each index.",
        "width seq\ndepth vocab = 100, model = 8\nblock f(ids: vocab[seq]) -> [seq, model] {\n"
        "    return embed.E[vocab -> model](ids)\n}\n",
        "width seq\ndepth vocab = 100, model = 8\nblock f(ids: int[seq]) -> [seq, model] {\n"
        "    return embed.E[vocab -> model](ids)\n}\n",
        embed,
        brackets=Brackets.MAP,
        operands=("ids",),
        learned=True,
        label="table",
        drawn="E",
        reads=Pointwise(Lookup()),
        cost=OpCost(work=0, saves=("discrete",)),
    ),
    Op(
        "layernorm",
        "learned",
        "layernorm[model](x)",
        "x minus its mean, divided by its standard deviation over the axes in brackets, times a "
        "learned scale, plus a learned "
        "bias (Ba et al. 2016).",
        "width seq\ndepth model = 8\nblock f(x: [seq, model]) -> [seq, model] {\n"
        "    return layernorm.norm[model](x)\n}\n",
        "width seq\ndepth model = 8, inner = 8\nblock f(x: [seq, inner]) -> [seq, inner] {\n"
        "    return layernorm.norm[model](x)\n}\n",
        norm,
        brackets=Brackets.ACTS,
        learned=True,
        label="norm",
        optional=("scale", "bias"),
        positional=1,
        options=(
            Option("eps", 1e-5, "added to the variance", _positive),
            Option("scale", True, "whether it has a scale"),
            _BIAS,
        ),
        drawn="LN",
        latex="LayerNorm",
        reads=Normalise(centred=True, squares=AVERAGED),
        cost=OpCost(7, reads=True, saves=("x",)),
    ),
    Op(
        "rmsnorm",
        "learned",
        "rmsnorm[model](x)",
        "x divided by its root mean square over the axes in brackets, times a learned scale (Zhang and Sennrich 2019).",
        "width seq\ndepth model = 8\nblock f(x: [seq, model]) -> [seq, model] {\n"
        "    return rmsnorm.norm[model](x)\n}\n",
        "width seq\ndepth model = 8, inner = 8\nblock f(x: [seq, inner]) -> [seq, inner] {\n"
        "    return rmsnorm.norm[model](x)\n}\n",
        norm,
        brackets=Brackets.ACTS,
        learned=True,
        label="norm",
        optional=("scale",),
        positional=1,
        options=(
            Option("eps", 1e-6, "added to the mean square", _positive),
            Option("scale", True, "whether it has a scale"),
        ),
        drawn="RMS",
        latex="RMSNorm",
        reads=Normalise(squares=AVERAGED),
        cost=OpCost(5, reads=True, saves=("x", "copy")),
    ),
)
