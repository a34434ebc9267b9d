"""The declarations of one file: its axes, consts and blocks, and what `use` brings in from others (LANGUAGE D13)."""

from __future__ import annotations

from keyword import iskeyword

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable, replace
from ...dsl.source import Span
from ..base.problems import Problems
from ..problems.files import ConstAtRunTime, DeclaredByItself, NoFunction
from ..problems.plain import Plain
from ..problems.sizes import DepthAtRunTime
from ..sizes.arithmetic import largest, open_width
from ..sizes.axes import Axis, Const, ConstOf, Kind, Literal, SizeOf, Static, as_static, axes_in
from .modules import ELEMENTS, BlockDef, Override
from .ragged import refuse_ragged
from .uses import Uses
from .written_sizes import (
    checked_size,
    checked_value,
    const_static,
    refuse_own_size,
    size_set,
    size_static,
    whole_number,
)


@mutable
class Declarations(Uses):
    """Reads the declarations of one module, in any order: a size may use a name declared further down."""

    config: str | None = None
    active: list[str] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)  # declarations with a mistake: nothing more is reported of them
    written: dict[str, s.AxisDecl | s.ConstDecl] = field(default_factory=dict)  # each declaration as the file writes it

    def run(self) -> None:
        module = self.module
        for item in module.file.items:
            self._enter(item)
        uses = [item for item in module.file.items if isinstance(item, s.UseDecl)]
        for use in uses:
            for used in use.names:
                self.imports.setdefault((used.rename or used.name).text, use)
        self.written = dict(self.pending)
        self._configure()
        for name in self.imports:
            if name in self.overrides and name not in self.pending:  # it holds in the files used here, too
                self._keep(name, self.overrides[name])
        for name in list(self.pending):
            self._axis_or_const(name)
        for use in uses:
            self._use(use)
        for config in module.configs.values():
            for setting in config.settings:
                self._check_setting(config, setting)

    def _enter(self, item: s.Item) -> None:
        """Note what an item declares."""
        module = self.module
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
            case s.ParamDecl():
                self.session.problems.add(Plain.PARAM_OUTSIDE.at(item.span, item.name.text))
                module.missing.add(item.name.text)

    def _check_setting(self, config: s.ConfigDecl, setting: s.Setting) -> None:
        """Whether the file has what a config sets, and of that kind; else reported."""
        module, name, value = self.module, setting.name.text, setting.value
        written = self.written.get(name)
        if isinstance(written, s.AxisDecl) and written.like is not None and name in module.axes:
            self.session.problems.add(Plain.SET_FOR_COPY.at(setting.name.span, name, written.like.text))
        if isinstance(written, s.ConstDecl) and not isinstance(value, s.Name):
            given = isinstance(value, s.ListExpr)
            if given != isinstance(written.value, s.ListExpr):
                self._refuse_kind(written, given, value.span)
        known = (*module.axes, *module.consts)
        if name not in known and name not in module.missing:
            self.session.problems.add(Plain.UNKNOWN_SETTING.at(setting.name.span, name, config.name.text, known=known))

    def _external(self, item: s.OpDecl) -> BlockDef:
        """An op of the user's own is called as a block is; what it does stands in Python."""
        module, _, function = item.target.partition(":")
        names = [*module.split("."), function]
        if not all(name.isidentifier() and name.isascii() and not iskeyword(name) for name in names):
            self.session.problems.add(NoFunction(item.target_span, item.target))
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
                if decl.like is None:
                    self.pending[setting.name.text] = replace(decl, size=setting.value)
            elif isinstance(decl, s.ConstDecl):
                self.pending[setting.name.text] = replace(decl, value=setting.value)
            elif setting.name.text in self.imports and setting.name.text not in self.settings:
                formula = const_static(setting.value, self._no_name, self.session.problems)
                value = None if formula is None else checked_value(self.session.problems, formula, setting.value.span)
                if value is not None:
                    self.settings = {**self.settings, setting.name.text: value}

    def _refuse_kind(self, decl: s.ConstDecl, given: bool, span: Span | None = None) -> None:
        """Report a list for a const that is one number, or the reverse. span: of what gives it, in a file."""
        declared = decl.span if span is not None else None
        self.session.problems.add(
            (Plain.SET_TO_LIST if given else Plain.SET_TO_NUMBER).at(span, decl.name.text, there=declared)
        )

    def _no_name(self, name: s.Ident) -> None:
        """Report a name where a config sets a size of another file: names here may depend on that file in turn."""
        self.session.problems.add(Plain.NAME_IN_CONFIG.at(name.span, name.text))

    def _declare(self, name: s.Ident, callee: bool = False) -> bool:
        places = self.module.spans
        if name.text in ELEMENTS:
            self.session.problems.add(Plain.ELEMENT_NAME.at(name.span, name.text))
            self.module.missing.add(name.text)
            return False
        if callee and not self._may_be_called(name):
            return False
        if name.text in places:
            self._twice(name, places[name.text])
            return False
        places[name.text] = name.span
        return True

    # -- axes and consts -----------------------------------------------------------------------------------------

    def _axis_or_const(self, name: str) -> None:
        decl = self.pending.get(name)
        if name in self.module.axes or name in self.module.consts or name in self.failed:
            return
        if decl is None:
            if name in self.imports:
                self._use(self.imports[name], wanted=name)
            return
        if name in self.imports and self.imports[name].span.start not in self.used:
            # First the file whose declaration this one replaces: this one may depend on others of that file.
            self._use(self.imports[name])
            if name in self.module.axes or name in self.module.consts:
                return
        if name in self.active:
            chain = (*self.active[self.active.index(name) :], name)
            copies = isinstance(decl, s.AxisDecl) and decl.like is not None
            self.session.problems.add(DeclaredByItself(decl.name.span, name, chain, copies))
            self._fail(name)
            return
        override = self.overrides.get(name)
        if override is not None:
            self._override(decl, override)
            return
        self.active.append(name)
        self._make(decl)
        self.active.pop()

    def _make(self, decl: s.AxisDecl | s.ConstDecl) -> None:
        """The axis or const that is declared here. One with a mistake counts as declared; no more is reported of it."""
        name = decl.name.text
        if isinstance(decl, s.ConstDecl):
            self.module.consts[name] = self._const(decl)
        elif (axis := self._axis(decl)) is not None:
            self.module.axes[name] = axis
        else:
            self._fail(name)

    def _fail(self, name: str) -> None:
        self.failed.add(name)
        self.module.missing.add(name)

    def _override(self, decl: s.AxisDecl | s.ConstDecl, item: Override) -> None:
        name = decl.name.text
        if isinstance(item, Axis):
            if not isinstance(decl, s.AxisDecl) or decl.kind != item.kind.value:
                kind = decl.kind if isinstance(decl, s.AxisDecl) else "const"
                self.session.problems.add(
                    Plain.KIND_IN_USED_FILE.at(
                        item.span, name, item.kind.value, kind, self.module.source.name, there=decl.name.span
                    )
                )
            if isinstance(decl, s.AxisDecl):
                self.module.axes[name] = item
            else:
                self._make(decl)
        elif isinstance(decl, s.AxisDecl):
            self.session.problems.add(Plain.CONST_FOR_AXIS.at(decl.name.span, name, decl.kind))
            self._make(decl)
        else:
            self.module.consts[name] = item
            listed = isinstance(item.value, tuple)
            if item.value is not None and listed != isinstance(decl.value, s.ListExpr):
                self._refuse_kind(decl, listed, decl.name.span)

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
                at, its = decl.span, original.kind.value
                wrong = Plain.KIND_OF_FILE_COPY.at(at, name, decl.kind, original, its, at.text, there=original.span)
                self.session.problems.add(wrong)
            refuse_own_size(self.session.problems, decl)
        extent: int | None = None
        size: Static | None = None
        bound: int | None = None
        formula: Static | None = None  # how it depends on other axes of the file
        aside = Problems()
        if original is not None and setting is not None:
            self.session.problems.add(Plain.SET_FOR_COPY.at(None, name, original.name))
        if original is not None:
            extent, size, bound, formula = original.extent, original.size, original.bound, SizeOf(original)
        elif setting is not None and decl.bounded:
            bound = size_set(self.session.problems, setting, decl.name)
        elif setting is not None and decl.ragged is not None:
            self.session.problems.add(Plain.SET_RAGGED.at(None, name))
        elif setting is not None:
            extent = size_set(self.session.problems, setting, decl.name)
        elif decl.size is not None:
            formula = self.size_static(decl.size)
            if formula is not None:
                extent, size, bound = self._sized(decl, formula, aside)
        if kind is Kind.DEPTH and decl.bounded:
            self.session.problems.add(Plain.BOUNDED_DEPTH.at(decl.span, name))
        ragged = decl.ragged is not None and not refuse_ragged(self.session.problems, decl)
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
            self.session.waiting[axis.id] = aside.found
        for problem in () if self.module.library else aside.found:
            self.session.problems.add(problem)
        return axis

    def _sized(
        self, decl: s.AxisDecl, formula: Static, problems: Problems
    ) -> tuple[int | None, Static | None, int | None]:
        """Extent, formula and bound of an axis with a size."""
        assert decl.size is not None
        value = checked_size(
            problems, formula, self._blame(formula, decl.size.span), decl.name.text, formula_span=decl.size.span
        )
        if decl.bounded:
            return None, None, value
        if decl.kind == "depth" and (width := open_width(formula)) is not None:
            problems.add(DepthAtRunTime(decl.size.span, decl.name.text, width))
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
            given = isinstance(number, tuple)
            if given != isinstance(written, s.ListExpr) and not isinstance(written, s.Name):
                self._refuse_kind(decl, given)
                return self.session.const(name, None)
            if isinstance(number, tuple):
                kinds = {isinstance(each, bool) for each in number}
                if len(kinds) > 1:
                    self.session.problems.add(Plain.SET_MIXED_LIST.at(None, name))
                return self.session.const(name, checked_value(self.session.problems, as_static(number), decl.name.span))
            if isinstance(written, s.NumberLiteral) and isinstance(written.value, int):
                assert not isinstance(number, tuple)
                number = whole_number(number)
            return self.session.const(name, number)
        formula = const_static(decl.value, self._lookup, self.session.problems)
        if formula is None:
            return self.session.const(name, None)
        const = self.session.const(name, checked_value(self.session.problems, formula, decl.value.span))
        if (width := open_width(formula)) is not None:
            self.session.problems.add(ConstAtRunTime(decl.value.span, name, width))
        if not isinstance(formula, Literal):
            self.session.const_formulas[const.id] = formula
        return const

    def size_static(self, expr: s.Expr) -> Static | None:
        return size_static(expr, self._lookup, self.session.problems)

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
        known = (*self.pending, *self.module.axes, *self.module.consts)
        self.session.problems.add(Plain.NOT_DECLARED.at(name.span, name.text, known=known))
