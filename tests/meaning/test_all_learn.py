"""The short way to the answer that all weights learn: where it says so, following each gradient says so, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attnc.compiler.advice.meaning.never_learn import all_learn, by_pass, ends_gradient
from attnc.compiler.check import build
from attnc.compiler.graph.core.index import path_of
from attnc.compiler.graph.flows.learning import Learning
from attnc.compiler.graph.nodes import Graph, children, nested, weights_of
from attnc.compiler.graph.values import is_real
from attnc.dsl.source import Source
from tests.soundness.generate import generate

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = "width t\ndepth a = 4\nblock g(x: [t, a]) -> [t, a] {\n    return linear.l[a -> a](x)\n}\n"


def graphs(text: str, base: Path = EXAMPLES) -> list[Graph]:
    program = build(Source("t.attn", text), base=base)
    names = () if program.errors else (*program.models, *program.blocks)
    return [*nested(*(program.graph(name) for name in names))]


def weights(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        yield from (weight.name for weight in weights_of(node) if not weight.frozen)
        yield from (path_of(node) + path for child in children(node) for path in weights(child))


def test_where_all_learn_every_gradient_arrives() -> None:
    texts = [path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.attn"))]
    texts += [generate(seed).all_text for seed in range(40)]
    short = every = 0
    for graph in (graph for text in texts for graph in graphs(text)):
        every += 1
        if all_learn(graph):
            short += 1
            reached, inputs = Learning(ends_gradient).whole(graph)
            assert {*weights(graph)} <= by_pass(reached), graph.name
            real = [is_real(entry.value) for entry in graph.inputs]
            assert [*inputs] == real, graph.name
    assert short > every / 3


def test_what_hides_from_a_gradient_is_looked_at() -> None:
    for line in (
        "0 * g(x)",
        "x + floor(g(x))",
        "x * softmax[b](linear.s[a -> b](x))[b = 0]",
        "select(linear.s[a -> a](x) > 0, x, 1 - x)",
    ):
        text = HEAD + f"depth b = 1\nmodel m(x: [t, a]) -> [t, a] {{\n    return {line}\n}}\n"
        (top,) = [graph for graph in graphs(text) if graph.name == "m"]
        assert not all_learn(top), line
    for line in ("g(x)", "x + g.p(x) * g.q(x)", "layernorm.n[a](g(x))"):
        text = HEAD + f"model m(x: [t, a]) -> [t, a] {{\n    return {line}\n}}\n"
        assert all(map(all_learn, graphs(text))), line
