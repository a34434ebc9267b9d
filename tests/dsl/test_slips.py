"""The table of slips (`dsl/mistakes/slips.txt`): its texts are wrong where they say so, and its states are current."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from attnc.dsl.mistakes import expected
from attnc.dsl.mistakes.stumble import Stumble
from attnc.dsl.mistakes.table import MARK, STATES, SlipRow, at_mark, fitting, table
from attnc.dsl.source import Source
from attnc.dsl.tables import GRAMMAR, build_parser

BODY = "block f() { "
STANDS_FOR = {"NAME": "name", "WORD": "where", "OP": "<", "CMP": "<", "VAL": "1"}
PLACES, ROWS = table()
PARSER = build_parser(GRAMMAR.read_text("utf-8"))


def example(text: str) -> tuple[str, int]:
    """A wrong text as an item that can be given to the parser, and the place of its mark."""
    text = text.replace("⏎", " ")
    found = MARK.search(text)
    assert found is not None, text
    before = text[1 : found.start()] if text[0] == "^" else BODY + text[: found.start()]
    after = STANDS_FOR.get(found[1], found[1]) + text[found.end() :] + ("" if text[0] == "^" else "\n}")
    return before + after, len(before) - ("▸" in at_mark(text))


def gives_up(item: str) -> UnexpectedToken | UnexpectedCharacters:
    """Where the parser does."""
    try:
        PARSER.parse(item)
    except (UnexpectedToken, UnexpectedCharacters) as unexpected:
        return unexpected
    raise AssertionError(f"this is right: {item}")


def stumbled(text: str) -> Stumble:
    """Where the parser gives up in a text, alone in its line."""
    item, mark = example(text)
    source = Source("", item[: mark - 1] + "\n" + item[mark:] if "⏎" in text else item)
    return expected.stumble(gives_up(item), source, item, 0, 0 if text[0] == "^" else len(BODY))


def state(text: str) -> frozenset[str]:
    """What the parser would have taken at the mark."""
    item, mark = example(text)
    assert expected.offset(gives_up(item), item) == mark, f"{text!r}: the parser goes on, or gives up before"
    return stumbled(text).accepts


def place(text: str) -> str:
    return text.partition(" ")[0]


def states() -> Iterator[list[list[frozenset[str]]] | None]:
    """For each row, the sets between which the state of a parser must lie."""
    for row in ROWS:
        groups = [group for text in row.texts for group in PLACES.get(place(text), ())]
        groups.append([text for text in row.texts if place(text) not in PLACES])
        taken = [list(map(state, group)) for group in groups if group and group[0][:2] != "* " and group[0][0] != "✗"]
        yield [[frozenset.intersection(*each), frozenset.union(*each)] for each in taken] or None


def test_the_states_are_current(golden: Callable[[Path, str], None]) -> None:
    found = list(states())
    sets = sorted({" ".join(sorted(each)) for row in found for pair in row or () for each in pair})
    numbers = [row and [[sets.index(" ".join(sorted(each))) for each in pair] for pair in row] for row in found]
    rows = [f'"{number}": {json.dumps(row)}' for number, row in enumerate(numbers) if row]
    golden(
        STATES, '{"sets": [\n' + ",\n".join(map(json.dumps, sets)) + '\n],\n"rows": {\n' + ",\n".join(rows) + "\n}}\n"
    )


def test_each_row_is_told_of_one_of_its_texts() -> None:
    """They are examples: its pattern fits, and no row before takes them all."""
    for row in ROWS:
        texts = [text for text in row.texts if place(text) not in PLACES and text[0] not in "*✗"]
        assert not texts or row in map(told, texts), texts


def told(text: str) -> SlipRow | None:
    """The first row that fits a text."""
    for said, _ in fitting(stumbled(text)):
        return next(row for row in ROWS if (row.texts, row.pattern) == (said.texts, said.pattern))
    return None


def test_each_row_says_something() -> None:
    assert all(row.help or row.message for row in ROWS)
