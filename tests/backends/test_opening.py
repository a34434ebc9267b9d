"""What a generated file says of itself at its head, and how data flows through the model."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.backends.plan.lower import lower
from attnc.backends.plan.plan import ModelPlan
from attnc.backends.report.opening import Origin, data_flow, file_docstring
from attnc.compiler.check import build
from attnc.compiler.graph.nodes import Graph
from attnc.dsl.source import Source

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
    assert flow("model m(x: [a, d]) -> [a, d] { return scan[a] cell(x, h = 0) }") == ["x -> Cell along a -> [a, d]"]


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


ORIGIN = Origin("1.2.3", "spec.attn", "0123456789abcdef", (), 'The first words.\n\nAnd "others".')


def test_the_docstring_of_a_file() -> None:
    graph, called = lowered(attnc.load(EXAMPLES / "transformer.attn").model("transformer"))
    origin = Origin("0.1.0", "transformer.attn", "8e8b652e844ab8ec", (), "The Transformer of Vaswani et al. 2017.")
    more = "`attnc compile --decoding` adds `transformer_decoding.py`: `generate` and `stream`, for this class."
    assert file_docstring(origin, graph, "torch and jaxtyping", called, more) == [
        '"""transformer: written by attnc 0.1.0 from transformer.attn (sha256 8e8b652e844ab8ec). '
        "Needs torch and jaxtyping alone.",
        "",
        "The Transformer of Vaswani et al. 2017.",
        "    source_ids -> Place -> Encode(real) -> memory",
        "    target_ids -> Place -> Decode(memory, real) -> [target, vocab]",
        "A comment at the end of a line gives the axes of its result, without the batch. "
        "`attnc compile --decoding` adds",
        "`transformer_decoding.py`: `generate` and `stream`, for this class.",
        '"""',
    ]


def test_what_is_not_there_is_left_out() -> None:
    graph, called = lowered(attnc.loads("width a\nmodel m(x: [a]) -> [a] { return x + 1 }").model("m"))
    first = '"""m: written by attnc 1.2.3 from spec.attn (sha256 0123456789abcdef)'
    assert file_docstring(ORIGIN, graph, "NumPy", called, axes=False) == [
        f"{first}. Needs NumPy alone.", "", "The first words.", "", 'And "others".', '"""',
    ]  # fmt: skip
    origin = Origin("1.2.3", "spec.attn", "0123456789abcdef", ("big", "layers = 2"))
    assert file_docstring(origin, graph, "NumPy", called)[0] == f"{first}, with big, layers = 2. Needs NumPy alone."
    assert file_docstring(origin, graph, "NumPy", called, axes=False) == [
        f'{first}, with big, layers = 2. Needs NumPy alone."""'
    ]


@pytest.mark.parametrize("words", NASTY)
def test_no_words_and_no_name_of_a_file_end_it(words: str) -> None:
    graph, called = lowered(attnc.load(EXAMPLES / "transformer.attn").model("transformer"))
    lines = file_docstring(Origin("1", words, "0", (), f"{words}\n\n{words}"), graph, "torch", called)
    (node,) = ast.parse("\n".join(lines)).body
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Constant)
    assert all(line.isprintable() and line == line.rstrip() for line in lines)
    assert said(str(node.value.value)) == said(
        f"transformer: written by attnc 1 from {' '.join(said(words))} (sha256 0). Needs torch alone. "
        f"{' '.join(said(words) * 2)} source_ids -> Place -> Encode(real) -> memory target_ids -> Place -> "
        "Decode(memory, real) -> [target, vocab] "
        "A comment at the end of a line gives the axes of its result, without the batch."
    )


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
