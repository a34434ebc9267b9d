"""Axes that a value lacks, has twice, or cannot have, in words."""

from __future__ import annotations

from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base import rewritten
from ...base.names import either, indexed, listed
from ...graph.typed_value import TypedValue, show, show_type
from ...graph.values import IndexInto, Type
from ...problems import axes as p
from ...sizes.axes import Axis, SizeOf
from .. import missing_axis, unlike
from ..copies import copies, other_copy
from ..table import say, tells
from ..words import Wording


@tells(p.NoAxis)
def no_axis(problem: p.NoAxis, words: Wording) -> Diagnostic:
    wire, axis, operand = problem.value, problem.axis, problem.operand
    name, taker = axis.name, f"`{problem.taker}`"
    message = {
        p.AxisUse.ACTS: f"{taker} acts on `{name}`, which its operand lacks",
        p.AxisUse.MAPS: f"`linear` maps `{name}`, which its operand lacks",
        p.AxisUse.NORMALISES: f"{taker} normalises `{name}`, which its operand lacks",
        p.AxisUse.CONTRACTS: f"`dot` contracts `{name}`, which its operand lacks",
        p.AxisUse.CONTRACTS_BOTH: f"`dot` contracts `{name}`, which this operand lacks",
        p.AxisUse.SPLITS: f"`split` splits `{name}`, which its operand lacks",
        p.AxisUse.MERGES: f"`merge` joins `{name}`, which its operand lacks",
        p.AxisUse.JOINS: f"`concat` joins along `{name}`, which this operand lacks",
        p.AxisUse.FLIPS: f"`flip` turns `{name}` round, which its operand lacks",
        p.AxisUse.SLIDES: f"`window` slides along `{name}`, which is not there",
        p.AxisUse.PADS: f"`pad` lengthens `{name}`, which is not there",
        p.AxisUse.ORDERS: f"{taker} orders `{name}`, which is not there",
        p.AxisUse.LOGITS: f"`cross_entropy` acts on `{name}`, which the logits lack",
        p.AxisUse.RENAMES: f"`{name} as {problem.renamed}` renames `{name}`, which is not there",
        p.AxisUse.PICKS: f"`{name} = ...` picks along `{name}`, which is not there",
    }[problem.use]
    help, fix = _instead(problem, words)
    related = [(operand, f"this is {show(wire)}")]
    met = missing_axis.alone(wire, [axis])
    if wire.span != operand and not met:
        related.append((wire.span, "it comes from here"))
    return say(problem, message, f"no `{name}` in {show(wire)}", related=[*related, *met], help=help, fix=fix)


def _instead(problem: p.NoAxis, words: Wording) -> tuple[str, list[tuple[Span, str]]]:
    """What the operand has, and which copy of the axis was likely meant."""
    wire, axis, operand, q = problem.value, problem.axis, problem.operand, words.quoted
    name, at = axis.name, problem.span
    theirs = [other for other in wire.axes if other.family == axis.family]
    copy = theirs[0].name if theirs else ""
    if copy and (paired := missing_axis.paired(wire, axis, problem.around, words)):
        return paired, []
    if copy and any(other.has(axis) for other in problem.operands):
        change = f"[{copy} as {name}]"
        end = Span(operand.source, operand.end, operand.end)
        help = f"it has {q(copy)}, a copy of {q(name)}: rename it, {q(indexed(operand.text, change))}"
        return help, [(end, change)] if operand.text.isidentifier() else []
    if theirs and theirs[0] in problem.axes:
        return f"it has {q(copy)} alone of the two copies: leave {q(name)} out", []
    if copy:
        help = f"it has {q(copy)}, a copy of {q(name)}: write {q(copy)} here, or rename: {q(f'x[{copy} as {name}]')}"
        return help, [(at, copy)] if at is not None else []
    if isinstance(wire.element, IndexInto) and wire.element.axis.family == axis.family:
        looked, embedded = q(f"E[{name} = ids]"), q(f"embed[{name} -> ...](ids)")
        return f"these are indices into {q(name)}: look them up, {looked} or {embedded}", []
    same = next((other.name for other in wire.axes if axis.size == SizeOf(other)), None)
    if same is not None:
        return (
            f"{q(name)} is as long as {q(same)}, but another axis: if it is to be a copy, declare it, "
            f"{q(f'{axis.kind.value} {name} like {same}')}, and rename: {q(f'x[{same} as {name}]')}"
        ), []
    help = ""
    if wire.axes or wire.value is not None:
        explanation = missing_axis.explain(wire, [axis], problem.around, words)
        has = f"it has {words.listed(wire.axes)}" if wire.axes else ""
        copied = len(explanation) > len(has) and "copies" in explanation
        help = explanation if copied else "; ".join(filter(None, (has, explanation)))
    if not help and not wire.axes and wire.is_number:
        help = f"it is one number: {q(f'broadcast[{name}]({operand.text})')} has it at each {q(name)}"
    return help, []


