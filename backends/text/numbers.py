"""Numbers as Python expressions: `sqrt(|key|)` becomes `math.sqrt(self.key)`.

Python's operators are written by what they compute, functions by the templates of their ops' rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_never

from ...compiler.graph.traits import (
    Choice,
    Complement,
    Extreme,
    Function,
    Magnitude,
    Pointwise,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ...compiler.graph.typed_value import static_element
from ...compiler.graph.values import Scalar
from ...compiler.ops import OPS, Op
from ...compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static, axes_in, known
from ...compiler.sizes.functions import OPERATIONS, Item, Length, Listing, Meaning
from .expressions import NOT, OPERATORS, OR, TERNARY, UNARY, Code, binary, filled_in, joined, number

_OF_NUMBERS = {op.number: op for op in OPS.values() if op.number}


def _row(op: str) -> Op | None:
    """The row of an op, or of an operation on numbers known at build time."""
    return _OF_NUMBERS.get(op) or OPS.get(op)


def _meaning(op: str) -> Meaning | None:
    if op in OPERATIONS:
        return OPERATIONS[op].meaning
    row = OPS.get(op)
    return row.reads.meaning if row is not None and isinstance(row.reads, Pointwise) else None


def apply(op: str, codes: list[Code]) -> Code | None:
    """An operation on Python numbers; None for one that is written of arrays alone."""
    match _meaning(op):
        case Sum((-1,)):
            return Code.of("-{}", codes[0].at(UNARY), level=UNARY)
        case Complement():
            return Code.of("not {}", codes[0].at(NOT), level=NOT)
        case Listing():
            return Code.of("({},)" if len(codes) == 1 else "({})", joined(codes))
        case Item():
            return Code.of("{}[{}]", codes[1].atom, codes[0])
        case Length():
            return Code.of("len({})", codes[0])
        case Choice() if codes[0].text in ("True", "False"):
            return codes[1 if codes[0].text == "True" else 2]
        case Choice():
            return Code.of("{} if {} else {}", codes[1].at(OR), codes[0].at(OR), codes[2], level=TERNARY)
    if op in OPERATORS:
        return binary(op, *codes)
    row = _row(op)
    if row is None or not row.python:
        return None
    if row.variadic:
        codes = [joined(codes)]
    return filled_in(row.python, codes)


def of_unknown(op: str, codes: list[Code]) -> Code | None:
    """An operation on numbers of which nothing is known; None as of `apply`."""
    row = _row(op)
    return filled_in(row.careful or row.python, codes) if row is not None and _refuses(op) else apply(op, codes)


def _refuses(op: str) -> bool:
    """Whether there are numbers that Python refuses to do this to."""
    row = _row(op)
    return row is not None and bool(row.careful)


def _defined(static: Arith) -> bool:
    """Whether Python surely computes it of its operands, whatever the sizes that only a run knows."""
    match static.meaning, static.args:
        case Quotient() | Remainder(), (_, divisor):
            return _least(divisor) > 0 or (known(divisor) or 0) != 0
        case Power(), (base, power):
            good = _least(base) > 0 or (_least(base) >= 0 and _least(power) >= 0)
            small = abs(known(power) or 0) <= 16 if not _late(power) else False
            return good and (static_element(static) is Scalar.INT or small or not any(map(_late, static.args)))
        case Rounded(), (x,):
            return _finite(x)
        case Function(above=above) as function, (x,) if above > -math.inf:
            return _least(x) > above or (function.closed and _least(x) == above)
        case _:  # too large, or infinite
            return not any(map(_late, static.args))


def _of_ints(ratio: Arith) -> bool:
    """Whether it is a quotient of ints that Python surely computes."""
    ints = all(static_element(arg) is Scalar.INT for arg in ratio.args)
    return ints and isinstance(ratio.meaning, Quotient) and _defined(ratio)


def _finite(static: Static) -> bool:
    """Whether it is surely a number, and no infinite one."""
    match static:
        case Arith(op, args):
            return (not _refuses(op) or _defined(static)) and all(map(_finite, args))
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
        case Arith(meaning=Sum((1, 1)), args=args):
            return sum(map(_least, args))
        case Arith(meaning=Product(), args=args):
            found = [*map(_least, args)]
            return math.prod(found) if min(found) >= 0 else -math.inf
        case Arith(meaning=Extreme(largest), args=args):
            return (max if largest else min)(map(_least, args))
        case Arith(meaning=Magnitude(), args=(arg,)):
            return max(_least(arg), 0)
        case Arith(op, (arg,)) if isinstance(function := static.meaning, Function) and function.closed:
            return float(OPERATIONS[op](max(_least(arg), function.above)))
        case Arith("/", (a, b)) if min(_least(a), _least(b)) >= 0:
            return 0
        case _:
            return -math.inf


def static_code(
    static: Static,
    size: Callable[[Axis], Code],
    const: Callable[[Const], Code],
    *,
    careful: bool = False,
) -> Code:
    """A static number as Python. `size` and `const` say how this scope calls a size or a const.

    careful: whether a function of ours stands in where a size of 0 would make Python raise.
    """
    match static:
        case Literal(value):
            return number(value)
        case SizeOf(axis):
            return size(axis)
        case ConstOf(which):
            return const(which)
        case Arith(meaning=Rounded(up=False), args=(Arith(args=(a, b)) as ratio,)) if _of_ints(ratio):
            return binary("//", *(static_code(arg, size, const, careful=careful) for arg in (a, b)))
        case Arith(op, args):
            codes = [static_code(arg, size, const, careful=careful) for arg in args]
            code = of_unknown(op, codes) if careful and not _defined(static) else apply(op, codes)
            assert code is not None, f"the arithmetic of sizes has no `{op}`"
            return code
        case _:
            assert_never(static)
