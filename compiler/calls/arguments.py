"""The arguments of a call as the block sees them: in its own axes, the rest lifted."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable, replace
from ...dsl.source import Span
from ..base import rewritten
from ..graph.typed_value import TypedValue, fits
from ..graph.values import IndexInto, Role, Type
from ..problems.calls import ArgumentLacks, ArgumentNamesake, LiftsMentioned, OneAxisForTwo
from ..problems.elements import ArgumentElement, IndexTaker, WrongTable
from ..sizes.axes import Axis, Literal
from ..typing.environment import Environment
from ..typing.expressions.dispatch import expression
from ..typing.names import written_type
from .binding import Arguments, CallSite
from .parameters import Substitution


@mutable
class CallInputs:
    """Each formal with its argument as the callee sees it; none if it is left out.

    good:    whether nothing is wrong.
    foreign: an argument has an axis of the right name, but of another file.
    mixed:   an argument has other axes than the call names: which of the two is meant is not known.
    """

    entering: list[tuple[s.Formal, TypedValue | None]] = field(default_factory=list)
    good: bool = True
    foreign: bool = False
    mixed: bool = False


def with_defaults(site: CallSite, arguments: Arguments) -> Arguments:
    """An op of the user's own has no body to put a default in: it is given like any other argument."""
    given = dict(arguments)
    for formal in site.block.decl.formals if site.block.target else ():
        if formal.name.text not in given and formal.default is not None:
            default = default_alone(site, formal.default)
            if default is not None:
                given[formal.name.text] = (default, site.call.span)
    return given


def default_alone(site: CallSite, default: s.Expr) -> TypedValue | None:
    """The default of an argument, as the block has it on its own."""
    alone = site.checker.alone[site.block].environment
    return expression(Environment.of(site.checker, alone.signature), default)


def is_put_in(site: CallSite, wire: TypedValue) -> bool:
    """A plain number or truth value stands in the body as it is, and is no input of it."""
    return isinstance(wire.static, Literal) and not site.block.target


def inputs_of(site: CallSite, sub: Substitution, arguments: Arguments) -> CallInputs:
    """The arguments in the callee's own axes, those of a formal that they lack as broadcast axes, the rest lifted.
    Tells the callee's signature which are lifted.
    """
    probe = Environment.of(site.checker, sub.signature)
    to_actual = {formal.id: actual for formal, actual in sub.axes}
    inputs = CallInputs()
    lifted: dict[Axis, None] = {}
    for formal in site.block.decl.formals:
        if formal.name.text not in arguments:
            inputs.entering.append((formal, None))
            continue
        wire, span = arguments[formal.name.text]
        wanted = written_type(probe, formal.type)
        actuals = {} if wanted is None else {to_actual[axis.id]: axis for axis in wanted.axes}
        if wanted is None or not _axes_differ(site, wanted, to_actual, formal):
            inputs.good = False
            return inputs
        lifted.update(dict.fromkeys(axis for axis in wire.axes if axis not in actuals))
        right = _element(site, wire, wanted, formal, span, to_actual)
        if not right or not _axes(site, sub, inputs, arguments, formal, actuals):
            inputs.good = False
            continue
        plain = is_put_in(site, wire)
        inside = replace(wire, span=formal.name.span) if plain else _inside(wire, formal, wanted, actuals)
        inputs.entering.append((formal, inside))
    sub.signature.lifted = tuple(lifted)
    # Lifted axes come first, in one order for all arguments: the memory order of the callee.
    for position, (formal, entering) in enumerate(inputs.entering):
        if entering is not None:
            own = [axis for axis in entering.type.axes if axis not in lifted]
            first = [axis for axis in lifted if axis in entering.type.axes]
            type = replace(entering.type, axes=(*first, *own))
            inputs.entering[position] = (formal, replace(entering, type=type))
    return inputs


def _axes(
    site: CallSite,
    sub: Substitution,
    inputs: CallInputs,
    arguments: Arguments,
    formal: s.Formal,
    actuals: dict[Axis, Axis],
) -> bool:
    """Whether an argument may lack the axes that it lacks (D7), and lift over those that it has in addition (D8).

    `actuals`: the axes of the caller that the formal's stand for, each with the formal's.
    """
    (wire, span), caller = arguments[formal.name.text], site.env.signature
    mentioned = {axis: formal for formal, axis in reversed(sub.axes) if formal.id not in sub.of_sizes}
    extra = [axis for axis in wire.axes if axis not in actuals]
    missing = [axis for axis in actuals if not wire.has(axis)]
    wrong = [axis for axis in extra if axis in mentioned]
    carries = wire.role is Role.DATA and wire.is_number and caller.roles_known
    # What the body around is lifted over, it does not know of: such an axis says nothing of a mix-up.
    seen = [axis for axis in extra if axis not in caller.lifted]
    if (
        any(a.name == b.name and a.family != b.family for a in seen for b in missing)
        or (missing and wrong)
        or (carries and any(axis.is_width for axis in missing))
        or (carries and any(a.name == b.name or a.family == b.family for a in seen for b in missing))
        or (carries and missing and seen and not wrong)
    ):
        caller.by_roles |= carries
        _lacks(site, sub, inputs, arguments, formal, (tuple(actuals), tuple(missing), tuple(extra)))
        return False
    if wrong:
        parameter = mentioned[wrong[0]]
        return site.env.problems.refuse(LiftsMentioned(span, site.called, formal, wire, wrong[0], parameter))
    return True


