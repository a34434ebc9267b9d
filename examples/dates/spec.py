"""dates.attn, loaded for the characters that the data has."""

from pathlib import Path

import attnc

from .data import Dates

FILE = Path(__file__).with_name("dates.attn")


def load_spec(dates: Dates) -> attnc.Spec:
    """The spec, its two alphabets as large as the vocabularies."""
    return attnc.load(FILE, sizes={"german": len(dates.german), "english": len(dates.english)})
