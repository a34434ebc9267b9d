"""What checking and compiling cost: `python bench/check.py [rounds]`.

Five figures, each a ratio or a time (of the processor) over several rounds, of which the median counts:

1. `attnc check examples/transformer.attn` as a whole process, against `python -c "import numpy"`, in turn;
2. a spec of 10,000 lines, as a whole process;
3. a repeated block of 1,000 passes against one of 1: the cost must not grow with the count;
4. code written for 100 layers against 2, in this process;
5. `attnc compile examples/transformer.attn --to torch` as a whole process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

BLOCK = """# Block {n}.
block b{n}(x: [seq, model], m: bool[seq, past]) -> [seq, model] {{
    Q = linear[model -> heads, key](x, bias = false)
    K = linear[model -> heads, key](x[seq as past], bias = false)
    V = linear[model -> heads, key](x[seq as past], bias = false)
    w = softmax[past](dot[key](Q, K) / sqrt(|key|) where m and past <= seq)
    y = x + linear.O[heads, key -> model](dot[past](w, V))
    z = layernorm.n[model](y) |> linear.up[model -> inner] |> gelu |> linear.down[inner -> model]
    return y + {rest}
}}

"""


def large_spec(lines: int) -> str:
    """Blocks that call one another, ten deep."""
    text = "width seq\nwidth past like seq\ndepth model = 64, inner = 128, heads = 4, key = 16\n\n"
    n = 0
    while text.count("\n") < lines:
        text += BLOCK.format(n=n, rest=f"b{n - 1}(z, m)" if n % 10 else "z")
        n += 1
    return text


def seconds(*command: str) -> float:
    """Of the processor, user and system, that a process takes: what its run takes where nothing else runs."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    before = os.times()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=kept)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(rounds: int) -> None:
    attnc = (sys.executable, "-m", "attnc")
    seconds(*attnc, "check", "examples/transformer.attn")  # fills the cache of the grammar
    pairs = []
    for _ in range(rounds):
        ours = seconds(*attnc, "check", "examples/transformer.attn")
        pairs.append((ours, seconds(sys.executable, "-c", "import numpy")))
    ratios = [ours / theirs for ours, theirs in pairs]
    print(f"attnc check examples/transformer.attn   {statistics.median(o for o, _ in pairs):.2f} s")
    print(f"python -c 'import numpy'                {statistics.median(t for _, t in pairs):.2f} s")
    print(f"ratio, pair by pair                     {spread(ratios)}   (target: at most 3.5)")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.attn"
        path.write_text(large_spec(10_000), encoding="utf-8")
        times = [seconds(*attnc, "check", str(path)) for _ in range(max(3, rounds // 4))]
        print(f"attnc check of 10,000 lines             {spread(times)} s   (target: at most 6)")

    once, often = [], []
    for _ in range(rounds):
        for layers, into in ((1, once), (1000, often)):
            into.append(seconds(*attnc, "check", "examples/transformer.attn", "--set", f"layers={layers}"))
    ratios = [b / a for a, b in zip(once, often, strict=True)]
    print(f"1,000 layers against 1                  {spread(ratios)}   (target: about 1)")

    import attnc as package

    few, many = [], []
    for _ in range(rounds):
        for layers, spent in ((2, few), (100, many)):
            start = time.process_time()
            spec = package.load(ROOT / "examples/transformer.attn", sizes={"layers": layers})
            spec.model("transformer").source("torch")
            spent.append(time.process_time() - start)
    ratios = [b / a for a, b in zip(few, many, strict=True)]
    print(f"code of 100 layers against 2            {spread(ratios)}   (target: at most 1.5)")
    times = [seconds(*attnc, "compile", "examples/transformer.attn", "--to", "torch") for _ in range(rounds)]
    print(f"attnc compile --to torch                {spread(times)} s   (target: at most 1)")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
