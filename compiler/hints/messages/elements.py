"""Values of the wrong kind, in words."""

from __future__ import annotations

import re

from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base import rewritten
from ...base.idioms import compared
from ...base.names import nearest
from ...graph.traits import Compared, Pointwise
from ...graph.typed_value import show_axes, show_type
from ...graph.values import IndexInto, Scalar
from ...problems import elements as p
from ...sizes.axes import Arith, Axis, SizeOf
from .. import unlike
from ..copies import other_copy
from ..table import say, tells
from ..usage import kept
from ..words import Wording

_REALS = frozenset(("tensor", "float", "double", "half", "f", "bf", "bfloat", "number", "scalar", "array", "ndarray"))
"""What other languages call real numbers, or anything in brackets; with a number of bits or without."""


@tells(p.WrongElement)
def wrong_element(problem: p.WrongElement, words: Wording) -> Diagnostic:
    have, taker, axis = problem.have, f"`{problem.taker}`", problem.axis
    into = axis.name if axis is not None else ""
    wants = {
        p.Wanted.NUMBERS: f"{taker} needs numbers",
        p.Wanted.ITEMS: f"{taker} needs numbers",
        p.Wanted.FACTORS: "`dot` multiplies numbers",
        p.Wanted.COMPARED: f"{taker} compares numbers",
        p.Wanted.ORDERED: f"{taker} compares numbers",
        p.Wanted.TRUTH: f"{taker} needs truth values",
        p.Wanted.CONDITION: "`select` chooses by a truth value",
        p.Wanted.BRANCH: "`if` needs a truth value",
        p.Wanted.MASK: "a mask is a truth value",
        p.Wanted.INT: "`index` makes an index of an int",
        p.Wanted.INDEX: "`int` needs an index",
        p.Wanted.PICK: "`valid` tells of an index whether there was one to pick",
        p.Wanted.GATHERED: f"`{into}` is picked by indices",
        p.Wanted.EMBEDDED: "`embed` looks up indices",
        p.Wanted.TARGETS: f"the targets of `cross_entropy` are indices into `{into}`",
        p.Wanted.PARAM: "a param is real",
    }[problem.wanted]
    this = f"this is {show_type(have)}"
    match problem.wanted, have.element:
        case p.Wanted.ORDERED, _:
            this = "these are truth values"
        case p.Wanted.BRANCH, _:
            this = "this is a number"
        case p.Wanted.PARAM, _:
            this = f"{show_type(have)} is written here"
        case p.Wanted.NUMBERS, IndexInto(indexed):
            this += f": indices into `{indexed.name}`"
        case p.Wanted.ITEMS, IndexInto():
            this += ": indices"
        case _:
            pass
    return say(problem, f"{wants}, but {this}", help=_mended(problem, into, words))


