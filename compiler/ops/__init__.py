"""The op table: every primitive of the language, one row each."""

from __future__ import annotations

from . import arrange, learned, order, pointwise, reduce
from .table import Brackets, Op, Option, Rule

OPS: dict[str, Op] = {op.name: op for module in (pointwise, reduce, learned, arrange, order) for op in module.ROWS}

__all__ = ["OPS", "Brackets", "Op", "Option", "Rule"]
