"""Masks of positions as Python functions, the same for both backends.

    def seen(q, k, real, near=self.near):
        return (k <= q) & (q - k < near) & real

One function serves arrays of positions, single ones (FlexAttention) and spans of them (common/spans). Numbers are
bound when it is defined, so that the function and its defaults tell one mask from another.
"""

from __future__ import annotations

from ...compiler.graph.term import WORDS, Index, Leaf, Number, Predicate, Term, TermOp, leaves
from ...compiler.sizes.axes import Literal
from ...compiler.sizes.functions import Complement, Magnitude, Meaning
from ..text.expressions import BITAND, BITOR, Code, number, operator
from ..text.names import Namer
from ..text.values import Val
from .body import CodeBody


def define(body: CodeBody, predicate: Predicate, data: list[Val]) -> tuple[str, list[str]]:
    """Defines the function of a predicate whose leaves are `data`, in order; gives its name, and its numbers that
    come with the call, not with the model.
    """
    namer = Namer()
    names: dict[int, str] = {}
    params: list[str] = []
    bound: dict[str, str] = {}
    found = leaves(predicate.term)
    for leaf, val in zip(found, data, strict=True):
        known = leaf.name if leaf.name.isidentifier() else leaf.value.name  # a formula has no name of its own
        names[leaf.value.id] = namer.give(known or ("number" if val.number else "data"))
        if val.number:
            bound[names[leaf.value.id]] = val.text
        else:
            params.append(names[leaf.value.id])

    def code(term: Term) -> Code:
        match term:
            case Index(axis):
                return Code("q" if axis == predicate.q else "k")
            case Leaf(value):
                return Code(names[value.id])
            case Number(Literal(value)):
                return number(value)
            case Number(static):
                text = body.static(static).text
                for name, other in bound.items():
                    if other == text:
                        return Code(name)
                name = namer.give(text.rsplit(".", 1)[-1] if text.rsplit(".", 1)[-1].isidentifier() else "number")
                bound[name] = text
                return Code(name)
            case TermOp(meaning, args):
                return operation(meaning, [code(arg) for arg in args])

    text = code(predicate.term).text
    given = [*params, *(f"{name}={value}" for name, value in bound.items())]
    name = body.namer.give("seen")
    body.line(f"def {name}({', '.join(['q', 'k', *given])}):", "of positions")
    body.line(f"    return {text}")
    return name, [text for text in bound.values() if not (text.startswith("self.") or text in ("True", "False"))]


def operation(meaning: Meaning, codes: list[Code]) -> Code:
    """An operation on arrays, spans or numbers alike."""
    match meaning:
        case Complement():
            return Code(f"{codes[0].at(BITAND)} ^ True", BITOR + 1)  # as `~`, for spans too (spans.Truth)
        case Magnitude():
            return Code(f"abs({codes[0].text})")
        case _:
            return operator(WORDS[meaning], codes)
