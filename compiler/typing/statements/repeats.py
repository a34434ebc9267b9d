"""`repeat layers { x = f(x) }` (D10): the body once, however many passes. Over a list, one pass for each number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ....dsl import syntax as s
from ....dsl.diagnostic import Severity
from ....dsl.source import Span
from ...graph.equality import first_difference
from ...graph.nodes import Graph, Repeat
from ...graph.typed_value import TypedValue
from ...names.written_sizes import NO_SIZES, checked_number
from ...problems.names import Bearer, NamelessRepeat, NameTaken
from ...problems.plain import Plain
from ...sizes.axes import Arith, Const, Literal, SizeOf, Static, depends_on_pass, is_list, known
from ..builder import Builder
from ..environment import Environment
from ..names import listed, may_own, written_const, written_size
from ..sharing import beside, own, without
from .dispatch import of_kind
from .joins import join
from .passes import BodyPass, Loop, check_formulas, settled, variants

_MOST_PASSES = 10_000


@of_kind(s.RepeatStatement)
def repeat(env: Environment, statement: s.RepeatStatement) -> Environment:
    """The body's graphs, and a node that runs one of them in each pass."""
    over = _over(env, statement)
    count = written_size(env, statement.count) if over is None else Arith("length", (over,))
    number = None if count is None else _count(env, env.in_this_pass(count), statement.count.span)
    if count is not None and known(count) is None:  # it depends on the pass of a repeat around this one
        env.outcome.decide(number, number is None)
        count = count if number is None else Literal(number)
    name = _repeat_name(env, statement)
    body, good = settled(_loop(env, statement, over))
    loop = body.loop
    varies = loop.index is not None and number is not None and body.outcome.undecided
    env.outcome.hangs_on(body.outcome, settled=varies)
    if not good or name is None or count is None:
        return _nothing_known(env, loop)
    bodies, variant, declaring = [body], _one_body(number or 0), body.outcome
    if not varies:
        if not number:  # there may be no pass, and then this is what went in
            body.after = [join(a, b) for a, b in zip(body.ends, loop.starts, strict=True)]
        check_formulas(body, range(number or 0), set())
    else:
        several = variants(loop, body, number or 0)
        env.outcome.hangs_on(several.outcome)
        if not several.good:
            return _nothing_known(env, loop)
        bodies, variant, declaring = several.bodies, tuple(several.which[:number]), several.outcome
        _check_one_set(env, bodies, variant, statement)
    # An axis whose size depends on the pass is none of the block's: it has no one size.
    env.outcome.own_axes += [axis for axis in declaring.own_axes if not depends_on_pass(SizeOf(axis), loop.index)]
    outs = _node(env, loop, bodies, variant, name, count, body.after)
    for text, wire in zip(loop.carried, outs, strict=True):
        env = env.bound(text, wire)
    over_now = {text: statement.head for text in assigned(statement.body) if text not in loop.carried}
    return env.but(gone={**env.gone, **over_now})


def _loop(env: Environment, statement: s.RepeatStatement, over: Static | None) -> Loop:
    texts = [text for text in assigned(statement.body) if text in env.variables]
    values = [wire for text in texts if (wire := env.variables[text]) is not None]
    if len(values) < len(texts):
        texts, values = [], []  # something it would carry is wrong already: check the body once, keep nothing
    index = _index(env, statement.index, over is not None)
    return Loop(env, statement, tuple(texts), values, index, over, env.decided or not statement.shared)


def _nothing_known(env: Environment, loop: Loop) -> Environment:
    """After a mistake: nothing is to be said of what the repeat would carry."""
    return env.but(variables={**env.variables, **dict.fromkeys(loop.carried)})


def _node(
    env: Environment,
    loop: Loop,
    bodies: list[BodyPass],
    variant: tuple[int, ...],
    name: str,
    count: Static,
    after: list[TypedValue],
) -> list[TypedValue]:
    """Add the node; what is carried, when all passes are done."""
    statement, builder = loop.statement, env.builder
    outside = _join_outside(builder, bodies)
    graphs = [_with_inputs(builder, one, outside) for one in bodies]
    lent = frozenset[str]().union(*(one.outcome.lent for one in bodies)) & env.shares.keys()
    env.outcome.lent |= lent & env.around
    if lent:
        graphs = [beside(graph, name, lent) for graph in graphs]
    args = tuple(builder.take(wire) for wire in [*loop.starts, *outside])
    outs = tuple(
        builder.value(wire.type, wire.role, statement.span, text)
        for text, wire in zip(loop.carried, after, strict=True)
    )
    builder.nodes.append(
        Repeat(
            name,
            count,
            statement.shared,
            loop.index,
            tuple(graphs),
            variant,
            args,
            len(loop.carried),
            outs,
            statement.head,
            beside=bool(lent),
        )
    )
    if any(one.outcome.named for one in bodies):
        own(env, name, statement.label.span if statement.label else statement.head)
    # What else is known of the last value of one body need not hold of another's, nor after no pass at all.
    places = (env.outcome.assigned.get(text, wire.span) for text, wire in zip(loop.carried, after, strict=True))
    return [
        TypedValue(
            wire.type,
            wire.role,
            span,
            out,
            mark=wire.mark,
            mark_unknown=wire.mark_unknown,
            spread=wire.spread,
            scaled=wire.scaled,
            home=builder,
        )
        for wire, out, span in zip(after, outs, places, strict=True)
    ]


