"""The body of a repeat, elaborated as often as it takes.

A second time where what it carries has not settled (its role, its marks), and once for each pass where a static `if` or
the size of a depth depends on the index: of these the distinct ones are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ....dsl import syntax as s
from ....dsl.base.records import field, mutable, record, replace
from ....dsl.source import Span
from ...graph.nodes import Call, Graph, Output, Scan, children, weights_of
from ...graph.typed_value import TypedValue, fits
from ...problems.plain import Plain
from ...problems.relayed import InPass
from ...problems.results import TypeInRepeat
from ...sizes.axes import (
    Arith,
    Axis,
    Const,
    ConstOf,
    Literal,
    Static,
    axes_in,
    consts_in,
    depends_on_pass,
    known,
    show_static,
)
from ..builder import Builder
from ..environment import Environment
from ..outcome import Formula, Outcome
from ..sharing import check_one_set
from .dispatch import run
from .joins import join, like, marked_as, same


@record
class Loop:
    """A repeat in the environment before it.

    carried: variables that each pass takes from the one before; starts: what the first takes.
    index:   the number of the pass; over: the list whose numbers the index stands for, where it is not that number.
    decided: whether the sizes of depths are decided pass by pass.
    """

    env: Environment
    statement: s.RepeatStatement
    carried: tuple[str, ...]
    starts: list[TypedValue]
    index: Const | None
    over: Static | None
    decided: bool

    def named(self, at: int) -> tuple[str, str]:
        """A pass as messages call it: by what its index is in it."""
        assert self.index is not None
        name = self.statement.index.text if self.statement.index is not None else self.index.name
        item = None if self.over is None else known(Arith("item", (Literal(at), self.over)))
        if item is None:
            return name, str(at)
        return name, f"{show_static(Literal(item))}, number {at} of `{self.statement.count.span.text}`"


@mutable
class BodyPass:
    """One elaboration of the body. ends: what it gives. after: what is known when all passes are done."""

    loop: Loop
    builder: Builder
    outcome: Outcome
    ends: list[TypedValue]
    after: list[TypedValue] = field(default_factory=list)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """What it gives, as values of its graph: they may come from the graph around."""
        return tuple(Output(None, self.builder.take(wire), wire.type.axes) for wire in self.ends)

    @property
    def graph(self) -> Graph:
        """The body as a graph."""
        builder, env, head, outputs = self.builder, self.loop.env, self.loop.statement.head, self.outputs
        inputs, nodes, lifted = tuple(builder.inputs), tuple(builder.nodes), env.signature.lifted
        return Graph(env.block.name, "repeat", (), 0, (), lifted, inputs, nodes, outputs, "", head)

    @property
    def outside(self) -> list[TypedValue]:
        """What it takes from the graph around, beside what is carried."""
        return self.builder.outside if self.outputs is not None else []


@mutable
class Variants:
    """The distinct bodies; `which` of them each pass is; what all passes were decided by, and whether all are right."""

    bodies: list[BodyPass] = field(default_factory=list)
    which: list[int] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    good: bool = True


def settled(loop: Loop) -> tuple[BodyPass, bool]:
    """The body, and whether it is right. Where passes share their weights, the sizes of depths may depend on the number
    of the pass, but not those that weights run along: if some do, all are decided pass by pass.
    """
    env = loop.env
    with env.problems.aside() as found:
        body, good = _settle(loop)
    if not good or loop.index is None or loop.decided or not _weighs(body.graph, loop.index):
        env.problems.found += found
        return body, good
    return _settle(replace(loop, decided=True))


def _settle(loop: Loop) -> tuple[BodyPass, bool]:
    """Run the body until what it carries has settled: its role, its marks, its broadcast axes (types must
    not change).
    """
    problems, entering = loop.env.problems, loop.starts
    while True:  # each round may know less of what is carried: it ends with the first that knows as much
        with problems.aside() as found:
            body = _pass(loop, entering)
        joined = [join(a, b) for a, b in zip(entering, body.ends, strict=True)]
        changed = any(set(a.type.axes) != set(b.type.axes) for a, b in zip(entering, body.ends, strict=True))
        if changed or all(same(a, b) for a, b in zip(entering, joined, strict=True)):
            problems.found += found
            break
        entering = joined
    good = _keeps_types(loop, entering, body)
    # What began as a real is one: an int that a pass gives becomes one.
    body.after = [
        replace(end, type=replace(end.type, element=join(start, end).element))
        for start, end in zip(loop.starts, body.ends, strict=True)
    ]
    return body, good


def _keeps_types(loop: Loop, entering: list[TypedValue], body: BodyPass, number: int | None = None) -> bool:
    """Whether what is carried keeps its type from pass to pass; else reported. number: of the pass, if they differ."""
    good, env = True, loop.env
    for text, before, after in zip(loop.carried, entering, body.ends, strict=True):
        if set(before.type.axes) == set(after.type.axes) and fits(after.element, before.element):
            continue
        good = False
        names = (formal.name.text for formal in env.block.decl.formals)
        given = tuple((name, wire) for name in names if (wire := env.variables.get(name)) is not None)
        place, head = after.span, loop.statement.head
        env.problems.add(TypeInRepeat(place, text, before, after, head, number, given, env.surroundings))
    return good


def _pass(loop: Loop, entering: list[TypedValue], value: int | None = None) -> BodyPass:
    """The body once, for what goes in. value: the number of the pass, where passes are told apart."""
    env, statement = loop.env, loop.statement
    builder = Builder(parent=env.builder)
    insides: list[TypedValue] = []
    for text, wire in zip(loop.carried, entering, strict=True):
        inside = builder.input(text, wire.type, wire.role, wire.span)
        insides.append(replace(inside, mark=wire.mark, mark_unknown=wire.mark_unknown))
    consts, numbers = env.consts, env.numbers
    if loop.index is not None and statement.index is not None:
        number = ConstOf(loop.index)
        item = number if loop.over is None else Arith("item", (number, loop.over))
        consts = {**consts, statement.index.text: item}
        numbers = numbers if value is None else {**numbers, loop.index.id: value}
    before = env.outcome
    outcome = Outcome(assigned=before.assigned, used=before.used, splits=before.splits)
    after = run(
        env.but(
            builder=builder,
            outcome=outcome,
            variables={**env.variables, **dict(zip(loop.carried, insides, strict=True))},
            consts=consts,
            numbers=numbers,
            outside=env.outside if statement.shared else frozenset(env.shares),
            around=frozenset(env.shares),
            numbered=env.numbered or not statement.shared,
            decided=loop.decided,
        ),
        statement.body,
    )
    check_one_set(after)
    for returned, _ in outcome.returned:
        env.problems.add(Plain.RETURN_IN_REPEAT.at(returned.span))
    # What is wrong in the body has been reported; a value leaves with its type at entry, for a repeat keeps types.
    given = [after.variables.get(text) or inside for text, inside in zip(loop.carried, insides, strict=True)]
    return BodyPass(loop, builder, outcome, [like(end, wire) for end, wire in zip(given, entering, strict=True)])


def variants(loop: Loop, first: BodyPass, number: int) -> Variants:
    """A static `if` or a depth depends on the index: one body for each way they turn out."""
    problems = loop.env.problems
    entering = [join(a, b) for a, b in zip(loop.starts, first.ends, strict=True)]
    while True:
        with problems.aside() as found:
            several = _each_pass(loop, first, entering, number)
        joined = entering
        for one in several.bodies:
            joined = [join(a, b) for a, b in zip(joined, one.ends, strict=True)]
        if not several.good or all(same(a, b) for a, b in zip(entering, joined, strict=True)):
            problems.found += found
            break
        entering = joined
    first.after = [marked_as(a, b) for a, b in zip(entering, first.after, strict=True)]
    return several


def _each_pass(loop: Loop, first: BodyPass, entering: list[TypedValue], number: int) -> Variants:
    problems, several = loop.env.problems, Variants()
    kept: dict[tuple[object, ...], int] = {}
    reported = set[object]()  # decisions, with the marks of what went in: the same body may be wrong for others
    invalid: set[Span] = set()
    first.after = given = loop.starts
    for value in range(max(number, 1)):  # no passes: the body as the first would have it
        # One body may be that of several passes, so its inputs are all that these may be; marks are no part of it.
        taken = [marked_as(a, b) for a, b in zip(entering, given, strict=True)]
        with problems.aside() as found:
            one = _pass(loop, taken, value)
        given = one.ends
        if number:
            first.after = given
        several.outcome.hangs_on(one.outcome)
        several.outcome.own_axes += one.outcome.own_axes
        key = tuple(one.outcome.decisions)
        marks = tuple((wire.mark, wire.mark_unknown) for wire in taken)
        if (key, marks) not in reported:
            reported.add((key, marks))
            problems.found += found
        if key not in kept:
            kept[key] = len(several.bodies)
            several.bodies.append(one)
            several.good = _keeps_types(loop, entering, one, value) and several.good
        check_formulas(one, [value], invalid)
        several.which.append(kept[key])
    return several


def check_formulas(one: BodyPass, passes: Iterable[int], reported: set[Span]) -> None:
    """Report numbers of the body that are wrong in one of these passes, once.

    What also depends on the pass of a repeat around this one is validated there.
    """
    loop, index, env = one.loop, one.loop.index, one.loop.env
    for formula in one.outcome.formulas:
        given = {(formula.statics, formula.given): formula}
        if index is not None and any(index in consts_in(static) for static in (*formula.statics, *formula.given)):
            given = {}
            for at in passes:
                env.checker.spend(formula.reported_at)
                in_pass = replace(formula, passes=(loop.named(at), *formula.passes))
                in_pass = in_pass.with_values({}, {index.id: Literal(at)})
                given.setdefault((in_pass.statics, in_pass.given), in_pass)
        for each in given.values():
            if each.matters and each.undetermined:
                env.outcome.formulas.append(each)
            elif each.matters and each.reported_at not in reported and _found_invalid(env, each):
                reported.add(each.reported_at)


def _found_invalid(env: Environment, formula: Formula) -> bool:
    """Whether something is wrong with numbers whose values are known by now; reported."""
    with env.problems.aside() as found:
        formula.validator(env.problems, formula.statics, formula.reported_at)
    stands = formula.span if formula.call is not None else None
    env.problems.found += [InPass(problem.span, problem, formula.passes, stands) for problem in found]
    return bool(found)


def _weighs(
    graph: Graph, index: Const, axes: frozenset[Axis] = frozenset(), consts: frozenset[Const] = frozenset()
) -> bool:
    """Whether the number of a pass decides how long a weight is. axes, consts: those of the graph that it decides."""

    def decides(static: Static) -> bool:
        return (
            depends_on_pass(static, index)
            or not consts.isdisjoint(consts_in(static))
            or any(map(along, axes_in(static)))
        )

    def along(axis: Axis) -> bool:
        return axis in axes or (axis.extent is None and axis.size is not None and decides(axis.size))

    for node in graph.nodes:
        if any(along(axis) for weight in weights_of(node) for dim in weight.dims for axis in dim):
            return True
        for inner in children(node):
            if isinstance(node, Call | Scan):
                given = frozenset(formal for formal, actual in node.axes if along(actual))
                numbers = frozenset(const for const, static in node.consts if decides(static))
            else:
                given, numbers = axes, consts
            if _weighs(inner, index, given, numbers):
                return True
    return False
