"""The tree-sitter grammar reads what the checker reads, and no more: specs, mistakes, texts drawn from its grammar."""

from __future__ import annotations

import ctypes
import random
import re
import runpy
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from attnc.dsl.parse import parse
from attnc.dsl.source import Source
from attnc.dsl.syntax import Binary, IndexExpr, SizeExpr, Unary, WhereExpr
from attnc.dsl.tables import GRAMMAR, build_parser
from attnc.dsl.tokens import RESERVED, TOKEN
from tests.mistakes.cases import CASES

from .edits import ROOT

pytestmark = pytest.mark.slow

HERE = ROOT / "editors" / "tree-sitter-attn"
SPECS = [path for part in ("bench", "compiler", "docs", "examples", "tests") for path in (ROOT / part).rglob("*.attn")]
FREE = {"NAME", "INT", "FLOAT", "STRING", "_NL", "__IGNORE_0"}  # terminals of which there are many texts
TOUR = ROOT / "tests" / "dsl" / "tour.attn"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The language, from the parser as it is in the repository."""
    tree_sitter = pytest.importorskip("tree_sitter", reason='needs tree-sitter: pip install ".[interop]"')
    compiled = tmp_path_factory.mktemp("grammar") / "attn.so"
    files = [HERE / "src" / "parser.c", HERE / "src" / "scanner.c"]
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wno-unused", "-I", str(HERE / "src")]
    subprocess.run(["cc", *flags, *map(str, files), "-o", str(compiled)], check=True)
    made = ctypes.CDLL(str(compiled)).tree_sitter_attn
    made.restype = ctypes.c_void_p
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a pointer that is given as a number
        return tree_sitter, tree_sitter.Language(made())


@pytest.fixture(scope="module")
def reader(library: Any) -> Any:
    tree_sitter, language = library
    return tree_sitter.Parser(language)


def nodes(root: Any) -> Iterator[Any]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def right(text: str) -> bool:
    return not parse(Source("t", text))[1]


def reads(reader: Any, text: str) -> bool:
    return not reader.parse(text.encode()).root_node.has_error


def test_every_spec_is_read(reader: Any) -> None:
    assert len(SPECS) > 150
    wrong = [path for path in SPECS if reads(reader, text := path.read_text("utf-8")) != right(text)]
    assert wrong == []


def test_expressions_are_cut_as_the_checker_cuts_them(reader: Any) -> None:
    kinds = {"binary": Binary, "unary": Unary, "where": WhereExpr, "size": SizeExpr, "index": IndexExpr}
    for path in SPECS:
        text = path.read_text("utf-8")
        if not text.isascii():
            continue  # the places of the one are characters, those of the other bytes
        theirs: dict[str, set[str]] = {kind: set() for kind in kinds}
        for node in nodes(reader.parse(text.encode()).root_node):
            if node.type in kinds and node.is_named:
                whole = node  # with its parentheses, as the checker has it
                while whole.parent.type == "parenthesized":
                    whole = whole.parent
                theirs[node.type].add(f"{whole.start_byte}-{whole.end_byte}")
        ours: dict[str, set[str]] = {kind: set() for kind in kinds}
        stack: list[Any] = [parse(Source("t", text))[0]]
        while stack:
            found = stack.pop()
            if isinstance(found, tuple):
                stack.extend(found)
            elif hasattr(found, "__slots__") and hasattr(found, "__dataclass_fields__"):
                stack.extend(getattr(found, name) for name in found.__dataclass_fields__)
            for kind, cls in kinds.items():
                if isinstance(found, cls):
                    ours[kind].add(f"{found.span.start}-{found.span.end}")
        assert ours == theirs, path


def test_mistakes_of_syntax_are_seen_and_no_others(reader: Any) -> None:
    wrong = [
        (case.file, case.title)
        for case in CASES
        if reads(reader, text := case.text.partition("\n# -- ")[0]) != right(text)
    ]
    # Too deep a nest, a name that is a reserved word, and two of which the grammar makes more than it is to make.
    assert [title for _, title in wrong] == [
        "E0107", "E0108", "a computed size where axes stand", "a mask among the arguments",
    ]  # fmt: skip


def test_a_broken_line_leaves_the_others(reader: Any) -> None:
    text = "block f(x: [a]) -> [a] {\n    y = x +\n    z = relu(x)\n    w = = x\n    return tanh(z)\n}\n\nconst a = 1\n"
    root = reader.parse(text.encode()).root_node
    assert root.has_error and {"block", "call", "const"} <= {node.type for node in nodes(root)}
    for wrong in (
        "block f(x: [a]) {\n    y = x\n    (y)\n}",
        "block f(x: [a]) { y = x return y }",
        "const a = 1 b = 1",
    ):
        assert not reads(reader, wrong) and not right(wrong)


# -- texts from the checker's grammar


class Drawn:
    """Texts that the grammar of the checker derives, at random."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        lark = build_parser(GRAMMAR.read_text("utf-8"))
        self.patterns = {each.name: each.pattern.value for each in lark.terminals}
        self.rules: dict[str, list[list[Any]]] = {}
        for rule in lark.rules:
            self.rules.setdefault(rule.origin.name, []).append(list(rule.expansion))
        self.low = dict.fromkeys(self.patterns, 0)  # how deep a derivation must be
        while missing := [name for name in self.rules if name not in self.low]:
            for name in missing:
                heights = [self._height(way) for way in self.rules[name] if all(s.name in self.low for s in way)]
                if heights:
                    self.low[name] = min(heights)

    def _height(self, way: list[Any]) -> int:
        return 1 + max((self.low[symbol.name] for symbol in way), default=0)

    def tokens(self, name: str, depth: int) -> Iterator[str]:
        if name in self.patterns:
            yield self._word(name)
            return
        ways = self.rules[name]
        fit = [way for way in ways if self._height(way) <= depth]
        least = min(map(self._height, ways))
        for symbol in self.chance.choice(fit or [way for way in ways if self._height(way) == least]):
            yield from self.tokens(symbol.name, depth - 1)

    def _word(self, name: str) -> str:
        match name:
            case "NAME":
                return self.chance.choice(["q", "seq", "x2", "_a", "model", "as", "in", "op", "scanner", "iffy"])
            case "INT":
                return self.chance.choice(["0", "12"])
            case "FLOAT":
                return self.chance.choice(["0.5", "1e-5", "2.0E+3"])
            case "STRING":
                return '"a # b"'
            case "_NL":
                return "\n"
        return re.sub(r"\(\?!.*", "", self.patterns[name]).replace("\\", "")

    def text(self) -> str:
        return "\n".join(" ".join(self.tokens("item", self.chance.randrange(6, 22))) for _ in range(3)) + "\n"


