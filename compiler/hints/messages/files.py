"""Declarations of a file, what it uses of others, and what is set from outside, in words."""

from __future__ import annotations

from ....dsl.diagnostic import Diagnostic
from ...base import rewritten
from ...base.names import did_you_mean, nearest
from ...problems import files as p
from ..table import say, tells
from ..words import Wording


@tells(p.UnknownSet)
def unknown_set(problem: p.UnknownSet, words: Wording) -> Diagnostic:
    name, known = problem.name, problem.known
    help = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "")
    return say(problem, f"{problem.file} has no axis or const `{name}` to set", help=help)


@tells(p.NoFunction)
def no_function(problem: p.NoFunction, words: Wording) -> Diagnostic:
    ascii = "" if problem.target.isascii() else ", in names made of A-Z, a-z, 0-9 and `_`"
    help = f'write "module:function", as in "my_ops.sort:by_hash"{ascii}'
    return say(problem, f'"{problem.target}" names no function', help=help)


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


@tells(p.ConstAtRunTime)
def const_at_run_time(problem: p.ConstAtRunTime, words: Wording) -> Diagnostic:
    name, width = problem.name, problem.width
    fixed = f"fix the width: {rewritten.sized(width, '=', 128)}"
    return say(
        problem,
        f"the const `{name}` depends on the width `{width.name}`, but must be known at build time",
        help=f"write it out where it is used, declare `{name}` in the block that uses it, or {fixed}",
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
