"""What is worked out in many places rather than asked of the core (`compiler/graph/core`): each figure may only fall.

Whoever writes a walk through calls and loops, a match of how an op reads, a table of makers, or one more way to read a
mask, asks the core instead; where one goes, its figure falls with it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from .test_house import parsed

ROOT = Path(__file__).parents[1]
FOLDERS = ("compiler", "backends", "diagrams", "src")
HOME = "compiler/graph/core/"

NESTS = {"Call", "Repeat", "Scan"}
CONNECTIVES = {"Conjunction", "Disjunction", "Connective", "Complement"}
COMPREHENSIONS = (ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.ListComp)


@cache
def trees() -> dict[str, ast.AST]:
    """All files but those of the core, by path."""
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    names = {path.relative_to(ROOT).as_posix(): path for path in files}
    return {name: parsed(path.read_text("utf-8")) for name, path in names.items() if not name.startswith(HOME)}


def classes(node: ast.AST) -> Iterator[str]:
    """The names of classes that a pattern, or a call of `isinstance`, asks for."""
    if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
        yield node.cls.id
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        yield from (name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name))


def imported(tree: ast.AST, module: str) -> set[str]:
    """What a file has from a module of the compiler, by the end of its name."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {name.name for node in found if (node.module or "").endswith(module) for name in node.names}


def of_nesting(tree: ast.AST) -> Iterator[str]:
    """Functions that ask whether a node is a call, a repeat or a scan, each by the innermost."""
    nests = imported(tree, "nodes") & NESTS
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    found = []
    while stack:
        home, node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            home = f"{home}.{node.name}"
        if nests & set(classes(node)):
            found.append(home)
        stack += [(home, child) for child in ast.iter_child_nodes(node)]
    yield from dict.fromkeys(found)


def of_reads(tree: ast.AST) -> Iterator[str]:
    """Files that look at how an op reads."""
    if any(
        isinstance(node, ast.Attribute) and node.attr == "reads" and getattr(node.value, "attr", "") == "traits"
        for node in ast.walk(tree)
    ):
        yield "file"


def of_tables(tree: ast.AST) -> Iterator[str]:
    """Tables of what the nodes of a graph make or read: comprehensions over nodes that hold ids of values."""
    for node in ast.walk(tree):
        if not isinstance(node, COMPREHENSIONS):
            continue
        text = ast.unparse(node)
        over = [ast.unparse(one.iter) for one in node.generators]
        nodes = any(iter.endswith("nodes") or iter.endswith("nodes)") for iter in over)
        values = any(iter.startswith(("makes(", "reads(")) for iter in over) or ".out.id" in text
        if values and nodes and ".id" in text.split(" for ", 1)[0]:
            yield text


def of_masks(tree: ast.AST) -> Iterator[str]:
    """Files that say what a comparison and the words between truth values come to."""
    asked = {name for node in ast.walk(tree) for name in classes(node)}
    if "Compared" in asked and asked & CONNECTIVES:
        yield "file"


MOST: dict[Callable[[ast.AST], Iterator[str]], int] = {
    of_nesting: 252,
    of_reads: 72,
    of_tables: 12,
    of_masks: 14,
}


@pytest.mark.parametrize("counted", MOST)
def test_no_more_places_than_before(counted: Callable[[ast.AST], Iterator[str]]) -> None:
    places = [f"{path}: {one}" for path, tree in trees().items() for one in counted(tree)]
    assert len(places) <= MOST[counted], "\n".join([f"{len(places)} places", *places])
