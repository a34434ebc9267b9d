"""Masks of positions as Python functions, the same for both backends.

    def seen(q, k, real, near=self.near):
        return (k <= q) & (q - k < near) & real

One function serves arrays of positions, single ones (FlexAttention) and spans of them (common/spans). Numbers are
bound when it is defined, so that the function and its defaults tell one mask from another.
"""

from __future__ import annotations

from ...compiler.graph.term import WORDS, Leaf, Number, Position, Predicate, Term, TermOp, leaves
from ...compiler.sizes.axes import Literal
from ...compiler.sizes.functions import Complement, Magnitude, Meaning
from ..text.expressions import BITAND, BITOR, Attribute, Code, Variable, joined, number, operator
from ..text.names import Namer, plain
from ..text.statements import Def
from ..text.values import Val
from .body import CodeBody


def define(body: CodeBody, predicate: Predicate, data: list[Val]) -> tuple[Code, list[Code]]:
    """Defines the function of a predicate whose leaves are `data`, in order; gives its name, and its numbers that
    come with the call, not with the model.
    """
    namer = Namer()
    names: dict[int, str] = {}
    params: list[str] = []
    bound: dict[str, Code] = {}
    found = leaves(predicate.term)
    for leaf, val in zip(found, data, strict=True):
        known = leaf.name if leaf.name.isidentifier() else leaf.value.name  # a formula has no name of its own
        names[leaf.value.id] = namer.give(known or ("number" if val.number else "data"))
        if val.number:
            bound[names[leaf.value.id]] = val.code
        else:
            params.append(names[leaf.value.id])

    def code(term: Term) -> Code:
        match term:
            case Position(axis):
                return Code("q" if axis == predicate.q else "k")
            case Leaf(value):
                return Code(names[value.id])
            case Number(Literal(value)):
                return number(value)
            case Number(static):
                made = body.static(static)
                for name, other in bound.items():
                    if other == made:
                        return Code(name)
                wish = plain(made.variable.wish) if made.variable else "number"
                name = namer.give(wish if wish.isidentifier() else "number")
                bound[name] = made
                return Code(name)
            case TermOp(meaning, args):
                return operation(meaning, [code(arg) for arg in args])

    given = code(predicate.term)
    words = (Code.of("{}={}", name, value) for name, value in bound.items())
    seen = Variable("seen", lasting=True)
    body.lines.append(Def(seen, joined(["q", "k", *params, *words]), given, "of positions"))
    return seen.code, [each for each in bound.values() if not _is_fixed(each)]


def _is_fixed(number: Code) -> bool:
    """Whether a number comes with the model."""
    of_model = bool(number.reads) and all(isinstance(variable, Attribute) for variable, _ in number.reads)
    return of_model or number.text in ("True", "False")


def operation(meaning: Meaning, codes: list[Code]) -> Code:
    """An operation on arrays, spans or numbers alike."""
    match meaning:
        case Complement():
            return Code.of("{} ^ True", codes[0].at(BITAND), level=BITOR + 1)  # as `~`, for spans too (spans.Truth)
        case Magnitude():
            return Code.of("abs({})", codes[0])
        case _:
            return operator(WORDS[meaning], codes)
