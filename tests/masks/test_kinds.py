"""What masks are called: bounds, strides, blocks and data, however they are written."""

from __future__ import annotations

import pytest

from attnc import loads

SPEC = """\
width q
width k like q
width u
depth h = 1, d = 16
const near = 128, step = 8, half = 0.5
op far[a: width, b: width](n: int[]) -> bool[a, b] = "mod:far"
block within[a: width, b: width like a](n: int[]) -> bool[a, b] {
    return a - b < n
}
block spread[a: width, b: width like a, n: const]() -> bool[a, b] {
    return (a - b) % n == 0
}
block padded[a: width, b: width like a](real: bool[b]) -> bool[a, b] {
    return b <= a and real
}
block along[a: width, b: width like a](at: a[a], n: int[]) -> bool[a, b] {
    return b <= at and b > n
}
block odd[a: width, b: width like a](y: [a, b]) -> bool[a, b] {
    return y > 0 and b <= a
}
block tail[b: width](n: int[]) -> bool[b] {
    return b >= |b| - n
}
block two[a: width, b: width like a](n: int[]) -> (first: bool[a, b], second: bool[a, b]) {
    return a - b < n, b < n and a >= 1
}
block plain[a: width, b: width like a](m: bool[a, b]) -> bool[a, b] {
    return m
}
block sized[a: width, b: width like a]() -> bool[a, b] {
    return a - b < |b| / 2
}
block ruled[a: width, b: width like a](p: int[a], r: int[b]) -> bool[a, b] {
    return p == r or b <= a
}
model f(
    Q: [h, q, d], K: [h, k, d], V: [h, k, d], n: int[], j: int[], p: int[q], i: k[q], r: [q], y: [q, k],
    real: bool[q], m: bool[q, k]
) -> [h, q, d] {
    BEFORE
    return dot[k](softmax[k](dot[d](Q, K) where MASK), V)
}
"""

