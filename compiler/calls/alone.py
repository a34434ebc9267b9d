"""A block checked on its own: its axes and consts stand for themselves, and its graph is that of a model."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.base.records import replace
from ..graph.typed_value import fits
from ..graph.values import Element, IndexInto, Role, Scalar
from ..names.modules import BlockDef
from ..names.written_sizes import checked_size, const_static, size_set, size_static
from ..problems.elements import DefaultElement, DefaultIndex
from ..problems.names import Bearer, NameTaken
from ..problems.plain import Plain
from ..problems.sizes import Beyond
from ..sizes.axes import Axis, ConstOf, Kind, SizeOf, Static, known, value_of
from ..sizes.limits import MISTAKES, Exhausted, TooMuch
from ..typing.environment import Environment, Specialisation
from ..typing.expressions.dispatch import expression
from ..typing.names import written_type
from ..typing.signature import BlockSignature
from .checker import Checker
from .elaborate import elaborate
from .formals import const_parameter, derive_sizes, keep_names_known, parameter


def check_alone(checker: Checker, block: BlockDef, stack: tuple[BlockDef, ...]) -> Specialisation:
    """The block as a model. stack: the blocks that are being elaborated, as one of which calls it."""
    signature = BlockSignature(block, roles_known=block not in checker.called)
    try:
        _parameters(checker, signature)
        env = Environment.of(checker, signature)
        env = env.but(facts=checker.facts, stack=(*stack, block))
        for formal in block.decl.formals:
            env = _formal(env, formal, open_mark=block in checker.called)
        _results_once(signature)
        return elaborate(env, checker.ranks.get(block))
    except Exhausted:
        raise
    except TooMuch as much:
        checker.given_up.add(block)
        signature.problems.found[MISTAKES:] = [Beyond.of(much, signature.at or block.decl.name.span)]
        return Specialisation(Environment.of(checker, signature), None, [])


def _parameters(checker: Checker, signature: BlockSignature) -> None:
    block, session = signature.block, checker.session
    families: dict[int, int] = {}
    axes, consts = checker.closures.of(block)
    if not block.module.library:
        for problem in (problem for axis in axes for problem in session.waiting.get(axis.id, ())):
            session.problems.add(problem)
    for generic in block.decl.generics:
        _generic(checker, signature, generic)
    for axis in axes:
        family = families.setdefault(axis.family, session.fresh())
        parameter(session, signature, axis, axis, family, implicit=True)
    for const in consts:
        const_parameter(session, signature, const.name, const.value, const)
    derive_sizes(signature, axes)
    keep_names_known(signature)


def _generic(checker: Checker, signature: BlockSignature, generic: s.Generic) -> None:
    """An explicit parameter of a block that is checked on its own."""
    name = generic.name.text
    if name in signature.names or name in signature.consts:
        signature.problems.add(Plain.DECLARED_TWICE.at(generic.name.span, "parameter", name))
        return
    lookup = lambda ident: _lookup(signature, ident)  # noqa: E731
    if generic.kind == "const":
        value = None
        if generic.default is not None:
            static = const_static(generic.default, lookup, signature.problems)
            value = None if static is None else value_of(static)
        if not signature.module.library:
            value = checker.generic_sizes.get(name, value)
        const = checker.session.const(name, value)
        signature.consts[name] = ConstOf(const)
        signature.const_params.append(const)
        return
    kind = Kind(generic.kind)
    original = None if generic.like is None else _original(signature, generic, generic.like)
    copied = original is not None and original.kind is kind
    family, extent = (original.family, original.extent) if original is not None and copied else (None, None)
    setting = None if signature.module.library else checker.generic_sizes.get(name)
    if setting is not None and family is None:  # a copy has the size of its original
        extent = size_set(signature.problems, setting, generic.name)
    elif generic.default is not None:
        static = size_static(generic.default, lookup, signature.problems)
        if isinstance(static, SizeOf) and static.axis.kind is not kind:
            signature.problems.add(
                Plain.DEFAULT_KIND.at(
                    generic.default.span, name, kind.value, static.axis, static.axis.kind.value, there=static.axis.span
                )
            )
        elif family is None and static is not None:
            extent = checked_size(signature.problems, static, generic.default.span, name)
        elif not isinstance(static, SizeOf | None):
            assert original is not None
            signature.problems.add(Plain.SIZE_OF_COPY.at(generic.default.span, name, original.name))
    axis = checker.session.axis(name, kind, extent=extent, family=family, span=generic.name.span)
    if generic.like is not None and original is None:
        signature.misdeclared.add(name)
    else:
        signature.names[name] = axis
    signature.params.append(axis)
    if extent is None:
        signature.open.add(axis.id)


def _original(signature: BlockSignature, generic: s.Generic, like: s.Ident) -> Axis | None:
    """What a parameter is to be a copy of; that it is none is reported."""
    name, original = generic.name.text, signature.names.get(like.text)
    if original is None and like.text in signature.module.axes:
        signature.problems.add(Plain.NOT_EARLIER.at(like.span, name, like.text))
    elif original is None and not signature.is_missing(like.text):
        signature.problems.add(
            Plain.NO_PARAMETER_NAMED.at(like.span, like.text, generic.kind, name, known=signature.names)
        )
    elif original is not None and original.kind.value != generic.kind:
        signature.problems.add(
            Plain.KIND_OF_PARAMETER.at(generic.span, name, generic.kind, original, original.kind.value)
        )
    return original


def _lookup(signature: BlockSignature, ident: s.Ident) -> Static | None:
    """A name in the default of a parameter: an earlier parameter, or one of the file."""
    if ident.text in signature.names:
        return SizeOf(signature.names[ident.text])
    if ident.text in signature.consts:
        return signature.consts[ident.text]
    if ident.text in signature.module.axes:
        return SizeOf(signature.module.axes[ident.text])
    if ident.text in signature.module.consts:
        return ConstOf(signature.module.consts[ident.text])
    if not signature.is_missing(ident.text):
        known = (*signature.names, *signature.consts, *signature.module.axes, *signature.module.consts)
        signature.problems.add(Plain.NO_SIZE_NAMED.at(ident.span, ident.text, known=known))
    return None


def _results_once(signature: BlockSignature) -> None:
    """Results have names of their own; one may bear that of an argument."""
    seen: set[str] = set()
    for result in signature.block.decl.results:
        if result.name is not None and result.name.text in seen:
            signature.problems.add(Plain.DECLARED_TWICE.at(result.name.span, "result", result.name.text))
        elif result.name is not None:
            seen.add(result.name.text)


def _formal(env: Environment, formal: s.Formal, open_mark: bool) -> Environment:
    """An input of the block. open_mark: calls say what its mark is."""
    name, problems, inputs = formal.name.text, env.problems, env.builder.inputs
    if name in env.variables:
        problems.add(Plain.DECLARED_TWICE.at(formal.name.span, "argument", name))
        env.noted(formal.name.span, env.variables[name])
        return env
    bearer = env.bearer(name)
    if bearer is not None:
        problems.add(NameTaken(formal.name.span, name, Bearer.ARGUMENT, bearer[0]))
        return env.bound(name, None)
    type = written_type(env, formal.type)
    if type is None:
        return env.bound(name, None)
    wire = env.builder.input(name, type, Role.DATA, formal.name.span)
    default = None if formal.default is None else expression(env, formal.default)
    if formal.default is not None and default is not None and default.static is None:
        problems.add(Plain.DEFAULT_COMPUTED.at(formal.default.span, name, default.type))
    elif formal.default is not None and default is not None and default.static is not None:
        if not fits(default.element, type.element) and not _is_index(default.static, type.element):
            whole = isinstance(type.element, IndexInto) and default.element is Scalar.INT
            wrong = DefaultIndex if whole else DefaultElement
            problems.add(wrong(formal.default.span, name, type, default.type))
        inputs[-1] = replace(inputs[-1], default=default.static)
    wire = replace(wire, mark_unknown=open_mark and not wire.is_bool, span=formal.name.span.to(formal.type.span))
    env.noted(formal.name.span, wire)
    return env.bound(name, wire)


def _is_index(static: Static, element: Element) -> bool:
    """Whether a number may stand for an index: it is a whole one, and lies within the axis as far as is known."""
    if not isinstance(element, IndexInto):
        return False
    value, size = known(static), element.axis.extent
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0 and (size is None or value < size)
