"""The specialisation that a call stands for, found or made; what is wrong in it is reported at the call."""

from __future__ import annotations

import re
from dataclasses import replace

from ...dsl import syntax as s
from ...dsl.diagnostic import Diagnostic, Label, Severity
from ..base.session import location_key
from ..graph.typed_value import TypedValue
from ..graph.values import IndexInto
from ..sizes.axes import Axis, Number, known
from ..typing.builder import Builder
from ..typing.environment import Environment
from ..typing.specialisation import Formula, Specialisation
from ..typing.statements import Body
from .arguments import Arguments


class SpecialisedCall(Arguments):
    """Calls that are alike in sizes, copies and kinds of arguments share one body."""

    def _specialisation(
        self, environment: Environment, inputs: list[tuple[s.Formal, TypedValue | None]]
    ) -> Specialisation:
        checker = self.checker
        numbers = self._numbers()
        key = (self._key(environment, inputs), tuple(repr(numbers.get(const.id)) for const in environment.const_params))
        if key in checker.specialisations:
            specialisation = checker.specialisations[key]
            self._onto(specialisation.environment)
            return specialisation
        saved = checker.decisions, checker.undecided, checker.numbers
        checker.decisions, checker.undecided, checker.numbers = [], False, numbers
        builder = Builder()
        wires: dict[str, TypedValue | None] = {}
        body = Body(checker, environment, builder, wires)
        for formal, wire in inputs:
            name = formal.name.text
            if wire is None:
                assert formal.default is not None
                wires[name] = body.everywhere(body.default(formal), formal)
            elif wire.static is not None:
                wires[name] = body.everywhere(wire, formal)
            else:
                made = builder.input(name, wire.type, wire.role, formal.name.span.to(formal.type.span))
                wires[name] = replace(made, mark=wire.mark, mark_unknown=wire.mark_unknown)
        checker.stack.append(self.block)
        results = checker.elaborate(body)
        checker.stack.pop()
        graph = checker.graph_of(environment, builder, results, body) if results else None
        specialisation = Specialisation(
            environment, graph, results or [], environment.problems, checker.decisions, checker.undecided, body.formulas
        )
        checker.decisions, checker.undecided, checker.numbers = saved
        checker.specialisations[key] = specialisation
        return specialisation

    def _pass_on(self, formulas: list[Formula]) -> None:
        """A formula over a const that the call sets to the number of a pass is validated where the passes are."""
        axes = {formal.id: axis for formal, axis in self.actual}
        consts = {formal.id: static for formal, static in self.const_actual}
        for formula in formulas:
            given = formula.with_values(axes, consts)
            if given.undetermined:
                self.body.formulas.append(replace(given, call=self.call.span))

    def _numbers(self) -> dict[int, Number]:
        """The consts that depend on the pass of a repeat around the call, each with its number in that pass."""
        if not self.checker.numbers:
            return {}
        found = ((formal, known(self.checker.in_this_pass(static))) for formal, static in self.const_actual)
        return {formal.id: number for formal, number in found if formal.value is None and number is not None}

    def _onto(self, environment: Environment) -> None:
        """The parameters of a kept specialisation, in place of the fresh ones."""
        self.actual = [(mine, actual) for mine, (_, actual) in zip(environment.params, self.actual, strict=True)]
        self.const_actual = [
            (mine, static) for mine, (_, static) in zip(environment.const_params, self.const_actual, strict=True)
        ]

    def _key(self, environment: Environment, inputs: list[tuple[s.Formal, TypedValue | None]]) -> object:
        """Calls of equal keys have one body: same sizes, same copies among the parameters, arguments of the
        same kind.
        """
        place = {axis.id: index for index, axis in enumerate(environment.params)}
        families: dict[int, int] = {}
        axes = tuple(
            (
                axis.extent,
                axis.bound,
                axis.size is not None,
                axis.id in environment.open,
                families.setdefault(axis.family, len(families)),
            )
            for axis in environment.params
        )
        lifted = tuple(axis.id for axis in environment.lifted)

        def at(axis: Axis) -> tuple[str, int]:
            return ("p", place[axis.id]) if axis.id in place else ("l", axis.id)

        arguments: list[object] = []
        for _, wire in inputs:
            if wire is None:
                arguments.append(None)
                continue
            if wire.static is not None:
                arguments.append(repr(wire.static))  # 1 is not 1.0, nor true
                continue
            element = at(wire.element.axis) if isinstance(wire.element, IndexInto) else wire.element.value
            arguments.append(
                (
                    element,
                    tuple(at(axis) for axis in wire.type.axes),
                    tuple(sorted(at(axis) for axis in wire.type.broadcast_axes)),
                    wire.role,
                    tuple(sorted(at(axis) for axis in wire.mark)),
                    wire.mark_unknown,
                )
            )
        consts = tuple(
            (repr(const.value), repr(const.like), const in environment.running) for const in environment.const_params
        )
        return (id(self.block), environment.roles_known, environment.taken, axes, consts, lifted, tuple(arguments))

    def _relay(self, specialisation: Specialisation, only: frozenset[str] | None = None) -> None:
        """Mistakes of this specialisation that the block does not make on its own: shown at the call.

        only: of a block with mistakes of its own, the codes of those that do not follow from them.
        """
        known = set()
        if self.body.environment.module.library or not self.block.module.library:
            known = {(d.code, location_key(d.span)) for d, _ in self.checker.alone[self.block].problems}
        known |= {(d.code, location_key(d.span)) for d in self.checker.session.diagnostics}
        for problem, deep in specialisation.problems:
            if (problem.code, location_key(problem.span)) in known or (
                problem.severity is Severity.WARNING and not deep
            ):
                continue
            if only is not None and problem.code not in only:
                continue
            if deep and (self.body.environment.module.library or not self.block.module.library):
                related = (*problem.related, Label(self.call.span, "called from here"))
                self.body.environment.problems.append((replace(problem, related=related), True))
                continue
            related = (Label(problem.span, f"required here, in `{self.block.name}`"),) if problem.span else ()
            made = replace(
                problem,
                span=self.call.span,
                label="",
                related=(*related, *problem.related),
                notes=(*problem.notes, *self._renamed(problem)),
                help=self._spread_default(problem) or self._in_callers_words(self._of_arguments(problem.help)),
                fix=None,
            )
            self.body.environment.problems.append((made, False))

    def _spread_default(self, problem: Diagnostic) -> str:
        """The help where an argument that is not given lacks an axis: its default is one number for all items."""
        if problem.code not in ("E0301", "E0309"):
            return ""
        places = [label.span for label in problem.related] + ([problem.span] if problem.span else [])
        spoken = {word for span in places for word in re.findall(r"\w+", span.text)}
        formals = self.block.decl.formals
        given = {argument.name.text for argument in self.call.arguments if argument.name}
        in_order = sum(argument.name is None for argument in self.call.arguments)
        given |= {formal.name.text for formal in formals[:in_order]}
        for formal in formals:
            name, default = formal.name.text, formal.default
            if name in spoken and name not in given and default is not None and formal.type.axes:
                axes = ", ".join(axis.text for axis in formal.type.axes)
                words = self._in_callers_words(f"`broadcast[{axes}]({default.span.text})`")
                return f"`{name}` is {default.span.text} here, without an axis; give it its own: `{name} = {words[1:]}"
        return ""

    def _of_arguments(self, help: str) -> str:
        """Leaves open, as `...`, what to pass to the block where the help names a value that is no argument of it."""
        formals = {formal.name.text for formal in self.block.decl.formals}

        def open(found: re.Match[str]) -> str:
            return found[0] if found[2] in formals else f"{found[1]}(...)`"

        return re.sub(r"(pass `broadcast\[[^]]*\])\(([^`]*)\)`", open, help)

    def _in_callers_words(self, help: str) -> str:
        """The help of a message about the body, rewritten for the call: with the caller's axes and arguments."""
        words = {f.name: a.name for f, a in self.actual}
        formals = [formal.name.text for formal in self.block.decl.formals]
        for given, argument in enumerate(self.call.arguments):
            name = argument.name.text if argument.name else formals[given] if given < len(formals) else ""
            words[name] = argument.value.span.text

        def word(found: re.Match[str]) -> str:
            text = words.get(found[0], found[0])
            within = found.string[: found.start()].endswith("(") and found.string[found.end() :].startswith(")")
            return text if within or text.isidentifier() else f"({text})"

        def said(code: re.Match[str]) -> str:
            text = code[0]
            bound = re.match(r"`(\w+) = ", text)
            if bound and not words.get(bound[1], bound[1]).isidentifier():  # the call gives it no name to bind
                text = f"`{text[bound.end() :]}"
            return re.sub(r"\b[A-Za-z_]\w*\b(?!\()", word, text)

        return re.sub(r"`[^`]*`", said, help)

    def _renamed(self, problem: Diagnostic) -> list[str]:
        """The names that the caller has for the axes in a message about the body."""
        spoken = re.findall(r"\w+", problem.message)
        pairs = [(f.name, a.name) for f, a in self.actual if f.name != a.name and f.name in spoken]
        return [f"in `{self.block.name}`, " + " and ".join(f"`{a}` is called `{f}`" for f, a in pairs)] if pairs else []
