"""Weights that are averaged along the wrong axes, and sizes that do not agree, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base.names import listed
from ...graph.extents import written
from ...graph.nodes import Apply
from ...graph.traits import Arrange, IndexMap, Normalise
from ...graph.typed_value import TypedValue
from ...problems import marks as p
from ...sizes.axes import Axis, known
from ...typing.builder import Builder
from ..table import say, tells
from ..words import Wording


@tells(p.EmptyQueries)
def empty_queries(problem: p.EmptyQueries, words: Wording) -> Diagnostic:
    key, first, count, item = problem.key.name, problem.first, problem.count, problem.item
    if item is None:
        says = f"the mask of this `{problem.op}` lets no `{key}` through, whatever the sizes: nothing is read there"
        help = f"let some `{key}` through, or leave the mask out"
    else:
        if count is None:
            who = f"item {first} of `{item.name}` and all after it" if first else f"each item of `{item.name}`"
        elif count == 1:
            who = f"item {first} of `{item.name}`" if first else f"the first item of `{item.name}`"
        else:
            several = f"items {first} to {first + count - 1}" if first else f"the first {count} items"
            who = f"{several} of `{item.name}`"
        itself = f", at least itself, as ``{key} <= {item.name}`` does" if item.family == problem.key.family else ""
        says = f"the mask of this `{problem.op}` hides every `{key}` from {who}: nothing is read there"
        help = re.sub("``(.+?)``", lambda code: words.quoted(code[1]), f"let each see some `{key}`{itself}")
    related = [(problem.mask, "the mask")] if problem.mask is not None else []
    return say(problem, says, related=related, help=help)


@tells(p.AveragedElsewhere)
def averaged_elsewhere(problem: p.AveragedElsewhere, words: Wording) -> Diagnostic:
    wire, axes = problem.weights, problem.axes
    together, alone = (" together", " alone") if len(wire.mark) > 1 else ("", "")
    over, made = _over(wire.mark), _normalised_at(wire)
    fix = made is not None and _named(made) == over and all(map(wire.has, axes))
    return _average(
        problem,
        f"sums to one over {over}{together}, but this `dot` averages over {_names(axes)}{alone}",
        f"normalise over the axis you average over; if it is meant, say {words.quoted('raw(...)')}",
        [(made, ", ".join(axis.name for axis in axes))] if made is not None and fix else [],
    )


@tells(p.AveragedScaled)
def averaged_scaled(problem: p.AveragedScaled, words: Wording) -> Diagnostic:
    over, by = _over(problem.weights.scaled), _names(problem.axes)
    return _average(
        problem,
        f"is weights over {over}, times a number, but this `dot` averages over {by}",
        f"normalise over the axis you average over; if it is meant, say {words.quoted('raw(...)')}",
    )


@tells(p.AveragedWider)
def averaged_wider(problem: p.AveragedWider, words: Wording) -> Diagnostic:
    wire, more, q = problem.weights, _names(problem.wider), words.quoted
    both = ", ".join(axis.name for axis in problem.axes if axis in wire.mark or axis in problem.wider)
    return _average(
        problem,
        f"sums to one over {_over(wire.mark)} for each {more}, but this `dot` averages over {more} too",
        f"normalise over all that you average over, {q(f'softmax[{both}]')}; if the sum over "
        f"{words.listed(problem.wider)} is meant, say {q('raw(...)')}",
    )


def _average(
    problem: p.AveragedElsewhere | p.AveragedScaled | p.AveragedWider,
    what: str,
    help: str,
    fix: Iterable[tuple[Span, str]] = (),
) -> Diagnostic:
    shown, origin = _weights(problem.weights, problem.operand)
    label = f"averaged over {_names(problem.axes)} here"
    return say(problem, f"{shown} {what}", label, related=[origin], help=help, fix=fix)


@tells(p.NormalisedTwice)
def normalised_twice(problem: p.NormalisedTwice, words: Wording) -> Diagnostic:
    assert problem.span is not None
    shown, origin = _weights(problem.weights, problem.span)
    return say(
        problem,
        f"{shown} sums to one over {_over(problem.weights.mark)} already, and `{problem.taker}` normalises its operand",
        f"`{problem.taker}` takes scores",
        related=[origin],
        help=f"give it the scores from before the softmax; if it is meant, say {words.quoted('raw(...)')}",
    )


def _weights(wire: TypedValue, operand: Span) -> tuple[str, tuple[Span, str]]:
    """What an operand that is weights is called, and where it became that."""
    made, over = _normalised_at(wire), _over(wire.mark or wire.scaled)
    origin = (made, f"normalised over {_named(made)} here") if made else (wire.span, f"weights over {over}")
    return f"`{operand.text}`" if operand.text.isidentifier() else "this operand", origin


def _normalised_at(wire: TypedValue) -> Span | None:
    """Where the axes stand in the brackets of the softmax that gave a value its mark."""
    builder, value = wire.home, wire.value
    while isinstance(builder, Builder) and value is not None:
        node = next((n for n in builder.nodes if isinstance(n, Apply) and n.out.id == value.id), None)
        if node is None:
            return None
        if node.traits.reads == Normalise(weights=True) and node.span is not None:
            start, text = node.span.start, node.span.text
            return Span(node.span.source, start + text.index("[") + 1, start + text.index("]"))
        value = node.operands[0]
    return None


def _named(brackets: Span) -> str:
    """The axes of brackets, as they are written."""
    return listed(name.strip() for name in brackets.text.split(","))


def _over(mark: frozenset[Axis]) -> str:
    """The axes of a mark."""
    return _names(sorted(mark, key=lambda axis: axis.id))


def _names(axes: Iterable[Axis]) -> str:
    return listed(axis.name for axis in axes)


@tells(p.ScaledByAnother)
def scaled_by_another(problem: p.ScaledByAnother, words: Wording) -> Diagnostic:
    scores, root = problem.scores, problem.root
    names, size = _names(scores.product_of), " * ".join(f"|{axis.name}|" for axis in scores.product_of)
    return say(
        problem,
        f"this scales by the size of `{problem.axis.name}`, but the products are summed over {names}",
        related=[(scores.span, f"summed over {names} here")],
        help=f"the usual scale is {root}({size})",
        fix=[(problem.span, f"{root}({size})")] if problem.span is not None and problem.text.startswith(root) else [],
    )


@tells(p.MergedInOtherOrder)
def merged_in_other_order(problem: p.MergedInOtherOrder, words: Wording) -> Diagnostic:
    made = problem.made.name
    order, merged = (", ".join(axis.name for axis in axes) for axes in (problem.parts, problem.merged))
    return say(
        problem,
        f"`{made}` was split into [{order}], but is merged back from [{merged}]: that shuffles its items",
        related=[(problem.split, f"split into [{order}] here")],
        help=f"write {words.quoted(f'merge[{order} -> {made}]')}; a wanted shuffle names another axis",
        fix=[(problem.span, order)] if problem.span is not None else [],
    )


@tells(p.SizesDiffer)
def sizes_differ(problem: p.SizesDiffer, words: Wording) -> Diagnostic:
    sign = " + " if problem.reads == Arrange(IndexMap.PARTS) else " * "
    must = f"|{problem.whole.name}| must be {sign.join(f'|{axis.name}|' for axis in problem.parts)}"
    values = f": {problem.sizes[0]} is not {problem.sizes[1]}" if problem.sizes is not None else ""
    return say(problem, f"`{problem.taker}`: {must}{values}", help="check the declared sizes of these axes")


@tells(p.NoRoom)
def no_room(problem: p.NoRoom, words: Wording) -> Diagnostic:
    made, needed = problem.made, written(problem.needed, "|{}|")
    message = f"|{made.name}| is always less than {needed}: there is no room"
    if problem.sizes is not None:
        small, large, left = problem.sizes
        message = f"|{made.name}| = {large} has no room for |{problem.axis.name}| = {small} and {left} more"
        needed = str(known(problem.needed))
    return say(
        problem,
        message,
        related=[(made.span, f"`{made.name}` is declared here")],
        help=f"make |{made.name}| at least {needed}",
    )


@tells(p.TooManyRanks)
def too_many_ranks(problem: p.TooManyRanks, words: Wording) -> Diagnostic:
    axis, made = problem.axis.name, problem.made
    message = f"there are no |{made.name}| largest: that is always more than |{axis}|"
    if problem.sizes is not None:
        message = f"there are no {problem.sizes[0]} largest among |{axis}| = {problem.sizes[1]}"
    return say(
        problem,
        message,
        related=[(made.span, f"`{made.name}` is declared here")],
        help=f"make |{made.name}| at most {f'|{axis}|' if problem.sizes is None else problem.sizes[1]}",
    )
