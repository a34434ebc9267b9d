"""Random decoders: attention of all kinds to the past and to a memory, shifts, scans, sums, in repeats and blocks."""

from __future__ import annotations

import random

HEAD = """\
width seq
width past like seq
width third like seq
width other
width another like other
depth d = 4, key = 3, low = 2, heads = 2, tap = 3, far = 5
const layers = 3, two = 2

block cell(x: [d], h: [d]) -> (h: [d]) {
    return tanh(linear.x[d -> d](x) + h)
}
block pair(x: [d], h: [d], c: [d]) -> (h: [d], c: [d]) {
    c = c * sigmoid(linear.g[d -> d](x)) + h
    return tanh(c), c
}
block feed(x: [d]) -> [d] {
    return linear.down[key -> d](relu(linear.up[d -> key](x)))
}
block attend[q: width, k: width](Q: [q, key], K: [k, key], V: [k, d], mask: bool[q, k] = true) -> [q, d] {
    return dot[k](softmax[k](dot[key](Q, K) where mask), V)
}
block look[q: width, k: width](x: [q, d], y: [k, d], mask: bool[q, k] = true) -> [q, d] {
    Q = linear[d -> heads, key](x)
    K = linear[d -> heads, key](y, bias = false)
    V = linear[d -> heads, d](y)
    return linear.O[heads, d -> d](attend[q, k](Q, K, V, mask))
}
block latent(x: [seq, d], mask: bool[seq, past]) -> [seq, d] {
    small = linear.small[d -> low](x)
    K = linear.K[low -> heads, key](small)[seq as past]
    V = linear.V[low -> heads, d](small)[seq as past]
    Q = linear.Q[d -> heads, key](x)
    return sum[heads](attend[seq, past](Q, K, V, mask))
}
block rotated(x: [seq, d], mask: bool[seq, past]) -> [seq, d] {
    angle = sin(seq / 7)
    Q = linear.Q[d -> key](x) * broadcast[key](angle)
    K = linear.K[d -> key](x) * broadcast[key](angle)
    return attend[seq, past](Q, K[seq as past], linear.V[d -> d](x)[seq as past], mask)
}
block biased(x: [seq, d], mask: bool[seq, past]) -> [seq, d] {
    param table: [far] ~ normal(1)
    bias = table[far = clamp(seq - past, 0, |far| - 1)]
    return dot[past](softmax[past](dot[d](x, x[seq as past]) + bias where mask), x[seq as past])
}
block encode(y: [other, d]) -> [other, d] {
    repeat two {
        y = y + look[other, another](y, y[other as another])
    }
    return y
}
block across(x: [seq, d], y: [other, d]) -> (x: [seq, d], y: [other, d]) {
    y = feed(y)
    return x + look[seq, other](x, y), y
}
"""

