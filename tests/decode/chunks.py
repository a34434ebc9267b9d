"""Random programs of chunks and prefixes: items are split, worked on in their chunks and over these, and merged back.

Not all are causal: what the checker refuses is left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import attnc

ITEMS, INSIDE, CHUNKS = "items", "inside", "chunks"

BLOCKS = """
block carry(x: [at, d], S: [d]) -> (S: [d], out: [at, d]) {
    within = cumsum[at](x)
    return tanh(S * 0.5 + mean[at](x)), within + broadcast[at](S)
}
block decayed(x: [d], h: [d]) -> (h: [d]) {
    return 0.7 * h + x
}
block mixed[t: width](x: [t, d]) -> [t, d] {
    return linear.into[d -> d](x) + tanh(x)
}
block sees[t: width, p: width](q: [t, d], k: [p, d], mask: bool[t, p]) -> [t, d] {
    q = linear.q[d -> d](q)
    return dot[p](softmax[p](dot[d](q, linear.k[d -> d](k)) where mask), k)
}
"""

MASKS = ("past <= seq", "past < seq", "past <= seq and seq - past < 3", "floor(past / |at|) < floor(seq / |at|)",
         "past <= seq and floor(past / |at|) == floor(seq / |at|)")  # fmt: skip
OVER = ("chunk * |at| + |at| - 1 <= int(seq)", "chunk * |at| + |at| - 1 < int(seq)", "int(chunk) < floor(seq / |at|)")
BEFORE = ("before <= chunk", "before < chunk", "before <= chunk and chunk - before < 2")
WITHIN = ("other <= at", "other < at", "other <= at and at - other < 2")
BOTH = (
    "before * |at| + other <= chunk * |at| + at",
    "before < chunk",
    "before < chunk or (before == chunk and other <= at)",
)


class Draft:
    """A program as it is written: its lines, and the values that there are, by their kind."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.at = self.draw.choice((2, 3, 4))
        self.prefix = self.draw.choice((0, 0, 1, 2, 3))
        self.lines: list[str] = []
        self.values: dict[str, list[str]] = {ITEMS: [], INSIDE: [], CHUNKS: []}
        self.names = 0

    def new(self, kind: str, code: str) -> str:
        name = f"v{self.names}"
        self.names += 1
        self.lines.append(f"    {name} = {code}")
        self.values[kind].append(name)
        return name

    def some(self, kind: str) -> str:
        """A value of that kind, a late one rather; made of others where there is none."""
        found = self.values[kind]
        if not found:
            self.make(kind)
        return found[-1] if self.draw.random() < 0.6 else self.draw.choice(found)

    def make(self, kind: str) -> str:
        """One more value of that kind, by one op."""
        draw = self.draw
        items, inside, chunks = (lambda kind=kind: self.some(kind) for kind in (ITEMS, INSIDE, CHUNKS))

        def label() -> str:
            self.names += 1
            return f"n{self.names}"

        if kind == ITEMS:
            ways = [
                lambda: f"linear.{label()}[d -> d]({items()})",
                lambda: f"{items()} + tanh({items()})",
                lambda: f"cumsum[seq]({items()}) * 0.3",
                lambda: f"sees.{label()}[seq, past]({(x := items())}, {x}[seq as past], {draw.choice(MASKS)})",
                lambda: f"{items()}[seq = max(seq - {draw.choice((1, 2, 5))}, 0)]",
                lambda: f"mixed.{label()}[seq]({items()})",
                *[lambda: f"merge[chunk, at -> seq]({inside()})"] * 4,
                *[lambda: f"sees.{label()}[seq, chunk]({items()}, {chunks()}, {draw.choice(OVER)})"] * 2,
                lambda: (
                    f"{chunks()}[chunk = max(floor(seq / |at|) - 1, 0)] * broadcast[d](select(seq >= |at|, 1.0, 0))"
                ),
                lambda: self._picked(items(), chunks()),
            ]
        elif kind == INSIDE:
            ways = [
                *[lambda: f"split[seq -> chunk, at]({items()})"] * 4,
                lambda: f"linear.{label()}[d -> d]({inside()})",
                lambda: f"cumsum[at]({inside()})",
                lambda: f"{inside()} + broadcast[at]({chunks()})",
                lambda: f"sees.{label()}[at, other]({(x := inside())}, {x}[at as other], {draw.choice(WITHIN)})",
                lambda: self._across(inside()),
                lambda: self._scanned(inside()),
            ]
        else:
            ways = [
                lambda: f"mean[at]({inside()})",
                lambda: f"max[at]({inside()})",
                lambda: f"{inside()}[at = |at| - 1]",
                lambda: f"linear.{label()}[at, d -> d]({inside()})",
                lambda: f"{items()}[seq = chunk * |at| + {draw.randrange(self.at)}]",
                lambda: f"cumsum[chunk]({chunks()}) * 0.5",
                lambda: f"cummax[chunk]({chunks()})",
                lambda: f"{chunks()}[chunk = max(chunk - 1, 0)]",
                lambda: f"scan[chunk] decayed({chunks()}, h = 0)",
                lambda: (
                    f"sees.{label()}[chunk, before]({(x := chunks())}, {x}[chunk as before], {draw.choice(BEFORE)})"
                ),
                lambda: f"mixed.{label()}[chunk]({chunks()})",
            ]
        if len(self.lines) > 24:
            ways = ways[:1]
        return self.new(kind, draw.choice(ways)())

    def _picked(self, x: str, of: str) -> str:
        self.names += 1
        pick = f"pick{self.names}"
        self.lines.append(f"    {pick} = topk[chunk -> best](dot[d]({x}, {of}) where {self.draw.choice(OVER)})")
        return f"sum[best]({of}[chunk = {pick}])"

    def _across(self, x: str) -> str:
        self.names += 1
        other, scores = f"w{self.names}", f"s{self.names}"
        self.lines.append(f"    {other} = {x}[chunk as before, at as other]")
        self.lines.append(f"    {scores} = softmax[before, other](dot[d]({x}, {other}) where {self.draw.choice(BOTH)})")
        return f"dot[before, other]({scores}, {other})"

    def _scanned(self, x: str) -> str:
        self.names += 1
        self.lines.append(f"    _, out{self.names} = scan[chunk] carry({x}, S = 0)")
        return f"out{self.names}"


