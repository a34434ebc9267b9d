"""What `use` brings into a file: axes, consts and blocks of another, those of this file put in place of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable
from ...dsl.source import Source, Span
from ..base.session import Session
from ..ops import OPS
from ..ops.table import FIRST
from ..problems.plain import Plain
from ..sizes.axes import Axis, Const, Value
from ..sizes.limits import FILES, FILES_DEEP, Limit, TooMuch
from .modules import Found, Module, Override
from .written_sizes import size_set


class Files(Protocol):
    """Where the modules that a `use` names come from, each loaded once."""

    session: Session
    loading: list[str]  # the files that are being read, each used by the one before
    sources: dict[str, Source]

    def resolve(self, use: s.UseDecl, module: Module) -> Found | None:
        """The file that a `use` names; None where there is none, which is reported."""

    def load(self, source: Source, path: Path | None, library: bool, overrides: Mapping[str, Override]) -> Module:
        """The module of a file, with these axes and consts in place of its own."""

    def peek(
        self, source: Source, path: Path | None, library: bool, overrides: Mapping[str, Override] | None = None
    ) -> Module:
        """The module of a file, only to look at its declarations."""


@mutable
class Uses(ABC):
    """The uses of one module; `pending` are the declarations that it makes itself."""

    loader: Files
    module: Module
    overrides: Mapping[str, Override]
    settings: Mapping[str, Value]
    pending: dict[str, s.AxisDecl | s.ConstDecl] = field(default_factory=dict)
    imports: dict[str, s.UseDecl] = field(default_factory=dict)  # by the name that they have here
    used: dict[int, Found | None] = field(default_factory=dict)  # the uses that were begun, by their place

    @property
    def session(self) -> Session:
        return self.loader.session

    @abstractmethod
    def _axis_or_const(self, name: str) -> None:
        """Makes an axis or const that the module declares or uses, if it is not made yet."""

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
            session.problems.add(Plain.USED_IN_CIRCLE.at(use.span, " -> ".join(chain)))
            self._stub(use)
            return
        if len(self.loader.loading) > FILES_DEEP or len(self.loader.sources) > FILES:
            raise TooMuch(Limit.FILES, FILES, FILES_DEEP, span=use.span)
        self.used[use.span.start] = found
        overrides = self._ours(use, found)
        other = self.loader.load(source, path, library, overrides)
        set_here = self._set_here(use, other, overrides)
        if set_here:
            other = self.loader.load(source, path, library, overrides | set_here)
        for used in use.names:
            self._bring(used, other, overrides)
        self._rename(use, other)

    def _rename(self, use: s.UseDecl, other: Module) -> None:
        """Give an axis the name that it has here, everywhere, if another axis here has its own name, since names tell
        inputs and sizes apart; unless the new name is another axis's there.
        """
        new = {used.name.text: (used.rename or used.name).text for used in use.names}
        bearers: dict[str, set[Axis]] = {}
        for name, axis in other.axes.items():
            bearers.setdefault(new.get(name, name), set()).add(axis)
        for name, local in new.items():
            mine = other.axes.get(name)
            if mine is None or mine.name == local or self.module.axes.get(local) is not mine:
                continue
            clashes = mine.name in self.pending or mine.name in self.imports
            if clashes and len(bearers[local]) == 1 and local not in other.consts:
                mine.rename(local)

    def _ours(self, use: s.UseDecl, found: Found) -> dict[str, Override]:
        """What this file puts in place of the used file's declarations: its own, and what another `use` brought."""
        module = self.module
        overrides: dict[str, Override] = {}
        brought: list[s.Used] = []
        for used in use.names:  # making one may bring in others of them early
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
        """Report an axis that two files bring under one name and that is not the same in both, for neither wins.

        Axes that it depends on may be replaced by those of this file.
        """
        name, ident = used.name.text, used.rename or used.name
        theirs = self.loader.peek(*found, {other: item for other, item in overrides.items() if other != name})
        have = self.module.axes.get(ident.text) or self.module.consts.get(ident.text)
        other = theirs.axes.get(name) or theirs.consts.get(name)
        if have is None or other is None or agree(have, other):
            return
        first = self.module.spans.get(ident.text)
        self.session.problems.add(Plain.TWO_SOURCES_DIFFER.at(ident.span, ident.text, name, there=first))

    def _early(self, use: s.UseDecl, found: Found, wanted: str) -> None:
        """Bring in one name early: its file waits for a declaration of this file that derives from that name."""
        other = self.loader.peek(*found)
        for used in use.names:
            if (used.rename or used.name).text == wanted:
                item = self._set_here(use, other, {}).get(used.name.text)
                item = item or other.axes.get(used.name.text) or other.consts.get(used.name.text)
                if item is not None:
                    self._keep(wanted, item)
                    self.module.spans.setdefault(wanted, used.span)

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
                extent = size_set(self.session.problems, value, used.name)
                found[name] = self.session.axis(old.name, old.kind, label=old.label, extent=extent, span=old.span)
            elif name in other.consts:
                found[name] = self.session.const(name, value)
        return found

    def _stub(self, use: s.UseDecl) -> None:
        """Keep the names of a file that could not be read known, so that nothing else is said about them."""
        for used in use.names:
            self.module.spans.setdefault((used.rename or used.name).text, used.span)
            self.module.read.add((used.rename or used.name).text)
            self.module.missing.add((used.rename or used.name).text)

    def _may_be_called(self, name: s.Ident) -> bool:
        """Whether a block may have this name here: not that of an op, unless a spec may be older than the op."""
        op = OPS.get(name.text)
        if op is None:
            return True
        if op.since == FIRST:
            self.session.problems.add(Plain.OP_NAME.at(name.span, name.text))
            return False
        self.session.problems.add(Plain.NEWER_OP.at(name.span, name.text, op.since, op.usage))
        return True

    def _bring(self, used: s.Used, other: Module, overrides: Mapping[str, Override]) -> None:
        module, name, ident = self.module, used.name.text, used.rename or used.name
        local = ident.text
        if name in other.blocks:
            if used.rename is not None and not self._may_be_called(ident):
                return
            if local in module.spans:
                self._twice(ident, module.spans[local])
            else:
                module.spans[local] = ident.span
                module.blocks[local] = other.blocks[name]
        elif name in other.axes or name in other.consts:
            module.read.add(local)
            if name in overrides:
                return
            if local in module.spans:
                self.session.problems.add(Plain.TWO_SOURCES.at(ident.span, local, name, there=module.spans[local]))
                return
            module.spans[local] = ident.span
            if name in other.axes:
                module.axes[local] = other.axes[name]
            else:
                module.consts[local] = other.consts[name]
        elif name in other.missing:
            module.missing.add(local)
        else:
            known = [*other.blocks, *other.axes, *other.consts]
            self.session.problems.add(
                Plain.NOT_IN_FILE.at(used.name.span, name, other.source.name, ", ".join(known), known=known)
            )
            module.spans.setdefault(local, ident.span)
            module.missing.add(local)

    def _twice(self, name: s.Ident, first: Span) -> None:
        self.session.problems.add(Plain.DECLARED_AGAIN.at(name.span, name.text, there=first))


def agree(a: Override, b: Override) -> bool:
    """Whether two declarations say the same."""
    if isinstance(a, Axis) and isinstance(b, Axis):
        return (a.kind, a.extent, a.bound, a.size) == (b.kind, b.extent, b.bound, b.size)
    return isinstance(a, Const) and isinstance(b, Const) and a.value == b.value
