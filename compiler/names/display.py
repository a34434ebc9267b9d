"""Display names: `block multihead as "Multi-Head Attention"(...)`. They must be text that every format can set, and
should tell blocks apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..base.session import Session
from .modules import BlockDef, Module

MOST = 60
_SIGNS = frozenset(map(chr, range(32, 127))) - {"_"} | frozenset("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ×·−–′")


def check_displays(session: Session, module: Module) -> None:
    """Report display names that cannot be set, and those that two blocks have."""
    for block in module.own:
        shown = block.decl.display
        if shown is not None and (wrong := _wrong(shown.text)):
            session.problems.report("E0221", wrong[0], shown.span, help=wrong[1])
    for first, second in _alike([*module.own, *module.blocks.values()]):
        span = (second.decl.display or second.decl.name).span
        session.problems.report(
            "W0516",
            f'`{first.name}` and `{second.name}` are both called "{_shown(second)}" in figures',
            span,
            related=[((first.decl.display or first.decl.name).span, f"`{first.name}`")],
            help="give one of them another display name",
        )


def _wrong(text: str) -> tuple[str, str] | None:
    """What is wrong with a display name, and how to mend it."""
    if not text.strip():
        return "a display name is empty", 'write what readers call the block, as in `as "Multi-Head Attention"`'
    if text != " ".join(text.split()):
        return "a display name has spaces that no figure shows", f'write "{" ".join(text.split())}"'
    if len(text) > MOST:
        return f"a display name of {len(text)} letters has more than {MOST}", "shorten it: it stands in a box"
    odd = next((c for c in text if c not in _SIGNS and not ("À" <= c <= "ſ" and c.isalpha())), None)
    if odd is not None:
        named = f"`{odd}`" if odd.isprintable() else f"the character {ord(odd)}"
        letters = "use letters of Latin alphabets, Greek ones, digits, and common signs"
        return f"{named} in a display name is no sign that every format can set", letters
    return None


def _shown(block: BlockDef) -> str:
    return block.display or block.name.strip("_").replace("_", " ")


def _alike(blocks: Iterable[BlockDef]) -> Iterator[tuple[BlockDef, BlockDef]]:
    """Two blocks that a reader would take for one, one of them by its display name."""
    seen: dict[str, BlockDef] = {}
    for block in dict.fromkeys(blocks):
        first = seen.setdefault(_shown(block).casefold(), block)
        if first is not block and first.decl is not block.decl and (first.display or block.display):
            yield (first, block) if block.module is first.module or block.display else (block, first)
