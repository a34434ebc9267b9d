"""What can be offered at a place, one function for each kind of name; `complete` says which of them fit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ...compiler.graph.typed_value import TypedValue, show
from ...compiler.ops import INITS, OPS, WRITABLE
from ...compiler.ops.table import Brackets, Op
from ...compiler.sizes.axes import Axis, Const
from ...dsl import syntax as s
from .. import describe
from ..analysis import Analysis
from ..lexical import WORDS
from ..names import AXES, CALLED, Symbol
from ..project import STD

ITEMS = {
    "use": "use ${1:std.attention}: ${0:multihead}",
    "width": "width ${0:seq}",
    "depth": "depth ${1:model} = ${0:512}",
    "const": "const ${1:layers} = ${0:6}",
    "config": "config ${1:big} { ${2:model} = ${0:1024} }",
    "op": 'op ${1:name}(${2:x}: [${3:seq}]) -> [${3:seq}] = "${4:module}:${0:function}"',
    "block": "block ${1:name}(${2:x}: [${3:seq}, ${4:model}]) -> [${3:seq}, ${4:model}] {\n    return ${0:$2}\n}",
    "model": "model ${1:name}(${2:x}: [${3:seq}, ${4:model}]) -> [${3:seq}, ${4:model}] {\n    return ${0:$2}\n}",
}
STATEMENTS = {
    "return": "return ${0:x}",
    "repeat": "repeat ${1:layers} {\n    ${0:x} = $2\n}",
    "if": "if ${1:condition} {\n    ${0}\n}",
    "share": "share ${1:name} = ${0:block}",
    "expect": "expect ${1:x}: [${0}]",
    "param": "param ${1:E}: [${0}] ~ normal(0.02)",
    "width": "width ${1:name} = ${0}",
    "depth": "depth ${1:name} = ${0}",
    "const": "const ${1:name} = ${0}",
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One completion. insert: what is written, a snippet with `$1`; edit: what else changes (offset, text).

    rank: offers of a lower rank come first.
    """

    label: str
    kind: str
    detail: str = ""
    doc: str = ""
    insert: str = ""
    rank: int = 5
    edit: tuple[int, str] | None = None


def words(names: Iterable[str], rank: int = 7) -> Iterator[Offer]:
    for name in names:
        yield Offer(name, "keyword", doc=WORDS.get(name, ""), rank=rank)


def snippets(table: dict[str, str]) -> Iterator[Offer]:
    for name, insert in table.items():
        yield Offer(name, "keyword", doc=WORDS.get(name, ""), insert=insert, rank=6)


# -- names


def axes(view: Analysis, visible: dict[str, Symbol], suited: Iterable[str] = (), kind: str = "") -> Iterator[Offer]:
    """The axes in scope; those of the operands at hand come first."""
    first = set(suited)
    for name, symbol in visible.items():
        meant = symbol.meant
        if meant.kind in AXES and kind in ("", meant.kind):
            axis = view.axis(symbol)
            size = describe.size_of(axis).replace("`", "") if axis is not None else ""
            yield Offer(
                name, meant.kind, f"{meant.kind}, {size}" if size else meant.kind, rank=0 if name in first else 3
            )


def consts(visible: dict[str, Symbol]) -> Iterator[Offer]:
    for name, symbol in visible.items():
        if symbol.meant.kind in ("const", "index"):
            yield Offer(name, "const", describe.head(symbol), rank=3)


def values(view: Analysis, visible: dict[str, Symbol], offset: int) -> Iterator[Offer]:
    """Arguments, params, and what is bound above the cursor, with its type."""
    for name, symbol in visible.items():
        if symbol.kind in ("argument", "variable", "param") and symbol.span.start < offset:
            wire = latest(view, name, offset)
            yield Offer(name, symbol.kind, show(wire) if wire is not None else symbol.kind, rank=1)


def latest(view: Analysis, name: str, offset: int) -> TypedValue | None:
    """What a variable was when it was last bound before a place."""
    owner = view.names.owner(offset)
    found = None
    for mention in view.names.mentions:
        inside = owner is not None and owner.span.start <= mention.span.start < offset
        if inside and mention.declares and mention.symbol.name == name:
            found = view.typed_value(mention.span) or found
    return found


# -- ops and blocks


