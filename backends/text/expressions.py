"""Expressions of Python, and how tightly their operators bind."""

from __future__ import annotations

from dataclasses import dataclass

from ...compiler.sizes.functions import OPERATIONS, Complement, Conjunction, Connective, Disjunction, Sum

# How tightly Python's operators bind; an operand that binds less is put in parentheses.
TERNARY, OR, AND, NOT, COMPARE, BITOR, BITAND, SUM, TERM, UNARY, POWER, ATOM = 0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13

_SIGNS: dict[str, tuple[str, int, int, int]] = {  # Python's spelling, its level, the levels wanted left and right
    "+": ("+", SUM, SUM, TERM),
    "-": ("-", SUM, SUM, TERM),
    "*": ("*", TERM, TERM, UNARY),
    "/": ("/", TERM, TERM, UNARY),
    "//": ("//", TERM, TERM, UNARY),
    "%": ("%", TERM, TERM, UNARY),
    "^": ("**", POWER, ATOM, ATOM),
    "<=": ("<=", COMPARE, SUM, SUM),
    ">=": (">=", COMPARE, SUM, SUM),
    "<": ("<", COMPARE, SUM, SUM),
    ">": (">", COMPARE, SUM, SUM),
    "==": ("==", COMPARE, SUM, SUM),
    "!=": ("!=", COMPARE, SUM, SUM),
}


@dataclass(frozen=True, slots=True)
class Code:
    """An expression of Python and how tightly its outermost operator binds."""

    text: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """The text, in parentheses where something of `level` is wanted and this binds less."""
        return self.text if self.level >= level else f"({self.text})"


def number(value: int | float | bool) -> Code:
    """A literal. Infinities and NaN have no literal in Python."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return Code("math.nan") if value != value else Code("math.inf") if value > 0 else Code("-math.inf", UNARY)
    return Code(repr(value), ATOM if value >= 0 else UNARY)


def binary(op: str, left: Code, right: Code) -> Code:
    """`left op right` of numbers, with the parentheses that it needs."""
    match OPERATIONS[op].meaning:
        case Conjunction():
            return Code(f"{left.at(NOT)} and {right.at(NOT)}", AND)
        case Disjunction():
            return Code(f"{left.at(AND)} or {right.at(AND)}", OR)
    spelling, level, left_level, right_level = _SIGNS[op]
    return Code(f"{left.at(left_level)} {spelling} {right.at(right_level)}", level)


# What arrays, too, have an operator of Python for.
OPERATORS = frozenset(
    op
    for op, operation in OPERATIONS.items()
    if op in _SIGNS or operation.meaning == Sum((-1,)) or isinstance(operation.meaning, Connective)
)


def operator(op: str, codes: list[Code]) -> Code:
    """One of OPERATORS on arrays: where numbers have words, these have signs."""
    match OPERATIONS[op].meaning:
        case Conjunction():
            return Code(f"{codes[0].at(BITAND)} & {codes[1].at(BITAND + 1)}", BITAND)
        case Disjunction():
            return Code(f"{codes[0].at(BITOR)} | {codes[1].at(BITOR + 1)}", BITOR)
        case Complement():
            return Code(f"~{codes[0].at(UNARY)}", UNARY)
        case Sum((-1,)):
            return Code(f"-{codes[0].at(UNARY)}", UNARY)
        case _:
            return binary(op, *codes)
