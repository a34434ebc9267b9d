"""How a call of an op is to be written where its form is wrong (D3): the help in the axes at hand, and the edits where
they leave no choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base import rewritten
from ..base.idioms import compared
from ..graph.traits import Arrange, Choice, IndexMap, Lookup, Pointwise, Window
from ..graph.typed_value import TypedValue, show_axes
from ..graph.values import IndexInto
from ..ops import OPS, Brackets, Notation, Op, written
from ..problems.forms import OpUse
from ..sizes.axes import Axis
from .words import Wording

Edits = list[tuple[Span, str]]


@dataclass(frozen=True)
class Usage:
    """One call, and how it is meant."""

    use: OpUse

    @property
    def op(self) -> Op:
        return OPS[self.use.op]

    def bracketed(self) -> tuple[str, Edits]:
        """The help, and the edits, where there are no brackets."""
        use, fix = self.use, Edits()
        named = list(dict.fromkeys(axis for each in use.apart if (axis := self._axis(each.value)) is not None))
        if self.op.brackets is Brackets.MAP:
            help, fix = self.mapped(named)
        elif named and set(named) <= set(self._meant()):
            inside = ", ".join(axis.name for axis in named)
            help, fix = f"write `{self._written(inside)}`", self._insert(f"[{inside}]")
        else:
            help = self._one_of()
        return help if use.apart else help + self._of_two(), fix

    def named(self) -> str:
        """The help where axes are numbers."""
        return self._one_of() + self._of_two()

    def _axis(self, value: s.Expr) -> Axis | None:
        """The axis that an argument names, if it is no variable."""
        is_name = isinstance(value, s.Name) and value.text not in self.use.variables
        return self.use.around.names.get(value.text) if is_name and isinstance(value, s.Name) else None

    def _written(self, inside: str) -> str:
        """The call, with `inside` in its brackets."""
        call, known = self.use.call, self.op.arguments
        kept = [each for each in call.arguments if each not in self.use.apart]
        if not self.op.variadic:  # leave out what is one argument too many
            places = len(self.op.operands) + self.op.positional
            kept = [each for place, each in enumerate(kept) if place < places or each.name is not None]
        texts = ", ".join(each.span.text for each in kept if each.name is None or each.name.text in known)
        each = call.brackets.each if call.brackets is not None and "->" in inside else ()
        inside = f"{', '.join(name.text for name in each)}: {inside}" if each else inside
        label = call.label.text if call.label is not None else self.use.label
        return f"{call.callee.text}{f'.{label}' if label else ''}[{inside}]({texts})"

    def _insert(self, brackets: str) -> Edits:
        place = (self.use.call.label or self.use.call.callee).span
        label = f".{self.use.label}" if self.use.label and self.use.call.label is None else ""
        return [(Span(place.source, place.end, place.end), label + brackets)]

    def mapped(self, axes: Sequence[Axis]) -> tuple[str, Edits]:
        """What to write for a map that names these axes: those that an operand has stand before the arrow."""
        op, operands, brackets = self.op, self.use.operands, self.use.call.brackets
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
            label = self._insert("") if self.use.label and self.use.call.label is None else []
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
        x = self.use.operands[0]
        if self.op.reads == Pointwise(Lookup()):
            return [x.element.axis] if isinstance(x.element, IndexInto) else []
        has = [axis for axis in x.axes if axis not in self.use.around.lifted]
        if self.op.learned:
            has = [axis for axis in has if self._is_fixed(axis)]
        return has if len(has) == 1 else []

    def _is_fixed(self, axis: Axis) -> bool:
        """Whether weights may lie along it (D9)."""
        return not axis.is_width or axis.extent is not None or axis.id in self.use.open

    def _one_of(self) -> str:
        """What to write for an op that acts on axes of its operands, of which none is named."""
        use, op, meant = self.use, self.op, self._meant()
        if not self._has():
            return f"its form is `{op.usage}`"
        targets = use.operands[0].element
        if len(op.operands) > 1 and isinstance(targets, IndexInto) and len(use.spans) > 1:
            first, second = (span.text for span in use.spans)
            return f"the {op.operands[0]} come first: write `{use.shown}[{targets.axis.name}]({second}, {first})`"
        others = use.operands[1:]
        stand = f"{' and '.join(show_axes(wire.axes) for wire in use.operands)} stand{'' if others else 's'} here: "
        if op.learned and not meant:
            off = op.optional
            rest = [
                each.span.text for each in self.use.call.arguments if each.name is None or each.name.text not in off
            ]
            rest += [f"{name} = false" for name in off]
            written = rewritten.call(use.call, brackets=[self._has()[0].name], arguments=rest)
            return f"{stand}write `{written}`: weights lie along axes whose size is fixed"
        if meant:
            return stand + "write " + " or ".join(f"`{self._written(axis.name)}`" for axis in meant[:3])
        texts = [each.span.text for each in self.use.call.arguments]
        factors = " * ".join(f"({text})" if " " in text else text for text in texts)
        return stand + f"they share no axis to sum over; without a sum it is `{factors}`"

    def _of_two(self) -> str:
        bare = written(Notation.BARE, self.op.name)
        return f"; `{self.use.shown}(x, y)` is of two values, item by item" if bare is not None else ""

    def _has(self) -> list[Axis]:
        """The axes of the first operand, where the op acts on axes."""
        if self.op.brackets is not Brackets.ACTS or not self.use.operands:
            return []
        return [axis for axis in self.use.operands[0].axes if axis not in self.use.around.lifted]

    def _meant(self) -> list[Axis]:
        """Those of its axes that the op may be meant to act on."""
        others = self.use.operands[1:]
        looked_up = {wire.element.axis.family for wire in others if isinstance(wire.element, IndexInto)}
        meant = [
            axis for axis in self._has() if axis.family in looked_up
        ]  # another operand has indices into it, as the targets of a loss
        if not meant:
            meant = self._joined(self.use.operands) if self.op.variadic and others else self._has()
        return [axis for axis in meant if not self.op.learned or self._is_fixed(axis)]

    def _joined(self, wires: Sequence[TypedValue]) -> list[Axis]:
        """The axes that two values or more have."""
        axes = dict.fromkeys(axis for wire in wires for axis in wire.axes if axis not in self.use.around.lifted)
        return [axis for axis in axes if sum(wire.has(axis) for wire in wires) > 1]


def _eaten(op: Op, wire: TypedValue, axis: Axis) -> bool:
    """Whether a map could eat this axis of an operand; where a table is looked up, it is what the operand indexes."""
    if op.reads == Pointwise(Lookup()):
        return isinstance(wire.element, IndexInto) and wire.element.axis.family == axis.family
    return wire.has(axis)


def kept(mask: s.Expr, words: Wording) -> str:
    """The help where a mask is a number: the condition that it was made of, or how to compare it."""
    match mask:
        case s.CallExpr(s.Ident(name), None, None, (condition, yes, no)) if _chooses(name):
            first, second = _sign(yes.value.span.text), _sign(no.value.span.text)
            if first is not None and second is not None and first != second:
                shown = condition.value.span.text
                condition_ = words.quoted(shown if first > second else f"not ({shown})")
                return f"a mask is the condition itself: {condition_}"
        case _:
            pass
    return compared(mask.span.text, words.quoted)


def _chooses(name: str) -> bool:
    op = written(Notation.CALL, name)
    return op is not None and op.reads == Pointwise(Choice())


def _sign(number: str) -> int | None:
    """The sign of a number as it is written: -1, 0 or 1; None for what is no number."""
    if not re.fullmatch(r"-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?", number):
        return None
    return -1 if number[0] == "-" else int(float(number) > 0)
