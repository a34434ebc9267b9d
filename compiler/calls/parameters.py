"""What the parameters of a called block stand for: fresh axes and consts of its own, for those of the caller."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable, replace
from ...dsl.source import Span
from ..graph.typed_value import static_element
from ..graph.values import IndexInto, Scalar, Type
from ..names.written_sizes import const_static, size_static
from ..problems.calls import NoCopyGiven
from ..sizes.arithmetic import largest, substitute
from ..sizes.axes import (
    Axis,
    Const,
    ConstOf,
    Kind,
    Literal,
    Number,
    SizeOf,
    Static,
    as_static,
    axes_in,
    consts_in,
    is_list,
    value_of,
)
from ..typing.names import size_in_this_pass
from ..typing.signature import BlockSignature
from .binding import Bound, CallSite
from .formals import const_parameter, derive_sizes, keep_names_known, parameter


@mutable
class Substitution:
    """What of the caller each parameter of the callee stands for.

    axes, consts:  of the parameters in `signature`. given, numbers: of axes and consts of files, by id.
    rebound:       the ids of those that the call names.
    of_sizes:      ids of parameters that only sizes are derived from: no value has them.
    unlike:        a parameter is no copy of what it must be a copy of. invalid: the default of one is wrong.
    """

    signature: BlockSignature
    axes: list[tuple[Axis, Axis]] = field(default_factory=list)
    consts: list[tuple[Const, Static]] = field(default_factory=list)
    given: dict[int, Axis] = field(default_factory=dict)
    numbers: dict[int, Static] = field(default_factory=dict)
    rebound: frozenset[int] = frozenset()
    of_sizes: set[int] = field(default_factory=set)
    unlike: bool = False
    invalid: bool = False

    def outward(self, type: Type) -> Type | None:
        """A type of the callee in the caller's axes."""
        actual = {formal.id: axis for formal, axis in self.axes}
        axes = tuple(actual.get(axis.id, axis) for axis in type.axes)
        if len(set(axes)) < len(axes):
            return None
        element = type.element
        if isinstance(element, IndexInto):
            element = IndexInto(actual.get(element.axis.id, element.axis))
        return Type(element, axes, frozenset(actual.get(axis.id, axis) for axis in type.broadcast_axes))

    def onto(self, signature: BlockSignature) -> Substitution:
        """The same for the parameters of another specialisation of the block."""
        axes = [(mine, actual) for mine, (_, actual) in zip(signature.params, self.axes, strict=True)]
        consts = [(mine, static) for mine, (_, static) in zip(signature.const_params, self.consts, strict=True)]
        of_sizes = {new.id for (new, _), (old, _) in zip(axes, self.axes, strict=True) if old.id in self.of_sizes}
        return replace(self, signature=signature, axes=axes, consts=consts, of_sizes=of_sizes)


def substitution(site: CallSite, bound: Bound) -> Substitution:
    """Fresh axes and consts for the callee's parameters."""
    checker, block, caller = site.checker, site.block, site.env.signature
    session, signature = checker.session, BlockSignature(block, caller.roles_known)
    sub = Substitution(signature)
    axes, consts = checker.closures.of(block)
    checker.spend(site.call.span, len(axes) + len(consts))
    _inherit(site, sub, bound, axes, consts)
    families: dict[int, int] = {}

    def family(axis: Axis) -> int:
        return families.setdefault(axis.family, session.fresh())

    templates = {axis.name: axis for axis in checker.alone[block].environment.signature.params}
    for name, generic in block.generics.items():
        if generic.kind == "const":
            _explicit_const(site, sub, generic, bound)
            continue
        actual = _explicit_axis(site, sub, generic, bound)
        axis = parameter(session, signature, templates[name], actual, family(actual), implicit=False)
        sub.axes.append((axis, actual))
        _check_copy(site, sub, generic, axis, actual)
    for theirs in axes:
        actual = sub.given[theirs.id]
        axis = parameter(session, signature, theirs, actual, family(actual), implicit=True)
        sub.axes.append((axis, actual))
        if theirs.id not in checker.closures.carried[block]:
            sub.of_sizes.add(axis.id)
    for const in consts:
        number = sub.numbers[const.id]
        formal = const_parameter(session, signature, const.name, value_of(number), const, _like_number(site, number))
        sub.consts.append((formal, number))
    derive_sizes(signature, axes, sub.rebound)
    now = {axis.id: axis for axis in signature.params}  # a derived width got its formula after it was made
    sub.axes = [(now.get(formal.id, formal), actual) for formal, actual in sub.axes]
    signature.open |= {formal.id for formal, actual in sub.axes if actual.id in caller.open}
    keep_names_known(signature)
    signature.running = {formal for formal, static in sub.consts if caller.only_at_run_time(static)}
    return sub