def test_what_the_checker_derives_is_read(reader: Any, record_property: Any) -> None:
    drawn, count = Drawn(0), 0
    for _ in range(1500):
        text = drawn.text()
        if len(text) < 4000 and right(text):  # a newline or a word may mean something else where it came to stand
            count += 1
            assert reads(reader, text), text
    record_property("shown", f"{count} texts of the grammar")
    assert count > 500


def test_what_the_checker_refuses_is_refused(reader: Any, record_property: Any) -> None:
    """Specs with a token left out, doubled or put in another's place."""
    chance, wrong, count = random.Random(1), [], 0
    texts = [path.read_text("utf-8") for path in SPECS]
    for _ in range(4000):
        text = chance.choice(texts)
        tokens = [match.group() for match in TOKEN.finditer(text)]
        at = chance.randrange(len(tokens))
        other = chance.choice(tokens)
        if {other, tokens[at]} & RESERVED:
            continue  # as a name
        tokens[at] = chance.choice(["", tokens[at] * 2, other])
        new = "".join(tokens)
        count += 1
        if reads(reader, new) != right(new):
            wrong.append(new)
    record_property("shown", f"{len(wrong)} of {count} altered texts are read otherwise")
    assert len(wrong) <= count // 100, wrong


# -- its files


def test_the_trees_of_the_corpus(reader: Any) -> None:
    count = 0
    for path in (HERE / "test" / "corpus").glob("*.txt"):
        cases = re.findall(r"=+\n([^\n]*)\n=+\n(.*?)\n---\n(.*?)(?=\n===|\Z)", path.read_text(), re.DOTALL)
        for title, text, tree in cases:
            found = re.sub(r"\b\w+: ", "", str(reader.parse(text.encode()).root_node))
            assert found == re.sub(r"\s+(?=\))", "", re.sub(r"\s+", " ", tree.strip())), title
            count += 1
    assert count == 6


def test_the_parser_is_that_of_the_grammar(library: Any) -> None:
    _, language = library
    grammar = (HERE / "grammar.js").read_text()
    kinds = [k for k in range(language.node_kind_count) if language.node_kind_is_visible(k)]
    names = {language.node_kind_for_id(k) for k in kinds}
    rules = set(re.findall(r"^    ([a-z]\w*): \(", grammar, re.MULTILINE))
    assert rules - names <= {"item", "statement", "expression", "stage", "named"}  # shown as what they are
    words = {language.node_kind_for_id(k) for k in kinds if not language.node_kind_is_named(k)}
    patterns = [each for each in build_parser(GRAMMAR.read_text("utf-8")).terminals if each.name not in FREE]
    theirs = {re.sub(r"\(\?!.*", "", each.pattern.value).replace("\\", "") for each in patterns}
    assert words == theirs - {"true", "false"}


def test_highlights(library: Any, reader: Any) -> None:
    tree_sitter, language = library
    text = (HERE / "queries" / "highlights.scm").read_text()
    assert text == runpy.run_path(str(ROOT / "editors" / "grammar.py"))["highlights"]()
    cursor = tree_sitter.QueryCursor(tree_sitter.Query(language, text))
    for path in SPECS:
        places: dict[int, str] = {}
        for name, found in cursor.captures(reader.parse(path.read_bytes()).root_node).items():
            for node in found:
                assert places.setdefault(node.id, name) == name, (path, node)
    captures = cursor.captures(reader.parse(TOUR.read_bytes()).root_node)
    said = {name: {node.text.decode() for node in found} for name, found in captures.items()}
    assert said["function.builtin"] == {"dot", "linear", "normal", "relu", "softmax", "sqrt", "zeros"}
    assert said["function.call"] == {"cell", "enc"} and said["function"] == {"attend", "shuffle", "transformer"}
    assert {"heads", "model", "k"} <= said["type"] and said["type.builtin"] == {"bool", "int"}
