"""Calls of blocks, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ....dsl import syntax as s
from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base import rewritten
from ...base.idioms import MASK_WORDS
from ...base.names import either, indexed, listed, nearest, respelt
from ...base.rewritten import without
from ...graph.typed_value import show, show_axes, show_type
from ...problems import calls as p
from ...sizes.axes import Axis
from .. import unlike
from ..copies import copies, other_copy
from ..table import say, tells
from ..words import Wording
from .forms import with_more

Edits = list[tuple[Span, str]]


@tells(p.NoCopyGiven)
def no_copy_given(problem: p.NoCopyGiven, words: Wording) -> Diagnostic:
    actual, original = problem.actual, problem.original
    return say(
        problem,
        f"`{problem.called}` wants `{problem.parameter}` to be a copy of `{problem.like}`, but "
        f"`{actual.name}` is no copy of `{original.name}`",
        related=[(problem.generic.span, "required here"), (actual.span, f"`{actual.name}` is declared here")],
        help=unlike.passed(original, actual, problem.around, rewritten.call(problem.call), words),
    )


@tells(p.OneAxisForTwo)
def one_axis_for_two(problem: p.OneAxisForTwo, words: Wording) -> Diagnostic:
    actual, q, (a, b) = problem.actual, words.quoted, problem.parameters
    known = copies(actual, problem.around)
    copy, declared = other_copy(actual, problem.around, words)
    help = f"declare a copy, {declared}, and rename: {q(f'x[{actual.name} as {copy}]')}"
    if known:
        renamed = q(f"x[{actual.name} as {known[0]}]")
        help = f"{q(known[0])} is a copy of it: rename, {renamed}, and name it in the brackets"
    written = _with_copy(problem, known[0] if known else copy)
    if written:
        first = f"{q(known[0])} is a copy of it" if known else f"declare a copy, {declared}"
        help = f"{first}: name it in the brackets, and rename what runs along `{b}`, {q(written)}"
    carrier = f"`{problem.name}`" if problem.name else "a value"
    if problem.in_body:
        carrier = f"{carrier} of its body"
    return say(
        problem,
        f"`{a}` and `{b}` of `{problem.called}` are both bound to `{actual.name}`, but {carrier} carries both",
        related=[(problem.carrier, "carries both"), (actual.span, f"`{actual.name}` is declared here")],
        help=help,
    )


def _with_copy(problem: p.OneAxisForTwo, copy: str) -> str:
    """The call with a copy of the axis for the second of the two parameters; "" where it does not name them."""
    call, (first, second), actual = problem.call, problem.parameters, problem.actual.name
    items, order = _items(call), [generic.name.text for generic in problem.decl.generics]
    if len(call.arguments) > len(problem.decl.formals) or any(item.value is not None for item in items):
        return ""
    brackets = [copy if name == second else item.span.text for name, item in zip(order, items, strict=False)]
    if brackets == [item.span.text for item in items] or len(items) > len(order):
        return ""
    formals = {formal.name.text: {axis.text for axis in formal.type.axes} for formal in problem.decl.formals}
    masks = {each.name.text: each.type.element and each.type.element.text == "bool" for each in problem.decl.formals}
    given = []
    for place, argument in zip(formals, call.arguments, strict=False):
        name = argument.name.text if argument.name else place
        value, axes = argument.value, formals.get(name, set())
        text = value.span.text
        if first in axes and second in axes and not isinstance(value, s.Truth) and not masks.get(name):
            return ""
        if second not in axes or isinstance(value, s.Truth | s.NumberLiteral):
            given.append(argument.span.text)
            continue
        compared = isinstance(value, s.Binary) and first in axes  # a mask of places: the keys stand before
        renamed = re.sub(rf"^{actual}\b", copy, text) if compared else indexed(text, f"[{actual} as {copy}]")
        given.append(argument.span.text.removesuffix(text) + renamed)
    return rewritten.call(call, brackets=brackets, arguments=given)


@tells(p.ArgumentLacks)
def argument_lacks(problem: p.ArgumentLacks, words: Wording) -> Diagnostic:
    wire, span, formal = problem.value, problem.span, problem.formal
    assert span is not None
    name, shown = formal.name.text, show_axes(problem.wanted)
    help, fix = _instead(problem, span, words)
    related = [(formal.span, f"`{name}` is declared here")]
    if wire.span.source is span.source and (wire.span.start, wire.span.end) != (span.start, span.end):
        related.append((wire.span, "it comes from here"))
    return say(
        problem,
        f"`{name}` of `{problem.called}` should be {shown}, but this is {show(wire)}: no "
        f"{either(axis.name for axis in problem.missing)}",
        f"this is {show(wire)}",
        related=related,
        help=help,
        fix=fix,
    )


def _instead(problem: p.ArgumentLacks, span: Span, words: Wording) -> tuple[str, list[tuple[Span, str]]]:
    """What was likely meant, and the edit if it is clear."""
    missing, extra, q = problem.missing, problem.extra, words.quoted
    pairs = [(axis.name, other.name) for axis in missing for other in extra if other.family == axis.family]
    if pairs:
        axis, other = pairs[-1]
        renamed = indexed(span.text, f"[{other} as {axis}]")
        end = Span(span.source, span.end, span.end)
        fix = [(span, renamed)] if renamed[0] == "(" else [(end, renamed[len(span.text) :])]
        return f"{q(other)} and {q(axis)} are copies of one axis: write {q(renamed)}", fix
    widths = [axis.name for axis in missing if axis.is_width]
    if extra:
        have, want = words.listed(extra), words.listed(missing)
        help = f"is this the right value? it has {have} instead of {want}"
        if problem.changed:
            order = "do the arguments, or the axes in brackets, stand in the right order?"
            return f"{help}; {order} {q(problem.changed)} fits", []
        if problem.fitting:
            return f"{help}; was {either(problem.fitting[:3])} meant?", []
        if problem.turned:
            help += "; do the arguments, or the axes in brackets, stand in the right order?"
        if problem.turned and not widths and not problem.named:
            spread = q(f"broadcast[{', '.join(axis.name for axis in missing)}]({span.text})")
            help += f" if each {have} is meant with each {want}, write {spread}"
        return help, []
    if widths:
        spread = f"broadcast[{widths[0]}]({span.text})"
        return f"if the same value for every {q(widths[0])} is meant, write {q(spread)}", [(span, spread)]
    return "", []


@tells(p.ArgumentNamesake)
def argument_namesake(problem: p.ArgumentNamesake, words: Wording) -> Diagnostic:
    theirs, mine, called, q = problem.theirs, problem.mine, problem.called, words.quoted
    used = problem.block if called == problem.block else f"{problem.block} as {called}"
    return say(
        problem,
        f"two axes named `{mine.name}` meet: `{called}` has one of {problem.file}, its argument another",
        f"knows the `{theirs.name}` of {problem.file}",
        related=[
            (problem.argument, f"this is {show(problem.value)}, with another `{mine.name}`"),
            (theirs.span, f"the `{theirs.name}` of `{called}`"),
            (mine.span, f"the `{mine.name}` of the argument"),
        ],
        help=f"name it in the {q('use')}, and there is one for both: {q(f'use ...: {used}, {mine.name}')}",
        fix=problem.use,
    )


@tells(p.LiftsMentioned)
def lifts_mentioned(problem: p.LiftsMentioned, words: Wording) -> Diagnostic:
    name, axis, parameter = problem.formal.name.text, problem.axis.name, problem.parameter.name
    return say(
        problem,
        f"`{name}` of `{problem.called}` carries `{axis}` too many: the block "
        f"uses that axis itself" + (f" (as `{parameter}`)" if parameter != axis else ""),
        f"this is {show(problem.value)}",
        related=[(problem.formal.span, f"`{name}` is declared here")],
        help="a call may not lift over an axis that the block mentions: rename it to a copy, "
        f"{words.quoted(f'x[{axis} as other]')}, or pass what the argument asks for",
    )


@tells(p.LabelOfOneSet)
def label_of_one_set(problem: p.LabelOfOneSet, words: Wording) -> Diagnostic:
    written = f"write `{rewritten.call(problem.call, label=False)}`"
    if problem.model:
        help = f"{written}: a model has one set of weights, wherever it is called"
        return say(problem, "a model adds no path: no label here", help=help)
    return say(problem, "a shared block has one name: no label here", help=written)


# -- parameters


@tells(p.BlockArrow)
def block_arrow(problem: p.BlockArrow, words: Wording) -> Diagnostic:
    call, brackets = problem.use.call, problem.use.call.brackets
    assert brackets is not None
    idents = [name.span for name in (*brackets.each, *(brackets.result or ()))]
    spans = [*idents[: len(brackets.each)], *(item.span for item in brackets.items), *idents[len(brackets.each) :]]
    return say(
        problem,
        f"`{problem.use.called}` is a block: its brackets name axes, without an arrow",
        help=f"write `{rewritten.call(call, brackets=[span.text for span in spans])}`",
    )


@tells(p.NoParameter)
def no_parameter(problem: p.NoParameter, words: Wording) -> Diagnostic:
    use, item = problem.use, problem.item
    name, span = item.name.text, item.name.span
    near = nearest(name, problem.known)
    help = f"did you mean `{near}`?" if near else _has((each.name.text for each in use.decl.generics), "parameters")
    argument = any(formal.name.text == name for formal in use.decl.formals)
    if argument:
        rest = [each.span.text for each in _items(use.call) if each is not item]
        given = [*(each.span.text for each in use.call.arguments), item.span.text]
        written = rewritten.call(use.call, brackets=rest, arguments=given)
        help = f"it is an argument, which stands in parentheses: `{written}`"
    fix = [] if argument else respelt(span, near)
    return say(problem, f"`{use.called}` has no parameter `{name}`", help=help, fix=fix)


def _items(call: s.CallExpr) -> tuple[s.BracketItem, ...]:
    return call.brackets.items if call.brackets is not None else ()


def _has(names: Iterable[str], what: str) -> str:
    """Which parameters or arguments a block has."""
    return f"it has {listed(dict.fromkeys(names)) or f'no {what}'}"


@tells(p.TooManyParameters)
def too_many_parameters(problem: p.TooManyParameters, words: Wording) -> Diagnostic:
    call, most = problem.use.call, len(_generics(problem.use))
    kept = rewritten.call(call, brackets=_fewer(_items(call), most))
    takes = f"takes {most} parameter{'s' if most != 1 else ''} in brackets"
    return _too_many(problem, problem.use, takes, most, kept)


@tells(p.TooManyArguments)
def too_many_arguments(problem: p.TooManyArguments, words: Wording) -> Diagnostic:
    call, most = problem.use.call, len({formal.name.text for formal in problem.use.decl.formals})
    kept = rewritten.call(call, arguments=_fewer(call.arguments, most))
    takes = f"takes {most} argument{'s' if most != 1 else ''}"
    return _too_many(problem, problem.use, takes, most, kept)


def _too_many(
    problem: p.TooManyParameters | p.TooManyArguments, use: p.BlockUse, takes: str, most: int, kept: str
) -> Diagnostic:
    message = f"`{use.called}` {takes}, but this is number {most + 1}"
    return say(problem, message, related=[(use.decl.head, "declared here")], help=f"write `{kept}`")


def _fewer(given: Sequence[s.BracketItem | s.Argument], most: int) -> list[str]:
    """The arguments given by name, and at most so many of those given by position."""
    kept = []
    for each in given:
        named = each.name is not None and each.value is not None
        most -= not named
        if named or most >= 0:
            kept.append(each.span.text)
    return kept


@tells(p.NumberForParameter)
def number_for_parameter(problem: p.NumberForParameter, words: Wording) -> Diagnostic:
    use, item, name, items = problem.use, problem.item, problem.name, _items(problem.use.call)
    order = list(_generics(use))
    named = {each.name.text for each in items if each.value is not None}
    name = next((each for each in order[order.index(name) :] if each not in named), name)
    rest = [each for each in items[items.index(item) :] if each.value is None]
    names = order[order.index(name) :]
    edits = [(each.span, f"{own} = {each.span.text}") for own, each in zip(names, rest, strict=False)]
    plain = all(each.value is None for each in items)  # beside names it is a guess which one is meant
    return say(
        problem,
        f"`{name}` of `{use.called}` is given a number, which goes in by name",
        related=[(use.decl.head, "declared here")],
        help=f"write `{', '.join(text for _, text in edits)}`" if plain else f"write `{name} = {item.span.text}`",
        fix=edits if plain and len(rest) <= len(names) else [],
    )


def _generics(use: p.BlockUse) -> dict[str, s.Generic]:
    """The parameters in brackets; of two of one name, which is a mistake, the first."""
    found: dict[str, s.Generic] = {}
    for generic in use.decl.generics:
        found.setdefault(generic.name.text, generic)
    return found


@tells(p.ParametersMissing)
def parameters_missing(problem: p.ParametersMissing, words: Wording) -> Diagnostic:
    use = problem.use
    help, fix = _parenthesised(problem)
    if not help:
        help, fix = _completed(problem)
    return say(
        problem,
        f"`{use.called}` needs {listed(problem.names)} in brackets",
        related=[(use.decl.head, "declared here")],
        help=help,
        fix=fix,
    )


def _parenthesised(problem: p.ParametersMissing) -> tuple[str, Edits]:
    """The help, and the edits, if what is missing in brackets stands, as it seems, in the parentheses behind the
    arguments.
    """
    call, generics, missing = problem.use.call, _generics(problem.use), problem.names
    given = [argument for argument in call.arguments if argument.name is None]
    extra = len(given) - len(problem.use.decl.formals)
    if extra != len(missing):
        return "", []
    stay, moved = given[:-extra], given[-extra:]
    if any(argument.span.start < call.callee.span.start for argument in moved):  # what was piped
        return "", []
    parts, fits, bound = [], True, [name for name, _ in problem.given]
    by_name = list(generics)[: len(bound) + extra] != [*bound, *missing]
    for name, argument in zip(missing, moved, strict=True):
        value, text = argument.value, argument.span.text
        axis = problem.around.names.get(text) if isinstance(value, s.Name) else None
        if generics[name].kind == "const":
            is_value = isinstance(value, s.Name) and value.text in problem.variables
            fits, by_name = fits and axis is None and not is_value, True  # and so what follows: names take no place
        else:
            fits = fits and axis is not None and axis.kind.value == generics[name].kind
        parts.append(f"{name} = {text}" if by_name else text)
    if not fits:
        return "", []
    source, brackets, place = call.span.source, call.brackets, _end_of_brackets(call)
    callee = Span(source, call.callee.span.start, place).text
    added = f", {', '.join(parts)}" if brackets and brackets.items else f"[{', '.join(parts)}"
    written = f"{callee}{added}]({', '.join(argument.span.text for argument in stay)})"
    fix = [(Span(source, place, place), added if brackets else f"{added}]"), *without(call, moved)]
    return f"what is known at build time stands in brackets: `{written}`", fix


def _end_of_brackets(call: s.CallExpr) -> int:
    """Where more is written in brackets."""
    return call.brackets.span.end - 1 if call.brackets else (call.label or call.callee).span.end


def _completed(problem: p.ParametersMissing) -> tuple[str, Edits]:
    """The help with the axes that the arguments have, where these leave no choice, and the edit that adds them."""
    call, missing, bound = problem.use.call, problem.names, [name for name, _ in problem.given]
    meant = _meant(problem)
    widths = [axis for axis in meant.values() if axis.is_width]
    if not set(missing) <= meant.keys() or len(set(widths)) < len(widths):  # a copy is to be declared first
        given = [*(item.span.text for item in _items(call)), *(f"{name} = ..." for name in missing)]
        return f"write `{rewritten.call(call, brackets=given)}`", []
    order = list(_generics(problem.use))
    ahead = order[: len(missing) + len(bound)] == [*bound, *missing]
    added = ", ".join(meant[name].name if ahead else f"{name} = {meant[name].name}" for name in missing)
    brackets, source, place = call.brackets, call.span.source, _end_of_brackets(call)
    written = f"{brackets.span.text[:-1]}, {added}]" if brackets else f"[{added}]"
    callee = Span(source, call.callee.span.start, (call.label or call.callee).span.end)
    edit = f", {added}" if brackets else written
    return f"write `{callee.text}{written}(...)`", [(Span(source, place, place), edit)]


def _meant(problem: p.ParametersMissing) -> dict[str, Axis]:
    """The axes that parameters stand for: those given, and those that follow from arguments that are names."""
    formals = {formal.name.text: formal for formal in problem.use.decl.formals}
    generics, order = _generics(problem.use), list(formals)
    pairs = []
    for number, argument in enumerate(problem.use.call.arguments):
        name = argument.name.text if argument.name else order[number] if number < len(order) else ""
        axes = problem.values.get(argument.value.text) if isinstance(argument.value, s.Name) else None
        if name in formals and axes is not None:
            pairs.append(([axis.text for axis in formals[name].type.axes], axes))
    found = {name: axis for name, axis in problem.given if axis is not None}
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


@tells(p.AxisForConst)
def axis_for_const(problem: p.AxisForConst, words: Wording) -> Diagnostic:
    name, axis, span = problem.name, problem.axis, problem.span
    assert span is not None
    named = span.source.text[: span.start].rstrip().endswith("=")
    return say(
        problem,
        f"`{name}` is a const, but `{axis}` is an axis",
        help=f"its size as a number is `|{axis}|`: `{name} = |{axis}|`",
        fix=[(span, f"|{axis}|" if named else f"{name} = |{axis}|")],
    )


@tells(p.KindOfParameter)
def kind_of_parameter(problem: p.KindOfParameter, words: Wording) -> Diagnostic:
    name, kind, given, use = problem.name, problem.kind, problem.given, problem.use
    return say(
        problem,
        f"parameter `{name}` of `{use.called}` is a {kind}, but `{given.name}` is a {given.kind.value}",
        related=[(given.span, f"`{given.name}` is declared here"), (use.decl.head, f"`{name}` is a {kind} here")],
        help=f"pass a {kind}",
    )


# -- arguments


@tells(p.ParameterAsArgument)
def parameter_as_argument(problem: p.ParameterAsArgument, words: Wording) -> Diagnostic:
    call, source, number = problem.use.call, problem.use.call.span.source, problem.number
    argument = call.arguments[number]
    start, end = argument.span.start, argument.span.end
    before = call.arguments[number - 1].span if number else None
    if before is not None and before.start > call.callee.span.start:  # not what was piped
        start = before.end
    elif number + 1 < len(call.arguments):
        end = call.arguments[number + 1].span.start
    place = _end_of_brackets(call)
    text = f", {argument.span.text}" if call.brackets else f"[{argument.span.text}]"
    return say(
        problem,
        f"`{problem.name}` is no argument of `{problem.use.called}`, but one of its parameters",
        related=[(problem.use.decl.head, "declared here")],
        help="parameters stand in brackets",
        fix=[(Span(source, place, place), text), (Span(source, start, end), "")],
    )


@tells(p.NoArgument)
def no_argument(problem: p.NoArgument, words: Wording) -> Diagnostic:
    use, formals, at = problem.use, [formal.name.text for formal in problem.use.decl.formals], problem.argument.name
    assert at is not None
    near = nearest(at.text, formals)
    help = f"did you mean `{near}`?" if near else _mask_of(at.text, use) or _has(formals, "arguments")
    return say(
        problem,
        f"`{use.called}` has no argument `{at.text}`",
        related=[(use.decl.head, "declared here")],
        help=help,
        fix=[(at.span, near)] if near else [],
    )


def _mask_of(name: str, use: p.BlockUse) -> str:
    """The help where a call asks for a mask by another language's name for it, or by a truth value."""
    formals = use.decl.formals
    masks = [each.name.text for each in formals if each.type.element and each.type.element.text == "bool"]
    if not masks or name not in {*MASK_WORDS, "is_causal", "causal", "causal_mask"}:
        return ""
    items = _items(use.call)
    seen, by = (items[1].name.text, items[0].name.text) if len(items) == 2 else ("past", "seq")
    return f"its mask is `{masks[0]}`: `{masks[0]} = {seen} <= {by}` lets in what is not after"


