"""Greedy decoding, exact match, and the agreement of two backends.

Everything here takes a `Predict`: the compiled model, from PyTorch or from NumPy, as a function of arrays that also
generates, with the cache that the compiler derived.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .data import BEGIN, END, PAD, STYLES, Dates, Pair, Style


class Predict(Protocol):
    """A compiled model of arrays; what `attnc` compiles to NumPy is one."""

    def __call__(self, source_ids: np.ndarray, target_ids: np.ndarray, real: np.ndarray) -> np.ndarray:
        """Arrays [batch, source], [batch, target] and [batch, source] give logits [batch, target, english]."""

    def generate(
        self, prompt: np.ndarray, max_new: int, *, eos: int, source_ids: np.ndarray, real: np.ndarray
    ) -> np.ndarray:
        """prompt [batch, target]: ids [batch, new], until every row has its `eos`."""


LONGEST = 40  # steps of decoding before giving up; the longest English date has 29 characters


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a model wrote for some sources. ids: [batch, step], PAD after the END; logits: [batch, step, english]."""

    ids: np.ndarray
    logits: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """bool [batch, step]: the steps up to each row's END, and the END."""
        ends = self.ids == END
        counts: np.ndarray = ends.cumsum(axis=1) - ends == 0
        return counts


@dataclass(frozen=True, slots=True)
class Judged:
    """A model's answers to the held-out pairs, one `Decoded` per style, in the order of `pairs_of`."""

    decoded: Mapping[Style, Decoded]
    right: Mapping[Style, int]  # exact matches, token by token, up to the END
    count: Mapping[Style, int]
    mistakes: tuple[tuple[Pair, str], ...]
    seconds: float

    @property
    def exact_match(self) -> float:
        """The share of all pairs answered exactly, from 0 to 1."""
        return sum(self.right.values()) / sum(self.count.values())


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two models' answers to the same sources are apart."""

    same_ids: bool
    difference: float  # the largest difference of logits, in units of `spread`; infinite where the ids differ
    spread: float  # the standard deviation of the logits


def greedy(predict: Predict, source_ids: np.ndarray, *, longest: int = LONGEST) -> Decoded:
    """Take the likeliest character again and again, until every row has its END: no constraint, nothing mended after.

    The logits are those of the whole model, run once over all that was written.
    """
    real = source_ids != PAD
    begin = np.full((len(source_ids), 1), BEGIN, dtype=np.int64)
    ids = predict.generate(begin, longest, eos=END, source_ids=source_ids, real=real)
    logits = predict(source_ids, np.concatenate([begin, ids[:, :-1]], axis=1), real)
    ended = (ids == END).cumsum(axis=1) - (ids == END) > 0
    return Decoded(np.where(ended, PAD, ids), logits)


def pairs_of(dates: Dates, style: Style) -> list[Pair]:
    """The held-out pairs of one style."""
    return [pair for pair in dates.held_out if pair.style == style]


def judge(predict: Predict, dates: Dates) -> Judged:
    """Decode all held-out dates and compare with what CLDR says, exactly. Style by style, so that little is padding."""
    decoded, right, count, mistakes = {}, {}, {}, []
    start = time.perf_counter()
    for style in STYLES:
        pairs = pairs_of(dates, style)
        batch = dates.encode(pairs)
        decoded[style] = greedy(predict, batch["source_ids"])
        answers = rows(decoded[style].ids, decoded[style].counts)
        wanted = rows(batch["target_ids"], batch["kept"])
        wrong = [index for index in range(len(pairs)) if answers[index] != wanted[index]]
        right[style], count[style] = len(pairs) - len(wrong), len(pairs)
        mistakes += [(pairs[index], dates.english.decode(answers[index])) for index in wrong]
    return Judged(decoded, right, count, tuple(mistakes), time.perf_counter() - start)


def rows(ids: np.ndarray, kept: np.ndarray) -> list[list[int]]:
    """The kept ids of each row."""
    return [row[which].tolist() for row, which in zip(ids, kept, strict=True)]


def agreement(one: Mapping[Style, Decoded], other: Mapping[Style, Decoded]) -> Agreement:
    """Compare the ids, and the logits of all steps that count: those up to each row's END."""
    same_ids = all(np.array_equal(one[style].ids, other[style].ids) for style in one)
    logits = np.concatenate([answer.logits[answer.counts] for answer in one.values()])
    spread = float(logits.std())
    if not same_ids:
        return Agreement(False, float("inf"), spread)
    twins = np.concatenate([answer.logits[answer.counts] for answer in other.values()])
    return Agreement(True, float(np.abs(logits - twins).max()) / spread, spread)


def translate(predict: Predict, dates: Dates, typed: str) -> str:
    """The English for one typed German date. Raises DateError where it cannot be read."""
    answer = greedy(predict, np.array([dates.read(typed)], dtype=np.int64))
    return dates.english.decode(answer.ids[0])
