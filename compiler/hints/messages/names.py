"""Names that mean nothing, or something else, where they stand, in words."""

from __future__ import annotations

import re
from keyword import iskeyword

from ....dsl.diagnostic import Diagnostic
from ....dsl.mistakes.words import FINITE
from ....dsl.source import Span
from ...base.idioms import FOREIGN, IDIOMS
from ...base.names import akin, listed, misspelt, nearest, respelt
from ...ops import OPS, WRITABLE, Brackets
from ...problems import names as p
from ...sizes.axes import Value
from ..copies import undeclared
from ..table import say, tells
from ..words import Wording

_BATCH = frozenset(("batch", "batches", "batch_size", "batchsize", "bs", "bsz", "n_batch", "nbatch"))


@tells(p.NoAxisNamed)
def no_axis_named(problem: p.NoAxisNamed, words: Wording) -> Diagnostic:
    name, numbered, near = problem.name, problem.numbered, nearest(problem.name, problem.known)
    message, help = f"no axis is named `{name}`", f"declare it: `width {name}` or `depth {name} = 64`"
    if name.lower() in _BATCH and near is None:
        help = "leave it out: the axes of a batch are not written, all ops run along them by themselves"
    elif numbered is not None and not misspelt(name, near or ""):
        near, help = None, f"declare a copy: `{numbered.kind.value} {name} like {numbered.name}`"
    elif copy := undeclared(name, problem.span):
        near, help = near if misspelt(name, near or "") else None, copy
    elif problem.declared:
        help = f"declare it: `{problem.declared.format(name)}`"
    match problem.other:
        case p.Other.VARIABLE:
            message = f"`{name}` is a variable, but an axis is wanted here"
            help = f"write the name of an axis; `abs({name})` is the absolute value"
        case p.Other.CONST:
            message = f"`{name}` is a const, but an axis is wanted here"
            help = f"declare an axis of that size: `depth other = {name}`"
        case p.Other.DECLARED_BELOW:
            near, message = None, f"`{name}` is declared in this body, further down"
            help = "declare it before, or make it a parameter of the block"
            if problem.in_file:
                help = f"call that one otherwise, and `{name}` is that of the file"
        case p.Other.NOTHING:
            pass
    return say(problem, message, help=f"did you mean `{near}`?" if near else help, fix=respelt(problem.span, near))


@tells(p.NoValueNamed)
def no_value_named(problem: p.NoValueNamed, words: Wording) -> Diagnostic:
    name, near = problem.name, nearest(problem.name, problem.known)
    if name in ("True", "False"):
        near = name.lower()
    copy = undeclared(name, problem.span)
    near = None if copy and not misspelt(name, near or "") else near
    help = copy or f"bind it above, `{name} = ...`, or make it an argument"
    help = f"did you mean `{near}`?" if near else help
    if name == "None":
        help = "leave it out: what has a default need not be given; a mask that keeps all is `true`"
    elif name.lower() in ("inf", "infinity", "nan"):
        help = FINITE
    elif problem.callable:
        help = f"`{name}` is called with its operands: `{name}(x)`, or `x |> {name}`"
    fix = respelt(problem.span, near) if help.startswith("did") else []
    return say(problem, f"nothing is named `{name}` here", help=help, fix=fix)


@tells(p.NothingCalled)
def nothing_called(problem: p.NothingCalled, words: Wording) -> Diagnostic:
    call, name, library = problem.call, problem.call.callee.text, problem.library
    near = nearest(name, [*(op for op in WRITABLE if akin(name, op)), *problem.known])
    idiom = IDIOMS.get(name)
    if idiom is None and (near is None or near.lower() != name.lower()):  # `nn.SELU` is a class
        idiom = IDIOMS.get(name.lower())
    if idiom is not None:  # a name of another library is no misspelling
        near = None
    listing = "docs/ops.md lists the ops; a composition of them is a `block`"
    help = f"did you mean `{near}`?" if near else idiom or listing
    fix = respelt(call.callee.span, near)
    if library:
        at, used = problem.used
        help, line = f"the standard library has it: `use {library}: {name}`", f"use {library}: {name}\n"
        fix = [(at, line if used else f"{line}\n")]
    if problem.variable:
        help = f"`{name}` is a variable: it is not called"
    if call.label is not None and (problem.variable or name in FOREIGN):
        help = _method(name, call.label.text, problem.variable) or help
    return say(problem, f"no op or block is named `{name}`", help=help, fix=[] if problem.variable else fix)


def _method(name: str, word: str, variable: bool) -> str:
    """The help for `x.relu()` or `nn.Linear(...)` of other languages."""
    op = next((each for each in (word, word.lower()) if each in WRITABLE), None)
    if op is None:
        return IDIOMS.get(word, "")
    plain = variable and OPS[op].brackets is Brackets.NONE
    return f"an op is called by its name alone: `{f'{op}({name})' if plain else OPS[op].usage}`"


