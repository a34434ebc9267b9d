"""Which form is cheaper, as `attnc cost` predicts it and as it is measured: `python bench/forms.py [--small]`.

Each piece of work is done in several forms that give the same numbers: a model as it is computed, with its scans in
loops and its sums as they are written, and other models of the same file. Of each two forms the ratio of their times is
printed, predicted and measured in rounds of one process on one thread, and how often the prediction names the cheaper.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from recent.paired import drawn, example
from speed.timing import Case, run

from attnc.compiler.cost.lowered import FORMS

CLEAR = 1.5  # how many times as long one of two forms takes where it matters which is chosen
ALIKE = 0.01  # of two predictions, the difference of forms whose code is the same


@dataclass(frozen=True, slots=True)
class Subject:
    """Models of one file that give the same numbers. width: the name of the width; sizes: of depths."""

    file: str
    models: tuple[str, ...]
    width: str
    sizes: Sequence[Mapping[str, int]]


HEADS = [{"heads": 2, "key": 16, "value": 16}, {"heads": 8, "key": 64, "value": 64}]
CELLS = [{"input": 48, "hidden": 48}, {"input": 256, "hidden": 256}]
SUBJECTS = [
    Subject("retention", ("parallel", "recurrent_retention", "chunkwise"), "target", HEADS),
    Subject("linear_attention", ("causal_sum", "recurrent"), "target", HEADS),
    Subject("gated_delta", ("recurrent_delta", "chunkwise_delta"), "seq", HEADS),
    *(Subject(name, (name,), "words", CELLS) for name in ("lstm", "gru", "rnn")),
    Subject("selective_scan", ("selective_scan",), "words", [
        {"model": 32, "inner": 64, "state": 4, "rank": 4}, {"model": 128, "inner": 256, "state": 16, "rank": 8},
    ]),
]  # fmt: skip
CHUNKED = 64  # what forms in chunks by hand must divide by


@dataclass(frozen=True, slots=True)
class Forms:
    """One piece of work: what it is, the predicted seconds of each form, and the measured ones."""

    what: str
    predicted: Mapping[str, float]
    measured: Mapping[str, Sequence[float]]

    def pairs(self) -> Iterator[tuple[str, str, float, float]]:
        """Of each two forms the ratio of their times, predicted and measured."""
        for one, other in combinations(self.predicted, 2):
            rounds = zip(self.measured[one], self.measured[other], strict=True)
            ratio = statistics.median(a / b for a, b in rounds)
            yield one, other, self.predicted[one] / self.predicted[other], ratio


def forms(subject: Subject, width: int, batch: int, sizes: Mapping[str, int], rounds: int) -> Forms:
    """All forms of one piece of work. A form that is computed as written is there once."""
    predicted, calls = {}, {}
    for name in subject.models:
        if "chunk" in name and width % CHUNKED:
            continue
        model = example(subject.file, name, **sizes)
        cost = model.cost({subject.width: width}, batch=batch)
        inputs = [
            0.1 * x for x in drawn(*((batch, *(cost.sizes[axis] for axis in port.axes)) for port in model.inputs))
        ]
        ways = {"computed": ()} if cost.lowered is None else {"computed": (), "written": FORMS}
        for way, without in ways.items():
            net = model.torch(seed=0, without=without)
            predicted[f"{name}, {way}"] = cost.seconds if way == "computed" else cost.lowered.written_seconds
            calls[f"{name}, {way}"] = partial(net, *inputs)
    with torch.inference_mode():
        result = run(Case(subject.file, "", None, calls, lambda: None), rounds, least=0.02)
    shown = ", ".join(f"{size} {value}" for size, value in {**sizes, subject.width: width, "batch": batch}.items())
    return Forms(f"{subject.file}: {shown}", predicted, result.seconds)


@dataclass
class Score:
    """How many pairs there were, and of how many the cheaper form was named; of those where it matters, too."""

    pairs: int = 0
    right: int = 0
    clear: int = 0
    clear_right: int = 0

    def add(self, predicted: float, measured: float) -> str:
        """What to say of a pair. Forms whose code is alike are no pair, unless they take unlike times."""
        clear = max(measured, 1 / measured) >= CLEAR
        alike = abs(predicted - 1) < ALIKE
        if alike and not clear:
            return "alike"
        good = not alike and (predicted < 1) == (measured < 1)
        self.pairs += 1
        self.right += good
        self.clear += clear
        self.clear_right += clear and good
        return "" if good else "wrong"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each (%(default)s)")
    parser.add_argument("--small", action="store_true", help="one small size of each, to see that it works")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    scores = {subject.file: Score() for subject in SUBJECTS}
    work = product(SUBJECTS, range(2), (12, 48, 192, 576), (1, 4))
    for subject, at, width, batch in product(SUBJECTS, [0], [8], [1]) if options.small else work:
        found = forms(subject, width, batch, subject.sizes[at], options.rounds)
        print(found.what, flush=True)
        for one, other, predicted, measured in found.pairs():
            said = scores[subject.file].add(predicted, measured)
            print(
                f"  {one} / {other}: predicted {predicted:.2f}, measured {measured:.2f}   {said}".rstrip(), flush=True
            )
    print(f"\n{'':18} cheaper form named   where one takes {CLEAR} times as long")
    for name, score in scores.items():
        print(f"{name:18} {score.right:9} of {score.pairs:3} {score.clear_right:20} of {score.clear:3}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
