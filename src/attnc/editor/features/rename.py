"""A name changed wherever it is mentioned, in all files that use it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from ...compiler.base.mentions import walk
from ...compiler.base.names import is_reserved
from ...compiler.names.modules import ELEMENTS
from ...compiler.ops import OPS
from ...dsl import syntax as s
from ...dsl.diagnostic import Edit
from ...dsl.mistakes.fixes import apply
from ...dsl.source import Source, Span
from ...dsl.tokens import RESERVED
from ..analysis import Analysis, errors
from ..names import AXES, CALLED, Mention, Names, Symbol
from ..project import Project, is_library
from .navigate import mention_at, mentions

NO_NAMES = ("label", "result")  # they may be called like an axis
NAMES_WEIGHTS = frozenset(("label", "param", "share", "block", "variable"))


class RenameRefused(Exception):
    """One line that says why a name cannot be changed so."""


def prepare(analysis: Analysis, offset: int) -> Mention:
    """The name at a place, if it can be changed. Raises RenameRefused."""
    found = mention_at(analysis, offset)
    if found is None:
        raise RenameRefused("there is no name here that could be changed")
    for used, theirs, ours in analysis.names.joined:
        if used.name.span == found.span and is_library(theirs.path):  # ours stands in its place in this file
            found = replace(found, symbol=ours)
    symbol = found.symbol
    if symbol.kind == "file":
        raise RenameRefused(f"`{symbol.name}` is a file: change its name on disk")
    if is_library(symbol.path) and symbol.kind != "alias" and _used(analysis.names, symbol) is None:
        raise RenameRefused(
            f"`{symbol.name}` lives in the standard library; give it another name here: "
            f"`use ...: {symbol.name} as other`"
        )
    return found


def rename(analysis: Analysis, offset: int, new: str) -> list[tuple[Span, str]]:
    """The edits that give what stands at a place the name `new`.

    Raises RenameRefused, also where they would bring out a mistake: a weight of the same name, two axes that meet.
    """
    edits = _edits(analysis, offset, new)
    _do_no_harm(analysis.project, edits)
    return edits


def _edits(analysis: Analysis, offset: int, new: str) -> list[tuple[Span, str]]:
    symbol = prepare(analysis, offset).symbol
    if new == symbol.name:
        return []
    _may_be(new, symbol)
    used_here = _used(analysis.names, symbol)
    if used_here is not None:
        return _otherwise(analysis, symbol, used_here, new)
    edits: dict[Span, str] = {}
    for mention in mentions(analysis, symbol):
        edits[mention.span] = new
    if not edits:  # the block that it lives in is not read at all now
        _readable(analysis.project, analysis.source)
    for path in dict.fromkeys([symbol.path, analysis.path, *analysis.project.files()]):
        names = analysis.project.names(path)
        if names is None or not any(span.source is names.source for span in edits):
            continue
        _readable(analysis.project, names.source)
        _free(names, symbol, new)
        for used, theirs, ours in names.joined:
            if symbol == ours and symbol != theirs:  # the `use` goes on meaning theirs, put in place by ours
                edits[used.name.span] = f"{used.name.text} as {new}"
            elif symbol == theirs:
                edits[used.name.span] = f"{new} as {ours.name}"
    return sorted(edits.items(), key=lambda edit: (edit[0].source.name, edit[0].start))


def _readable(project: Project, source: Source) -> None:
    if project.tree(source)[1]:
        raise RenameRefused(f"{source.name} has syntax errors: mend them first, or mentions would be missed")


def _do_no_harm(project: Project, edits: list[tuple[Span, str]]) -> None:
    """Raises RenameRefused where the files that are changed, or others that use them, have more errors afterwards."""
    changed: dict[str, list[Edit]] = {}
    for span, text in edits:
        changed.setdefault(project.path_of(span.source), []).append(Edit(span, text))
    after = project.with_texts({path: apply(mine[0].span.source.text, mine) for path, mine in changed.items()})
    for path in dict.fromkeys([*changed, *project.files()]):
        if changed.keys().isdisjoint(_reads(project, path, set())):
            continue
        now = errors(after, path)
        before = Counter(each.code for each in errors(project, path)) if now else Counter()
        for each in now:
            if before[each.code] == 0:
                place = each.span
                where = f", in {place.source.name}, line {place.source.position(place.start)[0]}" if place else ""
                raise RenameRefused(f"that would be a mistake{where}: {each.message} ({each.code})")
            before[each.code] -= 1


def _reads(project: Project, path: str, seen: set[str]) -> set[str]:
    """A file, and all files that it uses."""
    names = project.names(path)
    if names is not None and path not in seen:
        seen.add(path)
        for _, used in names.uses:
            if used is not None:
                _reads(project, used, seen)
    return seen


def _used(names: Names, symbol: Symbol) -> s.Used | None:
    """Where a `use` takes an axis or const from the library under its own name: it may have another one here."""
    if symbol.kind not in AXES | {"const"} or not is_library(symbol.path):
        return None
    joined = [used for used, _, _ in names.joined]
    found = [used for use, path in names.uses if path == symbol.path for used in use.names if used not in joined]
    return next((used for used in found if used.name.text == symbol.name and used.rename is None), None)


def _otherwise(analysis: Analysis, symbol: Symbol, used: s.Used, new: str) -> list[tuple[Span, str]]:
    """The edits that give what the library calls by one name another one in this file."""
    _readable(analysis.project, analysis.source)
    _free(analysis.names, symbol, new)
    calls = [
        node.brackets for node in walk(analysis.file) if isinstance(node, s.CallExpr) and node.brackets is not None
    ]
    theirs = {item.name.span for brackets in calls for item in brackets.items if item.value is not None}
    spans = (
        {mention.span for mention in analysis.names.mentions if mention.symbol == symbol} - theirs - {used.name.span}
    )
    edits = [(span, new) for span in spans] + [(used.name.span, f"{symbol.name} as {new}")]
    return sorted(edits, key=lambda edit: edit[0].start)


def _may_be(new: str, symbol: Symbol) -> None:
    """Whether anything of this kind may bear the name."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", new):
        raise RenameRefused(f"`{new}` is no name: letters a to z, digits and `_`, and no digit first")
    if new in RESERVED:
        raise RenameRefused(f"`{new}` is a word of the language")
    if new in ELEMENTS:
        raise RenameRefused(f"`{new}` is the name of an element kind")
    if symbol.meant.kind in CALLED | {"share"} and new in OPS:
        raise RenameRefused(f"`{new}` is the name of an op")
    if new == "_" or (symbol.kind in NAMES_WEIGHTS and is_reserved(new)):
        raise RenameRefused(f"weights cannot be named `{new}`: it is reserved")