@tells(p.NameTaken)
def name_taken(problem: p.NameTaken, words: Wording) -> Diagnostic:
    name, kind = problem.name, problem.kind
    what, help = {
        p.Bearer.VARIABLE: ("variable", f"call the variable something else, such as `{name}_`"),
        p.Bearer.ARGUMENT: ("variable", f"call the argument something else, such as `{name}_`"),
        p.Bearer.INDEX: ("index of a repeat", "choose another name for the index"),
    }[problem.bearer]
    return say(
        problem,
        f"`{name}` is the name of {'an' if kind == 'axis' else 'a'} {kind}, so no {what} may bear it",
        related=[(problem.declared, f"the {kind} is declared here")],
        help=help,
    )


def _kept_by(name: str) -> str:
    """Why no weight may bear it."""
    if name.startswith("_"):
        return "names that begin with `_` are those of torch modules"
    return "it is a word of Python" if iskeyword(name) else "torch modules have something of that name"


@tells(p.ReservedName)
def reserved_name(problem: p.ReservedName, words: Wording) -> Diagnostic:
    span, other = problem.span, f"{problem.name.strip('_')}_"
    label = span is not None and span.source.text[: span.start].endswith(".")
    return say(
        problem,
        f"weights cannot be named `{problem.name}`: {_kept_by(problem.name)}",
        notes=["names of weights become attributes of a torch module: Python and torch keep some for themselves"],
        help=f"give it another label, such as `{other}`",
        fix=[(span, other)] if span is not None and label else [],
    )


@tells(p.OwnedTwice)
def owned_twice(problem: p.OwnedTwice, words: Wording) -> Diagnostic:
    name, model, span = problem.name, problem.model, problem.span
    message, related = f"two things here own weights under the name `{name}`", [(problem.first, "the first")]
    if model:
        help = f"a model adds nothing to the names of its weights: make `{model}` a block, or name one of the two anew"
        return say(problem, message, f"`{model}` has a `{name}`", related=related, help=help)
    assert span is not None
    head = re.match(r"\w+(\.\w+)?", span.text)  # `linear.out`, or its callee or label alone
    end = span.start + (head.end() if head else 0)
    labelled = re.search(r"(\w+)\.\w+\Z", span.source.text[:end])
    callee = labelled[1] if labelled else head[0] if head else name
    help = (
        f"give one of them {'another' if labelled else 'a'} label, such as `{callee}.other`; "
        "calls of one `share` have the same weights"
    )
    return say(problem, message, "the second", related=related, help=help)


@tells(p.NamelessOp)
def nameless_op(problem: p.NamelessOp, words: Wording) -> Diagnostic:
    op, label, span = problem.op, problem.label, problem.span
    return say(
        problem,
        f"this `{op}` needs a name: its weights are stored under it",
        help=f"label it, such as `{op}.{label}[...]`, or bind its result to a name of its own",
        fix=[(Span(span.source, span.end, span.end), f".{label}")] if span is not None else [],
    )


@tells(p.NamelessRepeat)
def nameless_repeat(problem: p.NamelessRepeat, words: Wording) -> Diagnostic:
    statement, label = problem.statement, problem.label
    each = f"{statement.index.text} in " if statement.index is not None else ""
    written = f"repeat.{label} {each}{statement.count.span.text}{' shared' if statement.shared else ''} {{ ... }}"
    end = statement.head.start + len("repeat")
    return say(
        problem,
        "this repeat needs a label: weights and values in it are named by it",
        help=f"write `{written}`, or count by a const, whose name it then has",
        fix=[(Span(statement.head.source, end, end), f".{label}")],
    )


@tells(p.SameName)
def same_name(problem: p.SameName, words: Wording) -> Diagnostic:
    name, block, alike, (mine, theirs) = problem.name, problem.block, problem.alike, problem.numbers
    has = f"{listed(alike)} {'has its' if len(alike) == 1 else 'have their'} own `{name}`"
    if mine is None or theirs is None:
        message = f"{has}, which is not the one of this file"
    elif mine == theirs:
        message = f"{has}: {_number(theirs)} as here, but a config or `--set` changes this one alone"
    else:
        message = f"`{name}` is {_number(mine)} here, but {has}, which is {_number(theirs)}"
    here, there = problem.kinds
    own = f"if its own is meant, say `{name} as other` there"
    match problem.remedy:
        case p.Remedy.DECLARE:
            help = f"declare `{name}` in this file and name it in each `use`: there is one for all then; {own}"
        case p.Remedy.SIZE:
            given = f"`{block}[{name} = {_number(mine) if mine is not None else 2}]`"
            help = f"it is called along this `{name}`: give it a size in the call, such as {given}"
        case p.Remedy.USE:
            help = f"name it in the `use`, and this one holds there too; {own}"
        case p.Remedy.CALL:
            holds = "this one" if here == there and problem.given == name else "its number"
            given = f"`{block}[{name} = {problem.given}]`"
            help = f"give it in the call, and {holds} holds there too: {given}; or give its own size"
    return say(
        problem,
        message,
        related=[
            *((at, f"`{each}` comes without `{name}`") for each, at in problem.users),
            (problem.there, f"the `{name}` of `{block}`"),
        ],
        notes=[f"a {here} here, a {there} there: they are never one"] if here != there else [],
        help=help,
        fix=problem.fix,
    )


def _number(number: Value) -> str:
    return str(number).lower() if isinstance(number, bool) else f"{number}"
