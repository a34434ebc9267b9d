"""How each op reads padding as nothing (`widths.py`), by what its traits say that it reads."""

from __future__ import annotations

from collections.abc import Callable

from ....dsl.base.records import replace
from ...graph.nodes import Apply
from ...graph.traits import (
    AVERAGED,
    Anything,
    Arrange,
    Choice,
    Combination,
    Function,
    Gather,
    IndexMap,
    Lookup,
    Meaning,
    Normalise,
    Pointwise,
    Product,
    Reduce,
    Remainder,
    Running,
    Sum,
    Window,
)
from ...graph.values import Role, Scalar, Type, Value
from ...ops import op_meaning, op_named
from ...problems.plain import Plain
from ...problems.sizes import PaddingInside
from ...sizes.axes import Axis, Literal, known
from .infinite import domain
from .lengths import Lengths

LARGE = 3.0e38  # beyond any number of a model, and finite in float32


def leave_padding_out(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Add the op to the body, such that what is no padding is made of nothing that is.

    acts: the ragged widths in its brackets. Where it is not known how it reads them, that is reported.
    """
    rule, reads = _rule(node), node.traits.reads
    if isinstance(reads, Anything):
        acts = [axis for value in node.operands for axis in value.type.axes if body.is_ragged(axis)]
    if rule is None and acts:
        body.refuse(Plain.PADDING_UNKNOWN.at(node.span, node.op, acts[0].name))
    (rule or _as_it_is)(body, node, acts)


def _as_it_is(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    body.nodes.append(node)


def _masked(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """The mask leaves out padding, too."""
    reads = node.traits.reads
    valid = body.valid(acts)
    if valid is None:
        body.nodes.append(node)
        return
    mask = valid if node.mask is None else body.both(node.mask, valid)
    if isinstance(reads, Normalise) and reads.logarithm:  # what follows would make no number of minus infinity
        inner = body.apply(node.traits, node.operands, node.out.type, axes=node.axes, mask=mask)
        choice = op_meaning(Choice())
        body.nodes.append(Apply(choice, (valid, inner, body.constant(Literal(0.0))), node.out, span=node.span))
    else:
        body.nodes.append(replace(node, mask=mask))
    if isinstance(reads, Normalise) and reads.weights:
        body.zero[node.out.id] = set(acts)


def _reads_zero(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Padding counts as 0 in every operand."""
    body.nodes.append(replace(node, operands=tuple(body.cleared(value, acts) for value in node.operands)))


def _normalises_zero(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Padding counts as 0, and is 0 in the result."""
    if known(node.options.get("eps", Literal(0))) == 0:  # inputs read 1 there, and 1 - 1 has no direction
        node = replace(node, operands=(body.settled(node.operands[0], 1),))
    _reads_zero(body, node, acts)
    if acts:
        body.zero[node.out.id] = set(acts)


def _keeps_zero(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """A product is 0 in padding if one factor is and no other is infinite there: 0 times infinity is no number."""
    body.nodes.append(node)

    def finite(value: Value, axis: Axis) -> bool:
        known = body.zero.get(value.id, set()) | body.one.get(value.id, set())
        return axis in known or value.role is Role.CONSTANT

    body.zero[node.out.id] = {
        axis
        for value in node.operands
        for axis in body.zero.get(value.id, ())
        if all(finite(other, axis) for other in node.operands)
    }


def _defined(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Where a quotient, a logarithm, a root or a power could be undefined, padding reads 1, or what is harmless.

    Others read the result before anything masks it, and neither 0 times infinity nor its gradient is 0. A remainder by
    the length of an example without items is no number either.
    """
    within = domain(node)
    assert within is not None
    place = within.operand
    x = node.operands[place]
    if x.id in body.sizes:
        x = body.or_one(x) if node.traits.reads == Pointwise(Remainder()) else x
    elif x.role is Role.DATA or (x.role is Role.TABLE and body.steps):  # the state of a scan may be a table
        x = body.settled(x, within.harmless)
    else:
        x = body.cleared(x, x.type.axes, within.harmless)
    body.nodes.append(replace(node, operands=(*node.operands[:place], x, *node.operands[place + 1 :])))


def _exponential(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """An exponential of positions alone may overflow beyond an example's own items: there its operand reads 1."""
    if node.out.role is Role.DATA:
        body.nodes.append(node)
        return
    x = node.operands[0]
    body.nodes.append(replace(node, operands=(body.cleared(x, x.type.axes, 1),)))


def _renamed(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    body.nodes.append(node)
    names = dict(zip(node.axes, node.made, strict=False))
    body.zero[node.out.id] = {names.get(axis, axis) for axis in body.zero.get(node.operands[0].id, ())}


def _norm(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Along a ragged width it has no weights: it is its formula, with masked means."""
    if not acts:
        body.nodes.append(node)
        return
    x, valid, mean_of = node.operands[0], body.valid(acts), op_named("mean")
    gone = set(node.axes)
    small = Type(Scalar.REAL, tuple(axis for axis in x.type.axes if axis not in gone), x.type.broadcast_axes - gone)
    if isinstance(node.traits.reads, Normalise) and node.traits.reads.centred:
        mean = body.apply(mean_of, (x,), small, axes=node.axes, mask=valid)
        x = body.apply(Sum((1, -1)), (x, mean), x.type)
    square = body.apply(Product(), (x, x), x.type)
    mean = body.apply(mean_of, (square,), small, axes=node.axes, mask=valid)
    shifted = body.apply(Sum((1, 1)), (mean, body.constant(node.options["eps"])), small)
    scale = body.apply(op_named("rsqrt"), (shifted,), small)
    body.nodes.append(Apply(op_meaning(Product()), (x, scale), node.out, span=node.span))


def _running(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Padding comes last, and no item reads what follows it; gradients do, but that of a sum multiplies by no value."""
    assert isinstance(node.traits.reads, Running)
    if not node.traits.reads.combination.adds:
        node = replace(node, operands=(body.cleared(node.operands[0], acts),))
    body.nodes.append(node)


def _pad(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """What was padding in the shorter axis is `value` in the longer one, like all outside of it."""
    fill = node.options.get("value", Literal(0))
    body.nodes.append(replace(node, operands=(body.cleared(node.operands[0], acts, fill),)))


def _gather(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    x, e = node.operands
    body.nodes.append(replace(node, operands=(x, body.within(e, node.axes[0], node.mask))))


def _index(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """A number becomes an index into the axis behind the arrow."""
    index = body.within(node.operands[0], node.made[0])
    body.nodes.append(replace(node, operands=(index,)))
    body.zero[node.out.id] = body.zero.get(index.id, set())


def _embed(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    body.nodes.append(replace(node, operands=(body.within(node.operands[0], node.axes[0]),)))


def _concat(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    early = next((axis for axis in node.axes[:-1] if body.is_ragged(axis)), None)
    if early is not None:
        body.refuse(_inside(body, node, early))
    elif acts and not body.is_ragged(node.made[0]):
        _underived(body, node, node.made[0])
    body.nodes.append(node)


def _split(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    if acts and not body.is_ragged(node.made[0]):
        _underived(body, node, node.made[0])
    body.nodes.append(node)


def _merge(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    late = next((axis for axis in node.axes[1:] if body.is_ragged(axis)), None)
    if late is not None:
        body.refuse(_inside(body, node, late))
    elif acts and not body.is_ragged(node.made[0]):
        _underived(body, node, node.made[0])
    body.nodes.append(node)


def _inside(body: Lengths, node: Apply, axis: Axis) -> PaddingInside:
    ragged = tuple(each.name for each in node.axes if body.is_ragged(each))
    return PaddingInside(node.span, node.op, node.traits.reads, axis.name, node.made[0].name, ragged)


def _underived(body: Lengths, node: Apply, made: Axis) -> None:
    ragged = next(axis for axis in node.axes if body.is_ragged(axis))
    body.refuse(Plain.PADDING_UNDERIVED.at(node.span, node.op, made.name, ragged.name))


def _mirrored(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """The last of each example's own items comes first, and its padding stays behind them."""
    x = node.operands[0]
    for axis in acts[:-1]:
        x = body.apply(op_named("gather"), (x, body.last_first(axis)), x.type, axes=(axis,))
    others = tuple(axis for axis in node.axes if axis not in acts)
    if acts and others:
        x = body.apply(node.traits, (x,), x.type, axes=others)
    if acts:
        operands = x, body.last_first(acts[-1])
        node = Apply(op_named("gather"), operands, node.out, axes=(acts[-1],), span=node.span)
    body.nodes.append(node)


def _logits(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Classes that are padding have no probability."""
    if acts and node.options.get("smoothing", Literal(0.0)) != Literal(0.0):
        body.refuse(Plain.PADDING_SMOOTHED.at(node.span, node.op, acts[0].name))
    logits, ids = node.operands
    clean = body.cleared(logits, acts, -LARGE)
    body.nodes.append(replace(node, operands=(clean, body.within(ids, node.axes[0]))))


_Rule = Callable[[Lengths, Apply, list[Axis]], None]
_ARRANGING: dict[IndexMap, _Rule] = {
    IndexMap.SAME: _renamed,
    IndexMap.NEW: _as_it_is,
    IndexMap.DIGITS: _split,
    IndexMap.NUMBER: _merge,
    IndexMap.PARTS: _concat,
    IndexMap.SHIFTED: _pad,
    IndexMap.MIRRORED: _mirrored,
}


def _rule(node: Apply) -> _Rule | None:
    """The rule for what an op reads; None where it may read padding whatever that is."""
    match node.traits.reads:
        case Anything():
            return None
        case _ if node.traits.masked:
            return _masked
        case Reduce(logits=True):
            return _logits
        case Reduce(skips_zeros=True) | Reduce(Combination(adds=True, averages=False)) | Window():
            return _reads_zero
        case Normalise(skips_zeros=True):
            return _normalises_zero
        case Normalise(squares=squares) if squares == AVERAGED:
            return _norm
        case Running():
            return _running
        case Gather():
            return _gather
        case Arrange(map):
            return _ARRANGING[map]
        case Pointwise(meaning):
            return _pointwise(node, meaning)
        case _:
            return None


def _pointwise(node: Apply, meaning: Meaning) -> _Rule:
    match meaning:
        case Lookup():
            return _embed
        case Sum((1,)) if node.made:
            return _index
        case Sum((1,)) if node.out.type.element is Scalar.REAL:
            return _keeps_zero
        case Product():
            return _keeps_zero
        case Function(overflows=True):
            return _exponential
        case _:
            return _as_it_is if domain(node) is None else _defined