def _mended(problem: p.WrongElement, into: str, words: Wording) -> str:
    """How elements of the wanted kind are had."""
    have, text, q = problem.have, problem.text, words.quoted
    number, declared = f"write {q('select(m, 1, 0)')} for 1 and 0", q(f"{into}[..]")
    match problem.wanted, have.element:
        case p.Wanted.NUMBERS, IndexInto(indexed):
            looked, plain = q(f"E[{indexed.name} = {text}]"), q(f"int({text})")
            return f"look them up, {looked} or `embed`; {plain} is the plain number"
        case p.Wanted.ITEMS, IndexInto():
            return f"look the index up in a table, {q('E[vocab = ids]')}, or say {q('int(i)')} to use it as a number"
        case p.Wanted.ITEMS, _:
            choose = q(f"select({text}, x, y)")
            return f"choose by it, {choose}, or leave items out of a sum or softmax with {q('where')}"
        case (p.Wanted.NUMBERS, _) | (p.Wanted.INDEX, Scalar.BOOL):
            return number
        case p.Wanted.MASK, _ if problem.written is not None:
            return kept(problem.written, words)
        case p.Wanted.INT, IndexInto():
            return f"it is an index already; {q('int(i)')} makes it a plain number first"
        case p.Wanted.INT, Scalar.BOOL:
            return f"choose by it: {q(f'select({text}, 1, 0)')}"
        case p.Wanted.TARGETS, Scalar.INT:
            return f"write {q(f'index[{into}]({text})')}, or declare them as {declared}"
        case _:
            pass
    return {
        p.Wanted.FACTORS: f"write {q('select(m, 1, 0)')} for a mask",
        p.Wanted.COMPARED: "combine truth values with and, or, not",
        p.Wanted.ORDERED: "use ==, !=, and, or, not",
        p.Wanted.TRUTH: f"compare it: {q('x > 0')}",
        p.Wanted.CONDITION: f"compare it: {q('x > 0')}",
        p.Wanted.BRANCH: f"compare it: {q('n > 0')}",
        p.Wanted.INT: f"round it: {q(f'floor({text})')}",
        p.Wanted.INDEX: "round a real with floor or ceil",
        p.Wanted.PICK: "give it the index, as `topk`, `argsort` or `argmax` gives it",
        p.Wanted.GATHERED: "use floor(x) for a whole number",
        p.Wanted.EMBEDDED: f"its type should be {declared}: indices into {q(into)}",
        p.Wanted.TARGETS: f"declare them as {declared}: indices into {q(into)}",
        p.Wanted.PARAM: f"write {q(show_axes(have.axes))}",
    }[problem.wanted]


@tells(p.SwappedTargets)
def swapped_targets(problem: p.SwappedTargets, words: Wording) -> Diagnostic:
    assert problem.span is not None
    swapped = [(problem.span, problem.other.text), (problem.other, problem.span.text)]
    return say(
        problem,
        "the operands of `cross_entropy` have changed places: these are the targets",
        f"this is {show_type(problem.targets)}",
        related=[(problem.other, f"the logits, {show_type(problem.logits)}")],
        help=f"the logits come first: {words.quoted(rewritten.edited(problem.call, swapped))}",
        fix=swapped,
    )


@tells(p.DefaultElement)
def default_element(problem: p.DefaultElement, words: Wording) -> Diagnostic:
    return _default(problem, show_type(problem.default))


@tells(p.DefaultIndex)
def default_index(problem: p.DefaultIndex, words: Wording) -> Diagnostic:
    return _default(problem, problem.text)


def _default(problem: p.DefaultElement, shown: str) -> Diagnostic:
    match problem.type.element:
        case IndexInto(axis):
            help = f"indices into `{axis.name}` run from 0 to |{axis.name}| - 1"
        case element:
            help = f"write {'`true` or `false`' if element is Scalar.BOOL else 'a number'}"
    return say(problem, f"`{problem.name}` is {show_type(problem.type)}, but its default is {shown}", help=help)


@tells(p.ArgumentElement)
def argument_element(problem: p.ArgumentElement, words: Wording) -> Diagnostic:
    q, name, have, want = words.quoted, problem.formal.name.text, problem.have.element, problem.wanted.element
    text = problem.text
    match want, have:
        case IndexInto(axis), _:
            wanted = f"indices into `{axis.name}`"
            help = f"pass the indices themselves, or find them: `argmax`, `topk`, {q('index[a](floor(x))')}"
            if have is Scalar.INT:
                help = f"{q(f'index[{axis.name}]({text})')} makes an index of an int"
        case Scalar(), _:
            wanted = f"{want.value} elements"
            if want is Scalar.BOOL and not isinstance(have, IndexInto):
                help = compared(text, q)
            elif want is not Scalar.REAL or isinstance(have, IndexInto):
                help = f"{q('int(i)')} makes a number of an index; {q('x > 0')} makes a truth value of a number"
            else:
                help = f"write {q(f'select({text}, 1, 0)')} for 1 and 0"
    return say(
        problem,
        f"`{name}` of `{problem.called}` takes {wanted}, but this is {show_type(problem.have)}",
        related=[(problem.formal.span, "declared here")],
        help=help,
    )


