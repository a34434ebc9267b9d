"""attnc beside what others write by hand: `python bench/run.py [--only NAME ...] [--set NAME=NUMBER ...]`.

Each piece of work is done by every contender in turn, in shuffled rounds of one process on one thread, after it was
checked that they compute the same. Printed are the time as a multiple of the floor (the matrix products alone, into
outputs allocated once), ours as a multiple of each peer's with the interval of 90 %, and the peak of memory. Results go
to out/bench/speed.json and speed.svg. A machine with other work disturbs: quote what several runs agree on.

Other sizes: `--set layers=12 --set width=1024`. Each piece of work takes what it has of them; `--list` tells.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch and NumPy are loaded
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import torch
from recent import experts, linear, lstm, scans, sparse
from speed import attention, gpt, gpt_peers, hand, memory, plot, seq2seq, seq2seq_peers, zoo
from speed.timing import FLOOR, OURS, Case, Result, run

torch.set_num_threads(1)


@dataclass(frozen=True, slots=True)
class Work:
    """A row of the table. target: of ours over the floor, at its own sizes. small: sizes to see that it works.
    other: sizes at which the row stands once more, as NAME_other; of --small one is enough."""

    sizes: Any
    target: float | None
    make: Callable[..., list[Case]]
    small: Mapping[str, int]
    other: Mapping[str, int] = field(default_factory=dict)


GPT, SMALL_GPT = gpt_peers.Sizes(), {"layers": 2, "model": 48, "heads": 3, "width": 24, "vocab": 96, "tokens": 5}
PAIR = seq2seq_peers.Sizes()
SMALL_PAIR = {"layers": 1, "model": 32, "heads": 2, "source": 12, "target": 10, "vocab": 96, "batch": 2, "tokens": 5}
LLAMA, SMALL_LLAMA = hand.Grouped(), {"layers": 1, "model": 32, "key": 8, "inner": 48, "vocab": 96, "tokens": 5}
VIT = zoo.Pictures()
SMALL_VIT = {"layers": 1, "model": 32, "heads": 2, "picture": 16, "patch": 4, "label": 10, "batch": 2}
TINY = {"model": 32, "heads": 2, "vocab": 64}  # where the calls are what costs
SOME = experts.Sizes()
SMALL_EXPERTS = {"layers": 1, "model": 32, "key": 8, "inner": 48, "vocab": 96, "width": 12, "tokens": 5}
MANY, SMALL_MANY = replace(SOME, expert=128, chosen=8, inner=96), SMALL_EXPERTS | {"expert": 16, "chosen": 4}
LSTM, SMALL_LSTM = lstm.Sizes(), {"width": 7, "input": 12, "hidden": 8}
SUMS, SMALL_SUMS = linear.Sizes(), {"width": 16, "heads": 2, "key": 8, "value": 8, "chunk": 4}
SELECTIVE, SMALL_SELECTIVE = scans.Mamba(), {"width": 11, "model": 12, "inner": 16, "state": 4, "rank": 4}
DELTA, SMALL_DELTA = scans.Delta(), {"width": 64, "heads": 2, "key": 8, "value": 8}
FEW, SMALL_FEW = sparse.Sizes(), {"width": 96, "heads": 2, "head": 8, "window": 12}
OTHER = "_other"
ALONE, SMALL = attention.Sizes(), {"width": 160, "heads": 2, "head": 16, "window": 20}


def works(nanogpt: Path | None) -> dict[str, Work]:
    """In the order of docs/speed.md, whose targets these are."""
    gpt_train, gpt_decode = (partial(make, nanogpt=nanogpt) for make in (gpt.training, gpt.decoding))
    one, masked = replace(GPT, batch=1), partial(partial, attention.training)
    padded, small_padded = replace(PAIR, source=128, padding=64), SMALL_PAIR | {"padding": 4}
    table = {
        "gpt_train": Work(GPT, 1.12, gpt_train, SMALL_GPT),
        "gpt_train_large_vocab": Work(replace(GPT, vocab=50_304), 1.35, gpt_train, SMALL_GPT),
        "gpt_decode": Work(one, 1.45, gpt_decode, SMALL_GPT),
        "gpt_decode_batch": Work(replace(GPT, batch=8), None, gpt_decode, SMALL_GPT),
        "gpt_decode_prompt": Work(replace(one, prompt=256), None, gpt_decode, SMALL_GPT | {"prompt": 12}),
        "calls": Work(replace(one, **TINY), None, partial(gpt.decoding, peered=False), SMALL_GPT | TINY),
        "llama_decode": Work(LLAMA, None, zoo.llama, SMALL_LLAMA),
        "gpt_decode_numpy": Work(one, 1.25, gpt.numpy_decoding, SMALL_GPT),
        "seq2seq_train": Work(PAIR, 1.10, seq2seq.training, SMALL_PAIR),
        "seq2seq_train_padded": Work(padded, None, seq2seq.training, small_padded),
        "seq2seq_decode": Work(replace(PAIR, batch=1), 1.65, seq2seq.decoding, SMALL_PAIR),
        "t5_train": Work(PAIR, None, zoo.t5_training, SMALL_PAIR),
        "t5_decode": Work(replace(PAIR, batch=1), None, zoo.t5_decoding, SMALL_PAIR),
        "vit_train": Work(VIT, None, zoo.vit, SMALL_VIT),
        "numpy_attention": Work(replace(ALONE, width=2048), 1.9, attention.numpy_causal, SMALL, {"width": 512}),
        "numpy_gpt": Work(one, 1.25, gpt.numpy_forward, SMALL_GPT),
        "window": Work(ALONE, 1.5, masked(mask_of=attention.window), SMALL),
        "padding": Work(replace(ALONE, batch=2), None, masked(mask_of=attention.padding), SMALL),
        "strided": Work(replace(ALONE, width=2048, window=64), None, masked(mask_of=attention.strided), SMALL),
        **recent(),
    }  # fmt: skip
    return table | {f"{name}{OTHER}": beside(work) for name, work in table.items() if work.other}


def recent() -> dict[str, Work]:
    """What is trained today; each at two sizes."""
    deep, long, batch = {"layers": 4, "model": 512, "inner": 1792}, {"width": 2048}, {"batch": 8}
    one, forward, head_first = replace(SOME, batch=1), replace(SUMS, gradients=0), partial(partial, sparse.by_head)
    retention, alone = partial(partial, linear.retention), partial(partial, sparse.alone)
    few, far = replace(FEW, width=1024, window=64), {"width": 2048, "window": 128}
    return {
        "experts_train": Work(SOME, 1.6, experts.training, SMALL_EXPERTS, deep),
        "experts_decode": Work(one, None, experts.decoding, SMALL_EXPERTS, deep),
        "experts_many": Work(MANY, None, experts.forward, SMALL_MANY, {"layers": 4, "model": 512, "inner": 192}),
        "experts_many_decode": Work(replace(MANY, batch=1), None, experts.decoding, SMALL_MANY, batch),
        "lstm": Work(LSTM, None, lstm.training, SMALL_LSTM, {"input": 64, "hidden": 64}),
        "lstm_one": Work(replace(LSTM, batch=1), None, lstm.training, SMALL_LSTM, {"input": 64, "hidden": 64}),
        "lstm_numpy": Work(replace(LSTM, batch=1), None, lstm.in_numpy, SMALL_LSTM, batch),
        "linear": Work(SUMS, None, linear.linear_attention, SMALL_SUMS, long),
        "linear_numpy": Work(SUMS, None, linear.linear_attention_in_numpy, SMALL_SUMS, long),
        "retention": Work(forward, None, retention(form="parallel"), SMALL_SUMS, long),
        "retention_recurrent": Work(forward, None, retention(form="recurrent_retention"), SMALL_SUMS, long),
        "selective_scan": Work(SELECTIVE, None, scans.selective, SMALL_SELECTIVE, long),
        "gated_delta": Work(DELTA, None, scans.gated_delta, SMALL_DELTA, long),
        "window_seen": Work(FEW, 2.2, alone(mask_of=sparse.window), SMALL_FEW, {"width": 4000, "window": 256}),
        "blocks_seen": Work(
            replace(FEW, width=1500, window=64), 3.0, alone(mask_of=sparse.blocks), SMALL_FEW, {"width": 3000}
        ),
        "blocks_given": Work(replace(FEW, width=1500, window=64), 3.0, sparse.given_blocks, SMALL_FEW, {"width": 3000}),
        "heads_strided": Work(few, None, head_first(pattern="strided"), SMALL_FEW, far),
        "heads_fixed": Work(few, None, head_first(pattern="fixed"), SMALL_FEW, far),
    }


def beside(work: Work) -> Work:
    return replace(work, sizes=replace(work.sizes, **work.other), other={})


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    table = works(options.nanogpt)
    if options.list:
        for name, work in table.items():
            print(f"{name:22} {' '.join(f'{size}={value}' for size, value in asdict(work.sizes).items())}")
        return 0
    chosen = options.only or [name for name in table if not (options.small and name.endswith(OTHER))]
    known = {field.name for name in chosen for field in fields(table[name].sizes)}
    for size in set(options.set) - known:
        raise SystemExit(f"--set {size}: none of these has such a size; they have {', '.join(sorted(known))}")
    options.out.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    told: list[dict[str, object]] = []
    for name in chosen:
        work = table[name]
        other = {field.name: options.set[field.name] for field in fields(work.sizes) if field.name in options.set}
        other = {**work.small, **other} if options.small else other
        sizes = replace(work.sizes, **other)
        for case in work.make(name, sizes, None if other else work.target):
            case.check()
            result = run(case, options.rounds)
            for contender, call in case.contenders.items():
                peak = memory.peak(call)
                if peak is not None:
                    result.memory[contender] = peak
            show(result)
            results.append(result)
            told.append({**data(result), "sizes": asdict(sizes)})
            save(told, options.out / "speed.json")
    plot.save(results, options.out / "speed.svg")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="the pieces of work and their sizes")
    parser.add_argument("--only", action="append", choices=list(works(None)), help="this work alone; may be repeated")
    parser.add_argument("--set", action="append", type=given, default=[], metavar="NAME=NUMBER", help="another size")
    parser.add_argument("--rounds", type=int, default=15, help="of each (%(default)s)")
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--nanogpt", type=Path, metavar="CHECKOUT", help="a checkout of nanoGPT to run beside")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for results (%(default)s)")
    options = parser.parse_args(arguments)
    options.set = dict(options.set)
    return options


def given(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    return name, int(number)


def show(result: Result) -> None:
    case = result.case
    print(f"\n{case.name}: {case.prints}" + (f"   (target: {case.target} x floor)" if case.target else ""))
    floored = FLOOR in case.contenders
    for name in sorted(case.contenders, key=lambda name: result.ratio(name, OURS).median):
        if name == FLOOR:
            continue
        over = f"{result.ratio(name, FLOOR)!s:22} x floor" if floored else f"{result.ratio(name, OURS)!s:22} x ours "
        each = result.microseconds(name)
        took = "" if each is None else f"{each:8.0f} µs a layer and step"
        used = f"{result.memory[name] / 2**20:8.0f} MiB" if name in result.memory else ""
        beside = "" if name == OURS else f"   ours / theirs {result.ratio(OURS, name)}"
        print(f"  {name:24} {over} {took}{used}{beside}", flush=True)


def save(told: Sequence[Mapping[str, object]], path: Path) -> None:
    machine = {"processor": processor(), "torch": torch.__version__, "numpy": numpy.__version__}
    path.write_text(json.dumps({**machine, "work": told}, indent=2) + "\n", encoding="utf-8")


def processor() -> str:
    """Its name where Linux tells it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "")


def data(result: Result) -> dict[str, object]:
    case = result.case
    return {
        "name": case.name,
        "what": case.prints,
        "target": case.target,
        "seconds": result.seconds,
        "microseconds": {name: each for name in case.contenders if (each := result.microseconds(name)) is not None},
        "over_floor": over(result, [name for name in case.contenders if name != FLOOR], FLOOR)
        if FLOOR in case.contenders
        else {},
        "ours_over": over(result, [name for name in case.contenders if name not in (OURS, FLOOR)], None),
        "peak_bytes": result.memory,
    }


def over(result: Result, names: Sequence[str], under: str | None) -> dict[str, list[float]]:
    """For each its ratio to `under`, or ours to it: median and interval."""
    found = {name: result.ratio(name, under) if under else result.ratio(OURS, name) for name in names}
    return {name: [spread.median, spread.low, spread.high] for name, spread in found.items()}


if __name__ == "__main__":
    sys.exit(main())
