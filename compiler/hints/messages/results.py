"""Types that are promised and not given, results that are missing, and models with two sets of weights, in words."""

from __future__ import annotations

from collections.abc import Sequence

from ....dsl import syntax as s
from ....dsl.diagnostic import Diagnostic
from ....dsl.source import Span
from ...base.idioms import compared
from ...graph.typed_value import TypedValue, show, show_type
from ...graph.values import IndexInto, Scalar, Type
from ...problems import results as p
from ...sizes.axes import Axis
from .. import missing_axis
from ..table import say, tells
from ..words import Wording


@tells(p.OtherType)
def other_type(problem: p.OtherType, words: Wording) -> Diagnostic:
    return _other_type(problem, f"`{problem.name}`", words)


@tells(p.OtherResult)
def other_result(problem: p.OtherResult, words: Wording) -> Diagnostic:
    what = f"the result of `{problem.name}`" if problem.of_block else f"`{problem.name}`"
    return _other_type(problem, what, words)


def _other_type(problem: p.OtherType, what: str, words: Wording) -> Diagnostic:
    value, wanted = show(problem.value), show_type(problem.wanted)
    return say(
        problem,
        f"{what} is {value}, but {wanted} is written here",
        f"this is {value}",
        related=[
            (problem.at, f"{wanted} wanted here"),
            *missing_axis.alone(problem.value, [a for a in problem.wanted.axes if a not in problem.value.type.axes]),
        ],
        help=_difference(problem, words),
        fix=_as_index(problem),
    )


def _as_index(problem: p.OtherType) -> list[tuple[Span, str]]:
    """The edit that makes an index of an int, where that is all that its type lacks."""
    wire, wanted, span = problem.value, problem.wanted, problem.span
    if span is None or wire.element is not Scalar.INT or not isinstance(wanted.element, IndexInto):
        return []
    free = {*problem.around.lifted, *wire.type.broadcast_axes}
    if set(wanted.axes) - free != set(wire.type.axes) - free:
        return []
    return [(span, f"index[{wanted.element.axis.name}]({span.text})")]


def _difference(problem: p.OtherType, words: Wording) -> str:
    """What is missing, what is too much."""
    wire, wanted, q = problem.value, problem.wanted, words.quoted
    missing = [axis for axis in wanted.axes if axis not in wire.type.axes]
    extra = [axis for axis in wire.axes if axis not in wanted.axes and axis not in problem.around.lifted]
    for axis in missing:
        for other in extra:
            if axis.family == other.family:
                renamed = q(f"x[{other.name} as {axis.name}]")
                return f"{q(other.name)} and {q(axis.name)} are copies of one axis: rename, {renamed}"
    parts = []
    if missing:
        explanation = missing_axis.explain(wire, missing, problem.around, words)
        lacks = f"{words.listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        parts.append(lacks + (f": {explanation}" if explanation else ""))
    if extra:
        mend = _mapped(problem, missing, extra, words)
        parts.append(f"{words.listed(extra)} {'is' if len(extra) == 1 else 'are'} too much{mend}")
    return "; ".join(parts) if parts else _of_another_kind(wire, wanted, problem.text, words)


def _mapped(problem: p.OtherType, missing: Sequence[Axis], extra: Sequence[Axis], words: Wording) -> str:
    """How axes that are too many are taken away, or made those that are missing; "" where it is not known."""
    if problem.value.element is not Scalar.REAL:
        return ""
    text = problem.text if len(problem.text) < 60 and "\n" not in problem.text else "..."
    names, depths = ", ".join(axis.name for axis in extra), [axis for axis in missing if not axis.is_width]
    if not depths:
        widened = missing_axis.widened(problem.value, extra)
        taken = f"let the map take it, too, {words.quoted(widened)}" if widened else ""
        them, belong = ("it", "it belongs") if len(extra) == 1 else ("them", "they belong")
        taken = taken or f"{words.quoted(f'mean[{names}]({text})')}, say, takes {them} away"
        return "" if missing else f": {taken}; or {belong} in the type"
    if any(axis.is_width for axis in extra):
        return ""
    made = ", ".join(axis.name for axis in depths)
    back = f"linear.back[{names} -> {made}]"
    mapped = words.quoted(f"{text} |> {back}" if text.isidentifier() else f"{back}({text})")
    return f": map what it has to what is wanted, {mapped}"


def _of_another_kind(wire: TypedValue, wanted: Type, text: str, words: Wording) -> str:
    """The help where a value has elements of another kind."""
    q = words.quoted
    match wire.element, wanted.element:
        case Scalar.INT, IndexInto(axis):
            return f"{q(f'index[{axis.name}](...)')} makes an index of an int, and looks that it is one"
        case IndexInto(), Scalar.INT:
            return f"{q(f'int({text})')} is the plain number"
        case Scalar.BOOL, Scalar.REAL | Scalar.INT:
            return f"of a truth value {q(f'select({text}, 1, 0)')} makes a number"
        case _, Scalar.BOOL:
            return compared(text, q)
        case Scalar.REAL, Scalar.INT | IndexInto():
            return f"the kinds of elements differ: {q('floor(x)')} and {q('ceil(x)')} are whole numbers"
        case _:
            return "the kinds of elements differ"


