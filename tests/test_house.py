"""What stands for one op by its name, outside the rows of the table, and what is too long: it may only become less.

An op's meaning belongs in its row (`compiler/ops`), its code in `ops.py` of each backend, its picture in
`diagrams/glyphs`. Whatever else asks for an op by name must be found and changed by whoever adds one.

How many ways a function has is held by ruff (C901, `pyproject.toml`), how long it is by a test here.
"""

from __future__ import annotations

import ast
import symtable
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from attnc.compiler.ops import OPS

ROOT = Path(__file__).parents[1]
FOLDERS = ("dsl", "compiler", "backends", "diagrams", "src")
HOMES = ("compiler/ops/", *(f"backends/{name}/ops.py" for name in ("torch", "numpy", "triton")), "diagrams/glyphs/")
# Names alone: `+` and `<=` are signs of the language, which numbers known at build time have too.
NAMES = frozenset(name for name in OPS if name.isidentifier())
LEFT = Path(__file__).with_name("op_names.txt")  # path | places | why they may
MOST = 101  # of 938 at first: this may only fall
MOST_FILES = 12  # of a folder, beside `__init__`
MOST_LINES = 60  # of a function, those of functions within it counted
CHECKER = ("compiler/typing/", "compiler/calls/")
MOST_LINES_OF_CLASS = 300  # in the checker

_CLOCKS = ("time", "perf_counter", "process_time", "thread_time", "monotonic", "clock_gettime")

parsed = cache(ast.parse)  # each file is looked at several times


