"""Items are read by an automaton of our own, with lark's tables: it makes the trees that lark makes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import lark
import pytest
from lark.exceptions import UnexpectedInput
from lark.grammar import Rule
from lark.lexer import PatternStr
from lark.parse_tree_builder import maybe_create_child_filter

from attnc.dsl.base.automaton import TABLES, Automaton, OutOfGrammar
from attnc.dsl.layout import lay_out
from attnc.dsl.source import Source
from attnc.dsl.tables import GRAMMAR, START, build_parser
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


def tables_of(parser: lark.Lark) -> dict[str, Any]:
    """What `dsl/base/automaton.py` reads with: states and rules in an order that hangs on the grammar alone."""
    table: Any = parser.parser.parser._parse_table
    order, place = [table.start_states[START]], {table.start_states[START]: 0}
    for state in order:  # those that are reached, the nearest first
        for _, (action, to) in sorted(table.states[state].items(), key=lambda each: each[0]):
            if str(action) == "Shift" and to not in place:
                place[to] = len(order)
                order.append(to)
    rules = sorted(parser.rules, key=lambda rule: (rule.origin.name, [symbol.name for symbol in rule.expansion]))
    number = {rule: n for n, rule in enumerate(rules)}
    states = [
        {
            symbol: place[to] if str(action) == "Shift" else ~number[to]
            for symbol, (action, to) in sorted(table.states[state].items(), key=lambda each: each[0])
        }
        for state in order
    ]
    terminals = {each.name: each.pattern.value for each in parser.terminals}
    words = {found[1]: name for name, pattern in terminals.items() if (found := re.match(r"(\w+)\(\?!", pattern))}
    name = re.compile(terminals["NAME"])
    read = [_rule(rule) for rule in rules]
    kept = {
        symbol.name
        for rule, (*_, taken) in zip(rules, read, strict=True)
        for at, symbol in enumerate(rule.expansion)
        if taken is None or at in taken
    }
    return {
        "states": states,
        "rules": read,
        "dropped": sorted(name for name in terminals if name not in kept),
        "signs": {each.pattern.value: each.name for each in parser.terminals if isinstance(each.pattern, PatternStr)},
        "reserved": {word: terminal for word, terminal in words.items() if not name.match(word)},
        "words": {word: terminal for word, terminal in words.items() if name.match(word)},
    }


def _rule(rule: Rule) -> list[Any]:
    """Its size, what it makes, the callback, whether one child stands for it, and which children are kept (None: all).

    Kept are: a number, its child; a list of one, all that this child holds; null, None.
    """
    made = rule.alias or rule.origin.name
    kept: list[Any] | None = None
    chosen: Any = maybe_create_child_filter(rule.expansion, False, False, list(rule.options.empty_indices))
    if chosen is not None:
        included, *nones = chosen.args
        kept = []
        for at, inside, *before in included:
            kept += [*[None] * sum(before), [at] if inside else at]
        kept += [None] * sum(nones)
    alone = rule.options.expand1 and not rule.alias
    return [len(rule.expansion), rule.origin.name, made, alone, kept]


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
