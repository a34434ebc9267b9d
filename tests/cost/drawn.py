"""Random stacks of layers along one width: attention, windows, shifts, chunks, scans, in repeats and blocks."""

from __future__ import annotations

import random

HEAD = """\
width seq
width past like seq
width third like seq
depth model = 3, tap = 3, place = 4, wide = 6, heads = 2, expert = 4, best = 2
depth other like place, half = 2, quarter = 2
width chunk = seq / 4, longer = seq + 3, double = 2 * seq, triple = 3 * seq
width before like chunk
const layers = 3, two = 2, near = 2

block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(linear.x[model -> model](x) + h)
}
block pair(x: [model], h: [model], c: [model]) -> (h: [model], c: [model], unread: [model]) {
    c = c * sigmoid(linear.g[model -> model](x)) + h
    return tanh(c), c, exp(x)
}
block feed(x: [model]) -> [model] {
    param scale: [model] ~ ones frozen
    return linear.down[wide -> model](relu(linear.up[model -> wide](x * scale)))
}
block look[q: width, k: width like q, far: const = 3](x: [q, model], mask: bool[q, k] = true) -> [q, model] {
    Q = linear[model -> heads, tap](x)
    K = linear[model -> heads, tap](x, bias = false)
    scores = dot[tap](Q, K[q as k]) / 2
    w = softmax[k](scores where mask and q - k <= far)
    return linear.O[heads, model -> model](dot[k](dropout(w, 0.1), x[q as k]))
}
block both(x: [seq, model], y: [seq, model]) -> (x: [seq, model], y: [seq, model]) {
    h = feed(y)
    return x, h + look[seq, past, far = 1](x)
}
block experts(x: [model]) -> [model] {
    gate = softmax[expert](linear.router[model -> expert](x))
    chosen = topk[expert -> best](gate)
    return dot[best](gate[expert = chosen], linear.e[expert: model -> model](x)[expert = chosen])
}
"""

MASKS = [
    "past <= seq",
    "past < seq",
    "abs(seq - past) <= {n}",
    "abs(seq - past) < {n}",
    "past <= seq and seq - past <= {n}",
    "past >= seq and past - seq <= {n}",
    "seq - past > -{n} and {n} + 1 >= past - seq",
    "not (past > seq) and seq <= past + {n}",
    "past <= seq or seq - past <= {n}",
    "abs(seq - past) <= {n} or past == seq",
    "(seq - past) % {n} == 0",
    "past <= seq and (seq - past) % {n} == 0",
    "abs(seq - past) <= near and (two == 2 or past <= seq)",
    "abs(seq - past) <= {n} and sum[model](x) > 0",
    "true",
    "past + 1 <= seq + {n} and past >= seq - {n}",
    "seq - past <= {n}",
]
CHUNKS = "split[seq -> chunk, place](x)"
NEAR = [
    "look.{name}[seq, past](x, {mask})",
    "look.{name}[seq, past](x, {mask})",
    "look.{name}[seq, past, far = {n}](x)",
    "dot[past](softmax[past](dot[model](x, x[seq as past]) where {mask}), x[seq as past])",
    "sum[past](broadcast[seq](x[seq as past]) where {mask})",
    "linear.{name}[tap, model -> model](window[seq -> seq, tap](x, pad = {p}))",
    "sum[tap](window[seq -> seq, tap](x, pad = {p}))",
    "x[seq = max(seq - {n}, 0)]",
    "x[seq = min(seq + {n}, |seq| - 1)]",
    "x[seq = index[seq](max(int(seq) - {n}, 0))]",
    "x[seq = clamp(seq - {n}, 0, |seq| - 1)]",
    "sum[tap](x[seq = min(int(tap) + int(seq), |seq| - 1)])",
    "sum[tap](sum[place](x[seq = clamp(int(seq) + {n} * int(tap) - 2 * int(place) + 1, 0, |seq| - 1)]))",
    "merge[chunk, place -> seq](broadcast[place](mean[place](CHUNKS)))",
    "merge[chunk, place -> seq](cumsum[place](CHUNKS))",
    "merge[chunk, place -> seq](sum[other](CHUNKS[place as other] where other <= place))",
    "merge[chunk, place -> seq](sum[other](CHUNKS[place as other] where abs(other - place) <= {p}))",
    "merge[chunk, place -> seq](sum[before](CHUNKS[chunk as before] where abs(chunk - before) <= {p}))",
    "merge[chunk, place -> seq](sum[before](CHUNKS[chunk as before] where before <= chunk and chunk - before <= {n}))",
    "merge[chunk, place -> seq](CHUNKS[chunk = max(chunk - {p}, 0)])",
    "merge[chunk, place -> seq](CHUNKS[place = max(place - {p}, 0)])",
    "merge[chunk, place -> seq](scan[place] cell.{name}(CHUNKS, h = 0))",
    "merge[chunk, place -> seq](merge[half, quarter -> place](broadcast[quarter](mean[quarter]("
    "split[place -> half, quarter](CHUNKS)))))",
    "merge[chunk, place -> seq](merge[half, quarter -> place](broadcast[half](mean[half]("
    "split[place -> half, quarter](CHUNKS)))))",
    "concat[seq, past, third -> triple](x, x[seq as past], x[seq as third])"
    "[triple = index[triple](int(seq) + 2 * |seq| - {n})]",
]
FAR = [
    "dot[past](l2norm[past](dot[model](x, x[seq as past])), x[seq as past])",
    "sum[third](sum[past](x[seq as past] where third <= seq and abs(seq - past) <= {n}))",
    "broadcast[seq](mean[seq](x))",
    "broadcast[seq](sum[seq](x where sum[model](x) > 0))",
    "broadcast[seq](mean[longer](pad[seq -> longer](x, left = {p})))",
    "broadcast[seq](mean[double](concat[seq, past -> double](x, x[seq as past])))",
    "cumsum[seq](x)",
    "scan[seq] cell.{name}(x, h = 0)",
    "scan[seq] cell.{name}(feed.{name}in(x), h = feed.{name}h(mean[seq](x)))",
    "x[seq = |seq| - 1 - seq]",
    "x[seq = min(2 * int(seq), |seq| - 1)]",
    "broadcast[seq](x[seq = 0])",
    "x[seq = argsort[past -> seq](mean[model](x)[seq as past])]",
    "broadcast[seq](x[seq = argmax[seq](mean[model](x))])",
    "y[seq = argmax[past](dot[model](x, x[seq as past]))]",
    "merge[chunk, place -> seq](broadcast[chunk](mean[chunk](CHUNKS)))",
    "merge[chunk, place -> seq](cumsum[chunk](CHUNKS))",
    "l2norm[seq](x)",
    "x * broadcast[seq](int(argmax[seq](mean[model](x))) / 9)",
    "x * (int(argsort[past -> seq](mean[model](x)[seq as past])) / 9)",
]
ALIKE = [
    "layernorm.{name}[model](x)",
    "feed.{name}(x)",
    "feed.{name}(x)",
    "experts.{name}(x)",
    "select(past_is_near, x, feed.{name}(x))",
    "embed.{name}[model -> model](argmax[model](x))",
]
STATEMENTS = [
    "x, y = both.{name}(x, y)",
    "y, x = both.{name}(y, x)",
    "y = feed.{name}(y)",
    "y = y + x",
    "unread = exp(feed.{name}(x))",
    "x, c, _ = scan[seq] pair.{name}(x, h = 0, c = 0)",
    "kept = feed.{name}(x)",
]


