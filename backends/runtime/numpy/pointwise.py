"""Pointwise functions of generated NumPy code.

A function of many operations works through its array in blocks that stay in the cache, in place: each operation on a
whole array would go through memory, into fresh pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .arrays import Array

BLOCK = 2**15


def in_blocks(function: Callable[[Array, Array], None], x: Array) -> Array:
    """The results of function(part, out), which fills `out`, for one part of x after the other."""
    if x.ndim and x.size <= BLOCK:
        out = np.empty_like(x)
        function(x, out)
        return out
    flat = x.reshape(-1)
    out = np.empty_like(flat)
    for at in range(0, flat.size, BLOCK):
        function(flat[at : at + BLOCK], out[at : at + BLOCK])
    return out.reshape(x.shape)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)); where that is too small for its type, the smallest that has an inverse."""
    most = math.log(np.finfo(x.dtype).max) - 1

    def block(x: Array, out: Array) -> None:
        np.negative(x, out=out)
        np.minimum(out, most, out=out)
        np.exp(out, out=out)
        np.add(out, 1, out=out)
        np.divide(1, out, out=out)

    return in_blocks(block, x)


def silu(x: Array) -> Array:
    """x sigmoid(x), also called swish."""

    def block(x: Array, out: Array) -> None:
        np.negative(x, out=out)
        np.exp(out, out=out)
        out += 1
        np.divide(x, out, out=out)

    with np.errstate(over="ignore"):  # x over infinity is 0
        return in_blocks(block, x)


def gelu(x: Array) -> Array:
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016)."""

    def block(x: Array, out: Array) -> None:
        odds = normal_logit(x)
        np.exp(odds, out=odds)
        odds += 1
        np.divide(x, odds, out=out, casting="same_kind")

    def precise(x: Array, out: Array) -> None:
        normal(x, out)
        out += 1
        out *= x
        out *= 0.5

    with np.errstate(over="ignore"):  # x over infinity is 0
        return in_blocks(precise if x.dtype == np.float64 else block, x)


def gelu_tanh(x: Array) -> Array:
    """GELU by its tanh approximation (Hendrycks and Gimpel 2016): (1 + tanh u) / 2 is 1 / (1 + exp(-2 u))."""
    twice = 2 * math.sqrt(2 / math.pi)

    def block(x: Array, out: Array) -> None:
        np.multiply(x, x, out=out)
        out *= -0.044715 * twice
        out -= twice
        out *= x
        np.exp(out, out=out)
        out += 1
        np.divide(x, out, out=out)

    with np.errstate(over="ignore"):  # x over infinity is 0
        return in_blocks(block, x)


def erf(x: Array) -> Array:
    """The error function."""
    return in_blocks(normal, x * math.sqrt(2))


def normal(x: Array, out: Array) -> None:
    """Into `out`: erf(x / sqrt(2)), to the precision of the type."""
    if x.dtype == np.float64:
        out[...] = precise_erf(x * math.sqrt(0.5))
        return
    y = normal_logit(x.clip(-5.6, 5.6))  # beyond, it is 1 to the last digit
    y *= -0.5
    np.tanh(y, out=out, casting="same_kind")


def normal_logit(x: Array) -> Array:
    """log((1 - p) / p) of the normal distribution function p, at most 11 from 0, in float32.

    x times a fraction of polynomials of x^2, as a continued one: it is fitted to the least greatest error of p, 5e-8.
    """
    x = x.astype(np.float32, copy=False)
    square = x * x
    y = square + 45.323123
    np.divide(1383.414, y, out=y)
    y += square
    y -= 23.606143
    np.divide(5.3316633, y, out=y)
    square *= 0.03627728
    y -= square
    y -= 2.366552
    y *= x
    return y


ERF_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
ERF_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
ERF_LARGE = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346047e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)


def horner(coefficients: tuple[float, ...], x: Array) -> Array:
    """A polynomial, the highest power first."""
    value: Array = x * coefficients[0]
    value += coefficients[1]
    for coefficient in coefficients[2:]:
        value *= x
        value += coefficient
    return value


def precise_erf(x: Array) -> Array:
    """The error function in float64, by the rational approximations of W. J. Cody (Math. Comp. 23, 1969)."""
    y = np.abs(x)
    square = np.minimum(y, 0.5) ** 2
    small = x * horner(ERF_SMALL[0], square) / horner(ERF_SMALL[1], square)
    middle = np.clip(y, 0.5, 4.0)
    tail = np.exp(-middle * middle) * horner(ERF_MIDDLE[0], middle) / horner(ERF_MIDDLE[1], middle)
    large = np.clip(y, 4.0, 6.0)  # beyond 6 it is 1 to the last digit
    inverse = 1 / (large * large)
    rest = inverse * horner(ERF_LARGE[0], inverse) / horner(ERF_LARGE[1], inverse)
    far = np.exp(-large * large) / large * (math.sqrt(1 / math.pi) - rest)
    found = np.where(y <= 0.5, small, np.copysign(1 - np.where(y <= 4.0, tail, far), x))
    return np.where(np.isnan(x), x, found)
