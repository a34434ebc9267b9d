"""PyTorch code of the collectives of a model that is split over devices (compiler/sharding)."""

from __future__ import annotations

from dataclasses import replace

from ...compiler.graph.nodes import Apply
from ...compiler.graph.values import Scalar
from ...compiler.sharding.placement import BATCH_AXIS
from ...compiler.sharding.sends import ADD_BIAS, Collective, OwnFirst, OwnPlace, RingAttention, SendKind
from ...compiler.sizes.axes import Axis
from ..emit.mask_code import define
from ..emit.operands import attention_operands, is_usual_scale
from ..text.expressions import Code, binary, call
from ..text.values import FULL, Val
from .body import Emit, TorchBody, attribute


def collective(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Axes whose parts are sent have dimensions of the other kind behind it; the order of dimensions stays."""
    op, (x,) = node.traits, vals
    assert isinstance(op, Collective)
    given, made = node.operands[0].type.axes, node.out.type.axes
    changed = [(a, b) for a, b in zip(given, made, strict=True) if a != b]
    x = body.full(body.real(x, False) if x.kind is Scalar.REAL else x, [a for a, _ in changed])
    order = tuple(dict(changed).get(axis, axis) for axis in x.axes)
    if op.kind is SendKind.EXCHANGE:  # first the dimension of which it has a part, then that of which it will
        changed.sort(key=lambda pair: pair[0] not in node.made)
    sent = [a for a, _ in changed]
    if op.kind is SendKind.EXCHANGE and len(sent) == 1:  # the other is the batch
        sent.insert(0 if node.axes[0] == BATCH_AXIS else 1, BATCH_AXIS)
    if op.kind in (SendKind.GATHER, SendKind.OWN, SendKind.SCATTER, SendKind.EXCHANGE) and not sent:
        sent = [BATCH_AXIS]
    places = ["0" if a == BATCH_AXIS else str(x.axes.index(a) - len(x.axes)) for a in sent]
    words = {}
    if op.kind in (SendKind.OWN, SendKind.SCATTER, SendKind.EXCHANGE) and sent[-1].extent is None:
        words = {"of": f'"{sent[-1].name}"'}  # what a message calls it, where its size is known when it runs
    if op.kind is SendKind.GATHER and not op.by_parts:
        words = {"used_by_parts": "False"}
    if op.kind is SendKind.OWN and op.by_parts:
        words["used_by_parts"] = "True"
    if op.kind is SendKind.SETTLE and not op.largest:
        words = {"largest": "False"}
    code = call(op.kind.value, x.code, *places, f'"{op.along}"', **words)
    return body.combine([x], code, order, node.out)


def own_place(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    assert isinstance(node.traits, OwnPlace)
    return Val(call("own_place", f'"{node.traits.along}"'), kind=Scalar.INT, number=True)


def sent(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Rows sent to the devices of their experts, or back."""
    assert isinstance(node.traits, Collective)
    x, rows = vals
    x = body.real(x, False) if x.kind is Scalar.REAL else x
    made = body.combine([x, rows], call(node.traits.kind.value, x.code, rows.code), x.axes, node.out)
    return replace(made, broadcast=x.broadcast, leading=FULL)


def sent_counts(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """The rows that a device is sent."""
    assert isinstance(node.traits, Collective)
    made = call(node.traits.kind.value, vals[0].code, f'"{node.traits.along}"')
    return replace(body.combine(vals, made, (), node.out), leading=FULL)


def own_first(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """The place of the device along several axes of the mesh is a number, whose digits are those along each."""
    assert isinstance(node.traits, OwnFirst)
    place: Code | None = None
    for name, count in node.traits.along:
        one = call("own_place", f'"{name}"')
        place = one if place is None else binary("+", binary("*", place, Code(str(count))), one)
    assert place is not None
    return Val(binary("*", place, body.extent(node.axes[0])), kind=Scalar.INT, number=True)


def ring_attention(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """Keys and values are those of the device: parts, along what is all keys for the mask."""
    op = node.traits
    assert isinstance(op, RingAttention)
    vals = list(vals)
    for place in (1, 2):
        names = {a: b for a, b in zip(node.operands[place].type.axes, _whole(node, place), strict=True) if a != b}
        vals[place] = body.full(body.real(vals[place], False), [*names])
        vals[place] = replace(vals[place], axes=tuple(names.get(axis, axis) for axis in vals[place].axes))
    laid = attention_operands(body, node, vals, mask)
    seen, data = Code("None"), [val for val in laid.data if not val.number]
    if node.seen is not None:
        seen, _ = define(body, node.seen, laid.data)
    args = [seen, *(val.code for val in (*laid.args, *data))]
    words = {} if laid.where is None else {"mask": laid.where.code}
    if not is_usual_scale(node.options["scale"], node.axes[0]):
        words["scale"] = body.static(node.options["scale"])
    return replace(laid.result, code=call("ring_attention", *args, along=f'"{op.along}"', **words))


def _whole(node: Apply, place: int) -> tuple[Axis, ...]:
    """The axes of keys or values, the one of which the device has a part by its whole."""
    others = {*node.operands[0].type.axes, *node.out.type.axes}
    return tuple(axis if axis in others else node.axes[1] for axis in node.operands[place].type.axes)


def add_bias(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """The bias of a map whose products were summed over devices; of rows, that of what each picked."""
    x = body.last(vals[0], node.made)
    bias = Code(f"{attribute(node.name or '')}.bias")
    if vals[1:]:
        if len(node.made) > 1:
            x = replace(x, code=body.flatten(x, -len(node.made), -1))
        code = Code.of("{}.biased({}, {})", vals[1].code, x.code, bias)
        if len(node.made) > 1:
            code = body.unflatten(Val(code), -1, node.made)
        return body.combine([x, *vals[1:]], code, x.axes, node.out)
    if len(node.made) > 1:
        bias = body.unflatten(Val(bias), -1, node.made)
    return body.combine([x], binary("+", x.code, bias), x.axes, node.out)


COLLECTIVES: dict[str, Emit] = {
    **{kind.value: collective for kind in SendKind},
    **{kind.value: sent for kind in (SendKind.ROWS, SendKind.BACK)},
    SendKind.COUNTS.value: sent_counts,
    "own_place": own_place,
    "own_first": own_first,
    "ring_attention": ring_attention,
    ADD_BIAS.name: add_bias,
}
