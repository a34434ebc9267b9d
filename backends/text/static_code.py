"""Static numbers as Python expressions: `sqrt(|key|)` becomes `math.sqrt(self.key)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from ...compiler.graph.typed_value import static_element
from ...compiler.graph.values import Scalar
from ...compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static, axes_in, known

# How tightly Python's operators bind; an operand that binds less is put in parentheses.
TERNARY, OR, AND, NOT, COMPARE, BITOR, BITAND, SUM, TERM, UNARY, POWER, ATOM = 0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13

_BINARY: dict[str, tuple[str, int, int, int]] = {  # Python's spelling, its level, the levels wanted left and right
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
    "and": ("and", AND, NOT, NOT),
    "or": ("or", OR, AND, AND),
}
_CALLS = {
    "abs": "abs({})", "floor": "math.floor({})", "ceil": "math.ceil({})", "sqrt": "math.sqrt({})",
    "exp": "math.exp({})", "log": "math.log({})", "sin": "math.sin({})", "cos": "math.cos({})",
    "tanh": "math.tanh({})", "erf": "math.erf({})", "max": "max({})", "min": "min({})", "maximum": "max({})",
    "minimum": "min({})", "int": "int({})",
}  # fmt: skip


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
    """`left op right` with the parentheses that it needs."""
    spelling, level, left_level, right_level = _BINARY[op]
    return Code(f"{left.at(left_level)} {spelling} {right.at(right_level)}", level)


# What arrays, too, have an operator of Python for.
OPERATORS = ("+", "-", "*", "/", "//", "%", "^", "<=", ">=", "<", ">", "==", "!=", "and", "or", "neg", "not")


def operator(op: str, codes: list[Code]) -> Code:
    """One of OPERATORS on arrays: where numbers have words, these have signs."""
    match op:
        case "and" | "or":
            sign, level = ("&", BITAND) if op == "and" else ("|", BITOR)
            return Code(f"{codes[0].at(level)} {sign} {codes[1].at(level + 1)}", level)
        case "neg" | "not":
            return Code(f"{'-' if op == 'neg' else '~'}{codes[0].at(UNARY)}", UNARY)
        case _:
            return binary(op, *codes)


def apply(op: str, codes: list[Code]) -> Code | None:
    """An operation on Python numbers; None for one that is written of arrays alone."""
    if op == "neg":
        return Code(f"-{codes[0].at(UNARY)}", UNARY)
    if op == "not":
        return Code(f"not {codes[0].at(NOT)}", NOT)
    if op == "rsqrt":
        return Code(f"1 / math.sqrt({codes[0].text})", TERM)
    if op == "relu":
        return Code(f"max({codes[0].text}, 0)")
    if op == "clamp":
        return Code(f"min(max({codes[0].text}, {codes[1].text}), {codes[2].text})")
    if op == "sigmoid":
        return Code(f"1 / (1 + number_exp(-{codes[0].at(UNARY)}))", TERM)
    x = codes[0].at(ATOM)
    if op == "silu":
        return Code(f"{x} / (1 + number_exp(-{x}))", TERM)
    if op == "gelu":
        return Code(f"{x} * (1 + math.erf({x} / math.sqrt(2))) / 2", TERM)
    if op == "gelu_tanh":
        return Code(f"{x} * (1 + math.tanh(math.sqrt(2 / math.pi) * ({x} + 0.044715 * {x} * {x} * {x}))) / 2", TERM)
    if op == "select" and codes[0].text in ("True", "False"):
        return codes[1 if codes[0].text == "True" else 2]
    if op == "select":
        return Code(f"{codes[1].at(OR)} if {codes[0].at(OR)} else {codes[2].text}", TERNARY)
    if op in _BINARY:
        return binary(op, *codes)
    if op in _CALLS:
        return Code(_CALLS[op].format(", ".join(code.text for code in codes)))
    return None


# What Python refuses of some numbers, and the helper that does not.
_CAREFUL = {
    "/": "number_ratio", "%": "number_rest", "sqrt": "number_root", "rsqrt": "number_over_root", "log": "number_log",
    "^": "number_power", "exp": "number_exp", "sin": "number_sin", "cos": "number_cos",
    "floor": "number_floor", "ceil": "number_ceil",
}  # fmt: skip


def careful(op: str, codes: list[Code], helper: Callable[[str], None]) -> Code | None:
    """An operation on numbers of which nothing is known; it asks for the helper that it needs. None as of `apply`."""
    name = "number_exp" if op in ("sigmoid", "silu") else _CAREFUL.get(op)
    if name is not None:
        helper(name)
    return Code(f"{name}({', '.join(code.text for code in codes)})") if op in _CAREFUL else apply(op, codes)


def _defined(op: str, args: tuple[Static, ...]) -> bool:
    """Whether Python surely computes one of these, whatever the sizes that only a run knows."""
    match op:
        case "/" | "%":
            return _least(args[1]) > 0 or (known(args[1]) or 0) != 0
        case "sqrt":
            return _least(args[0]) >= 0
        case "exp" | "sin" | "cos":
            return not _late(args[0])
        case "floor" | "ceil":
            return _finite(args[0])
        case "^":
            good = _least(args[0]) > 0 or (_least(args[0]) >= 0 and _least(args[1]) >= 0)
            small = abs(known(args[1]) or 0) <= 16 if not _late(args[1]) else False
            return good and (static_element(Arith(op, args)) is Scalar.INT or small or not any(map(_late, args)))
        case _:
            return _least(args[0]) > 0


def _finite(static: Static) -> bool:
    """Whether it is surely a number, and no infinite one."""
    match static:
        case Arith(op, args):
            return (op not in _CAREFUL or _defined(op, args)) and all(map(_finite, args))
        case _:
            return True


def _late(static: Static) -> bool:
    """Whether it hangs on a size that only a run knows, and so may be of any magnitude."""
    return any(axis.extent is None for axis in axes_in(static))


def _least(static: Static) -> float:
    """A number that the value is never below."""
    value = known(static)
    if value is not None:
        return float(value)
    match static:
        case SizeOf(axis):
            return axis.extent or 0
        case Arith("+" | "max" | "maximum" | "min" | "minimum" | "*" as op, args):
            found = [_least(arg) for arg in args]
            if op == "*":
                return math.prod(found) if min(found) >= 0 else -math.inf
            return sum(found) if op == "+" else max(found) if op.startswith("max") else min(found)
        case Arith("sqrt" | "abs", (arg,)):
            return math.sqrt(max(_least(arg), 0))
        case Arith("/", (a, b)) if min(_least(a), _least(b)) >= 0:
            return 0
        case _:
            return -math.inf


def static_code(
    static: Static,
    size: Callable[[Axis], str],
    const: Callable[[Const], str],
    helper: Callable[[str], None] | None = None,
) -> Code:
    """A static number as Python. `size` and `const` say how this scope calls a size or a const.

    helper: asks for a helper of the generated file, where a size of 0 would make Python raise.
    """
    match static:
        case Literal(value):
            return number(value)
        case SizeOf(axis):
            return Code(size(axis))
        case ConstOf(which):
            return Code(const(which))
        case Arith(op, args):
            codes = [static_code(arg, size, const, helper) for arg in args]
            if helper is not None and op in _CAREFUL and not _defined(op, args):
                code = careful(op, codes, helper)
            else:
                code = apply(op, codes)
            assert code is not None, f"the arithmetic of sizes has no `{op}`"
            return code
        case _:
            assert_never(static)