@tells(p.NotCompared)
def not_compared(problem: p.NotCompared, words: Wording) -> Diagnostic:
    a, b, q = problem.a, problem.b, words.quoted
    first, second = sorted((a, b), key=lambda axis: axis.span.start if axis.span else 0)
    forgets = f"{q(f'int({a.name})')} forgets the axis on purpose"
    fixed = [axis for axis in (a, b) if not axis.is_width or axis.extent is not None]
    if len(fixed) == 1:  # most likely a position was compared with a size
        name = fixed[0].name
        help = f"if the size of {q(name)} is meant, write {q(f'|{name}|')}; {forgets}"
    elif second.is_width and isinstance(second.size, Arith):
        both = q("int(...)")
        help = f"{q(second.name)} has a size of its own, so it is no copy: write {both} on both sides; {forgets}"
    else:
        help = unlike.compared(a, b, problem.around, problem.text, words)
    return say(
        problem,
        f"`{a.name}` and `{b.name}` are not copies of one axis: their indices do not compare",
        related=[(a.span, f"`{a.name}` is declared here"), (b.span, f"`{b.name}` is declared here")],
        help=help,
        fix=_equal_as_copy(first, second),
    )


def _equal_as_copy(first: Axis, second: Axis) -> list[tuple[Span, str]]:
    """The edit that makes a copy of an axis that is declared with the size of another: `width past = seq`."""
    if second.span is None or second.size != SizeOf(first):
        return []
    text, end = second.span.source.text, second.span.end
    found = re.match(rf"[ \t]*(=)[ \t]*{first.name}[ \t]*(?=[,#\n]|\Z)", text[end:])
    return [(Span(second.span.source, end + found.start(1), end + found.end(1)), "like")] if found else []


@tells(p.WrongTable)
def wrong_table(problem: p.WrongTable, words: Wording) -> Diagnostic:
    have, want, q = problem.have.name, problem.want.name, words.quoted
    message = f"these are indices into `{have}`, but the table is over `{want}`"
    match problem.table:
        case p.IndexTaker.OP:
            help = f"use a table over {q(have)}, or correct the type of the indices to {q(f'{want}[..]')}"
        case p.IndexTaker.PICKS:  # it is computed: there is no written type to correct
            plain = q(f"int({problem.span.text})") if problem.span is not None else ""
            help = f"{plain} forgets the axis on purpose: an int picks from any"
        case p.IndexTaker.ARGUMENT:
            message = f"`{problem.name}` takes indices into `{want}`, but these are indices into `{have}`"
            help = "pass the indices that belong to this table"
    return say(
        problem,
        message,
        f"this is {show_type(problem.ids)}",
        related=[
            (problem.want.span, f"`{want}` is declared here"),
            (problem.have.span, f"`{have}` is declared here"),
        ],
        help=help,
    )


@tells(p.IndexOutside)
def index_outside(problem: p.IndexOutside, words: Wording) -> Diagnostic:
    name, i, q = problem.axis.name, problem.written, words.quoted
    what = f"is not less than |{name}|" + (f" = {problem.axis.extent}" if problem.axis.extent else "")
    kept = q(f"max({i}, 0)" if problem.below else f"min({i}, |{name}| - 1)")
    return say(
        problem,
        f"this index into `{name}` {'is negative' if problem.below else what}"
        + (f": it gets to {problem.value}" if problem.value is not None else ""),
        related=[(problem.axis.span, f"`{name}` is declared here")],
        help=f"indices into {q(name)} run from 0 to |{name}| - 1" + (f"; clamp it: {kept}" if problem.clamped else ""),
    )


