"""Declarations of ragged widths that cannot be: `width source ragged` gives each example of a batch its own length."""

from __future__ import annotations

from ...dsl import syntax as s
from ..base.problems import Problems


def refuse_ragged(problems: Problems, decl: s.AxisDecl, *, in_block: bool = False) -> bool:
    """Report `ragged` on an axis that cannot have a length for each example. True if it was refused."""
    if decl.ragged is None:
        return False
    name, size = decl.name.text, decl.size.span.text if decl.size is not None else ""
    most = f" <= {size}" if size else ""
    if decl.kind == "depth":
        why, help = (
            "a depth's size is known when the spec is compiled",
            f"declare it as a width: `width {name}{most} ragged`",
        )
    elif decl.like is not None:
        original = decl.like.text
        why = f"it is a copy of `{original}`, and has its lengths"
        help = f"leave the word out here, and write it behind the declaration of `{original}`: its copies follow"
    elif in_block or (decl.size is not None and not decl.bounded):
        why, help = "its size follows from others, and is ragged if they are", "leave the word out"
        if isinstance(decl.size, s.NumberLiteral):
            why = "its size is fixed"
            help = f"leave the size to the inputs, `width {name} ragged`, or bound it, `width {name} <= {size} ragged`"
    else:
        return False
    problems.report("E0801", f"`{name}` cannot be ragged: {why}", decl.ragged.span, help=help)
    return True
