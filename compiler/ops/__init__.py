"""The op table: every primitive of the language, one row each."""

from __future__ import annotations

from ..graph.traits import OpTraits
from . import arrange, internal, learned, order, pointwise, reduce
from .table import Brackets, Op, Option, Rule

OPS: dict[str, Op] = {op.name: op for module in (pointwise, reduce, learned, arrange, order) for op in module.ROWS}
_INTERNAL = {op.name: op for op in internal.ROWS}


def op_named(name: str) -> OpTraits:
    """Of the table, or one that no spec can write."""
    return OPS.get(name) or _INTERNAL[name]


__all__ = ["OPS", "Brackets", "Op", "Option", "Rule", "op_named"]
