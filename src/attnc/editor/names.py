"""Every name of a file: what it is, where it is declared, and where it is mentioned. Read off the syntax alone.

The rules are those of `compiler.declarations` and `compiler.scope`: a file has axes, consts, blocks and configs, and
what `use` brings; a block has parameters, arguments, variables and axes of its own, each with one meaning in all of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..compiler.base.mentions import walk
from ..dsl import syntax as s
from ..dsl.source import Source, Span

AXES = frozenset(("width", "depth"))
CALLED = frozenset(("block", "model", "op"))
VALUES = frozenset(("argument", "variable", "param", "index"))

Owner = s.BlockDecl | s.OpDecl


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something that has a name.

    kind:   width, depth, const, block, model, op, config, file, alias, argument, variable, param, share, index, label
            or result.
    span:   its name where it is declared; `path` is that file. These two tell symbols apart.
    node:   the declaration; of an axis in a list, its own part.
    owner:  the block that it lives in, None for what belongs to the file.
    target: what an alias (`use f: a as b`) stands for.
    """

    name: str
    kind: str
    path: str
    span: Span
    node: object = field(compare=False, repr=False)
    owner: Owner | None = field(default=None, compare=False, repr=False)
    target: Symbol | None = field(default=None, compare=False, repr=False)

    @property
    def meant(self) -> Symbol:
        """What it stands for, if it is an alias."""
        return self.target.meant if self.target is not None else self


@dataclass(frozen=True, slots=True)
class Mention:
    """A name at one place. `declares`: this is where it is declared, or bound."""

    span: Span
    symbol: Symbol
    declares: bool = False


@dataclass(eq=False)
class Names:
    """The names of one file. `joined`: where a `use` names what the file declares itself (D13): used, theirs, ours."""

    path: str
    source: Source
    top: dict[str, Symbol] = field(default_factory=dict)
    inner: dict[str, dict[str, Symbol]] = field(default_factory=dict)  # by the name of the block
    mentions: list[Mention] = field(default_factory=list)
    joined: list[tuple[s.Used, Symbol, Symbol]] = field(default_factory=list)
    owners: list[Owner] = field(default_factory=list)
    uses: list[tuple[s.UseDecl, str | None]] = field(default_factory=list)

    def at(self, offset: int) -> Mention | None:
        """The name that the cursor is on, or right behind."""
        position = bisect_right(self.mentions, offset, key=lambda mention: mention.span.start)
        for mention in reversed(self.mentions[:position][-4:]):
            if mention.span.start <= offset <= mention.span.end:
                return mention
        return None

    def owner(self, offset: int) -> Owner | None:
        """The block that an offset lies in."""
        for owner in self.owners:
            if owner.span.start <= offset <= owner.span.end:
                return owner
        return None

    def visible(self, owner: Owner | None) -> dict[str, Symbol]:
        """The names that may be written in a block, its own first; labels and results are no such names."""
        own = self.inner.get(owner.name.text, {}) if owner is not None else {}
        mine = {name: symbol for name, symbol in own.items() if symbol.kind not in ("label", "result")}
        return {**self.top, **mine}


class FileLookup(Protocol):
    """The other files that a `use` may lead to."""

    def used(self, path: str, parts: Sequence[str]) -> str | None:
        """The path that `use a.b` in a file leads to."""

    def names(self, path: str) -> Names | None:
        """Every name of a file; None for one that cannot be read."""


def names_of(files: FileLookup, names: Names, file: s.File) -> None:
    """Fill in the names of a file."""
    _Reader(files, names).run(file)


