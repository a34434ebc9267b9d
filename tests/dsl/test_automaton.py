"""Items are read by an automaton of our own, with lark's tables: it makes the trees that lark makes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from lark.exceptions import UnexpectedInput

from attnc.dsl.base.automaton import TABLES, Automaton, OutOfGrammar
from attnc.dsl.layout import lay_out
from attnc.dsl.source import Source
from attnc.dsl.tables import GRAMMAR, build_parser, tables_of
from attnc.dsl.tree import RefusedText, TreeBuilder

ROOT = Path(__file__).parents[2]
BUILDER = TreeBuilder()
LARK = build_parser(GRAMMAR.read_text("utf-8"), BUILDER)
AUTOMATON = Automaton(BUILDER)
SPECS = [*(ROOT / "compiler" / "std").glob("*.attn"), *(ROOT / "examples").glob("*.attn")]
TOKEN = re.compile(r'\w+|"[^"\n]*"|->|\|>|[<>=!]=|\n|.', re.DOTALL)


def test_the_tables_are_current(golden: Callable[[Path, str], None]) -> None:
    """`pytest --update` writes them, after each change of the grammar."""
    parts = []
    for name, part in tables_of(build_parser(GRAMMAR.read_text("utf-8"))).items():
        each = (json.dumps(one, separators=(",", ":")) for one in part) if isinstance(part, list) else ()
        parts.append(f'"{name}":' + ("[\n" + ",\n".join(each) + "]" if each else json.dumps(part)))
    golden(TABLES, "{" + ",\n".join(parts) + "}\n")


def whole(node: object) -> Any:
    """A tree with its places, which `==` does not compare."""
    if isinstance(node, tuple | list):
        return [whole(each) for each in node]
    if is_dataclass(node) and not isinstance(node, Source):
        return type(node), [whole(getattr(node, each.name)) for each in fields(node)]
    return node


def read(how: Callable[[str], object], source: Source, base: int, text: str) -> object:
    BUILDER.begin(source, base, "")
    try:
        return whole(how(text))
    except RefusedText as refused:
        return whole(refused.diagnostic)
    except (OutOfGrammar, UnexpectedInput):
        return None


def compare(text: str) -> int:
    """How many items of a text are read; each must be as lark reads it."""
    source = Source("t", text)
    layout = lay_out(source)
    count = 0
    for piece in layout.pieces:
        item = layout.text[piece.start : piece.end]
        ours = read(AUTOMATON.read, source, piece.start, item)
        assert ours == read(LARK.parse, source, piece.start, item), item
        count += ours is not None
    return count


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_specs(path: Path) -> None:
    assert compare(path.read_text("utf-8")) > 0


def altered(text: str, draws: random.Random) -> Iterator[str]:
    """The text with tokens put in place of one another, twice, or left out, or with the space between them gone."""
    tokens = TOKEN.findall(text)
    at, other = draws.randrange(len(tokens)), draws.randrange(len(tokens))
    for there in (tokens[other], tokens[at] * 2, "", tokens[at].strip()[:1], "1e5", "0.5.1", '"a"', "model"):
        yield "".join((*tokens[:at], there, *tokens[at + 1 :]))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))])
def test_altered_specs(seed: int) -> None:
    draws = random.Random(seed)
    for path in draws.sample(SPECS, 3):
        text = path.read_text("utf-8")
        pieces = lay_out(Source("t", text)).pieces
        for _ in range(10):
            piece = draws.choice(pieces)
            for changed in altered(text[piece.start : piece.end], draws):
                compare(changed)


@pytest.mark.slow
def test_wrong_programs() -> None:
    for path in sorted((ROOT / "tests" / "mistakes").glob("*.txt")):
        for text in re.split(r"\n(?:---|===)[^\n]*\n", path.read_text("utf-8")):
            compare(text)
