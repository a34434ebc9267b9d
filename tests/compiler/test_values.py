"""What programs mean, worked out by hand: what a name, a number, a call or a repeat stands for, to the last digit.

The oracle of tests/backends reads the graph; here nothing is believed that the checker has made.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnc

X = np.array([1.0, 2.0])
ROOT = math.sqrt(3)

# A name: the program, what it is given, what comes out.
CASES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "numbers": (
        """
        depth d = 2
        const a = 7, b = a / 2, c = floor(b) + ceil(b), e = 2 ^ 3 ^ 2, f = -a % 3
        const g = min(a, 3) - max(a, 3) + abs(2 - a)
        const h = exp(0) + log(1) + sqrt(16), i = not a > 7 and (a == 7 or a != 7) and a >= 7 and a <= 7 and not a < 7
        model net(x: [d]) -> [d] {
            y = select(i, x, 0)
            return y * b + c * 10 + e * 100 + f * 100000 + g * 1000000 + h * 10000000
        }""",
        (X,), X * 3.5 + 70 + 51200 + 200000 + 1000000 + 50000000,
    ),
    "pi": ("depth d = 2\nmodel net(x: [d]) -> [d] {\n    return x * pi\n}", (X,), X * math.pi),
    "sizes of a block's own": (
        """
        depth d = 6
        model net(x: [d]) -> [] {
            depth pair = 2, half = d / pair
            const n = half + 1
            y = split[d -> half, pair](x)
            return sum[half](y[pair = 1]) * n + |half| * 100 + |pair| * 1000
        }""",
        (np.arange(6.0),), (1 + 3 + 5) * 4 + 300 + 2000,
    ),
    "a width of a block's own": (
        """
        width t
        depth d = 2
        model net(x: [t]) -> [] {
            width half = t / d, twice = 2 * half
            y = split[t -> half, d](x)
            return sum[half](y[d = 1]) + |half| * 100 + |twice| * 1000
        }""",
        (np.arange(6.0),), (1 + 3 + 5) + 300 + 6000,
    ),
    "first values that the call gives": (
        """
        depth d = 2
        block scaled[c: const, n: depth](x: [n]) -> [n] {
            param W: [n] ~ constant(c / |n|)
            return x * W
        }
        block twice[c: const](x: [d]) -> [d] {
            return scaled.b[c = 2 * c, n = d](x)
        }
        model net(x: [d]) -> [d] {
            return scaled[c = 3, n = d](x) + 100 * twice[c = 5](x)
        }""",
        (X,), X * (3 / 2 + 100 * 10 / 2),
    ),
    "a const that the call gives": (
        """
        depth d = 2
        block power[n: const = 2, m: const = n + 1](x: [d]) -> [d] {
            return x ^ n + m
        }
        model net(x: [d]) -> [d] {
            return power(x) + 10 * power[n = 3](x) + 100 * power[n = 4, m = 0](x) + 1000 * power[m = 1](x)
        }""",
        (X,), X**2 + 3 + 10 * (X**3 + 4) + 100 * X**4 + 1000 * (X**2 + 1),
    ),
    "a const of the file that the call gives, and what is made of it": (
        """
        depth d = 2
        const n = 2, twice = 2 * n, other = 5
        block power(x: [d]) -> [d] {
            return x ^ n + twice + other
        }
        model net(x: [d]) -> [d] {
            return power(x) + 10 * power[n = 3](x) + 100 * power[twice = 7](x) + 1000 * power[n = 1, other = 0](x)
        }""",
        (X,), X**2 + 9 + 10 * (X**3 + 11) + 100 * (X**2 + 12) + 1000 * (X + 2),
    ),
    "a size that follows from what one call gives and what another gives around it": (
        """
        depth d = 3, e = 4, wide = d * last
        const last = next + 1, next = 2 * first, first = 1
        block count(x: []) -> [] {
            return x * 1000 + |wide| * 10 + last
        }
        block more(x: [], y: [e]) -> [] {
            return count[d = e](x) + sum[e](y)
        }
        model net(x: [], y: [e]) -> [] {
            return more(x, y) + 10000 * more[first = 2](x, y) + 100000000 * more[next = 5](x, y)
        }""",
        (np.array(0.0), np.zeros(4)), 123 + 10000 * 205 + 100000000 * 246,
    ),
    "passes that differ, the later ones by data": (
        """
        depth d = 2
        model net(x: [d]) -> [d] {
            param w: [d] ~ ones
            y = w * 1
            repeat.r i in 3 {
                if i == 0 {
                    y = y * 2
                } else {
                    y = y + x
                }
            }
            return y
        }""",
        (X,), 2 + 2 * X,
    ),
    "an if in a repeat that hangs on the pass around it": (
        """
        depth d = 2
        model net(x: [d]) -> [d] {
            repeat.outer i in 3 {
                repeat.inner j in 2 {
                    if i == 1 and j == 0 {
                        x = x * 10
                    } else {
                        x = x + i * 2 + j
                    }
                }
            }
            return x
        }""",
        (X,), ((X + 1) * 10 + 3) + 4 + 5,
    ),
    "one set of weights with the default of an index, and with another": (
        """
        depth d = 2
        block f(x: [d], i: d[] = 1) -> [] {
            param w: [d] ~ ones
            return sum[d](x * w) * 10 + x[d = i]
        }
        model net(x: [d], j: d[]) -> [] {
            share s = f
            return s(x) + 100 * s(x, j) + 10000 * s(2 * x, j)
        }""",
        (X, np.array(0)), 32 + 100 * 31 + 10000 * 62,
    ),
    "an axis of the file that the call gives, and what is made of it": (
        """
        depth d = 6, e = 4, part = 2, key = d / part
        block count(x: []) -> [] {
            return x * 100 + |key| * 10 + |part|
        }
        block more(x: []) -> [] {
            return count(x)
        }
        model net(x: [], y: [e], z: [part]) -> [] {
            return more(x) + 1000 * more[d = e](x) + 1000000 * more[part = e, d = e](x) + sum[e](y) + sum[part](z)
        }""",
        (np.array(1.0), np.zeros(4), np.zeros(2)), 132 + 1000 * 122 + 1000000 * 114,
    ),
    "a copy of an axis that the call gives": (
        """
        width seq, row
        width past like seq
        block before(x: [seq]) -> [seq] {
            return sum[past](x[seq as past] where past < seq)
        }
        model net(x: [seq], y: [row]) -> (a: [seq], b: [row]) {
            return before(x), before[seq = row](y)
        }""",
        (np.arange(1.0, 4.0), np.arange(1.0, 3.0)), ([0, 1, 3], [0, 1]),
    ),
    "a default that names an axis or a const of the file": (
        """
        depth d = 2, inner = 3
        const n = 5
        block f[h: depth = inner, g: depth = 2 * h, m: const = n, k: const = m + |g|](x: [d]) -> [d] {
            return x * (|h| + 10 * |g| + 100 * m + 1000 * k)
        }
        model net(x: [d]) -> [d] {
            return f(x) + f[d](x) + f[inner = d](x) + f[n = 1](x) + f[m = 2](x)
        }""",
        (X,),
        X * (3 + 60 + 500 + 11000) + X * (2 + 40 + 500 + 9000) + X * (2 + 40 + 500 + 9000) + X * (3 + 60 + 100 + 7000)
        + X * (3 + 60 + 200 + 8000),
    ),
    "a number for a depth": (
        """
        depth d = 2
        block f[h: depth](x: [d]) -> [d] {
            return x * |h| + sum[h](h)
        }
        model net(x: [d]) -> [d] {
            return f[h = 3](x) + f[h = 2 * d](x)
        }""",
        (X,), X * 3 + 3 + X * 4 + 6,
    ),
    "arguments by place and by name": (
        """
        depth d = 2
        block f(x: [d], y: [d], z: [d] = 7, m: bool[] = true) -> [d] {
            return select(m, x + 10 * y + 100 * z, 0)
        }
        model net(x: [d], y: [d]) -> [d] {
            return f(x, y) + f(y = x, x = y) + f(x, z = x, y = y) + f(x, y, x, false) + f(x, y, m = true)
        }""",
        (X, X + 1),
        2 * (X + 10 * (X + 1) + 700) + (X + 1 + 10 * X + 700) + (X + 10 * (X + 1) + 100 * X),
    ),
    "an argument that lifts": (
        """
        width seq
        depth d = 2
        block f(x: [], y: []) -> (sum: [], only: []) {
            return x + 2 * y, y ^ 2
        }
        model net(x: [d], y: []) -> (a: [d], b: []) {
            return f(x, y)
        }""",
        (X, np.array(3.0)), (X + 6, 9),
    ),
    "an argument that lacks an axis": (
        """
        depth d = 2, e = 3
        block f(x: [d, e], y: [d]) -> [d] {
            return sum[e](x + e) * y
        }
        model net(x: [d], y: [d]) -> [d] {
            return f(x, y)
        }""",
        (X, X + 1), (3 * X + 3) * (X + 1),
    ),
    "repeats": (
        """
        depth d = 2
        const n = 3
        model net(x: [d]) -> [d] {
            y = x
            repeat i in n {
                y = y * 2 + i
                if i % 2 == 1 {
                    y = y + 100
                } else {
                    x = x + y
                }
            }
            repeat.none 0 {
                y = y * 1000
            }
            return x + y
        }""",
        (X,), (X + 2 * X + (2 * X * 2 + 1 + 100) * 2 + 2) + (2 * X * 2 + 1 + 100) * 2 + 2,
    ),
    "repeats in one another": (
        """
        depth d = 2
        model net(x: [d]) -> [d] {
            repeat.a i in 2 {
                repeat.b j in i + 1 {
                    x = x * 3 + 10 * i + j
                }
            }
            return x
        }""",
        (X,), ((X * 3 * 3 + 10) * 3 + 11),
    ),
    "a branch that hangs on the pass, and the number of the pass": (
        """
        depth d = 2
        block f[n: const](x: [d]) -> [d] {
            if n % 2 == 0 {
                x = x + n
            } else {
                x = x * n
            }
            return x
        }
        model net(x: [d]) -> (a: [d], b: [d], c: [d]) {
            a = x
            b = x
            c = x
            repeat.a i in 4 {
                a = a * 2 + i
                if i > 1 {
                    a = a + 100
                }
                repeat.inner j in 3 {
                    if i == j {
                        b = b + 10 * j
                    } else {
                        b = 2 * b
                    }
                }
                c = f[n = i](c)
            }
            return a, b, c
        }""",
        (X,),
        ((((X * 2 * 2 + 1) * 2 + 102) * 2 + 103), ((X * 4 * 2 + 10) * 2 * 4 + 20) * 8, (X * 1 + 2) * 3),
    ),
    "a branch": (
        """
        depth d = 2
        const a = 2, b = 3
        block f[n: const](x: [d]) -> [d] {
            if n == 1 {
                y = x + 1
            } else if n == 2 and a < b {
                y = x + 10
            } else {
                y = x + 100
            }
            if |d| > 2 {
                y = y * 0
            }
            return y
        }
        model net(x: [d]) -> [d] {
            return f[n = 1](x) + f[n = 2](x) + f[n = 3](x)
        }""",
        (X,), 3 * X + 111,
    ),
    "what the size of a width decides, where a call gives one of a fixed size": (
        """
        width three = 3, two = 2
        depth d = 2
        block f[n: width](x: [n, d]) -> [d] {
            if |n| > 2 {
                x = x * 10
            }
            repeat.more |n| {
                x = x + 1
            }
            return sum[n](x)
        }
        model net(x: [three, d], y: [two, d]) -> [d] {
            return f[three](x) + f[two](y)
        }""",
        (np.array([X, X, X]), np.array([X, X])), 3 * (10 * X + 3) + 2 * (X + 2),
    ),
    "a scan": (
        """
        width t
        depth d = 2
        block cell(x: [d], w: [], h: [d], count: [] = 5) -> (h: [d], seen: [d], count: []) {
            return h * 2 + x * w, h, count + 1
        }
        model net(x: [t, d], w: []) -> (h: [t, d], seen: [t, d], count: [t]) {
            h, seen, count = scan[t] cell(x, w, h = 1, count = 7)
            return h, seen, count
        }""",
        (np.array([X, X + 1, X]), np.array(10.0)),
        ([2 + 10 * X, 4 + 20 * X + 10 * (X + 1), 8 + 40 * X + 20 * (X + 1) + 10 * X],
         [X * 0 + 1, 2 + 10 * X, 4 + 20 * X + 10 * (X + 1)], [8, 9, 10]),
    ),
    "a scan that lifts": (
        """
        width t
        depth d = 2
        block cell(x: [], h: []) -> (h: []) {
            return h + x
        }
        model net(x: [t], y: [d]) -> (a: [t, d], b: [t, d]) {
            return scan[t] cell(x, h = y), scan[t] cell(x * broadcast[t](y), h = 0)
        }""",
        (np.array([1.0, 2.0]), X), ([X + 1, X + 3], [X, 3 * X]),
    ),
    "one set of weights, and a call that writes less": (
        """
        depth d = 2
        block f(x: [d], by: [] = 2, plus: [] = 0.5) -> [d] {
            param w: [d] ~ constant(3)
            return x * w * by + plus
        }
        model net(x: [d], y: []) -> [d] {
            share g = f
            return g(x) + 10 * g(x, 4) + 100 * g(x, y) + 1000 * g(x, plus = y)
        }""",
        (X, np.array(7.0)), X * 6 + 0.5 + 10 * (X * 12 + 0.5) + 100 * (X * 21 + 0.5) + 1000 * (X * 6 + 7),
    ),
    "an option that hangs on what the call gives": (
        """
        depth d = 2
        block f[plain: const](x: [d]) -> [d] {
            return linear.W[d -> d](x, init = constant(2), bias = not plain)
        }
        model net(x: [d]) -> [d] {
            return f.a[plain = true](x) + f.b[plain = false](x)
        }""",
        (X,), 4 * X.sum() + 0 * X,
    ),
    "an option that is what the call gives": (
        """
        depth d = 2
        block f[plus: const](x: [d]) -> [d] {
            return layernorm.n[d](x, scale = false, bias = plus, eps = 3 / 4)
        }
        model net(x: [d]) -> [d] {
            return f[plus = false](x)
        }""",
        (X,), np.array([-0.5, 0.5]),
    ),
    "a variable that is a number": (
        """
        depth d = 2
        model net(x: [d]) -> [d] {
            n = 2 + floor(|d| / 2)
            repeat.r n * 1 {
                x = 2 * x
            }
            return x
        }""",
        (X,), X * 8,
    ),
    "a state that is left to its default": (
        """
        width t
        block cell(x: [], h: [], n: [] = 5) -> (h: [], n: []) {
            return h + x * n, n + 1
        }
        model net(x: [t]) -> [t] {
            h, _ = scan[t] cell(x, h = 1)
            return h
        }""",
        (np.array([1.0, 2.0, 3.0]),), [6, 18, 39],
    ),
    "renames in turn": (
        """
        width i
        width j like i
        width k like i
        model net(x: [i, j]) -> [k, i] {
            return x[i as k, j as i]
        }""",
        (np.arange(4.0).reshape(2, 2),), np.arange(4.0).reshape(2, 2),
    ),
    "a gather along several": (
        """
        width i, j
        depth d = 3
        model net(x: [i, d], at: i[j], by: d[j]) -> [j] {
            return x[i = at, d = by]
        }""",
        (np.arange(6.0).reshape(2, 3), np.array([1, 0, 1]), np.array([2, 2, 0])), [5, 2, 3],
    ),
    "an index at its ends": (
        """
        width i
        model net(x: [i]) -> (a: [i], b: [i], c: []) {
            return x[i = max(i - 1, 0)], x[i = min(i + 1, |i| - 1)], x[i = |i| - 1]
        }""",
        (np.array([1.0, 2.0, 3.0]),), ([1, 1, 2], [2, 3, 3], 3),
    ),
    "masks that keep all": (
        """
        width i
        depth d = 2
        block f(x: [i, d], m: bool[i] = true) -> [d] {
            return sum[i](x where m)
        }
        model net(x: [i, d], m: bool[i]) -> [d] {
            return f(x) + 10 * f(x, m) + 100 * f(x, true)
        }""",
        (np.array([X, X + 1]), np.array([False, True])), (2 * X + 1) * 101 + 10 * (X + 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_comes_out(case: tuple[str, tuple[Any, ...], Any]) -> None:
    text, given, wanted = case
    found = attnc.loads(text).model("net").numpy(dtype=np.float64)(*given)
    if not isinstance(wanted, tuple):
        found, wanted = (found,), (wanted,)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, np.asarray(b, dtype=float), rtol=1e-12)


USED = """
depth d = 8, key = d / 2
const n = 2, m = n + 1
block layer(x: [d]) -> [d] {
    return x * n + 10 * m + 100 * |key|
}
"""
USING = """
use other: layer, d as size, n
config big { size = 4, n = 3 }
config small { size = 2 }
model net(x: [size]) -> [size] {
    return layer(x) + 10000 * n
}
"""


@pytest.mark.parametrize(
    ("config", "sizes", "size", "n"),
    [
        (None, {}, 8, 2),
        (None, {"n": 5}, 8, 5),
        (None, {"size": 6, "n": 5}, 6, 5),
        ("big", {}, 4, 3),
        ("small", {}, 2, 2),
        ("big", {"n": 7}, 4, 7),
        ("big", {"size": 10}, 10, 3),
        ("small", {"n": 1}, 2, 1),
    ],
)
def test_sizes_and_consts_of_a_used_file(
    config: str | None, sizes: dict[str, int], size: int, n: int, tmp_path: Path
) -> None:
    """What is set replaces what a config says, and that what the files say; what is made of it follows."""
    (tmp_path / "other.attn").write_text(USED, encoding="utf-8")
    (tmp_path / "main.attn").write_text(USING, encoding="utf-8")
    model = attnc.load(tmp_path / "main.attn", config=config, sizes=sizes).model("net")
    found = model.numpy(dtype=np.float64)(np.ones(size))
    np.testing.assert_array_equal(found, np.full(size, n + 10 * (n + 1) + 100 * (size // 2) + 10000 * n))
