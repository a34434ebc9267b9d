"""What numbers ops make of numbers: whether they are finite, and between which they lie."""

from __future__ import annotations

import math

Range = tuple[float, float]
ALL: Range = (-math.inf, math.inf)
LARGEST = 80.0  # of an exponent: float32 goes up to e ^ 88
SAME = ("int", "broadcast", "rename", "split", "merge")  # each item is one of the operand
# What an operand may be instead, so that the result and its derivative are finite: the first one's, by op
HARMLESS = {"exp": 0, "log": 1, "sqrt": 1, "rsqrt": 1}


def keeps_finite(op: str, ranges: list[Range]) -> bool:
    """Whether an op makes finite numbers of finite operands in these ranges."""
    match op, ranges:
        case "/" | "%", [_, (low, high)]:
            return low > 0 or high < 0
        case "log" | "rsqrt", [(low, _)]:
            return low > 0
        case "sqrt", [(low, _)]:
            return low >= 0
        case "exp", [(_, high)]:
            return high <= LARGEST
        case "^", [(low, high), (least, most)]:
            if least == most:
                return low > 0 or (least >= 0 and (low == 0 or least % 1 == 0))
            return low > 0 and _times(_logs((low, high)), (least, most))[1] <= LARGEST
        case _:
            return True


def range_of(op: str, ranges: list[Range]) -> Range:
    """The least and the greatest that an op may make, as far as is easily seen."""
    match op, ranges:
        case "+", [(a, b), (c, d)]:
            return a + c, b + d
        case "-", [(a, b), (c, d)]:
            return a - d, b - c
        case "*", [x, y]:
            return _times(x, y)
        case "/", [x, (low, high)] if low > 0:
            return _times(x, (1 / high, 1 / low))
        case "^", [x, y] if x[0] > 0:
            return _exponential(_times(_logs(x), y))
        case "exp", [x]:
            return _exponential(x)
        case "neg", [(low, high)]:
            return -high, -low
        case "abs", [(low, high)]:
            return max(low, -high, 0), max(-low, high)
        case "maximum", _:
            return max(low for low, _ in ranges), max(high for _, high in ranges)
        case "minimum" | "concat", _:
            return min(low for low, _ in ranges), max(high for _, high in ranges)
        case "sqrt", [(low, high)] if low >= 0:
            return math.sqrt(low), math.sqrt(high)
        case _ if op in SAME:
            return ranges[0]
        case _:
            return ALL


def _times(x: Range, y: Range) -> Range:
    ends = [a * b if a and b else 0.0 for a in x for b in y]  # 0 times infinity is 0 here
    return min(ends), max(ends)


def _logs(x: Range) -> Range:
    return math.log(x[0]), math.log(x[1])


def _exponential(x: Range) -> Range:
    low, high = (math.exp(end) if end < LARGEST else math.inf for end in x)
    return min(low, math.exp(LARGEST)), high
