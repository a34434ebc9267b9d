"""A text, checked: what is wrong with it, what its names mean, and what type each of its expressions has.

While a line is broken the rest of the text is analysed without it. Where that does not help (a brace is open), the
last text that parsed answers, at the place that the cursor had in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..compiler.base.mentions import walk
from ..compiler.check import Program, build
from ..compiler.graph.typed_value import TypedValue
from ..compiler.sizes.axes import Axis
from ..compiler.typing.environment import Environment, Specialisation
from ..compiler.typing.facts import Facts
from ..dsl import syntax as s
from ..dsl.diagnostic import Diagnostic, Severity
from ..dsl.files import FileProblem
from ..dsl.mistakes.fixes import Repaired, repair
from ..dsl.source import Source, Span
from .names import Names, Owner, Symbol
from .project import Project
from .shift import Shift

_PATIENCE = 1.0  # seconds, after which what is mended so far is offered


class Outdated(Exception):
    """What is being found out is not wanted any more."""


@dataclass(eq=False)
class Watched(Facts):
    """Facts that are found as long as they are wanted."""

    wanted: Callable[[], bool] = lambda: True

    def note(self, span: Span, wire: TypedValue | None) -> None:
        if not self.wanted():
            raise Outdated
        super().note(span, wire)


@dataclass(eq=False)
class Analysis:
    """lenient: the text checked without its broken lines, which gave the facts.
    last: the analysis of the last text that parsed, if this one does not.
    """

    project: Project
    path: str
    source: Source
    file: s.File
    lenient: Program
    facts: Facts
    names: Names
    files: tuple[Source, ...]  # all that were read for it, as they were
    missing: tuple[str, ...]  # and those that could not be read
    last: Analysis | None

    @property
    def text(self) -> str:
        return self.source.text

    @cached_property
    def program(self) -> Program:
        """What `attnc check` says of the text: nothing is reported only because a broken line is missing."""
        if not any(self.project.tree(source)[1] for source in dict.fromkeys(self.files)):
            return self.lenient
        return self._build(self.source)

    def _build(self, source: Source) -> Program:
        return build(source, base=_folder(self.path), facts=Watched(self.facts.read, wanted=self.project.wanted))

    @cached_property
    def repaired(self) -> Repaired:
        """What `attnc check --fix` makes of the text, as far as it gets while someone waits."""

        def check(source: Source) -> tuple[Diagnostic, ...]:
            return (self.program if source is self.source else self._build(source)).diagnostics

        return repair(self.source, check, _PATIENCE)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Those of this text. What is wrong in a file that it uses is said at the `use`."""
        own: list[Diagnostic] = []
        elsewhere: dict[Source, list[Diagnostic]] = {}
        for found in self.program.diagnostics:
            if found.span is None or found.span.source is self.source:
                own.append(found)
            elif found.severity is Severity.ERROR:
                elsewhere.setdefault(found.span.source, []).append(found)
        for source, errors in elsewhere.items():
            own.append(_in_used_file(errors, source, self._use_of(source)))
        return tuple(sorted(own, key=lambda d: d.span.start if d.span is not None else 0))

    def _use_of(self, source: Source) -> Span:
        """Where a file is used, or the file by way of which it is."""
        path = self.project.path_of(source)
        uses = [(use, used) for use, used in self.names.uses if used is not None]
        use = next((use for use, used in uses if used == path), uses[0][0] if uses else None)
        return use.path[0].span.to(use.path[-1].span) if use is not None else Span(self.source, 0, 0)

    # -- at a place

    @cached_property
    def _nodes(self) -> list[tuple[int, int, s.Expr]]:
        """Every expression of the file, innermost last."""
        found = [(n.span.start, n.span.end, n) for n in walk(self.file) if isinstance(n, s.Expr)]
        return sorted(found, key=lambda entry: (entry[0], -entry[1]))

    def expressions(self, offset: int) -> list[s.Expr]:
        """The expressions that an offset lies in, innermost first."""
        return [node for start, end, node in reversed(self._nodes) if start <= offset <= end]

    def typed_value(self, span: Span) -> TypedValue | None:
        return self.facts.values.get(span)

    def covers(self, offset: int) -> bool:
        """Whether the tree knows the place: it lies in an item that was read."""
        return any(item.span.start <= offset <= item.span.end for item in self.file.items)

    def alone(self, owner: Owner | None) -> Specialisation | None:
        """A block as it was checked on its own."""
        found = (one for block, one in self.facts.alone.items() if owner is not None and block.decl.span == owner.span)
        return next(found, None)

    def environment(self, owner: Owner | None) -> Environment | None:
        """What the names of a block meant when it was checked on its own."""
        found = self.alone(owner)
        return None if found is None else found.environment

    def axis(self, symbol: Symbol) -> Axis | None:
        """The axis that a name stands for, with its size."""
        environment = self.environment(symbol.owner) if symbol.owner is not None else None
        if environment is not None:
            return environment.axis(symbol.name) or next(
                (a for a in environment.outcome.own_axes if a.name == symbol.name), None
            )
        module = self.facts.module
        own = module.axes.get(symbol.name) if module is not None else None
        if own is not None and (own.span == symbol.span or symbol.kind == "alias"):
            return own
        axes = [] if module is None else [*module.axes.values()]
        for specialisation in self.facts.alone.values():
            axes += [*specialisation.environment.names.values(), *specialisation.environment.signature.params]
        return next((axis for axis in axes if axis.span == symbol.span), None)


