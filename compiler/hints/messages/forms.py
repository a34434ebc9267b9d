"""How ops and brackets are to be written, in words."""

from __future__ import annotations

from collections.abc import Iterable

from ....dsl import syntax as s
from ....dsl.diagnostic import Diagnostic
from ....dsl.mistakes.words import piece
from ....dsl.source import Span
from ...base import rewritten
from ...base.idioms import MASK_WORDS, OTHER_INITS
from ...base.names import listed, nearest, respelt
from ...base.rewritten import without
from ...graph.typed_value import show_type
from ...graph.values import Scalar, Type
from ...ops import INITS, OPS, Notation, Op, written
from ...problems import forms as p
from ..table import say, tells
from ..usage import Usage, kept
from ..words import Wording


@tells(p.NoBrackets)
def no_brackets(problem: p.NoBrackets, words: Wording) -> Diagnostic:
    use, apart = problem.use, problem.use.apart
    help, fix = Usage(use).bracketed()
    return say(
        problem,
        f"`{use.shown}` takes its axes in brackets" if apart else f"`{use.shown}` does not say which axes it acts on",
        "" if apart else "no axes in brackets",
        help=help,
        fix=[*fix, *without(use.call, apart)] if fix else [],
    )


@tells(p.NoArrow)
def no_arrow(problem: p.NoArrow, words: Wording) -> Diagnostic:
    use = problem.use
    help, fix = Usage(use).mapped(problem.axes)
    return say(
        problem,
        f"`{use.shown}` needs an arrow: the axes it eats, then those it makes",
        help=help,
        fix=[*fix, *without(use.call, use.apart)] if fix else [],
    )


@tells(p.AxisByNumber)
def axis_by_number(problem: p.AxisByNumber, words: Wording) -> Diagnostic:
    return say(problem, "axes have names and no order, but this is a number", help=Usage(problem.use).named())


@tells(p.AxesDoubled)
def axes_doubled(problem: p.AxesDoubled, words: Wording) -> Diagnostic:
    use = problem.use
    fix = without(use.call, use.apart)
    return say(
        problem, f"`{use.shown}` takes its axes in brackets", help="they stand there already: leave it out", fix=fix
    )


@tells(p.NumberForAxis)
def number_for_axis(problem: p.NumberForAxis, words: Wording) -> Diagnostic:
    help = f"declare an axis of that size, `depth name = {problem.text}`, and write `name`"
    if problem.text == "0":
        help = "axes have names and no order: write the name of one"
    return say(problem, "brackets hold names of axes, but this is a number", help=help)


@tells(p.OneAxis)
def one_axis(problem: p.OneAxis, words: Wording) -> Diagnostic:
    axes = problem.axes
    message = f"`{problem.taker}` acts on one axis, but {len(axes)} stand here"
    return say(problem, message, help=f"keep one of {words.listed(axes)}")


@tells(p.StrayBrackets)
def stray_brackets(problem: p.StrayBrackets, words: Wording) -> Diagnostic:
    call, brackets = problem.call, problem.call.brackets
    assert brackets is not None
    match problem.stray:
        case p.Stray.ALL:
            what, inside = "works item by item: it takes no brackets", []
        case p.Stray.ARROW:
            what, inside = "makes no axes: no arrow here", [item.name.text for item in brackets.items]
        case p.Stray.COLON:
            what, inside = "takes no colon", [brackets.span.text[1:-1].partition(":")[2].strip()]
    help = f"write `{rewritten.call(call, brackets=inside)}`"
    return say(problem, f"`{problem.taker}` {what}", help=help, fix=[(brackets.span, "")] if problem.droppable else [])


@tells(p.BracketsHold)
def bracket_item(problem: p.BracketsHold, words: Wording) -> Diagnostic:
    item, text = problem.item, problem.item.span.text
    help = f"write `{item.name.text}` alone; an item of an operand is picked there, `x[{text}]`"
    if item.rename is not None:
        renamed = "the operand" if problem.taker else "what it is given"
        help = f"rename {renamed}, `x[{text}]`, and write `{item.rename.text}` here"
    elif problem.argument:
        help = f"`{text}` stands in parentheses, behind the operand"
    message = "brackets of a call name axes, they do not rename"
    return say(
        problem, f"the brackets of `{problem.taker}` hold names of axes" if problem.taker else message, help=help
    )