@tells(p.TypeInRepeat)
def type_in_repeat(problem: p.TypeInRepeat, words: Wording) -> Diagnostic:
    name, before, after, q = problem.name, problem.before, problem.after, words.quoted
    lifted = problem.around.lifted
    more = [axis for axis in after.type.axes if axis not in before.type.axes]
    grows, is_given = (
        set(before.type.axes) < set(after.type.axes),
        any(formal.name.text == name for formal in problem.around.block.formals),
    )
    names = ", ".join(axis.name for axis in more)
    if not grows:
        help = "give the result the type that it had, or bind it to a new name"
    elif set(more) & set(lifted) and not is_given:
        help = f"the block cannot name {q(names)}, over which it is lifted: begin with a value that has it already"
    else:
        help = f"give it all its axes before the repeat: {q(f'{name} = broadcast[{names}]({name})')}"
        unmapped = missing_axis.unmapped(after, before.type.axes, more, words)
        help = f"{unmapped}; else {help}" if unmapped else help
    begun = _begun(problem) if grows and not is_given else []
    if problem.number is not None:
        message = f"`{name}` goes into pass {problem.number} as {show(before)} but comes out as {show(after)}"
        return say(problem, message, notes=begun, help=help)
    return say(
        problem,
        f"`{name}` goes into a pass as {show(before)} but comes out as {show(after)}",
        f"this is {show(after)}",
        related=[
            (problem.head, "each pass takes what the last one gave"),
            (before.span, f"`{name}` is {show(before)} here"),
        ],
        notes=begun,
        help=help,
    )


def _begun(problem: p.TypeInRepeat) -> list[str]:
    """How what is carried gets an axis that is lifted: from an argument that brings it."""
    name, before, after = problem.name, problem.before, problem.after
    lifted = {axis for axis in after.type.axes if axis not in before.type.axes} & set(problem.around.lifted)
    for argument, wire in problem.given:
        if not lifted or not lifted <= set(wire.axes) or wire.is_bool:
            continue
        number = f"int({argument})" if isinstance(wire.element, IndexInto) else argument
        spare = [axis.name for axis in wire.axes if axis not in after.type.axes]
        number = f"sum[{', '.join(spare)}]({number})" if spare else number
        return [f"in `{problem.around.block.name.text}`, `{name} = {name} + 0 * {number}` before the repeat does it"]
    return []


@tells(p.NothingPromised)
def nothing_promised(problem: p.NothingPromised, words: Wording) -> Diagnostic:
    return say(
        problem,
        f"model `{problem.name}` does not say what it gives",
        help=f"write `-> {_promise([show_type(type) for type in problem.gives])}`: this is the order in memory too",
    )


def _promise(types: Sequence[str]) -> str:
    """The results as a signature promises them."""
    if len(types) == 1:
        return types[0]
    return "(" + ", ".join(f"y{number}: {type}" for number, type in enumerate(types, 1)) + ")" if types else "[...]"


@tells(p.OtherCount)
def other_count(problem: p.OtherCount, words: Wording) -> Diagnostic:
    wants = problem.wants
    return say(
        problem,
        f"`{problem.name}` promises {wants} result{'s' if wants > 1 else ''} but returns {problem.gives}",
        related=[(problem.promised, "promised here")],
        help=_fewer(problem.statement, problem.gives, wants)
        or "return the results in the order in which they are declared",
    )


def _fewer(statement: s.Return, given: int, wanted: int) -> str:
    """How to return some of the results of a call: "" if it is no call that gives more than are wanted."""
    if given <= wanted or len(statement.values) != 1 or not isinstance(statement.values[0], s.CallExpr):
        return ""
    text = statement.values[0].span.text
    kept = ["y"] if wanted == 1 else [f"y{number}" for number in range(1, wanted + 1)]
    names = ", ".join([*kept, *["_"] * (given - wanted)])
    call = text if len(text) < 60 and "\n" not in text else f"{statement.values[0].callee.text}(...)"
    return f"name the results that you want, `{names} = {call}`, and `return {', '.join(kept)}`"


@tells(p.Unpacked)
def unpacked(problem: p.Unpacked, words: Wording) -> Diagnostic:
    names, results, axis = problem.names, problem.results, problem.axis
    help = "name each result; `_` discards one"
    if axis is not None:
        items = ", ".join(f"`both[{axis.name} = {item}]`" for item in range(min(names, 2)))
        help = f"it is one value: bind one name, `both = ...`, and pick its items, {items}{' ...' * (names > 2)}"
    return say(
        problem,
        f"{names} names for {results} result{'s' if results != 1 else ''}",
        related=[(problem.value, f"this gives {results}")],
        help=help,
    )


@tells(p.SharedDifferently)
def shared_differently(problem: p.SharedDifferently, words: Wording) -> Diagnostic:
    name, how = problem.name, problem.differs[1]
    message, help = (
        f"the calls of `{name}` share its weights, but {how}",
        f"make `{name}` a `block`: each call then has weights of its own",
    )
    if problem.block:
        message = f"the calls of `{name}` share their weights, but {how}"
        help = f"call `{problem.block}` itself, with a label: each call then has weights of its own"
    return say(problem, message, related=[(problem.there, "the other call")], help=help)


@tells(p.SecondSet)
def second_set(problem: p.SecondSet, words: Wording) -> Diagnostic:
    model, once, q = problem.model, problem.once, words.quoted
    help = f"make {q(model)} a {q('block')}: each call then has its own"
    if once:
        help = f"write {q(f'share one = {once}')}, and call {q('one')} alone, or {help}"
    return say(
        problem,
        f"the model `{model}` has one set of weights, but would get a second here",
        related=[(problem.declared, "a model"), (problem.first, "the first are made here")],
        help=help,
    )