def _check_one_set(
    env: Environment, bodies: list[BodyPass], variant: Sequence[int], statement: s.RepeatStatement
) -> None:
    """Report passes of a `shared` repeat that learn something else than the first: they have one set of weights."""
    if not statement.shared or statement.index is None:
        return
    wrong = (found.code for found in env.problems.found if found.severity is Severity.ERROR)
    if any(code != "E0414" for code in wrong):  # what is wrong has no graph
        return
    lent = frozenset[str]().union(*(one.outcome.lent for one in bodies))
    graphs = [without(one.graph, lent) for one in bodies]
    for number, other in enumerate(graphs):
        difference = first_difference(graphs[0], other, env.checker.owners)
        if difference is not None:
            _, how = difference
            how = how.replace(" here", f" in pass {variant.index(number)}")
            how = how.replace("at the other call", f"in pass {variant.index(0)}")
            env.problems.add(Plain.PASSES_DIFFER.at(statement.head, statement.index.text, how))
            return


def _over(env: Environment, statement: s.RepeatStatement) -> Static | None:
    """The list that a repeat runs over, if it does."""
    if isinstance(statement.count, s.ListExpr):
        return written_const(env, statement.count)
    numbers = listed(env, statement.count)
    return numbers if numbers is not None and is_list(numbers) else None


def _index(env: Environment, name: s.Ident | None, item: bool = False) -> Const | None:
    """The const that stands for the number of the pass; item: the name is that of what is read off a list there."""
    if name is None:
        return None
    if env.axis(name.text) or env.const(name.text) or env.variables.get(name.text) is not None:
        kinds = ((env.axis(name.text), "axis"), (env.const(name.text), "const"))
        what = next((kind for taken, kind in kinds if taken), "variable")
        env.problems.add(NameTaken(name.span, name.text, Bearer.INDEX, what))
        return None
    text = name.text
    if item:
        taken = {*env.variables, *env.names, *env.consts, text}
        text = "i" if "i" not in taken else f"{text}_at"
    return env.checker.session.const(text, None, is_index=True)


def _count(env: Environment, count: Static, span: Span) -> int | None:
    sizes = env.of_sizes
    value = checked_number(sizes, count, span)
    if value is None:
        if env.signature.only_at_run_time(count):
            env.problems.add(Plain.PASSES_AT_RUN_TIME.at(span))
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        sizes.add(Plain.PASSES_INVALID.at(span, value))
        return None
    if value > _MOST_PASSES:
        sizes.add(Plain.TOO_MANY_PASSES.at(span, value, _MOST_PASSES))
        return None
    return value


def _repeat_name(env: Environment, statement: s.RepeatStatement) -> str | None:
    if statement.label is not None:
        return statement.label.text if may_own(env, statement.label.text, statement.label.span) else None
    counted = statement.count
    if isinstance(counted, s.SizeExpr) and listed(env, s.Name(counted.axis.text, counted.axis.span)) is not None:
        counted = s.Name(counted.axis.text, counted.span)
    if isinstance(counted, s.Name):
        return counted.text if may_own(env, counted.text, counted.span) else None
    if isinstance(statement.count, s.CallExpr) and statement.count.callee.text in NO_SIZES:
        return None  # the mistake in its count is reported
    env.problems.add(NamelessRepeat(statement.count.span, statement, env.block.labels[statement.count.span]))
    return None


def _join_outside(builder: Builder, passes: list[BodyPass]) -> list[TypedValue]:
    """What the bodies read from outside, each once."""
    outside: dict[int, TypedValue] = {}
    for one in passes:
        for wire in one.outside:
            outside.setdefault(builder.take(wire).id, wire)
    return list(outside.values())


def _with_inputs(builder: Builder, one: BodyPass, outside: list[TypedValue]) -> Graph:
    """The body's graph with an input for everything that any variant reads."""
    for wire in outside:
        one.builder.take(wire)
    own = {builder.take(w).id: i for w, i in zip(one.builder.outside, one.builder.inputs[len(one.ends) :], strict=True)}
    ordered = [own[builder.take(wire).id] for wire in outside]
    one.builder.inputs[len(one.ends) :] = ordered
    return one.graph


@cache
def _one_body(passes: int) -> tuple[int, ...]:
    """Which body each of so many passes runs where there is one body: one tuple, shared by all repeats."""
    return (0,) * passes


def assigned(statements: Sequence[s.Statement]) -> list[str]:
    """The variables that statements bind, in order, those of nested repeats and branches too."""
    names: dict[str, None] = {}
    for statement in statements:
        match statement:
            case s.Assign(targets):
                names.update(dict.fromkeys(target.text for target in targets if target.text != "_"))
            case s.RepeatStatement():
                names.update(dict.fromkeys(assigned(statement.body)))
            case s.If():
                names.update(dict.fromkeys(assigned(statement.then) + assigned(statement.otherwise)))
    return list(names)
