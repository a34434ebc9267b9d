"""The shape of a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """What `attnc explain` says of one code.

    `title` is a phrase without a full stop. `explanation` is paragraphs with a blank line between, however their
    lines are broken. `wrong` and `right` are whole `.attn` files, as short as can be: `wrong` yields the code,
    `right` yields nothing (a test runs both). A line `# -- other.attn` begins another file, beside `main.attn`; a first
    line `# attnc check main.attn --config big` says how the file is checked.
    """

    code: str
    title: str
    explanation: str
    wrong: str
    right: str
