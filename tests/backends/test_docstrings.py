"""The words of a spec in docstrings: all of them, and nothing that is read as code, whatever they are."""

from __future__ import annotations

import ast
import inspect
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attnc
from attnc.backends.plan.lower import lower, stepping
from attnc.backends.text.docstrings import columns, docstring, plain_words, remarked, sentences
from attnc.backends.text.names import camel

from .docstrings import parted

EXAMPLES = Path(__file__).parents[2] / "examples"
NASTY = [
    '"""',
    '""""""; import os; """',
    '"',
    'says "this"',
    '"this" it says',
    '"quoted"',
    "ends in \\",
    "ends in \\\\",
    '\\"""',
    '\\\\"""',
    '"""\\',
    "\\N{BULLET} \\x41 \\u0041 \\U00000041 \\101 \\n \\",
    "\\N{NO SUCH CHARACTER} \\x \\u12 \\777",
    r"$\sqrt{d} \cdot \frac{q^\top k}{\beta}$",
    r'\sqrt{d} and """',
    "'''",
    "{x} %s {{}} $x `x` f\"{__import__('os')}\"",
    "tab\there, bell \x07, null \x00, escape \x1b[31m, delete \x7f, C1 \x9b",
    "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029",
    "turned \u202e round \u2066 \u2069 \u200f \u061c \u200b \ufeff \xad",
    "été, 注意, שלום, Ω ≤ √d, 👩‍👩‍👧, e\u0301, ﬁ, Å",
    "\u01c0x \u01c1Float \u01c2dtype Float torch math np __doc__ batch",
    "a" * 119,
    "a" * 5000,
    "a " * 5000,
    "注" * 200,
    "https://example.org/" + "x" * 150 + " is a page",
    "# type: ignore",
    "fmt: off",
    "    return 1",
    ":",
    "",
    "   ",
    "\x85",
    "-*- coding: ascii -*-",
]
TEXT = """
# {0}
width seq

# {1}
block f(x: [seq, d]) -> [seq, d] {{  # {2}
    # {0}
    param g: [d]  # {1}
    param h: [d] ~ ones  # {2}
    return linear.w[d -> d](x) * g + h
}}

# {1}
# {2}
#
#     {0}
model m(x: [seq, d]) -> [seq, d] causal seq {{
    y = f(x)  # {0}
    # {1}
    return f.again(y)
}}
depth d = 3  # {2}
"""


def spec_of(*words: str) -> attnc.Spec:
    return attnc.loads(TEXT.format(*words, *["x"] * (3 - len(words))))


def code_and_words(spec: attnc.Spec, backend: str) -> tuple[str, dict[str, str]]:
    source = spec.model("m").source(backend)  # type: ignore[arg-type]
    code, found = parted(source)
    assert all(line.isprintable() for line in source.split("\n"))
    return code, found


def said(words: str) -> list[str]:
    return plain_words(words).split()


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("words", NASTY)
def test_no_words_change_the_code(words: str, backend: str) -> None:
    plain, usual = code_and_words(spec_of("x", "x", "x"), backend)
    code, found = code_and_words(spec_of(words, words, words), backend)
    assert code == plain
    assert code.isascii()
    block, model = ("F", "M") if backend == "torch" else ("f", "m")
    assert usual[block] == "x"
    assert found.get(block, "").split() == said(words)
    assert found[model].split() == [*said(words) * 3, "Causal", "along", "`seq`,", "as", "attnc", "has", "proved."]
    assert {path: text for path, text in found.items() if path not in ("", block, model)} == {
        path: text for path, text in usual.items() if path not in ("", block, model)
    }


anything = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=200)
signs = st.lists(st.sampled_from(['"', '"""', "\\", "'", " ", "  ", "a", "\t", "\x85", "N{", "\u01c0", "word" * 20]))
comment = anything | signs.map("".join)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(comment, comment, comment)
def test_no_text_changes_the_code(one: str, two: str, three: str) -> None:
    for backend, block, model in (("torch", "F", "M"), ("numpy", "f", "m")):
        plain, _ = code_and_words(spec_of("x", "x", "x"), backend)
        code, found = code_and_words(spec_of(one, two, three), backend)
        assert code == plain
        assert found.get(block, "").split() == said(two)
        assert found[model].split()[:-7] == [*said(two), *said(three), *said(one)]


