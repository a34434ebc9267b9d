"""`repeat layers { x = f(x) }` (D10): the body once, however many passes.

A second elaboration is made where what the body carries has not settled (its role, its marks), and one for each pass
where a static `if` or the size of a depth depends on the index, of which the distinct ones are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from ...dsl import syntax as s
from ...dsl.diagnostic import Severity
from ...dsl.source import Span
from ..graph.equality import first_difference
from ..graph.nodes import Apply, Call, Graph, Output, Parameter, Repeat, Scan, children
from ..graph.typed_value import TypedValue, fits
from ..graph.values import Scalar, Type
from ..names.written_sizes import NO_SIZES, checked_number, const_static, size_static
from ..problems.names import Bearer, NamelessRepeat, NameTaken
from ..problems.relayed import InPass
from ..problems.results import Count, PassesLearnDifferently, TypeInRepeat, WrongReturn
from ..problems.sizes import PassesAtRunTime, PassesInvalid, TooManyPasses
from ..sizes.axes import (
    Arith,
    Axis,
    Const,
    ConstOf,
    Literal,
    SizeOf,
    Static,
    axes_in,
    consts_in,
    depends_on_pass,
    is_list,
    known,
    show_static,
)
from .builder import Builder
from .expressions import Expressions
from .sharing import beside, check_one_set, own, without
from .specialisation import Formula

_MOST_PASSES = 10_000


@dataclass
class Repeats(Expressions):
    """Elaborates repeats."""

    def run(self, statements: Sequence[s.Statement]) -> None:
        """Elaborate statements, in order."""
        raise NotImplementedError

    def repeat(self, statement: s.RepeatStatement) -> None:
        """`repeat layers { x = f(x) }` (D10): the body once, however many passes. Over a list, one for each number."""
        over = self._over(statement)
        if over is None:
            count = size_static(statement.count, self.lookup, self.environment.problems)
        else:
            count = Arith("length", (over,))
        number = None if count is None else self._count(self.checker.in_this_pass(count), statement.count.span)
        if count is not None and known(count) is None:  # it depends on the pass of a repeat around this one
            self.checker.undecided = self.checker.undecided or number is None
            self.checker.decisions.append(number)
            count = count if number is None else Literal(number)
        name = self._repeat_name(statement)
        carried = [text for text in assigned(statement.body) if self.variables.get(text) is not None]
        for text in assigned(statement.body):
            if text in self.variables and self.variables[text] is None:
                carried = []  # something it would carry is wrong already: check the body once, keep nothing
        index = self._index(statement.index, over is not None)
        starts = [self.variables[text] for text in carried]
        outer_undecided, outer_decisions = self.checker.undecided, self.checker.decisions
        self.checker.undecided, self.checker.decisions = False, []
        own_axes = list(self.environment.own_axes)
        body = self._settled(statement, carried, [w for w in starts if w is not None], index)
        varies = index is not None and number is not None and self.checker.undecided
        outer_decisions.extend(self.checker.decisions)
        self.checker.undecided = outer_undecided or (self.checker.undecided and not varies)
        self.checker.decisions = outer_decisions
        if body is None or name is None or count is None:
            for text in carried:
                self.variables[text] = None
            return
        graphs, variant = [body.graph], _one_body(number or 0)
        if not varies:
            if not number:  # there may be no pass, and then this is what went in
                body.after = [_join(a, b) for a, b in zip(body.ends, body.starts, strict=True)]
            self._check_formulas(body, index, range(number or 0), set())
        builders = [body]
        if varies and number is not None:
            self.environment.own_axes = own_axes  # without those whose size depends on a pass
            found = self._variants(statement, carried, body, index, number)
            if found is None:
                for text in carried:
                    self.variables[text] = None
                return
            graphs, variant, builders = found
            if statement.shared and statement.index is not None:
                lent = frozenset[str]().union(*(b.builder.lent for b in builders))
                self._check_one_set([without(each, lent) for each in graphs], variant, statement)
        outside = self._join_outside(builders)
        graphs = [self._with_inputs(b, outside, len(carried)) for b in builders]
        lent = frozenset[str]().union(*(b.builder.lent for b in builders)) & self.shares.keys()
        self.builder.lent |= lent & self.around
        if lent:
            graphs = [beside(graph, name, lent) for graph in graphs]
        # An axis whose size depends on the pass is none of the block's: it has no one size.
        self.environment.own_axes = [
            axis for axis in self.environment.own_axes if not depends_on_pass(SizeOf(axis), index)
        ]
        args = tuple(self.builder.take(w) for w in [*body.starts, *outside])
        outs = tuple(
            self.builder.value(w.type, w.role, statement.span, text)
            for text, w in zip(carried, body.after, strict=True)
        )
        owns = any(b.builder.names for b in builders)
        self.builder.nodes.append(
            Repeat(
                name,
                count,
                statement.shared,
                index,
                tuple(graphs),
                variant,
                args,
                len(carried),
                outs,
                statement.head,
                beside=bool(lent),
            )
        )
        if owns:
            own(self, name, statement.label.span if statement.label else statement.head)
        for text, wire, out in zip(carried, body.after, outs, strict=True):
            # What else is known of the last value of one body need not hold of another's, nor after no pass at all.
            wire = replace(wire, static=None, range=None, product_of=(), index_of=None, power_of=None)
            self.variables[text] = replace(wire, value=out, home=self.builder, span=self.assigned.get(text, wire.span))
        for text in assigned(statement.body):
            if text not in carried:
                self.gone[text] = statement.head

    def _check_one_set(self, graphs: Sequence[Graph], variant: Sequence[int], statement: s.RepeatStatement) -> None:
        """Report passes of a `shared` repeat that learn something else than the first: they have one set of weights."""
        index = statement.index.text if statement.index is not None else ""
        wrong = (found.code for found in self.problems.found if found.severity is Severity.ERROR)
        if any(code != "E0414" for code in wrong):  # what is wrong has no graph
            return
        for number, other in enumerate(graphs):
            difference = first_difference(graphs[0], other, self.checker.owners)
            if difference is not None:
                _, how = difference
                how = how.replace(" here", f" in pass {variant.index(number)}")
                how = how.replace("at the other call", f"in pass {variant.index(0)}")
                self.problems.add(PassesLearnDifferently(statement.head, index, how))
                return

    def _check_formulas(self, one: _Pass, index: Const | None, passes: Iterable[int], reported: set[Span]) -> None:
        """Report numbers of the body that are wrong in one of these passes, once.

        What also depends on the pass of a repeat around this one is validated there.
        """
        for formula in one.formulas:
            given = {(formula.statics, formula.given): formula}
            if index is not None and any(index in consts_in(static) for static in (*formula.statics, *formula.given)):
                given = {}
                for at in passes:
                    self.checker.spend(formula.reported_at)
                    in_pass = replace(formula, passes=(one.called(index, at), *formula.passes))
                    in_pass = in_pass.with_values({}, {index.id: Literal(at)})
                    given.setdefault((in_pass.statics, in_pass.given), in_pass)
            for each in given.values():
                if not each.matters:
                    continue
                if each.undetermined:
                    self.formulas.append(each)
                elif each.reported_at not in reported and self._found_invalid(each):
                    reported.add(each.reported_at)

    def _found_invalid(self, formula: Formula) -> bool:
        """Whether something is wrong with numbers whose values are known by now; reported."""
        with self.problems.aside() as found:
            formula.validator(self.problems, formula.statics, formula.reported_at)
        stands = formula.span if formula.call is not None else None
        self.problems.found += [InPass(problem.span, problem, formula.passes, stands) for problem in found]
        return bool(found)

    def _over(self, statement: s.RepeatStatement) -> Static | None:
        """The list that a repeat runs over, if it does."""
        if isinstance(statement.count, s.ListExpr):
            return const_static(statement.count, self.lookup, self.environment.problems)
        numbers = self.listed(statement.count)
        return numbers if numbers is not None and is_list(numbers) else None

    def _index(self, name: s.Ident | None, item: bool = False) -> Const | None:
        """The const that stands for the number of the pass; item: the name is that of what is read off a list there."""
        if name is None:
            return None
        if (
            self.environment.axis(name.text)
            or self.environment.const(name.text)
            or self.variables.get(name.text) is not None
        ):
            kinds = ((self.environment.axis(name.text), "axis"), (self.environment.const(name.text), "const"))
            what = next((kind for taken, kind in kinds if taken), "variable")
            self.problems.add(NameTaken(name.span, name.text, Bearer.INDEX, what))
            return None
        text = name.text
        if item:
            taken = {*self.variables, *self.environment.axis_names(), *self.environment.const_names(), text}
            text = "i" if "i" not in taken else f"{text}_at"
        return self.checker.session.const(text, None, is_index=True)

    def _count(self, count: Static, span: Span) -> int | None:
        sizes = self.environment.of_sizes
        value = checked_number(sizes, count, span)
        if value is None:
            if self.environment.only_at_run_time(count):
                self.problems.add(PassesAtRunTime(span))
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            sizes.add(PassesInvalid(span, value))
            return None
        if value > _MOST_PASSES:
            sizes.add(TooManyPasses(span, value, _MOST_PASSES))
            return None
        return value

    def _repeat_name(self, statement: s.RepeatStatement) -> str | None:
        if statement.label is not None:
            return statement.label.text if self.may_own(statement.label.text, statement.label.span) else None
        counted = statement.count
        if isinstance(counted, s.SizeExpr) and self.listed(s.Name(counted.axis.text, counted.axis.span)) is not None:
            counted = s.Name(counted.axis.text, counted.span)
        if isinstance(counted, s.Name):
            return counted.text if self.may_own(counted.text, counted.span) else None
        if isinstance(statement.count, s.CallExpr) and statement.count.callee.text in NO_SIZES:
            return None  # the mistake in its count is reported
        self.problems.add(
            NamelessRepeat(statement.count.span, statement, self.environment.block.labels[statement.count.span])
        )
        return None

    def _settled(
        self, statement: s.RepeatStatement, carried: list[str], starts: list[TypedValue], index: Const | None
    ) -> _Pass | None:
        """The body. Where passes share their weights, the sizes of depths may depend on the number of the pass, but not
        those that weights run along: if some do, all are decided pass by pass.
        """
        own_axes = list(self.environment.own_axes)
        with self.problems.aside() as found:
            body = self._settle(statement, carried, starts, index)
        if body is None or index is None or not statement.shared or self.decided or not _weighs(body.graph, index):
            self.problems.found += found
            return body
        self.environment.own_axes = own_axes
        self.by_pass = self.by_pass | {statement.head}
        return self._settle(statement, carried, starts, index)

    def _settle(
        self, statement: s.RepeatStatement, carried: list[str], starts: list[TypedValue], index: Const | None
    ) -> _Pass | None:
        """Run the body until what it carries has settled: its role, its marks, its broadcast axes (types must
        not change).
        """
        entering = starts
        while True:  # each round may know less of what is carried: it ends with the first that knows as much
            with self.problems.aside() as found:
                result = self._one_pass(statement, carried, entering, index)
            settled = [_join(a, b) for a, b in zip(entering, result.ends, strict=True)]
            changed = any(set(a.type.axes) != set(b.type.axes) for a, b in zip(entering, result.ends, strict=True))
            if changed or all(_same(a, b) for a, b in zip(entering, settled, strict=True)):
                self.problems.found += found
                break
            entering = settled
        good = True
        for text, before, after in zip(carried, entering, result.ends, strict=True):
            if set(before.type.axes) != set(after.type.axes) or not fits(after.element, before.element):
                self._type_differs(text, before, after, statement.head)
                good = False
        result.starts = starts
        # What began as a real is one: an int that a pass gives becomes one.
        result.after = [
            replace(end, type=replace(end.type, element=_join(start, end).element))
            for start, end in zip(starts, result.ends, strict=True)
        ]
        return result if good else None

    def _type_differs(
        self, text: str, before: TypedValue, after: TypedValue, head: Span, number: int | None = None
    ) -> None:
        """Report what is carried, and changes its type from pass to pass. number: of the pass, where they differ."""
        formals = (
            (formal.name.text, self.variables.get(formal.name.text)) for formal in self.environment.block.decl.formals
        )
        given = tuple((name, wire) for name, wire in formals if wire is not None)
        around = self.environment.surroundings
        self.problems.add(TypeInRepeat(after.span, text, before, after, head, number, given, around))

    def _one_pass(
        self,
        statement: s.RepeatStatement,
        carried: list[str],
        entering: list[TypedValue],
        index: Const | None,
        value: int | None = None,
    ) -> _Pass:
        builder, over = Builder(parent=self.builder), self._over(statement)
        insides: list[TypedValue] = []
        for text, wire in zip(carried, entering, strict=True):
            inside = builder.input(text, wire.type, wire.role, wire.span)
            insides.append(replace(inside, mark=wire.mark, mark_unknown=wire.mark_unknown))
        variables = {**self.variables, **dict(zip(carried, insides, strict=True))}
        consts = dict(self.environment.local_consts)
        names = dict(self.environment.names)
        numbers = self.checker.numbers
        if index is not None and statement.index is not None:
            number = ConstOf(index)
            self.environment.local_consts[statement.index.text] = (
                number if over is None else Arith("item", (number, over))
            )
            if value is not None:
                self.checker.numbers = {**numbers, index.id: value}
        body = replace(
            self,
            builder=builder,
            variables=variables,
            returned=[],
            assigned=self.assigned,
            shares=dict(self.shares),
            outside=self.outside if statement.shared else frozenset(self.shares),
            around=frozenset(self.shares),
            numbered=self.numbered or not statement.shared,
            decided=self.decided or not statement.shared or statement.head in self.by_pass,
            formulas=[],
        )
        body.run(statement.body)
        check_one_set(body)
        self.environment.local_consts, self.environment.names, self.checker.numbers = consts, names, numbers
        for returned, _ in body.returned:
            self.problems.add(WrongReturn(returned.span, Count.IN_REPEAT))
        # What is wrong in the body has been reported; a value leaves with its type at entry, for a repeat keeps types.
        given = [body.variables.get(text) or inside for text, inside in zip(carried, insides, strict=True)]
        ends = [_like(end, wire) for end, wire in zip(given, entering, strict=True)]
        return _Pass(builder, ends, statement, self, formulas=body.formulas, over=over)

    def _variants(
        self, statement: s.RepeatStatement, carried: list[str], first: _Pass, index: Const | None, number: int
    ) -> tuple[list[Graph], tuple[int, ...], list[_Pass]] | None:
        """A static `if` or a depth depends on the index: one body for each way they turn out. None after a report."""
        entering = [_join(a, b) for a, b in zip(first.starts, first.ends, strict=True)]
        outer, undecided = self.checker.decisions, self.checker.undecided
        while True:
            with self.problems.aside() as found:
                good, variant, passes = self._each_pass(statement, carried, first, entering, index, number)
            settled = entering
            for one in passes:
                settled = [_join(a, b) for a, b in zip(settled, one.ends, strict=True)]
            if not good or all(_same(a, b) for a, b in zip(entering, settled, strict=True)):
                self.problems.found += found
                break
            entering = settled
        outer.extend(self.checker.decisions)
        self.checker.decisions, self.checker.undecided = outer, undecided or self.checker.undecided
        first.after = [_marked_as(a, b) for a, b in zip(entering, first.after, strict=True)]
        return ([p.graph for p in passes], tuple(variant[:number]), passes) if good else None

    def _each_pass(
        self,
        statement: s.RepeatStatement,
        carried: list[str],
        first: _Pass,
        entering: list[TypedValue],
        index: Const | None,
        number: int,
    ) -> tuple[bool, list[int], list[_Pass]]:
        """Whether all passes are right; which of the distinct ones each pass is; the distinct ones."""
        kept: dict[tuple[object, ...], int] = {}
        replayed = set[object]()  # these, each with the marks of what went in: the same body may be wrong for others
        self.checker.undecided = False  # now the number of the pass is known: what is open depends on something else
        decisions: list[object] = []
        passes: list[_Pass] = []
        variant: list[int] = []
        good = True
        reported: set[Span] = set()
        given = first.starts
        first.after = given
        for value in range(max(number, 1)):  # no passes: the body as the first would have it
            self.checker.decisions = []
            # One body may be that of several passes, so its inputs are all that these may be; marks are no part of it.
            taken = [_marked_as(a, b) for a, b in zip(entering, given, strict=True)]
            with self.problems.aside() as found:
                one = self._one_pass(statement, carried, taken, index, value)
            given = one.ends
            if number:
                first.after = given
            key = tuple(self.checker.decisions)
            decisions += key
            marks = tuple((wire.mark, wire.mark_unknown) for wire in taken)
            if (key, marks) not in replayed:
                replayed.add((key, marks))
                self.problems.found += found
            if key not in kept:
                kept[key] = len(passes)
                passes.append(one)
                one.starts = first.starts
                for text, before, after in zip(carried, entering, one.ends, strict=True):
                    if set(before.type.axes) != set(after.type.axes) or not fits(after.element, before.element):
                        self._type_differs(text, before, after, statement.head, value)
                        good = False
            self._check_formulas(one, index, [value], reported)
            variant.append(kept[key])
        self.checker.decisions = decisions
        return good, variant, passes

    def _join_outside(self, passes: list[_Pass]) -> list[TypedValue]:
        """What the bodies read from outside, each once."""
        outside: dict[int, TypedValue] = {}
        for one in passes:
            for wire in one.builder.outside:
                outside.setdefault(self.builder.take(wire).id, wire)
        return list(outside.values())

    def _with_inputs(self, one: _Pass, outside: list[TypedValue], carried: int) -> Graph:
        """The body's graph with an input for everything that any variant reads."""
        for wire in outside:
            one.builder.take(wire)
        own = {
            self.builder.take(w).id: i for w, i in zip(one.builder.outside, one.builder.inputs[carried:], strict=True)
        }
        ordered = [own[self.builder.take(wire).id] for wire in outside]
        one.builder.inputs[carried:] = ordered
        return one.graph