NAMES = """
k <= q                                     | causal
q >= k                                     | causal
not (k > q)                                | causal
not not (q >= k)                           | causal
not q < k                                  | causal
k - 1 < q                                  | causal
k < q + 1                                  | causal
q + 1 > k                                  | causal
-(q) <= -(k)                               | causal
-k >= -q                                   | causal
k <= int(q)                                | causal
k <= floor(q)                              | causal
k <= q and true                            | causal
k <= q or false                            | causal
k < q                                      | band 1 ..
q > k                                      | band 1 ..
k <= q - 1                                 | band 1 ..
k >= q                                     | band .. 0
q <= k                                     | band .. 0
not (k <= q)                               | band .. -1
k == q                                     | positions
k != q                                     | positions
q - k >= 2                                 | band 2 ..
q - k > 2                                  | band 3 ..
q - k <= 5                                 | band .. 5
q - k < 5                                  | band .. 4
k - q <= 5                                 | band -5 ..
k - q < 5                                  | band -4 ..
k - q >= -3                                | band .. 3
k - q > -3                                 | band .. 2
5 >= q - k                                 | band .. 5
5 > q - k                                  | band .. 4
-5 <= k - q                                | band .. 5
q + 2 * 3 >= k                             | band -6 ..
-(k - q) <= 3                              | band .. 3
-q + k <= 3                                | band -3 ..
q - k < near - 1                           | band .. 126
q - k <= |d|                               | band .. 16
q - k <= |d| * near                        | band .. 2048
q - k < 2.5                                | band .. 2
q - k <= 2.5                               | band .. 2
q - k > 2.5                                | band 3 ..
q - k >= 2.5                               | band 3 ..
q - k <= half                              | band .. 0
abs(q - k) < 2.5                           | band -2 .. 2
q - k >= 2 and q - k <= 5                  | band 2 .. 5
q - k >= 2 and q - k >= 3                  | band 3 ..
q - k <= 2 and q - k <= 3                  | band .. 2
k - q <= 0 and q - k <= 0                  | band 0 .. 0
q - k <= 5 and q - k < n                   | band .. min(5, n - 1)
q - k >= n and k - q <= j                  | band max(n, -j) ..
q - k < n                                  | band .. n - 1
q - k <= n                                 | band .. n
q - k >= n                                 | band n ..
q - k > n                                  | band n + 1 ..
k - q < n                                  | band -n + 1 ..
k - q <= n                                 | band -n ..
k - q >= n                                 | band .. -n
k - q > n                                  | band .. -n - 1
n >= k - q                                 | band -n ..
n > q - k                                  | band .. n - 1
k - q - n < 0                              | band -n + 1 ..
k - q + n < 0                              | band n + 1 ..
q + n > k                                  | band -n + 1 ..
q < k + n                                  | band .. n - 1
q - n <= k                                 | band .. n
q - k < n + j                              | band .. a number - 1
k <= q + -(n)                              | band -(a number) ..
q - k <= |k|                               | band .. |k|
q - k <= |k| - 1                           | band .. |k| - 1
q - k < (|k| + 1) * 2                      | band .. (|k| + 1) * 2 - 1
k - q <= |k| - 1                           | band -(|k| - 1) ..
abs(q - k) <= n                            | band -n .. n
abs(q - k) < n                             | band -(n - 1) .. n - 1
n >= abs(q - k)                            | band -n .. n
n > abs(q - k)                             | band -(n - 1) .. n - 1
abs(q - k) <= |k| - 2                      | band -(|k| - 2) .. |k| - 2
abs(k - q) <= 3                            | band -3 .. 3
abs(k - q) < 3                             | band -2 .. 2
abs(q - k) < 1                             | band 0 .. 0
3 >= abs(k - q)                            | band -3 .. 3
3 > abs(k - q)                             | band -2 .. 2
abs(int(q) - int(k)) <= 3                  | band -3 .. 3
abs(q - k) <= near and k <= q              | band 0 .. 128
abs(q - k) <= near and q - k < n           | band -128 .. min(128, n - 1)
3 <= abs(k - q)                            | positions
abs(q - k) >= 3                            | positions
abs(q - k) == 3                            | positions
abs(q + k) <= 3                            | positions
abs(q - k + 1) <= 3                        | positions
abs(q - k + n) <= 3                        | positions
abs(q - k) <= k                            | positions
abs(q - k) <= p                            | positions
not (abs(q - k) <= 3)                      | positions
q + k <= 8                                 | positions
2 * q <= 2 * k                             | positions
2 * int(q) - int(k) <= 3                   | positions
k * 2 <= q                                 | positions
k * n <= q                                 | positions
1 * (k + n) <= q                           | positions
(k - |k|) * 1 <= q                         | positions
q <= |k| - 1 - k                           | positions
q - k < p                                  | positions
k + n <= q + j                             | positions
k + n + j <= q                             | positions
k <= q + p                                 | positions
k <= i                                     | positions
i == k                                     | positions
k <= floor(q / 2)                          | positions
floor(k / 2) * 2 <= q                      | positions
k % 3 == q % 3                             | positions
(q - k) % 8 == k                           | positions
min(q, 3) <= k                             | positions
(k <= q) == real                           | positions
(q - k) % 8 == 0                           | strided by 8
(k - q) % 8 != 0                           | strided by 8
0 == (q - k) % 8                           | strided by 8
(q - k) % step < 3                         | strided by 8
(q - k) % (2 * step) == 0                  | strided by 16
(q - k + 1) % 8 == 0                       | strided by 8
(q - k) % |k| == 0                         | strided by |k|
(q + k) % 8 == 0                           | periodic
k % 8 == 0                                 | periodic
floor(q / 8) == floor(k / 8)               | blocks of 8
floor(q / step) == floor(k / step)         | blocks of 8
floor(q / |k|) == floor(k / |k|)           | blocks of |k|
floor(q / 8) != floor(k / 8)               | blocks of 8, apart
floor(k / 8) <= floor(q / 8)               | blocks of 8, ordered
floor((q + 1) / 2) >= floor(k / 2)         | blocks of 2, ordered
floor(k / 8) <= floor(q / 4)               | positions
floor(i / 3) == floor(k / 3)               | positions
k < n                                      | prefix
k <= n                                     | prefix
n > k                                      | prefix
n >= k                                     | prefix
4 > k                                      | prefix
-k > -4                                    | prefix
-k >= -n                                   | prefix
k < |k| - n                                | prefix
k > n                                      | keys at given places
k >= n                                     | keys at given places
n < k                                      | keys at given places
n <= k                                     | keys at given places
k == n                                     | keys at given places
k != 4                                     | keys at given places
-k < 4                                     | keys at given places
-k <= 4                                    | keys at given places
q < 4 or k <= q                            | queries at given places or causal
q >= n or k <= q                           | queries at given places or causal
p == p[q as k]                             | segments
p[q as k] <= p                             | segments
floor(q / n) == floor(k / n)               | segments
p[q as k] <= 3                             | padding
not real[q as k]                           | padding
real[q as k]                               | padding `real`
m                                          | dense `m`
not m                                      | not dense `m`
m and real                                 | dense `m` and queries `real`
m == real                                  | dense
m or k <= q                                | dense `m` or causal
not (m and k <= q)                         | not dense `m` or band .. -1
not (m or k <= q)                          | band .. -1 and not dense `m`
not (real and real[q as k])                | not queries `real` or not padding `real`
not (k <= q and (q - k) % 2 == 0)          | band .. -1 or strided by 2
(m or k < 3) and k <= q                    | causal and (dense `m` or prefix)
(k <= q or real) and (k < 3 or q < 3)      | (causal or queries `real`) and (prefix or queries at given places)
real or real[q as k] and k <= q            | queries `real` or (causal and padding `real`)
k <= q and n > 3                           | causal and switch
r > 0 and k <= q                           | causal and queries
y > 0 and k <= q                           | causal and dense
within[q, k](n)                            | band .. n - 1
within[q, k](n + 1)                        | band .. a number - 1
within[q, k](3)                            | band .. 2
within[q, k](near)                         | band .. 127
spread[q, k, n = step]()                   | strided by 8
spread[q, k, n = 3]()                      | strided by 3
sized[q, k]()                              | band .. |k| / 2 - 1
padded[q, k](real[q as k])                 | causal and padding `real`
padded[q, k](real[q as k] and k < 3)       | causal and padding `real` and prefix
along[q, k](q, n)                          | causal and keys at given places
along[q, k](q, 3)                          | causal and keys at given places
tail[k](n) and k <= q                      | causal and padding
plain[q, k](k <= q)                        | causal
plain[q, k](m and k <= q)                  | dense
plain[q, k](real[q as k]) and k <= q       | causal and padding
ruled[q, k](p, p[q as k])                  | segments or causal
odd[q, k](y)                               | dense
far[q, k](n) and k <= q                    | causal and dense
broadcast[q](k < n)                        | prefix
a and b; a = k <= q; b = q - k < n         | band 0 .. n - 1
a and b; a, b = two[q, k](n)               | band .. n - 1 and prefix and queries at given places
"""