def mentions(text: str) -> Iterator[str]:
    """Each place that stands for one op by its name: a string (`case` patterns hold such), and each use of a constant
    or of a member of an enum that is one.
    """
    tree = parsed(text)
    constants: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            yield node.value
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        if targets and isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value in NAMES:
            constants |= {target.id: value.value for target in targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in constants:
            yield constants[node.id]
        elif isinstance(node, ast.Attribute) and node.attr in constants:
            yield constants[node.attr]


def counted() -> dict[str, Counter[str]]:
    """By file: how often each op is named there."""
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    names = {path: path.relative_to(ROOT).as_posix() for path in files}
    return {
        name: Counter(mentions(path.read_text(encoding="utf-8")))
        for path, name in names.items()
        if not name.startswith(HOMES)
    }


def test_ops_are_asked_for_by_what_they_do() -> None:
    """The list may only become shorter: where a place is gone, its number falls, and its line goes with the last."""
    rows = [line.split(" | ") for line in LEFT.read_text(encoding="utf-8").splitlines()]
    assert all(len(row) == 3 for row in rows), "path | places | why they may"
    listed = {path: int(number) for path, number, _ in rows}
    assert sum(listed.values()) <= MOST
    ops = counted()
    found = {path: names.total() for path, names in ops.items() if names}
    assert found == listed, "\n".join(
        f"{path}: {found.get(path, 0)} places stand for one op by its name, {listed.get(path, 0)} are listed: "
        f"{', '.join(sorted(ops.get(path, ())))}"
        for path in sorted({*found, *listed})
        if found.get(path) != listed.get(path)
    )


def test_folders_are_small() -> None:
    folders = Counter(path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    large = {str(folder.relative_to(ROOT)): number - 1 for folder, number in folders.items() if number - 1 > MOST_FILES}
    assert not large, "a floor has a room too many: which belong together?"


def test_a_class_name_stands_for_one_thing() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    trees = (parsed(path.read_text(encoding="utf-8")) for path in files)
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    twice = {name for name, number in names.items() if number > 1}
    assert twice == {
        # one interface in the code of both backends
        *("Along", "Cache", "Captured", "Decoder", "Dispatch", "History", "Joint"),
        *("Span", "Truth"),  # in generated code; those of a text and its syntax tree are others
        "Map",  # both public: `attnc.weights.Map` (names of weights) and `attnc.inspect.Map` (attention)
    }


def lengths(text: str, of: type[ast.stmt] | tuple[type[ast.stmt], ...]) -> Iterator[tuple[str, int]]:
    """The lines of each function or class, by its name with those of what it stands in."""
    stack: list[tuple[str, ast.AST]] = [("", parsed(text))]
    while stack:
        prefix, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if isinstance(child, of):
                    yield prefix + child.name, (child.end_lineno or 0) - child.lineno + 1
                name = f"{prefix}{child.name}."
            stack.append((name, child))


def test_functions_are_short() -> None:
    """And classes of the checker."""
    wrong = []
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        functions = lengths(text, (ast.FunctionDef, ast.AsyncFunctionDef))
        long = [(what, lines) for what, lines in functions if lines > MOST_LINES]
        if name.startswith(CHECKER):
            long += [(what, lines) for what, lines in lengths(text, ast.ClassDef) if lines > MOST_LINES_OF_CLASS]
        wrong += [f"{name}: {what} has {lines} lines" for what, lines in long]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_comprehension_hides_what_the_function_around_it_reads_from_outside() -> None:
    """Python 3.12 and 3.13 take the two for one where a generator beside it reads that name, too: a NameError."""

    def found(table: symtable.SymbolTable) -> Iterator[tuple[str, str]]:
        made = ("listcomp", "setcomp", "dictcomp")
        free = {name.get_name() for name in table.get_symbols() if name.is_free()}
        for inner in table.get_children():
            if inner.get_name() in made and table.get_name() not in made:
                own = {name.get_name() for name in inner.get_symbols() if name.is_local()}
                yield from ((table.get_name(), name) for name in sorted(own & free))
            yield from found(inner)

    assert not [
        (str(path.relative_to(ROOT)), *one)
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for one in found(symtable.symtable(path.read_text(encoding="utf-8"), str(path), "exec"))
    ]


CLOCKS = frozenset(name for name in dir(time) if name.removesuffix("_ns") in _CLOCKS)
LEAST_PATIENCE = 120  # seconds


def clocks(text: str) -> Iterator[int]:
    """The lines that look at a clock, or give up waiting early."""
    tree = parsed(text)
    known = {name.asname or name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    numbers = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="time", names=names) if CLOCKS & {name.name for name in names}:
                yield node.lineno
            case ast.Import(names=names) if any(name.name == "timeit" for name in names):
                yield node.lineno
            case ast.Attribute(value=ast.Name(id=module), attr=attr) if attr in CLOCKS and module in known:
                yield node.lineno
            case ast.keyword(arg="timeout", value=ast.Constant(value=int() | float() as seconds)):
                if seconds < LEAST_PATIENCE:
                    yield node.value.lineno
            case ast.keyword(arg="timeout", value=ast.Name(id=name)) if name in numbers:
                if numbers[name] < LEAST_PATIENCE:
                    yield node.value.lineno


def test_no_test_measures_seconds() -> None:
    """Machines differ: how long work takes is measured in other work (tests/clock.py), and whoever waits is patient.
    `tests/faults` holds no tests.
    """
    files = [path for path in sorted((ROOT / "tests").rglob("*.py")) if "faults" not in path.parts]
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        if path.name != "clock.py"
        for line in clocks(path.read_text(encoding="utf-8"))
    }
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "import time\nbegun = time.perf_counter()",
        "import time as clock\nclock.monotonic_ns()",
        "from time import process_time",
        "import timeit",
        "run(command, timeout=60)",
        "SECONDS = 5.0\nqueue.get(timeout=SECONDS)",
    ],
)
def test_what_measures_seconds_is_found(text: str) -> None:
    assert [*clocks(text)]
    assert not [*clocks("import time\ntime.sleep(1)\nrun(command, timeout=300)")]


def test_no_file_is_excepted_from_complexity() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert settings["mccabe"]["max-complexity"] <= 15
    assert [path for path, rules in settings["per-file-ignores"].items() if "C901" in rules] == ["tests/**"]


def test_what_is_listed_as_slow_is_a_test() -> None:
    listed = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
    for line in (each for each in listed if not each.startswith("#")):
        path, _, test = line.partition("::")
        assert f"\ndef {test.partition('[')[0]}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), line


def test_what_is_long() -> None:
    text = "class A:\n    def f(self):\n        def g():\n            pass\n\n        g()\n"
    assert dict(lengths(text, ast.FunctionDef)) == {"A.f": 5, "A.f.g": 2}
    assert dict(lengths(text, ast.ClassDef)) == {"A": 6}


def test_what_counts() -> None:
    text = 'RELU = "relu"\nmatch op:\n    case "softmax" | "sum":\n        f(RELU, x.RELU, "relu of x")\n'
    assert sorted(mentions(text)) == ["relu", "relu", "relu", "softmax", "sum"]
    assert list(mentions('"+", "<=", "linear map"')) == []
