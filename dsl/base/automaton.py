"""Reads an item with the LALR tables that lark makes of grammar.lark (`parser.json`, by `dsl/tables.py`).

Importing lark takes as long as half a check, and its lexer compiles a pattern for each state of the parser. Here one
pattern cuts all tokens, and the state only decides what a word is. What is read so, lark reads alike; what cannot be
read is left to lark, which also says what it expected.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TABLES = Path(__file__).with_name("parser.json")
_TOKEN = re.compile(
    r"""[ \t]*(?:([A-Za-z_][A-Za-z0-9_]*)
    |(<=|>=|==|!=|\|>|->|[][(){}|=<>+\-*/%^,:.~])
    |(\n[ \t\n]*)
    |([0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.]))
    |("[^"\n]*")
    |(\Z))""",
    re.VERBOSE,
)
_WORD, _SIGN, _NEWLINE, _NUMBER, _STRING, _END = range(1, 7)


class OutOfGrammar(Exception):
    """The text is not of the grammar, as far as this can tell."""


class Lexeme:
    """A piece of the text, with the name of its terminal and its offsets."""

    __slots__ = ("end_pos", "start_pos", "type", "value")

    def __init__(self, type: str, value: str, start_pos: int, end_pos: int) -> None:
        self.type, self.value, self.start_pos, self.end_pos = type, value, start_pos, end_pos


class Automaton:
    """The tables, with what is made of each rule: a method of `callbacks` by its name."""

    def __init__(self, callbacks: object) -> None:
        tables = json.loads(TABLES.read_text("utf-8"))
        self.states: list[dict[str, int]] = tables["states"]  # of each: the state after a symbol, or ~rule to reduce by
        self.rules = [
            (alone and size == 1 and kept is None, size, origin, getattr(callbacks, made, None), alone, kept)
            for size, origin, made, alone, kept in tables["rules"]
        ]
        self.dropped = frozenset(tables["dropped"])  # terminals that no callback gets
        self.signs: dict[str, str] = tables["signs"]
        self.reserved: dict[str, str] = tables["reserved"]
        self.words: dict[str, str] = tables["words"]  # where no name can stand

    def read(self, text: str) -> Any:
        """What the callbacks make of an item. Raises OutOfGrammar, and whatever they raise."""
        states, rules, dropped, match = self.states, self.rules, self.dropped, _TOKEN.match
        at, path = 0, [0]
        values: list[Any] = []
        while True:
            found = match(text, at)
            if found is None:
                raise OutOfGrammar
            kind = found.lastindex or 0
            value, row = found[kind], states[path[-1]]
            if kind == _WORD:
                terminal = self.reserved.get(value)
                if terminal is None:
                    terminal = "NAME" if "NAME" in row else self.words.get(value, "NAME")
            elif kind == _SIGN:
                terminal = self.signs[value]
            elif kind == _NEWLINE:
                terminal = "_NL"
            elif kind == _NUMBER:
                terminal = "INT" if value.isdigit() else "FLOAT"
            else:
                terminal = "STRING" if kind == _STRING else "$END"
            action = row.get(terminal)
            while action is not None and action < 0:
                only, size, origin, made, alone, kept = rules[~action]
                if only:  # most steps: a value is an expression of each kind up to the loosest
                    path[-1] = states[path[-2]][origin]
                    action = states[path[-1]].get(terminal)
                    continue
                children = values[len(values) - size :]
                if size:
                    del values[-size:], path[-size:]
                if kept is not None:
                    children = _kept(children, kept)
                if not (alone and len(children) == 1):
                    values.append(children if made is None else made(children))
                else:
                    values.append(children[0])
                path.append(states[path[-1]][origin])
                action = states[path[-1]].get(terminal)
            if action is None:
                if not states[path[-1]]:  # after which nothing comes
                    return values[0]
                raise OutOfGrammar
            at = found.end()
            path.append(action)
            values.append(None if terminal in dropped else Lexeme(terminal, value, at - len(value), at))


def _kept(children: list[Any], kept: list[int | list[int] | None]) -> list[Any]:
    """What the callback of a rule gets: None in the place of what is not there, and lists item by item."""
    found: list[Any] = []
    for at in kept:
        if at is None:
            found.append(None)
        elif isinstance(at, int):
            found.append(children[at])
        elif found:
            found += children[at[0]]
        else:  # the longer the list, the more there is to gain
            found = children[at[0]]
    return found
