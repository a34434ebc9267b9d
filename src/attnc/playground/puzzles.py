"""A puzzle: a spec with one fault, and the spec that it should be."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass


@dataclass(frozen=True)
class Puzzle:
    """title, words: what the player reads. hint: on demand.
    model: the name of the model that is judged. start, solution: whole specs.
    """

    title: str
    words: str
    hint: str
    model: str
    start: str
    solution: str


def read(text: str) -> Puzzle:
    """A puzzle from its file (TOML), whose keys are the fields. Raises ValueError for one that is no puzzle."""
    try:
        return Puzzle(**{key: value.strip("\n") for key, value in tomllib.loads(text).items()})
    except (TypeError, AttributeError) as wrong:
        raise ValueError(f"this is no puzzle: {wrong}") from None
