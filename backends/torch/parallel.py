"""PyTorch code of the collectives of a model that is split over devices (compiler/sharding)."""

from __future__ import annotations

from ...compiler.graph.nodes import Apply
from ...compiler.graph.values import Scalar
from ...compiler.sharding.sends import ADD_BIAS, Collective, OwnPlace, SendKind
from ..text.expressions import Code, binary, call
from ..text.values import Val
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
        changed.sort(key=lambda pair: pair[1] != node.axes[0])
    places = [str(x.axes.index(a) - len(x.axes)) for a, _ in changed]
    if op.kind in (SendKind.GATHER, SendKind.OWN, SendKind.SCATTER, SendKind.EXCHANGE) and not places:
        places = ["0"]
    words = {}
    if op.kind is SendKind.GATHER and not op.by_parts:
        words = {"used_by_parts": "False"}
    if op.kind is SendKind.SETTLE and not op.largest:
        words = {"largest": "False"}
    code = call(op.kind.value, x.code, *places, f'"{op.along}"', **words)
    return body.combine([x], code, order, node.out)


def own_place(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    assert isinstance(node.traits, OwnPlace)
    return Val(call("own_place", f'"{node.traits.along}"'), kind=Scalar.INT, number=True)


def add_bias(body: TorchBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
    """The bias of a map whose products were summed over devices."""
    (x,) = vals
    x = body.last(x, node.made)
    bias = Code(f"{attribute(node.name or '')}.bias")
    if len(node.made) > 1:
        bias = body.unflatten(Val(bias), -1, node.made)
    return body.combine([x], binary("+", x.code, bias), x.axes, node.out)


COLLECTIVES: dict[str, Emit] = {
    **{kind.value: collective for kind in SendKind},
    "own_place": own_place,
    ADD_BIAS.name: add_bias,
}