def _element(
    site: CallSite, wire: TypedValue, wanted: Type, formal: s.Formal, span: Span, to_actual: dict[int, Axis]
) -> bool:
    have, want, problems = wire.element, wanted.element, site.env.problems
    if isinstance(want, IndexInto):
        target = to_actual[want.axis.id]
        if isinstance(have, IndexInto) and have.axis.family == target.family:
            return True
        if span is site.call.span:
            return True  # a default, of which it was seen that it lies within the axis
        if isinstance(have, IndexInto):
            name = formal.name.text
            return problems.refuse(WrongTable(span, wire.type, have.axis, target, IndexTaker.ARGUMENT, name))
        wanted = replace(wanted, element=IndexInto(target))
    elif fits(have, want):
        return True
    return problems.refuse(ArgumentElement(span, site.called, formal, wire.type, wanted))


def _axes_differ(site: CallSite, wanted: Type, to_actual: dict[int, Axis], formal: s.Formal) -> bool:
    """Whether the axes of a formal stand for as many of the caller; else reported."""
    seen: dict[Axis, Axis] = {}
    for axis in wanted.axes:
        actual = to_actual[axis.id]
        if actual in seen:
            return one_axis_for_two(site, (seen[actual], axis), actual, formal.name.text, formal.span)
        seen[actual] = axis
    return True


def one_axis_for_two(
    site: CallSite, formals: tuple[Axis, Axis], actual: Axis, name: str | None, place: Span | None, inside: bool = False
) -> bool:
    """Report that two parameters stand for one axis, and a value has both. inside: it is one of the body."""
    names, around = (formals[0].name, formals[1].name), site.env.surroundings
    of_call = site.call, site.block.decl
    problem = OneAxisForTwo(site.place, site.called, names, actual, name, place, inside, around, *of_call)
    return site.env.problems.refuse(problem)


def _lacks(
    site: CallSite,
    sub: Substitution,
    inputs: CallInputs,
    arguments: Arguments,
    formal: s.Formal,
    axes: tuple[tuple[Axis, ...], tuple[Axis, ...], tuple[Axis, ...]],
) -> None:
    """Report an argument without an axis that its formal has. axes: what the formal has, what of it is missing, and
    what the argument has beside.
    """
    (wire, span), (_, missing, extra) = arguments[formal.name.text], axes
    namesakes = [(a, b) for a in missing for b in extra if a.name == b.name and a.family != b.family]
    if namesakes:
        if not inputs.foreign:  # once for each call
            _namesakes(site, *namesakes[0], wire, span)
        inputs.foreign = True
        return
    # Where arguments or axes stand in another order, one message is enough for all that do.
    turned = bool(extra) and any(
        all(map(other.has, missing)) and not any(map(other.has, extra)) for other, _ in arguments.values()
    )
    if turned and inputs.mixed:
        return
    inputs.mixed = inputs.mixed or bool(extra)
    named = any(actual in extra for _, actual in sub.axes)
    changed = _changed(site, sub, arguments, formal) if turned else ""
    given = {argument.value.span.text for argument in site.call.arguments}
    fitting = tuple(
        name
        for name, other in site.env.variables.items()
        if other is not None and name not in given and {*other.axes} == {*axes[0]} and fits(other.element, wire.element)
    )
    site.env.problems.add(
        ArgumentLacks(span, site.called, formal, wire, *axes, turned, named, changed, fitting if extra else ())
    )


def _changed(site: CallSite, sub: Substitution, arguments: Arguments, formal: s.Formal) -> str:
    """The call with this argument and another one changed, if both then have what their formals have; else ""."""
    actual = {axis.name: outer for axis, outer in sub.axes}
    wanted = {each.name.text: {actual.get(axis.text) for axis in each.type.axes} for each in site.block.decl.formals}
    (wire, span), here = arguments[formal.name.text], formal.name.text
    for there, (other, place) in arguments.items():
        fit = {*other.axes} >= wanted[here] and {*wire.axes} >= wanted[there] and fits(wire.element, other.element)
        if there != here and fit and {*other.axes} != {*wire.axes}:
            texts = {span: place.text, place: span.text}
            given = [rewritten.edited(each.span, [(each.value.span, texts.get(each.value.span, each.value.span.text))])
                     for each in site.call.arguments]  # fmt: skip
            return rewritten.call(site.call, arguments=given)
    return ""


def _namesakes(site: CallSite, theirs: Axis, mine: Axis, wire: TypedValue, span: Span) -> None:
    """The argument has an axis of the right name, but of another file. The edit names the axis in the `use` that brings
    the callee: this file's own declaration then wins.
    """
    block, module, place = site.block, site.env.module, site.call.callee.span
    ours = mine.span is not None and mine.span.source is module.source
    use = tuple(module.also_used(site.call.callee.text, theirs.name)) if ours else ()
    file = block.module.source.name
    site.env.problems.add(ArgumentNamesake(place, site.called, block.name, file, theirs, mine, wire, span, use))


def _inside(wire: TypedValue, formal: s.Formal, wanted: Type, actuals: dict[Axis, Axis]) -> TypedValue:
    """An argument in the callee's axes; those of its formal that it lacks are broadcast axes."""
    extra = [axis for axis in wire.axes if axis not in actuals]
    broadcast_axes = frozenset(axis for actual, axis in actuals.items() if not wire.has(actual))
    mark = frozenset(actuals.get(axis, axis) for axis in wire.mark)
    type = Type(wanted.element, (*extra, *wanted.axes), broadcast_axes)
    return TypedValue(type, wire.role, formal.name.span, mark=mark, mark_unknown=wire.mark_unknown)