def ops(piped: bool = False) -> Iterator[Offer]:
    for name in WRITABLE:
        if name not in OPS:
            yield Offer(name, "op", WORDS[name], insert="raw(${0:w})" if name == "raw" else "", rank=4)
            continue
        op = OPS[name]
        yield Offer(name, "op", op.usage, describe.op_page(op), op_snippet(name, op, piped), 4)


def op_snippet(name: str, op: Op, piped: bool = False) -> str:
    """How the op is written, with a stop for everything that is yours to say, which is not what is piped."""
    stop = _stops()
    match op.brackets:
        case Brackets.NONE:
            inside = ""
        case Brackets.ACTS | Brackets.MADE | Brackets.INTO:
            inside = f"[{stop('axis')}]"
        case Brackets.MAP:
            inside = f"[{stop('from')} -> {stop('to')}]"
    given = [*op.operands, *(option.name for option in op.options[: op.positional] if option.default is None)]
    return f"{name}{inside}" + _parentheses([stop(operand) for operand in given[piped:]], piped)


def _parentheses(given: list[str], piped: bool) -> str:
    """`x |> relu` needs none."""
    return f"({', '.join(given)})" if given or not piped else ""


def _stops() -> Callable[[str], str]:
    count = 0

    def stop(text: str) -> str:
        nonlocal count
        count += 1
        return f"${{{count}:{text}}}"

    return stop


def blocks(visible: dict[str, Symbol], piped: bool = False) -> Iterator[Offer]:
    for name, symbol in visible.items():
        if symbol.meant.kind in CALLED:
            yield block(name, symbol.meant, piped)
        elif symbol.kind == "share":
            yield Offer(name, "share", describe.head(symbol), rank=2)


def block(name: str, symbol: Symbol, piped: bool = False) -> Offer:
    node = symbol.node
    assert isinstance(node, s.BlockDecl | s.OpDecl)
    head = " ".join(describe.head(symbol).split())
    return Offer(name, symbol.kind, head, f"{describe.code(describe.head(symbol))}\n\n{describe.doc(symbol)}",
                 block_snippet(name, node, piped), 2)  # fmt: skip


def block_snippet(name: str, node: s.BlockDecl | s.OpDecl, piped: bool = False) -> str:
    """A call with all that has no default. Behind a pipe the first argument stands there."""
    stop = _stops()
    generics = [stop(generic.name.text) for generic in node.generics if generic.default is None]
    formals = [stop(formal.name.text) for formal in node.formals[piped:] if formal.default is None]
    brackets = f"[{', '.join(generics)}]" if generics else ""
    return f"{name}{brackets}" + _parentheses(formals, piped)


def library(analysis: Analysis, visible: dict[str, Symbol], piped: bool = False) -> Iterator[Offer]:
    """Blocks of the standard library that the file does not use yet; choosing one writes the `use`, with the axes of
    the block that this file declares too: else its own would be others.
    """
    mine = analysis.names.top
    for file in sorted(os.listdir(STD)):
        names = analysis.project.names(os.path.join(STD, file)) if file.endswith(".attn") else None
        top = names.top if names is not None else {}
        for name, symbol in top.items():
            if symbol.kind in CALLED and symbol.path == os.path.join(STD, file) and name not in visible:
                module = f"std.{file[:-5]}"
                text = symbol.node.span.text if isinstance(symbol.node, s.BlockDecl) else describe.head(symbol)
                words = dict.fromkeys(re.findall(r"\w+", text))
                axes = [word for word in words if _own(word, top, symbol.path) and _own(word, mine, analysis.path)]
                edit = _import(analysis, module, [name, *axes])
                offer = replace(block(name, symbol, piped), rank=8, edit=edit)
                yield replace(offer, detail=f"{module}: {offer.detail}")


def _own(name: str, known: dict[str, Symbol], path: str) -> bool:
    """Whether a name is an axis that this file declares."""
    return name in known and known[name].kind in AXES and known[name].path == path


