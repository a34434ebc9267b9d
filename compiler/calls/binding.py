"""What a call gives a block: axes and consts in brackets, arguments in parentheses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base import rewritten
from ..base.idioms import MASK_WORDS
from ..base.names import listed, nearest, respelt
from ..base.rewritten import without
from ..graph.typed_value import TypedValue, show
from ..names.modules import BlockDef
from ..names.written_sizes import const_static, size_static
from ..sizes.axes import Axis, Const, Kind, Static, axes_in
from ..typing.scope import Scope
from .checker import Checker


@dataclass
class Binding:
    """One call: its names resolved, its parameters and arguments sorted out."""

    checker: Checker
    body: Scope
    block: BlockDef
    call: s.CallExpr
    shared: str | None
    misplaced: bool = field(default=False, init=False)  # what brackets lack stands among the arguments

    @property
    def called(self) -> str:
        """The block as messages call it: by the name that the file of the call has for it."""
        written = self.call.callee.text
        names = [name for name, block in self.body.environment.module.blocks.items() if block is self.block]
        return written if written in names else next(iter(names), self.block.name)

    def _name(self) -> str | None:
        """The path that the call adds to the names of weights (D11)."""
        if self.shared is not None:
            if self.call.label is not None:
                self.body.problems.report(
                    "E0319",
                    "a shared block has one name: no label here",
                    self.call.label.span,
                    help=f"write `{rewritten.call(self.call, label=False)}`",
                )
                return None
            return self.shared
        if self.block.is_model:
            if self.call.label is not None:
                self.body.problems.report(
                    "E0319",
                    "a model adds no path: no label here",
                    self.call.label.span,
                    help=f"write `{rewritten.call(self.call, label=False)}`: "
                    "a model has one set of weights, wherever it is called",
                )
                return None
            return ""
        return (self.call.label or self.call.callee).text

    def _parameters(self) -> set[str]:
        """All parameters that brackets may set."""
        return {*self.block.generics, *self.checker.file_names(self.block)}

    def _bind_parameters(self) -> dict[str, Axis | Static] | None:
        """What stands in brackets, by the parameter's name: an axis of the caller, or a number."""
        body, block, call = self.body, self.block, self.call
        generics = block.generics
        implicit = self.checker.file_names(block)
        order = list(generics)
        bound: dict[str, Axis | Static] = {}
        good = True
        brackets = call.brackets
        items = brackets.items if brackets else ()
        if brackets and (brackets.result is not None or brackets.each):
            own = [item.span for item in items]
            named = [each.text for each in (*(name.span for name in brackets.each), *own, *_spans(brackets.result))]
            body.problems.report(
                "E0318",
                f"`{self.called}` is a block: its brackets name axes, without an arrow",
                brackets.span,
                help=f"write `{rewritten.call(call, brackets=named)}`",
            )
            return None
        position = 0
        numbered = False  # whether a number without its name was reported: all of them are mended together
        for item in items:
            if item.rename is not None:
                help = f"rename what it is given, `x[{item.span.text}]`, and write `{item.rename.text}` here"
                body.problems.report("E0318", "brackets of a call name axes, they do not rename", item.span, help=help)
                return None
            if item.value is not None:
                name, value = item.name.text, item.value
                if name not in generics and name not in implicit:
                    near = nearest(name, [*generics, *implicit])
                    argument = any(formal.name.text == name for formal in block.decl.formals)
                    help = f"did you mean `{near}`?" if near else _has(generics, "parameters")
                    if argument:
                        rest = [each.span.text for each in items if each is not item]
                        given = [*(each.span.text for each in call.arguments), item.span.text]
                        written = rewritten.call(call, brackets=rest, arguments=given)
                        help = f"it is an argument, which stands in parentheses: `{written}`"
                    body.problems.report(
                        "E0401",
                        f"`{self.called}` has no parameter `{name}`",
                        item.name.span,
                        help=help,
                        fix=respelt(item.name.span, near) if not argument else [],
                    )
                    good = False
                    continue
            else:
                if position >= len(order):
                    body.problems.report(
                        "E0401",
                        f"`{self.called}` takes {len(order)} parameter{'s' if len(order) != 1 else ''} "
                        f"in brackets, but this is number {position + 1}",
                        item.span,
                        related=[(block.decl.head, "declared here")],
                        help=f"write `{rewritten.call(call, brackets=self._fewer(items, len(order)))}`",
                    )
                    return None
                name, value = order[position], s.Name(item.name.text, item.name.span)
                position += 1
                if item.name.text[0].isdigit() and generics[name].kind != "width":
                    if not numbered:
                        self._refuse_number(name, item, items, order)
                    good, numbered = False, True
                    continue
            if name in bound:
                body.report("E0401", f"parameter `{name}` is given twice", item.span, help="leave one of the two out")
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
            help, fix = self._parenthesised(bound, lacking)
            if not help:
                help, fix = self._completed(bound, lacking)
            body.problems.report(
                "E0401",
                f"`{self.called}` needs {listed(lacking)} in brackets",
                call.brackets.span if call.brackets else call.callee.span,
                related=[(block.decl.head, "declared here")],
                help=help,
                fix=fix,
            )
        return bound if good and not missing else None

    def _refuse_number(
        self, name: str, item: s.BracketItem, items: tuple[s.BracketItem, ...], order: list[str]
    ) -> None:
        """Report a number in the place of an axis. What follows it needs its name too, as names take no place."""
        named = {each.name.text for each in items if each.value is not None}
        name = next((each for each in order[order.index(name) :] if each not in named), name)
        rest = [each for each in items[items.index(item) :] if each.value is None]
        names = order[order.index(name) :]
        edits = [(each.span, f"{own} = {each.span.text}") for own, each in zip(names, rest, strict=False)]
        plain = all(each.value is None for each in items)  # beside names it is a guess which one is meant
        self.body.problems.report(
            "E0401",
            f"`{name}` of `{self.called}` is given a number, which goes in by name",
            item.span,
            related=[(self.block.decl.head, "declared here")],
            help=f"write `{', '.join(text for _, text in edits)}`" if plain else f"write `{name} = {item.span.text}`",
            fix=edits if plain and len(rest) <= len(names) else [],
        )

    def _parenthesised(self, bound: dict[str, Axis | Static], missing: list[str]) -> tuple[str, list[tuple[Span, str]]]:
        """The help, and the edits, if what is missing in brackets stands, as it seems, in the parentheses behind the
        arguments.
        """
        call, generics = self.call, self.block.generics
        given = [argument for argument in call.arguments if argument.name is None]
        extra = len(given) - len(self.block.decl.formals)
        self.misplaced = extra > 0
        if extra != len(missing):
            return "", []
        stay, moved = given[:-extra], given[-extra:]
        if any(argument.span.start < call.callee.span.start for argument in moved):  # what was piped
            return "", []
        parts, fits = [], True
        by_name = list(generics)[: len(bound) + extra] != [*bound, *missing]
        for name, argument in zip(missing, moved, strict=True):
            value, text = argument.value, argument.span.text
            axis = self.body.environment.axis(text) if isinstance(value, s.Name) else None
            if generics[name].kind == "const":
                is_value = isinstance(value, s.Name) and value.text in self.body.variables
                fits, by_name = fits and axis is None and not is_value, True  # and so what follows: names take no place
            else:
                fits = fits and axis is not None and axis.kind.value == generics[name].kind
            parts.append(f"{name} = {text}" if by_name else text)
        if not fits:
            return "", []
        source, brackets = call.span.source, call.brackets
        place = brackets.span.end - 1 if brackets else (call.label or call.callee).span.end
        callee = Span(source, call.callee.span.start, place).text
        added = f", {', '.join(parts)}" if brackets and brackets.items else f"[{', '.join(parts)}"
        written = f"{callee}{added}]({', '.join(argument.span.text for argument in stay)})"
        fix = [(Span(source, place, place), added if brackets else f"{added}]"), *without(call, moved)]
        return f"what is known at build time stands in brackets: `{written}`", fix

    def _completed(self, bound: dict[str, Axis | Static], missing: list[str]) -> tuple[str, list[tuple[Span, str]]]:
        """The help with the axes that the arguments have, where these leave no choice, and the edit that adds them."""
        meant = self._meant({name: value for name, value in bound.items() if isinstance(value, Axis)})
        widths = [axis for axis in meant.values() if axis.is_width]
        if not set(missing) <= meant.keys() or len(set(widths)) < len(widths):  # a copy is to be declared first
            items = self.call.brackets.items if self.call.brackets is not None else ()
            given = [*(item.span.text for item in items), *(f"{name} = ..." for name in missing)]
            return f"write `{rewritten.call(self.call, brackets=given)}`", []
        order = list(self.block.generics)
        ahead = order[: len(missing) + len(bound)] == [*bound, *missing]
        added = ", ".join(meant[name].name if ahead else f"{name} = {meant[name].name}" for name in missing)
        brackets, source = self.call.brackets, self.call.span.source
        place = brackets.span.end - 1 if brackets else (self.call.label or self.call.callee).span.end
        written = f"{brackets.span.text[:-1]}, {added}]" if brackets else f"[{added}]"
        callee = Span(source, self.call.callee.span.start, (self.call.label or self.call.callee).span.end)
        edit = f", {added}" if brackets else written
        return f"write `{callee.text}{written}(...)`", [(Span(source, place, place), edit)]

    def _meant(self, known: dict[str, Axis]) -> dict[str, Axis]:
        """The axes that parameters stand for: those given, and those that follow from arguments that are names."""
        formals = {formal.name.text: formal for formal in self.block.decl.formals}
        generics, order = self.block.generics, list(formals)
        pairs = []
        for number, argument in enumerate(self.call.arguments):
            name = argument.name.text if argument.name else order[number] if number < len(order) else ""
            wire = self.body.variables.get(argument.value.text) if isinstance(argument.value, s.Name) else None
            if name in formals and wire is not None:
                pairs.append(([axis.text for axis in formals[name].type.axes], wire.axes))
        found = dict(known)
        for _ in generics:  # each round finds one more, or none
            for names, axes in pairs:
                taken = [found.get(name) for name in names]
                for kind in ("width", "depth"):
                    wanted = [name for name in names if name in generics and generics[name].kind == kind]
                    open_ = [name for name in wanted if name not in found]
                    free = [axis for axis in axes if axis.kind.value == kind and axis not in taken]
                    free = [axis for axis in free if axis.name not in names or axis.name in generics]
                    if len(open_) == len(free) == 1:
                        found[open_[0]] = free[0]
        return found

    def _to_brackets(self, index: int) -> list[tuple[Span, str]]:
        """The edits that bring an argument from the parentheses to the brackets."""
        call, source = self.call, self.call.span.source
        argument = call.arguments[index]
        start, end = argument.span.start, argument.span.end
        before = call.arguments[index - 1].span if index else None
        if before is not None and before.start > call.callee.span.start:  # not what was piped
            start = before.end
        elif index + 1 < len(call.arguments):
            end = call.arguments[index + 1].span.start
        place = call.brackets.span.end - 1 if call.brackets else (call.label or call.callee).span.end
        text = f", {argument.span.text}" if call.brackets else f"[{argument.span.text}]"
        return [(Span(source, place, place), text), (Span(source, start, end), "")]

    def _kind(self, item: Axis | Const) -> str:
        return item.kind.value if isinstance(item, Axis) else "const"

    def _mask_of(self, name: str, formals: Mapping[str, s.Formal]) -> str:
        """The help where a call asks for a mask by another language's name for it, or by a truth value."""
        masks = [each for each, formal in formals.items() if formal.type.element and formal.type.element.text == "bool"]
        if not masks or name not in {*MASK_WORDS, "is_causal", "causal", "causal_mask"}:
            return ""
        items = self.call.brackets.items if self.call.brackets is not None else ()
        seen, by = (items[1].name.text, items[0].name.text) if len(items) == 2 else ("past", "seq")
        return f"its mask is `{masks[0]}`: `{masks[0]} = {seen} <= {by}` lets in what is not after"

    def _doubled(self) -> str:
        """The help where an argument is given twice."""
        return "leave one of the two out"

    def _lacking(self, missing: list[str]) -> str:
        """The help where arguments are missing."""
        given = [each.span.text for each in self.call.arguments]
        return f"write `{rewritten.call(self.call, arguments=[*given, *(f'{name} = ...' for name in missing)])}`"

    @staticmethod
    def _fewer(given: Sequence[s.BracketItem | s.Argument], most: int) -> list[str]:
        """The arguments given by name, and at most so many of those given by position."""
        kept = []
        for each in given:
            named = each.name is not None and each.value is not None
            most -= not named
            if named or most >= 0:
                kept.append(each.span.text)
        return kept

    def _parameter(self, name: str, kind: str, value: s.Expr) -> Axis | Static | None:
        body = self.body
        if kind == "const":
            if (
                isinstance(value, s.Name)
                and body.environment.axis(value.text) is not None
                and body.environment.const(value.text) is None
            ):
                named = value.span.source.text[: value.span.start].rstrip().endswith("=")
                body.problems.report(
                    "E0402",
                    f"`{name}` is a const, but `{value.text}` is an axis",
                    value.span,
                    help=f"its size as a number is `|{value.text}|`: `{name} = |{value.text}|`",
                    fix=[(value.span, f"|{value.text}|" if named else f"{name} = |{value.text}|")],
                )
                return None
            if isinstance(value, s.ListExpr) or body.listed(value) is not None:
                return const_static(value, body.lookup, body.environment.problems)
            wire = body.expr(value)
            if wire is None:
                return None
            if wire.static is None:
                body.problems.report(
                    "E0402",
                    f"`{name}` is a const: a number known at build time, but this is {show(wire)}",
                    value.span,
                    help="pass a number, a const or a size; what is known at run time is an argument, in parentheses",
                )
                return None
            return wire.static
        if isinstance(value, s.Name) and body.environment.axis(value.text) is not None:
            axis = body.axis(s.Ident(value.text, value.span))
            assert axis is not None
            if axis.kind.value != kind:
                body.problems.report(
                    "E0402",
                    f"parameter `{name}` of `{self.called}` is a {kind}, but `{axis.name}` is a {axis.kind.value}",
                    value.span,
                    related=[
                        (axis.span, f"`{axis.name}` is declared here"),
                        (self.block.decl.head, f"`{name}` is a {kind} here"),
                    ],
                    help=f"pass a {kind}",
                )
                return None
            return axis
        if isinstance(value, s.Name) and body.environment.const(value.text) is None and not value.text[0].isdigit():
            body.axis(s.Ident(value.text, value.span))
            return None
        if kind == "width":
            body.problems.report(
                "E0402",
                f"parameter `{name}` of `{self.called}` is a width: it takes an axis, not a number",
                value.span,
                help="pass a width that an argument has",
            )
            return None
        static = size_static(value, body.lookup, body.environment.problems)
        if static is None:
            return None
        if not body.environment.known_depth(name, static, value.span):
            return None
        static = body.size_in_this_pass(Kind.DEPTH, static)
        extent, size = body.environment.sized(static, value.span, name)
        formula = size if extent is None or axes_in(static) else None
        return body.opened(self.checker.session.axis(name, Kind.DEPTH, extent=extent, size=formula, span=value.span))

    # Arguments.

    def _bind_arguments(self) -> dict[str, tuple[TypedValue, Span]] | None:
        body, block, call = self.body, self.block, self.call
        formals = {formal.name.text: formal for formal in block.decl.formals}
        order = list(formals)
        found: dict[str, tuple[TypedValue, Span]] = {}
        given: set[str] = set()
        good = True
        position = 0
        for index, argument in enumerate(call.arguments):
            value = argument.value
            wire = body.expr(value)
            if argument.name is None:
                if position >= len(order):
                    if self.misplaced:  # said already
                        return None
                    body.problems.report(
                        "E0410",
                        f"`{self.called}` takes {len(order)} argument{'s' if len(order) != 1 else ''}, "
                        f"but this is number {position + 1}",
                        argument.span,
                        related=[(block.decl.head, "declared here")],
                        help=f"write `{rewritten.call(call, arguments=self._fewer(call.arguments, len(order)))}`",
                    )
                    return None
                name = order[position]
                position += 1
            else:
                name = argument.name.text
                if name not in formals and name in self._parameters():
                    body.problems.report(
                        "E0410",
                        f"`{name}` is no argument of `{self.called}`, but one of its parameters",
                        argument.name.span,
                        related=[(block.decl.head, "declared here")],
                        help="parameters stand in brackets",
                        fix=self._to_brackets(index),
                    )
                    good = False
                    continue
                if name not in formals:
                    near = nearest(name, formals)
                    body.problems.report(
                        "E0410",
                        f"`{self.called}` has no argument `{name}`",
                        argument.name.span,
                        related=[(block.decl.head, "declared here")],
                        help=f"did you mean `{near}`?"
                        if near
                        else self._mask_of(name, formals) or _has(formals, "arguments"),
                        fix=[(argument.name.span, near)] if near else [],
                    )
                    good = False
                    continue
            if name in given:
                body.problems.report("E0410", f"argument `{name}` is given twice", argument.span, help=self._doubled())
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
            body.problems.report(
                "E0410",
                f"`{self.called}` lacks its argument{'s' if len(missing) > 1 else ''} {listed(missing)}",
                call.span,
                related=[(block.decl.head, "declared here")],
                help=self._lacking(missing),
            )
            good = False
        return found if good else None


def _spans(names: tuple[s.Ident, ...] | None) -> list[Span]:
    return [name.span for name in names or ()]


def _has(names: Iterable[str], what: str) -> str:
    """Which parameters or arguments a block has, in words."""
    return f"it has {listed(names) or f'no {what}'}"