@tells(p.ValueBrackets)
def value_brackets(problem: p.ValueBrackets, words: Wording) -> Diagnostic:
    brackets, value = problem.written.brackets, problem.written.value.span.text
    help = "write `x[a as b]` or `x[a = index]`; to call a block or op, arguments must follow the brackets"
    first, last = ("", "") if brackets.result is not None else (brackets.each[-1].text, brackets.items[0].name.text)
    if first[:1].isdigit() or last[:1].isdigit():  # `x[2:5]`
        known = first.isdigit() and last.isdigit() and int(first) < int(last)
        size = f"{int(last) - int(first)}" if known else "..."
        help = piece(
            value, first=first, size=size, more=", ..." if len(brackets.items) + len(brackets.each) > 2 else ""
        )
    return say(problem, "brackets on a value rename or gather: no arrow, no colon", help=help)


@tells(p.BareItem)
def bare_item(problem: p.BareItem, words: Wording) -> Diagnostic:
    item, of, axes, name = problem.item, problem.of, problem.axes, problem.item.span.text
    help, fix = f"write `{of}[{name} as other]` or `{of}[{name} = index]`", list[tuple[Span, str]]()
    if item.name.text[0].isdigit() and not name.isdigit():
        help = f"an index is a whole number: `{of}[axis = 0]`"
    elif problem.variable and len(axes) == 1:
        fix = [(item.span, f"{axes[0].name} = {name}")]
        help = f"say along which axis: `{of}[{axes[0].name} = {name}]`"
    elif problem.variable:
        given = f", one of {listed(axis.name for axis in axes)}" if axes else ""
        help = f"say along which axis{given}: `{of}[axis = {name}]`"
    return say(problem, "brackets on a value rename or gather an axis", help=help, fix=fix)


@tells(p.BareItems)
def bare_items(problem: p.BareItems, words: Wording) -> Diagnostic:
    inside = ", ".join(
        f"{text} as other" if is_axis else f"{axis.name if axis is not None else 'axis'} = {text}"
        for text, axis, is_axis in problem.along
    )
    return say(
        problem,
        "brackets on a value rename or gather an axis",
        help="axes have names and no order: say of each along which of "
        f"{listed(axis.name for axis in problem.axes)}, `{problem.of}[{inside}]`",
    )


@tells(p.StrayWhere)
def stray_where(problem: p.StrayWhere, words: Wording) -> Diagnostic:
    if problem.taker:
        masked = ", ".join(f"`{op.name}`" for op in OPS.values() if op.masked)
        help = f"these take one: {masked}; or choose values with `select(m, x, y)`"
        return say(problem, f"`{problem.taker}` takes no `where`", help=help)
    return say(
        problem,
        "`where` stands only in the operand of an op that reduces or normalises",
        help="write `softmax[k](s where m)`, `mean[k](x where m)`; or choose values with `select(m, x, y)`",
    )


@tells(p.OnlyOneValue)
def only_one_value(problem: p.OnlyOneValue, words: Wording) -> Diagnostic:
    first = [each.span.text for each in problem.call.arguments[:1]] or ["..."]
    help = f"write `{rewritten.call(problem.call, brackets=[], arguments=first)}`"
    return say(problem, "`raw` takes one value", help=help)


@tells(p.NoLabel)
def no_label(problem: p.NoLabel, words: Wording) -> Diagnostic:
    call, shown = problem.call, problem.call.callee.text
    assert call.label is not None
    return say(
        problem,
        f"`{shown}` owns no weights, so it has no label",
        help=f"write `{shown}` without `.{call.label.text}`",
        fix=[(Span(call.span.source, call.callee.span.end, call.label.span.end), "")],
    )


@tells(p.ArgumentMissing)
def argument_missing(problem: p.ArgumentMissing, words: Wording) -> Diagnostic:
    lacks = f"{listed(problem.names)}{f': {problem.doc}' if problem.doc else ''}"
    return say(problem, f"`{problem.taker}` lacks {lacks}", help=with_more(problem.call, problem.names))


def with_more(call: s.CallExpr, names: Iterable[str]) -> str:
    """The help that adds arguments of these names to a call."""
    given = [each.span.text for each in call.arguments]
    return f"write `{rewritten.call(call, arguments=[*given, *(f'{name} = ...' for name in names)])}`"