class Draw:
    def __init__(self, seed: int) -> None:
        self.rolls = random.Random(seed)
        self.names = 0

    def filled(self, template: str) -> str:
        self.names += 1
        n, p = self.rolls.randint(1, 5), self.rolls.randint(0, 2)
        mask = self.rolls.choice(MASKS).format(n=n)
        return template.replace("CHUNKS", CHUNKS).format(name=f"l{self.names}", n=n, p=p, mask=mask)

    def layer(self) -> str:
        if self.rolls.random() < 0.2:
            return self.filled(self.rolls.choice(STATEMENTS))
        kind = self.filled(self.rolls.choice(self.rolls.choice([NEAR, NEAR, NEAR, NEAR, FAR, ALIKE])))
        added = self.rolls.choice(["", "", "x + ", "x + ", "y + ", "x * 0.5 + ", "kept + "])
        return f"x = {added}{kind}"

    def several(self, most: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rolls.randint(1, most)):
            lines += self.nested(depth) if depth < 3 and self.rolls.random() < 0.3 else [self.layer()]
        return lines

    def nested(self, depth: int) -> list[str]:
        """A repeat, by what it has: an index, branches, one set of weights; of a pass or of none."""
        self.names += 1
        kind = self.rolls.choice(["plain", "plain", "index", "branches", "shared"])
        count = self.rolls.choice(["layers", "layers", "two", "1", "0", "2"])
        head = f"repeat.r{self.names}{' i' + str(depth) + ' in' if kind in ('index', 'branches') else ''} {count}"
        inside = self.several(2, depth + 1)
        if kind == "index":
            shift = self.rolls.choice(
                [f"i{depth} + 1", f"floor(2 ^ i{depth})", f"{self.rolls.randint(2, 4)} - i{depth}"]
            )
            inside.append(f"x = x + x[seq = max(seq - {shift}, 0)]")
        if kind == "branches":
            test = self.rolls.choice([f"i{depth} == 0", f"i{depth} % 2 == 1", f"i{depth} < 2"])
            inside = [f"if {test} {{", *inside, "} else {", *self.several(2, 3), "}"]
        return [f"{head}{' shared' if kind == 'shared' else ''} {{", *inside, "}"]


def drawn(seed: int) -> str:
    """The body of a model of `x: [seq, model]`."""
    return "\n".join(Draw(seed).several(4, 0))


def spec(body: str) -> str:
    lines = ["y = x", "kept = x", "past_is_near = sum[model](x) > 1", *body.splitlines(), "return x + 0 * y, y"]
    inside = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}\nmodel net(x: [seq, model]) -> (x: [seq, model], y: [seq, model]) {{\n{inside}\n}}\n"
