"""Real text that every machine has: the docstrings of Python's standard library, character by character."""

import ast
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))  # others become `UNKNOWN`
UNKNOWN, END = len(CHARACTERS), 0
ALPHABET = len(CHARACTERS) + 1
SHORTEST = 80  # characters: shorter ones say little
HELD_OUT = 10  # every tenth file is kept from training, whole

_IDS = {character: number for number, character in enumerate(CHARACTERS)}


@dataclass(frozen=True, slots=True)
class Text:
    """Docstrings one behind the other, as ids of characters [item]; each is followed by two empty lines."""

    train: np.ndarray
    held_out: np.ndarray


def encode(text: str) -> np.ndarray:
    return np.array([_IDS.get(character, UNKNOWN) for character in text], dtype=np.int64)


def decode(ids: np.ndarray) -> str:
    return "".join(CHARACTERS[number] if number < UNKNOWN else "?" for number in ids)


def load(root: Path | None = None) -> Text:
    """All docstrings of the library at `root` (default: that of this Python), every text once.

    Raises FileNotFoundError if there are none, as where the library is kept compiled only.
    """
    root = root or Path(sysconfig.get_path("stdlib"))
    parts: dict[bool, list[str]] = {True: [], False: []}
    seen: set[str] = set()
    for number, file in enumerate(files(root)):
        for text in docstrings(file):
            if text not in seen:
                seen.add(text)
                parts[number % HELD_OUT != 0].append(text + "\n\n\n")
    if not parts[True] or not parts[False]:
        raise FileNotFoundError(f"no docstrings under {root}: is the standard library there as source?")
    return Text(encode("".join(parts[True])), encode("".join(parts[False])))


def files(root: Path) -> list[Path]:
    """The sources in a fixed order, without tests and installed packages."""
    left_out = {"test", "tests", "site-packages", "dist-packages", "idlelib", "lib2to3", "__pycache__"}
    return sorted(file for file in root.rglob("*.py") if not left_out & set(file.relative_to(root).parts[:-1]))


def docstrings(file: Path) -> Iterator[str]:
    """Of the module, its classes and functions, long enough to be of use."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old escapes in strings
            tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and len(text) >= SHORTEST:
                yield text


def batches(ids: np.ndarray, *, width: int, size: int, seed: int) -> Iterator[Mapping[str, np.ndarray]]:
    """Endless: pieces of the text from random places, and what follows each of their characters."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(ids) - width, size)
        pieces = ids[starts[:, None] + np.arange(width + 1)]
        yield {"text": pieces[:, :-1], "next": pieces[:, 1:]}


def batch_of_step(ids: np.ndarray, *, width: int, size: int, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """As `batches`, two arrays [item, character]; drawn by the seed and the step alone, so any step can be next."""
    starts = np.random.default_rng((seed, step)).integers(0, len(ids) - width, size)
    pieces = ids[starts[:, None] + np.arange(width + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def bigram_loss(text: Text) -> float:
    """The loss on the held-out text, in nats a character, of counting which character follows which."""
    counts = np.full((ALPHABET, ALPHABET), 0.1)
    np.add.at(counts, (text.train[:-1], text.train[1:]), 1)
    share = counts / counts.sum(1, keepdims=True)
    return float(-np.log(share[text.held_out[:-1], text.held_out[1:]]).mean())
