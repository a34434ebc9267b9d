"""Attention without a softmax, as pairs: `dot[past](select(past <= target, scores * gamma ^ (target - past), 0), V)`.

The pairs are made within chunks alone, and what came before is a state: `linear_attention`. What it leaves alone: other
masks, scores of which anything else is made, and weights of a pair that are not a power of how far apart its items are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...graph.nodes import Apply, Constant, Node, Positions
from ...graph.traits import ADDED, Arrange, Choice, Compared, IndexMap, Pointwise, Power, Reduce, Sum
from ...graph.values import Value
from ...ops import op_named
from ...sizes.axes import Axis, Literal, known
from .forms import Maker, Summand, counting, is_product

SUMMED = Reduce(ADDED, skips_zeros=True)


@dataclass(frozen=True, slots=True)
class Pairs:
    """What each item weighs those before it with.

    q, k: factors of what an item says and of what it is asked by, with the axes that are summed over.
    base: what is left from one item to the next; itself: whether an item weighs itself, too.
    """

    target: Axis
    past: Axis
    axes: tuple[Axis, ...]
    q: Summand
    k: Summand
    base: tuple[Value, ...]
    itself: bool


def pairs_of(make: Maker, value: Value) -> Pairs | None:
    """The pairs that a value is made of."""
    made = make.makers.get(value.id)
    if not isinstance(made, Apply) or made.traits.reads != Pointwise(Choice()) or not _is(make, made.operands[2], 0):
        return None
    mask = made.operands[0]
    order = _order(make, mask)
    if order is None:
        return None
    target, past, itself = order
    q, k, base, scores = Summand(), Summand(), list[Value](), list[Apply]()
    term = make.factors(made.operands[1])
    for factor in term.factors:
        one = make.makers.get(factor.id)
        if isinstance(one, Apply) and one.traits.reads == Pointwise(Choice()) and one.operands[0].id == mask.id:
            one = make.makers.get(one.operands[1].id) if _is(make, one.operands[2], 1) else one
        both = target in factor.type.axes and past in factor.type.axes
        if not both:
            q, k = (q, k.times((factor,))) if past in factor.type.axes else (q.times((factor,)), k)
        elif isinstance(one, Apply) and is_product(one):
            scores.append(one)
        elif isinstance(one, Apply) and one.traits.reads == Pointwise(Power()) and _apart(make, one.operands[1], order):
            base.append(one.operands[0])
        else:
            return None
    if len(scores) != 1 or any({target, past} & {*x.type.axes} for x in base):
        return None
    for factor in (x for operand in scores[0].operands for x in make.factors(operand).factors):
        if target in factor.type.axes and past in factor.type.axes:
            return None
        q, k = (q, k.times((factor,))) if past in factor.type.axes else (q.times((factor,)), k)
    signs = [make.factors(operand).sign for operand in scores[0].operands]
    sign = term.sign * (-1) ** signs.count(-1)
    q = q.times(base if not itself else (), sign)
    if any({*scores[0].axes} & {*x.type.axes} for x in base):
        return None
    return Pairs(target, past, scores[0].axes, q, k, tuple(base), itself)


def _order(make: Maker, mask: Value) -> tuple[Axis, Axis, bool] | None:
    """Of a mask that lets items see those before them: the axis of items, that of those before, whether itself too."""
    made = make.makers.get(mask.id)
    match made:
        case Apply(traits, (x, y)) if isinstance(traits.reads, Pointwise) and isinstance(
            traits.reads.meaning, Compared
        ):
            one, other = make.makers.get(x.id), make.makers.get(y.id)
            sign = traits.reads.meaning.sign
        case _:
            return None
    if not isinstance(one, Positions) or not isinstance(other, Positions) or one.axis.family != other.axis.family:
        return None
    match sign:
        case "<=" | "<":
            return other.axis, one.axis, sign == "<="
        case ">=" | ">":
            return one.axis, other.axis, sign == ">="
        case _:
            return None


def _apart(make: Maker, value: Value, order: tuple[Axis, Axis, bool]) -> bool:
    """Whether a value is how many items lie between the two."""
    match make.makers.get(value.id):
        case Apply(traits, (x, y)) if traits.reads == Pointwise(Sum((1, -1))):
            one, other = make.makers.get(x.id), make.makers.get(y.id)
            places = isinstance(one, Positions) and isinstance(other, Positions)
            return places and (one.axis, other.axis) == order[:2]  # type: ignore[union-attr]
        case _:
            return False


def _is(make: Maker, value: Value, number: int) -> bool:
    made = make.makers.get(value.id)
    return isinstance(made, Constant) and known(made.value) == number


def weighed(make: Maker, node: Node, pairs: Pairs, by: Value) -> Apply | None:
    """The attention that a sum over earlier items, weighed by pairs, is; of no values where they are only counted."""
    assert isinstance(node, Apply)
    if node.axes != (pairs.past,) or node.mask is not None:
        return None
    v = [x for x in node.operands if x.id != by.id]
    d = frozenset(pairs.axes)
    q, k = make.product(pairs.q), make.product(pairs.k)
    sides = [frozenset(x.type.axes) for x in (q, k)]
    shared = sides[0] | sides[1] | {axis for x in pairs.base for axis in x.type.axes}
    if not d <= sides[0] & sides[1] or pairs.target not in sides[0] or pairs.past not in sides[1]:
        return None
    given = Summand(tuple(v))
    e = tuple(a for x in v for a in x.type.axes if a not in shared and a != pairs.past)
    if v and (not e or any(pairs.target in x.type.axes or d & {*x.type.axes} for x in v)):
        return None
    if v and not any(pairs.past in x.type.axes for x in v):
        return None
    operands = [q, _moved(make, k, pairs), *([_moved(make, make.product(given), pairs)] if v else [])]
    options = {}
    if pairs.base:
        options["decay"] = Literal(1)
        operands.append(make.product(Summand(pairs.base)))
    if not pairs.itself:
        options["before"] = Literal(1)
    traits, axes = op_named("linear_attention"), (pairs.target, *pairs.axes)
    return Apply(traits, tuple(operands), node.out, axes, tuple(dict.fromkeys(e)), options=options, span=node.span)


def _moved(make: Maker, value: Value, pairs: Pairs) -> Value:
    """A value of earlier items, along the axis of items."""
    made, renamed = make.makers.get(value.id), Arrange(IndexMap.SAME)
    if (
        isinstance(made, Apply)
        and made.traits.reads == renamed
        and (made.axes, made.made)
        == (
            (pairs.target,),
            (pairs.past,),
        )
    ):
        return made.operands[0]
    ops = (node.traits for node in make.makers.values() if isinstance(node, Apply) and node.traits.reads == renamed)
    axes = [pairs.target if axis == pairs.past else axis for axis in value.type.axes]
    return make.apply(Apply(next(ops), (value,), make.fresh(axes, (value,)), axes=(pairs.past,), made=(pairs.target,)))


def _sums(node: Node) -> bool:
    return is_product(node) or (isinstance(node, Apply) and node.traits.reads == SUMMED and node.mask is None)


def summed_pairs(make: Maker, value: Value, sums: Sequence[Node]) -> dict[int, Apply]:
    """Of a value that sums over earlier items alone read, what these sums are, by the ids of their results."""
    if not sums or not all(map(_sums, sums)):
        return {}
    pairs = pairs_of(make, value)
    done = [] if pairs is None else [weighed(make, one, pairs, value) for one in sums]
    found = [one for one in done if one is not None]
    read = [one for one in found if one.made]
    if len(found) < len(sums) or len(read) != 1 or len(found) > 2:
        return {}
    return {one.out.id: one if one.made else counting(read[0], one) for one in found}