def _explicit_const(site: CallSite, sub: Substitution, generic: s.Generic, bound: Bound) -> None:
    """A const in the callee's brackets: what the call gives, else its default."""
    static = bound.get(generic.name.text)
    if static is None:
        static = _default(site, sub, generic) or Literal(0)
    assert not isinstance(static, Axis)
    like = _like_number(site, static)
    const = const_parameter(site.checker.session, sub.signature, generic.name.text, value_of(static), None, like)
    sub.consts.append((const, static))


def _explicit_axis(site: CallSite, sub: Substitution, generic: s.Generic, bound: Bound) -> Axis:
    """The axis of the caller that an axis in the callee's brackets stands for; a number makes an axis of its own."""
    actual = bound.get(generic.name.text)
    if actual is None:
        actual = _default(site, sub, generic) or Literal(1)
    if isinstance(actual, Axis):
        return actual
    if isinstance(actual, SizeOf):
        return actual.axis
    return _of_size(site, sub, generic.name.text, Kind(generic.kind), actual, generic.span)


def _default(site: CallSite, sub: Substitution, generic: s.Generic) -> Static | None:
    """The default of a parameter of the callee, for a call that does not set it. None after a report."""
    assert generic.default is not None
    read = const_static if generic.kind == "const" else size_static
    static = read(generic.default, lambda ident: _named(site, sub, ident.text), site.env.problems)
    sub.invalid = sub.invalid or static is None
    return static


def _named(site: CallSite, sub: Substitution, name: str) -> Static | None:
    """A name in the default of a parameter."""
    for formal, actual in sub.axes:
        if formal.name == name and name in sub.signature.names:
            return SizeOf(actual)
    for const, static in sub.consts:
        if const.name == name:
            return static
    module = site.block.module
    if name in module.axes:
        return SizeOf(sub.given.get(module.axes[name].id, module.axes[name]))
    if name in module.consts:
        return sub.numbers.get(module.consts[name].id, ConstOf(module.consts[name]))
    return None  # said of the block itself


def _like_number(site: CallSite, static: Static) -> Number | None:
    """A number of the same kind as what a const is given; None where calls of the block around decide the kind, and
    of a list.
    """
    if is_list(static) or any(site.env.signature.is_open(ConstOf(const)) for const in consts_in(static)):
        return None
    return {Scalar.REAL: 0.5, Scalar.BOOL: True}.get(static_element(static), 0)


def _check_copy(site: CallSite, sub: Substitution, generic: s.Generic, axis: Axis, actual: Axis) -> None:
    """`k: width like q`: what k and q stand for must be copies of one axis."""
    original = sub.signature.names.get(generic.like.text) if generic.like is not None else None
    if original is None or original.family == axis.family:
        return
    sub.unlike = True
    theirs = next(a for f, a in sub.axes if f is original)
    names, around = (site.called, axis.name, original.name), site.env.surroundings
    site.env.problems.add(NoCopyGiven(site.place, *names, actual, theirs, generic, site.call, around))