def _free(names: Names, symbol: Symbol, new: str) -> None:
    """Whether the name is free in a file, where the symbol is known."""
    if symbol.kind == "label":
        own = [m.symbol for m in names.mentions if m.symbol.owner == symbol.owner and m.symbol.kind == "label"]
        taken = next((other for other in own if other.name == new), None)
    elif symbol.owner is not None:
        inner = names.inner.get(symbol.owner.name.text, {}) if symbol.path == names.path else {}
        taken = inner.get(new)
        if taken is None and symbol.kind != "result" and _meets(symbol, names.top.get(new)):
            taken = names.top.get(new)
    else:
        taken = names.top.get(new)
        for own_names in names.inner.values():
            inside = own_names.get(new)
            if taken is None and inside is not None and inside.kind not in NO_NAMES and _meets(symbol, inside):
                taken = inside
    if taken is not None and taken != symbol:
        line = taken.span.source.position(taken.span.start)[0]
        raise RenameRefused(
            f"`{new}` is the name of {_article(taken.kind)} already, in {taken.span.source.name}, line {line}"
        )


def _meets(symbol: Symbol, other: Symbol | None) -> bool:
    """Whether two names may not be equal although one is a file's and the other a block's."""
    if other is None:
        return False
    first, second = symbol.meant.kind, other.meant.kind
    if first in CALLED or second in CALLED:
        return first in CALLED | {"share"} and second in CALLED | {"share"}
    return first in AXES | {"const"} or second in AXES | {"const"}


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"
