"""Declarations of ragged widths that cannot be: `width source ragged` gives each example of a batch its own length."""

from __future__ import annotations

from ...dsl import syntax as s
from ..base.problems import Problems
from ..problems.sizes import RaggedCopy, RaggedDepth, RaggedSize


def refuse_ragged(problems: Problems, decl: s.AxisDecl, *, in_block: bool = False) -> bool:
    """Report `ragged` on an axis that cannot have a length for each example. True if it was refused."""
    if decl.ragged is None:
        return False
    at = decl.ragged.span
    if decl.kind == "depth":
        problems.add(RaggedDepth(at, decl))
    elif decl.like is not None:
        problems.add(RaggedCopy(at, decl, decl.like.text))
    elif in_block or (decl.size is not None and not decl.bounded):
        problems.add(RaggedSize(at, decl))
    else:
        return False
    return True
