"""Declarations of a file, what it uses of others, and what is set from outside, in words."""

from __future__ import annotations

from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base import rewritten
from ...base.names import did_you_mean, nearest, respelt, undeclared
from ...ops import OPS
from ...problems import files as p
from ..table import say, tells
from ..words import Wording


def _respelt(span: Span | None, near: str | None) -> list[tuple[Span, str]]:
    return [] if span is None else respelt(span, near)


@tells(p.UnknownSetting)
def unknown_setting(problem: p.UnknownSetting, words: Wording) -> Diagnostic:
    name, known = problem.name, problem.known
    return say(
        problem,
        f"config `{problem.config}` sets `{name}`, which this file does not declare",
        help=did_you_mean(name, known) or f"declare `{name}`, or leave it out",
        fix=_respelt(problem.span, nearest(name, known)),
    )


@tells(p.UnknownSet)
def unknown_set(problem: p.UnknownSet, words: Wording) -> Diagnostic:
    name, known = problem.name, problem.known
    help = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "")
    return say(problem, f"{problem.file} has no axis or const `{name}` to set", help=help)


@tells(p.UnknownConfig)
def unknown_config(problem: p.UnknownConfig, words: Wording) -> Diagnostic:
    name, known = problem.name, problem.known
    help = did_you_mean(name, known) or f"it has {', '.join(known) or 'none'}"
    return say(problem, f"{problem.file} has no config `{name}`", help=help)


@tells(p.SetListForNumber)
def set_list_for_number(problem: p.SetListForNumber, words: Wording) -> Diagnostic:
    name, listed = problem.name, problem.listed
    is_, gets = ("one number", "a list") if listed else ("a list", "one number")
    return say(
        problem,
        f"const `{name}` is {is_}, but is set to {gets}",
        related=[(problem.declared, f"`{name}` is declared here")],
        help=f"set it to a number: `{name}=2`" if listed else f"set it to a list: `{name}=[0,512]`",
    )


@tells(p.NoFunction)
def no_function(problem: p.NoFunction, words: Wording) -> Diagnostic:
    ascii = "" if problem.target.isascii() else ", in names made of A-Z, a-z, 0-9 and `_`"
    help = f'write "module:function", as in "my_ops.sort:by_hash"{ascii}'
    return say(problem, f'"{problem.target}" names no function', help=help)


@tells(p.NewerOp)
def newer_op(problem: p.NewerOp, words: Wording) -> Diagnostic:
    name, op = problem.name, OPS[problem.name]
    return say(
        problem,
        f"`{name}` is an op too, since version {op.since}: this declaration is meant by its name here",
        help=f"delete it if the op, `{op.usage}`, does the same, or choose another name, `my_{name}`",
    )


@tells(p.DeclaredAgain)
def declared_again(problem: p.DeclaredAgain, words: Wording) -> Diagnostic:
    return say(
        problem,
        f"`{problem.name}` is declared twice",
        "declared again here",
        related=[(problem.first, "first declared here")],
        help="rename one of the two",
    )


@tells(p.DeclaredByItself)
def declared_by_itself(problem: p.DeclaredByItself, words: Wording) -> Diagnostic:
    chain = problem.chain
    shown = chain if len(chain) < 9 else (*chain[:4], "...", *chain[-3:])
    number, copies = "give one of them a number", "leave out one `like`: the others are copies of that axis"
    return say(
        problem,
        f"`{problem.name}` is declared by way of itself: {' -> '.join(shown)}",
        help=copies if problem.copies else number,
    )


@tells(p.KindInUsedFile)
def kind_in_used_file(problem: p.KindInUsedFile, words: Wording) -> Diagnostic:
    name, (kind, there) = problem.name, problem.there
    return say(
        problem,
        f"`{name}` is a {problem.item.kind.value} here but a {kind} in {problem.file}",
        related=[(there, f"a {kind} here")],
        help=f"declare it as a {kind}, or import it under another name: `use ...: {name} as other`",
    )


@tells(p.KindOfFileCopy)
def kind_of_file_copy(problem: p.KindOfFileCopy, words: Wording) -> Diagnostic:
    decl, original, theirs = problem.decl, problem.original, problem.original.kind.value
    return say(
        problem,
        f"`{decl.name.text}` is a {decl.kind} but `{original.name}` is a {theirs}: a copy has the kind of its original",
        related=[(original.span, f"`{original.name}` is declared here")],
        help=f"write `{theirs} {decl.span.text}`",
    )


