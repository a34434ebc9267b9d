"""Declarations within a block: axes, consts, params, and sets of weights that calls share."""

from __future__ import annotations

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ....dsl.comments.docs import behind
from ....dsl.source import Span
from ...base.problems import Problems
from ...graph.nodes import Init, Parameter, Weight
from ...graph.typed_value import TypedValue, show_axes
from ...graph.values import Role, Scalar, Type
from ...names.ragged import refuse_ragged
from ...names.written_sizes import checked_size, refuse_own_size
from ...problems.elements import Wanted, WrongElement
from ...problems.plain import Plain
from ...problems.sizes import ParamUnbounded
from ...sizes.arithmetic import largest
from ...sizes.axes import Axis, ConstOf, Kind, SizeOf, Static, undetermined
from ..environment import Environment, Shared
from ..expressions.inits import init
from ..names import axis_named, may_own, size_in_this_pass, worth, written_const, written_size, written_type
from ..outcome import Formula, validate_number
from ..sharing import claim
from .assignments import bind
from .dispatch import of_kind


@of_kind(s.Share)
def share(env: Environment, statement: s.Share) -> Environment:
    """`share f = block`: calls of f have one set of weights."""
    name, block = statement.name, statement.block
    if block.text not in env.module.blocks:
        if not env.signature.is_missing(block.text):
            env.problems.add(Plain.NO_BLOCK_NAMED.at(block.span, block.text, known=env.module.blocks))
        return env.bound(name.text, None)
    if not may_own(env, name.text, name.span):
        return env
    claim(env, name.text, name.span)
    shares = {**env.shares, name.text: Shared(name, block)}
    return env.but(shares=shares, outside=env.outside - {name.text}, around=env.around - {name.text})


def _declared_already(env: Environment, name: s.Ident) -> bool:
    """Whether an axis or const of the block would take a name that is taken; reported."""
    if env.axis(name.text) is None and env.const(name.text) is None and name.text not in env.variables:
        return False
    env.problems.add(Plain.DECLARED_ALREADY.at(name.span, name.text))
    return True


@of_kind(s.AxisDecl)
def local_axis(env: Environment, decl: s.AxisDecl) -> Environment:
    """`depth d = 4`, `width k like q`."""
    name = decl.name.text
    if _declared_already(env, decl.name):
        return env
    refuse_ragged(env.checker.session.problems, decl, in_block=True)
    if decl.like is not None:
        axis = _copy(env, decl, decl.like)
    elif decl.size is not None and not decl.bounded:
        axis = _of_size(env, decl, decl.size)
    else:
        env.problems.add(Plain.NO_SIZE_IN_BLOCK.at(decl.span, name, decl.kind))
        axis = env.checker.session.axis(name, Kind(decl.kind), label=_label(decl), span=decl.name.span)
    if axis is None:  # mistakes that follow from a wrong size are not reported
        env.signature.misdeclared.add(name)
        return env
    env.outcome.own_axes.append(env.signature.opened(axis))  # that it has no size is reported
    return env.but(names={**env.names, name: axis})


def _label(decl: s.AxisDecl) -> str:
    return decl.display.text if decl.display else decl.name.text


def _copy(env: Environment, decl: s.AxisDecl, like: s.Ident) -> Axis | None:
    """An axis of the same items as another; None after a report."""
    name, kind, original = decl.name.text, Kind(decl.kind), axis_named(env, like)
    if original is None:
        return None
    if original.kind is not kind:
        env.problems.add(
            Plain.KIND_OF_COPY.at(decl.span, name, kind.value, original, original.kind.value, decl.span.text)
        )
    refuse_own_size(env.checker.session.problems, decl)
    return env.checker.session.axis(
        name,
        kind,
        label=_label(decl),
        extent=original.extent,
        size=SizeOf(original),
        bound=original.bound,
        family=original.family,
        span=decl.name.span,
        ragged=original.ragged,
    )