def _in_used_file(errors: list[Diagnostic], source: Source, at: Span) -> Diagnostic:
    first = errors[0]
    assert first.span is not None
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    line = source.position(first.span.start)[0]
    message = f"{source.name} has a mistake in line {line}: {first.message}{more}"
    return replace(first, message=message, span=at, fix=None, help="", label="", related=())


def analyse(project: Project, path: str, last: Analysis | None = None) -> Analysis:
    """Check a text. `last` is the analysis before it. Raises FileProblem for a file that cannot be read, and Outdated
    if `project.wanted` says so meanwhile.
    """
    source = project.source(path)
    read: list[Source] = [source]
    missing: list[str] = []

    def reader(place: Path) -> Source:
        try:
            found = project.source(str(place))
        except FileProblem:
            missing.append(str(place))
            raise
        read.append(found)
        return found

    facts = Watched(reader, project.tree, wanted=project.wanted)
    program = build(source, base=_folder(path), facts=facts)
    names = project.names(path)
    assert names is not None
    good = not project.tree(source)[1]
    before = None if good or last is None else last if not project.tree(last.source)[1] else last.last
    files = tuple(read), tuple(missing)
    return Analysis(project, path, source, project.tree(source)[0], program, facts, names, *files, before)


def errors(project: Project, path: str) -> list[Diagnostic]:
    """What `attnc check` says of a file, warnings apart."""
    facts = Watched(lambda place: project.source(str(place)), wanted=project.wanted)
    program = build(project.source(path), base=_folder(path), facts=facts)
    return [found for found in program.diagnostics if found.severity is Severity.ERROR]


def _folder(path: str) -> Path | None:
    """Where `use` looks."""
    return Path(path).parent if Path(path).is_absolute() else None


def is_current(analysis: Analysis) -> bool:
    """Whether all texts that it was made of are as they were."""
    project = analysis.project
    wanted: dict[str, Source | None] = {project.path_of(source): source for source in analysis.files}
    return all(_now(project, path) is source for path, source in (wanted | dict.fromkeys(analysis.missing)).items())


def _now(project: Project, path: str) -> Source | None:
    """The text of a path; None where there is none that can be read."""
    try:
        return project.source(path)
    except FileProblem:
        return None


def views(analysis: Analysis, offset: int) -> Iterator[tuple[Analysis, int]]:
    """Where to look for an answer: in this text, then in the last one that parsed."""
    yield analysis, offset
    if analysis.last is not None and not analysis.covers(offset):
        place = Shift.between(analysis.last.text, analysis.text).back(offset)
        if place is not None:
            yield analysis.last, place