# -- what the call does not name -------------------------------------------------------------------------------------


def _inherit(site: CallSite, sub: Substitution, bound: Bound, axes: list[Axis], consts: list[Const]) -> None:
    """What the callee's implicit parameters stand for: as the call names them, else derived anew from what it names,
    else the caller's own.
    """
    for name, item in site.checker.closures.file_names(site.block).items():
        value = bound.get(name)
        if isinstance(item, Axis) and isinstance(value, Axis):
            sub.given[item.id] = value
        elif isinstance(item, Const) and value is not None and not isinstance(value, Axis):
            sub.numbers[item.id] = value
    sub.rebound = frozenset((*sub.given, *sub.numbers))
    for axis in axes:
        _inherit_axis(site, sub, axis)
    for const in consts:
        _inherit_const(site, sub, const)


def _inherit_axis(site: CallSite, sub: Substitution, axis: Axis) -> None:
    if axis.id in sub.given:
        return
    session, closures = site.checker.session, site.checker.closures
    mine, formula = site.env.signature.of_file.get(axis.id), session.formulas.get(axis.id)
    if formula is None or not closures.hangs_on(axis.id, sub.rebound):
        sub.given[axis.id] = mine or axis
        return
    _inherit_parts(site, sub, formula)
    if mine is not None and not closures.hangs_on(axis.id, _changed(site, sub)):
        sub.given[axis.id] = mine
    elif isinstance(formula, SizeOf) and formula.axis.family == axis.family:
        original = sub.given[formula.axis.id]
        sub.given[axis.id] = session.axis(
            axis.name,
            axis.kind,
            label=axis.label,
            extent=original.extent,
            bound=original.bound,
            family=original.family,
            span=axis.span,
            ragged=original.ragged,
        )
    else:
        size = substitute(formula, sub.given, sub.numbers)
        sub.given[axis.id] = _of_size(site, sub, axis.name, axis.kind, size, axis.span, axis.label)


def _inherit_const(site: CallSite, sub: Substitution, const: Const) -> None:
    if const.id in sub.numbers:
        return
    mine = site.env.signature.const_of_file.get(const.id)
    formula = site.checker.session.const_formulas.get(const.id)
    if formula is not None and site.checker.closures.hangs_on(const.id, sub.rebound):
        _inherit_parts(site, sub, formula)
        sub.numbers[const.id] = substitute(formula, sub.given, sub.numbers)
    else:
        sub.numbers[const.id] = ConstOf(mine) if mine is not None else as_static(const.value or 0)


def _inherit_parts(site: CallSite, sub: Substitution, formula: Static) -> None:
    for axis in axes_in(formula):
        _inherit_axis(site, sub, axis)
    for const in consts_in(formula):
        _inherit_const(site, sub, const)


def _changed(site: CallSite, sub: Substitution) -> frozenset[int]:
    """The names that the call sets to something else than the caller's own of that name: not `f[seq = seq]`."""
    caller = site.env.signature
    own = {id for id, axis in caller.of_file.items() if sub.given.get(id) == axis}
    own |= {id for id, const in caller.const_of_file.items() if sub.numbers.get(id) == ConstOf(const)}
    return sub.rebound - own


def _of_size(
    site: CallSite, sub: Substitution, name: str, kind: Kind, size: Static, span: Span | None, label: str | None = None
) -> Axis:
    """A new axis, as large as axes and consts of the caller make it."""
    env, place = site.env, site.call.span
    size = size_in_this_pass(env, kind, size)
    if kind is Kind.DEPTH and not env.signature.known_depth(name, size, place):
        sub.invalid = True
    extent, formula = env.sized(size, place, name, formula_span=span)
    bound = largest(size) if extent is None and kind is Kind.WIDTH else None
    formula = formula if extent is None else None
    made = site.checker.session.axis(name, kind, label=label, extent=extent, size=formula, bound=bound, span=span)
    return env.signature.opened(made)