@tells(p.NoSuchArgument)
def no_such_argument(problem: p.NoSuchArgument, words: Wording) -> Diagnostic:
    op, call, argument = OPS[problem.op], problem.call, problem.argument
    name = argument.name.text if argument.name is not None else None
    help, fix = _instead(problem, op, name)
    others = [each.span.text for each in call.arguments if each is not argument]
    takes = f"takes {len(op.operands)} operand{'s' if len(op.operands) > 1 else ''}"
    return say(
        problem,
        f"`{problem.taker}` {takes if name is None else f'has no argument `{name}`'}",
        "one too many" if name is None else "",
        help=help or f"write `{rewritten.call(call, arguments=others)}`",
        fix=fix,
    )


def _instead(problem: p.NoSuchArgument, op: Op, name: str | None) -> tuple[str, list[tuple[Span, str]]]:
    """What is meant by an argument that an op does not have; "" where nothing is known of it."""
    argument, text = problem.argument, problem.argument.value.span.text
    called = name in MASK_WORDS and name not in op.arguments
    near = nearest(name, op.arguments) if name is not None else None
    if op.masked and (called or (problem.have is not None and problem.have.element is Scalar.BOOL)):
        return _as_where(problem.call, argument, problem.have)
    if name is None:
        bare = written(Notation.BARE, op.name) is not None
        return f"`{op.name}(x, y)`, without brackets, is of two values, item by item" if bare else "", []
    fix = [(argument.name.span, near)] if near and argument.name is not None else []
    if called:
        return f"choose with `select({text}, x, 0)`", fix
    if problem.known:
        return f"an argument is given by its name; to compare, write `{name} == {text}`", fix
    if name in ("keepdim", "keepdims"):
        return "leave it out: axes align by their names; over a width `broadcast[seq](x)` spreads a value", fix
    return f"did you mean `{near}`?" if near else f"it has {listed(op.arguments)}", fix


def _as_where(call: s.CallExpr, argument: s.Argument, mask: Type | None) -> tuple[str, list[tuple[Span, str]]]:
    """A mask among the arguments, as it is written: behind what it masks."""
    first = call.arguments[0]
    text = argument.value.span.text
    if first is argument or isinstance(first.value, s.WhereExpr):
        return f"a mask stands behind what it masks: `x where {'m' if first is argument else 'm and n'}`", []
    if mask is not None and mask.element is not Scalar.BOOL:
        return f"a mask stands behind what it masks, `x where m`; {kept(argument.value, Wording())}", []
    brackets = call.brackets.span.text if call.brackets is not None else ""
    help = f"a mask stands behind what it masks: `{call.callee.text}{brackets}({first.span.text} where {text})`"
    end = first.span.end
    piped = first.span.start < call.callee.span.start
    fix = [(Span(call.span.source, end, end), f" where {text}"), *without(call, [argument])]
    return help, fix if mask is not None and not piped else []


@tells(p.NoNumber)
def no_number(problem: p.NoNumber, words: Wording) -> Diagnostic:
    option, names = problem.option, problem.names
    help = f"pass a number, a const or a size; {words.quoted(option)} is {problem.doc}"
    if names:
        name = names[0].text
        help = f"in an expression {words.quoted(name)} is an index; its size is {words.quoted(f'|{name}|')}"
    return say(
        problem,
        f"`{option}` is a number known at build time, but this is {show_type(problem.have)}",
        help=help,
        fix=[(name.span, f"|{name.text}|") for name in names],
    )


@tells(p.OptionValue)
def option_value(problem: p.OptionValue, words: Wording) -> Diagnostic:
    message, at = f"`{problem.option}` is {problem.value}, but {problem.complaint}", problem.rounded
    if at is None:
        return say(problem, message, help=problem.doc)
    text = f"floor({at.text})"
    return say(problem, message, help=f"`/` gives a real number; write {words.quoted(text)}", fix=[(at, text)])


@tells(p.InitName)
def init_name(problem: p.InitName, words: Wording) -> Diagnostic:
    other, near = OTHER_INITS.get(problem.name.rstrip("_")), nearest(problem.name, INITS)
    return say(
        problem,
        f"no initialisation is named `{problem.name}`",
        help=other or (f"did you mean `{near}`?" if near else f"there are {listed(INITS)}"),
        fix=respelt(problem.span, near) if other is None else [],
    )
