"""What a call gives a block: axes and consts in brackets, arguments in parentheses."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...dsl import syntax as s
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
    NumberForWidth,
    ParameterAsArgument,
    ParametersMissing,
    ParameterTwice,
    TooManyArguments,
    TooManyParameters,
    ValueForConst,
)
from ..problems.forms import BracketsHold
from ..sizes.axes import Axis, Const, Kind, Static, axes_in
from ..typing.environment import Environment
from ..typing.expressions.dispatch import expression
from ..typing.names import axis_named, listed, size_in_this_pass, written_const, written_size
from .checker import Checker


@dataclass
class Binding:
    """One call: its names resolved, its parameters and arguments sorted out."""

    checker: Checker
    env: Environment
    block: BlockDef
    call: s.CallExpr
    shared: str | None
    misplaced: bool = field(default=False, init=False)  # what brackets lack stands among the arguments

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

    def _name(self) -> str | None:
        """The path that the call adds to the names of weights (D11)."""
        if self.shared is not None:
            if self.call.label is not None:
                self.env.problems.add(LabelOfOneSet(self.call.label.span, self.call, model=False))
                return None
            return self.shared
        if self.block.is_model:
            if self.call.label is not None:
                self.env.problems.add(LabelOfOneSet(self.call.label.span, self.call, model=True))
                return None
            return ""
        return (self.call.label or self.call.callee).text

    def _parameters(self) -> set[str]:
        """All parameters that brackets may set."""
        return {*self.block.generics, *self.checker.closures.file_names(self.block)}

    def _bind_parameters(self) -> dict[str, Axis | Static] | None:
        """What stands in brackets, by the parameter's name: an axis of the caller, or a number."""
        env, block, call = self.env, self.block, self.call
        generics = block.generics
        implicit = self.checker.closures.file_names(block)
        order = list(generics)
        bound: dict[str, Axis | Static] = {}
        good = True
        brackets = call.brackets
        items = brackets.items if brackets else ()
        if brackets and (brackets.result is not None or brackets.each):
            env.problems.add(BlockArrow(brackets.span, self.use))
            return None
        position = 0
        numbered = False  # whether a number without its name was reported: all of them are mended together
        for item in items:
            if item.rename is not None:
                env.problems.add(BracketsHold(item.span, item))
                return None
            if item.value is not None:
                name, value = item.name.text, item.value
                if name not in generics and name not in implicit:
                    env.problems.add(NoParameter(item.name.span, self.use, item, (*generics, *implicit)))
                    good = False
                    continue
            else:
                if position >= len(order):
                    env.problems.add(TooManyParameters(item.span, self.use))
                    return None
                name, value = order[position], s.Name(item.name.text, item.name.span)
                position += 1
                if item.name.text[0].isdigit() and generics[name].kind != "width":
                    if not numbered:
                        env.problems.add(NumberForParameter(item.span, self.use, name, item))
                    good, numbered = False, True
                    continue
            if name in bound:
                env.problems.add(ParameterTwice(item.span, name))
                good = False
                continue
            kind = generics[name].kind if name in generics else self._kind(implicit[name])
            found = self._parameter(name, kind, value)
            if found is None:
                good = False
            else:
                bound[name] = found
        missing = [n for n, g in generics.items() if n not in bound and g.default is None]
        stray = {argument.name.text for argument in call.arguments if argument.name is not None}
        lacking = [name for name in missing if name not in stray]  # the others are reported by `_bind_arguments`
        if lacking and good:
            self._lacks(bound, lacking)
        return bound if good and not missing else None

    def _lacks(self, bound: dict[str, Axis | Static], missing: list[str]) -> None:
        """Report what is missing in brackets; it may stand, as it seems, among the arguments."""
        call, env = self.call, self.env
        given = [argument for argument in call.arguments if argument.name is None]
        self.misplaced = len(given) > len(self.block.decl.formals)
        named = (argument.value for argument in call.arguments)
        wires = {value.text: env.variables.get(value.text) for value in named if isinstance(value, s.Name)}
        values = {name: wire.axes for name, wire in wires.items() if wire is not None}
        axes = tuple((name, value if isinstance(value, Axis) else None) for name, value in bound.items())
        around, variables = env.surroundings, frozenset(env.variables)
        place = call.brackets.span if call.brackets else call.callee.span
        env.problems.add(ParametersMissing(place, self.use, tuple(missing), axes, values, variables, around))

    def _kind(self, item: Axis | Const) -> str:
        return item.kind.value if isinstance(item, Axis) else "const"

    def _parameter(self, name: str, kind: str, value: s.Expr) -> Axis | Static | None:
        env = self.env
        if kind == "const":
            if isinstance(value, s.Name) and env.axis(value.text) is not None and env.const(value.text) is None:
                env.problems.add(AxisForConst(value.span, name, value.text))
                return None
            if isinstance(value, s.ListExpr) or listed(env, value) is not None:
                return written_const(env, value)
            wire = expression(env, value)
            if wire is None:
                return None
            if wire.static is None:
                env.problems.add(ValueForConst(value.span, name, wire.type))
                return None
            return wire.static
        if isinstance(value, s.Name) and env.axis(value.text) is not None:
            axis = axis_named(env, s.Ident(value.text, value.span))
            assert axis is not None
            if axis.kind.value != kind:
                env.problems.add(KindOfParameter(value.span, self.use, name, kind, axis))
                return None
            return axis
        if isinstance(value, s.Name) and env.const(value.text) is None and not value.text[0].isdigit():
            axis_named(env, s.Ident(value.text, value.span))
            return None
        if kind == "width":
            env.problems.add(NumberForWidth(value.span, self.use, name))
            return None
        static = written_size(env, value)
        if static is None:
            return None
        if not env.signature.known_depth(name, static, value.span):
            return None
        static = size_in_this_pass(env, Kind.DEPTH, static)
        extent, size = env.sized(static, value.span, name)
        formula = size if extent is None or axes_in(static) else None
        return env.signature.opened(
            self.checker.session.axis(name, Kind.DEPTH, extent=extent, size=formula, span=value.span)
        )

    # Arguments.

    def _bind_arguments(self) -> dict[str, tuple[TypedValue, Span]] | None:
        env, block, call = self.env, self.block, self.call
        formals = {formal.name.text: formal for formal in block.decl.formals}
        order = list(formals)
        found: dict[str, tuple[TypedValue, Span]] = {}
        given: set[str] = set()
        good = True
        position = 0
        for index, argument in enumerate(call.arguments):
            value = argument.value
            wire = expression(env, value)
            if argument.name is None:
                if position >= len(order):
                    if self.misplaced:  # said already
                        return None
                    env.problems.add(TooManyArguments(argument.span, self.use))
                    return None
                name = order[position]
                position += 1
            else:
                name = argument.name.text
                if name not in formals and name in self._parameters():
                    env.problems.add(ParameterAsArgument(argument.name.span, self.use, name, index))
                    good = False
                    continue
                if name not in formals:
                    env.problems.add(NoArgument(argument.name.span, self.use, argument))
                    good = False
                    continue
            if name in given:
                env.problems.add(ArgumentTwice(argument.span, self.use, name))
                good = False
                continue
            given.add(name)
            if wire is None:
                good = False
            else:
                found[name] = (wire, value.span)
        missing = [name for name, formal in formals.items() if name not in given and formal.default is None]
        misnamed = any(argument.name and argument.name.text not in formals for argument in call.arguments)
        if missing and not misnamed:
            env.problems.add(ArgumentsMissing(call.span, self.use, tuple(missing)))
            good = False
        return found if good else None
