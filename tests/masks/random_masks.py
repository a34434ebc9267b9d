"""Random masks as specs write them: every kind of atom, joined, negated and said twice at will."""

from __future__ import annotations

import random
import re

ATOMS = (
    "k <= q", "k < q", "q <= k", "k == q", "q - k < {a}", "k - q <= {b}", "abs(q - k) <= {a}", "abs(k - q) > {b}",
    "(q - k) % {s} == 0", "(q + k) % {s} != {b}", "k % {s} == 0", "floor(q / {a}) == floor(k / {a})",
    "floor(k / {s}) <= floor(q / {s})", "k < {a}", "q >= {b}", "2 * int(q) - int(k) <= {a}", "k >= |k| - {a}",
    "max(q - k, 0) < {a}", "sin(int(q) * int(k)) > 0", "q - k < {a}.5", "far",
    "even[q, k]()", "near[q, k, reach = {a}]()",
)  # fmt: skip
DATA = (
    "k < n", "int(k) < n + {b}", "q - k < n", "real[q as k]", "real", "part == part[q as k]", "part[q as k] <= part",
    "q - k < part[q as k]", "m",
)  # fmt: skip

PRODUCT = "dot[d](Q, K) / sqrt(|d|)"
SCORES = (PRODUCT, PRODUCT, f"capped({PRODUCT}, 2.5)", "2 * tanh(dot[d](Q, K) / 2)", f"{PRODUCT} + offset")

SPEC = """\
width q
width k like q
depth h = {heads}, g = {groups}, d = 4, v = 3
const layers = 2, far = {far}, c = {c}

block even[q: width, k: width like q]() -> bool[q, k] {{
    return (q - k) % 2 == 0
}}
block near[q: width, k: width like q, reach: const]() -> bool[q, k] {{
    return abs(q - k) <= reach
}}
block capped(x: [], cap: []) -> [] {{
    return cap * tanh(x / cap)
}}
block attend[q: width, k: width](Q: [q, d], K: [k, d], V: [k, v], offset: [q, k], mask: bool[q, k] = true) -> [q, v] {{
    weights = softmax[k]({scores} where mask)
    return dot[k](weights, V)
}}
block layer[q: width, k: width like q](
    x: [q, d], mask: bool[q, k] = true, n: int[] = 0, real: bool[q] = true, part: int[q] = 0, m: bool[q, k] = true
) -> [q, d] {{
    Q = linear[d -> h, g, d](x)
    K = linear[d -> h, d](x[q as k])
    V = linear[d -> h, v](x[q as k])
    offset = -0.1 * abs(q - k)
    return linear.O[h, g, v -> d]({attention})
}}
model f(x: [q, d], n: int[], real: bool[q], part: int[q], m: bool[q, k]) -> [q, d] {{
    repeat i in layers {{
        x = x + layer[q, k](x, {outside})
    }}
    return x
}}
"""


class Masks:
    """Draws masks of at most so many levels of `and`, `or`, `not`; now and then of what it drew before."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.made: list[str] = []

    def mask(self, depth: int) -> str:
        if self.made and self.draw.random() < 0.35:
            return self.draw.choice(self.made)
        text = self.atom() if depth == 0 or self.draw.random() < 0.2 else self.joined(depth)
        self.made.append(text)
        return text

    def atom(self) -> str:
        draw = self.draw
        numbers = {"a": draw.choice((1, 2, 5, 40, 100)), "b": draw.choice((0, 1, 30)), "s": draw.choice((1, 2, 3, 70))}
        atom = draw.choice(draw.choice((ATOMS, DATA))).format(**numbers)
        if atom == "far":
            return draw.choice(("q - k < far", "(i % 2 == 1 or q - k < far)", "k <= q * 1 + c * i"))
        return atom

    def joined(self, depth: int) -> str:
        op = self.draw.choice(("and", "and", "or", "not"))
        if op == "not":
            return f"not ({self.mask(depth - 1)})"
        return f"({self.mask(depth - 1)} {op} {self.mask(depth - 1)})"


def whole(draw: random.Random) -> str:
    """A mask that says something of keys: a softmax over keys asks for that."""
    text = Masks(draw).mask(draw.choice((0, 1, 2, 3, 3)))
    return text if "k" in text else f"{text} and k >= 0"


def spec(seed: int) -> str:
    """A spec with one random mask: made by the caller and used two blocks further in, or made where it is read."""
    draw = random.Random(seed)
    mask = whole(draw)
    here = "i" not in {*re.findall(r"\w+", mask)} and draw.random() < 0.5
    scores = draw.choice(SCORES)
    inside = f"mask and {mask}" if here else "mask"
    attention = (f"attend[q, k](Q, K, V, offset, {inside})", f"dot[k](softmax[k]({scores} where {inside}), V)")
    return SPEC.format(
        heads=draw.choice((1, 2)),
        groups=draw.choice((1, 2)),
        far=draw.choice((1, 9, 100)),
        c=draw.choice((0, 2, 50)),
        outside="true, n, real, part, m" if here else mask,
        attention=draw.choice(attention),
        scores=scores,
    )