@dataclass(eq=False)
class _Reader:
    files: FileLookup
    names: Names
    own: dict[str, Symbol] = field(default_factory=dict)  # of the block at hand
    owner: Owner | None = None
    labels: dict[str, Symbol] = field(default_factory=dict)

    def run(self, file: s.File) -> None:
        for item in file.items:
            if isinstance(item, s.AxisDecl):
                self._declare(item.name, item.kind, item)
            elif isinstance(item, s.ConstDecl):
                self._declare(item.name, "const", item)
            elif isinstance(item, s.BlockDecl):
                self._declare(item.name, item.keyword, item)
            elif isinstance(item, s.OpDecl):
                self._declare(item.name, "op", item)
        for item in file.items:  # callers may name parameters of blocks that stand further down
            if isinstance(item, s.BlockDecl | s.OpDecl):
                self.names.inner.setdefault(item.name.text, self._inner(item))
        for item in file.items:
            if isinstance(item, s.UseDecl):
                self._use(item)
        for item in file.items:
            self._item(item)
        mentions = {(m.span.start, m.span.end): m for m in self.names.mentions}  # a name has one meaning at one place
        self.names.mentions = sorted(mentions.values(), key=lambda mention: mention.span.start)

    # -- declarations

    def _declare(self, name: s.Ident, kind: str, node: object, target: Symbol | None = None) -> Symbol:
        symbol = Symbol(name.text, kind, self.names.path, name.span, node, target=target)
        self.names.top.setdefault(name.text, symbol)
        self._mention(name, symbol, declares=True)
        return symbol

    def _inner(self, owner: Owner) -> dict[str, Symbol]:
        """What a block declares: parameters, arguments, and what its body binds. The first place counts."""
        own: dict[str, Symbol] = {}

        def declare(name: s.Ident, kind: str, node: object) -> None:
            if name.text != "_":
                own.setdefault(name.text, Symbol(name.text, kind, self.names.path, name.span, node, owner))

        for generic in owner.generics:
            declare(generic.name, generic.kind, generic)
        for formal in owner.formals:
            declare(formal.name, "argument", formal)
        for node in walk(owner.body if isinstance(owner, s.BlockDecl) else ()):
            match node:
                case s.AxisDecl(kind=kind, name=name):
                    declare(name, kind, node)
                case s.ConstDecl(name=name):
                    declare(name, "const", node)
                case s.ParamDecl(name=name):
                    declare(name, "param", node)
                case s.Share(name=name):
                    declare(name, "share", node)
                case s.RepeatStatement(index=s.Ident() as index):
                    declare(index, "index", node)
                case s.Assign(targets=targets):
                    for target in targets:
                        declare(target, "variable", node)
                case _:
                    pass
        for result in owner.results:
            if result.name is not None:
                declare(result.name, "result", result)
        return own

    def _use(self, use: s.UseDecl) -> None:
        path = self.files.used(self.names.path, [part.text for part in use.path])
        other = self.files.names(path) if path is not None else None
        self.names.uses.append((use, path))
        if path is not None and other is not None:
            file = Symbol(".".join(p.text for p in use.path), "file", path, Span(other.source, 0, 0), use)
            for part in use.path:
                self._mention(part, file)
        for used in use.names:
            theirs = other.top.get(used.name.text) if other is not None else None
            if theirs is not None:
                self._mention(used.name, theirs)
            if used.rename is not None:
                ours = self.names.top.get(used.rename.text)
                if ours is None:
                    self._declare(used.rename, "alias", used, theirs)
                else:
                    self._mention(used.rename, ours)
            else:
                ours = self.names.top.get(used.name.text)
                if ours is not None and theirs is not None:
                    self.names.joined.append((used, theirs, ours))
                elif theirs is not None:
                    self.names.top[used.name.text] = theirs

    # -- mentions

    def _mention(self, name: s.Ident, symbol: Symbol | None, declares: bool = False) -> None:
        if symbol is not None:
            self.names.mentions.append(Mention(name.span, symbol, declares))

    def _look(self, name: s.Ident) -> None:
        own = self.own.get(name.text)
        if own is None or own.kind == "result":  # which is no name that may be written, and may be called like an axis
            own = self.names.top.get(name.text)
        self._mention(name, own)

    def _item(self, item: s.Item) -> None:
        self.own, self.labels, self.owner = {}, {}, None
        match item:
            case s.ConfigDecl(name, settings):
                self._mention(name, Symbol(name.text, "config", self.names.path, name.span, item), declares=True)
                for setting in settings:
                    self._look(setting.name)
                    self._nodes(setting.value)
            case s.BlockDecl() | s.OpDecl():
                self.owner = item
                self.names.owners.append(item)
                self.own = self.names.inner.get(item.name.text, {})
                self._signature(item)
                self._nodes(item.body if isinstance(item, s.BlockDecl) else ())
            case s.AxisDecl() | s.ConstDecl():
                self._nodes(item)
            case _:
                pass

    def _signature(self, owner: Owner) -> None:
        for generic in owner.generics:
            self._mention(generic.name, self.own.get(generic.name.text), declares=True)
            if generic.like is not None:
                self._look(generic.like)
            self._nodes(generic.default)
        for formal in owner.formals:
            self._mention(formal.name, self.own.get(formal.name.text), declares=True)
            self._nodes((formal.type, formal.default))
        for result in owner.results:
            if result.name is not None:
                self._mention(result.name, self.own.get(result.name.text), declares=True)
            self._nodes(result.type)
            for axis in result.causal:
                self._look(axis)

    def _nodes(self, node: object) -> None:
        for each in walk(node):
            self._node(each)

    def _node(self, node: object) -> None:
        match node:
            case s.Name(text, span):
                self._look(s.Ident(text, span))
            case s.SizeExpr(axis):
                self._look(axis)
            case s.TypeExpr(element, axes):
                for name in (*([element] if element else []), *axes):
                    self._look(name)
            case s.IndexExpr(_, brackets):
                self._brackets(brackets)
            case s.CallExpr():
                self._call(node)
            case s.AxisDecl(name=name, like=like) | s.Share(name=name, block=like):
                self._declared(name, like)
            case s.ConstDecl(name=name) | s.ParamDecl(name=name):
                self._declared(name)
            case s.Expect(name):
                self._look(name)
            case s.Assign(targets=targets):
                for target in targets:
                    self._mention(target, self.own.get(target.text), declares=True)
            case s.RepeatStatement(label=label, index=index):
                self._label(label, node)
                if index is not None:
                    self._mention(index, self.own.get(index.text), declares=True)
            case _:
                pass

    def _declared(self, name: s.Ident, like: s.Ident | None = None) -> None:
        self._mention(name, self._known(name), declares=True)
        if like is not None:
            self._look(like)

    def _known(self, name: s.Ident) -> Symbol | None:
        return self.own.get(name.text) or self.names.top.get(name.text)

    def _label(self, label: s.Ident | None, node: object) -> None:
        if label is not None:
            made = Symbol(label.text, "label", self.names.path, label.span, node, self.owner)
            self._mention(label, self.labels.setdefault(label.text, made), declares=True)

    def _brackets(self, brackets: s.BracketList, callee: Symbol | None = None) -> None:
        for name in (*brackets.each, *(brackets.result or ())):
            self._look(name)
        for item in brackets.items:
            if item.value is not None and callee is not None:
                self._mention(item.name, self._parameter(callee, item.name))
            elif item.at is None:
                self._look(item.name)
            if item.rename is not None:
                self._look(item.rename)

    def _call(self, call: s.CallExpr) -> None:
        found = self.own.get(call.callee.text)
        symbol = found if found is not None and found.kind == "share" else self.names.top.get(call.callee.text)
        self._mention(call.callee, symbol)
        self._label(call.label, call)
        if call.scan is not None:
            self._look(call.scan)
        block = self._block(symbol)
        if call.brackets is not None:
            self._brackets(call.brackets, block)
        inner = self._names_of(block)
        for argument in call.arguments:
            if argument.name is not None and inner is not None:
                formal = inner.get(argument.name.text)
                self._mention(argument.name, formal if formal is not None and formal.kind == "argument" else None)

    def _block(self, symbol: Symbol | None) -> Symbol | None:
        """The block that a name calls."""
        if symbol is not None and symbol.kind == "share" and isinstance(symbol.node, s.Share):
            symbol = self.names.top.get(symbol.node.block.text)
        meant = symbol.meant if symbol is not None else None
        return meant if meant is not None and meant.kind in CALLED else None

    def _names_of(self, block: Symbol | None) -> dict[str, Symbol] | None:
        """What a block declares, in whatever file."""
        if block is None:
            return None
        other = self.names if block.path == self.names.path else self.files.names(block.path)
        return other.inner.get(block.name) if other is not None else None

    def _parameter(self, block: Symbol, name: s.Ident) -> Symbol | None:
        """`name = ...` in the brackets of a call: a parameter of the block, or what it mentions of its file (D8)."""
        inner = self._names_of(block) or {}
        generic = inner.get(name.text)
        if generic is not None and generic.node in getattr(block.node, "generics", ()):
            return generic
        mine = self.names.top.get(name.text)
        if mine is not None and (block.path == self.names.path or self._joins(block.path, name)):
            return mine
        return next((top[name.text] for top in self._tops(block.path, set()) if name.text in top), mine)

    def _joins(self, path: str, name: s.Ident) -> bool:
        """Whether a `use` of a file puts what this file calls so in place of that file's own."""
        uses = [use for use, used in self.names.uses if used == path]
        return any((used.rename or used.name).text == name.text for use in uses for used in use.names)

    def _tops(self, path: str, seen: set[str]) -> Iterator[dict[str, Symbol]]:
        """The names of a file, and of all that it uses."""
        other = self.files.names(path)
        if other is None or path in seen:
            return
        seen.add(path)
        yield other.top
        for _, used in other.uses:
            if used is not None:
                yield from self._tops(used, seen)
