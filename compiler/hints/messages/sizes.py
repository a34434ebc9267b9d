"""Sizes and numbers that are none, are not known in time, or do not fit, in words."""

from __future__ import annotations

from ....dsl import syntax as s
from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base import rewritten
from ...base.names import listed
from ...graph.traits import Arrange, IndexMap
from ...graph.typed_value import show
from ...problems import sizes as p
from ...sizes.axes import Number
from ...sizes.limits import Limit
from ..table import say, tells
from ..words import Wording

_LIMITS = {
    Limit.MISTAKES: ("`{}` has more than {} mistakes", "mend those above first"),
    Limit.FILES: (
        "the files of a spec are more than {}, or use each other more than {} deep",
        "put what belongs together into one file",
    ),
    Limit.PATH: ("this path has {} letters, more than {}", "move the file nearer, or give it a shorter name"),
    Limit.CALLS_DEEP: ("blocks call each other more than {} deep", "call fewer blocks in one another"),
    Limit.BODIES: (
        "the blocks called here stand for more than {} bodies, each for other sizes or arguments",
        "give fewer different parameters; what is the same each time is one body",
    ),
    Limit.WORK: (
        "calls for different sizes, and passes that differ, come to more than {:,} expressions to check",
        "call blocks for fewer different parameters, and let fewer passes of a repeat depend on its index",
    ),
    Limit.STEPS: (
        "written out, `{}` has {:,} steps, more than {:,}",
        "call fewer blocks, or repeat them less often",
    ),
    Limit.RANK: ("a value of {} axes has more than {}", "merge axes"),
    Limit.ELEMENTS: ("the weight `{}` has {:,} elements, more than {:,}", "choose smaller sizes"),
    Limit.TERMS: ("the formula of this number has more than {} terms", "make it of fewer steps"),
    Limit.OPERANDS: ("an op takes at most {} operands", "do it in steps"),
    Limit.NESTING: ("something in this file nests too deeply", "name inner values, or move them into blocks"),
}


@tells(p.Beyond)
def beyond(problem: p.Beyond, words: Wording) -> Diagnostic:
    message, help = _LIMITS[problem.limit]
    return say(problem, message.format(*problem.facts), help=help)


@tells(p.NoItem)
def no_item(problem: p.NoItem, words: Wording) -> Diagnostic:
    place, last = problem.at, problem.length - 1
    shown = f"{place:g}" if isinstance(place, float) else str(place).lower()
    numbers = f"its numbers stand at 0{f' to {last}' if last else ''}"
    return say(
        problem,
        f"this list has {problem.length} number{'s' if last else ''}, and none at {shown}",
        help=f"{numbers}: make the list longer, or read one that there is",
    )


@tells(p.NotWhole)
def not_whole(problem: p.NotWhole, words: Wording) -> Diagnostic:
    a, b, text = problem.dividend, problem.divisor, problem.text
    rounds = (
        ""
        if problem.declared is not None or problem.library
        else (f", or say which way to round: {words.quoted(f'ceil({text})')} or {words.quoted(f'floor({text})')}")
    )
    return say(
        problem,
        f"`{problem.name}`: {a} / {b} leaves a remainder of {a % b}",
        f"{a} does not divide by {b}",
        related=_declared(problem.name, problem.declared),
        help=f"choose sizes that divide{rounds}",
    )


@tells(p.NoSize)
def no_size(problem: p.NoSize, words: Wording) -> Diagnostic:
    return say(
        problem,
        _no_size(problem.name, problem.value),
        related=_declared(problem.name, problem.declared),
        help="write a whole number" if problem.literal else "change the sizes that it is made of",
    )


def _declared(name: str, at: Span | None) -> list[tuple[Span | None, str]]:
    return [(at, f"`{name}` is declared here")]


@tells(p.NoSizeSet)
def no_size_set(problem: p.NoSizeSet, words: Wording) -> Diagnostic:
    name, value = problem.name, problem.value
    listed = f"the size of `{name}` is set to a list, but a size is one number"
    return say(
        problem,
        listed if isinstance(value, tuple) else _no_size(name, value),
        notes=["it is set from outside"],
        help="set a whole number of 1 or more",
    )


def _no_size(name: str, value: Number) -> str:
    large = isinstance(value, int) and value >= 2**62
    return f"the size of `{name}` is {value}, but a size is " + (
        "less than 2 ^ 62" if large else "a whole number of 1 or more"
    )


@tells(p.DepthAtRunTime)
def depth_at_run_time(problem: p.DepthAtRunTime, words: Wording) -> Diagnostic:
    name, width, q = problem.name, problem.width, words.quoted
    on = f"on the width `{width.name}`" if width is not None else "on what only a run knows"
    fixed = f", or fix the width: {rewritten.sized(width, '=', 128, q)}" if width is not None else ""
    return say(
        problem,
        f"the size of the depth `{name}` depends {on}, but must be known at build time",
        help=f"make {q(name)} a width{fixed}",
    )