@tells(p.ConstAtRunTime)
def const_at_run_time(problem: p.ConstAtRunTime, words: Wording) -> Diagnostic:
    name, width = problem.name, problem.width
    fixed = f"fix the width: {rewritten.sized(width, '=', 128)}"
    return say(
        problem,
        f"the const `{name}` depends on the width `{width.name}`, but must be known at build time",
        help=f"write it out where it is used, declare `{name}` in the block that uses it, or {fixed}",
    )


@tells(p.NotDeclared)
def not_declared(problem: p.NotDeclared, words: Wording) -> Diagnostic:
    name, known = problem.name, problem.known
    return say(
        problem,
        f"no axis or const is named `{name}`",
        help=undeclared(name, known),
        fix=_respelt(problem.span, nearest(name, known)),
    )


@tells(p.UsedInCircle)
def used_in_circle(problem: p.UsedInCircle, words: Wording) -> Diagnostic:
    message = f"these files use each other in a circle: {' -> '.join(problem.chain)}"
    return say(problem, message, help="move what both need into a third file")


@tells(p.TwoSources)
def two_sources(problem: p.TwoSources, words: Wording) -> Diagnostic:
    local, name = problem.local, problem.name
    differs, first = "", "and from here"
    if problem.differs:
        differs, first = ", and is not the same in both", "the first is used here"
    return say(
        problem,
        f"`{local}` comes from two files{differs}",
        related=[(problem.first, first)],
        help=f"declare `{local}` in this file (its declaration then holds in both), or rename one: `{name} as other`",
    )


@tells(p.NotInFile)
def not_in_file(problem: p.NotInFile, words: Wording) -> Diagnostic:
    name, known = problem.name, problem.known
    return say(
        problem,
        f"{problem.file} has no `{name}`",
        help=did_you_mean(name, known) or f"it has {', '.join(known)}",
        fix=_respelt(problem.span, nearest(name, known)),
    )


@tells(p.NoLibraryFile)
def no_library_file(problem: p.NoLibraryFile, words: Wording) -> Diagnostic:
    name, known, span = problem.name, problem.known, problem.span
    near = nearest(name, known)
    return say(
        problem,
        f"the standard library has no file `{name}`",
        help=f"did you mean `{near}`?" if near else f"it has {', '.join(known)}",
        fix=[(span, near)] if near and span is not None else [],
    )


@tells(p.OutsideProject)
def outside_project(problem: p.OutsideProject, words: Wording) -> Diagnostic:
    return say(
        problem,
        f"`use {problem.name}` leads out of the project, to {problem.file}",
        notes=[f"the project is {problem.project}"] if problem.project else [],
        help=f"allow its folder: `--path {problem.file.parent}`, or in Python `path=[...]`",
    )


@tells(p.Unreadable)
def unreadable(problem: p.Unreadable, words: Wording) -> Diagnostic:
    near = problem.near
    return say(
        problem,
        f"cannot read `{problem.name}`: {problem.why}",
        help=f"did you mean `{near}`?" if near else f"`use a.b` reads a/b.attn beside {problem.file}",
        fix=[(problem.last, near)] if near else [],
    )


@tells(p.TurnedComment)
def turned_comment(problem: p.TurnedComment, words: Wording) -> Diagnostic:
    sign = f"U+{ord(problem.text):04X} ({problem.name})"
    return say(
        problem,
        f"this comment holds {sign}: it is shown in another order than it is read",
        help="delete it",
        fix=[(span, "") for span in problem.places],
    )


@tells(p.DisplayName)
def display_name(problem: p.DisplayName, words: Wording) -> Diagnostic:
    shown, odd = problem.shown, problem.odd
    if not shown.strip():
        help = 'write what readers call the block, as in `as "Multi-Head Attention"`'
        return say(problem, "a display name is empty", help=help)
    plain = " ".join(shown.split())
    if shown != plain:
        return say(problem, "a display name has spaces that no figure shows", help=f'write "{plain}"')
    if odd is None:
        message = f"a display name of {len(shown)} letters has more than {problem.most}"
        return say(problem, message, help="shorten it: it stands in a box")
    named = f"`{odd}`" if odd.isprintable() else f"the character {ord(odd)}"
    help = "use letters of Latin alphabets, Greek ones, digits, and common signs"
    return say(problem, f"{named} in a display name is no sign that every format can set", help=help)
