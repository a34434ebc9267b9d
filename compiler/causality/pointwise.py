"""What is known of the result of a pointwise op: as a number (`graph/core/term.py`), and what its items depend on."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.core.term import Term, relevant
from ..graph.core.term import pointwise as number
from ..graph.traits import Meaning
from ..sizes.predicates import Facts
from .reach import Info, unite


def term(info: Info) -> Term:
    """An info without its reach."""
    return Term(info.true, info.false, info.lowers, info.uppers)


def pointwise(meaning: Meaning, parts: Sequence[Info], given: Facts = frozenset()) -> Info:
    """What is known of the result. given: what holds wherever it is read."""
    terms = [term(part) for part in parts]
    found = number(meaning, terms, given)
    reach = unite(*(parts[place].reach for place in relevant(meaning, terms, given)))
    return Info(reach, found.true, found.false, found.lowers, found.uppers)
