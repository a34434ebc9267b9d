"""One use of an op in a block: the node that its type rule makes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...dsl.base.records import replace
from ...dsl.source import Span
from ..graph.nodes import Apply, Weight
from ..graph.traits import Arrange, IndexMap, Pointwise, Sum
from ..graph.typed_value import Range, TypedValue
from ..graph.values import Role, Scalar, Type
from ..ops import Op
from ..ops.table import OpCall
from ..problems.axes import Namesakes
from ..sizes.axes import Arith, Axis, undetermined
from ..sizes.functions import has_all_numbers
from .environment import Environment
from .names import namesakes, number
from .outcome import Formula, validate_number
from .sharing import claim


def op_use(
    env: Environment,
    op: Op,
    shown: str,
    span: Span,
    bracket_span: Span,
    operands: Sequence[TypedValue] = (),
    spans: Sequence[Span] = (),
) -> OpCall:
    """One use of an op, of which more may be said before its rule is asked."""
    return OpCall(env, partial(_make, env), op, shown, span, bracket_span, [*operands], [*spans])


def _make(
    env: Environment,
    call: OpCall,
    type: Type,
    *,
    role: Role = Role.CONSTANT,
    mark: frozenset[Axis] = frozenset(),
    range: Range | None = None,
    weights: tuple[Weight, ...] = (),
    product_of: tuple[Axis, ...] = (),
) -> TypedValue | None:
    """The result: a node of the graph, or static arithmetic where all operands are static."""
    statics = [wire.static for wire in call.operands]
    if call.op.number and all(static is not None for static in statics):
        result = Arith(call.op.number, tuple(s for s in statics if s is not None))
        if not has_all_numbers(result.meaning) and (undetermined(result) or not env.taken):
            env.outcome.formulas.append(Formula((result,), call.span, validate_number))
        return replace(number(env, result, call.span), spread=_spread(call))
    meeting = namesakes(env, type)
    if meeting is not None:
        return call.fail(Namesakes(call.span, *meeting, tuple(zip(call.spans, call.operands, strict=True))))
    builder = env.builder
    operands = tuple([builder.take(wire) for wire in call.operands])
    mask = builder.take(call.mask) if call.mask else None
    role = max(role, *[wire.role for wire in call.operands], call.mask.role if call.mask else role)
    if type.axes:  # a constant has no axes: a number that gets some is a table
        role = max(role, Role.TABLE)
    out = builder.value(type, role, call.span)
    builder.nodes.append(
        Apply(
            call.op,
            operands,
            out,
            tuple(call.axes),
            tuple(call.made),
            tuple(call.each),
            mask,
            dict(call.options),
            call.name if weights else None,
            weights,
            call.span,
        )
    )
    if weights and call.name:
        claim(env, call.name, call.span)
    item_by_item = isinstance(call.op.reads, Pointwise) and not call.op.random and not call.made
    return TypedValue(
        type,
        role,
        call.span,
        out,
        mark,
        None,
        range,
        mark_unknown=call.operands[0].mark_unknown and _same_items(call.op, type),
        product_of=product_of,
        home=builder,
        spread=_spread(call) - set(type.axes) if item_by_item else frozenset(),
    )


def _spread(call: OpCall) -> frozenset[Axis]:
    return frozenset().union(*[wire.spread for wire in call.operands])


def _same_items(op: Op, type: Type) -> bool:
    """Whether all items of a result of this type are items of the operand: if those are weights, these are."""
    match op.reads:
        case Arrange(IndexMap.PARTS | IndexMap.SHIFTED):
            return False
        case Arrange():
            return True
        case Pointwise(Sum((1,))):
            return type.element is Scalar.REAL
        case _:
            return False