def written(seed: int) -> str:
    """The text of a program."""
    draft = Draft(seed)
    prefix, draw = draft.prefix, draft.draw
    axis = "text" if prefix else "seq"
    if prefix:
        draft.lines.append("    param memory: [mem, d] ~ normal(0.5)")
        start = draft.new(ITEMS, "concat[mem, text -> seq](memory, x)")
    else:
        start = draft.new(ITEMS, "x + 0.1")
    for _ in range(draw.choice((1, 2, 3))):
        draft.make(draw.choice((ITEMS, INSIDE, CHUNKS)))
    result = draft.make(ITEMS)
    for _ in range(draw.choice((0, 1))):
        result = f"{result} + {draft.make(ITEMS)}"
    end = f"({result} + {start})" + ("[seq = |mem| + int(text)]" if prefix else "")
    sizes = f"width text\nwidth seq = mem + text\nwidth mem = {prefix}\n" if prefix else "width seq\n"
    head = f"{sizes}width past like seq\nwidth chunk = seq / at\nwidth at = {draft.at}\nwidth before like chunk\n"
    head += "width other like at\nwidth best = 2\ndepth d = 3\n"
    body = "\n".join(draft.lines)
    result = f"model net(x: [{axis}, d]) -> [{axis}, d] causal {axis} {{\n{body}\n    return {end}\n}}\n"
    return f"{head}{BLOCKS}\n{result}"


def causal(seeds: range) -> Iterator[tuple[int, str, attnc.Model]]:
    """Those that are proved causal, with chunks or a prefix in them."""
    for seed in seeds:
        text = written(seed)
        try:
            yield seed, text, attnc.loads(text).model("net")
        except attnc.AttnError:
            continue