@tells(p.KindOfElement)
def kind_of_element(problem: p.KindOfElement, words: Wording) -> Diagnostic:
    name, span = problem.name, problem.span
    if name in p.BLOCKS:
        help = "write its name where it is called; of several, choose by an `if` on a const"
        return say(problem, "no block or op is an argument", help=help)
    reals = "".join(c for c in name.lower() if c.isalpha()) in _REALS
    near = "" if reals else nearest(name, [*problem.known, Scalar.BOOL.value, Scalar.INT.value])
    kinds = "`[axes]` for real numbers, `bool[axes]`, `int[axes]`, or `axis[axes]` for indices into that axis"
    return say(
        problem,
        f"`{name}` is no kind of element: neither bool, nor int, nor an axis",
        help=f"did you mean `{near}`?" if near else f"a type is {kinds}",
        fix=[(span, near or "")] if span is not None and (near or reals) else [],
    )


@tells(p.DividedByIndex)
def divided_by_index(problem: p.DividedByIndex, words: Wording) -> Diagnostic:
    name, q, others = problem.axis.name, words.quoted, problem.others
    sizes = f"sizes are {q(f'|{others[0].name}|')} and" if others else "size is"
    meant = q(f"({name} + 1)")
    return say(
        problem,
        f"this divides by the index of `{name}`, which begins at 0",
        f"`{name}` stands for 0, 1, ..., |{name}| - 1 here",
        help=f"the {sizes} {q(f'|{name}|')}; if the index is meant, divide by {meant}",
        related=_bound(problem.span, problem.axis, problem.bound),
        fix=[] if problem.running or others else _sized(problem.span, problem.axis),
    )


@tells(p.RootOfIndex)
def root_of_index(problem: p.RootOfIndex, words: Wording) -> Diagnostic:
    name, q = problem.axis.name, words.quoted
    return say(
        problem,
        f"this scales by the root of the index of `{name}`, not of its size",
        f"`{name}` stands for 0, 1, ..., |{name}| - 1 here",
        help=f"the size is {q(f'|{name}|')}; {q(f'int({name})')} says that the index is meant",
        related=_bound(problem.span, problem.axis, problem.bound),
        fix=_sized(problem.span, problem.axis),
    )


def _sized(span: Span | None, axis: Axis) -> list[tuple[Span, str]]:
    """The edit that puts the size of the axis in place of its index: none where a variable stands for that, or where
    the two stand side by side.
    """
    if span is None or f"|{axis.name}|" in span.text:
        return []
    text = re.sub(rf"(?<!\|)\b{axis.name}\b(?!\|)", f"|{axis.name}|", span.text)
    return [(span, text)] if text != span.text else []


def _bound(span: Span | None, axis: Axis, bound: Span) -> list[tuple[Span | None, str]]:
    """Where the variable is bound that stands for the index."""
    if span is None or _sized(span, axis) or bound == span:
        return []
    return [(bound, f"`{span.text}` is bound here")]


@tells(p.ComparedWithItself)
def compared_with_itself(problem: p.ComparedWithItself, words: Wording) -> Diagnostic:
    axis = problem.axis
    match problem.reads:
        case Pointwise(Compared("<=" | ">=" | "==")):
            always = "always"
        case _:
            always = "never"
    others = [other for other in problem.around.names.values() if other.family == axis.family and other != axis]
    copy, declared = other_copy(axis, problem.around, words)
    other = others[0].name if others else copy
    later = others[0].id > axis.id if others else True  # keys are the later copy, and stand on the left
    pair = (other, axis.name) if later else (axis.name, other)
    declare = "" if others else f"declare a copy, {declared}, and "
    return say(
        problem,
        f"`{axis.name}` is compared with itself, so this {always} holds",
        related=[(axis.span, f"`{axis.name}` is declared here")],
        help=f"{declare}compare two copies of the axis, `{pair[0]} {problem.sign} {pair[1]}`",
    )
