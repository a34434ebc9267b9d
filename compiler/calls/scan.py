"""`h, c = scan[seq] cell(x, h = 0, c = 0)`: a block called at each index of an axis in order.

A result named like an argument is that argument's next value, and what is passed for it is the value before the first
index. Other arguments that have the axis are given item by item, the rest as they are. Every result comes back with the
axis; there is one set of weights.
"""

from __future__ import annotations

from ...dsl.base.records import replace
from ..graph.typed_value import TypedValue, fits
from ..graph.values import Role, Scalar, Type
from ..problems.calls import NothingCarried, StateType
from ..problems.plain import Plain
from ..sizes.axes import Axis, Literal, axes_in, consts_in, known
from ..typing.environment import Environment
from ..typing.names import written_type
from .arguments import default_alone, inputs_of
from .binding import Arguments, Bound, CallSite
from .parameters import Substitution, substitution
from .specialise import specialised


def states_of(site: CallSite) -> dict[str, int]:
    """Arguments that are carried, each with the position of its result."""
    decl = site.block.decl
    results = {result.name.text: index for index, result in enumerate(decl.results) if result.name}
    names = (formal.name.text for formal in decl.formals)
    return {name: results[name] for name in names if name in results}


def items_and_states(
    site: CallSite, axis: Axis, bound: Bound, arguments: Arguments
) -> tuple[Arguments, Arguments] | None:
    """The arguments at one index: items of what runs along the axis, and states of a type that has settled. And those
    for all of them, with the first values of states. None after a report.
    """
    problems, states = site.env.problems, states_of(site)
    if not states:
        problems.add(NothingCarried(site.call.span, site.use))
        return None
    whole = _with_first_values(site, arguments, states)
    if whole is None or not _goes_round(site, bound, states):
        return None
    items = {name for name, (wire, _) in whole.items() if name not in states and wire.has(axis)}
    if not items:
        problems.add(Plain.NOTHING_RUNS.at(site.call.span, site.called, axis))
        return None
    for name in states:
        wire, span = whole[name]
        if wire.has(axis):
            problems.add(Plain.STATE_ALONG.at(span, name, axis, wire.type))
            return None
    here = {name: (_item(wire, axis) if name in items else wire, span) for name, (wire, span) in whole.items()}
    with problems.aside():  # what is wrong is found again where the call is checked
        while _grows(site, bound, here, states):
            pass
    return here, whole


def _grows(site: CallSite, bound: Bound, here: Arguments, states: dict[str, int]) -> bool:
    """Call the block once; whether it gives a state more axes or a higher role, which that then has. There are only so
    many of both.
    """
    sub = substitution(site, bound)
    for name in states:
        wire, span = here[name]
        here[name] = _state(site, sub, name, wire), span
    inputs = inputs_of(site, sub, here)
    if not inputs.good:
        return False
    made, sub = specialised(site, sub, inputs.entering)
    if made.graph is None:
        return False
    changed = False
    for name, position in states.items():
        result = made.results[position]
        type = None if result is None else sub.outward(result.type)
        if result is None or type is None:
            continue
        wire, span = here[name]
        varies = (axis for axis in type.axes if axis not in type.broadcast_axes and axis not in wire.type.axes)
        axes, role = (*varies, *wire.type.axes), max(wire.role, result.role)
        if axes != wire.type.axes or role != wire.role:
            changed = True
            here[name] = replace(wire, type=Type(wire.element, axes), role=role), span
    return changed


def _goes_round(site: CallSite, bound: Bound, states: dict[str, int]) -> bool:
    """Whether the next value of each state has the type that the block takes; else reported."""
    good, decl = True, site.block.decl
    wrong: list[StateType] = []
    with site.env.problems.aside():
        probe = Environment.of(site.checker, substitution(site, bound).signature)
        for formal in decl.formals:
            if formal.name.text not in states:
                continue
            result = decl.results[states[formal.name.text]]
            takes, gives = written_type(probe, formal.type), written_type(probe, result.type)
            if takes is None or gives is None:  # that was said where the block is declared
                good = False
            elif {*takes.axes} != {*gives.axes} or not fits(gives.element, takes.element):
                wrong.append(StateType(result.span, site.use, formal, takes, gives))
    for problem in wrong:
        site.env.problems.add(problem)
    return good and not wrong


def _with_first_values(site: CallSite, arguments: Arguments, states: dict[str, int]) -> Arguments | None:
    """A state that is not given begins with its default. None after a report."""
    given = dict(arguments)
    for formal in site.block.decl.formals:
        name = formal.name.text
        if name not in states or name in given or formal.default is None:
            continue
        first = default_alone(site, formal.default)
        static = None if first is None else first.static
        number = None if static is None or axes_in(static) or consts_in(static) else known(static)
        if first is None or number is None:
            if first is not None:
                site.env.problems.add(Plain.STATE_OF_SIZES.at(site.call.span, name))
            return None
        given[name] = (replace(first, static=Literal(number)), site.call.span)
    return given


def _item(wire: TypedValue, axis: Axis) -> TypedValue:
    """One item along the axis."""
    axes = tuple(each for each in wire.type.axes if each != axis)
    mark = frozenset() if axis in wire.mark else wire.mark
    return replace(wire, type=Type(wire.element, axes, wire.type.broadcast_axes), mark=mark, static=None, range=None)


def _state(site: CallSite, sub: Substitution, name: str, wire: TypedValue) -> TypedValue:
    """A state has the type that the block declares for it, and the axes that lift its first value."""
    formal = next(formal for formal in site.block.decl.formals if formal.name.text == name)
    wanted = written_type(Environment.of(site.checker, sub.signature), formal.type)
    outward = None if wanted is None else sub.outward(wanted)
    if outward is None or (set(wire.axes) - set(outward.axes) and set(outward.axes) - set(wire.axes)):
        return wire  # that it does not fit is said where arguments are checked
    axes = (*(axis for axis in wire.axes if axis not in outward.axes), *outward.axes)
    number = wire.element is Scalar.INT and wire.static is not None and outward.element is not Scalar.BOOL
    element = outward.element if number or fits(wire.element, outward.element) else wire.element
    role = max(wire.role, Role.TABLE)  # a number has no axes, and is no value that changes
    return replace(wire, type=Type(element, axes), role=role, static=None, range=None, mark=frozenset())
