"""Random programs of items that are shifted, seen strictly before, or summed, and then put into chunks, and back.

Not all are causal: what the checker refuses is left out. A shifted value knows its next item before that comes, so what
a step fills an open chunk with must be made of the items, not copied.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import attnc

HEAD = """
width seq
width past like seq
width short = seq / k
width earlier like short
width big = short / m
width k = 2, m = 2, tap = 3, one = 1
width more = one + seq
depth d = 3

block cell(x: [d], h: [d]) -> (h: [d]) {
    return tanh(x + 0.5 * h)
}
"""
ITEMS = (
    "{x}[seq = max(seq - {by}, 0)]",
    "select(seq == 0, 0, {x}[seq = max(seq - 1, 0)])",
    "select(seq > 1, tanh({x}[seq = max(seq - 2, 0)]), {x} * 0.5)",
    "dot[tap](window[seq -> seq, tap]({x}, pad = |tap| - 1), tap + 1)",
    "dot[tap](window[seq -> seq, tap]({x}, pad = |tap|), tap + 1)",
    "cumsum[seq]({x}) / (seq + 1)",
    "dot[past](softmax[past](dot[d]({x}, {x}[seq as past]) where past {less} seq), {x}[seq as past])",
    "dot[past](softmax[past](broadcast[seq](sum[d]({x}[seq as past])) where past < seq), {x}[seq as past])",
    "scan[seq] cell({x}, h = 0)",
    "concat[one, seq -> more](broadcast[one]({x}[seq = 0]) * 0 + 1, {x})[more = int(seq)]",
    "merge[short, k -> seq](flip[k](split[seq -> short, k]({x})))",
    "merge[short, k -> seq](cumsum[k](split[seq -> short, k]({x})))",
)
POOLS = (
    "sum[k](split[seq -> short, k]({x}))",
    "split[seq -> short, k]({x})[k = 0]",
    "linear.pool[k, d -> d](split[seq -> short, k]({x}))",
    "max[k](split[seq -> short, k]({x}))",
)
CHUNKS = (
    "{x}[short = max(short - 1, 0)]",
    "select(short == 0, 0, {x}[short = max(short - 1, 0)])",
    "cumsum[short]({x}) / (short + 1)",
    "dot[earlier](softmax[earlier](dot[d]({x}, {x}[short as earlier]) where earlier {less} short), "
    "{x}[short as earlier])",
    "scan[short] cell({x}, h = 0)",
    "merge[big, m -> short](broadcast[m](sum[m](split[short -> big, m]({x}))))",
    "merge[big, m -> short](broadcast[m](select(big == 0, 0, "
    "sum[m](split[short -> big, m]({x}))[big = max(big - 1, 0)])))",
)
BACK = (
    "{x} + merge[short, k -> seq](broadcast[k]({y}))",
    "{x} + dot[short](softmax[short](dot[d]({x}, {y}) where short * |k| + |k| - 1 {less} int(seq)), {y})",
    "merge[short, k -> seq](split[seq -> short, k]({x}) * 0.3 + linear.spread[d -> k, d]({y}))",
    "{x} + {y}[short = max(floor(int(seq) / |k|) - 1, 0)]",
)


def program(seed: int) -> str:
    draw, lines = random.Random(seed), list[str]()

    def put(code: str) -> str:
        lines.append(f"    v{len(lines)} = {code}")
        return f"v{len(lines) - 1}"

    def made(forms: tuple[str, ...], **values: str) -> str:
        less, by = draw.choice(("<", "<=")), draw.randint(1, 3)
        return draw.choice(forms).format(less=less, by=by, **values)

    x = "x"
    for _ in range(draw.randint(0, 2)):
        new = made(ITEMS, x=x)
        x = put(draw.choice((new, f"{x} + {new}")))
    y = put(made(POOLS, x=x))
    for _ in range(draw.randint(0, 2)):
        y = put(made(CHUNKS, x=y))
    x = put(made(BACK, x=x, y=y))
    if draw.random() < 0.5:
        x = put(made(ITEMS, x=x))
    text = "\n".join(lines)
    return f"{HEAD}\nmodel net(x: [seq, d]) -> [seq, d] causal seq {{\n{text}\n    return {x}\n}}\n"


def causal(seeds: range) -> Iterator[tuple[int, str, attnc.Model]]:
    for seed in seeds:
        text = program(seed)
        try:
            yield seed, text, attnc.loads(text).model("net")
        except attnc.AttnError as refused:
            assert {one.code for one in refused.diagnostics} == {"E0701"}, text
