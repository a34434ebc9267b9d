"""Padding of ragged widths and picks of nothing, in words."""

from __future__ import annotations

from ....dsl import syntax as s
from ....dsl.diagnostic import Diagnostic
from ...base.names import listed
from ...graph.traits import Arrange, IndexMap
from ...problems import ragged as p
from ..table import say, tells
from ..words import Wording


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


_READ = {
    p.Spoils.UNKNOWN: (
        "`{taker}` acts on the ragged width `{ragged}`, and how it reads padding is not known",
        "declare `{ragged}` without `ragged`",
    ),
    p.Spoils.UNDERIVED: (
        "`{taker}` makes `{made}` of the ragged width `{ragged}`, but its size does not follow from it",
        "derive it, so that each example has its own: `width {made} = ...` over `{ragged}`",
    ),
    p.Spoils.SMOOTHS: (
        "`{taker}` smooths over the ragged width `{ragged}`, its padding included",
        "leave `smoothing` out",
    ),
    p.Spoils.OPTION: (
        "`{taker}` is given the size of a ragged width, which is another in each example",
        "give it a number, or the size of an axis that is not ragged",
    ),
    p.Spoils.OWN_OP: (
        "`{taker}` is an op of your own: it would be given the padding of `{ragged}`",
        "declare `{ragged}` without `ragged`, and give the op a mask",
    ),
    p.Spoils.CONST: (
        "a const of `{taker}` is the size of a ragged width, which is another in each example",
        "pass it as an argument",
    ),
    p.Spoils.SHRINKS: (
        "it is not seen that the size of `{taker}` grows with the ragged width `{ragged}`: an array as long as the "
        "longest example must have room for all",
        "derive it by what grows, such as `a * {ragged} / b + c`, or give it lengths of its own: "
        "`width {taker} ragged`",
    ),
}


@tells(p.PaddingRead)
def padding_read(problem: p.PaddingRead, words: Wording) -> Diagnostic:
    message, help = (text.format_map(vars(problem)) for text in _READ[problem.why])
    return say(problem, message, help=help)


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


@tells(p.MaskedByHand)
def masked_by_hand(problem: p.MaskedByHand, words: Wording) -> Diagnostic:
    name, width = problem.name, problem.width.name
    return say(
        problem,
        f"`{name}` masks the ragged width `{width}` by hand: its padding is left out already",
        related=[(problem.mask, f"a mask over `{width}` or a copy of it")],
        help=f"leave `{name}` out; the model is given {listed(problem.lengths)} instead",
    )


@tells(p.PicksRead)
def picks_read(problem: p.PicksRead, words: Wording) -> Diagnostic:
    op, name = problem.op, problem.axis
    if problem.smooths:
        return say(problem, f"`{op}` smooths over `{name}`, picks of nothing included", help="leave `smoothing` out")
    return say(
        problem,
        f"`{op}` reads all of `{name}`, where there may be picks of nothing",
        help=f"write it out: `mean[{name}](y)` and its like leave them out",
    )
