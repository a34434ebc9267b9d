"""Numbers made of run-time sizes, which generated code of both backends carries along.

Python raises where a size of 0 divides, and where a result is too large; here it is infinite or NaN, as that of an
array is.
"""

import math


def number_ratio(a: float, b: float) -> float:
    """As arrays have it: infinite or NaN where a size of 0 divides, which Python refuses."""
    return a / b if b else a * math.inf


def number_rest(a: float, b: float) -> float:
    """NaN of a real where a size of 0 divides, 0 of an int."""
    return a % b if b else 0 if isinstance(a, int) and isinstance(b, int) else math.nan


def number_exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def number_sin(x: float) -> float:
    return math.sin(x) if math.isfinite(x) else math.nan


def number_cos(x: float) -> float:
    return math.cos(x) if math.isfinite(x) else math.nan


def number_root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def number_over_root(x: float) -> float:
    return number_ratio(1, number_root(x))


def number_log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def number_power(a: float, b: float) -> float:
    if a == 0 and b < 0:
        return math.inf
    if a < 0 and b % 1:
        return math.nan
    try:
        return float(a**b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 else math.inf


def number_floor(x: float) -> int:
    """As arrays have it: the least int of what is infinite, or no number, which Python refuses to round."""
    return math.floor(x) if math.isfinite(x) else -(2**63)


def number_ceil(x: float) -> int:
    """As `number_floor`."""
    return math.ceil(x) if math.isfinite(x) else -(2**63)