@tells(p.NoCopies)
def no_copies(problem: p.NoCopies, words: Wording) -> Diagnostic:
    old, new = problem.old, problem.new
    return say(
        problem,
        f"`{old.name}` and `{new.name}` are not copies of one axis, so one cannot be renamed to the other",
        related=[(old.span, f"`{old.name}` is declared here"), (new.span, f"`{new.name}` is declared here")],
        help=unlike.renamed(old, new, problem.around, words),
    )


@tells(p.RenamedToAnother)
def renamed_to_another(problem: p.RenamedToAnother, words: Wording) -> Diagnostic:
    at, q = problem.span, words.quoted
    help, fix = "rename to another copy", list[tuple[Span, str]]()
    if problem.later is not None and at is not None:
        later, swaps = problem.later
        help, fix = (
            f"renames are made in turn: first {q(later.text)}, then {q(at.text)}",
            [
                (at, later.text),
                (later, at.text),
            ],
        )
        if swaps:
            help, fix = _swap(problem, at, later, words)
    have = show_type(problem.have)
    return say(problem, f"this has `{problem.new.name}` already: it is {have}", help=help, fix=fix)


def _swap(problem: p.RenamedToAnother, at: Span, later: Span, words: Wording) -> tuple[str, list[tuple[Span, str]]]:
    """How two axes change places: by way of a third copy."""
    old, new, q = problem.old, problem.new, words.quoted
    begins = "renames are made in turn, so a swap takes a third copy: "
    free = copies(old, problem.around, problem.have.axes)
    third = free[0] if free else "third"
    steps, last = f"{old.name} as {third}, {new.name} as {old.name}", f"{third} as {new.name}"
    swapped = q(f"[{steps}, {last}]")
    if not free:
        return f"{begins}declare {q(f'{old.kind.value} third like {old.name}')}, and write {swapped}", []
    return begins + swapped, [(at, steps), (later, last)]


@tells(p.AxisTwice)
def axis_twice(problem: p.AxisTwice, words: Wording) -> Diagnostic:
    axis, q = problem.axis, words.quoted
    copy = next(iter(copies(axis, problem.around)), None)
    _, declared = other_copy(axis, problem.around, words)
    if problem.mapped is not None:
        call, first = problem.mapped
        begin = Span(first.source, first.start, first.start)
        otherwise = f"write its copy, {q(copy)}" if copy else f"make a copy: {declared}"
        help = f"map it too, {q(rewritten.edited(call, [(begin, f'{axis.name}, ')]))}, or {otherwise}"
    else:
        declare, renamed = "" if copy else f"declare it, {declared}, and ", f"x[{axis.name} as {copy or 'other'}]"
        help = f"one of the two is a copy: {declare}rename, {q(renamed)}"
    message = f"the result would have `{axis.name}` twice"
    return say(problem, message, f"the operand keeps its `{axis.name}`", help=help)


@tells(p.WidthSpread)
def width_spread(problem: p.WidthSpread, words: Wording) -> Diagnostic:
    wire, other, axis, around, q = problem.value, problem.other, problem.axis, problem.around, words.quoted
    operand, name = problem.operand, axis.name
    foreign = [a.name for a in wire.axes if a.is_width and not other.has(a) and a.family != axis.family]
    theirs = [a.name for a in wire.axes if a.family == axis.family and not other.has(a)]
    both = [a.name for a in wire.axes if a.family == axis.family and other.has(a)]
    shared = [] if missing_axis.reduced(wire, axis) else both
    spare = [axis] if shared else [a for a in problem.lacking if a not in around.lifted]
    spread = f"broadcast[{', '.join(a.name for a in spare)}]({operand.text})"
    met = [] if theirs else missing_axis.alone(wire, [axis])
    if theirs:
        first, second = q(f"broadcast[{name}]({operand.text})"), q(f"broadcast[{theirs[0]}]({problem.at.text})")
        help = (
            f"{q(theirs[0])} is another copy of {q(name)}: rename it, {q(f'x[{theirs[0]} as {name}]')}"
            f"; or, for each pair of the two, write {first} and {second}"
        )
    elif foreign:
        help = f"is this the right stream? it runs along {q(foreign[0])}, not along {q(name)}"
    elif axis in around.lifted:
        help = f"if the same value for every {q(name)} is meant, pass {q(f'broadcast[{name}](...)')} to the block"
    else:
        help = f"if the same value for every {words.listed(spare)} is meant, write {q(spread)}"
        if shared:
            help += f"; if that of each {q(name)}, {q(indexed(operand.text, f'[{shared[0]} as {name}]'))}"
    if met:
        help = f"{missing_axis.explain(wire, [axis], around, words)}; {help}"
    return say(
        problem,
        f"`{problem.taker}` would spread {show(wire)} over every item of the width `{name}`",
        related=[(operand, f"this is {show(wire)}: no `{name}`"), (problem.at, f"this is {show(other)}"), *met],
        help=help,
        fix=[] if met or theirs or shared or foreign or axis in around.lifted else [(operand, spread)],
    )


