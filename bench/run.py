"""attnc beside what others write by hand: `python bench/run.py [--only NAME ...] [--rounds N] [--nanogpt CHECKOUT]`.

Each piece of work is done by every contender in turn, in shuffled rounds of one process on one thread, after it was
checked that they compute the same. Printed are the time as a multiple of the floor (the matrix products alone, into
outputs allocated once), ours as a multiple of each peer's with the interval of 90 %, and the peak of memory. Results go
to out/bench/speed.json and speed.svg. A machine with other work disturbs: quote what several runs agree on.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch and NumPy are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from speed import gpt, memory, plot, seq2seq
from speed.peers import Sizes
from speed.timing import FLOOR, OURS, Case, Result, run

torch.set_num_threads(1)
Maker = Callable[[argparse.Namespace], Sequence[Case]]

# In the order of docs/speed.md, whose targets these are.
WORK: dict[str, Maker] = {
    "gpt_train": lambda o: [gpt.training(sizes(o), nanogpt=o.nanogpt, target=1.12)],
    "gpt_train_large_vocab": lambda o: [gpt.training(sizes(o, vocab=50_304), nanogpt=o.nanogpt, target=1.35)],
    "gpt_decode": lambda o: gpt.decoding(sizes(o), tokens=16 if o.small else 64, targets=(1.4, 1.25)),
    "seq2seq_train": lambda o: [seq2seq.training(seq2seq.sizes(o.small), target=1.10)],
    "seq2seq_decode": lambda o: [seq2seq.decoding(seq2seq.sizes(o.small), tokens=8 if o.small else 64, target=1.65)],
    "numpy_gpt": lambda o: [gpt.numpy_forward(sizes(o, batch=1), target=1.25)],
}


def sizes(options: argparse.Namespace, **other: int) -> Sizes:
    small = {"layers": 2, "model": 96, "heads": 3, "width": 64, "vocab": 512} if options.small else {}
    return Sizes(**({"vocab": 8192} | other | small))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(WORK), help="this work alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=15, help="of each (%(default)s)")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--nanogpt", type=Path, metavar="CHECKOUT", help="a checkout of nanoGPT to run beside")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for results (%(default)s)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    results = []
    for name in options.only or WORK:
        for case in WORK[name](options):
            case.check()
            result = run(case, options.rounds)
            for contender, call in case.contenders.items():
                peak = memory.peak(call)
                if peak is not None:
                    result.memory[contender] = peak
            show(result)
            results.append(result)
    told = {
        "machine": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "work": [*map(data, results)],
    }
    (options.out / "speed.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    plot.save(results, options.out / "speed.svg")
    return 0


def show(result: Result) -> None:
    case = result.case
    print(f"\n{case.prints}   (target: {case.target} x floor)")
    for name in sorted(case.contenders, key=lambda name: result.ratio(name, FLOOR).median):
        if name == FLOOR:
            continue
        used = f"{result.memory[name] / 2**20:8.0f} MiB" if name in result.memory else ""
        beside = "" if name == OURS else f"   ours / theirs {result.ratio(OURS, name)}"
        print(f"  {name:16} {result.ratio(name, FLOOR).median:6.2f} x floor {used}{beside}", flush=True)


def data(result: Result) -> dict[str, object]:
    case = result.case
    return {
        "name": case.name,
        "what": case.prints,
        "target": case.target,
        "seconds": result.seconds,
        "over_floor": {name: result.ratio(name, FLOOR).median for name in case.contenders if name != FLOOR},
        "ours_over": {
            name: [spread.median, spread.low, spread.high]
            for name in case.contenders
            if name not in (OURS, FLOOR)
            for spread in [result.ratio(OURS, name)]
        },
        "peak_bytes": result.memory,
    }


if __name__ == "__main__":
    sys.exit(main())
