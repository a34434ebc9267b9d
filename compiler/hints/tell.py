"""A mistake in words."""

from __future__ import annotations

from ...dsl.diagnostic import Diagnostic
from ..base.problems import Problem
from .table import diagnostic
from .words import Wording


def tell(problem: Problem) -> Diagnostic:
    """A mistake, told to the author of the text that it stands in."""
    return diagnostic(problem, Wording())
