"""The table of slips, matched through the states of the parser.

1. A row of `slips.txt` is wrong texts, `▸` where the parser gives up, and behind `:` what is said of them. Indented
   lines go on with it.
2. Each text is parsed up to there, when the table is written: what the parser would have taken is its state.
3. To a row belong the states between those of its texts: whatever all of them could go on with is taken there, and
   nothing that none could. So texts that differ in what does not matter make a row general.
4. A text may begin in a place, VALUE say: its states are shown by texts at the head of the table. `*`: in any state.
   `^`: at the top of a file, else in the body of a block.
5. What stands at `▸` is taken to the letter, but NAME, WORD (a reserved one), OP, CMP (operators, comparisons), VAL
   (what begins a value), 0, 0.5 and "" are any of their kind, and `…` behind it is anything.
6. `~ pattern` fits the text around: `▸` and `◂` are the borders of what was found, a space is any space, `⏎` a newline
   before `▸`, `{name}` a word. `~(` and `~[`: inside of such a bracket.
7. Behind `:` stands the help, with `{name}` for what a group holds, or `@name`, a function of `computed.py`.
   `! CODE message ; label` says more than "expected ..., found ...", and underlines the group `at`.
8. `=> text` takes the place of what was found, `=>name text` that of a group; a `_` at its ends is a space.
9. `pytest tests/dsl/test_slips.py --update` writes the states into `states.json`: a mistake costs no parsing.
10. Rows are looked up by what was found; the first that fits speaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .stumble import MARKS, RESERVED, Stumble

TABLE = Path(__file__).with_name("slips.txt")
STATES = Path(__file__).with_name("states.json")
MARK = re.compile(r'▸("[^"]*"|->|\|>|[<>=!]=|\w+(?:\.\d+)?|[^\s…]|)(…?)')

_SAID = r"(.*?)(?: =>(?P<target>\w*)(?: (?! )(.*?))?)?(?:  ! (\w+) (.*?)(?: ; (.*))?)?"
_ROW = rf"(.*?)(?:  ~([\[(]?)(?: (.*?))?)?  : {_SAID}"


@dataclass(frozen=True, slots=True)
class SlipRow:
    """Wrong texts, what else must hold, and what is said. `target`: what a fix replaces; "" is what was found."""

    texts: tuple[str, ...]
    inside: str
    pattern: str
    help: str
    target: str | None
    fix: str
    code: str  # "": E0101
    message: str
    label: str


@cache
def table() -> tuple[dict[str, list[list[str]]], list[SlipRow]]:
    """The places, each with groups of texts, and the rows."""
    places: dict[str, list[list[str]]] = {}
    rows: list[SlipRow] = []
    for part in re.split(r"\n(?=\S)", TABLE.read_text("utf-8").strip()):
        if place := re.match(r"([A-Z]+) = (.*)", part):
            places[place[1]] = [group.split("  ") for group in place[2].split(" | ")]
        elif row := re.fullmatch(_ROW, re.sub(r"\n +", "  ", part)):
            texts, inside, pattern, help, target, fix, *told = row.groups("")
            where = None if row["target"] is None else target
            fix = re.sub("^_|_$", " ", fix)
            rows.append(SlipRow((*texts.split("  "),), inside, pattern, help, where, fix, *told))
        else:
            assert part[0] == "#", part
    return places, rows


def at_mark(text: str) -> str:
    """What a wrong text has at its mark; `=▸=` where the parser takes the first half of a sign for another."""
    found = MARK.search(text)
    assert found is not None, text
    half = text[found.start() - 1 : found.start()] + found[1]
    return "…" if found[2] else f"{half[0]}▸{half[1]}" if half in ("->", "|>", "==", "<=") else found[1]


@cache
def _by_found() -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(table()[1]):
        for found in {at_mark(text) for text in row.texts}:
            rows.setdefault(found, []).append(number)
    return rows


@cache
def _states() -> list[list[tuple[frozenset[str], frozenset[str]]] | None]:
    """For each row, what the parser takes in its states, at least and at most; None: it may be in any."""
    stored = json.loads(STATES.read_text("utf-8"))
    sets = [frozenset(names.split()) for names in stored["sets"]]
    return [None if row is None else [(sets[least], sets[most]) for least, most in row] for row in stored["rows"]]


@cache
def _pattern(text: str) -> re.Pattern[str]:
    text = re.sub(r"\{([a-z]+)\}", r"(?P<\1>\\w+)", text.replace("{RESERVED}", "|".join(sorted(RESERVED))))
    return re.compile(text.replace(" ", r"[ \t⏎]*").translate(MARKS), re.MULTILINE)


def fitting(at: Stumble) -> Iterator[tuple[SlipRow, re.Match[str]]]:
    """The rows that fit, in their order."""
    marked, opener = at.marked, at.opener
    for number in sorted({number for found in at.founds for number in _by_found().get(found, ())}):
        row, states = table()[1][number], _states()[number]
        if row.inside not in ("", opener):
            continue
        if states is None or any(least <= at.accepts <= most for least, most in states):
            match = _pattern(row.pattern).search(marked)
            if match is not None:
                yield row, match
