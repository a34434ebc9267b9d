"""How a call of an op is to be written where its form is wrong (D3): the help in the axes at hand, and the edits where
they leave no choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base import rewritten
from ..base.idioms import AXIS_WORDS, compared
from ..base.rewritten import without
from ..graph.traits import Arrange, Choice, IndexMap, Lookup, Pointwise, Window
from ..graph.typed_value import TypedValue, show_axes
from ..graph.values import IndexInto
from ..ops import Brackets, Notation, Op, written
from ..sizes.axes import Axis
from ..typing.application import OpApplication
from ..typing.scope import Scope

Edits = list[tuple[Span, str]]


def arguments(op: Op) -> list[str]:
    """The names of all that an op may be given."""
    return [*(option.name for option in op.options), *op.operands, *(["init"] if op.learned else [])]


def axes_apart(body: Scope, call: s.CallExpr, op: Op) -> tuple[s.CallExpr, tuple[s.Argument, ...]]:
    """The call without the arguments that say, as in other libraries, which axes it acts on; and these."""
    if op.brackets is Brackets.NONE:
        return call, ()
    operands = 2 if op.variadic else len(op.operands)
    apart, place = [], 0
    for argument in call.arguments:
        value = argument.value.operand if isinstance(argument.value, s.Unary) else argument.value
        if argument.name is not None:
            said = argument.name.text in AXIS_WORDS
        else:
            said = isinstance(value, s.Name) and place >= operands and _axis(body, value) is not None
            said = said or (
                isinstance(value, s.NumberLiteral) and not op.variadic and place >= operands + op.positional
            )
            said = said and (call.brackets is None or (op.brackets is Brackets.MAP and call.brackets.result is None))
            place += 1
        if said:
            apart.append(argument)
    return replace(call, arguments=tuple(each for each in call.arguments if each not in apart)), tuple(apart)


def _axis(body: Scope, value: s.Expr) -> Axis | None:
    """The axis that an argument names, if it is no variable."""
    return body.environment.axis(value.text) if isinstance(value, s.Name) and value.text not in body.variables else None


@dataclass
class Usage:
    """One call. apart: its arguments that name axes; label: the name that its weights would lack."""

    body: Scope
    call: s.CallExpr
    application: OpApplication
    apart: tuple[s.Argument, ...]
    label: str

    @property
    def op(self) -> Op:
        return self.application.op

    def no_brackets(self) -> None:
        """Report that there are no brackets: no op has an implicit axis (D3). The help has the axes at hand."""
        named = list(dict.fromkeys(axis for each in self.apart if (axis := _axis(self.body, each.value)) is not None))
        fix: Edits = []
        if self.op.brackets is Brackets.MAP:
            help, fix = self._mapped(named)
        elif named and set(named) <= set(self._meant()):
            inside = ", ".join(axis.name for axis in named)
            help, fix = f"write `{self._written(inside)}`", self._insert(f"[{inside}]")
        else:
            help = self._one_of()
        if not self.apart:
            help += self._of_two()
        self.body.problems.report(
            "E0318",
            f"`{self.application.shown}` takes its axes in brackets"
            if self.apart
            else f"`{self.application.shown}` does not say which axes it acts on",
            self.apart[0].span if self.apart else self.call.callee.span,
            "" if self.apart else "no axes in brackets",
            help=help,
            fix=[*fix, *without(self.call, self.apart)] if fix else [],
        )

    def no_arrow(self, axes: list[Axis]) -> None:
        """Report brackets of a map that name axes, and do not say which of them it eats."""
        brackets = self.call.brackets
        assert brackets is not None
        help, fix = self._mapped(axes)
        self.body.problems.report(
            "E0318",
            f"`{self.application.shown}` needs an arrow: the axes it eats, then those it makes",
            brackets.span,
            help=help,
            fix=[*fix, *without(self.call, self.apart)] if fix else [],
        )

    def by_number(self) -> None:
        """Report a number in brackets: other libraries count axes."""
        assert self.call.brackets is not None
        self.body.problems.report(
            "E0318",
            "axes have names and no order, but this is a number",
            self.call.brackets.items[0].span,
            help=self._one_of() + self._of_two(),
        )

    def doubled(self) -> None:
        """Report axes that are named in brackets and again among the arguments."""
        self.body.problems.report(
            "E0319",
            f"`{self.application.shown}` takes its axes in brackets",
            self.apart[0].span,
            help="they stand there already: leave it out",
            fix=without(self.call, self.apart),
        )

    # -- parts of these ------------------------------------------------------------------------------------------

    def _written(self, inside: str) -> str:
        """The call, with `inside` in its brackets."""
        call, known = self.call, arguments(self.op)
        kept = [each for each in call.arguments if each not in self.apart]
        if not self.op.variadic:  # leave out what is one argument too many
            places = len(self.op.operands) + self.op.positional
            kept = [each for place, each in enumerate(kept) if place < places or each.name is not None]
        texts = ", ".join(each.span.text for each in kept if each.name is None or each.name.text in known)
        each = call.brackets.each if call.brackets is not None and "->" in inside else ()
        inside = f"{', '.join(name.text for name in each)}: {inside}" if each else inside
        label = call.label.text if call.label is not None else self.label
        return f"{call.callee.text}{f'.{label}' if label else ''}[{inside}]({texts})"

    def _insert(self, brackets: str) -> Edits:
        place = (self.call.label or self.call.callee).span
        label = f".{self.label}" if self.label and self.call.label is None else ""
        return [(Span(place.source, place.end, place.end), label + brackets)]

    def _mapped(self, axes: list[Axis]) -> tuple[str, Edits]:
        """What to write for a map that names these axes: those that an operand has stand before the arrow."""
        op, operands, brackets = self.op, self.application.operands, self.call.brackets
        if not operands:  # a mistake in them is reported
            return f"its form is `{op.usage}`", []
        eats: list[Axis] = []
        makes: list[Axis] = []
        for axis in axes:
            (eats if axis not in eats and any(_eaten(op, wire, axis) for wire in operands) else makes).append(axis)
        of_each, slides = op.reads == Arrange(IndexMap.PARTS), op.reads == Window()
        if of_each and len(axes) == len(operands) and set(makes) <= set(eats):
            eats, makes = list(axes), []
        if eats and makes and (not slides or len(makes) > 1):
            inside = f"{', '.join(axis.name for axis in eats)} -> {', '.join(axis.name for axis in makes)}"
            help = f"write `{self._written(inside)}`"
            if brackets is None:
                return help, self._insert(f"[{inside}]")
            label = self._insert("") if self.label and self.call.label is None else []
            return help, [*label, (brackets.items[0].span.to(brackets.items[-1].span), inside)]
        eats = eats or self._could_eat()
        if of_each and len(eats) == 1:
            eats = eats * len(operands)
        if slides and len(makes) == 1:
            makes = [*eats[:1], *makes]
        before, after = (", ".join(axis.name for axis in group) or "..." for group in (eats, makes))
        if before == after == "...":
            return f"its form is `{op.usage}`", []
        what = "" if makes and eats else ", with the axes it makes behind the arrow" if eats else ""
        return f"write `{self._written(f'{before} -> {after}')}`{what}", []

    def _could_eat(self) -> list[Axis]:
        """The axis of its operand that a map could eat, if there is but one."""
        x = self.application.operands[0]
        if self.op.reads == Pointwise(Lookup()):
            return [x.element.axis] if isinstance(x.element, IndexInto) else []
        has = [axis for axis in x.axes if axis not in self.body.environment.lifted]
        if self.op.learned:
            has = [axis for axis in has if self._is_fixed(axis)]
        return has if len(has) == 1 else []

    def _is_fixed(self, axis: Axis) -> bool:
        """Whether weights may lie along it (D9)."""
        return not axis.is_width or axis.extent is not None or axis.id in self.body.environment.open

    def _one_of(self) -> str:
        """What to write for an op that acts on axes of its operands, of which none is named."""
        application, op, meant = self.application, self.op, self._meant()
        if not self._has():
            return f"its form is `{op.usage}`"
        targets = application.operands[0].element
        if len(op.operands) > 1 and isinstance(targets, IndexInto) and len(application.spans) > 1:
            first, second = (span.text for span in application.spans)
            return (
                f"the {op.operands[0]} come first: write `{application.shown}[{targets.axis.name}]({second}, {first})`"
            )
        others = application.operands[1:]
        stand = (
            f"{' and '.join(show_axes(wire.axes) for wire in application.operands)} stand{'' if others else 's'} here: "
        )
        if op.learned and not meant:
            off = op.optional
            rest = [each.span.text for each in self.call.arguments if each.name is None or each.name.text not in off]
            given = [*rest, *(f"{name} = false" for name in off)]
            written = rewritten.call(self.call, brackets=[self._has()[0].name], arguments=given)
            return f"{stand}write `{written}`: weights lie along axes whose size is fixed"
        if meant:
            return stand + "write " + " or ".join(f"`{self._written(axis.name)}`" for axis in meant[:3])
        texts = [each.span.text for each in self.call.arguments]
        factors = " * ".join(f"({text})" if " " in text else text for text in texts)
        return stand + f"they share no axis to sum over; without a sum it is `{factors}`"

    def _of_two(self) -> str:
        bare = written(Notation.BARE, self.op.name)
        return f"; `{self.application.shown}(x, y)` is of two values, item by item" if bare is not None else ""

    def _has(self) -> list[Axis]:
        """The axes of the first operand, where the op acts on axes."""
        if self.op.brackets is not Brackets.ACTS or not self.application.operands:
            return []
        return [axis for axis in self.application.operands[0].axes if axis not in self.body.environment.lifted]

    def _meant(self) -> list[Axis]:
        """Those of its axes that the op may be meant to act on."""
        others = self.application.operands[1:]
        looked_up = {wire.element.axis.family for wire in others if isinstance(wire.element, IndexInto)}
        meant = [
            axis for axis in self._has() if axis.family in looked_up
        ]  # another operand has indices into it, as the targets of a loss
        if not meant:
            meant = self._joined(self.application.operands) if self.op.variadic and others else self._has()
        return [axis for axis in meant if not self.op.learned or self._is_fixed(axis)]

    def _joined(self, wires: list[TypedValue]) -> list[Axis]:
        """The axes that two values or more have."""
        axes = dict.fromkeys(axis for wire in wires for axis in wire.axes if axis not in self.body.environment.lifted)
        return [axis for axis in axes if sum(wire.has(axis) for wire in wires) > 1]


def _eaten(op: Op, wire: TypedValue, axis: Axis) -> bool:
    """Whether a map could eat this axis of an operand; where a table is looked up, it is what the operand indexes."""
    if op.reads == Pointwise(Lookup()):
        return isinstance(wire.element, IndexInto) and wire.element.axis.family == axis.family
    return wire.has(axis)


def kept(mask: s.Expr) -> str:
    """The help where a mask is a number: the condition that it was made of, or how to compare it."""
    match mask:
        case s.CallExpr(s.Ident(name), None, None, (condition, yes, no)) if _chooses(name):
            first, second = _sign(yes.value.span.text), _sign(no.value.span.text)
            if first is not None and second is not None and first != second:
                shown = condition.value.span.text
                return f"a mask is the condition itself: `{shown if first > second else f'not ({shown})'}`"
        case _:
            pass
    return compared(mask.span.text)


def _chooses(name: str) -> bool:
    op = written(Notation.CALL, name)
    return op is not None and op.reads == Pointwise(Choice())


def _sign(number: str) -> int | None:
    """The sign of a number as it is written: -1, 0 or 1; None for what is no number."""
    if not re.fullmatch(r"-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?", number):
        return None
    return -1 if number[0] == "-" else int(float(number) > 0)
