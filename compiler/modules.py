"""Files as modules: their axes, consts and blocks, and what `use` brings in (LANGUAGE D13).

A file is loaded once for each set of declarations that its importers put in place of its own: `use std.attention:
multihead, model` in a file that declares `model` makes the library's `model` that file's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path

from ..dsl import syntax as s
from ..dsl.diagnostic import Diagnostic
from ..dsl.files import FileProblem, read
from ..dsl.parse import parse
from ..dsl.source import Source, Span
from .axes import Axis, Kind
from .folders import Folders, Outside
from .labels import labels
from .limits import FILES, FILES_DEEP, TooMuch
from .mentions import Mentions, mentions_of
from .names import did_you_mean, nearest, undeclared
from .ops import OPS
from .ragged import refuse_ragged
from .session import Reporter, Session
from .sizes import Inexact, divides_by_zero, inexact_division, largest, open_width
from .static import Arith, Const, ConstOf, Literal, Number, SizeOf, Static, axes_in, evaluate

ELEMENTS = frozenset({"bool", "int", "real"})


@dataclass(frozen=True, eq=False)
class BlockDef:
    """A block or model as declared, with the module that gives its names their meaning."""

    decl: s.BlockDecl
    module: Module = field(repr=False)
    target: str = ""  # "module:function", for an op of the user's own: a block without a body

    @property
    def name(self) -> str:
        return self.decl.name.text

    @cached_property
    def generics(self) -> dict[str, s.Generic]:
        """Its parameters in brackets; of two of one name, which is a mistake, the first."""
        found: dict[str, s.Generic] = {}
        for generic in self.decl.generics:
            found.setdefault(generic.name.text, generic)
        return found

    @cached_property
    def mentions(self) -> Mentions:
        """What its text mentions and calls."""
        return mentions_of(self.decl)

    @cached_property
    def labels(self) -> dict[Span, str]:
        """A label for each learned op that has no name."""
        return labels(self.decl)

    @property
    def is_model(self) -> bool:
        return self.decl.keyword == "model"


@dataclass(eq=False)
class Module:
    """One file, under one set of overriding declarations."""

    source: Source
    file: s.File
    path: Path | None
    library: bool
    axes: dict[str, Axis] = field(default_factory=dict)
    consts: dict[str, Const] = field(default_factory=dict)
    blocks: dict[str, BlockDef] = field(default_factory=dict)
    configs: dict[str, s.ConfigDecl] = field(default_factory=dict)
    own: list[BlockDef] = field(default_factory=list)
    places: dict[str, Span] = field(default_factory=dict)  # where each name was declared or used
    read: set[str] = field(default_factory=set)  # file-level names that something mentions
    missing: set[str] = field(default_factory=set)  # names of files that could not be read: nothing is known of them

    def also_used(self, block: str, name: str) -> list[tuple[Span, str]]:
        """The edit that names an axis or const in the `use` that brings a block: the one of this file then holds."""
        for item in self.file.items:
            if isinstance(item, s.UseDecl) and any((used.rename or used.name).text == block for used in item.names):
                return [(Span(item.span.source, item.span.end, item.span.end), f", {name}")]
        return []


@cache
def library_source(name: str) -> Source:
    """A file of the standard library (`attention`), which never changes."""
    text = (resources.files("attnc.compiler") / "std" / f"{name}.attn").read_text(encoding="utf-8")
    return Source(f"std/{name}.attn", text)


def called_blocks(blocks: Iterable[BlockDef]) -> set[BlockDef]:
    """Those that some block calls."""
    return {
        block.module.blocks[name] for block in blocks for name, _ in block.mentions.calls if name in block.module.blocks
    }


Override = Axis | Const
Found = tuple[Source, Path | None, bool]  # the file of a `use`; whether it is of the standard library


def _files_beside(folder: Path, own: Path | None) -> list[str]:
    """What a file could have used from a folder."""
    return [path.stem for path in folder.glob("*.attn") if path != own]


def _library_files() -> list[str]:
    """The files of the standard library; its folder holds nothing else."""
    names = (item.name for item in (resources.files("attnc.compiler") / "std").iterdir())
    return sorted(name.removesuffix(".attn") for name in names)


def _read(path: Path) -> Source:
    return read(path, regular=True)


@dataclass
class Loader:
    """Loads modules, each once; `settings` replace sizes and consts of the main file."""

    session: Session
    settings: Mapping[str, Number]
    config: str | None = None
    modules: dict[tuple[str, tuple[tuple[str, int], ...]], Module] = field(default_factory=dict)
    loading: list[str] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)  # each file read once
    read: Callable[[Path], Source] = _read  # raises FileProblem; an editor reads what is not saved yet
    folders: Folders = field(default_factory=Folders)
    parse: Callable[[Source], tuple[s.File, list[Diagnostic]]] = parse

    def load(
        self, source: Source, path: Path | None, library: bool, overrides: Mapping[str, Override], main: bool = False
    ) -> Module:
        """The module of a source; raises nothing for a user's mistake: diagnostics go to the session."""
        key = (str(path or source.name), tuple(sorted((name, item.id) for name, item in overrides.items())))
        if key in self.modules:
            return self.modules[key]
        file, problems = self.parse(source)
        for problem in problems:
            self.session.add(problem)
        module = Module(source, file, path, library)
        if problems:
            module.missing |= _names_in_text(source.text)
        self.modules[key] = module
        self.loading.append(source.name)
        _Declarations(self, module, overrides, self.settings if main else {}, self.config if main else None).run()
        self.loading.pop()
        return module

    def peek(
        self, source: Source, path: Path | None, library: bool, overrides: Mapping[str, Override] | None = None
    ) -> Module:
        """A file as it is on its own, or with these in place of its own, only to look at its declarations."""
        before = set(self.modules)
        module = self.load(source, path, library, overrides or {})
        for key in set(self.modules) - before:
            del self.modules[key]
        return module

    def library_names(self) -> dict[str, str]:
        """The blocks of the standard library, and the file of each, for the help of an unknown name."""
        return {
            name: f"std.{file}"
            for file in _library_files()
            for name in re.findall(r"^block (\w+)", library_source(file).text, re.MULTILINE)
        }

    def resolve(self, use: s.UseDecl, module: Module) -> Found | None:
        """The file that a `use` names."""
        names = [part.text for part in use.path]
        span = use.path[0].span.to(use.path[-1].span)
        if names[0] == "std":
            root = resources.files("attnc.compiler") / "std"
            if root.joinpath(*names[1:-1], f"{names[-1]}.attn").is_file():
                return library_source("/".join(names[1:])), None, True
            known = [f"std.{file}" for file in _library_files()]
            near = nearest(".".join(names), known)
            self.session.report(
                "E0209",
                f"the standard library has no file `{'.'.join(names)}`",
                span,
                help=f"did you mean `{near}`?" if near else f"it has {', '.join(known)}",
                fix=[(span, near)] if near else [],
            )
            return None
        beside = None if module.path is None else module.path.parent
        try:
            path = self.folders.find(beside, names)
            if path is None:
                self.session.report(
                    "E0209",
                    f"`use {'.'.join(names)}` has no folder to look in",
                    span,
                    help="a text that is no file finds only `std.*`; give `base=` the folder of the other files",
                )
                return None
            if str(path) not in self.sources:
                self.sources[str(path)] = self.read(path)
            return self.sources[str(path)], path, False
        except Outside as away:
            self.session.report(
                "E0209",
                f"`use {'.'.join(names)}` leads out of the project, to {away.file}",
                span,
                notes=[f"the project is {away.project}"] if away.project else [],
                help=f"allow its folder: `--path {away.file.parent}`, or in Python `path=[...]`",
            )
        except OSError as problem:  # FileProblem, or a circle of links
            near = (
                None if beside is None else nearest(names[-1], _files_beside(beside.joinpath(*names[:-1]), module.path))
            )
            said = problem if isinstance(problem, FileProblem) else problem.strerror
            self.session.report(
                "E0209",
                f"cannot read `{'.'.join(names)}`: {said}",
                span,
                help=f"did you mean `{near}`?" if near else f"`use a.b` reads a/b.attn beside {module.source.name}",
                fix=[(use.path[-1].span, near)] if near else [],
            )
        return None


