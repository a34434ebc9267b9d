"""How each op reads picks of nothing (`follow.py`), by what its traits say that it reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....dsl.base.records import replace
from ...graph.nodes import Apply
from ...graph.traits import (
    Arrange,
    Choice,
    Combination,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Function,
    Gather,
    IndexMap,
    Lookup,
    Magnitude,
    Normalise,
    Pointwise,
    Product,
    Reduce,
    Running,
    Sum,
    Validity,
    Window,
)
from ...graph.values import IndexInto, Role, Scalar, Value
from ...ops import op_meaning
from ...problems.plain import Plain
from ...sizes.axes import Axis, Literal, known
from ..ragged.infinite import domain
from .body import Held, Making, may_lack

LARGE = 3.0e38  # beyond any number of a model, and finite in float32


def follow(body: Making, node: Apply) -> None:
    """Add an op to the body of which some operand, or the result, may hold picks of nothing."""
    reads, acts = node.traits.reads, _acts(body, node)
    match reads:
        case Pointwise():
            _pointwise(body, node)
        case Gather():
            _gather(body, node)
        case Reduce(logits=True):
            _logits(body, node)
        case _ if node.traits.masked:
            _masked(body, node)
        case Reduce(skips_zeros=True):
            _contracts(body, node)
        case Arrange(map):
            _arrange(body, node, map)
        case _ if not acts:
            _beside(body, node)
        case Normalise(skips_zeros=True):
            _made(body, replace(node, operands=_cleared(body, node)), zero=True)
        case Running(combination):
            _running(body, node, combination)
        case Window():
            _window(body, node)
        case _:
            axis = next(axis for axis in node.axes if axis in acts)
            body.problems[Plain.PICKS_READ.at(node.span, node.op, axis.name)] = None
            _made(body, node)


def _holds(body: Making, values: Sequence[Value]) -> list[Held]:
    return [body.held[value.id] for value in values if value.id in body.held]


def _read(node: Apply) -> list[Value]:
    return [*node.operands, *([node.mask] if node.mask is not None else [])]


def _acts(body: Making, node: Apply) -> set[Axis]:
    """The axes on which the op acts along which picks of nothing stand."""
    return {axis for held in _holds(body, _read(node)) for axis in held.valid.type.axes} & set(node.axes)


def _made(body: Making, node: Apply, valid: Value | None = None, *, zero: bool = False, nothing: bool = False) -> None:
    """Add the op. Its result holds picks of nothing where an operand does, but for what it acts on, or as is said."""
    body.nodes.append(node)
    if valid is None:
        kept = [held.valid for held in _holds(body, _read(node))]
        valid = body.both(*(each for each in kept if set(each.type.axes) <= set(node.out.type.axes)))
    if valid is not None:
        body.held[node.out.id] = Held(valid, zero, nothing)


def _cleared(body: Making, node: Apply, fill: float = 0) -> tuple[Value, ...]:
    """The operands, those changed that hold picks of nothing along what the op acts on."""
    acts = set(node.axes)

    def along(value: Value) -> bool:
        held = body.held.get(value.id)
        return held is not None and not acts.isdisjoint(held.valid.type.axes)

    return tuple(body.cleared(value, fill) if along(value) else value for value in node.operands)


# -- ops that combine items ----------------------------------------------------------------------------------------


def _masked(body: Making, node: Apply) -> None:
    """The mask leaves picks of nothing out, too."""
    reads, acts = node.traits.reads, set(node.axes)
    skips = isinstance(reads, Reduce) and reads.skips_zeros
    said: list[Value] = []
    for value in _read(node):
        held = body.held.get(value.id)
        left_out = held is not None and held.zero and (skips if value is not node.mask else True)
        if held is not None and not left_out and not acts.isdisjoint(held.valid.type.axes):
            said.append(held.valid)
    items = body.both(*said)
    rest = [held.valid for held in _holds(body, _read(node)) if acts.isdisjoint(held.valid.type.axes)]
    masked = node if items is None else replace(node, mask=body.both(node.mask, items))
    if isinstance(reads, Normalise):
        stays = body.both(*(held.valid for held in _holds(body, _read(node))))
        if not reads.logarithm or items is None:
            _made(body, masked, stays, zero=not reads.logarithm and items is not None)
            return
        out = body.like(node.out)  # what follows would make no number of minus infinity
        body.nodes.append(replace(masked, out=out))
        choice = (items, out, body.constant(0.0))
        _made(body, Apply(op_meaning(Choice()), choice, node.out, span=node.span), stays, zero=True)
        return
    found = body.both(*rest)
    body.nodes.append(masked)
    if may_lack(masked):
        picked = body.apply(Validity(), (node.out,), replace(node.out.type, element=Scalar.BOOL), span=node.span)
        body.held[node.out.id] = Held(body.both(found, picked) or picked, nothing=found is None)
    elif found is not None:
        body.held[node.out.id] = Held(found)


def _contracts(body: Making, node: Apply) -> None:
    """Products of which one factor is 0 add nothing. A linear map without a bias makes 0 of 0."""
    acts = set(node.axes)
    kept = [held for held in _holds(body, node.operands) if acts.isdisjoint(held.valid.type.axes)]
    zero = len(node.weights) == 1 and all(held.zero for held in kept)
    valid = body.both(*(held.valid for held in kept))
    body.nodes.append(replace(node, operands=_cleared(body, node)))
    if valid is not None:
        body.held[node.out.id] = Held(valid, zero)


def _logits(body: Making, node: Apply) -> None:
    """Classes that are picks of nothing have no probability."""
    logits, ids = node.operands
    held = body.held.get(logits.id)
    clean = logits
    if held is not None and node.axes[0] in held.valid.type.axes:
        if node.options.get("smoothing", Literal(0.0)) != Literal(0.0):
            body.problems[Plain.PICKS_SMOOTHED.at(node.span, node.op, node.axes[0].name)] = None
        clean = body.chosen(held.valid, logits, -LARGE)
        held = None
    kept = body.both(*(each.valid for each in (held, body.held.get(ids.id)) if each is not None))
    body.nodes.append(replace(node, operands=(clean, body.cleared(ids))))
    if kept is not None:
        body.held[node.out.id] = Held(kept)


def _running(body: Making, node: Apply, combination: Combination) -> None:
    """No item is made of a pick of nothing before it."""
    if combination.adds:
        fill: float = 0
    elif combination.logs:
        fill = -LARGE
    elif node.operands[0].type.element is Scalar.REAL:
        fill = math.inf if combination.largest is False else -math.inf
    else:
        fill = 2**62 if combination.largest is False else -(2**62)
    valid = body.held[node.operands[0].id].valid
    _made(body, replace(node, operands=_cleared(body, node, fill)), valid)


def _window(body: Making, node: Apply) -> None:
    """Outside of x there is a 0, which is no pick of nothing."""
    valid = body.held[node.operands[0].id].valid
    none = body.truth(Complement(), body.spread(valid, node.axes))
    at = none.type.axes.index(node.axes[0])
    axes = (*none.type.axes[:at], *node.made, *none.type.axes[at + 1 :])
    type = replace(none.type, axes=axes)
    outside = body.apply(node.traits, (none,), type, axes=node.axes, made=node.made, options=dict(node.options))
    _made(body, replace(node, operands=_cleared(body, node)), body.truth(Complement(), outside))


def _beside(body: Making, node: Apply) -> None:
    """An op that acts on other axes alone. 0 has no direction: the derivative of its norm is not finite."""
    reads = node.traits.reads
    if isinstance(reads, Normalise) and reads.squares is not None and known(node.options["eps"]) == 0:
        node = replace(node, operands=(body.cleared(node.operands[0], 1),))
    _made(body, node)


# -- ops that put items elsewhere ----------------------------------------------------------------------------------


def _gather(body: Making, node: Apply) -> None:
    """Where the index is a pick of nothing, it reads 0."""
    x, e = node.operands
    of_x, of_e = body.held.get(x.id), body.held.get(e.id)
    mask = node.mask if of_e is None else body.both(node.mask, of_e.valid)
    valid = None if of_x is None else of_x.valid
    if valid is not None and node.axes[0] in valid.type.axes:
        at = valid.type.axes.index(node.axes[0])
        before, after = valid.type.axes[:at], valid.type.axes[at + 1 :]
        own = tuple(axis for axis in e.type.axes if axis not in (*before, *after))
        axes = tuple(dict.fromkeys((*before, *own, *after)))
        alike = frozenset(axes).difference(valid.type.varying, e.type.varying)
        shared = replace(valid.type, axes=axes, broadcast_axes=alike)
        valid = body.apply(node.traits, (valid, e), shared, axes=node.axes, made=own, mask=mask)
    zero = of_x is None or of_x.zero
    _made(body, replace(node, mask=mask), body.both(mask, valid), zero=zero)


def _arrange(body: Making, node: Apply, map: IndexMap) -> None:
    holds = [body.held.get(value.id) for value in node.operands]
    some = [held for held in holds if held is not None]
    if map is IndexMap.PARTS:
        body.nodes.append(node)
        body.held[node.out.id] = Held(_parts(body, node, holds), all(held.zero for held in some))
        return
    (held,) = some
    valid = held.valid
    if map is IndexMap.SHIFTED and node.axes[0] in valid.type.axes:
        at = valid.type.axes.index(node.axes[0])
        type = replace(valid.type, axes=(*valid.type.axes[:at], node.made[0], *valid.type.axes[at + 1 :]))
        options = {**node.options, "value": Literal(1)}
        valid = body.apply(node.traits, (valid,), type, axes=node.axes, made=node.made, options=options)
        zero = nothing = False
    else:
        valid, zero, nothing = body.arranged(node, valid), held.zero, held.nothing
    body.nodes.append(node)
    body.held[node.out.id] = Held(valid, zero, nothing)


def _parts(body: Making, node: Apply, holds: Sequence[Held | None]) -> Value:
    """Of parts one after the other. What holds for all of them alike need not be joined."""
    valids = [None if held is None else held.valid for held in holds]
    first = valids[0]
    alike = all(each is first for each in valids)
    if first is not None and alike and not set(node.axes) & set(first.type.axes):
        return first
    found = [body.spread(valid, (axis,)) for valid, axis in zip(valids, node.axes, strict=True)]
    axes = tuple(dict.fromkeys(axis for each in found for axis in each.type.axes if axis not in node.axes))
    broadcast = frozenset(axes).difference(*(each.type.varying for each in found))
    type = replace(found[0].type, axes=(*axes, node.made[0]), broadcast_axes=broadcast)
    return body.apply(node.traits, found, type, axes=node.axes, made=node.made)


# -- item by item --------------------------------------------------------------------------------------------------


def _pointwise(body: Making, node: Apply) -> None:
    assert isinstance(node.traits.reads, Pointwise)
    holds = [body.held.get(value.id) for value in node.operands]
    some = [held for held in holds if held is not None]
    valid = body.both(*(held.valid for held in some))
    match node.traits.reads.meaning:
        case Validity():
            assert valid is not None
            body.same[node.out.id] = body.spread(valid, node.out.type.axes)
        case Lookup():
            out = body.like(node.out)
            body.nodes.append(replace(node, operands=tuple(map(body.cleared, node.operands)), out=out))
            assert valid is not None
            _made(body, Apply(op_meaning(Choice()), (valid, out, body.constant(0.0)), node.out), valid, zero=True)
        case Compared():  # it is false
            out = body.like(node.out)
            body.nodes.append(replace(node, out=out))
            assert valid is not None
            _made(body, Apply(op_meaning(Conjunction()), (valid, out), node.out, span=node.span), valid, zero=True)
        case Choice():
            _choice(body, node, holds)
        case Sum((1,)) if node.made:  # a number becomes an index, which is checked
            _made(body, replace(node, operands=tuple(map(body.cleared, node.operands))), valid, zero=True)
        case Sum((1,)):
            _made(body, node, valid, zero=some[0].zero, nothing=some[0].nothing and _whole(node.out))
        case meaning:
            zeros = [held is not None and held.zero for held in holds]
            match meaning:
                case Product():
                    numbers = [value.role is Role.CONSTANT for value in node.operands]
                    zero = any(zeros) and all(a or b for a, b in zip(zeros, numbers, strict=True))
                case Conjunction():
                    zero = any(zeros)
                case Sum() | Disjunction() | Magnitude() | Function(zero=True):
                    zero = all(zeros)
                case _:
                    zero = False
            _made(body, _settled(body, node), valid, zero=zero)


def _whole(value: Value) -> bool:
    return isinstance(value.type.element, IndexInto) or value.type.element is Scalar.INT


def _choice(body: Making, node: Apply, holds: Sequence[Held | None]) -> None:
    """What is chosen holds a pick of nothing where the side that is taken does."""
    c = node.operands[0]
    of_c, of_x, of_y = holds
    x, y = (None if held is None else held.valid for held in (of_x, of_y))
    if x is not None and x.id == c.id:  # select(valid(pick), x[past = pick], ..)
        x = None
    sides = x if x is y or (x is not None and y is not None and x.id == y.id) else body.either(c, x, y)
    valid = body.both(None if of_c is None else of_c.valid, sides)
    body.nodes.append(node)
    if valid is not None:
        zero = of_c is None and of_x is not None and of_y is not None and of_x.zero and of_y.zero
        body.held[node.out.id] = Held(valid, zero=zero and x is y)


def _settled(body: Making, node: Apply) -> Apply:
    """The op with what it cannot be made of changed where it is of nothing: its gradient is 0 times a number."""
    within = domain(node)
    place, fill = (0, 0.0) if within is None else (within.operand, within.harmless)
    match node.traits.reads:
        case Pointwise(Function(overflows=True)):
            pass
        case _ if within is None:
            return node
    x = node.operands[place]
    held = body.held.get(x.id)
    if held is None or (within is not None and within.has_0 and held.zero):
        return node
    return replace(node, operands=(*node.operands[:place], body.cleared(x, fill), *node.operands[place + 1 :]))