MASKS = [
    "past <= seq",
    "past <= seq",
    "past < seq",
    "past <= seq and seq - past < {n}",
    "past <= seq and seq - past <= {n}",
    "abs(seq - past) <= {n} and past <= seq",
    "past <= seq and (seq - past) % {n} == 0",
    "past + {n} <= seq",
    "past <= seq and not (seq - past > {n})",
    "past <= seq and (seq - past < {n} or past < 2)",
    "past <= seq and sum[d](x[seq as past]) > 0",
]
BY_PASS = [
    "past <= seq and (i % 2 == 0 or seq - past < {n})",
    "past <= seq and seq - past <= i + 1",
    "past <= seq and (i > 0 or past == seq)",
    "past <= seq and seq - past < {n} * (i + 1)",
]
LAYERS = [
    "look.{name}[seq, past](x, x[seq as past], {mask})",
    "look.{name}[seq, past](x, x[seq as past], {mask})",
    "look.{name}[seq, past](x, feed.{name}f(x)[seq as past], {mask})",
    "look.{name}[seq, other](x, y)",
    "look.{name}[seq, other](x, encode.{name}e(y))",
    "look.{name}[seq, other](x, m)",
    "latent.{name}(x, {mask})",
    "rotated.{name}(x, {mask})",
    "biased.{name}(x, {mask})",
    "dot[past](softmax[past](dot[d](x, k) where {mask}), x[seq as past])",
    "sum[past](broadcast[seq](x[seq as past]) where {mask})",
    "max[past](broadcast[seq](x[seq as past]) where past <= seq and seq - past < {n})",
    "select(any[past](broadcast[seq](x[seq as past]) > 0 where {mask}), x, x / 2)",
    "embed.{name}[far -> d](index[far](clamp(seq - argmax[past](dot[d](x, x[seq as past]) where past <= seq), 0, 4)))",
    "sum[third](sum[past](broadcast[seq](x[seq as past]) where third <= seq and past <= third))",
    "x[seq = max(seq - {n}, 0)]",
    "x[seq = index[seq](max(int(seq) - {n}, 0))]",
    "x[seq = clamp(seq - {n}, 0, |seq| - 1)] * x[seq = max(seq - 1, 0)]",
    "x[seq = floor(seq / 2)]",
    "linear.{name}[tap, d -> d](window[seq -> seq, tap](x, pad = |tap| - 1))",
    "cumsum[seq](x)",
    "cumsum[seq](x) / broadcast[d](cumsum[seq](broadcast[seq](1.0)))",
    "cumsum[seq](feed.{name}(x))[seq = max(seq - 1, 0)]",
    "scan[seq] cell.{name}(x, h = 0)",
    "scan[seq] cell.{name}(x, h = mean[other](y))",
    "x * broadcast[d](sin(seq / {n}))",
    "x * broadcast[d](t)",
    "x + broadcast[seq](mean[other](m))",
    "x + broadcast[seq](scan[other] cell.{name}(y, h = 0)[other = 0])",
    "feed.{name}(x)",
    "layernorm.{name}[d](x)",
    "dropout(feed.{name}(x), 0.1)",
    "embed.{name}[d -> d](argmax[d](x))",
    "select(seq % 2 == 0, x, feed.{name}(x))",
]
STATEMENTS = [
    "y = feed.{name}(y)",
    "m = y + feed.{name}(m)",
    "k = feed.{name}(x)[seq as past]",
    "k = x[seq as past]",
    "x, c = scan[seq] pair.{name}(x, h = 0, c = 0)",
    "x, y = across.{name}(x, y)",
    "t = t[seq = max(seq - 1, 0)]",
    "unread = look.{name}[seq, past](x, x[seq as past], past <= seq)",
]


class Draw:
    def __init__(self, seed: int) -> None:
        self.rolls = random.Random(seed)
        self.names = 0

    def layer(self, masks: list[str]) -> str:
        self.names += 1
        n = self.rolls.randint(1, 4)
        mask = self.rolls.choice(masks).format(n=n)
        if self.rolls.random() < 0.15:
            return self.rolls.choice(STATEMENTS).format(name=f"l{self.names}")
        kind = self.rolls.choice(LAYERS).format(name=f"l{self.names}", n=n, mask=mask)
        return f"x = {self.rolls.choice(['', 'x + ', 'x + '])}{kind}"

    def several(self, most: int, masks: list[str]) -> list[str]:
        return [self.layer(masks) for _ in range(self.rolls.randint(1, most))]

    def nested(self) -> list[str]:
        """A repeat: plain, by the number of the pass, with branches, with one set of weights, or one in another."""
        kind = self.rolls.choice(["plain", "index", "index", "branches", "shared", "inner"])
        masks = MASKS if kind in ("plain", "shared", "inner") else [*MASKS, *BY_PASS * 3]
        inside = self.several(3, masks)
        if kind == "branches":
            test = self.rolls.choice(["i == 0", "i % 2 == 1"])
            inside = [f"if {test} {{", *inside, "} else {", *self.several(2, masks), "}"]
        if kind == "inner":
            inside += ["repeat.inside two {", *self.several(2, MASKS), "}"]
        self.names += 1
        index = "" if masks is MASKS else " i in"
        count = self.rolls.choice(["layers", "layers", "two", "1"])
        return [f"repeat.r{self.names}{index} {count}{' shared' if kind == 'shared' else ''} {{", *inside, "}"]

    def body(self) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rolls.randint(1, 3)):
            lines += self.nested() if self.rolls.random() < 0.4 else self.several(2, MASKS)
        return lines


def decoder(seed: int) -> str:
    lines = ["m = encode(y)", "k = x[seq as past]", "t = cos(seq / 3)", *Draw(seed).body(), "return x"]
    inside = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}\nmodel net(x: [seq, d], y: [other, d]) -> [seq, d] causal seq {{\n{inside}\n}}\n"