@dataclass
class _Declarations:
    """Reads the declarations of one module, in any order: a size may use a name declared further down."""

    loader: Loader
    module: Module
    overrides: Mapping[str, Override]
    settings: Mapping[str, Number]
    config: str | None = None
    pending: dict[str, s.AxisDecl | s.ConstDecl] = field(default_factory=dict)
    active: list[str] = field(default_factory=list)
    imports: dict[str, s.UseDecl] = field(default_factory=dict)  # by the name that they have here
    used: dict[int, Found | None] = field(default_factory=dict)  # the uses that were begun, by their place

    @property
    def session(self) -> Session:
        return self.loader.session

    def run(self) -> None:
        module = self.module
        uses: list[s.UseDecl] = []
        for item in module.file.items:
            match item:
                case s.AxisDecl() | s.ConstDecl():
                    if self._declare(item.name):
                        self.pending[item.name.text] = item
                case s.BlockDecl():
                    if self._declare(item.name, callee=True):
                        block = BlockDef(item, module)
                        module.blocks[item.name.text] = block
                        module.own.append(block)
                case s.OpDecl():
                    if self._declare(item.name, callee=True):
                        module.blocks[item.name.text] = self._external(item)
                case s.ConfigDecl():
                    if item.name.text in module.configs:
                        self._twice(item.name, module.configs[item.name.text].name.span)
                    module.configs[item.name.text] = item
                case s.UseDecl():
                    uses.append(item)
                case s.ParamDecl():
                    self.session.report(
                        "E0214",
                        f"param `{item.name.text}` stands outside a block or model",
                        item.span,
                        help="move it into the block or model that owns this weight; its path in the "
                        "state dict starts there",
                    )
                    module.missing.add(item.name.text)
        for use in uses:
            for used in use.names:
                self.imports.setdefault((used.rename or used.name).text, use)
        self._configure()
        for name in self.imports:
            if name in self.overrides and name not in self.pending:  # an importer's declaration goes all the way down
                self._keep(name, self.overrides[name])
        for name in list(self.pending):
            self._axis_or_const(name)
        for use in uses:
            self._use(use)
        for config in module.configs.values():
            for setting in config.settings:
                if all(setting.name.text not in known for known in (module.axes, module.consts, module.missing)):
                    self.session.report(
                        "E0601",
                        f"config `{config.name.text}` sets `{setting.name.text}`, which this file does not declare",
                        setting.name.span,
                        help=did_you_mean(setting.name.text, [*module.axes, *module.consts])
                        or f"declare `{setting.name.text}`, or leave it out",
                        fix=_renamed(setting.name, [*module.axes, *module.consts]),
                    )

    def _external(self, item: s.OpDecl) -> BlockDef:
        """An op of the user's own is called as a block is; what it does stands in Python."""
        parts = item.target.split(":")
        if len(parts) != 2 or not all(name.isidentifier() for part in parts for name in part.split(".")):
            self.session.report(
                "E0902",
                f'"{item.target}" names no function',
                item.target_span,
                help='write "module:function", as in "my_ops.sort:by_hash"',
            )
        decl = s.BlockDecl(
            "op", item.name, item.generics, item.formals, item.results, (), item.doc, item.span, item.name.span
        )
        return BlockDef(decl, self.module, item.target)

    def _configure(self) -> None:
        """A config replaces declared sizes and consts by its own; `settings` then replace both."""
        chosen = self.module.configs.get(self.config or "")
        for setting in chosen.settings if chosen else ():
            decl = self.pending.get(setting.name.text)
            if isinstance(decl, s.AxisDecl):
                self.pending[setting.name.text] = replace(decl, size=setting.value, bounded=False, like=None)
            elif isinstance(decl, s.ConstDecl):
                self.pending[setting.name.text] = replace(decl, value=setting.value)
            elif setting.name.text in self.imports and setting.name.text not in self.settings:
                formula = size_static(setting.value, self._no_name, self.session, exact=False)
                value = None if formula is None else checked_number(self.session, formula, setting.value.span)
                if value is not None:
                    self.settings = {**self.settings, setting.name.text: value}

    def _no_name(self, name: s.Ident) -> None:
        """What is set for another file is made of numbers: names of this one may hang on that file in turn."""
        self.session.report(
            "E0207",
            f"`{name.text}` cannot be used here: the config sets what comes from another file",
            name.span,
            help="write a number",
        )

    def _declare(self, name: s.Ident, callee: bool = False) -> bool:
        places = self.module.places
        if name.text in ELEMENTS:
            self.session.report(
                "E0204", f"`{name.text}` is the name of an element kind", name.span, help="choose another name"
            )
            self.module.missing.add(name.text)
            return False
        if callee and name.text in OPS:
            self.session.report(
                "E0204",
                f"`{name.text}` is the name of an op",
                name.span,
                help=f"choose another name, such as `my_{name.text}`",
            )
            return False
        if name.text in places:
            self._twice(name, places[name.text])
            return False
        places[name.text] = name.span
        return True

    def _twice(self, name: s.Ident, first: Span) -> None:
        self.session.report(
            "E0204",
            f"`{name.text}` is declared twice",
            name.span,
            "declared again here",
            related=[(first, "first declared here")],
            help="rename one of the two",
        )

    # -- axes and consts -----------------------------------------------------------------------------------------

    def _axis_or_const(self, name: str) -> None:
        decl = self.pending.get(name)
        if name in self.module.axes or name in self.module.consts:
            return
        if decl is None:
            if name in self.imports:
                self._use(self.imports[name], wanted=name)
            return
        if name in self.imports and self.imports[name].span.start not in self.used:
            # First the file whose declaration this one replaces: it may be made of others that stand there.
            self._use(self.imports[name])
            if name in self.module.axes or name in self.module.consts:
                return
        if name in self.active:
            chain = [*self.active[self.active.index(name) :], name]
            self.session.report(
                "E0208",
                f"`{name}` is declared by way of itself: {' -> '.join(chain)}",
                decl.name.span,
                help="give one of them a number",
            )
            return
        override = self.overrides.get(name)
        if override is not None:
            self._override(decl, override)
            return
        self.active.append(name)
        self._make(decl)
        self.active.pop()

    def _make(self, decl: s.AxisDecl | s.ConstDecl) -> None:
        """The axis or const as it is declared here; what cannot be is meant nevertheless, and nothing is said of it."""
        name = decl.name.text
        if isinstance(decl, s.ConstDecl):
            self.module.consts[name] = self._const(decl)
        elif (axis := self._axis(decl)) is not None:
            self.module.axes[name] = axis
        else:
            self.module.missing.add(name)

    def _override(self, decl: s.AxisDecl | s.ConstDecl, item: Override) -> None:
        name = decl.name.text
        if isinstance(item, Axis):
            if not isinstance(decl, s.AxisDecl) or decl.kind != item.kind.value:
                kind = decl.kind if isinstance(decl, s.AxisDecl) else "const"
                self.session.report(
                    "E0213",
                    f"`{name}` is a {item.kind.value} here but a {kind} in {self.module.source.name}",
                    item.span,
                    related=[(decl.name.span, f"a {kind} here")],
                    help=f"declare it as a {kind}, or import it under another name: `use ...: {name} as other`",
                )
            if isinstance(decl, s.AxisDecl):
                self.module.axes[name] = item
            else:
                self._make(decl)
        elif isinstance(decl, s.AxisDecl):
            self.session.report(
                "E0213",
                f"`{name}` is a {decl.kind} here, but a const in the file that uses this one",
                decl.name.span,
                help=f"declare it as a {decl.kind} there too, or use it under another name: `use ...: {name} as other`",
            )
            self._make(decl)
        else:
            self.module.consts[name] = item

    def _axis(self, decl: s.AxisDecl) -> Axis | None:
        name, kind = decl.name.text, Kind(decl.kind)
        label = decl.display.text if decl.display else name
        setting = self.settings.get(name)
        original: Axis | None = None
        if decl.like:
            self._axis_or_const(decl.like.text)
            original = self.module.axes.get(decl.like.text)
            if original is None:
                self._unknown(decl.like)
                return None
            if original.kind is not kind:
                self.session.report(
                    "E0213",
                    f"`{name}` is a {kind.value} but `{original.name}` is a {original.kind.value}: a "
                    f"copy has the kind of its original",
                    decl.span,
                    related=[(original.span, f"`{original.name}` is declared here")],
                    help=f"write `{original.kind.value} {name} like {original.name}`",
                )
            refuse_own_size(self.session, decl)
        extent: int | None = None
        size: Static | None = None
        bound: int | None = None
        formula: Static | None = None  # how it hangs on other axes of the file
        aside = Session()
        if original is not None and setting is not None:
            refuse_setting(self.session, name, original.name)
        if original is not None:
            extent, size, bound, formula = original.extent, original.size, original.bound, SizeOf(original)
        elif setting is not None and decl.bounded:
            bound = size_set(self.session, setting, decl.name)
        elif setting is not None and decl.ragged is not None:
            self.session.report(
                "E0601",
                f"`{name}` is ragged: its lengths come with the inputs, and cannot be set",
                None,
                help=f"leave `{name}` out",
            )
        elif setting is not None:
            extent = size_set(self.session, setting, decl.name)
        elif decl.size is not None:
            formula = self.size_static(decl.size)
            if formula is not None:
                extent, size, bound = self._sized(decl, formula, aside)
        if kind is Kind.DEPTH and decl.bounded:
            self.session.report(
                "E0207",
                f"depth `{name}` is bounded, but a depth's size is known",
                decl.span,
                help="write `=`, or declare a width",
            )
        ragged = decl.ragged is not None and not refuse_ragged(self.session, decl)
        axis = self.session.axis(
            name,
            kind,
            label=label,
            extent=extent,
            size=size,
            bound=bound,
            family=original.family if original else None,
            span=decl.name.span,
            ragged=original.ragged if original else ragged,
        )
        if formula is not None and not decl.bounded:
            self.session.formulas[axis.id] = formula
        if self.module.library:
            self.session.waiting[axis.id] = aside.diagnostics
        for problem in () if self.module.library else aside.diagnostics:
            self.session.add(problem)
        return axis

    def _sized(
        self, decl: s.AxisDecl, formula: Static, session: Session
    ) -> tuple[int | None, Static | None, int | None]:
        """Extent, formula and bound of an axis with a size."""
        assert decl.size is not None
        value = checked_size(
            session, formula, self._blame(formula, decl.size.span), decl.name.text, formula_span=decl.size.span
        )
        if decl.bounded:
            return None, None, value
        if decl.kind == "depth" and (width := open_width(formula)) is not None:
            refuse_depth(session, decl.name.text, width, decl.size.span)
            return None, None, None
        if value is not None:
            return value, None if isinstance(formula, Literal) else formula, None
        return None, formula, largest(formula) if decl.kind == "width" else None

    def _blame(self, formula: Static, span: Span) -> Span:
        """The place to point at if a size does not work out: the user's own declaration rather than the library's."""
        if not self.module.library:
            return span
        theirs = [
            axis.span
            for axis in axes_in(formula)
            if axis.span is not None and axis.span.source is not self.module.source
        ]
        return theirs[-1] if theirs else span

    def _const(self, decl: s.ConstDecl) -> Const:
        name = decl.name.text
        if name in self.settings:
            number, written = self.settings[name], decl.value
            if isinstance(written, s.Number) and isinstance(written.value, int):
                number = _whole(number)
            return self.session.const(name, number)
        formula = self.number_static(decl.value)
        if formula is None:
            return self.session.const(name, None)
        const = self.session.const(name, checked_number(self.session, formula, decl.value.span))
        if (width := open_width(formula)) is not None:
            self.session.report(
                "E0207",
                f"the const `{name}` hangs on the width `{width.name}`, but must be known at build time",
                decl.value.span,
                help=f"write it out where it is used, declare `{name}` in the block that uses it, or fix the "
                f"width: `width {width.name} = 128`",
            )
        if not isinstance(formula, Literal):
            self.session.const_formulas[const.id] = formula
        return const

    def size_static(self, expr: s.Expr) -> Static | None:
        return size_static(expr, self._lookup, self.session)

    def number_static(self, expr: s.Expr) -> Static | None:
        return size_static(expr, self._lookup, self.session, exact=False)

    def _lookup(self, name: s.Ident) -> Static | None:
        self._axis_or_const(name.text)
        self.module.read.add(name.text)
        if name.text in self.module.axes:
            return SizeOf(self.module.axes[name.text])
        if name.text in self.module.consts:
            return ConstOf(self.module.consts[name.text])
        if name.text not in self.active:
            self._unknown(name)
        return None

    def _unknown(self, name: s.Ident) -> None:
        if name.text in self.module.missing:
            return
        known = [*self.pending, *self.module.axes, *self.module.consts]
        near = nearest(name.text, known)
        self.session.report(
            "E0201",
            f"no axis or const is named `{name.text}`",
            name.span,
            help=undeclared(name.text, known),
            fix=[(name.span, near)] if near else [],
        )

    # -- use -----------------------------------------------------------------------------------------------------

    def _use(self, use: s.UseDecl, wanted: str | None = None) -> None:
        """Bring in what a `use` names, once. A declaration of this file that needs a name of it may come first."""
        if use.span.start in self.used:
            found = self.used[use.span.start]
            if found is not None and wanted is not None:
                self._early(use, found, wanted)
            return
        session, module = self.session, self.module
        self.used[use.span.start] = None
        found = self.loader.resolve(use, module)
        if found is None:
            self._stub(use)
            return
        source, path, library = found
        if source.name in self.loader.loading:
            chain = [*self.loader.loading[self.loader.loading.index(source.name) :], source.name]
            session.report(
                "E0210",
                f"these files use each other in a circle: {' -> '.join(chain)}",
                use.span,
                help="move what both need into a third file",
            )
            self._stub(use)
            return
        if len(self.loader.loading) > FILES_DEEP or len(self.loader.sources) > FILES:
            raise TooMuch(
                f"the files of a spec are more than {FILES}, or use each other more than {FILES_DEEP} deep",
                "put what belongs together into one file",
                use.span,
            )
        self.used[use.span.start] = found
        overrides = self._ours(use, found)
        other = self.loader.load(source, path, library, overrides)
        set_here = self._set_here(use, other, overrides)
        if set_here:
            other = self.loader.load(source, path, library, overrides | set_here)
        for used in use.names:
            self._bring(used, other, overrides)

    def _ours(self, use: s.UseDecl, found: Found) -> dict[str, Override]:
        """What this file puts in place of the used file's declarations: its own, and what another `use` brought."""
        module = self.module
        overrides: dict[str, Override] = {}
        brought: list[s.Used] = []
        for used in use.names:  # which may bring others of them early
            if (used.rename or used.name).text in self.pending:
                self._axis_or_const((used.rename or used.name).text)
        for used in use.names:
            local = (used.rename or used.name).text
            item = module.axes.get(local) or module.consts.get(local)
            if item is not None:
                overrides[used.name.text] = item
                if local not in self.pending and local not in self.overrides and local not in self.settings:
                    brought.append(used)
        for used in brought:
            self._same_as_brought(used, found, overrides)
        return overrides

    def _same_as_brought(self, used: s.Used, found: Found, overrides: Mapping[str, Override]) -> None:
        """An axis that two files bring under one name must be the same in both, for neither wins.

        What it is made of may be ours.
        """
        name, ident = used.name.text, used.rename or used.name
        theirs = self.loader.peek(*found, {other: item for other, item in overrides.items() if other != name})
        have = self.module.axes.get(ident.text) or self.module.consts.get(ident.text)
        other = theirs.axes.get(name) or theirs.consts.get(name)
        if have is None or other is None or _agree(have, other):
            return
        self.session.report(
            "E0212",
            f"`{ident.text}` comes from two files, and is not the same in both",
            ident.span,
            related=[(self.module.places.get(ident.text), "the first is used here")],
            help=_one_of_two(ident.text, name),
        )

    def _early(self, use: s.UseDecl, found: Found, wanted: str) -> None:
        """A name of a file whose own declarations wait for one of ours, which is derived from that name."""
        other = self.loader.peek(*found)
        for used in use.names:
            if (used.rename or used.name).text == wanted:
                item = self._set_here(use, other, {}).get(used.name.text)
                item = item or other.axes.get(used.name.text) or other.consts.get(used.name.text)
                if item is not None:
                    self._keep(wanted, item)
                    self.module.places.setdefault(wanted, used.span)

    def _keep(self, name: str, item: Override) -> None:
        if isinstance(item, Axis):
            self.module.axes[name] = item
        else:
            self.module.consts[name] = item

    def _set_here(self, use: s.UseDecl, other: Module, overrides: Mapping[str, Override]) -> dict[str, Override]:
        """`--set heads=4` where `heads` comes from the used file: it gets this number there."""
        found: dict[str, Override] = {}
        for used in use.names:
            name, local = used.name.text, (used.rename or used.name).text
            if name in overrides or local not in self.settings:
                continue
            value = self.settings[local]
            if name in other.axes:
                old = other.axes[name]
                extent = size_set(self.session, value, used.name)
                found[name] = self.session.axis(old.name, old.kind, label=old.label, extent=extent, span=old.span)
            elif name in other.consts:
                found[name] = self.session.const(name, value)
        return found

    def _stub(self, use: s.UseDecl) -> None:
        """Keep the names of a file that could not be read known, so that nothing else is said about them."""
        for used in use.names:
            self.module.places.setdefault((used.rename or used.name).text, used.span)
            self.module.read.add((used.rename or used.name).text)
            self.module.missing.add((used.rename or used.name).text)

    def _bring(self, used: s.Used, other: Module, overrides: Mapping[str, Override]) -> None:
        module, name, ident = self.module, used.name.text, used.rename or used.name
        local = ident.text
        if name in other.blocks:
            if local in module.places:
                self._twice(ident, module.places[local])
            else:
                module.places[local] = ident.span
                module.blocks[local] = other.blocks[name]
        elif name in other.axes or name in other.consts:
            module.read.add(local)
            if name in overrides:
                return
            if local in module.places:
                self.session.report(
                    "E0212",
                    f"`{local}` comes from two files",
                    ident.span,
                    related=[(module.places[local], "and from here")],
                    help=_one_of_two(local, name),
                )
                return
            module.places[local] = ident.span
            if name in other.axes:
                module.axes[local] = other.axes[name]
            else:
                module.consts[local] = other.consts[name]
        elif name in other.missing:
            module.missing.add(local)
        else:
            known = [*other.blocks, *other.axes, *other.consts]
            near = nearest(name, known)
            self.session.report(
                "E0211",
                f"{other.source.name} has no `{name}`",
                used.name.span,
                help=did_you_mean(name, known) or f"it has {', '.join(known)}",
                fix=[(used.name.span, near)] if near else [],
            )
            module.places.setdefault(local, ident.span)
            module.missing.add(local)


