"""Display names: `block multihead as "Multi-Head Attention"(...)`. They must be text that every format can set, and
should tell blocks apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..base.session import Session
from ..problems.files import DisplayName
from ..problems.plain import Plain
from .modules import BlockDef, Module

MOST = 60
_SIGNS = frozenset(map(chr, range(32, 127))) - {"_"} | frozenset("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ×·−–′")


def check_displays(session: Session, module: Module) -> None:
    """Report display names that cannot be set, and those that two blocks have."""
    for block in module.own:
        shown = block.decl.display
        if shown is not None and not _is_right(shown.text):
            session.problems.add(DisplayName(shown.span, shown.text, MOST, _odd(shown.text)))
    for first, second in _alike([*module.own, *module.blocks.values()]):
        span, there = ((each.decl.display or each.decl.name).span for each in (second, first))
        session.problems.add(Plain.DISPLAYED_ALIKE.at(span, first.name, second.name, _shown(second), there=there))


def _is_right(text: str) -> bool:
    """Whether a name of a block can be set, and is short."""
    return bool(text.strip()) and text == " ".join(text.split()) and len(text) <= MOST and _odd(text) is None


def _odd(text: str) -> str | None:
    """A character that not every format can set, in a text that is short enough."""
    if len(text) > MOST:
        return None
    return next((c for c in text if c not in _SIGNS and not ("À" <= c <= "ſ" and c.isalpha())), None)


def _shown(block: BlockDef) -> str:
    return block.display or block.name.strip("_").replace("_", " ")


def _alike(blocks: Iterable[BlockDef]) -> Iterator[tuple[BlockDef, BlockDef]]:
    """Two blocks that a reader would take for one, one of them by its display name."""
    seen: dict[str, BlockDef] = {}
    for block in dict.fromkeys(blocks):
        first = seen.setdefault(_shown(block).casefold(), block)
        if first is not block and first.decl is not block.decl and (first.display or block.display):
            yield (first, block) if block.module is first.module or block.display else (block, first)
