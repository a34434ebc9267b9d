"""A call as it is written: what its brackets give the block, and what its parentheses."""

from __future__ import annotations

from collections.abc import Collection

from ...dsl import syntax as s
from ...dsl.base.records import record
from ...dsl.source import Span
from ..graph.typed_value import TypedValue
from ..names.modules import BlockDef
from ..problems.calls import (
    ArgumentsMissing,
    ArgumentTwice,
    AxisForConst,
    BlockArrow,
    BlockUse,
    KindOfParameter,
    LabelOfOneSet,
    NoArgument,
    NoParameter,
    NumberForParameter,
    ParameterAsArgument,
    ParametersMissing,
    TooManyArguments,
    TooManyParameters,
)
from ..problems.elements import BLOCKS
from ..problems.forms import BracketsHold
from ..problems.plain import Plain
from ..sizes.axes import Axis, Const, Kind, Static, axes_in
from ..typing.environment import Environment
from ..typing.expressions.dispatch import expression
from ..typing.names import axis_named, listed, size_in_this_pass, written_const, written_size
from .checker import Checker

Bound = dict[str, Axis | Static]
Arguments = dict[str, tuple[TypedValue, Span]]


@record
class CallSite:
    """One call. shared: the name of the set of weights that it uses. axis: what a `scan` runs along."""

    checker: Checker
    env: Environment
    block: BlockDef
    call: s.CallExpr
    shared: str | None
    axis: Axis | None

    @property
    def called(self) -> str:
        """The block as messages call it: by the name that the file of the call has for it."""
        written = self.call.callee.text
        names = [name for name, block in self.env.module.blocks.items() if block is self.block]
        return written if written in names else next(iter(names), self.block.name)

    @property
    def use(self) -> BlockUse:
        """The call, for mistakes."""
        return BlockUse(self.called, self.block.decl, self.call)

    @property
    def place(self) -> Span:
        """Where mistakes of what is in brackets stand."""
        return (self.call.brackets or self.call).span

    @property
    def of_the_library(self) -> bool:
        """Whether the block is not to be changed by who calls it: what is wrong in it follows from sizes that the file
        of the call has chosen for it.
        """
        return self.block.module.library and not self.env.module.library

    @property
    def nothing(self) -> list[TypedValue | None]:
        """The results, where nothing is known of them."""
        return [None] * max(1, len(self.block.decl.results))


def weights_path(site: CallSite) -> str | None:
    """The path that the call adds to the names of weights (D11); None after a report."""
    call = site.call
    if call.label is not None and (site.shared is not None or site.block.is_model):
        site.env.problems.add(LabelOfOneSet(call.label.span, call, model=site.shared is None))
        return None
    if site.shared is not None:
        return site.shared
    return "" if site.block.is_model else (call.label or call.callee).text


def bind_parameters(site: CallSite) -> tuple[Bound | None, bool]:
    """What stands in brackets, by the parameter's name: an axis of the caller, or a number; None after a report. And
    whether what they lack stands, as it seems, among the arguments.
    """
    problems, block, call, brackets = site.env.problems, site.block, site.call, site.call.brackets
    generics, implicit = block.generics, site.checker.closures.file_names(block)
    if brackets and (brackets.result is not None or brackets.each):
        problems.add(BlockArrow(brackets.span, site.use))
        return None, False
    order = iter(generics)
    bound: Bound = {}
    good, numbered = True, False  # all numbers without their names are mended together
    for item in brackets.items if brackets else ():
        if item.rename is not None:
            problems.add(BracketsHold(item.span, item))
            return None, False
        name = item.name.text if item.value is not None else next(order, None)
        if name is None:
            problems.add(TooManyParameters(item.span, site.use))
            return None, False
        if item.value is not None and name not in generics and name not in implicit:
            good = problems.refuse(NoParameter(item.name.span, site.use, item, (*generics, *implicit)))
        elif item.value is None and item.name.text[0].isdigit() and generics[name].kind != "width":
            if not numbered:
                problems.add(NumberForParameter(item.span, site.use, name, item))
            good, numbered = False, True
        elif name in bound:
            good = problems.refuse(Plain.PARAMETER_TWICE.at(item.span, name))
        else:
            kind = generics[name].kind if name in generics else _kind(implicit[name])
            found = _parameter(site, name, kind, item.value or s.Name(item.name.text, item.name.span))
            good = good and found is not None
            bound |= {} if found is None else {name: found}
    missing = [name for name, generic in generics.items() if name not in bound and generic.default is None]
    stray = {argument.name.text for argument in call.arguments if argument.name is not None}
    lacking = [name for name in missing if name not in stray]  # the others are reported by `bind_arguments`
    misplaced = bool(lacking) and good and _lacks(site, bound, lacking)
    return bound if good and not missing else None, misplaced