def _import(analysis: Analysis, module: str, names: list[str]) -> tuple[int, str]:
    """The edit that brings names: into the `use` of their file, or a new one."""
    uses = [item for item in analysis.file.items if isinstance(item, s.UseDecl)]
    for use in uses:
        if ".".join(part.text for part in use.path) == module:
            names = [names[0], *(axis for axis in names[1:] if axis not in {used.name.text for used in use.names})]
            return use.span.end, f"{', ' if use.names else ': '}{', '.join(names)}"
    if uses:
        return uses[-1].span.end, f"\nuse {module}: {', '.join(names)}"
    text, at = analysis.text, analysis.file.items[0].span.start if analysis.file.items else 0
    at = text.rfind("\n", 0, at) + 1  # the span of `depth d = 4` begins with its name
    while at > 0 and text.rfind("\n", 0, at - 1) + 1 < at and text[text.rfind("\n", 0, at - 1) + 1] == "#":
        at = text.rfind("\n", 0, at - 1) + 1  # above the comment of the first item
    return at, f"use {module}: {', '.join(names)}\n"


# -- parts of calls


def parameters(view: Analysis, symbol: Symbol, count: int, given: set[str]) -> Iterator[Offer]:
    """What may be named in the brackets of a call: the block's parameters, and the axes and consts that it mentions,
    but the first `count` parameters and those that are given by name.
    """
    node = symbol.meant.node
    if not isinstance(node, s.BlockDecl | s.OpDecl):
        return
    for generic in node.generics[count:]:
        name = generic.name.text
        if name not in given:
            yield Offer(f"{name} =", "parameter", generic.span.text, insert=f"{name} = $0", rank=4)
    environment = view.environment(node)
    axes_and_consts: list[Axis | Const] = []
    if environment is not None:
        axes_and_consts = [*environment.signature.of_file.values(), *environment.signature.const_of_file.values()]
    for item in axes_and_consts:
        if item.name in given:
            continue
        kind = item.kind.value if isinstance(item, Axis) else "const"
        detail = f"{kind} of its file, {'its own' if symbol.path == view.path else 'as it is there'} if not given"
        yield Offer(f"{item.name} =", "parameter", detail, insert=f"{item.name} = $0", rank=6)


def arguments(symbol: Symbol, count: int, given: set[str]) -> Iterator[Offer]:
    """The arguments of a block, but the first `count` of them and those that are given by name."""
    node = symbol.meant.node
    for formal in node.formals[count:] if isinstance(node, s.BlockDecl | s.OpDecl) else ():
        if formal.name.text not in given:
            name = formal.name.text
            yield Offer(f"{name} =", "argument", formal.span.text, insert=f"{name} = $0", rank=2)


def options(op: Op, count: int, given: set[str]) -> Iterator[Offer]:
    """The options of an op, but those among its first `count` operands and options, and those given by name."""
    for option in op.options[max(0, count - len(op.operands)) :]:
        if option.name not in given:
            default = "" if option.default is None else f" = {describe.plain(option.default)}"
            yield Offer(f"{option.name} =", "argument", f"{option.name}{default}", option.doc, f"{option.name} = $0", 2)
    if op.learned and "init" not in given:
        yield Offer("init =", "argument", "how the weights begin", insert="init = $0", rank=2)


def inits() -> Iterator[Offer]:
    for name, count in INITS.items():
        yield Offer(name, "op", "how a weight begins", insert=f"{name}(${{0:0.02}})" if count else name, rank=0)


# -- files


def modules(path: str, parts: list[str]) -> Iterator[Offer]:
    """What may follow the parts of a `use` path: files and folders, of the library or beside this file."""
    if parts and parts[0] == "std":
        folder = os.path.join(STD, *parts[1:])
    elif os.path.isabs(path):
        folder = os.path.join(os.path.dirname(path), *parts)
        if not parts:
            yield Offer("std", "file", "the standard library", rank=0)
    else:
        yield from [Offer("std", "file", "the standard library")] if not parts else []
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        stem, ending = os.path.splitext(entry.name)
        if ending == ".attn" and stem.isidentifier() and entry.path != path:
            yield Offer(stem, "file", entry.name, rank=1)
        elif entry.is_dir() and entry.name.isidentifier() and entry.name != "__pycache__":
            yield Offer(entry.name, "folder", rank=2)


def used_names(analysis: Analysis, parts: list[str], given: set[str]) -> Iterator[Offer]:
    """What a file has to give."""
    path = analysis.project.used(analysis.path, parts)
    names = analysis.project.names(path) if path is not None else None
    for name, symbol in names.top.items() if names is not None else ():
        if name not in given and symbol.path == path:
            yield Offer(name, symbol.kind, " ".join(describe.head(symbol).split()), describe.doc(symbol), rank=1)