@dataclass
class _Pass:
    """One elaboration of a repeat's body.

    starts: what the first pass takes. ends: what this one gives. after: what is known when all passes are done.
    over: the list whose numbers the index is, where it is not the number of the pass.
    """

    builder: Builder
    ends: list[TypedValue]
    statement: s.RepeatStatement
    body: Repeats
    starts: list[TypedValue] = field(default_factory=list)
    after: list[TypedValue] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    over: Static | None = None

    def called(self, index: Const, at: int) -> tuple[str, str]:
        """A pass as messages call it: by what its index is in it."""
        name = self.statement.index.text if self.statement.index is not None else index.name
        item = None if self.over is None else known(Arith("item", (Literal(at), self.over)))
        if item is None:
            return name, str(at)
        return name, f"{show_static(Literal(item))}, number {at} of `{self.statement.count.span.text}`"

    @property
    def graph(self) -> Graph:
        builder = self.builder
        outputs = tuple(Output(None, builder.take(wire), wire.type.axes) for wire in self.ends)
        environment = self.body.environment
        return Graph(
            environment.block.name,
            "repeat",
            (),
            0,
            (),
            environment.lifted,
            tuple(builder.inputs),
            tuple(builder.nodes),
            outputs,
            "",
            self.statement.head,
        )


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
        weights = node.weights if isinstance(node, Apply) else (node.weight,) if isinstance(node, Parameter) else ()
        if any(along(axis) for weight in weights for dim in weight.dims for axis in dim):
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


