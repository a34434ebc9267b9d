"""A file, checked: from its text to its diagnostics and the typed graphs of its blocks and models."""

from __future__ import annotations

import gc
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..dsl import syntax as s
from ..dsl.base.records import field, mutable, record, replace
from ..dsl.comments.allow import Allowance, split_allowed
from ..dsl.comments.docs import opening
from ..dsl.diagnostic import Diagnostic, Severity
from ..dsl.errors import AttnError
from ..dsl.source import Source, Span
from .advice.failures import Failure, Failures
from .advice.meaning import OF_CALLERS, OF_OWN_SIZES, READERS
from .advice.meaning.unused import unused
from .advice.methods import taken_step
from .advice.same_names import same_names
from .advice.sizes import unsized_widths
from .base.problems import Problem, Problems
from .base.session import Session
from .calls.calls import Calls
from .calls.checker import Checker
from .causality.proof import check_causal
from .graph.core.places import place_of
from .graph.nodes import Call, Graph, Repeat, Scan, children, nested
from .names.display import check_displays
from .names.folders import Folders
from .names.loader import Loader
from .names.modules import BlockDef, Module, called_blocks, ranks
from .problems.causality import Trials
from .problems.files import UnknownSet
from .problems.names import told_once
from .problems.plain import Plain, PlainProblem
from .problems.sizes import Beyond
from .rewrites.picks.follow import follow_picks
from .rewrites.ragged.complaints import complaints
from .sizes.axes import Axis, Value
from .sizes.limits import MISTAKES, STEPS, WORK, Limit, TooMuch, deep
from .typing.environment import Environment
from .typing.facts import Facts


@record(eq=False, slots=False)
class Program:
    """A checked file. `models` and `blocks` are the names of its own; `diagnostics` are in the order of the text."""

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    models: tuple[str, ...]
    blocks: tuple[str, ...]
    configs: tuple[str, ...]
    config: str | None  # the one that was picked
    sizes: Mapping[str, Value]
    axes: Mapping[str, Axis]
    sources: tuple[Source, ...]  # of the file and of all that it uses, in order of loading
    doc: str  # the comment that the file begins with, if it is not that of a block right beneath it
    failures: tuple[Failure, ...]  # of advisers, which is no mistake of the file
    _graphs: Mapping[str, Graph | Problem]  # or why there is none

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity is Severity.ERROR)

    def graph(self, name: str) -> Graph:
        """The typed graph of a block or model of the file.

        Raises AttnError if the file has a mistake, KeyError if it has no such block.
        """
        if self.errors:
            raise AttnError(self.errors)
        graph = self._graphs[name]
        if isinstance(graph, Problem):
            raise AttnError([_tell(graph)])
        return graph


def build(
    source: Source,
    *,
    base: Path | None = None,
    config: str | None = None,
    sizes: Mapping[str, Value] | None = None,
    facts: Facts | None = None,
    path: Sequence[Path] = (),
    trials: Trials | None = None,
) -> Program:
    """Check a text. `base` is the folder in which `use` looks (default: that of the source's name, if it is a file),
    `path` those in which it looks then.

    `config` picks one of the file's configs; `sizes` then replace sizes and consts of the file, and sizes of axis
    parameters of blocks that are not called by others. `facts` is filled with what is found of every expression.
    `trials` look for a witness where a claim of causality is not proved. Raises nothing for a user's mistake: see
    `diagnostics`.
    """
    with _undisturbed(), deep():
        return _Build(source, base, config, dict(sizes or {}), facts, tuple(path), trials).run()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No garbage collection meanwhile.

    Checking makes many small objects and next to no cycles: the collector took 40 % of the time of a large file.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@mutable
