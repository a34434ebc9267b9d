"""Declarations of ragged widths that cannot be: `width source ragged` gives each example of a batch its own length."""

from __future__ import annotations

from ...dsl import syntax as s
from ..base.problems import Problems
from ..problems.sizes import RaggedAxis


def refuse_ragged(problems: Problems, decl: s.AxisDecl, *, in_block: bool = False) -> bool:
    """Report `ragged` on an axis that cannot have a length for each example. True if it was refused."""
    if decl.ragged is None:
        return False
    if decl.kind == "width" and decl.like is None and not in_block and (decl.size is None or decl.bounded):
        return False
    problems.add(RaggedAxis(decl.ragged.span, decl))
    return True
