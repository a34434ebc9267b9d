"""Expressions: their types and their nodes.

A mistake is reported where it stands, and the expression it is in gets no value (`None`), which provokes no second
error: whatever reads it is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.idioms import AXIS_WORDS, MASK_WORDS
from ..base.mentions import walk
from ..base.problems import Problems
from ..graph.nodes import Init
from ..graph.traits import Arrange, Choice, Conjunction, Disjunction, IndexMap, Pointwise
from ..graph.typed_value import TypedValue
from ..graph.values import IndexInto, Scalar, Type
from ..names.written_sizes import checked_number, may_be_list, read_of
from ..ops import INITS, OPS, WRITABLE, Brackets, Notation, Op, written
from ..ops.use import lacks, outside, truth, wrong_table
from ..problems.axes import AxisUse, NamedTwice, NoCopies, RenamedBackwards, RenamedToAnother
from ..problems.elements import Wanted, WrongElement
from ..problems.forms import (
    ArgumentMissing,
    AxesDoubled,
    AxisByNumber,
    BareItem,
    BareItems,
    BracketsHold,
    GivenTwice,
    InitArguments,
    InitName,
    InitNegative,
    InitNumber,
    NoArrow,
    NoBrackets,
    NoInit,
    NoLabel,
    NoNumber,
    NoSuchArgument,
    OnlyOneValue,
    OptionKind,
    OptionUnknown,
    OptionValue,
    OpUse,
    Stray,
    StrayBrackets,
    StrayWhere,
    ValueBrackets,
)
from ..problems.names import Gone, NamelessOp, NoBlockNamed, NothingCalled, NoValueNamed
from ..problems.results import SeveralResults
from ..problems.sizes import ListForNumber, ReadAtRunTime, ReadForm, ReadNumber, SizeOfConst
from ..sizes.axes import Arith, Axis, Literal, SizeOf, Static, is_list, known, opposite, undetermined
from ..sizes.limits import OPERANDS, TooMuch
from .application import OpApplication
from .scope import Scope
from .specialisation import Formula, validate_number


@dataclass
class Expressions(Scope):
    """Elaborates expressions into the graph under construction."""

    def expr(self, expr: s.Expr, binding: str | None = None) -> TypedValue | None:
        """The value of an expression; `binding` is the name that it gets as a whole, which may name its weights."""
        self.checker.spend(expr.span)
        match expr:
            case s.Name(text, span):
                return self.variable(text, span)
            case s.NumberLiteral(value, span) | s.Truth(value, span):
                return self.static(Literal(value), span)
            case s.ListExpr(_, span):
                self.problems.add(ListForNumber(span))
                return None
            case s.SizeExpr(name, span) if (numbers := self.listed(s.Name(name.text, name.span))) is not None:
                return self.static(Arith("length", (numbers,)), span)
            case s.SizeExpr(name, span) if self._is_const(name):
                self.problems.add(SizeOfConst(span, name.text))
                return None
            case s.SizeExpr(name, span):
                axis = self.axis(name)
                return None if axis is None else self.static(SizeOf(axis), span)
            case s.Binary():
                return self.binary(expr)
            case s.Unary(word, operand, span):
                wire = self.expr(operand)
                return None if wire is None else self.apply(Notation.PREFIX, word, span, [wire], [operand.span])
            case s.WhereExpr(value, mask, span):
                self.expr(value)
                self.expr(mask)
                self.problems.add(StrayWhere(span))
                return None
            case s.IndexExpr():
                return self.index(expr)
            case s.CallExpr():
                found = self.call(expr, binding)
                if isinstance(found, list):
                    if len(found) == 1:
                        return found[0]
                    self.problems.add(SeveralResults(expr.span, expr, len(found), self._result_names(expr)))
                    return None
                return found

    def _result_names(self, call: s.CallExpr) -> tuple[str, ...]:
        """Names for the results of a block, as its head has them."""
        name = call.callee.text
        block = self.environment.module.blocks[self.shares[name].block.text if name in self.shares else name]
        return tuple(result.name.text for result in block.decl.results if result.name)

    def variable(self, text: str, span: Span) -> TypedValue | None:
        if text in self.variables:
            self.used.add(text)
            wire = self.variables[text]
            return wire
        axis = self.environment.axis(text)
        if axis is not None:
            return self.builder.positions(axis, span)
        const = self.environment.const(text)
        if const is not None and is_list(const):
            self.problems.add(ListForNumber(span))
            return None
        if const is not None:
            return self.static(const, span)
        if text == "pi":
            return self.static(Literal(3.141592653589793), span)
        if self.environment.is_missing(text):
            return None
        if text in self.gone or text in self.untaken:
            bound = self.gone.get(text) or self.untaken[text]
            self.problems.add(Gone(span, text, bound, in_repeat=text in self.gone))
            return None
        known = (*self.variables, *self.environment.candidate_axes(), *self.environment.candidate_consts())
        is_called = text in WRITABLE or text in self.environment.module.blocks
        self.problems.add(NoValueNamed(span, text, known, is_called))
        return None

    def binary(self, expr: s.Binary) -> TypedValue | None:
        """A chain `a + b + c ...` is walked, not recursed into: it may be long."""
        spine: list[s.Binary] = []
        left: s.Expr = expr
        while isinstance(left, s.Binary):
            spine.append(left)
            left = left.left
        wire = self.expr(left)
        for node in reversed(spine):
            with self.only_if(_needed(_op(Notation.INFIX, node.op), wire)):
                right = self.expr(node.right)
            if wire is None or right is None:
                wire = None
                continue
            wire = self.apply(Notation.INFIX, node.op, node.span, [wire, right], [node.left.span, node.right.span])
        return wire

    def apply(
        self, notation: Notation, word: str, span: Span, operands: list[TypedValue], spans: list[Span]
    ) -> TypedValue | None:
        """An op without brackets or options."""
        call = OpApplication(self, _op(notation, word), word, span, span, operands, spans)
        return call.op.rule(call)

    # -- brackets on a value -------------------------------------------------------------------------------------

    def listed(self, expr: s.Expr) -> Static | None:
        """The list that an expression names, or the const parameter of which only a call says whether it is one."""
        if not isinstance(expr, s.Name) or expr.text in self.variables or self.environment.axis(expr.text) is not None:
            return None
        const = self.environment.const(expr.text)
        return const if const is not None and may_be_list(const) else None

    def _read(self, numbers: Static, expr: s.IndexExpr) -> TypedValue | None:
        """`windows[i]`: one number of a list."""
        name, read = expr.value.span.text, read_of(expr.brackets)
        if read is None:
            self.problems.add(ReadForm(expr.brackets.span, name))
            return None
        place = self.expr(read)
        if place is None:
            return None
        if place.static is None or place.element is not Scalar.INT:
            self.problems.add(ReadAtRunTime(read.span, name, place))
            return None
        number = Arith("item", (place.static, numbers))
        if undetermined(number) or not self.environment.taken:
            self.formulas.append(Formula((number,), expr.span, validate_number))
        return self.static(number, expr.span)

    def index(self, expr: s.IndexExpr) -> TypedValue | None:
        numbers = self.listed(expr.value)
        if numbers is not None:
            return self._read(numbers, expr)
        if isinstance(expr.value, s.Name) and self._is_const(s.Ident(expr.value.text, expr.value.span)):
            self.problems.add(ReadNumber(expr.span, expr.value.text, const=True))
            return None
        wire = self.expr(expr.value)
        brackets = expr.brackets
        if brackets.result is not None or brackets.each:
            self.problems.add(ValueBrackets(brackets.span, expr))
            return None
        bare = [item for item in brackets.items if item.rename is None and item.value is None]
        if bare and wire is None:  # its mistake is reported
            return None
        if wire is not None and len(bare) > 1 and wire.type.axes and not self._are_axes(bare):
            self._bare_all(wire, bare, expr)
            return None
        for item in brackets.items:
            if item.rename is not None:
                wire = self.rename(wire, item, expr)
            elif item.value is not None:
                wire = self.gather(wire, item, expr)
            else:
                self._bare(wire, item, expr)
                return None
        return wire

    def _are_axes(self, items: list[s.BracketItem]) -> bool:
        return all(self.environment.axis(item.name.text) is not None for item in items)

    def _bare_all(self, wire: TypedValue, items: list[s.BracketItem], expr: s.IndexExpr) -> None:
        """`x[i, j]`: indices in the order of the axes, as other libraries take them."""
        axes, shown = wire.type.axes, expr.value.span.text
        indexed = [self._indexed_axis(item.name.text, axes) for item in items]
        if not any(indexed) and len(axes) == len(items) == len(expr.brackets.items):
            indexed = [*axes]

        along = []
        for item, axis in zip(items, indexed, strict=True):
            name = item.span.text
            is_axis = name not in self.variables and self.environment.axis(name) is not None
            along.append((name, axis, is_axis))
        self.problems.add(BareItems(items[0].span.to(items[-1].span), shown, axes, tuple(along)))

    def _indexed_axis(self, name: str, axes: tuple[Axis, ...]) -> Axis | None:
        """The axis that a variable is an index of, if it is one of these."""
        index = self.variables.get(name)
        into = index.element.axis if index is not None and isinstance(index.element, IndexInto) else None
        return into if into in axes else None

    def _bare(self, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> None:
        """`x[i]`: an axis alone, or an index without its axis."""
        name, axes = item.span.text, wire.type.axes if wire is not None else ()
        into = self._indexed_axis(name, axes)
        variable = name in self.variables or self.environment.axis(name) is None
        axes = axes if into is None else (into,)
        self.problems.add(BareItem(item.span, expr.value.span.text, item, axes, variable))

    def rename(self, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> TypedValue | None:
        assert item.rename is not None
        old, new = self.axis(item.name), self.axis(item.rename)
        if wire is None or old is None or new is None:
            return None
        wire = _without(wire, [new] if new != old else [])
        call = OpApplication(
            self,
            _op(Notation.ITEM, "as"),
            "as",
            expr.span,
            item.span,
            [wire],
            [expr.value.span],
            [old],
            [item.name.span],
            [new],
            [item.rename.span],
        )
        if old in wire.spread and old.family == new.family and (new == old or new not in wire.spread):
            return replace(wire, span=expr.span, spread=(wire.spread - {old}) | {new})
        if old not in wire.type.axes and new in wire.type.axes and old.family == new.family:
            return call.fail(RenamedBackwards(item.name.span, old, new, wire.type, expr.value.span))
        if old not in wire.type.axes:
            return lacks(call, wire, old, expr.value.span, AxisUse.RENAMES, item.name.span, new.name)
        if old.family != new.family:
            return call.fail(NoCopies(item.span, old, new, self.environment.surroundings))
        if new in wire.type.axes and new != old:
            after = expr.brackets.items[expr.brackets.items.index(item) + 1 :]
            turned = next((each for each in after if each.rename is not None and each.name.text == new.name), None)
            later = None
            if turned is not None and turned.rename is not None:
                later = turned.span, turned.rename.text == old.name
            return call.fail(RenamedToAnother(item.span, old, new, wire.type, later, self.environment.surroundings))

        def swap(axes: Iterable[Axis]) -> tuple[Axis, ...]:
            return tuple(new if axis == old else axis for axis in axes)

        type = Type(wire.element, swap(wire.type.axes), frozenset(swap(wire.type.broadcast_axes)))
        return call.make(type, mark=frozenset(swap(wire.mark)), range=wire.range)

    def gather(self, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> TypedValue | None:
        assert item.value is not None
        axis, e = self.axis(item.name), self.expr(item.value)
        if wire is None or axis is None or e is None:
            return None
        call = OpApplication(
            self,
            _op(Notation.ITEM, "="),
            "=",
            expr.span,
            item.span,
            [wire, e],
            [expr.value.span, item.value.span],
            [axis],
            [item.name.span],
        )
        if not wire.has(axis) and axis not in wire.spread:
            return lacks(call, wire, axis, expr.value.span, AxisUse.PICKS, item.name.span)
        if isinstance(e.element, IndexInto):
            if e.element.axis.family != axis.family:
                return wrong_table(call, e, axis, item.value.span)
        elif e.element is not Scalar.INT:
            return call.fail(WrongElement(item.value.span, e.type, Wanted.GATHERED, axis=axis))
        if outside(call, e, axis, item.value.span):
            return None
        if axis in wire.spread:
            return replace(wire, span=expr.span, spread=(wire.spread - {axis}) | frozenset(e.type.axes))
        rest = tuple(a for a in wire.type.axes if a != axis)
        own = tuple(a for a in e.type.axes if a not in rest)
        call.made = list(own)
        call.made_spans = [item.span] * len(own)
        place = wire.type.axes.index(axis)
        axes = (*wire.type.axes[:place], *own, *wire.type.axes[place + 1 :])
        broadcast_axes = (wire.type.broadcast_axes & set(rest)) | (e.type.broadcast_axes - set(rest))
        broadcast_axes -= {a for a in rest if e.has(a)}
        mark = frozenset() if axis in wire.mark else wire.mark
        return call.make(Type(wire.element, axes, frozenset(broadcast_axes)), mark=mark)

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, call: s.CallExpr, binding: str | None) -> TypedValue | list[TypedValue | None] | None:
        """An op (a typed value), or a block (a list of its results)."""
        name = call.callee.text
        if call.scan is not None and name not in self.shares and name not in self.environment.module.blocks:
            self.visit_arguments(call)
            if self.environment.is_missing(name):
                return None
            known = tuple(self.environment.module.blocks)
            self.problems.add(NoBlockNamed(call.callee.span, name, known, scanned=True))
            return None
        if name in self.shares:
            share = self.shares[name]
            return self.checker.call_block(self, self.environment.module.blocks[share.block.text], call, shared=name)
        if name in self.environment.module.blocks:
            return self.checker.call_block(self, self.environment.module.blocks[name], call)
        if name == "raw":
            return self.raw(call)
        along = any(each.name is not None and each.name.text in AXIS_WORDS for each in call.arguments)
        bare = call.brackets is None and len(call.arguments) != 1 and not along
        op = (written(Notation.BARE, name) if bare else None) or written(Notation.CALL, name)
        if op is not None:
            return self.op_call(call, op, binding)
        self.visit_arguments(call)
        if self.environment.is_missing(name) or self.variables.get(name, call) is None:
            return None
        module = self.environment.module
        blocks = module.blocks.keys() - {self.environment.block.name}  # a block cannot call itself
        start = next((item.span.start for item in module.file.items if isinstance(item, s.UseDecl)), None)
        used = Span(module.source, start or 0, start or 0), start is not None
        known, library = (*blocks, *self.shares), self.checker.library.get(name)
        self.problems.add(NothingCalled(call.callee.span, call, name in self.variables, known, library, used))
        return None

    def visit_arguments(self, call: s.CallExpr) -> None:
        """Check the arguments for mistakes of their own, when the call itself cannot be understood."""
        for argument in call.arguments:
            value = argument.value.value if isinstance(argument.value, s.WhereExpr) else argument.value
            self.expr(value)

    def raw(self, call: s.CallExpr) -> TypedValue | None:
        """`raw(w)`: the same value without its mark (D6)."""
        if len(call.arguments) != 1 or call.brackets is not None:
            self.visit_arguments(call)
            self.problems.add(OnlyOneValue(call.span, call))
            return None
        wire = self.expr(call.arguments[0].value)
        return None if wire is None else replace(wire, mark=frozenset(), mark_unknown=False)

    def op_call(self, call: s.CallExpr, op: Op, binding: str | None) -> TypedValue | None:
        shown = call.callee.text
        bracket_span = call.brackets.span if call.brackets else call.callee.span
        made = OpApplication(self, op, shown, call.span, bracket_span, [], [])
        plain, apart = self._axes_apart(call, op)
        good = self._operands(plain, op, made)
        nameless = op.learned and call.label is None and binding in (None, "_")
        label = self.environment.block.labels[call.callee.span] if nameless else ""
        good = self._brackets(call, op, made, apart, label) and good
        if not good:
            # A report that the brackets lack an arrow shows the label, too.
            formed = call.brackets is not None and call.brackets.result is not None
            if op.learned and op.brackets is Brackets.MAP and formed:
                self._learned_name(call, op, made, binding)
            return None
        if call.label is not None and not op.learned:
            self.problems.add(NoLabel(call.label.span, call))
            return None
        if op.learned and not self._learned_name(call, op, made, binding):
            return None
        born = [axis for axis in made.made if axis not in made.axes] if op.brackets is not Brackets.INTO else []
        made.operands = [_without(wire, born) for wire in made.operands]
        made.operands = [self._spread(wire, made.axes) for wire in made.operands]
        mask = made.mask
        if mask is not None and mask.static is None and not any(map(mask.has, made.axes)):
            made.mask = self._spread(mask, made.axes)
        return op.rule(made)

    def _spread(self, wire: TypedValue, axes: Iterable[Axis]) -> TypedValue:
        """A number that stands for an argument, given those of the argument's axes that an op acts on."""
        needed = [axis for axis in axes if axis in wire.spread and not wire.has(axis)]
        if not needed:
            return wire
        op = OPS["broadcast"]
        call = OpApplication(self, op, op.name, wire.span, wire.span, [wire], [wire.span])
        call.made, call.made_spans = needed, [wire.span] * len(needed)
        return call.op.rule(call) or wire

    def _learned_name(self, call: s.CallExpr, op: Op, made: OpApplication, binding: str | None) -> bool:
        if op.optional and not any(truth(made, option) for option in op.optional):
            return True
        if call.label is not None:
            made.name = call.label.text
            return self.may_own(made.name, call.label.span)
        if binding is not None and binding != "_":
            made.name = binding
            return self.may_own(binding, call.span)
        label = self.environment.block.labels[call.callee.span]
        self.problems.add(NamelessOp(call.callee.span, op.name, label))
        return False

    def _operands(self, call: s.CallExpr, op: Op, made: OpApplication) -> bool:
        """Sort the arguments into operands and options."""
        good = True
        if len(call.arguments) > OPERANDS:
            raise TooMuch(f"an op takes at most {OPERANDS} operands", "do it in steps", call.callee.span)
        slots: dict[str, tuple[TypedValue, Span]] = {}
        extra: list[tuple[TypedValue, Span]] = []
        options = {option.name: option for option in op.options}
        given: set[str] = set()
        positions = [*op.operands]
        after = [option.name for option in op.options[: op.positional]]
        seen = 0
        for argument in call.arguments:
            name = argument.name.text if argument.name else None
            if name is None:
                name = (positions + after)[seen] if seen < len(positions + after) else None
                if op.variadic and seen >= len(positions):
                    name = None
                seen += 1
            elif name not in op.arguments:
                self._no_such_argument(call, argument, op, made)
                good = False
                continue
            if name in given:
                self.problems.add(GivenTwice(argument.span, name))
                good = False
                continue
            if name is not None:
                given.add(name)
            if name == "init":
                made.init = self.init(argument.value)
                good = good and made.init is not None
                continue
            with self.only_if(_chosen(op, slots, name)):
                wire, mask = self._operand(argument, op, made)
            if mask and wire is not None:
                wire = replace(wire, spread=wire.spread | mask.spread)  # a number may take the axis from its mask
            if mask and not self._all_kept(mask):
                made.mask, made.mask_span = mask, argument.value.mask.span  # type: ignore[union-attr]
            if isinstance(argument.value, s.WhereExpr) and mask is None:
                good = False
            if wire is None:
                good = False
                continue
            if name in options:
                good = self._option(made, options[name], wire, argument) and good
            elif name is not None:
                place = argument.value.value if isinstance(argument.value, s.WhereExpr) else argument.value
                slots[name] = (wire, place.span)
            elif op.variadic:
                extra.append((wire, argument.value.span))
            else:
                self._no_such_argument(call, argument, op, made, wire)
                good = False
        good = self._complete(call, op, made, given, good)
        made.operands = [slots[name][0] for name in positions if name in slots] + [wire for wire, _ in extra]
        made.spans = [slots[name][1] for name in positions if name in slots] + [span for _, span in extra]
        return good

    def _no_such_argument(
        self, call: s.CallExpr, argument: s.Argument, op: Op, made: OpApplication, extra: TypedValue | None = None
    ) -> None:
        """extra: the value of an argument without a name, which is one too many."""
        name = argument.name.text if argument.name is not None else None
        called = name in MASK_WORDS and name not in op.arguments
        mask = self.expr(argument.value) if called and op.masked else extra
        have, known = None if mask is None else mask.type, name in self.variables
        known = known or (name is not None and self.environment.axis(name) is not None)
        self.problems.add(NoSuchArgument(argument.span, op.name, made.shown, call, argument, have, known))

    def _complete(self, call: s.CallExpr, op: Op, made: OpApplication, given: set[str], good: bool) -> bool:
        """Fill in the defaults of options. One that must be given and is missing is reported if all else was `good`."""
        missing = [name for name in op.operands if name not in given]
        if missing and good:
            self.problems.add(ArgumentMissing(call.span, made.shown, tuple(missing), call))
            good = False
        for option in op.options:
            if option.name not in made.options and option.name not in given:
                if option.default is None:
                    if good:
                        self.problems.add(ArgumentMissing(call.span, made.shown, (option.name,), call, option.doc))
                    good = False
                else:
                    made.options[option.name] = Literal(option.default)
        return good

    def _operand(
        self, argument: s.Argument, op: Op, made: OpApplication
    ) -> tuple[TypedValue | None, TypedValue | None]:
        """The operand, and its mask if it is `x where m`."""
        if not isinstance(argument.value, s.WhereExpr):
            return self.expr(argument.value), None
        where = argument.value
        wire, mask = self.expr(where.value), self.expr(where.mask)
        if not op.masked:
            self.problems.add(StrayWhere(where.span, made.shown))
            return wire, None
        if mask is not None and not mask.is_bool:
            self.problems.add(WrongElement(where.mask.span, mask.type, Wanted.MASK, written=where.mask))
            mask = None
        return wire, mask

    def _all_kept(self, mask: TypedValue) -> bool:
        """`where true` masks nothing."""
        return isinstance(mask.static, Literal) and mask.static.value is True

    def _option(self, made: OpApplication, option: Any, wire: TypedValue, argument: s.Argument) -> bool:
        if wire.static is None:
            names = [
                node for node in walk(argument.value) if isinstance(node, s.Name) and self.environment.axis(node.text)
            ]
            self.problems.add(NoNumber(argument.span, wire.type, option.name, option.doc, tuple(names)))
            return False
        if isinstance(option.default, bool) and self.environment.is_open(wire.static):
            made.options[option.name] = Literal(option.default)
            return True
        value = checked_number(self.environment.of_sizes, wire.static, argument.span)
        if isinstance(option.default, bool) != (wire.element is Scalar.BOOL):
            truth = isinstance(option.default, bool)
            self.problems.add(OptionKind(argument.span, option.name, option.doc, truth))
            return False

        def validate(problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
            value = known(numbers[0])
            complaint = None if value is None else option.check(value)
            if complaint and value is not None:
                problems.add(OptionValue(place, option.name, option.doc, value, complaint))

        complaint = option.check(value) if value is not None and self.environment.taken else None
        if complaint and isinstance(value, float) and value.is_integer() and option.check(int(value)) is None:
            at, whole = argument.span, argument.value.span
            self.problems.add(OptionValue(at, option.name, option.doc, value, complaint, whole))
            return False
        if not made.in_each_pass(validate, argument.span, wire.static):
            return False
        if isinstance(option.default, bool) and value is None:
            if self.environment.known_at_calls(wire.static):
                made.options[option.name] = Literal(option.default)
                return True
            self.problems.add(OptionUnknown(argument.span, option.name, option.doc))
            return False
        made.options[option.name] = wire.static
        return True

    def _axes_apart(self, call: s.CallExpr, op: Op) -> tuple[s.CallExpr, tuple[s.Argument, ...]]:
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
                is_name = isinstance(value, s.Name) and value.text not in self.variables
                said = is_name and place >= operands and self.environment.axis(value.span.text) is not None
                said = said or (
                    isinstance(value, s.NumberLiteral) and not op.variadic and place >= operands + op.positional
                )
                said = said and (
                    call.brackets is None or (op.brackets is Brackets.MAP and call.brackets.result is None)
                )
                place += 1
            if said:
                apart.append(argument)
        return replace(call, arguments=tuple(each for each in call.arguments if each not in apart)), tuple(apart)

    def _use(self, call: s.CallExpr, made: OpApplication, apart: tuple[s.Argument, ...], label: str) -> OpUse:
        operands, spans, environment = tuple(made.operands), tuple(made.spans), self.environment
        variables, open = frozenset(self.variables), frozenset(environment.open)
        around = environment.surroundings
        return OpUse(made.op.name, made.shown, call, operands, spans, apart, label, variables, open, around)

    def _brackets(
        self, call: s.CallExpr, op: Op, made: OpApplication, apart: tuple[s.Argument, ...], label: str
    ) -> bool:
        """Resolve what stands in brackets, and check its form."""
        brackets, problems = call.brackets, self.problems
        if brackets is None and op.brackets is Brackets.NONE:
            return True
        if brackets is None:
            place = apart[0].span if apart else call.callee.span
            return problems.refuse(NoBrackets(place, self._use(call, made, apart, label)))
        names = [item.name for item in brackets.items]
        if op.brackets is Brackets.NONE:
            droppable = all(self.environment.axis(name.text) for name in names)
            return problems.refuse(StrayBrackets(brackets.span, Stray.ALL, made.shown, call, droppable))
        for item in brackets.items:
            if item.rename is not None or item.value is not None:
                argument = item.name.text in op.arguments
                return problems.refuse(BracketsHold(item.span, item, made.shown, argument))
        if op.brackets is Brackets.ACTS and all(name.text[0].isdigit() for name in names):
            place = brackets.items[0].span
            return problems.refuse(AxisByNumber(place, self._use(call, made, apart, label)))
        axes, each = self.axes(names), self.axes(brackets.each)
        result = self.axes(brackets.result, _whole(op, axes)) if brackets.result is not None else []
        if axes is None or each is None or result is None:
            return False
        if op.brackets is Brackets.MAP and brackets.result is None:
            return problems.refuse(NoArrow(brackets.span, self._use(call, made, apart, label), tuple(axes)))
        if op.brackets is not Brackets.MAP and brackets.result is not None:
            return problems.refuse(StrayBrackets(brackets.span, Stray.ARROW, made.shown, call))
        if apart:
            return problems.refuse(AxesDoubled(apart[0].span, self._use(call, made, apart, label)))
        if brackets.each and not op.each:
            return problems.refuse(StrayBrackets(brackets.each[0].span, Stray.COLON, made.shown, call))
        spans = [name.span for name in names]
        if op.brackets in (Brackets.MADE, Brackets.INTO):
            made.made, made.made_spans = axes, spans
        else:
            made.axes, made.axis_spans = axes, spans
            made.made, made.made_spans = result, [name.span for name in brackets.result or ()]
        made.each, made.each_spans = each, [name.span for name in brackets.each]
        if op.reads == Arrange(IndexMap.PARTS):  # the brackets name one axis of each operand
            return True
        for group, places in ((axes, spans), (made.made, made.made_spans)):
            for position, (axis, place) in enumerate(zip(group, places, strict=True)):
                if axis in (*each, *group[:position]):
                    return problems.refuse(NamedTwice(place, axis))
        return True

    def _is_const(self, name: s.Ident) -> bool:
        return self.environment.axis(name.text) is None and self.environment.const(name.text) is not None

    # -- weights -------------------------------------------------------------------------------------------------

    def init(self, expr: s.Expr) -> Init | None:
        """`normal(0.02)`, `zeros`, ..."""
        match expr:
            case s.Name(text, span):
                expr = s.CallExpr(s.Ident(text, span), None, None, (), span)
            case s.CallExpr(label=None, brackets=None):
                pass
            case _:
                self.problems.add(NoInit(expr.span))
                return None
        callee, arguments = expr.callee, expr.arguments
        if callee.text not in INITS:
            self.problems.add(InitName(callee.span, callee.text))
            return None
        if len(arguments) != INITS[callee.text] or any(a.name for a in arguments):
            self.problems.add(InitArguments(expr.span, callee.text))
            return None
        numbers = []
        for argument in arguments:
            wire = self.expr(argument.value)
            if wire is None:
                return None
            value = (
                None if wire.static is None else checked_number(self.environment.of_sizes, wire.static, argument.span)
            )
            if wire.static is not None and not self.environment.taken:
                value = 1.0
            if value is None and wire.static is not None and self.environment.left_to_calls(wire.static):
                value = 1.0  # stands for it while the block is checked on its own
            if not isinstance(value, int | float) or isinstance(value, bool):
                static = wire.static
                in_a_pass = (
                    static is not None and undetermined(static) and not self.environment.only_at_run_time(static)
                )
                self.problems.add(InitNumber(argument.span, in_a_pass))
                return None
            if value < 0 and callee.text != "constant":
                self.problems.add(InitNegative(argument.span, callee.text, value))
                return None
            numbers.append(float(value))
        return Init(callee.text, tuple(numbers))


def _op(notation: Notation, word: str) -> Op:
    """The op that a form of the grammar stands for."""
    op = written(notation, word)
    assert op is not None, (notation, word)
    return op


def _needed(op: Op, first: TypedValue | None) -> Static | None:
    """What must hold for the second side of `and` and `or` to matter, where the first is known at build time."""
    if first is None or first.static is None or not first.is_bool:
        return None
    match op.reads:
        case Pointwise(Conjunction()):
            return first.static
        case Pointwise(Disjunction()):
            return opposite(first.static)
        case _:
            return None


def _chosen(op: Op, slots: Mapping[str, tuple[TypedValue, Span]], name: str | None) -> Static | None:
    """What must hold for an operand of a choice to matter, where what it is chosen by is known at build time."""
    if op.reads != Pointwise(Choice()) or name not in op.operands or op.operands[0] not in slots:
        return None
    condition = slots[op.operands[0]][0].static
    return condition if condition is None or name == op.operands[1] else opposite(condition)


def _whole(op: Op, axes: list[Axis] | None) -> str:
    """How to declare the axis that these are joined to: `depth {} = heads * hidden`."""
    match op.reads:
        case Arrange(IndexMap.NUMBER):
            sign = " * "
        case Arrange(IndexMap.PARTS):
            sign = " + "
        case _:
            return ""
    if not axes:
        return ""
    kind = "width" if any(axis.is_width for axis in axes) else "depth"
    return f"{kind} {{}} = {sign.join(axis.name for axis in axes)}"


def _without(wire: TypedValue, axes: Iterable[Axis]) -> TypedValue:
    """The value without those broadcast axes that an op is about to make."""
    broadcast_axes = wire.type.broadcast_axes & set(axes)
    if not broadcast_axes:
        return wire
    kept = tuple(axis for axis in wire.type.axes if axis not in broadcast_axes)
    return replace(wire, type=Type(wire.element, kept, wire.type.broadcast_axes - broadcast_axes))
