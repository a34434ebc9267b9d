"""How often a block is elaborated: once on its own, and once for all calls that are alike, whoever makes them."""

from __future__ import annotations

import pytest

from attnc.compiler.check import Program, build
from attnc.compiler.graph.nodes import Graph, nested
from attnc.dsl.source import Source

HEAD = "width t\nwidth s like t\ndepth a = 4\ndepth b = 4\n"
MASKED = """block f{n}(x: [t, a], m: bool[t, s]) -> [t, a] {{
    return x + dot[s](softmax[s](dot[a](x, x[t as s]) where m), {inner}[t as s])
}}
"""


def checked(text: str) -> Program:
    return build(Source("t.attn", HEAD + text))


def graphs_of(program: Program) -> list[Graph]:
    return [*nested(*(program.graph(name) for name in (*program.models, *program.blocks)))]


@pytest.mark.parametrize("deep", [1, 2, 5, 9])
@pytest.mark.parametrize("model", [False, True])
def test_each_block_of_a_chain_has_two_graphs(deep: int, model: bool) -> None:
    """That on its own, and that of its callers; the outermost has one. `x` of the innermost may be a softmax's."""
    text = "".join(MASKED.format(n=n, inner=f"f{n - 1}.c(relu(x), m)" if n else "x") for n in range(deep))
    if model:
        text += f"model top(x: [t, a], m: bool[t, s]) -> [t, a] {{\n    return f{deep - 1}.c(relu(x), m)\n}}\n"
    program = checked(text)
    assert len(graphs_of(program)) == 2 * deep - 1 + 2 * model


SUM = "block sum_of(x: [a], y: [b]) -> [a, b] {\n    return x + y\n}\n"  # of data: an outer sum, which is refused
OUTER = """block outer(x: [a]) -> [a, b] {{
    param w: [b]
    param v: [a]
    return sum_of({x}, {y}) * sum[a](v)
}}
"""


@pytest.mark.parametrize(
    ("x", "y", "call", "codes"),
    [
        ("x", "w", "", set()),
        ("x", "w", "x", set()),
        ("x", "linear.q[a -> b](x)", "", {"E0305"}),  # nobody calls `outer`: it is known to carry data
        ("x", "linear.q[a -> b](x)", "x", {"E0305"}),
        ("x", "linear.q[a -> b](x)", "w", set()),  # a caller gives it weights
        ("v", "linear.q[a -> b](x)", "x", set()),
    ],
)
def test_what_only_callers_know_to_be_wrong_is_left_to_them(x: str, y: str, call: str, codes: set[str]) -> None:
    text = SUM + OUTER.format(x=x, y=y)
    if call:
        text += f"model top(x: [a]) -> [a, b] {{\n    param w: [a]\n    return outer({call}) * sum[a](x)\n}}\n"
    found = {each.code for each in checked(text).diagnostics if each.code.startswith("E")}
    assert found == codes
