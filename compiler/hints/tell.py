"""All mistakes, in words. Imported only where there is something to tell."""

from __future__ import annotations

from ...dsl.diagnostic import Diagnostic
from ..base.problems import Problem
from . import relayed
from .messages import axes, calls, elements, files, forms, marks, names, results, sizes
from .table import TELLS, diagnostic
from .words import Wording

_FILES = axes, calls, elements, files, forms, marks, names, relayed, results, sizes
"""What they tell stands in `TELLS` once they are imported."""

__all__ = ["TELLS", "tell"]


def tell(problem: Problem) -> Diagnostic:
    """A mistake, told to the author of the text that it stands in."""
    return diagnostic(problem, Wording())
