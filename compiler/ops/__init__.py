"""The op table: every primitive of the language, one row each."""

from __future__ import annotations

from ..graph.traits import Meaning, OpTraits, Pointwise, Reads
from . import arrange, internal, learned, order, pointwise, reduce
from .table import Brackets, Notation, Op, Option, Rule, WrittenOp

OPS: dict[str, Op] = {op.name: op for module in (pointwise, reduce, learned, arrange, order) for op in module.ROWS}
_INTERNAL = {op.name: op for op in internal.ROWS}
_MEANINGS: dict[Meaning, OpTraits] = {}  # of rows with one meaning, the first
for _op in (*OPS.values(), *_INTERNAL.values()):
    if isinstance(_op.reads, Pointwise):
        _MEANINGS.setdefault(_op.reads.meaning, _op)
_OF_NUMBERS = {op.number: op for op in OPS.values() if op.number}


WRITABLE = (*(op.name for op in OPS.values() if op.name.isidentifier() and not op.sign), "raw", "scan")
INITS = {"normal": 1, "uniform": 1, "zeros": 0, "ones": 0, "constant": 1, "xavier": 0}
"""The initialisations of weights, and how many numbers each takes."""


def written(notation: Notation, word: str) -> Op | None:
    """The op that is written so; None where nothing is."""
    op = OPS.get(word)
    if op is not None and op.notation is notation and not op.sign:
        return op
    return next((op for op in OPS.values() if op.notation is notation and op.sign == word), None)


def op_named(name: str) -> OpTraits:
    """Of the table, or one that no spec can write."""
    return OPS.get(name) or _INTERNAL[name]


def op_meaning(meaning: Meaning) -> OpTraits:
    """The pointwise op that computes this."""
    return _MEANINGS[meaning]


def op_reading(reads: Reads) -> OpTraits:
    """The first op of the table that reads its operands so."""
    return next(op for op in OPS.values() if op.reads == reads)


def op_of_numbers(operation: str) -> OpTraits:
    """The op that is this operation on numbers known at build time (`sizes.functions.OPERATIONS`)."""
    return _OF_NUMBERS[operation]


__all__ = [
    "INITS",
    "OPS",
    "WRITABLE",
    "Brackets",
    "Notation",
    "Op",
    "Option",
    "Rule",
    "WrittenOp",
    "op_meaning",
    "op_named",
    "op_of_numbers",
    "op_reading",
    "written",
]