@tells(p.OuterPair)
def outer_pair(problem: p.OuterPair, words: Wording) -> Diagnostic:
    (x, y), (x_span, y_span), (x_lacks, y_lacks) = problem.values, problem.places, problem.lacks
    q = words.quoted
    lacks = ", ".join(axis.name for axis in problem.lacks[problem.spread])
    text = problem.places[problem.spread].text if problem.here else words.argument(problem.argument)
    write = f"{'write' if problem.here else 'pass'} {q(f'broadcast[{lacks}]({text})')}"
    ours, theirs = words.listed(y_lacks), words.listed(x_lacks)
    copy = next(((a, b) for a in x_lacks for b in y_lacks if a.family == b.family), None)
    help = f"if each {ours} is meant with each {theirs}, {write}"
    if copy is not None and problem.here:
        of_y, of_x = copy
        renaming = indexed(y_span.text, f"[{of_y.name} as {of_x.name}]")
        if of_y.id == of_y.family:  # the original
            renaming = indexed(x_span.text, f"[{of_x.name} as {of_y.name}]")
        help = f"{theirs} is a copy of {ours}: rename, {q(renaming)}; or, for each pair of the two, {write}"
    plain_ours, plain_theirs = (listed(axis.name for axis in axes) for axes in (y_lacks, x_lacks))
    return say(
        problem,
        f"`{problem.taker}` would pair each {plain_ours} with each {plain_theirs}: neither operand has both",
        related=[
            (x_span, f"this is {show(x)}: no {either(axis.name for axis in x_lacks)}"),
            (y_span, f"this is {show(y)}: no {either(axis.name for axis in y_lacks)}"),
        ],
        help=help,
    )


@tells(p.UnmaskedAxis)
def unmasked_axis(problem: p.UnmaskedAxis, words: Wording) -> Diagnostic:
    names, q = ", ".join(axis.name for axis in problem.axes), words.quoted
    acts = f"{problem.taker}[{names}]"
    pairs = [(axis, other) for axis in problem.axes for other in problem.mask.axes if other.family == axis.family]
    help = f"a mask of {q(acts)} has the axis {q(names)}"
    if pairs:  # a mask along another copy of the axis wants renaming
        axis, other = pairs[0]
        written = indexed(problem.text, f"[{other.name} as {axis.name}]")
        help = f"{q(other.name)} is another copy of {q(axis.name)}: write {q(written)}"
    return say(
        problem,
        f"the mask is {show(problem.mask)}: it does not say which items of `{names}` to leave out",
        f"has no axis `{names}`",
        related=[(problem.acts, f"`{problem.taker}` acts on `{names}`")],
        help=help,
    )


@tells(p.Namesakes)
def namesakes(problem: p.Namesakes, words: Wording) -> Diagnostic:
    a, b = problem.a, problem.b
    files = [axis.span.source.name for axis in (a, b) if axis.span is not None]
    where = f": one of {files[0]}, one of {files[1]}" if len(set(files)) == 2 else ""
    return say(
        problem,
        f"two axes named `{a.name}` meet here{where}",
        related=[
            *((place, _has(of, a)) for place, of in problem.places),
            (a.span, f"one `{a.name}`"),
            (b.span, f"another `{b.name}`"),
        ],
        help=f"if they are to be one, name it in the {words.quoted('use')}: {words.quoted(f'use ...: {a.name}')}; "
        "the declaration of this file then holds in both",
    )


def _has(of: TypedValue | Type | None, axis: Axis) -> str:
    """What has two axes of one name: a value, a type that is wanted, or what has another one."""
    match of:
        case None:
            return f"this has another `{axis.name}`"
        case Type():
            return f"{show_type(of)} wanted here"
        case _:
            return f"this is {show(of)}"


@tells(p.TypedTwice)
def typed_twice(problem: p.TypedTwice, words: Wording) -> Diagnostic:
    axis = problem.axis
    others = copies(axis, problem.around)
    return say(
        problem,
        f"`{axis.name}` stands twice in one type: a value has each axis once",
        related=[(problem.first, "first here")],
        help=f"write its copy: `{others[0]}`"
        if others
        else f"declare a copy: {other_copy(axis, problem.around, words)[1]}",
    )


@tells(p.WidthOfWeights)
def width_of_weights(problem: p.WidthOfWeights, words: Wording) -> Diagnostic:
    axis = problem.axis
    return say(
        problem,
        f"`{problem.taker}` would learn weights over the width `{axis.name}`, whose size is not fixed",
        "varies from input to input",
        related=[(axis.span, f"`{axis.name}` is declared here")],
        help=f"fix it: {rewritten.sized(axis, '=', 4096, words.quoted)}; or did you mean to act on a depth?",
    )


@tells(p.WidthOfWindow)
def width_of_window(problem: p.WidthOfWindow, words: Wording) -> Diagnostic:
    axis = problem.axis
    return say(
        problem,
        f"the window's size |{axis.name}| is not fixed",
        related=[(axis.span, f"`{axis.name}` is declared here")],
        help=f"fix it: {rewritten.sized(axis, '=', 3, words.quoted)}",
    )
