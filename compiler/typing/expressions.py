"""Expressions: their types and their nodes.

A mistake is reported where it stands, and the expression it is in gets no value (`None`), which provokes no second
error: whatever reads it is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...dsl import syntax as s
from ...dsl.slips import FINITE, piece
from ...dsl.source import Span
from ..base import rewritten
from ..base.idioms import AXIS_WORDS, FOREIGN, IDIOMS, MASK_WORDS, OTHER_INITS
from ..base.mentions import walk
from ..base.names import akin, listed, nearest, respelt
from ..base.problems import Problems
from ..base.rewritten import without
from ..graph.nodes import Init
from ..graph.traits import Arrange, Choice, Conjunction, Disjunction, IndexMap, Pointwise
from ..graph.typed_value import TypedValue, show
from ..graph.values import IndexInto, Scalar, Type
from ..hints import unlike
from ..hints.usage import Usage, arguments, axes_apart, kept
from ..names.written_sizes import checked_number, may_be_list, read_of, refuse_list, refuse_number, refuse_read
from ..ops import OPS, Brackets, Notation, Op, written
from ..sizes.axes import Arith, Axis, Literal, SizeOf, Static, is_list, known, opposite, undetermined
from ..sizes.limits import OPERANDS, TooMuch
from .application import OpApplication
from .copies import copies
from .scope import Scope
from .specialisation import Formula, validate_number

WRITABLE_OPS = (*(op.name for op in OPS.values() if op.name.isidentifier() and not op.sign), "raw", "scan")
INITS = {"normal": 1, "uniform": 1, "zeros": 0, "ones": 0, "constant": 1, "xavier": 0}


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
                refuse_list(self.environment.problems, span)
                return None
            case s.SizeExpr(name, span) if (numbers := self.listed(s.Name(name.text, name.span))) is not None:
                return self.static(Arith("length", (numbers,)), span)
            case s.SizeExpr(name, span) if self._is_const(name):
                self.problems.report(
                    "E0201",
                    f"`{name.text}` is a const, but `|...|` is the size of an axis",
                    span,
                    help=f"write `{name.text}`",
                    fix=[(span, name.text)],
                )
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
                self.problems.report(
                    "E0308",
                    "`where` stands only in the operand of an op that reduces or normalises",
                    span,
                    help="write `softmax[k](s where m)`, `mean[k](x where m)`; or choose values with `select(m, x, y)`",
                )
                return None
            case s.IndexExpr():
                return self.index(expr)
            case s.CallExpr():
                found = self.call(expr, binding)
                if isinstance(found, list):
                    if len(found) == 1:
                        return found[0]
                    self.problems.report(
                        "E0408",
                        f"`{expr.callee.text}` gives {len(found)} results, but one is wanted here",
                        expr.span,
                        help=f"name them first: `{self._result_names(expr)} = ...` (`_` discards one)",
                    )
                    return None
                return found

    def _result_names(self, call: s.CallExpr) -> str:
        """Names for the results of a block, as its head has them."""
        name = call.callee.text
        block = self.environment.module.blocks[self.shares[name].block.text if name in self.shares else name]
        return ", ".join(result.name.text for result in block.decl.results if result.name)

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
            refuse_list(self.environment.problems, span)
            return None
        if const is not None:
            return self.static(const, span)
        if text == "pi":
            return self.static(Literal(3.141592653589793), span)
        if self.environment.is_missing(text):
            return None
        if text in self.gone:
            self.problems.report(
                "E0202",
                f"`{text}` lives inside a repeat and is gone here",
                span,
                related=[(self.gone[text], "it is bound in this repeat")],
                help=f"bind `{text}` before the repeat; then each pass rebinds it and the last value comes out",
            )
            return None
        if text in self.untaken:
            self.problems.report(
                "E0202",
                f"`{text}` is bound only in a branch that is not taken",
                span,
                related=[(self.untaken[text], "it is bound here")],
                help=f"bind `{text}` in both branches, or before the `if`",
            )
            return None
        near = nearest(
            text, [*self.variables, *self.environment.candidate_axes(), *self.environment.candidate_consts()]
        )
        if text in ("True", "False"):
            near = text.lower()
        if text == "None":
            help, near = "leave it out: what has a default need not be given; a mask that keeps all is `true`", None
        elif text.lower() in ("inf", "infinity", "nan"):
            help, near = FINITE, None
        elif text in WRITABLE_OPS or text in self.environment.module.blocks:
            help = f"`{text}` is called with its operands: `{text}(x)`, or `x |> {text}`"
        else:
            help = f"did you mean `{near}`?" if near else f"bind it above, `{text} = ...`, or make it an argument"
        self.problems.report(
            "E0202",
            f"nothing is named `{text}` here",
            span,
            help=help,
            fix=respelt(span, near) if help.startswith("did") else [],
        )
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
            refuse_read(self.environment.problems, name, expr.brackets)
            return None
        place = self.expr(read)
        if place is None:
            return None
        if place.static is None or place.element is not Scalar.INT:
            self.problems.report(
                "E0222",
                f"`{name}` is read at a whole number known at build time, but this is {show(place)}",
                read.span,
                help=f"to choose by data, make the numbers a `param` along an axis, or use `select`; "
                f"`{name}[i]` reads it in a `repeat i in ...`"
                if place.static is None
                else f"round it: `{name}[floor({read.span.text})]`",
            )
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
            refuse_number(self.environment.problems, expr.value.text, expr.span)
            return None
        wire = self.expr(expr.value)
        brackets = expr.brackets
        if brackets.result is not None or brackets.each:
            help = "write `x[a as b]` or `x[a = index]`; to call a block or op, arguments must follow the brackets"
            if brackets.result is None and any(_is_number(name) for name in self._around_colon(brackets)):
                help = self._piece(expr)
            self.report("E0318", "brackets on a value rename or gather: no arrow, no colon", brackets.span, help=help)
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

    @staticmethod
    def _around_colon(brackets: s.BracketList) -> list[s.Ident]:
        return [brackets.each[-1], brackets.items[0].name]

    def _piece(self, expr: s.IndexExpr) -> str:
        """How to write `x[2:5]`."""
        first, last = (name.text for name in self._around_colon(expr.brackets))
        known = first.isdigit() and last.isdigit() and int(first) < int(last)
        size = f"{int(last) - int(first)}" if known else "..."
        others = ", ..." if len(expr.brackets.items) + len(expr.brackets.each) > 2 else ""
        return piece(expr.value.span.text, first=first, size=size, more=others)

    def _bare_all(self, wire: TypedValue, items: list[s.BracketItem], expr: s.IndexExpr) -> None:
        """`x[i, j]`: indices in the order of the axes, as other libraries take them."""
        axes, shown = wire.type.axes, expr.value.span.text
        indexed = [self._indexed_axis(item.name.text, axes) for item in items]
        if not any(indexed) and len(axes) == len(items) == len(expr.brackets.items):
            indexed = [*axes]

        def written(item: s.BracketItem, axis: Axis | None) -> str:
            name = item.span.text
            if name not in self.variables and self.environment.axis(name) is not None:
                return f"{name} as other"
            return f"{axis.name if axis is not None else 'axis'} = {name}"

        inside = ", ".join(written(item, axis) for item, axis in zip(items, indexed, strict=True))
        self.problems.report(
            "E0318",
            "brackets on a value rename or gather an axis",
            items[0].span.to(items[-1].span),
            help="axes have names and no order: say of each along which of "
            f"{listed(axis.name for axis in axes)}, `{shown}[{inside}]`",
        )

    def _indexed_axis(self, name: str, axes: tuple[Axis, ...]) -> Axis | None:
        """The axis that a variable is an index of, if it is one of these."""
        index = self.variables.get(name)
        into = index.element.axis if index is not None and isinstance(index.element, IndexInto) else None
        return into if into in axes else None

    def _bare(self, wire: TypedValue | None, item: s.BracketItem, expr: s.IndexExpr) -> None:
        """`x[i]`: an axis alone, or an index without its axis."""
        shown, name = expr.value.span.text, item.span.text
        if _is_number(item.name) and not name.isdigit():
            help = f"an index is a whole number: `{shown}[axis = 0]`"
            self.problems.report("E0318", "brackets on a value rename or gather an axis", item.span, help=help)
            return
        help = f"write `{shown}[{name} as other]` or `{shown}[{name} = index]`"
        fix: list[tuple[Span, str]] = []
        if name in self.variables or self.environment.axis(name) is None:
            axes = wire.type.axes if wire is not None else ()
            into = self._indexed_axis(name, axes)
            axes = axes if into is None else (into,)
            if len(axes) == 1:
                fix = [(item.span, f"{axes[0].name} = {name}")]
                help = f"say along which axis: `{shown}[{axes[0].name} = {name}]`"
            else:
                given = f", one of {listed(axis.name for axis in axes)}" if axes else ""
                help = f"say along which axis{given}: `{shown}[axis = {name}]`"
        self.problems.report("E0318", "brackets on a value rename or gather an axis", item.span, help=help, fix=fix)

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
            call.fail(
                "E0301",
                f"`{old.name} as {new.name}` renames `{old.name}`, which is not there",
                item.name.span,
                f"no `{old.name}` in {show(wire)}",
                related=[(expr.value.span, f"this is {show(wire)}")],
                help=f"the name that it has comes first: `[{new.name} as {old.name}]`",
            )
            return None
        if old not in wire.type.axes:
            return call.lacks(
                wire,
                old,
                expr.value.span,
                f"`{old.name} as {new.name}` renames `{old.name}`, which is not there",
                item.name.span,
            )
        if old.family != new.family:
            call.fail(
                "E0303",
                f"`{old.name}` and `{new.name}` are not copies of one axis, so one cannot be renamed to the other",
                item.span,
                related=[(old.span, f"`{old.name}` is declared here"), (new.span, f"`{new.name}` is declared here")],
                help=unlike.renamed(old, new, self.environment),
            )
            return None
        if new in wire.type.axes and new != old:
            after = expr.brackets.items[expr.brackets.items.index(item) + 1 :]
            turned = next((each for each in after if each.rename is not None and each.name.text == new.name), None)
            help = "rename to another copy"
            fix: list[tuple[Span, str]] = []
            if turned is not None and turned.rename is not None and turned.rename.text == old.name:
                help, fix = self._swap(wire, old, new, item, turned)
            elif turned is not None:
                help = f"renames are made in turn: first `{turned.span.text}`, then `{item.span.text}`"
                fix = [(item.span, turned.span.text), (turned.span, item.span.text)]
            call.fail("E0302", f"this has `{new.name}` already: it is {show(wire)}", item.span, help=help, fix=fix)
            return None

        def swap(axes: Iterable[Axis]) -> tuple[Axis, ...]:
            return tuple(new if axis == old else axis for axis in axes)

        type = Type(wire.element, swap(wire.type.axes), frozenset(swap(wire.type.broadcast_axes)))
        return call.make(type, mark=frozenset(swap(wire.mark)), range=wire.range)

    def _swap(
        self, wire: TypedValue, old: Axis, new: Axis, first: s.BracketItem, second: s.BracketItem
    ) -> tuple[str, list[tuple[Span, str]]]:
        """How two axes change places: by way of a third copy."""
        free = copies(old, self.environment, wire.type.axes)
        if not free:
            declared = f"{old.kind.value} third like {old.name}"
            return f"renames are made in turn, so a swap takes a third copy: declare `{declared}`, and write " + (
                f"`[{old.name} as third, {new.name} as {old.name}, third as {new.name}]`"
            ), []
        third = free[0]
        steps = f"{old.name} as {third}, {new.name} as {old.name}"
        last = f"{third} as {new.name}"
        return f"renames are made in turn, so a swap takes a third copy: `[{steps}, {last}]`", [
            (first.span, steps),
            (second.span, last),
        ]

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
            return call.lacks(
                wire,
                axis,
                expr.value.span,
                f"`{axis.name} = ...` picks along `{axis.name}`, which is not there",
                item.name.span,
            )
        if isinstance(e.element, IndexInto):
            if e.element.axis.family != axis.family:
                return call.wrong_table(e, axis, item.value.span)
        elif e.element is not Scalar.INT:
            call.fail(
                "E0304",
                f"`{axis.name}` is picked by indices, but this is {show(e)}",
                item.value.span,
                help="use floor(x) for a whole number",
            )
            return None
        if call.outside(e, axis, item.value.span):
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
            near = nearest(name, self.environment.module.blocks)
            self.problems.report(
                "E0203",
                f"`scan` calls a block, but no block is named `{name}`",
                call.callee.span,
                help=f"did you mean `{near}`?" if near else "declare a block that does one step",
            )
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
        blocks = self.environment.module.blocks.keys() - {self.environment.block.name}  # a block cannot call itself
        near = nearest(name, [*(op for op in WRITABLE_OPS if akin(name, op)), *blocks, *self.shares])
        idiom = IDIOMS.get(name)
        if idiom is None and (near is None or near.lower() != name.lower()):  # `nn.SELU` is a class
            idiom = IDIOMS.get(name.lower())
        if idiom is not None:  # a name of another library is no misspelling
            near = None
        elsewhere = self.checker.library.get(name)
        listing = "docs/ops.md lists the ops; a composition of them is a `block`"
        help = f"did you mean `{near}`?" if near else idiom or listing
        if elsewhere:
            help = f"the standard library has it: `use {elsewhere}: {name}`"
        if name in self.variables:
            help = f"`{name}` is a variable: it is not called"
        if call.label is not None and (name in self.variables or name in FOREIGN):
            help = self._method(name, call.label.text) or help
        self.problems.report(
            "E0203",
            f"no op or block is named `{name}`",
            call.callee.span,
            help=help,
            fix=self._called_otherwise(call, near, elsewhere) if name not in self.variables else [],
        )
        return None

    def _method(self, name: str, word: str) -> str:
        """The help for `x.relu()` or `nn.Linear(...)` of other languages."""
        op = next((each for each in (word, word.lower()) if each in WRITABLE_OPS), None)
        if op is None:
            return IDIOMS.get(word, "")
        plain = name in self.variables and OPS[op].brackets is Brackets.NONE
        return f"an op is called by its name alone: `{f'{op}({name})' if plain else OPS[op].usage}`"

    def _called_otherwise(self, call: s.CallExpr, near: str | None, library: str | None) -> list[tuple[Span, str]]:
        """The edit that makes an unknown callee known: a `use` of the library, else the near name."""
        if not library:
            return respelt(call.callee.span, near)
        source = self.environment.module.source
        used = [item.span.start for item in self.environment.module.file.items if isinstance(item, s.UseDecl)]
        line = f"use {library}: {call.callee.text}\n"
        return [(Span(source, used[0], used[0]), line) if used else (Span(source, 0, 0), f"{line}\n")]

    def visit_arguments(self, call: s.CallExpr) -> None:
        """Check the arguments for mistakes of their own, when the call itself cannot be understood."""
        for argument in call.arguments:
            value = argument.value.value if isinstance(argument.value, s.WhereExpr) else argument.value
            self.expr(value)

    def raw(self, call: s.CallExpr) -> TypedValue | None:
        """`raw(w)`: the same value without its mark (D6)."""
        if len(call.arguments) != 1 or call.brackets is not None:
            self.visit_arguments(call)
            one = rewritten.call(
                call, brackets=[], arguments=[each.span.text for each in call.arguments[:1]] or ["..."]
            )
            self.problems.report("E0319", "`raw` takes one value", call.span, help=f"write `{one}`")
            return None
        wire = self.expr(call.arguments[0].value)
        return None if wire is None else replace(wire, mark=frozenset(), mark_unknown=False)

    def op_call(self, call: s.CallExpr, op: Op, binding: str | None) -> TypedValue | None:
        shown = call.callee.text
        bracket_span = call.brackets.span if call.brackets else call.callee.span
        made = OpApplication(self, op, shown, call.span, bracket_span, [], [])
        plain, apart = axes_apart(self, call, op)
        good = self._operands(plain, op, made)
        nameless = op.learned and call.label is None and binding in (None, "_")
        label = self.environment.block.labels[call.callee.span] if nameless else ""
        good = self._brackets(call, op, made, Usage(self, call, made, apart, label)) and good
        if not good:
            # A report that the brackets lack an arrow shows the label, too.
            formed = call.brackets is not None and call.brackets.result is not None
            if op.learned and op.brackets is Brackets.MAP and formed:
                self._learned_name(call, op, made, binding)
            return None
        if call.label is not None and not op.learned:
            self.problems.report(
                "E0319",
                f"`{shown}` owns no weights, so it has no label",
                call.label.span,
                help=f"write `{shown}` without `.{call.label.text}`",
                fix=[(Span(call.span.source, call.callee.span.end, call.label.span.end), "")],
            )
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
        if op.optional and not any(made.truth(option) for option in op.optional):
            return True
        if call.label is not None:
            made.name = call.label.text
            return self.may_own(made.name, call.label.span)
        if binding is not None and binding != "_":
            made.name = binding
            return self.may_own(binding, call.span)
        label = self.environment.block.labels[call.callee.span]
        self.problems.report(
            "E0218",
            f"this `{op.name}` needs a name: its weights are stored under it",
            call.callee.span,
            help=f"label it, such as `{op.name}.{label}[...]`, or bind its result to a name of its own",
            fix=[(Span(call.span.source, call.callee.span.end, call.callee.span.end), f".{label}")],
        )
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
            elif name not in arguments(op):
                self._no_such_argument(call, argument, op, made)
                good = False
                continue
            if name in given:
                self.report("E0319", f"`{name}` is given twice", argument.span, help="leave one of the two out")
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
        called = name in MASK_WORDS and name not in arguments(op)
        mask = self.expr(argument.value) if called and op.masked else extra
        others = [each.span.text for each in call.arguments if each is not argument]
        help, near = f"write `{rewritten.call(call, arguments=others)}`", None
        fix: list[tuple[Span, str]] = []
        if op.masked and (called or (mask is not None and mask.is_bool)):
            help, fix = self._as_where(call, argument, mask)
        elif name is None and written(Notation.BARE, op.name) is not None:
            help = f"`{op.name}(x, y)`, without brackets, is of two values, item by item"
        elif name is not None:
            near = nearest(name, arguments(op))
            help = f"did you mean `{near}`?" if near else f"it has {listed(arguments(op))}"
            if called:
                help = f"choose with `select({argument.value.span.text}, x, 0)`"
            elif argument.name is not None and (name in self.variables or self.environment.axis(name) is not None):
                help = f"an argument is given by its name; to compare, write `{name} == {argument.value.span.text}`"
            elif name in ("keepdim", "keepdims"):
                help = "leave it out: axes align by their names; over a width `broadcast[seq](x)` spreads a value"
        if near and argument.name is not None:
            fix = [(argument.name.span, near)]
        takes = f"takes {len(op.operands)} operand{'s' if len(op.operands) > 1 else ''}"
        self.problems.report(
            "E0319",
            f"`{made.shown}` {takes if name is None else f'has no argument `{name}`'}",
            argument.span,
            "one too many" if name is None else "",
            help=help,
            fix=fix,
        )

    def _as_where(
        self, call: s.CallExpr, argument: s.Argument, mask: TypedValue | None
    ) -> tuple[str, list[tuple[Span, str]]]:
        """A mask among the arguments, as it is written: behind what it masks."""
        first = call.arguments[0]
        text = argument.value.span.text
        if first is argument or isinstance(first.value, s.WhereExpr):
            return f"a mask stands behind what it masks: `x where {'m' if first is argument else 'm and n'}`", []
        if mask is not None and not mask.is_bool:
            return f"a mask stands behind what it masks, `x where m`; {kept(argument.value)}", []
        brackets = call.brackets.span.text if call.brackets is not None else ""
        help = f"a mask stands behind what it masks: `{call.callee.text}{brackets}({first.span.text} where {text})`"
        end = first.span.end
        piped = first.span.start < call.callee.span.start
        fix = [(Span(call.span.source, end, end), f" where {text}"), *without(call, [argument])]
        return help, fix if mask is not None and not piped else []

    def _complete(self, call: s.CallExpr, op: Op, made: OpApplication, given: set[str], good: bool) -> bool:
        """Fill in the defaults of options. One that must be given and is missing is reported if all else was `good`."""
        missing = [name for name in op.operands if name not in given]
        if missing and good:
            self.report("E0319", f"`{made.shown}` lacks {listed(missing)}", call.span, help=_with_more(call, missing))
            good = False
        for option in op.options:
            if option.name not in made.options and option.name not in given:
                if option.default is None:
                    if good:
                        self.problems.report(
                            "E0319",
                            f"`{made.shown}` lacks `{option.name}`: {option.doc}",
                            call.span,
                            help=_with_more(call, [option.name]),
                        )
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
            masked = ", ".join(f"`{o.name}`" for o in OPS.values() if o.masked)
            self.problems.report(
                "E0308",
                f"`{made.shown}` takes no `where`",
                where.span,
                help=f"these take one: {masked}; or choose values with `select(m, x, y)`",
            )
            return wire, None
        if mask is not None and not mask.is_bool:
            self.problems.report(
                "E0304",
                f"a mask is a truth value, but this is {show(mask)}",
                where.mask.span,
                help=kept(where.mask),
            )
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
            self.problems.report(
                "E0320",
                f"`{option.name}` is a number known at build time, but this is {show(wire)}",
                argument.span,
                help=f"in an expression `{names[0].text}` is an index; its size is `|{names[0].text}|`"
                if names
                else f"pass a number, a const or a size; `{option.name}` is {option.doc}",
                fix=[(name.span, f"|{name.text}|") for name in names],
            )
            return False
        if isinstance(option.default, bool) and self.environment.is_open(wire.static):
            made.options[option.name] = Literal(option.default)
            return True
        value = checked_number(self.environment.of_sizes, wire.static, argument.span)
        if isinstance(option.default, bool) != (wire.element is Scalar.BOOL):
            wanted = "true or false" if isinstance(option.default, bool) else "a number"
            self.problems.report("E0320", f"`{option.name}` is {wanted}", argument.span, help=option.doc)
            return False

        def validate(problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
            value = known(numbers[0])
            complaint = None if value is None else option.check(value)
            if complaint:
                problems.report("E0320", f"`{option.name}` is {value}, but {complaint}", place, help=option.doc)

        complaint = option.check(value) if value is not None and self.environment.taken else None
        if complaint and isinstance(value, float) and value.is_integer() and option.check(int(value)) is None:
            at, text = argument.value.span, f"floor({argument.value.span.text})"
            self.problems.report("E0320", f"`{option.name}` is {value}, but {complaint}", argument.span,
                        help=f"`/` gives a real number; write `{text}`", fix=[(at, text)])  # fmt: skip
            return False
        if not made.in_each_pass(validate, argument.span, wire.static):
            return False
        if isinstance(option.default, bool) and value is None:
            if self.environment.known_at_calls(wire.static):
                made.options[option.name] = Literal(option.default)
                return True
            self.report("E0320", f"`{option.name}` must be known at build time", argument.span, help=option.doc)
            return False
        made.options[option.name] = wire.static
        return True

    def _brackets(self, call: s.CallExpr, op: Op, made: OpApplication, form: Usage) -> bool:
        """Resolve what stands in brackets, and check its form."""
        brackets = call.brackets
        if brackets is None:
            if op.brackets is Brackets.NONE:
                return True
            form.no_brackets()
            return False
        if op.brackets is Brackets.NONE:
            self.problems.report(
                "E0318",
                f"`{made.shown}` works item by item: it takes no brackets",
                brackets.span,
                help=f"write `{rewritten.call(call, brackets=[])}`",
                fix=[(brackets.span, "")]
                if all(self.environment.axis(item.name.text) for item in brackets.items)
                else [],
            )
            return False
        for item in brackets.items:
            if item.rename is not None or item.value is not None:
                if item.rename is not None:
                    help = f"rename the operand, `x[{item.span.text}]`, and write `{item.rename.text}` here"
                elif item.name.text in arguments(op):
                    help = f"`{item.span.text}` stands in parentheses, behind the operand"
                else:
                    help = (
                        f"write `{item.name.text}` alone; an item of an operand is picked there, `x[{item.span.text}]`"
                    )
                self.report("E0318", f"the brackets of `{made.shown}` hold names of axes", item.span, help=help)
                return False
        names = [item.name for item in brackets.items]
        if op.brackets is Brackets.ACTS and all(name.text[0].isdigit() for name in names):
            form.by_number()
            return False
        axes, each = self.axes(names), self.axes(brackets.each)
        result = self.axes(brackets.result, _whole(op, axes)) if brackets.result is not None else []
        if axes is None or each is None or result is None:
            return False
        if (op.brackets is Brackets.MAP) != (brackets.result is not None):
            if op.brackets is Brackets.MAP:
                form.no_arrow(axes)
            else:
                alone = rewritten.call(call, brackets=[name.text for name in names])
                self.problems.report(
                    "E0318", f"`{made.shown}` makes no axes: no arrow here", brackets.span, help=f"write `{alone}`"
                )
            return False
        if form.apart:
            form.doubled()
            return False
        if brackets.each and not op.each:
            rest = brackets.span.text[1:-1].partition(":")[2].strip()
            alone = rewritten.call(call, brackets=[rest])
            self.report("E0318", f"`{made.shown}` takes no colon", brackets.each[0].span, help=f"write `{alone}`")
            return False
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
                    self.problems.report(
                        "E0322",
                        f"`{axis.name}` stands twice in these brackets",
                        place,
                        help="name each axis once",
                    )
                    return False
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
                self.report("E0320", "this is no initialisation", expr.span, help=f"write one of {listed(INITS)}")
                return None
        callee, arguments = expr.callee, expr.arguments
        if callee.text not in INITS:
            other, near = OTHER_INITS.get(callee.text.rstrip("_")), nearest(callee.text, INITS)
            self.problems.report(
                "E0320",
                f"no initialisation is named `{callee.text}`",
                callee.span,
                help=other or (f"did you mean `{near}`?" if near else f"there are {listed(INITS)}"),
                fix=respelt(callee.span, near) if other is None else [],
            )
            return None
        if len(arguments) != INITS[callee.text] or any(a.name for a in arguments):
            self.problems.report(
                "E0320",
                f"`{callee.text}` takes {'one' if INITS[callee.text] else 'no'} number",
                expr.span,
                help="`normal(std)`, `uniform(bound)`, `constant(c)`, `zeros`, `ones`, `xavier`",
            )
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
                self.problems.report(
                    "E0320",
                    "an initialisation takes a number known at build time",
                    argument.span,
                    help="the weights of all passes begin alike: pass a number that does not depend on the pass"
                    if in_a_pass
                    else "pass a number, a const or a size",
                )
                return None
            if value < 0 and callee.text != "constant":
                self.problems.report(
                    "E0320",
                    f"`{callee.text}` takes a number of 0 or more, but this is {value}",
                    argument.span,
                    help="it says how far the first values lie from 0",
                )
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


def _is_number(name: s.Ident) -> bool:
    """Whether a number stands where brackets hold names: the grammar accepts it, for a better message than its own."""
    return name.text[0].isdigit()


def _without(wire: TypedValue, axes: Iterable[Axis]) -> TypedValue:
    """The value without those broadcast axes that an op is about to make."""
    broadcast_axes = wire.type.broadcast_axes & set(axes)
    if not broadcast_axes:
        return wire
    kept = tuple(axis for axis in wire.type.axes if axis not in broadcast_axes)
    return replace(wire, type=Type(wire.element, kept, wire.type.broadcast_axes - broadcast_axes))


def _with_more(call: s.CallExpr, names: Iterable[str]) -> str:
    """The help that adds arguments of these names to a call."""
    given = [each.span.text for each in call.arguments]
    return f"write `{rewritten.call(call, arguments=[*given, *(f'{name} = ...' for name in names)])}`"