UNREAD = """
(q - k) % n == 0                           | the divisor of `%` is not a number
(q - k) % (h + 1) == 0                     | the divisor of `%` is not a number
(q - k) % -2 == 0                          | the divisor of `%` is not a number
(q - k) % (2 - step) == 0                  | the divisor of `%` is not a number
q * k < 8                                  | it multiplies two positions
y > 0                                      | it compares real numbers
k <= half * q                              | it compares real numbers
max(q, k) < 3                              | `max` is not read through
floor(y) <= 3                              | it rounds what is no quotient of a whole number by a number
floor(y / 2) <= 3                          | it rounds what is no quotient of a whole number by a number
floor((q - k) / n) <= 3                    | it rounds what is no quotient of a whole number by a number
floor((q - k) / -2) <= 3                   | it rounds what is no quotient of a whole number by a number
floor(q / (k + 1)) <= 3                    | it rounds what is no quotient of a whole number by a number
floor((q - k) * 2) <= 3 and m              | it is data
odd[q, k](y)                               | `odd` makes a part of it that is not read through
far[q, k](n)                               | it is data
m                                          | it is data
"""


def rows(table: str) -> list[tuple[str, str]]:
    return [
        (mask.strip(), said.strip()) for mask, _, said in (row.rpartition(" | ") for row in table.strip().splitlines())
    ]


def spec(mask: str) -> str:
    mask, *before = mask.split("; ")
    return SPEC.replace("MASK", mask).replace("BEFORE", "\n    ".join(before))


@pytest.mark.parametrize(("mask", "name"), rows(NAMES), ids=[mask for mask, _ in rows(NAMES)])
def test_names(mask: str, name: str) -> None:
    (one,) = loads(spec(mask)).model("f").explain().attended
    assert one.sees == name
    assert ("is_causal" in one.how["torch"]) == (name == "causal")


@pytest.mark.parametrize(("mask", "why"), rows(UNREAD))
def test_what_is_not_read_is_said(mask: str, why: str) -> None:
    (one,) = loads(spec(mask)).model("f").explain().attended
    assert [part.why for part in one.unread] == [why]


def test_a_mask_that_is_too_long_is_not_read() -> None:
    distances = " or ".join(f"q - k == {n}" for n in range(70))  # three operations each
    (one,) = loads(spec(distances)).model("f").explain().attended
    assert [part.why for part in one.unread] == ["it is longer than 200 operations"]


def test_widths_of_their_own_are_not_causal_for_the_kernel() -> None:
    """`is_causal` wants as many keys as queries."""
    text = (
        spec("int(k) <= int(q)").replace("width k like q", "width k").replace("[q as k]", "").replace("i: k[q], ", "")
    )
    text = text[: text.index("block")] + text[text.index("model") :]
    (one,) = loads(text).model("f").explain().attended
    assert one.sees == "causal"
    assert "is_causal" not in one.how["torch"]


# In a block that is given a size: a number of which only the call knows how large it is.
GIVEN_A_SIZE = """
(q - k) % n == 0                           | strided by n
(q - k) % (n + n) == 0                     | strided by a number
floor(q / n) == floor(k / n)               | blocks of n
floor(q / n) == floor(k / 4)               | positions
q - k < n                                  | band .. n - 1
q - k <= sqrt(n)                           | band .. a number
(q - k) % floor(sqrt(n)) == 0              | strided by a number
k * n <= q                                 | positions
"""


@pytest.mark.parametrize(("mask", "name"), rows(GIVEN_A_SIZE))
def test_numbers_that_a_block_is_given(mask: str, name: str) -> None:
    text = (
        "width q\nwidth k like q\ndepth d = 16, e = 9\n"
        "block attend(Q: [q, d], K: [k, d], V: [k, d], n: int[]) -> [q, d] {\n"
        f"    return dot[k](softmax[k](dot[d](Q, K) where {mask}), V)\n}}\n"
    )
    text += "model f(Q: [q, d], K: [k, d], V: [k, d]) -> [q, d] {\n    return attend(Q, K, V, |e|)\n}\n"
    (one,) = loads(text).model("f").explain().attended
    assert one.sees == name