def _of_size(env: Environment, decl: s.AxisDecl, written: s.Expr) -> Axis | None:
    """An axis of its own; None after a report of its size."""
    name, kind = decl.name.text, Kind(decl.kind)
    size = written_size(env, written)
    if size is not None:
        size = size_in_this_pass(env, kind, size)
        _in_each_pass(env, size, written.span, name)
    reported = len(env.problems.found)
    extent = None
    if size is not None:
        if kind is Kind.DEPTH:
            env.signature.known_depth(name, size, written.span)
        extent, size = env.sized(size, written.span, name, library=env.module.library)
    if len(env.problems.found) > reported:
        return None
    bound = largest(size) if size is not None and extent is None and kind is Kind.WIDTH else None
    return env.checker.session.axis(
        name, kind, label=_label(decl), extent=extent, size=size, bound=bound, span=decl.name.span
    )


@of_kind(s.ConstDecl)
def local_const(env: Environment, decl: s.ConstDecl) -> Environment:
    """`const n = 2 * m`."""
    name = decl.name.text
    if _declared_already(env, decl.name):
        return env
    value = written_const(env, decl.value)
    if value is None:
        value = ConstOf(env.checker.session.const(name, None))
    else:
        value = worth(env, value, decl.value.span)
        _in_each_pass(env, value, decl.value.span)
    return env.but(consts={**env.consts, name: value})


def _in_each_pass(env: Environment, formula: Static, span: Span, name: str | None = None) -> None:
    """A formula that each pass of a repeat gives a value: the size of an axis, if it has a name, or a const."""

    def validate_size(problems: Problems, sizes: tuple[Static, ...], place: Span) -> None:
        checked_size(problems, sizes[0], place, name or "", formula_span=span)

    if undetermined(formula):
        env.outcome.formulas.append(Formula((formula,), span, validate_number if name is None else validate_size))


@of_kind(s.ParamDecl)
def param(env: Environment, decl: s.ParamDecl) -> Environment:
    """`param w: [a, b] ~ normal(0.02)`: a weight that is a value of its own."""
    name = decl.name.text
    type = written_type(env, decl.type)
    if env.variables.get(name) is not None:
        env.problems.add(Plain.VALUE_ALREADY.at(decl.name.span, name))
        return env
    if not may_own(env, name, decl.name.span) or type is None or not _may_be_learned(env, decl, type):
        return bind(env, decl.name, None)
    begins = Init("normal", (0.02,)) if decl.init is None else init(env, decl.init)
    if begins is not None and begins.kind == "xavier" and decl.init is not None:
        begins = _between(env, begins, type.axes, decl.init.span)
    dims = tuple((axis,) for axis in type.axes)
    weight = Weight(name, dims, begins or Init("zeros"), decl.frozen, decl.span, behind(decl.span))
    out = env.builder.value(type, Role.WEIGHT, decl.name.span, name)
    env.builder.nodes.append(Parameter(weight, out))
    claim(env, name, decl.name.span)
    return bind(env, decl.name, TypedValue(type, Role.WEIGHT, decl.name.span, out, home=env.builder))


def _may_be_learned(env: Environment, decl: s.ParamDecl, type: Type) -> bool:
    if type.element is not Scalar.REAL:
        return env.problems.refuse(WrongElement(decl.type.span, type, Wanted.PARAM))
    for axis, written in zip(type.axes, decl.type.axes, strict=True):
        if axis.is_width and axis.bound is None and env.signature.only_at_run_time(SizeOf(axis)):
            return env.problems.refuse(ParamUnbounded(written.span, decl.name.text, axis))
    return True


def _between(env: Environment, init: Init, axes: tuple[Axis, ...], span: Span) -> Init | None:
    """`xavier` for a param, which maps its second axis to its first as torch.nn.init has it."""
    if len(axes) == 2:
        return replace(init, fan_in=axes[1:], fan_out=axes[:1])
    env.problems.add(Plain.XAVIER_PARAM.at(span, show_axes(axes)))
    return None
