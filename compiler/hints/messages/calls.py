"""Calls of blocks, in words."""

from __future__ import annotations

from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base import rewritten
from ...base.names import either, indexed
from ...graph.typed_value import show, show_axes
from ...problems.calls import (
    ArgumentLacks,
    ArgumentNamesake,
    LiftsMentioned,
    NoCopyGiven,
    OneAxisForTwo,
)
from .. import unlike
from ..copies import copies
from ..table import say, tells
from ..words import Wording


@tells(NoCopyGiven)
def no_copy_given(problem: NoCopyGiven, words: Wording) -> Diagnostic:
    actual, original = problem.actual, problem.original
    return say(
        problem,
        f"`{problem.called}` wants `{problem.parameter}` to be a copy of `{problem.like}`, but "
        f"`{actual.name}` is no copy of `{original.name}`",
        related=[(problem.generic.span, "required here"), (actual.span, f"`{actual.name}` is declared here")],
        help=unlike.passed(original, actual, problem.around, rewritten.call(problem.call), words),
    )


@tells(OneAxisForTwo)
def one_axis_for_two(problem: OneAxisForTwo, words: Wording) -> Diagnostic:
    actual, q, (a, b) = problem.actual, words.quoted, problem.parameters
    known = copies(actual, problem.around)
    declared = q(f"{actual.kind.value} other like {actual.name}")
    help = f"declare a copy, {declared}, and rename: {q(f'x[{actual.name} as other]')}"
    if known:
        renamed = q(f"x[{actual.name} as {known[0]}]")
        help = f"{q(known[0])} is a copy of it: rename, {renamed}, and name it in the brackets"
    carrier = f"`{problem.name}`" if problem.name else "a value"
    if problem.in_body:
        carrier = f"{carrier} of its body"
    return say(
        problem,
        f"`{a}` and `{b}` of `{problem.called}` are both bound to `{actual.name}`, but {carrier} carries both",
        related=[(problem.carrier, "carries both"), (actual.span, f"`{actual.name}` is declared here")],
        help=help,
    )


@tells(ArgumentLacks)
def argument_lacks(problem: ArgumentLacks, words: Wording) -> Diagnostic:
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


def _instead(problem: ArgumentLacks, span: Span, words: Wording) -> tuple[str, list[tuple[Span, str]]]:
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


@tells(ArgumentNamesake)
def argument_namesake(problem: ArgumentNamesake, words: Wording) -> Diagnostic:
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


@tells(LiftsMentioned)
def lifts_mentioned(problem: LiftsMentioned, words: Wording) -> Diagnostic:
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
