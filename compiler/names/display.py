"""Display names: `block multihead as "Multi-Head Attention"(...)`. They must be text that every format can set, and
should tell blocks apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...dsl import syntax as s
from ..base.session import Session
from ..problems.plain import Plain, PlainProblem
from .modules import BlockDef, Module

MOST = 60
_SIGNS = frozenset(map(chr, range(32, 127))) - {"_"} | frozenset("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ×·−–′")


def check_displays(session: Session, module: Module) -> None:
    """Report display names that cannot be set, and those that two blocks have."""
    for block in module.own:
        wrong = None if block.decl.display is None else _wrong(block.decl.display)
        if wrong is not None:
            session.problems.add(wrong)
    for first, second in _alike([*module.own, *module.blocks.values()]):
        span, there = ((each.decl.display or each.decl.name).span for each in (second, first))
        session.problems.add(Plain.DISPLAYED_ALIKE.at(span, first.name, second.name, _shown(second), there=there))


def _wrong(name: s.Ident) -> PlainProblem | None:
    """Why a name of a block cannot be set, or is long."""
    text, plain = name.text, " ".join(name.text.split())
    if not plain:
        return Plain.DISPLAY_EMPTY.at(name.span)
    if text != plain:
        return Plain.DISPLAY_SPACES.at(name.span, plain)
    if len(text) > MOST:
        return Plain.DISPLAY_LONG.at(name.span, len(text), MOST)
    odd = next((c for c in text if c not in _SIGNS and not ("À" <= c <= "ſ" and c.isalpha())), None)
    if odd is None:
        return None
    return Plain.DISPLAY_ODD.at(name.span, f"`{odd}`" if odd.isprintable() else f"the character {ord(odd)}")


def _shown(block: BlockDef) -> str:
    return block.display or block.name.strip("_").replace("_", " ")


def _alike(blocks: Iterable[BlockDef]) -> Iterator[tuple[BlockDef, BlockDef]]:
    """Two blocks that a reader would take for one, one of them by its display name."""
    seen: dict[str, BlockDef] = {}
    for block in dict.fromkeys(blocks):
        first = seen.setdefault(_shown(block).casefold(), block)
        if first is not block and first.decl is not block.decl and (first.display or block.display):
            yield (first, block) if block.module is first.module or block.display else (block, first)
