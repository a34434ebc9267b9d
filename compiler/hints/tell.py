"""All mistakes, in words. Imported only where there is something to tell."""

from __future__ import annotations

from ...dsl.diagnostic import Diagnostic
from ..base.problems import Problem
from . import relayed
from .messages import axes, calls, elements, forms, marks, names, results, sizes
from .table import TELLS, diagnostic
from .words import Wording

__all__ = ["TELLS", "axes", "calls", "elements", "forms", "marks", "names", "relayed", "results", "sizes", "tell"]


def tell(problem: Problem) -> Diagnostic:
    """A mistake, told to the author of the text that it stands in."""
    return diagnostic(problem, Wording())
