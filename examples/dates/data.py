"""German and English dates, character by character, as Babel (Unicode CLDR) writes them.

The source is a date in one of the four German styles; the target is English: `full` where the source names the
weekday, else `long`.

    full    Dienstag, 5. März 2024      Tuesday, March 5, 2024
    long    5. März 2024                March 5, 2024
    medium  05.03.2024                  March 5, 2024
    short   05.03.24                    March 5, 2024
"""

import datetime
import random
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from babel import Locale
from babel.dates import get_date_format

# A hundred years, so that two digits name a year without ambiguity.
FIRST, LAST = datetime.date(1970, 1, 1), datetime.date(2069, 12, 31)

Style = Literal["full", "long", "medium", "short"]
ENGLISH_STYLE: dict[Style, Style] = {"full": "full", "long": "long", "medium": "long", "short": "long"}
STYLES = tuple(ENGLISH_STYLE)

HELD_OUT = 1000
SPLIT_SEED = 2017  # fixed, apart from the seed of training: every run is judged on the same dates

PAD, BEGIN, END = 0, 1, 2  # `begin` in dates.attn is this BEGIN
SPECIALS = 3

# Examples padded to a common length, under the names that dates.attn gives its inputs:
#   source_ids int64 [batch, source]   target_ids int64 [batch, target]
#   real bool [batch, source], where there is a character   kept bool [batch, target], where there is one or the end
Batch = dict[str, np.ndarray]

_GERMAN, _ENGLISH = Locale("de"), Locale("en")


class DateError(ValueError):
    """A typed date that the model cannot read; the message is for the person who typed it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One date in German of one style, and what it is in English."""

    date: datetime.date
    style: Style
    german: str
    english: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The characters of one language. A character's id is its place here, after the special ids."""

    characters: str

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """Every character of `texts`, in the order of their code points."""
        return cls("".join(sorted(set().union(*texts))))

    def __len__(self) -> int:
        return SPECIALS + len(self.characters)

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, without specials. Raises DateError for a character that is not here."""
        ids = [self.characters.find(character) for character in text]
        if -1 in ids:
            place = ids.index(-1)
            raise DateError(
                f"cannot read {text[place]!r} (character {place + 1} of {text!r}): no German date has it; "
                "dates look like 'Dienstag, 5. März 2024', '5. März 2024', '05.03.2024' or '05.03.24'"
            )
        return [SPECIALS + index for index in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text before the first END. Other specials have no business there, so they show as `?`."""
        text = ""
        for index in map(int, ids):
            if index == END:
                break
            text += self.characters[index - SPECIALS] if index >= SPECIALS else "?"
        return text


@dataclass(frozen=True, slots=True)
class Dates:
    """What a run learns from and is judged on."""

    train: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    german: Vocabulary
    english: Vocabulary

    def encode(self, pairs: Sequence[Pair]) -> Batch:
        """The pairs as one padded batch."""
        source_ids = padded([self.german.encode(pair.german) for pair in pairs])
        target_ids = padded([[*self.english.encode(pair.english), END] for pair in pairs])
        return {
            "source_ids": source_ids,
            "target_ids": target_ids,
            "real": source_ids != PAD,
            "kept": target_ids != PAD,
        }

    def read(self, typed: str) -> list[int]:
        """Ids of a date that somebody typed. Raises DateError where no such date was ever seen."""
        text = plain(typed)
        longest = max(len(pair.german) for pair in self.train)
        if not text:
            raise DateError("the date is empty")
        ids = self.german.encode(text)
        if len(ids) > longest:
            raise DateError(f"{text!r} is too long for a date: {len(ids)} characters, and the longest has {longest}")
        return ids


def plain(text: str) -> str:
    """`text` composed, with every run of white space (CLDR has no-break and narrow spaces) as one plain space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def split() -> tuple[list[datetime.date], list[datetime.date]]:
    """All dates, shuffled, as (train, held out). It comes before styling, so no date is in both in another style."""
    dates = [FIRST + datetime.timedelta(days) for days in range((LAST - FIRST).days + 1)]
    random.Random(SPLIT_SEED).shuffle(dates)
    return dates[HELD_OUT:], dates[:HELD_OUT]


def pair(date: datetime.date, style: Style) -> Pair:
    """`date` in German of one of STYLES, with its translation."""
    german = get_date_format(style, _GERMAN).apply(date, _GERMAN)
    english = get_date_format(ENGLISH_STYLE[style], _ENGLISH).apply(date, _ENGLISH)
    return Pair(date, style, plain(german), plain(english))


def load() -> Dates:
    """All training dates in all styles; the held-out dates in one style each, every style equally often."""
    train_dates, held_out_dates = split()
    train = tuple(pair(date, style) for date in train_dates for style in STYLES)
    held_out = tuple(pair(date, STYLES[index % len(STYLES)]) for index, date in enumerate(held_out_dates))
    german = Vocabulary.of(pair.german for pair in train)
    english = Vocabulary.of(pair.english for pair in train)
    return Dates(train, held_out, german, english)


def padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Rows of ids as one int64 array, filled up with PAD."""
    ids = np.full((len(rows), max(map(len, rows))), PAD, dtype=np.int64)
    for row, filled in zip(ids, rows, strict=True):
        row[: len(filled)] = filled
    return ids


def batches(dates: Dates, *, size: int, seed: int) -> Iterator[Batch]:
    """Training batches without end, each pass over the data in a new order."""
    shuffler = random.Random(seed)
    pairs = list(dates.train)
    while True:
        shuffler.shuffle(pairs)
        for start in range(0, len(pairs), size):
            yield dates.encode(pairs[start : start + size])