def value(lines: list[str]) -> str:
    """What Python makes of a docstring, whose lines are indented by four."""
    (node,) = ast.parse("\n".join(["class C:", *lines, "", "    x = 1"])).body
    assert isinstance(node, ast.ClassDef)
    assert len(node.body) == 2
    compiled: dict[str, type] = {}
    exec(compile(ast.Module([node], []), "made", "exec"), compiled)
    return inspect.cleandoc(compiled["C"].__doc__ or "")


@settings(max_examples=400, deadline=None)
@given(st.lists(comment).map("\n".join) | st.text())
def test_a_docstring_says_the_words(words: str) -> None:
    lines = docstring(words, "    ")
    wanted = plain_words(words)
    assert bool(lines) == bool(wanted)
    assert all(line.isprintable() and line == line.rstrip() for line in lines)
    if lines:
        found = value(lines)
        assert found.split() == wanted.split()
        if max(map(len, wanted.split("\n"))) < 50 and wanted.isascii() and wanted.isprintable():
            assert found == wanted


@pytest.mark.parametrize("words", NASTY)
def test_a_docstring_ends_where_its_words_end(words: str) -> None:
    if said(words):
        assert value(docstring(words, "    ")).split() == said(words)
        assert value(docstring(f"One line.\n\n{words}\n{words}", "    ")).split() == ["One", "line.", *said(words) * 2]


def test_how_docstrings_look() -> None:
    def shown(words: str) -> str:
        return "\n".join(docstring(words, "    "))

    assert shown("A norm.") == '    """A norm."""'
    assert shown("") == ""
    assert shown("A norm.\n\n  x: what is normed") == '    """A norm.\n\n    x: what is normed\n    """'
    assert shown("a" * 110) == f'    """{"a" * 110}"""'
    assert shown("a" * 100 + " " + "b" * 10) == f'    """{"a" * 100}\n    {"b" * 10}\n    """'
    assert shown(r"\sqrt{d}") == r'    r"""\sqrt{d}"""'
    assert shown('says "this"') == '    """says "this\\""""'
    assert shown("注意, é, \u202e") == '    """注意, é, \\u202e"""'


def test_paragraphs_that_are_too_wide_are_filled_anew() -> None:
    words = "\n".join(["word " * 24, "goes on.", "", "- " + "item " * 30, "  goes on", "- another", "", "x   aligned"])
    lines = docstring(words, "    ")
    assert max(map(len, lines)) <= 120
    assert lines == [
        '    """' + "word " * 21 + "word",
        "    word word goes on.",
        "",
        "    - " + ("item " * 23).rstrip(),
        "      " + "item " * 7 + "goes on",
        "    - another",
        "",
        "    x   aligned",
        '    """',
    ]
    assert docstring("One line\nand another.", "    ") == ['    """One line', "    and another.", '    """']


@pytest.mark.skipif(not shutil.which(str(Path(sys.executable).with_name("ruff"))), reason="needs ruff")
def test_ruff_leaves_docstrings_alone(tmp_path: Path) -> None:
    rng = random.Random(5)
    parts = [*NASTY, "\n", "\n\n", "\n    ", "- ", "1. ", " ", "  ", "word ", "a sentence. ", '"', "\\", "\t"]
    texts = [*NASTY, *("".join(rng.choices(parts, k=rng.choice([1, 2, 4, 8, 20]))) for _ in range(2000))]
    made = []
    for number, words in enumerate(texts):
        lines = docstring(words, "    ") or docstring("x", "    ")
        inner = docstring(words, "        ") or docstring("x", "        ")
        made.append("\n".join([f"class C{number}:", *lines, "", "    def f(self):", *inner, "        return 1"]))
    file = tmp_path / "made.py"
    text = "\n\n\n".join(made) + "\n"
    file.write_text(text, encoding="utf-8", newline="\n")
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "format", "--isolated", "--no-cache", "--line-length", "120", file], check=True)
    assert file.read_text(encoding="utf-8") == text