@tells(p.ListForNumber)
def list_for_number(problem: p.ListForNumber, words: Wording) -> Diagnostic:
    text, q = problem.text, words.quoted
    if text.isidentifier():
        message = f"`{text}` is a list of numbers, but one number is wanted here"
        return say(
            problem, message, help=f"read one of them, {q(f'{text}[i]')}; {q(f'|{text}|')} is how many there are"
        )
    return say(
        problem,
        "a list of numbers stands only where a const gets its value",
        help=f"declare it, {q('const numbers = [...]')}, and read one of them, {q('numbers[i]')}",
    )


@tells(p.ReadAtRunTime)
def read_at_run_time(problem: p.ReadAtRunTime, words: Wording) -> Diagnostic:
    name, q = problem.name, words.quoted
    help = f"round it: {q(f'{name}[floor({problem.text})]')}"
    if problem.at.static is None:
        help = (
            f"to choose by data, make the numbers a {q('param')} along an axis, or use `select`; "
            f"{q(f'{name}[i]')} reads it in a {q('repeat i in ...')}"
        )
    message = f"`{name}` is read at a whole number known at build time, but this is {show(problem.at)}"
    return say(problem, message, help=help)


@tells(p.ParamUnbounded)
def param_unbounded(problem: p.ParamUnbounded, words: Wording) -> Diagnostic:
    axis, q = problem.axis, words.quoted
    return say(
        problem,
        f"param `{problem.name}` has the width `{axis.name}`, of which no largest size is known",
        related=[(axis.span, f"`{axis.name}` is declared here")],
        help=f"bound it: {rewritten.sized(axis, '<=', 1024, q)}, or fix it: {rewritten.sized(axis, '=', 1024, q)}",
    )


@tells(p.OpenWidth)
def open_width(problem: p.OpenWidth, words: Wording) -> Diagnostic:
    graph, axis = problem.graph, problem.axis
    fixed = f"`--set {axis.name}=128`" if problem.bracketed else rewritten.sized(axis, "=", 128)
    return say(
        problem,
        f"nothing that `{graph}` is given runs along the width `{axis.name}`, so its size is never known",
        help=f"derive it from others, `width {axis.name} = ...`, or fix it, {fixed}, "
        f"or give `{graph}` an input that has it",
    )


@tells(p.SizeOfConst)
def size_of_const(problem: p.SizeOfConst, words: Wording) -> Diagnostic:
    return say(
        problem,
        f"`{problem.name}` is a const, but `|...|` is the size of an axis",
        help=f"write `{problem.name}`",
        fix=[(problem.span, problem.name)] if problem.span is not None else [],
    )


@tells(p.RaggedAxis)
def ragged_axis(problem: p.RaggedAxis, words: Wording) -> Diagnostic:
    name, size, like = problem.decl.name.text, problem.decl.size, problem.decl.like
    if problem.decl.kind == "depth":
        most = f" <= {size.span.text}" if size is not None else ""
        why, help = (
            "a depth's size is known when the spec is compiled",
            f"declare it as a width: `width {name}{most} ragged`",
        )
    elif like is not None:
        why = f"it is a copy of `{like.text}`, and has its lengths"
        help = f"leave the word out here, and write it behind the declaration of `{like.text}`: its copies follow"
    elif isinstance(size, s.NumberLiteral):
        why, bound = "its size is fixed", f"`width {name} <= {size.span.text} ragged`"
        help = f"leave the size to the inputs, `width {name} ragged`, or bound it, {bound}"
    else:
        why, help = "its size follows from others, and is ragged if they are", "leave the word out"
    return say(problem, f"`{name}` cannot be ragged: {why}", help=help)


@tells(p.PaddingInside)
def padding_inside(problem: p.PaddingInside, words: Wording) -> Diagnostic:
    inside, parts = problem.inside, problem.reads == Arrange(IndexMap.PARTS)
    names = list(dict.fromkeys(problem.ragged))
    if len(problem.ragged) < 2:
        help = f"put what has `{inside}` last" if parts else f"put `{inside}` first"
    elif parts:
        help = "only the last part may be ragged: keep the parts apart, or give the others one length for all examples"
    else:
        apart = f"ops act on several axes, `sum[{', '.join(names)}](x)`"
        help = f"of several ragged widths one is always inside: keep {listed(names)} apart, as {apart}"
    message = f"`{problem.op}` would leave the padding of the ragged width `{inside}` inside `{problem.made}`"
    return say(problem, message, help=help)
