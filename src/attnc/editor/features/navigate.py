"""Where a name is declared, where else it is mentioned, and what a file declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...compiler.base.mentions import walk
from ...dsl import syntax as s
from ...dsl.source import Span
from ..analysis import Analysis, views
from ..names import Mention, Names, Symbol
from ..shift import Shift


def mention_at(analysis: Analysis, offset: int) -> Mention | None:
    """The name at a place. In a part of the text that does not parse: as it was when it last did."""
    for view, at in views(analysis, offset):
        found = view.names.at(at)
        if found is not None:
            return found
    return None


def definition(analysis: Analysis, offset: int) -> list[Span]:
    """Where the name at a place is declared: of an alias, where what it stands for is; of a file, its beginning."""
    found = mention_at(analysis, offset)
    if found is None:
        return []
    places = [found.symbol.meant.span]
    for used, theirs, ours in analysis.names.joined:  # a `use` of what this file declares itself: both
        if used.name.span == found.span:
            places = [theirs.span, ours.span]
    shift = Shift.between(analysis.last.text, analysis.text) if analysis.last is not None else None
    return [moved for moved in (_moved(place, analysis, shift) for place in places) if moved is not None]


def _moved(place: Span, analysis: Analysis, shift: Shift | None) -> Span | None:
    """A place of the last text that parsed, in the text as it is."""
    if shift is None or analysis.last is None or place.source is not analysis.last.source:
        return place
    start, end = shift.forth(place.start), shift.forth(place.end)
    return Span(analysis.source, start, end) if start is not None and end is not None else None


def references(analysis: Analysis, offset: int, declaration: bool = True) -> list[Span]:
    """Every mention of what the name at a place stands for, in all files of the project."""
    found = mention_at(analysis, offset)
    if found is None:
        return []
    return [mention.span for mention in mentions(analysis, found.symbol) if declaration or not mention.declares]


def mentions(analysis: Analysis, symbol: Symbol) -> Iterator[Mention]:
    """The mentions of a symbol; those of what lives in a block are all in its file, but for named arguments."""
    files = dict.fromkeys([symbol.path, analysis.path])
    if symbol.owner is None or symbol.kind in ("argument", "width", "depth", "const"):
        files |= dict.fromkeys(analysis.project.files())
    for path in files:
        names = analysis.project.names(path)
        if names is not None:
            yield from (mention for mention in names.mentions if mention.symbol == symbol)
            for used, theirs, ours in names.joined:
                if symbol == ours and symbol != theirs:
                    yield Mention(used.name.span, symbol)


def highlight(analysis: Analysis, offset: int) -> list[Mention]:
    """The mentions of the name at a place in this file."""
    found = analysis.names.at(offset)
    if found is None:
        return []
    return [mention for mention in analysis.names.mentions if mention.symbol == found.symbol]


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One line of a file's outline. `detail`: the rest of its declaration."""

    name: str
    kind: str
    span: Span
    at: Span
    detail: str = ""
    children: tuple[OutlineEntry, ...] = ()


def outline(file: s.File) -> list[OutlineEntry]:
    """What a file declares; of a block, its weights, labels and repeats."""
    return [entry for item in file.items if (entry := _entry(item)) is not None]


def _entry(item: s.Item) -> OutlineEntry | None:
    match item:
        case s.UseDecl(path=path):
            at = path[0].span.to(path[-1].span)
            return OutlineEntry(at.text, "file", item.span, at, ", ".join(used.span.text for used in item.names))
        case s.AxisDecl(kind=kind, name=name):
            return OutlineEntry(name.text, kind, item.span, name.span, _rest(item.span, name.span))
        case s.ConstDecl(name=name):
            return OutlineEntry(name.text, "const", item.span, name.span, _rest(item.span, name.span))
        case s.ConfigDecl(name=name):
            return OutlineEntry(name.text, "config", item.span, name.span)
        case s.BlockDecl(name=name):
            rest = " ".join(item.head.text[item.head.text.find(name.text) + len(name.text) :].split())
            return OutlineEntry(name.text, item.keyword, item.span, name.span, rest, tuple(_inside(item)))
        case s.OpDecl(name=name):
            return OutlineEntry(name.text, "op", item.span, name.span)
        case _:
            return None


def _rest(whole: Span, name: Span) -> str:
    return " ".join(whole.text[name.end - whole.start :].split())


def _inside(block: s.BlockDecl) -> Iterator[OutlineEntry]:
    """What gives names to weights, in order."""
    for node in walk(block.body):
        match node:
            case s.ParamDecl(name=name):
                yield OutlineEntry(name.text, "param", node.span, name.span, node.type.span.text)
            case s.CallExpr(label=s.Ident() as label):
                yield OutlineEntry(label.text, "label", node.span, label.span, node.callee.text)
            case s.RepeatStatement():
                at = node.label.span if node.label is not None else node.count.span
                yield OutlineEntry(at.text, "repeat", node.span, at)
            case _:
                pass


def visible_names(analysis: Analysis, offset: int) -> tuple[Analysis, int, Names, dict[str, Symbol]]:
    """The names that may be written at a place, and the view that knows them."""
    for view, at in views(analysis, offset):
        owner = view.names.owner(at)
        if owner is not None:
            break
    else:
        view, at, owner = analysis, offset, None
    return view, at, view.names, view.names.visible(owner)
