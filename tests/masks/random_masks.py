"""Random masks as specs write them: every kind of atom, joined and negated at will."""

from __future__ import annotations

import random

ATOMS = (
    "k <= q", "k < q", "q <= k", "k == q", "q - k < {a}", "k - q <= {b}", "abs(q - k) <= {a}", "abs(k - q) > {b}",
    "(q - k) % {s} == 0", "(q + k) % {s} != {b}", "k % {s} == 0", "floor(q / {a}) == floor(k / {a})",
    "floor(k / {s}) <= floor(q / {s})", "k < {a}", "q >= {b}", "k < n", "int(k) < n + {b}", "q - k < n", "real[q as k]",
    "real", "part == part[q as k]", "part[q as k] <= part", "m", "2 * int(q) - int(k) <= {a}", "k >= |k| - {a}",
    "max(q - k, 0) < {a}", "sin(int(q) * int(k)) > 0", "q - k < {a}.5", "far",
    "even[q, k]()", "near[q, k, reach = {a}]()",
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
block layer[q: width, k: width like q](x: [q, d], mask: bool[q, k] = true) -> [q, d] {{
    Q = linear[d -> h, g, d](x)
    K = linear[d -> h, d](x)
    V = linear[d -> h, v](x)
    return linear.O[h, g, v -> d](attend[q, k](Q, K[q as k], V[q as k], -0.1 * abs(q - k), mask))
}}
model f(x: [q, d], n: int[], real: bool[q], part: int[q], m: bool[q, k]) -> [q, d] {{
    repeat i in layers {{
        x = x + layer[q, k](x, {mask})
    }}
    return x
}}
"""


def mask(draw: random.Random, depth: int) -> str:
    """A mask of at most `depth` levels of `and`, `or`, `not`."""
    if depth == 0 or draw.random() < 0.2:
        numbers = {"a": draw.choice((1, 2, 5, 40, 100)), "b": draw.choice((0, 1, 30)), "s": draw.choice((1, 2, 3, 70))}
        atom = draw.choice(ATOMS).format(**numbers)
        if atom == "far":
            return draw.choice(("q - k < far", "(i % 2 == 1 or q - k < far)", "k <= q * 1 + c * i"))
        return atom
    op = draw.choice(("and", "and", "or", "not"))
    if op == "not":
        return f"not ({mask(draw, depth - 1)})"
    return f"({mask(draw, depth - 1)} {op} {mask(draw, depth - 1)})"


def whole(draw: random.Random) -> str:
    """A mask that says something of keys: a softmax over keys asks for that."""
    text = mask(draw, draw.choice((0, 1, 2, 3)))
    return text if "k" in text else f"{text} and k >= 0"


def spec(seed: int) -> str:
    """A spec with one random mask, made by the caller and used two blocks further in."""
    draw = random.Random(seed)
    return SPEC.format(
        heads=draw.choice((1, 2)),
        groups=draw.choice((1, 2)),
        far=draw.choice((1, 9, 100)),
        c=draw.choice((0, 2, 50)),
        mask=whole(draw),
        scores=draw.choice(SCORES),
    )