@tells(p.ArgumentTwice)
def argument_twice(problem: p.ArgumentTwice, words: Wording) -> Diagnostic:
    use = problem.use
    help = "leave one of the two out" if use.call.scan is None else _scanned(use)
    return say(problem, f"argument `{problem.name}` is given twice", help=help)


@tells(p.ArgumentsMissing)
def arguments_missing(problem: p.ArgumentsMissing, words: Wording) -> Diagnostic:
    use, names = problem.use, problem.names
    return say(
        problem,
        f"`{use.called}` lacks its argument{'s' if len(names) > 1 else ''} {listed(names)}",
        related=[(use.decl.head, "declared here")],
        help=with_more(use.call, names) if use.call.scan is None else _scanned(use),
    )


# -- scans


def _scanned(use: p.BlockUse) -> str:
    """How the block is scanned: each state is given its first value by name, and so is what comes after one."""
    arguments: list[str] = []
    states = {result.name.text for result in use.decl.results if result.name}
    for formal in use.decl.formals:
        name, element = formal.name.text, formal.type.element
        first = "false" if element is not None and element.text == "bool" else "0"
        by_name = name in states or any(" = " in argument for argument in arguments)
        given = first if name in states else name
        arguments.append(f"{name} = {given}" if by_name else given)
    return f"write `{rewritten.call(use.call, arguments=arguments)}`"


@tells(p.NothingCarried)
def nothing_carried(problem: p.NothingCarried, words: Wording) -> Diagnostic:
    use, formals = problem.use, problem.use.decl.formals
    formal = formals[-1].name.text if formals else "h"
    return say(
        problem,
        f"no result of `{use.called}` is named like an argument, so nothing is carried from step to step",
        related=[(use.decl.head, "declared here")],
        help=f"name the result that is the next `{formal}`: `-> ({formal}: [...])`",
    )


@tells(p.StateType)
def state_type(problem: p.StateType, words: Wording) -> Diagnostic:
    use, formal, name = problem.use, problem.formal, problem.formal.name.text
    takes, gives = show_type(problem.takes), show_type(problem.gives)
    return say(
        problem,
        f"`{name}` goes from step to step, but `{use.called}` takes it as {takes} and gives it as {gives}",
        "its next value",
        related=[(formal.span, f"taken as {takes}"), (use.call.span, "scanned here")],
        help=f"give it the type that it is taken as, {words.quoted(f'{name}: {formal.type.span.text}')}, or name the "
        "result otherwise if it is no next value",
    )
