"""What a generated file says of itself at its head, and how data flows through the model."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import attnc
from attnc.backends.files.opening import data_flow
from attnc.backends.plan.lower import lower
from attnc.backends.plan.plan import ModelPlan
from attnc.compiler.check import build
from attnc.compiler.graph.nodes import Graph
from attnc.dsl.source import Source

from .docstrings import parted
from .test_docstrings import NASTY, said

EXAMPLES = Path(__file__).parents[2] / "examples"
BLOCKS = """
width a, b
depth d = 4
block f(x: [d]) -> [d] { return linear.w[d -> d](x) }
block g(x: [d], y: [d]) -> [d] { return linear.w[d -> d](x) * linear.v[d -> d](y) }
block two(x: [d]) -> (p: [d], q: [d]) { return linear.w[d -> d](x), linear.v[d -> d](x) }
block cell(x: [d], h: [d]) -> (h: [d]) { return tanh(linear.w[d -> d](x) + h) }
"""


def lowered(model: attnc.Model) -> tuple[Graph, Callable[[Graph], str]]:
    graph, _ = lower(model._sized)
    plans = ModelPlan(graph, {})
    return graph, lambda called: plans.plan(called).name


def flow(text: str, name: str = "m") -> list[str]:
    return data_flow(*lowered(attnc.loads(BLOCKS + text).model(name)))


def test_a_chain_reads_from_left_to_right() -> None:
    assert flow("model m(x: [a, d], y: [a, d]) -> [a, d] { return f(g.first(relu(x), y)) }") == [
        "x -> G(y) -> F -> [a, d]"
    ]


def test_results_bear_the_names_that_the_spec_gives_them() -> None:
    text = """model m(x: [a, d], y: [b, d]) -> (near: [a, d], far: [b, d]) {
        kept = relu(f.one(x))
        other = f.two(kept)
        return g(other, kept), f.three(y)
    }"""
    assert flow(text) == [
        "x    -> F -> kept",
        "kept -> F -> G(kept) -> near",
        "y    -> F -> far",
    ]


def test_what_has_no_name_is_said_where_it_is_read() -> None:
    assert flow("model m(x: [a, d], y: [a, d]) -> [a, d] { return g(x, f(relu(y))) + 1 }") == ["x -> G(F(y)) -> [a, d]"]
    assert flow("model m(x: [a, d], y: [a, d]) -> [a, d] { return f.p(x) * f.q(y) }") == ["F(x), F(y) -> [a, d]"]


def test_a_residual_stream_is_one_chain() -> None:
    text = """model m(x: [a, d], y: [a, d]) -> [a, d] {
        x = x + f.one(relu(x))
        x = x + g.two(x, y)
        return x + f.three(x)
    }"""
    assert flow(text) == ["x -> F -> G(y) -> F -> [a, d]"]


def test_repeats_and_scans() -> None:
    text = """model m(x: [a, d], y: [a, d]) -> [a, d] {
        repeat.layers 3 { x = x + linear.w[d -> d](x * y) }
        return x
    }"""
    assert flow(text) == ["x -> 3 x MLayer(y) -> [a, d]"]
    text = """block bent(x: [d], h: [d]) -> (h: [d]) { return sin(x * h) }
    model m(x: [a, d]) -> [a, d] { return scan[a] bent(x, h = 1) }"""
    assert flow(text) == ["x -> Bent along a -> [a, d]"]


def test_several_results_of_one_block() -> None:
    assert flow("model m(x: [a, d]) -> (s: [a, d], t: [a, d]) { return two(f(x)) }") == ["x -> F -> Two -> s, t"]
    text = """model m(x: [a, d]) -> (s: [a, d], t: [a, d]) {
        p, q = two.pair(x)
        return f.one(p), f.two(q)
    }"""
    assert flow(text) == ["x -> Two -> p, q", "p -> F -> s", "q -> F -> t"]


def test_where_it_says_nothing_there_is_none() -> None:
    assert flow("model m(x: [a, d]) -> [a, d] { return relu(x) }") == []
    assert flow("model m(x: [a, d]) -> [a, d] { return f(x) }") == []
    for many, told in ((3, 7), (4, 0)):
        lines = "\n".join(f"y{i} = f.n{i}(x)\nz{i} = g.k{i}(y{i} + 1, y{i})" for i in range(many))
        whole = " + ".join(f"z{i}" for i in range(many))
        assert len(flow(f"model m(x: [a, d]) -> [a, d] {{\n{lines}\n return {whole} }}")) == told
    long = "x" * 110
    assert flow(f"model m({long}: [a, d], y: [a, d]) -> [a, d] {{ return f(g.first(y, {long})) }}") == []
    deep = "".join(f"f.n{i}(" for i in range(45)) + "x" + ")" * 45
    assert flow(f"model m(x: [a, d]) -> [a, d] {{ return {deep} }}") == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.attn")), ids=lambda path: path.stem)
def test_every_line_of_the_examples_is_made_of_names_of_the_model(path: Path) -> None:
    spec = attnc.load(path)
    for name in spec.models:
        graph, called = lowered(spec.model(name))
        for line in data_flow(graph, called):
            assert " -> " in line
            assert len(line) <= 116
            assert line.isascii()


EDIT = "Yours to edit; saved weights load as long as their names and shapes stay."
AXES = "A comment at the end of a line gives the axes of its result, without the batch."
ONE = "width a\n{}model m(x: [a]) -> [a] {{ return x + 1 }}"


def head(source: str) -> str:
    """The docstring of a file, unescaped."""
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Constant)
    return str(node.value.value)


def told(text: str, backend: Literal["torch", "numpy"] = "torch", *, name: str = "spec.attn", **options: Any) -> str:
    """What stands in the docstring behind the digest."""
    found = head(attnc.loads(text, name=name, **options).model("m").source(backend))
    first, rest = re.split(r"\s\(sha256\s[0-9a-f]{16}\)", found, maxsplit=1)
    written, file = " ".join(first.split()).split(" from ", 1)
    assert written == f"m: written by attnc {attnc.__version__}"
    return file + rest


def test_the_docstring_of_a_file() -> None:
    model = attnc.load(EXAMPLES / "transformer.attn").model("transformer")
    lines = head(model.source("torch")).split("\n")
    assert re.sub("[0-9a-f]{16}", "-", lines[0]).startswith(
        f"transformer: written by attnc {attnc.__version__} from transformer.attn (sha256 -). Needs torch"
    )
    at = lines.index("")
    assert lines[at + 1 : at + 4] == [
        'The Transformer of Vaswani et al. 2017, "Attention Is All You Need". Its loss is in transformer_loss.attn.',
        "    source_ids -> Place -> Encode(real) -> memory",
        "    target_ids -> Place -> Decode(memory, real) -> [target, vocab]",
    ]
    assert " ".join(lines[at + 4 :]).strip() == (
        f"{AXES} `attnc compile --decoding` adds a file of its steps over a cache: functions for these classes as they "
        "stand."
    )
    assert "    target_ids -> place -> decode(memory, real) -> [target, vocab]\n" in head(model.source("numpy"))
    assert EDIT in " ".join(lines[:at])
    assert "--decoding" not in head(model.source("torch", single_file=True, decoding=True))
    assert head(model.files("torch", decoding=True)["transformer_decoding.py"]).startswith("Decoding of transformer: ")
    assert EDIT in " ".join(head(model.source("torch", single_file=True)).split("\n"))


def test_what_is_not_there_is_left_out() -> None:
    assert told(ONE.format("")) == f"spec.attn. Needs torch and jaxtyping alone.\n{EDIT}\n\n{AXES}\n"
    assert told(ONE.format(""), "numpy") == f"spec.attn. Needs numpy and jaxtyping alone.\n{EDIT}\n\n{AXES}\n"
    words = "# Words.\n#\n#   more\n\n"
    assert told(words + ONE.format("# Of the model.\n")) == (
        f"spec.attn. Needs torch and jaxtyping alone.\n{EDIT}\n\nWords.\n\n  more\n\n{AXES}\n"
    )
    assert told("# Of the model.\n" + ONE.format("").partition("\n")[2] + "\nwidth a").count("Of the model.") == 0


def test_where_it_comes_from() -> None:
    text = "width a\ndepth d = 2\nconst k = 1\nconfig big { d = 3 }\nmodel m(x: [a, d]) -> [a, d] { return x + k }"
    assert told(text, config="big", sizes={"k": 2}).startswith("spec.attn, with big, k = 2. Needs ")
    assert told(text, name="some/folder/of\\mine/x y.attn").startswith("x y.attn. Needs ")
    assert told(text, name="folder/").startswith("a text. Needs ")


@pytest.mark.parametrize("words", NASTY)
@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_no_words_and_no_name_of_a_file_end_it(words: str, backend: Literal["torch", "numpy"]) -> None:
    text = f"# {words}\n#\n# {words}\n\n{ONE.format('')}"
    plain, _ = parted(attnc.loads(ONE.format("")).model("m").source(backend))
    source = attnc.loads(text, name=words).model("m").source(backend)
    assert parted(source)[0] == plain
    assert all(line.isprintable() and line == line.rstrip() for line in source.split("\n"))
    file = " ".join(re.split(r"[/\\]", words)[-1].split()) or "a text"
    library = "torch" if backend == "torch" else "numpy"
    assert said(told(text, backend, name=words)) == [
        *said(f"{file}. Needs {library} and jaxtyping alone. {EDIT}"), *said(words) * 2, *said(AXES)
    ]  # fmt: skip


def test_the_words_of_a_file_are_those_it_begins_with() -> None:
    def doc(text: str) -> str:
        return build(Source("x.attn", text)).doc

    model = "model m(x: [a]) -> [a] { return x }\nwidth a\n"
    assert doc(f"# One.\n#\n#  Two.\n\n{model}") == "One.\n\n Two."
    assert doc(f"# One.\r\n# Two.\r\n\r\n{model}") == "One.\nTwo."
    assert doc(f"# Of the model.\n{model}") == ""
    assert doc(f"# One.\nwidth b as y\n# Two.\n{model}") == "One."
    assert doc(f"\n# Not at the head.\n\n{model}") == ""
    assert doc(model) == ""