def _lacks(site: CallSite, bound: Bound, missing: list[str]) -> bool:
    """Report what is missing in brackets; whether it stands, as it seems, among the arguments."""
    call, env = site.call, site.env
    named = (argument.value for argument in call.arguments)
    wires = {value.text: env.variables.get(value.text) for value in named if isinstance(value, s.Name)}
    values = {name: wire.axes for name, wire in wires.items() if wire is not None}
    axes = tuple((name, value if isinstance(value, Axis) else None) for name, value in bound.items())
    place = call.brackets.span if call.brackets else call.callee.span
    lacking = ParametersMissing(
        place, site.use, tuple(missing), axes, values, frozenset(env.variables), env.surroundings
    )
    env.problems.add(lacking)
    return sum(argument.name is None for argument in call.arguments) > len(site.block.decl.formals)


def _kind(item: Axis | Const) -> str:
    return item.kind.value if isinstance(item, Axis) else "const"


def _parameter(site: CallSite, name: str, kind: str, value: s.Expr) -> Axis | Static | None:
    """What the call gives for a parameter of this kind; None after a report."""
    env, problems = site.env, site.env.problems
    axis = env.axis(value.text) if isinstance(value, s.Name) else None
    number = env.const(value.text) if isinstance(value, s.Name) else None
    if kind == "const":
        if axis is not None and number is None:
            problems.add(AxisForConst(value.span, name, value.span.text))
            return None
        return _const(env, name, value)
    if axis is not None:
        if axis.kind.value == kind:
            return axis
        problems.add(KindOfParameter(value.span, site.use, name, kind, axis))
        return None
    if isinstance(value, s.Name) and number is None and not value.text[0].isdigit():
        return axis_named(env, s.Ident(value.text, value.span))  # reports that there is none
    if kind == "width":
        problems.add(Plain.NUMBER_FOR_WIDTH.at(value.span, site.called, name))
        return None
    static = written_size(env, value)
    if static is None or not env.signature.known_depth(name, static, value.span):
        return None
    extent, size = env.sized(size_in_this_pass(env, Kind.DEPTH, static), value.span, name)
    size = size if extent is None or axes_in(static) else None
    return env.signature.opened(site.checker.session.axis(name, Kind.DEPTH, extent=extent, size=size, span=value.span))


def _const(env: Environment, name: str, value: s.Expr) -> Static | None:
    if isinstance(value, s.ListExpr) or listed(env, value) is not None:
        return written_const(env, value)
    wire = expression(env, value)
    if wire is not None and wire.static is None:
        env.problems.add(Plain.VALUE_FOR_CONST.at(value.span, name, wire.type))
    return None if wire is None else wire.static


def _is_block(formal: s.Formal, parameters: Collection[str]) -> bool:
    """Whether an argument is to be a block: none can be, which is told where it is declared."""
    element = formal.type.element
    return element is not None and element.text in BLOCKS and element.text not in parameters


def bind_arguments(site: CallSite, misplaced: bool) -> Arguments | None:
    """What stands in parentheses, by the argument's name. misplaced: that there are too many is reported."""
    problems, block, call = site.env.problems, site.block, site.call
    formals = {formal.name.text: formal for formal in block.decl.formals}
    parameters = {*block.generics, *site.checker.closures.file_names(block)}
    order = iter(formals)
    found: Arguments = {}
    given: set[str] = set()
    good = True
    for index, argument in enumerate(call.arguments):
        name = argument.name.text if argument.name is not None else next(order, None)
        if isinstance(argument.value, s.Name) and name in formals and _is_block(formals[name], parameters):
            given.add(name)
            good = False
            continue
        wire = expression(site.env, argument.value)
        if name is None:
            if not misplaced:
                problems.add(TooManyArguments(argument.span, site.use))
            return None
        if argument.name is not None and name not in formals and name in parameters:
            good = problems.refuse(ParameterAsArgument(argument.name.span, site.use, name, index))
        elif argument.name is not None and name not in formals:
            good = problems.refuse(NoArgument(argument.name.span, site.use, argument))
        elif name in given:
            good = problems.refuse(ArgumentTwice(argument.span, site.use, name))
        else:
            given.add(name)
            good = good and wire is not None
            found |= {} if wire is None else {name: (wire, argument.value.span)}
    missing = [name for name, formal in formals.items() if name not in given and formal.default is None]
    misnamed = any(argument.name and argument.name.text not in formals for argument in call.arguments)
    if missing and not misnamed:
        good = problems.refuse(ArgumentsMissing(call.span, site.use, tuple(missing)))
    return found if good else None
