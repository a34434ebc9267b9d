"""Names as a reader writes them: `source_ids` in words, `d_k` with a subscript, `lambda_q` as λ with one, `x_` as x′.

A letter that stands for a quantity is italic, and so is a word that names one; a subscript is italic where it is a
letter itself, and upright where it is a word.
"""

from __future__ import annotations

from collections.abc import Iterable

from .metrics import GREEK
from .text import MACRON, Rich, Run, joined, width

PRIME = "\u2032"
_LOW = "acegmnopqrsuvwxyzαεικμνπρστυω"  # letters that a macron sits right above


def spaced(name: str) -> str:
    """A name in words, as plain text: spaces for the underscores between words, primes for those at an end."""
    words, primes = _primes(name)
    return GREEK.get(words, words.replace("_", " ")) + primes


def name_text(name: str, style: str = "i") -> Rich:
    """A name as rich text. What follows a letter and an underscore is its subscript; other names are words."""
    words, primes = _primes(name)
    base, _, sub = words.partition("_")
    if sub and (len(base) == 1 or base in GREEK):
        return (*_word(base, style, primes), *_subscript(sub, style))
    return _word(words, style, primes)


def listed(names: Iterable[str]) -> Rich:
    """Names in a row, each once."""
    out: Rich = ()
    for name in dict.fromkeys(names):
        out = (*out, *((Run(", ", "i"),) if out else ()), *name_text(name))
    return joined(out)


def axis_label(label: str, *, is_width: bool) -> Rich:
    """The label of an axis: italic, with what follows an underscore as a subscript.

    A width has a bar over its name. Over one low letter that is a macron, part of the text; over any other name the
    sheet draws a line (`barred`), since fonts place accents on tall letters badly.
    """
    base, sub, primes = _parts(label)
    over = MACRON if is_width and not barred(label) else ""
    return (*_word(base, "i", over + primes), *_subscript(sub, "i"))


def barred(label: str) -> bool:
    """Whether the bar over a width's name is a line that the sheet draws, and not a macron in the text."""
    base = _parts(label)[0]
    base = GREEK.get(base, base)
    return len(base) != 1 or base not in _LOW


def bar_over(label: str, size: float) -> tuple[float, float, float]:
    """Of the bar that is a line: where it begins, how long it is, and how far above the text's middle it lies.

    Over one letter it is as long as that of `\\bar`, and as far to the right as the letter leans; over a word it is as
    long as the word. Subscripts and primes have none over them.
    """
    base = _parts(label)[0]
    long = width(_word(base, "i", ""), size)
    letters = GREEK.get(base, base)
    high = 0.44 if all(c in _LOW for c in letters) else 0.69 if letters in ("i", "j") else 0.61
    if len(letters) > 1:
        return 0.0, long, high * size
    bar = min(0.44 * size, long)
    return (long - bar) / 2 + 0.06 * size, bar, high * size


def _primes(name: str) -> tuple[str, str]:
    """The name without the underscores at its ends, and a prime for each of these."""
    words = name.strip("_")
    return (words, PRIME * (len(name) - len(words))) if words else (name, "")


def _parts(label: str) -> tuple[str, str, str]:
    """What stands on the line, what below it (all that follows the first underscore between two words), and primes."""
    words, primes = _primes(label)
    base, _, sub = words.partition("_")
    return base, sub, primes


def _word(word: str, style: str, after: str) -> Rich:
    if word in GREEK:  # as TeX has them: small ones slanted, capitals upright
        return (Run(GREEK[word] + after, "b" if style == "b" else "i" if word.islower() else ""),)
    return (Run(word.replace("_", " ") + after, style),) if word else ()


def _subscript(sub: str, style: str) -> Rich:
    if not sub:
        return ()
    letter = sub in GREEK or (len(sub) == 1 and sub.isalpha())
    style = style if style == "b" else "i" if letter else ""
    return tuple(Run(run.text, run.style, -1) for run in _word(sub, style, ""))