@cache
def _one_body(passes: int) -> tuple[int, ...]:
    """Which body each of so many passes runs where there is one body: one tuple, shared by all repeats."""
    return (0,) * passes


def _like(end: TypedValue, start: TypedValue) -> TypedValue:
    """What a pass gives, with the broadcast axes of what it takes."""
    kept = tuple(axis for axis in end.type.axes if end.has(axis) or axis in start.type.axes)
    more = tuple(axis for axis in start.type.axes if axis in start.type.broadcast_axes and axis not in kept)
    if kept == end.type.axes and not more:
        return end
    broadcast_axes = (end.type.broadcast_axes & set(kept)) | set(more)
    return replace(end, type=Type(end.element, (*kept, *more), broadcast_axes))


def _join(a: TypedValue, b: TypedValue) -> TypedValue:
    """What is known of a carried value that may be either of two."""
    element = a.element
    if a.element is Scalar.INT and b.element is Scalar.REAL:
        element = Scalar.REAL
    broadcast_axes = frozenset(a.type.broadcast_axes & b.type.broadcast_axes)
    return replace(
        a,
        type=Type(element, a.type.axes, broadcast_axes),
        role=max(a.role, b.role),
        mark=a.mark if a.mark == b.mark else frozenset(),
        scaled=a.scaled if a.scaled == b.scaled else frozenset(),
        mark_unknown=a.mark_unknown and b.mark_unknown,
    )


def _marked_as(wire: TypedValue, other: TypedValue) -> TypedValue:
    """A value with the marks of another, and the place where that one gets them."""
    return replace(wire, mark=other.mark, scaled=other.scaled, mark_unknown=other.mark_unknown, span=other.span)


def _same(a: TypedValue, b: TypedValue) -> bool:
    return (a.type, a.role, a.mark, a.type.broadcast_axes) == (b.type, b.role, b.mark, b.type.broadcast_axes)


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
