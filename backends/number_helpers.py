"""Numbers made of run-time sizes, which generated code of both backends carries along.

Python raises where a size of 0 divides; here the result is infinite or NaN, as that of an array is.
"""

import math


def number_ratio(a: float, b: float) -> float:
    """As arrays have it: infinite or NaN where a size of 0 divides, which Python refuses."""
    return a / b if b else a * math.inf


def number_root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def number_over_root(x: float) -> float:
    return number_ratio(1, number_root(x))


def number_log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def number_power(a: float, b: float) -> float:
    if a == 0 and b < 0:
        return math.inf
    return math.nan if a < 0 and b % 1 else float(a**b)
