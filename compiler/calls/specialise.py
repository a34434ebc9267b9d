"""The specialisation that a call stands for, found or made; what is wrong in it is reported at the call."""

from __future__ import annotations

from collections.abc import Sequence

from ...dsl import syntax as s
from ...dsl.base.records import replace
from ...dsl.diagnostic import Severity
from ..graph.typed_value import TypedValue
from ..graph.values import IndexInto
from ..ops import OPS
from ..problems.relayed import AtCall, CalledFrom
from ..sizes.axes import Axis, Number, known
from ..sizes.limits import Exhausted, TooMuch
from ..typing.application import op_use
from ..typing.environment import Environment, Specialisation
from ..typing.expressions.dispatch import expression
from ..typing.names import written_type
from ..typing.outcome import Formula
from ..typing.signature import BlockSignature
from .binding import CallSite
from .elaborate import elaborate
from .parameters import Substitution

Entering = Sequence[tuple[s.Formal, TypedValue | None]]


def specialised(site: CallSite, sub: Substitution, entering: Entering) -> tuple[Specialisation, Substitution]:
    """The body that a call stands for, and what of the caller its parameters stand for. Calls that are alike in sizes,
    copies and kinds of arguments share one.

    While it is not known which arguments of the caller carry data, some refusals are left to its callers; but a body in
    which nothing is refused by what carries data is the same for both, and is elaborated once.
    """
    if not site.env.signature.roles_known:
        try:
            known = _elaborated(site, sub, replace(sub.signature, roles_known=True), entering)
        except Exhausted:
            raise
        except TooMuch:
            known = None
        if known is not None and not known.environment.signature.by_roles:
            return known, sub.onto(known.environment.signature)
    made = _elaborated(site, sub, sub.signature, entering)
    site.env.signature.by_roles |= made.environment.signature.by_roles
    return made, sub.onto(made.environment.signature)


def _elaborated(site: CallSite, sub: Substitution, signature: BlockSignature, entering: Entering) -> Specialisation:
    checker, env = site.checker, site.env
    numbers = _numbers(site, sub)
    found = (repr(numbers.get(const.id)) for const in signature.const_params)
    key = (_key(site, signature, entering), tuple(found))
    if key not in checker.specialisations:
        inside = Environment.of(checker, signature)
        inside = inside.but(taken=env.taken, numbers=numbers, stack=(*env.stack, site.block))
        for formal, wire in entering:
            inside = inside.bound(formal.name.text, _entered(inside, formal, wire))
        checker.specialisations[key] = elaborate(inside, checker.ranks.get(site.block))
    return checker.specialisations[key]


def _entered(env: Environment, formal: s.Formal, wire: TypedValue | None) -> TypedValue | None:
    """An argument in the body: an input of its graph, or a number as it is."""
    if wire is None:
        return _everywhere(env, _default(env, formal), formal)
    if wire.static is not None:
        return _everywhere(env, wire, formal)
    made = env.builder.input(formal.name.text, wire.type, wire.role, formal.name.span.to(formal.type.span))
    return replace(made, mark=wire.mark, mark_unknown=wire.mark_unknown)


def pass_on(site: CallSite, sub: Substitution, formulas: list[Formula]) -> None:
    """A formula over a const that the call sets to the number of a pass is validated where the passes are."""
    axes = {formal.id: axis for formal, axis in sub.axes}
    consts = {formal.id: static for formal, static in sub.consts}
    for formula in formulas:
        given = formula.with_values(axes, consts)
        if given.undetermined:
            site.env.outcome.formulas.append(replace(given, call=site.call.span))


def relay(
    site: CallSite, sub: Substitution, specialisation: Specialisation, only: frozenset[str] | None = None
) -> None:
    """Mistakes of this specialisation that the block does not make on its own: shown at the call.

    only: of a block with mistakes of its own, the codes of those that do not follow from them.
    """
    found, ours, call = site.env.problems.found, not site.of_the_library, site.call
    known = {problem.place for problem in site.checker.session.problems.found}
    if ours:
        known |= {problem.place for problem in site.checker.alone[site.block].environment.problems.found}
    for problem in specialisation.environment.problems.found:
        silent = problem.severity is not Severity.ERROR and not problem.deep
        if silent or problem.place in known or (only is not None and problem.code not in only):
            continue
        if problem.deep and ours:
            found.append(CalledFrom(problem.span, problem, call.span))
        else:
            found.append(AtCall(call.span, problem, site.block.decl, call, tuple(sub.axes)))


def _numbers(site: CallSite, sub: Substitution) -> dict[int, Number]:
    """The consts that depend on the pass of a repeat around the call, each with its number in that pass."""
    if not site.env.numbers:
        return {}
    found = ((formal, known(site.env.in_this_pass(static))) for formal, static in sub.consts)
    return {formal.id: number for formal, number in found if formal.value is None and number is not None}


def _key(site: CallSite, signature: BlockSignature, entering: Entering) -> object:
    """Calls of equal keys have one body: same sizes, same copies among the parameters, arguments of the
    same kind.
    """
    place = {axis.id: index for index, axis in enumerate(signature.params)}
    families: dict[int, int] = {}
    axes = tuple(
        (
            axis.extent,
            axis.bound,
            axis.size is not None,
            axis.id in signature.open,
            families.setdefault(axis.family, len(families)),
        )
        for axis in signature.params
    )
    lifted = tuple(axis.id for axis in signature.lifted)

    def at(axis: Axis) -> tuple[str, int]:
        return ("p", place[axis.id]) if axis.id in place else ("l", axis.id)

    arguments: list[object] = []
    for _, wire in entering:
        if wire is None:
            arguments.append(None)
            continue
        if wire.static is not None:
            arguments.append(repr(wire.static))  # 1 is not 1.0, nor true
            continue
        element = at(wire.element.axis) if isinstance(wire.element, IndexInto) else wire.element.value
        arguments.append(
            (
                element,
                tuple(at(axis) for axis in wire.type.axes),
                tuple(sorted(at(axis) for axis in wire.type.broadcast_axes)),
                wire.role,
                tuple(sorted(at(axis) for axis in wire.mark)),
                wire.mark_unknown,
            )
        )
    consts = tuple(
        (repr(const.value), repr(const.like), const in signature.running) for const in signature.const_params
    )
    return (id(site.block), signature.roles_known, site.env.taken, axes, consts, lifted, tuple(arguments))


def _default(env: Environment, formal: s.Formal) -> TypedValue | None:
    """What stands in for an argument that is not given; a number for an index is one."""
    assert formal.default is not None
    wire, wanted = expression(env, formal.default), written_type(env, formal.type)
    if wire is None or wanted is None or not isinstance(wanted.element, IndexInto):
        return wire
    op = OPS["index"]
    call = op_use(env, op, op.name, wire.span, wire.span, [wire], [wire.span])
    call.made = [wanted.element.axis]
    return op.rule(call)


def _everywhere(env: Environment, wire: TypedValue | None, formal: s.Formal) -> TypedValue | None:
    """A number passed for an argument is the same along all axes of the formal."""
    wanted = written_type(env, formal.type)
    if wire is None or wire.static is None or wanted is None:
        return wire
    return replace(wire, spread=frozenset(wanted.axes))
