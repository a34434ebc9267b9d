"""The table of slips, matched through the states of the parser.

1. A row of `slips.txt` is wrong texts, `▸` where the parser gives up, and behind `:` what is said of them. Indented
   lines go on with it. `″` stands for the texts of the row before.
2. Each text is parsed up to there, when the table is written: what the parser would have taken is its state.
3. To a row belong the states between those of its texts: whatever all of them could go on with is taken there, and
   nothing that none could. So texts that differ in what does not matter make a row general.
4. A text may begin in a place, VALUE say: its states are shown by texts at the head of the table. `*`: in any state.
   `^`: at the top of a file, else in the body of a block.
5. What stands at `▸` is taken to the letter, but NAME, WORD (a reserved one), OP, CMP (operators, comparisons), VAL
   (what begins a value), 0, 0.5 and "" are any of their kind, and `…` behind it is anything.
6. `✗` and a run of characters: no token begins so, and the parser never sees it. 0 is what begins like a number, NAME a
   word or a quoted text, "" a text that is not closed, # a comment, … a character. `\\u000d` is one that nobody sees.
7. `~ pattern` fits the text around: `▸` and `◂` are the borders of what was found, `^` is the beginning of the line, a
   space any space, `⏎` a newline before `▸`, `{name}` a word. `~(` and `~[`: inside of such a bracket.
8. Behind `:` stands the help, `{name}` for what a group of the pattern holds, `{name|x}` with what stands there if that
   is nothing, `{name:way}` with what `words.py` makes of it. A row that asks for what there is not does not fit.
   `! CODE message ; label` says more than "expected ..., found ...", and underlines the group `at`.
9. `=> text` takes the place of what was found, `=>name text` that of a group; a `_` at its ends is a space.
10. `{NAME} = text` is written once, and put wherever `{NAME}` stands.
11. `pytest tests/dsl/test_slips.py --update` writes the states into `states.json`: a mistake costs no parsing.
12. Rows are looked up by what was found; the first that fits speaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..base.records import record, replace
from ..diagnostic import Diagnostic, error
from ..tokens import QUOTES, RESERVED
from .stumble import MARKS, Stumble
from .words import FINITE, WAYS, piece

TABLE = Path(__file__).with_name("slips.txt")
STATES = Path(__file__).with_name("states.json")
MARK = re.compile(r'▸("[^"]*"|->|\|>|[<>=!]=|\w+(?:\.\d+)?|[^\s…]|)(…?)')
_FIELD = re.compile(r"\{(\w+)(?:\|(\w*))?(?::(\w+))?\}")
_NO_MARKS = dict.fromkeys(MARKS.values())


@record
class SlipRow:
    """Wrong texts, what else must hold, and what is said. `fixes`: a group, "" for what was found, and its new text."""

    texts: tuple[str, ...] = ()
    inside: str = ""
    pattern: str = ""
    help: str = ""
    fixes: tuple[tuple[str, str], ...] = ()
    code: str = "E0101"
    message: str = ""
    label: str = ""


@cache
def table() -> tuple[dict[str, list[list[str]]], list[SlipRow]]:
    """The places, each with groups of texts, and the rows."""
    places: dict[str, list[list[str]]] = {}
    rows = [SlipRow()]
    once = {
        "{RESERVED}": "|".join(sorted(RESERVED)),
        "{QUOTES}": QUOTES,
        "{FINITE}": FINITE,
        "{PIECE}": piece("{value|x}", "{axis|axis}"),
        "{LATER_PIECE}": piece("{value|x}", "{axis|axis}", "{n}"),
    }
    for part in re.split(r"\n(?=\S)", TABLE.read_text("utf-8").strip()):
        part = re.sub(r"(?<!^)\{[A-Z_]+\}", lambda name: once[name.group()], re.sub(r"\n +", "  ", part))
        name, _, text = part.partition(" = ")
        if name[0] == "{":
            once[name] = text
        elif name.isupper() and name.isalpha():
            places[name] = [group.split("  ") for group in text.split(" | ")]
        elif name[0] != "#":
            rows.append(_row(part, rows[-1]))
    return places, rows[1:]


def _row(part: str, above: SlipRow) -> SlipRow:
    when, _, said = part.partition("  : ")
    texts, _, where = when.partition("  ~")
    inside, _, pattern = where.partition(" ")
    said, _, told = said.partition("  ! ")
    help, *fixes = said.split(" =>")
    code, _, told = told.partition(" ")
    message, _, label = told.partition(" ; ")
    edits = [(target, re.sub("^_|_$", " ", text)) for target, _, text in (fix.partition(" ") for fix in fixes)]
    texts = re.sub(r"\\u(\w{4})", lambda sign: chr(int(sign[1], 16)), texts)
    of = [each for text in texts.split("  ") for each in (above.texts if text == "″" else [text])]
    return SlipRow(tuple(of), inside, pattern, help, tuple(edits), code or "E0101", message, label)


def at_mark(text: str) -> str:
    """What a wrong text has at its mark; `=▸=` where the parser takes the first half of a sign for another."""
    if text[0] == "✗":
        return text
    found = MARK.search(text)
    assert found is not None, text
    half = text[found.start() - 1 : found.start()] + found[1]
    return "…" if found[2] else f"{half[0]}▸{half[1]}" if half in ("->", "|>", "==", "<=") else found[1]


@cache
def _by_found() -> dict[str, dict[int, list[tuple[frozenset[str], frozenset[str]]]]]:
    """The rows by number, and what the parser takes in their states, at least and at most; none: it may be in any."""
    stored = json.loads(STATES.read_text("utf-8"))
    sets = [frozenset(names.split()) for names in stored["sets"]]
    rows: dict[str, dict[int, list[tuple[frozenset[str], frozenset[str]]]]] = {}
    for number, row in enumerate(table()[1]):
        states = [(sets[least], sets[most]) for least, most in stored["rows"].get(str(number), ())]
        for found in map(at_mark, row.texts):
            rows.setdefault(found, {})[number] = states
    return rows


@cache
def _pattern(text: str) -> re.Pattern[str]:
    text = re.sub(r"\{([a-z]+)\}", r"(?P<\1>\\w+)", text.removeprefix("^"))
    return re.compile(text.replace(" ", r"[ \t⏎]*").translate(MARKS), re.MULTILINE)


def fitting(at: Stumble) -> Iterator[tuple[SlipRow, re.Match[str]]]:
    """The rows that fit, in their order, with the words that stand in the text."""
    marked, opener = at.marked, at.opener
    numbers = {number: states for found in at.founds for number, states in _by_found().get(found, {}).items()}
    for number in sorted(numbers):
        row, states = table()[1][number], numbers[number]
        if row.inside in ("", opener) and (not states or any(least <= at.accepts <= most for least, most in states)):
            pattern = _pattern(row.pattern)
            match = pattern.match(marked, at.line) if row.pattern[:1] == "^" else pattern.search(marked)
            said = _filled(row, at, match) if match else None
            if match and said:
                yield said, match


def tell(at: Stumble, message: str = "", label: str = "") -> Diagnostic:
    """What the first row says that fits, with a message and a label where that has none."""
    row, match = next(fitting(at), (SlipRow(), None))
    places = [(at.group(match, target), text) for target, text in row.fixes]
    return error(
        row.code,
        row.message or message,
        at.group(match, "at") or at.span,
        row.label or ("" if row.message else label),
        help=row.help,
        fix=[(span, at.apart(text, span)) for span, text in places if span is not None],
    )


def _filled(row: SlipRow, at: Stumble, match: re.Match[str]) -> SlipRow | None:
    """A row with the words that stand in the text; None: it asks for what there is not."""
    said = (row.help, row.message, *(text for _, text in row.fixes))
    words = {field.group(): _word(field, at, match) for text in said for field in _FIELD.finditer(text)}
    if None in words.values():
        return None
    help, message, *texts = (_FIELD.sub(lambda field: words[field.group()] or "", text) for text in said)
    return replace(row, help=help, message=message, fixes=tuple(zip(dict(row.fixes), texts, strict=True)))


def _word(field: re.Match[str], at: Stumble, match: re.Match[str]) -> str | None:
    """What stands for one of the fields of a row."""
    name, other, way = field.groups()
    text = {**at.words, **match.groupdict()}[name]
    if other is not None:
        text = text or other
    text = text and text.translate(_NO_MARKS)
    return WAYS[way](text, at.accepts) if way and text else text
