"""Mistakes of a body that a pass of a repeat, or a call of the block, brings about; and what the parser says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ....dsl.diagnostic import Diagnostic, Label
from ...base.problems import Problem
from ...graph.typed_value import TypedValue
from ...graph.values import IndexInto, Type
from ...problems.relayed import AtCall, CalledFrom, InPass, Misparsed, Relayed
from ...sizes.axes import Axis
from ..table import diagnostic, tells
from ..words import CallersWording, Wording


@tells(Misparsed)
def misparsed(problem: Misparsed, words: Wording) -> Diagnostic:
    return problem.said


@tells(InPass)
def in_pass(problem: InPass, words: Wording) -> Diagnostic:
    found = diagnostic(problem.problem, words)
    where = " and ".join(f"`{name}` is {at}" for name, at in problem.passes)
    related = found.related
    if problem.stands is not None and all(label.span != problem.stands for label in related):
        related = (Label(problem.stands, "it stands here"), *related)
    return replace(found, notes=(*found.notes, f"so it is in the pass where {where}"), related=related)


@tells(CalledFrom)
def called_from(problem: CalledFrom, words: Wording) -> Diagnostic:
    found = diagnostic(problem.problem, words)
    return replace(found, related=(*found.related, Label(problem.call, "called from here")))


@tells(AtCall)
def at_call(problem: AtCall, words: Wording) -> Diagnostic:
    name, formals = problem.block.name.text, [formal.name.text for formal in problem.block.formals]
    names = {theirs.name: ours.name for theirs, ours in problem.axes}
    for place, argument in enumerate(problem.call.arguments):
        formal = argument.name.text if argument.name else formals[place] if place < len(formals) else ""
        names[formal] = argument.value.span.text
    inside = CallersWording(words, names, formals)
    found = diagnostic(problem.problem, inside)
    related = (Label(found.span, f"required here, in `{name}`"),) if found.span else ()
    return replace(
        found,
        span=problem.span,
        label="",
        related=(*related, *found.related),
        notes=(*found.notes, *_renamed(problem)),
        help=_default_of(problem, found, inside) or found.help,
        fix=None,
    )


def _renamed(problem: AtCall) -> list[str]:
    """The names that the caller has for the axes of which a mistake of the body is."""
    spoken = set(_names(problem.problem))
    pairs = [(f.name, a.name) for f, a in problem.axes if f.name != a.name and f.name in spoken]
    called = " and ".join(f"`{a}` is called `{f}`" for f, a in pairs)
    return [f"in `{problem.block.name.text}`, {called}"] if pairs else []


def _names(fact: object) -> Iterator[str]:
    """The names of axes among the facts of a mistake."""
    match fact:
        case Axis(name=name):
            yield name
        case TypedValue(type=type):
            yield from _names(type)
        case Type(element, axes):
            yield from _names((element, axes))
        case IndexInto(axis):
            yield axis.name
        case tuple() | frozenset():
            for each in fact:
                yield from _names(each)
        case Relayed(problem=problem):
            yield from _names(problem)
        case Problem():
            yield from _names(tuple(vars(fact).values()))
        case _:
            pass


def _default_of(problem: AtCall, found: Diagnostic, words: Wording) -> str:
    """The help where an argument that is not given lacks an axis: its default is one number for all items."""
    if problem.code not in ("E0301", "E0309"):
        return ""
    places = [label.span for label in found.related] + ([found.span] if found.span else [])
    spoken = {word for span in places for word in re.findall(r"\w+", span.text)}
    formals = problem.block.formals
    given = {argument.name.text for argument in problem.call.arguments if argument.name}
    in_order = sum(argument.name is None for argument in problem.call.arguments)
    given |= {formal.name.text for formal in formals[:in_order]}
    for formal in formals:
        name, default = formal.name.text, formal.default
        if name in spoken and name not in given and default is not None and formal.type.axes:
            axes = ", ".join(axis.text for axis in formal.type.axes)
            spread = words.code(f"broadcast[{axes}]({default.span.text})")
            return f"`{name}` is {default.span.text} here, without an axis; give it its own: `{name} = {spread}`"
    return ""
