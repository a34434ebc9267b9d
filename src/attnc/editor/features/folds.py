"""What may be folded away: bodies, repeats, branches, and comments of several lines."""

from __future__ import annotations

from ..lexical import tokens


def folds(text: str) -> list[tuple[int, int, bool]]:
    """The stretches that fold, each from the line of one offset to that of another, and whether it is a comment.

    A text need not parse: a `}` that closes nothing and a `{` that is never closed are passed over. The line of a `}`
    stays in sight, and with it an `else` behind it.
    """
    found, opened = [], []
    comments: list[list[int]] = []  # offsets of those that follow one another, each alone on its line
    last = "\n"
    for token in tokens(text):
        if token.text == "{":
            opened.append(token.start)
        elif token.text == "}" and opened:
            before = text.rfind("\n", 0, token.start)
            if "\n" in text[(start := opened.pop()) : max(before, 0)]:
                found.append((start, before, False))
        elif token.text.startswith("#") and last == "\n":
            if comments and text.count("\n", comments[-1][-1], token.start) == 1:
                comments[-1].append(token.start)
            else:
                comments.append([token.start])
        last = token.text
    found += [(run[0], run[-1], True) for run in comments if len(run) > 1]
    return sorted(found)