def _renamed(name: s.Ident, known: Iterable[str]) -> list[tuple[Span, str]]:
    """The edit to the nearest of the names that are known, if one is near."""
    near = nearest(name.text, known)
    return [(name.span, near)] if near else []


def _whole(value: Number) -> Number:
    """A float that is whole, as an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _one_of_two(local: str, name: str) -> str:
    """How one name may come from two files."""
    return f"declare `{local}` in this file (its declaration then holds in both), or rename one: `{name} as other`"


def _agree(a: Override, b: Override) -> bool:
    """Whether two declarations say the same."""
    if isinstance(a, Axis) and isinstance(b, Axis):
        return (a.kind, a.extent, a.bound, a.size) == (b.kind, b.extent, b.bound, b.size)
    return isinstance(a, Const) and isinstance(b, Const) and a.value == b.value


def _names_in_text(text: str) -> set[str]:
    """What a file that does not parse may have meant to declare: nothing is to be said of these names."""
    lines = re.findall(r"^[ \t]*(?:use|width|depth|const|block|model|op)\b(.*)", text, re.MULTILINE)
    return {name for line in lines for name in re.findall(r"[A-Za-z_]\w*", line.split("(")[0])}


# -- static expressions as written -------------------------------------------------------------------------------

Lookup = Callable[[s.Ident], Static | None]

_BINARY = frozenset({"+", "-", "*", "/", "%", "^"})
_FUNCTIONS = {"ceil": 1, "floor": 1, "sqrt": 1, "min": 2, "max": 2, "abs": 1, "exp": 1, "log": 1}


def size_static(expr: s.Expr, lookup: Lookup, session: Reporter, *, exact: bool = True) -> Static | None:
    """An expression in a declaration, where an axis's name is its size. None after a reported mistake.

    exact: `/` must leave no remainder (sizes), except right inside `ceil` and `floor`.
    """
    try:
        return _static(expr, lookup, session, exact)
    except TooMuch as much:
        made = much.at(expr.span)
        session.report(made.code, made.message, made.span, help=made.help)
        return None


def _static(expr: s.Expr, lookup: Lookup, session: Reporter, exact: bool) -> Static | None:

    def again(part: s.Expr, exact: bool = exact) -> Static | None:
        return _static(part, lookup, session, exact)

    match expr:
        case s.Number(value) | s.Truth(value):
            return Literal(value)
        case s.Name(text, span):
            return lookup(s.Ident(text, span))
        case s.SizeOf(axis):
            return lookup(axis)
        case s.Unary("-", operand):
            inner = again(operand)
            return None if inner is None else Arith("neg", (inner,))
        case s.Binary(op, left, right) if not exact or op in _BINARY:
            a, b = again(left), again(right)
            if a is None or b is None:
                return None
            return Arith("//" if op == "/" and exact else op, (a, b))
        case s.Unary("not", operand) if not exact:
            inner = again(operand)
            return None if inner is None else Arith("not", (inner,))
        case s.Call(callee, None, None, arguments) if callee.text in _FUNCTIONS:
            if len(arguments) != _FUNCTIONS[callee.text] or any(argument.name for argument in arguments):
                two = _FUNCTIONS[callee.text] == 2
                session.report(
                    "E0207",
                    f"`{callee.text}` takes {'two numbers' if two else 'one number'}",
                    expr.span,
                    help=f"write `{callee.text}({'a, b' if two else 'a'})`",
                )
                return None
            inner_exact = exact and callee.text not in ("ceil", "floor")
            parts = [again(argument.value, inner_exact) for argument in arguments]
            if any(part is None for part in parts):
                return None
            return Arith(callee.text, tuple(part for part in parts if part is not None))
        case _:
            session.report(
                "E0207",
                "this is no number known at build time",
                expr.span,
                help="a size or const is made of numbers, sizes and consts with + - * / % ^, ceil(a "
                "/ b) and floor(a / b)",
            )
            return None


def refuse_own_size(reporter: Reporter, decl: s.AxisDecl) -> None:
    """Report a size that is written behind a copy: `depth value like key = 4`."""
    if decl.like is not None and decl.size is not None:
        refuse_size(reporter, decl.size.span, decl.name.text, decl.like.text)


def refuse_size(reporter: Reporter, size: Span, name: str, original: str) -> None:
    reporter.report(
        "E0207",
        f"`{name}` is a copy of `{original}`, and has no size of its own",
        size,
        help=f"leave out the size, or `like {original}`",
    )


def refuse_depth(reporter: Reporter, name: str, width: Axis | None, span: Span) -> None:
    """Report a depth whose size only a run knows (D1): it hangs on this width, or on a const that a run gives."""
    on = f"on the width `{width.name}`" if width is not None else "on what only a run knows"
    fixed = f", or fix the width: `width {width.name} = 128`" if width is not None else ""
    reporter.report(
        "E0207",
        f"the size of the depth `{name}` hangs {on}, but must be known at build time",
        span,
        help=f"make `{name}` a width{fixed}",
    )


def refuse_setting(session: Session, name: str, original: str) -> None:
    """Report a size that is set from outside for a copy."""
    session.report(
        "E0601", f"`{name}` is a copy of `{original}`, and has no size of its own", None, help=f"set `{original}`"
    )


def checked_number(session: Reporter, formula: Static, span: Span) -> Number | None:
    """Evaluate; arithmetic that has no value is reported."""
    if divides_by_zero(formula):
        session.report("E0207", "this divides by zero", span, help="divide by 1 or more")
        return None
    try:
        value = evaluate(formula)
    except OverflowError:
        value = math.inf
    except (ArithmeticError, ValueError, TypeError):
        value = math.nan
    if value in (math.inf, -math.inf) or (isinstance(value, int) and abs(value) >= 2**62):
        session.report("E0207", "this number is too large", span, help="whole numbers stay below 2 ^ 62")
        return None
    if isinstance(value, complex) or (isinstance(value, float) and math.isnan(value)):
        session.report("E0207", "this has no value", span, help="change the numbers that it is made of")
        return None
    return value


def checked_size(
    session: Reporter, formula: Static, span: Span, name: str, *, formula_span: Span | None = None
) -> int | None:
    """The value of a size where it is known: a whole number of 1 or more, divisions exact; else reported and None.

    `span` is the place to point at, `formula_span` where the formula stands, if that is elsewhere.
    """
    formula_span = formula_span or span
    related = [(formula_span, f"`{name}` is declared here")] if formula_span != span else []
    left = inexact_safely(formula)
    if left:
        session.report(
            "E0206",
            f"`{name}`: {left.dividend} / {left.divisor} leaves a remainder of {left.dividend % left.divisor}",
            span,
            f"{left.dividend} does not divide by {left.divisor}",
            related=related,
            help="choose sizes that divide"
            + ("" if related else f", or say which way to round: `ceil({span.text})` or `floor({span.text})`"),
        )
        return None
    value = checked_number(session, formula, span)
    if value is None:
        return None
    wrong = _no_size(name, value)
    if wrong:
        help = "write a whole number" if isinstance(formula, Literal) else "change the sizes that it is made of"
        session.report("E0207", wrong, span, related=related, help=help)
        return None
    return int(value)


def size_set(session: Reporter, value: Number, name: s.Ident) -> int | None:
    """The size that is set from outside, if it is one; else reported and None."""
    wrong = _no_size(name.text, value)
    if wrong:
        help = "set a whole number of 1 or more"
        session.report("E0207", wrong, name.span, notes=["it is set from outside"], help=help)
        return None
    return int(value)


def _no_size(name: str, value: Number) -> str:
    """Why a number is no size; "" if it is one."""
    value = _whole(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return f"the size of `{name}` is {value}, but a size is a whole number of 1 or more"
    return f"the size of `{name}` is {value}, but a size is less than 2 ^ 62" if value >= 2**62 else ""


def inexact_safely(formula: Static) -> Inexact | None:
    try:
        return inexact_division(formula)
    except (ArithmeticError, ValueError, TypeError):
        return None
