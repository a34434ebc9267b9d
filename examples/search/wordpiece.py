"""The tokenizer of BERT, uncased (Devlin et al. 2018; Wu et al. 2016 for WordPiece): text -> ids of pieces of words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CHINESE = (
    ("\u4e00", "\u9fff"),
    ("\u3400", "\u4dbf"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0002ceaf"),
    ("\U0002f800", "\U0002fa1f"),
)
LONGEST_WORD = 100  # characters; a longer one is unknown


class WordPiece:
    """Splits text into the words and pieces of words of a vocabulary, one a line in `vocab.txt`."""

    def __init__(self, vocab: Path) -> None:
        pieces = vocab.read_text(encoding="utf-8").split("\n")
        self.ids = {piece: place for place, piece in enumerate(pieces) if piece}

    def __call__(self, text: str, longest: int = 256) -> list[int]:
        """The ids of a text, between those of [CLS] and [SEP]; what is beyond `longest` ids is cut off."""
        pieces = [piece for word in words(text) for piece in self.pieces(word)]
        return [self.ids[piece] for piece in ("[CLS]", *pieces[: longest - 2], "[SEP]")]

    def pieces(self, word: str) -> list[str]:
        """The longest piece that fits, from the left; what continues a word is written `##ing`."""
        found: list[str] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    found.append(piece)
                    start = end
                    break
            else:
                return ["[UNK]"]
        return found or ["[UNK]"]


def words(text: str) -> list[str]:
    """Lower case without accents; punctuation and Chinese characters are words of their own."""
    spaced: list[str] = []
    for char in unicodedata.normalize("NFD", "".join(map(clean, text))):
        if unicodedata.category(char) == "Mn":
            continue
        spaced.append(f" {char} " if is_punctuation(char) or is_chinese(char) else char)
    return "".join(spaced).lower().split()


def clean(char: str) -> str:
    """White space as a space, control characters as nothing."""
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    return "" if char in "\0\ufffd" or unicodedata.category(char).startswith("C") else char


def is_punctuation(char: str) -> bool:
    """Also the signs of ASCII that are no punctuation to Unicode, such as $ and ^."""
    sign = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return sign or unicodedata.category(char).startswith("P")


def is_chinese(char: str) -> bool:
    """The blocks of CJK ideographs; not kana and hangul, which are written as words."""
    return any(first <= char <= last for first, last in CHINESE)


def batch(texts: Sequence[Sequence[int]], pad: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ids of several texts [text, seq], padded at the right, and where they are real [text, seq]."""
    longest = max(map(len, texts))
    real = np.arange(longest) < np.array([len(text) for text in texts])[:, None]
    ids = np.full(real.shape, pad)
    ids[real] = np.concatenate([np.array(text) for text in texts])
    return ids, real
