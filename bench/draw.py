"""What drawing costs: `python bench/draw.py [rounds]`.

For each figure the median, least and largest of some rounds: layout and DOT in this process, then what Graphviz takes
to make an SVG of it, beside the bound of issue 4. Times hang on the machine: nothing here passes or fails.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attnc
from attnc.diagrams import ExportError

ROOT = Path(__file__).parents[1]


def flat(ops: int) -> attnc.Model:
    """About that many ops in a row, residuals and all."""
    lines = ["width seq", "depth model as m = 64", "model flat(x: [seq, model]) -> [seq, model] {"]
    lines += [f"    x = x + gelu(linear.l{i}[model -> model](layernorm.n{i}[model](x)))" for i in range(ops // 4)]
    return attnc.loads("\n".join([*lines, "    return x", "}", ""])).model("flat")


def figures() -> list[tuple[str, float, Callable[[], attnc.Model], dict[str, int]]]:
    attention = attnc.load(ROOT / "compiler" / "std" / "attention.attn")
    transformer = attnc.load(ROOT / "examples" / "transformer.attn")
    return [
        ("multi-head attention", 0.15, lambda: attention.block("multihead"), {}),
        ("Transformer, as it comes", 1.0, lambda: transformer.model("transformer"), {}),
        ("Transformer, all blocks open", 1.0, lambda: transformer.model("transformer"), {"depth": 9}),
        ("flat block of 1,000 ops", 5.0, lambda: flat(1000), {}),
    ]


def main(rounds: int) -> None:
    print(f"{'':30}{'layout and DOT':>28}{'bound':>8}{'Graphviz':>12}{'rows':>6}")
    for name, bound, make, options in figures():
        model, times = make(), []
        for _ in range(rounds):
            start = time.perf_counter()
            diagram = model.draw(**options)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        try:
            diagram.svg()
            drawn = f"{time.perf_counter() - start:.2f} s"
        except ExportError:
            drawn = "-"
        middle = f"{statistics.median(times):.3f} s ({min(times):.3f}-{max(times):.3f})"
        print(f"{name:30}{middle:>28}{bound:>6} s{drawn:>12}{len(diagram._sheet.rows):>6}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
