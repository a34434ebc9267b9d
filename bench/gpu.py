"""attnc on a GPU beside float64 and beside what others write by hand: `python bench/gpu.py [--minutes 4] [--small]`.

Tasks stand in the order of their worth, what is small first. Each has a time limit of its own and is told of when it
ends: a failure, too, and the next one runs. Timed is what was checked to compute the same, in shuffled rounds; printed
are what each contender does in a second (medians), ours over each peer with the interval of 90 %, and which goals are
met. All goes to out/bench/gpu.json, written anew after each task. `--small` runs everything at tiny sizes, on a CPU
too: to see that it works, not how fast. Where time is taken, matrices of float32 are multiplied in TF32, as nanoGPT
asks for; attnc never does so by itself.

With 15 minutes: `--minutes 4`, mend what failed, and again `--minutes 4` with the tasks it printed as left.
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import sys

if "cpu" in sys.argv:
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before anything imports Triton

import argparse
import json
import platform
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from device import correct, guard, newer, streams, timed
from device.guard import Task
from device.setting import Case, Goal, Setting, data, run, show
from device.timed import HF, NANO


def timing(make: Callable[[Setting], Case], seconds: float, gibibytes: float) -> Task:
    def do(setting: Setting) -> dict[str, object]:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            case = make(setting)
            case.check()
            result = run(case, setting)
        finally:
            torch.set_float32_matmul_precision(before)
        show(result)
        return data(result)

    return Task(seconds, gibibytes, do)


def judging(compare: Callable[[Setting], dict[str, object]], seconds: float) -> Task:
    def do(setting: Setting) -> dict[str, object]:
        told = compare(setting)
        wrong = told["wrong"]
        assert isinstance(wrong, list)
        print(f"\n{told['what']}: {len(wrong)} wrong", *wrong, sep="\n  ", flush=True)
        return told

    return Task(seconds, 2, do)


# The goals are those of an H200.
TASKS: dict[str, Task] = {
    "correct_zoo": judging(lambda s: correct.compared(s, "zoo"), 60),
    "attention": timing(lambda s: timed.causal_attention(s, [Goal(550)]), 20, 4),
    "decode_124M": timing(lambda s: timed.decoding(s, "124M", [Goal(3_000), Goal(20, HF)]), 75, 4),
    "train_124M": timing(lambda s: timed.training(s, "124M", [Goal(460_000), Goal(1.1, NANO)], True), 75, 40),
    "correct_masks": judging(correct.masked, 60),
    "experts_8": timing(lambda s: newer.train_experts(s, newer.SOME, [Goal(1, HF)]), 45, 20),
    "linear": timing(lambda s: newer.linear_attention(s, [Goal(1, "chunked by hand")]), 45, 20),
    "window": timing(lambda s: timed.window(s, False, [Goal(5, "SDPA, dense mask")]), 45, 8),
    "decode_1.5B": timing(lambda s: timed.decoding(s, "1.5B", [Goal(900), Goal(20, HF)]), 90, 16),
    "correct_attentions": judging(lambda s: correct.compared(s, "attentions"), 120),
    "window_train": timing(lambda s: timed.window(s, True, []), 60, 16),
    "experts_128": timing(lambda s: newer.train_experts(s, newer.MANY, [Goal(1, HF)]), 45, 20),
    "train_1.5B": timing(lambda s: timed.training(s, "1.5B", [Goal(42_000)], True), 120, 90),
    "streams": judging(streams.told, 230),
    "train_124M_whole": timing(lambda s: timed.training(s, "124M", [Goal(460_000), Goal(1.1, NANO)], False), 150, 40),
}


def serve(line: Connection, setting: Setting) -> None:
    """The other process."""
    guard.work(line, setting, TASKS)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if not torch.cuda.is_available() and not options.small:
        sys.exit("bench/gpu.py: there is no CUDA device here; --small tries everything at tiny sizes on the CPU")
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    backend = options.backend or ("eager" if options.small else "inductor")
    setting = Setting(device, options.small, backend, options.rounds, options.nanogpt, options.seconds)
    options.out.mkdir(parents=True, exist_ok=True)
    told: dict[str, object] = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "small": options.small,
    }
    results: list[dict[str, object]] = []
    told["work"] = results
    worker = guard.Worker(serve, setting)
    for name, result in guard.guarded(TASKS, options.only or list(TASKS), worker, options.minutes):
        results.append(result)
        text = "" if result["state"] == "done" else f": {str(result.get('error', '')).strip()}"
        print(f"[{name}] {result['state']} in {result['took']} s{text}", flush=True)
        (options.out / "gpu.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    left = [str(result["name"]) for result in results if result["state"] in ("no time", "out of time", "failed")]
    if left:
        print("left:", *(f"--only {name}" for name in left))
    bad = [result for result in results if result["state"] == "failed" or result.get("wrong")]
    return 1 if bad else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(TASKS), help="this task alone; may be repeated")
    parser.add_argument("--minutes", type=float, default=30.0, help="for all together (%(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="of each, at most (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="for the rounds of a task (%(default)s); two at least"
    )
    parser.add_argument("--small", action="store_true", help="tiny sizes, on a CPU too, to see that it works")
    parser.add_argument("--device", help="cuda, or with --small cpu")
    parser.add_argument("--backend", help="torch.compile's (inductor; with --small eager, which compiles nothing)")
    parser.add_argument(
        "--nanogpt", type=Path, metavar="CHECKOUT", help="a checkout of nanoGPT in place of one like it"
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for results (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