class _Build:
    source: Source
    base: Path | None
    config: str | None
    sizes: dict[str, Value]
    facts: Facts | None
    folders: tuple[Path, ...]
    trials: Trials | None
    unused: list[Allowance] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures)

    def run(self) -> Program:
        session = Session()
        path = self._path()
        loader = Loader(session, self.sizes, config=self.config, folders=Folders.of(path, self.folders))
        if self.facts is not None:
            loader.read, loader.parse = self.facts.read, self.facts.parse
        module, graphs = None, {}
        try:
            module = loader.load(self.source, path, library=False, overrides={}, main=True)
            graphs = self._check(session, loader, module)
        except TooMuch as much:
            session.problems.add(Beyond.of(much, Span(self.source, 0, 0)))
        except RecursionError:
            session.problems.add(Beyond(Span(self.source, 0, 0), Limit.NESTING))
        own = module.own if module else []
        return Program(
            self.source,
            self._told(session.problems, module, [m.file for m in loader.modules.values() if not m.library]),
            tuple(block.name for block in own if block.is_model),
            tuple(block.name for block in own if not block.is_model),
            tuple(module.configs) if module else (),
            self.config,
            self.sizes,
            module.axes if module else {},
            tuple(m.source for m in loader.modules.values()),
            "" if (doc := opening(self.source.text)) in {block.decl.doc for block in own} else doc,
            tuple(self.failures),
            graphs,
        )

    def _told(self, problems: Problems, module: Module | None, files: Sequence[s.File]) -> tuple[Diagnostic, ...]:
        """All that is wrong and not allowed, in words, in the order of the text."""
        files = [file for file in files if "attnc:" in file.span.source.text]
        if not problems.found and not files:
            return ()
        first: dict[object, Problem] = {}
        for problem in problems.found:  # one of a library is found wherever it is mentioned
            first.setdefault(problem.place, problem)
        found = [_tell(problem) for problem in told_once(first.values())]
        if files:
            found, unused = split_allowed(files, found)
            partly = problems.errors or self.failures  # not all is looked for that might be allowed
            self.unused = [] if partly else unused
            found += [_tell(_allows_nothing(allowance)) for allowance in self._in_vain(module)]
        return _few(sorted(found, key=lambda each: _order(each, self.source)))

    def _in_vain(self, module: Module | None) -> list[Allowance]:
        """What allows nothing, whichever config is picked; of sizes from outside it is not known."""
        left = [] if self.sizes or self.config is not None or module is None else self.unused
        for config in module.configs if module is not None and left else ():
            other = _Build(self.source, self.base, config, {}, None, self.folders, None)
            other.run()
            places = [allowance.span for allowance in other.unused]
            left = [allowance for allowance in left if allowance.span in places]
        return left

    def _check(self, session: Session, loader: Loader, module: Module) -> dict[str, Graph | Problem]:
        """Check all blocks; the graphs of the file's own."""
        self._settings(session, module)
        blocks = [block for m in loader.modules.values() if not m.library for block in m.own]
        everything = [block for m in loader.modules.values() for block in m.own]
        checker = Calls(
            session,
            called=called_blocks(everything),
            generic_sizes=self.sizes,
            library=loader.library_names(),
            facts=self.facts,
            fuel=WORK + sum(len(m.source.text) // 2 for m in loader.modules.values()),
            ranks=ranks(module.own),
        )
        for block in blocks:
            checker.check_alone(block)
        alone = sorted(checker.alone.values(), key=lambda each: each.environment.module.library)
        for each in alone:
            if each.environment.module.library and session.problems.errors:
                break
            for problem in each.environment.problems.found:
                session.problems.add(problem)
        for each_module in loader.modules.values():
            if not each_module.library:
                check_displays(session, each_module)
        mine = [each for each in loader.modules.values() if not each.library]
        same = {each: [*self.failures.heard(same_names, checker, each)] for each in mine}
        if self.facts is not None:
            self.facts.module = module
            self.facts.alone = checker.alone
        if not module.file.items and not session.problems.errors:
            session.problems.add(Plain.NOTHING_DECLARED.at(Span(self.source, 0, 0), self.source.name))
        graphs = {block: graph for block in blocks if (graph := checker.alone[block].graph) is not None}
        _measure(session, graphs)
        if not session.problems.errors:
            self._rewritten(session, graphs.values())
        sound = not session.problems.errors
        for block in blocks:
            self._causal(session, checker, block, sound)
        proved = {block: checker.alone[block].graph for block in graphs}
        if not session.problems.errors:
            self._meant(session, proved)
            told = [*session.problems.found]
            for problem in self.failures.heard(unused, module, checker.called, checker.closures, told):
                session.problems.add(problem)
        if not session.problems.errors and module.own:
            _unused_axes(session, module, same[module])
        return {
            block.name: checker.alone[block].graph or _open(checker.alone[block].environment) for block in module.own
        }

    def _meant(self, session: Session, graphs: Mapping[BlockDef, Graph | None]) -> None:
        """What is right in its shapes and may not be what is meant."""
        called = _called([graph for block, graph in graphs.items() if graph is not None and block.is_model])
        for block, graph in graphs.items():
            if graph is None:
                continue
            readers = READERS if graph.span in called else (*READERS, *OF_CALLERS)
            if block.is_model:
                readers = (taken_step, *readers)
            for read in readers if self.sizes else (*readers, *OF_OWN_SIZES):
                for problem in self.failures.heard(read, graph):
                    session.problems.add(problem)

    def _path(self) -> Path | None:
        if self.base is not None:
            return self.base / (Path(self.source.name).name or "text.attn")
        return Path(self.source.name) if os.path.isfile(self.source.name) else None  # any text may be a name

    def _settings(self, session: Session, module: Module) -> None:
        """Unknown names in `--set` and `--config`."""
        generics = [generic for block in module.own for generic in block.generics.values()]
        free = dict.fromkeys(each.name.text for each in generics if each.like is None)
        known = [*module.axes, *module.consts, *free]
        copies = {each.name.text: each.like.text for each in generics if each.like is not None}
        for name in self.sizes:
            if name not in known and name in copies:
                session.problems.add(Plain.SET_FOR_COPY.at(None, name, copies[name]))
            elif name not in known and name not in module.missing:
                session.problems.add(UnknownSet(None, self.source.name, name, tuple(known)))
        if self.config is not None and self.config not in module.configs:
            session.problems.add(
                Plain.UNKNOWN_CONFIG.at(
                    None, self.config, self.source.name, ", ".join(module.configs) or "none", known=module.configs
                )
            )

    def _rewritten(self, session: Session, graphs: Iterable[Graph]) -> None:
        """What picks of nothing and ragged widths forbid; a block's mistake shows in all that call it."""
        for graph in graphs:
            followed, problems = follow_picks(graph)
            for problem in [*problems, *complaints(followed)]:
                session.problems.add(problem)

    def _causal(self, session: Session, checker: Checker, block: BlockDef, sound: bool) -> None:
        """Prove what `causal` claims (D12); of a file with other mistakes only the claims' form is checked."""
        specialisation = checker.alone[block]
        for position, result in enumerate(block.decl.results):
            for name in result.causal:
                axis = specialisation.environment.axis(name.text)
                if axis is None:
                    known = tuple(specialisation.environment.names)
                    session.problems.add(Plain.NO_CLAIMED_AXIS.at(name.span, name.text, known, known=known))
                elif not _has_place(specialisation.environment, result, axis):
                    found = ((each.text, specialisation.environment.axis(each.text)) for each in result.type.axes)
                    axes = tuple(text for text, own in found if own is not None and own.is_width)
                    with_axes = Plain.CLAIM_ALONG.at(name.span, name.text, axes)
                    session.problems.add(with_axes if axes else Plain.CLAIM_WITHOUT.at(name.span, name.text))
                elif specialisation.graph is not None and sound:
                    graph, why = specialisation.graph, result.trusted
                    followed, _ = follow_picks(graph)
                    unproved = check_causal(followed, position, axis, name.span, self.trials, why)
                    if unproved is not None:
                        session.problems.add(unproved)
                    elif why is not None:
                        session.problems.add(Plain.TRUSTED_IN_VAIN.at(why.span, axis.name, why.text))
                    if unproved is None or unproved.severity is not Severity.ERROR:
                        specialisation.graph = _proved(graph, position, axis)


def _called(graphs: list[Graph]) -> set[Span | None]:
    """Where the blocks and models stand that some of these graphs call."""
    within = {inner for each in nested(*graphs) for node in each.nodes for inner in children(node)}
    return {graph.span for graph in within if graph.kind != "repeat"}


def _allows_nothing(allowance: Allowance) -> Problem:
    from ..dsl.catalogue import CATALOGUE

    if allowance.code not in CATALOGUE:
        return Plain.ALLOWS_UNKNOWN.at(allowance.span, allowance.code)
    if allowance.code.startswith("E"):
        return Plain.ALLOWS_ERROR.at(allowance.span, allowance.code)
    return Plain.ALLOWS_NOTHING.at(allowance.span, allowance.code)


def _tell(problem: Problem) -> Diagnostic:
    from .hints.tell import tell  # a right file needs none of it

    return tell(problem)


def _measure(session: Session, graphs: Mapping[BlockDef, Graph]) -> None:
    """Report what is too large, written out, and models that need the size of a width that nothing has."""
    known: dict[int, int] = {}
    for block, graph in graphs.items():
        if steps(graph, known) > STEPS:
            facts = (block.name, steps(graph, known), STEPS)
            session.problems.add(Beyond(block.decl.name.span, Limit.STEPS, facts))
        for unsized in unsized_widths(graph) if block.is_model and not session.problems.errors else ():
            session.problems.add(unsized)


def _open(environment: Environment) -> PlainProblem:
    """Why a block in which nothing is wrong has no graph: a static `if` binds what is read in one branch alone."""
    name = next((const.name for const in environment.signature.const_params if const.value is None), "n")
    return Plain.OPEN_BRANCH.at(environment.block.decl.name.span, name, environment.block.name)


def _has_place(environment: Environment, result: s.ResultDecl, axis: Axis) -> bool:
    """Whether an item of the result stands somewhere along an axis."""
    axes = [found for written in result.type.axes if (found := environment.axis(written.text)) is not None]
    return place_of(axes, axis, {axis.family}) is not None


def _proved(graph: Graph, position: int, axis: Axis) -> Graph:
    outputs = list(graph.outputs)
    outputs[position] = replace(outputs[position], causal=(*outputs[position].causal, axis))
    return replace(graph, outputs=tuple(outputs))


def _few(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """A hundred, warnings only where errors leave room; the last of them says that there are more."""
    if len(found) <= MISTAKES:
        return tuple(found)
    ranked = sorted(range(len(found)), key=lambda place: found[place].severity is not Severity.ERROR)
    *kept, last = [found[place] for place in sorted(ranked[:MISTAKES])]
    more = f"there are more: {len(found)} in all, of which {MISTAKES} are told"
    return (*kept, replace(last, notes=(*last.notes, more)))


def _unused_axes(session: Session, module: Module, reported: Collection[str]) -> None:
    """Axes and consts of the file that nothing mentions. Those of a file that it uses may be there for others.

    reported: names for which it was reported that a used block has its own.
    """
    for item in module.file.items:
        if isinstance(item, s.AxisDecl | s.ConstDecl) and item.name.text not in {*module.read, *reported}:
            name = item.name.text
            what = "const" if isinstance(item, s.ConstDecl) else item.kind
            session.problems.add(Plain.UNUSED_DECLARATION.at(item.name.span, what, name))


def _order(found: Diagnostic, main: Source) -> tuple[int, str, int, str]:
    if found.span is None:
        return (0, "", 0, found.code)
    return (1 if found.span.source is main else 2, found.span.source.name, found.span.start, found.code)


def steps(graph: Graph, known: dict[int, int] | None = None) -> int:
    """The number of ops of a graph written out: a call counts as its body, as does each pass; a scan as one item."""
    known = {} if known is None else known
    if id(graph) not in known:
        total = 0
        for node in graph.nodes:
            match node:
                case Call(inner) | Scan(inner):
                    total += 1 + steps(inner, known)
                case Repeat(bodies=bodies, variant=variant):
                    sizes = [steps(body, known) for body in bodies]
                    total += 1 + sum(sizes[one] for one in variant)
                case _:
                    total += 1
        known[id(graph)] = total
    return known[id(graph)]