def test_what_is_proved_stands_behind_the_words() -> None:
    assert sentences("A sentence.", "Another.") == "A sentence. Another."
    assert sentences("words", "A sentence.", "") == "words\nA sentence."
    assert sentences("", "A sentence.") == "A sentence."
    spec = attnc.loads("""
        width a, b
        depth d = 2
        # Two.
        model m(x: [a, d], y: [b, d]) -> (p: [a, d] causal a, q: [b, d] causal b, r: [d]) {
            return cumsum[a](x), cumsum[b](y), sum[a](x)
        }
        model same(x: [a, d]) -> (p: [a, d] causal a, q: [a, d] causal a) { return cumsum[a](x), x + 1 }
    """)
    _, found = parted(spec.model("m").source("torch"))
    assert found["M"] == (
        "Two. `p`: causal along `a`, as attnc has proved. `q`: causal along `b`, as attnc has proved."
    )
    assert parted(spec.model("same").source("numpy"))[1]["same"] == "Causal along `a`, as attnc has proved."


def test_a_remark_is_a_comment_of_printable_text() -> None:
    assert remarked("    x = 1", "  shared by\tboth  ") == ["    x = 1  # shared by both"]
    assert remarked("    x = 1", "\t\x85") == ["    x = 1  # \\x85"]
    assert remarked("    x = 1", "  ") == ["    x = 1"]
    assert remarked("x = 1", "a\x0b\u202e\u01c0é\ud800") == ["x = 1  # a\\x0b\\u202e\\u01c0é\\ud800"]
    above = "    # " + ("word " * 23).strip()
    assert remarked("    x = 1", "word " * 25) == [above, "    # word word", "    x = 1"]


def test_what_is_said_behind_a_param_stands_behind_its_weight() -> None:
    spec = attnc.loads("""
        depth a = 2, b = 3
        block f(x: [a]) -> [b] {
            param w: [a, b]  # drawn from N(0, 0.02)
            param c: [b] ~ zeros  # a start
            # not this
            param d: [b] ~ normal(0.02) frozen
            return (dot[a](w, x) + c) * d  # nor this
        }
        model m(x: [a]) -> [b] { param s: [b]
            return f(x) + f.two(x) + s } # nor what stands behind a brace
    """)
    lines = [line.strip() for line in spec.model("m").source("torch").split("\n") if "nn.Parameter(" in line]
    assert lines == [
        "self.w = nn.Parameter(nn.init.normal_(torch.empty(a, b), std=0.02))  # drawn from N(0, 0.02)",
        "self.c = nn.Parameter(torch.zeros(b))  # a start",
        "self.d = nn.Parameter(nn.init.normal_(torch.empty(b), std=0.02), requires_grad=False)",
        "self.s = nn.Parameter(nn.init.normal_(torch.empty(b), std=0.02))",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert columns("a注é") == 4
    assert max(map(columns, docstring("注意 " * 60, "    "))) <= 120


@pytest.mark.parametrize("name", ["transformer.attn", "torch_transformer.attn", "zoo/bart.attn", "zoo/llama.attn"])
def test_the_words_go_through_every_pass(name: str) -> None:
    """Those of each block and model, the library's too, also in the graphs of steps."""
    spec = attnc.load(EXAMPLES / name)
    model = spec.model(spec.models[0])
    words = {each.name: each.doc for each in graphs(model.graph) if each.kind != "repeat"}
    lowered, _ = lower(model._sized)
    steps = stepping(model._sized, lowered)
    for each in [*graphs(lowered), *(inner for root in (steps.prepare, steps.step) if root for inner in graphs(root))]:
        assert each.doc == words.get(each.name, "") if each.kind != "repeat" else not each.doc
    for backend in ("torch", "numpy"):
        _, found = parted(model.source(backend))  # type: ignore[arg-type]
        told = {
            block: found.get(block if backend == "numpy" else camel(block))
            for block in ("place", "join", "feed_forward", "multihead", "grouped_query", spec.models[0])
            if words.get(block)
        }
        assert told
        for block, text in told.items():
            assert text is not None
            assert text.split()[: len(words[block].split())] == words[block].split()


def graphs(graph: attnc.compiler.graph.nodes.Graph) -> list[attnc.compiler.graph.nodes.Graph]:
    from attnc.compiler.graph.nodes import children

    return [graph, *(inner for node in graph.nodes for child in children(node) for inner in graphs(child))]


def test_numbers_that_a_proof_is_for() -> None:
    """A class may be built with others than the spec has: of those that the claim hangs on it says which were meant."""
    text = """\
width seq
width past like seq
const ahead = 0, other = 3
model net(x: [seq]) -> [seq] causal seq {
    return other * sum[past](x[seq as past] where past <= seq + ahead)
}
"""
    for backend in ("torch", "numpy"):
        assert "as attnc has proved for ahead = 0." in attnc.loads(text).model("net").source(backend)
