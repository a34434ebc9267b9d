"""Each pass alone on small models: what it makes of them, and what it leaves alone. That numbers stay is tested too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import attnc
from attnc.compiler.graph.nodes import Apply, Call, Graph, Node, Repeat
from attnc.compiler.rewrites.kernels.attention import fuse_attention
from attnc.compiler.rewrites.kernels.stack import stack
from attnc.compiler.rewrites.simplify.arrange import arrange
from attnc.compiler.rewrites.simplify.constants import fold_truths
from attnc.compiler.rewrites.simplify.hoist import hoist
from attnc.compiler.rewrites.simplify.merge import merge
from attnc.compiler.rewrites.simplify.numbers import fold_numbers
from tests.backends.agreement import random_inputs
from tests.backends.written import run_alone, written

from .numbers import check_same

ROOT = Path(__file__).parents[2]
POINTWISE = "width n\ndepth d = 4\nmodel f(x: [n, d]) -> [n, d] {{\n{}\n}}"


def graph_of(text: str, name: str = "f") -> Graph:
    return fold_truths(attnc.loads(text).model(name)._sized)[0]


def graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph.nodes:
        for child in node.bodies if isinstance(node, Repeat) else (node.graph,) if isinstance(node, Call) else ():
            yield from graphs(child)


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if isinstance(node, Apply)]


def body(graph: Graph) -> Graph:
    (found,) = (node for node in graph.nodes if isinstance(node, Repeat))
    return found.bodies[0]


def call(graph: Graph, name: str) -> Call:
    return next(node for node in graph.nodes if isinstance(node, Call) and node.graph.name == name)


def same_numbers(text: str, widths: tuple[int, ...] = (7, 5), name: str = "f", lead: tuple[int, ...] = (2,)) -> None:
    model = attnc.loads(text).model(name)
    draw = np.random.default_rng(0)
    weights = {path: draw.normal(size=weight.shape) * 0.3 for path, weight in model.weights.items()}
    values = random_inputs(model._sized, lead, widths, np.float64, 0)
    check_same(model, weights, dict(zip([port.name for port in model.inputs], values, strict=True)))


# -- merge -----------------------------------------------------------------------------------------------------------


def test_merge_keeps_the_first_of_two_and_the_name_of_the_spec() -> None:
    text = (
        "width n\ndepth d = 4\nmodel f(x: [n, d]) -> [n, d] {\n    y = 2 * exp(x)\n    e = exp(x)\n    return y + e\n}"
    )
    before, after = graph_of(text), merge(graph_of(text))
    assert ops(before).count("exp") == 2
    assert ops(after).count("exp") == 1
    assert "e = torch.exp(x)" in attnc.loads(text).model("f").source("torch")
    same_numbers(text)


def test_merge_leaves_what_is_random_learned_or_unlike() -> None:
    for expression in (
        "dropout(x, 0.5) + dropout(x, 0.5)",
        "linear.a[d -> d](x) + linear.b[d -> d](x)",
        "exp(x) + exp(-x)",
        "sum[d](x) + sum[d](x where x > 0)",
        "softmax[n](x) + softmax[d](x)",
    ):
        text = POINTWISE.format(f"    return x * ({expression})")
        graph = graph_of(text)
        assert len(ops(merge(graph))) == len(ops(graph)), expression


def test_merge_of_calls_without_weights() -> None:
    text = """\
use std.positions: sinusoid
width n
depth d = 4
model f(x: [n, d]) -> [n, d] {
    return (x + sinusoid[n, d]()) * sinusoid[n, d]()
}
"""
    assert sum(isinstance(node, Call) for node in merge(graph_of(text)).nodes) == 1
    same_numbers(text)


def test_merge_tells_calls_apart_by_the_numbers_that_they_are_given() -> None:
    text = """\
width n
depth d = 4
block ramp[a: const]() -> [n] {
    return n * a
}
model f(x: [n, d]) -> [n, d] {
    repeat.layers i in 3 {
        x = x * ramp[a = i]() + ramp[a = i + 1]() + ramp[a = i]()
    }
    return x
}
"""
    assert sum(isinstance(node, Call) for node in merge(body(graph_of(text))).nodes) == 2
    same_numbers(text)


def test_two_attentions_that_leave_out_weights_at_random_stay_two() -> None:
    once = "dot[k](dropout(softmax[k](dot[d](x, x[n as k])), 0.5), x[n as k])"
    text = POINTWISE.format(f"    return {once} - {once}").replace("width n", "width n\nwidth k like n")
    assert attnc.loads(text).model("f").source("torch").count("dropout_p=0.5") == 2
    sure = text.replace("dropout(softmax[k](dot[d](x, x[n as k])), 0.5)", "softmax[k](dot[d](x, x[n as k]))")
    assert attnc.loads(sure).model("f").source("torch").count("scaled_dot_product_attention") == 1


# -- fold_numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        ("x + 0", 0),
        ("0 + x", 0),
        ("x * 1", 0),
        ("x / 1", 0),
        ("x - 0", 0),
        ("0 - x", 1),
        ("1 / x", 1),
        ("x * 2 * 3", 1),
        ("x * 2 / 3 * 5", 1),
        ("x / sqrt(|d|) / 2", 1),
        ("(x + 1) * 2 + 1", 3),
        ("x * 0 / 0.5", 2),
        ("x * 1e200 * 1e200", 2),
        ("floor(x / 3 * 2) + 0.5", 3),
        ("select(x > 1, x / 3 * 2, x)", 2),
    ],
)
def test_fold_numbers(expression: str, left: int) -> None:
    text = POINTWISE.format(f"    return {expression}")
    assert sum(op in "+-*/" for op in ops(fold_numbers(graph_of(text)))) == left
    if "1e200" not in expression:
        same_numbers(text)


def test_a_product_that_is_read_twice_stays() -> None:
    text = POINTWISE.format("    y = x * 2\n    return y * 3 + y")
    assert ops(fold_numbers(graph_of(text))).count("*") == 2


def test_factors_in_tables_stay_as_written() -> None:
    """Their last bit may decide where a bucket ends."""
    text = POINTWISE.format("    return x * sin(n / 3 * 7)")
    graph = graph_of(text)
    assert fold_numbers(graph) is graph


# -- fuse_attention --------------------------------------------------------------------------------------------------

SCALED = """\
width q
width k like q
depth h = 2, d = 4
model f(Q: [h, q, d], K: [h, k, d], V: [h, k, d]) -> [h, q, d] {{
    return dot[k](softmax[k]({scores} where k <= q), V)
}}
"""


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ("dot[d](Q / sqrt(|d|), K)", ""),
        ("dot[d](Q, K) / sqrt(|d|)", ""),
        ("dot[d](Q, K / sqrt(|d|))", ""),
        ("dot[d](Q * 3, K)", ", scale=3"),
        ("dot[d](Q * 3, K) * 2", ", scale=2 * 3"),
        ("dot[d](Q, K)", ", scale=1"),
    ],
)
def test_scales_of_queries_and_keys_go_into_the_kernel(scores: str, scale: str) -> None:
    text = SCALED.format(scores=scores)
    code = attnc.loads(text).model("f").source("torch")
    assert f"F.scaled_dot_product_attention(Q, K, V, is_causal=True{scale})" in code
    same_numbers(text)


def test_a_scale_that_is_read_elsewhere_stays() -> None:
    text = SCALED.format(scores="dot[d](A, K)").replace("    return", "    A = Q * 3\n    return A +")
    assert "scaled_dot_product_attention(A, K, V" in attnc.loads(text).model("f").source("torch")
    same_numbers(text)


# -- stack -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "extent", "stacked"),
    [
        ("select(two == 0, y, -y)", 2, True),
        ("select(two == 1, y, -y)", 2, True),
        ("select(two != 0, y, -y)", 2, True),
        ("select(0 == two, y, -y)", 2, True),
        ("select(two == 0, y, -y)", 3, False),
        ("select(two < 1, y, -y)", 2, False),
        ("select(two == 0, y, 0)", 2, False),
        ("select(two == 0, y * (1 + two), y)", 2, False),
    ],
)
def test_stack(choice: str, extent: int, stacked: bool) -> None:
    text = f"""\
width n
depth half = 3, two = {extent}
model f(y: [n, half]) -> [n, two, half] {{
    return {choice}
}}
"""
    graph = stack(graph_of(text))
    assert ("stack" in ops(graph)) == stacked
    assert ("==" in ops(graph) or "!=" in ops(graph)) == (not stacked and "<" not in choice)
    same_numbers(text, (7,))


def test_halves_of_a_rotation_are_put_together_without_moving() -> None:
    text = """\
use std.positions: rotary, rotary_interleaved
width n
depth d = 4, h = 3
model f(x: [n, h, d]) -> [n, h, d] {
    return rotary[n, d](x) + rotary_interleaved[n, d](x)
}
"""
    for backend in ("torch", "numpy"):
        code = attnc.loads(text).model("f").source(backend)  # type: ignore[arg-type]
        found = re.findall(r"stack\(\[.*\], (-\d)\)  # \[n, (?:two, half|half, two)\]", code)
        assert found == ["-2", "-1"]
    same_numbers(text, (7,))


# -- arrange ---------------------------------------------------------------------------------------------------------


def test_arrange() -> None:
    text = """\
use std.attention: attend
width q
width k like q
depth d = 4
model f(x: [q, d], near: bool[k, q]) -> [q, d] {
    repeat.passes 3 {
        x = attend[q, k, d, d](x, x[q as k], x[q as k], near)
    }
    return x
}
"""
    graph = graph_of(text)
    (item,) = (item for item in body(arrange(graph)).inputs if item.name == "near")
    assert [axis.name for axis in item.value.type.axes] == ["q", "k"]
    code = attnc.loads(text).model("f").source("torch")
    assert code[code.index("class F(") :].count("near.mT") == 1
    loop = code[code.index("def fpass(") : code.index("class F(")]
    assert "mask=near" in loop and "near.mT" not in loop
    same_numbers(text, (7,))


# -- hoist -----------------------------------------------------------------------------------------------------------

ROTARY = """\
use std.attention: rotary_attention, model, groups, sharing, key, value
width seq
width past like seq
depth model = 12, groups = 2, sharing = 3, key = 4, value = 4
const layers = 3
model f(x: [seq, model]) -> [seq, model] causal seq {
    repeat layers {
        x = x + rotary_attention[seq, past](x, past <= seq)
    }
    return x
}
"""


def test_tables_of_a_block_in_a_repeat_are_made_by_the_model() -> None:
    graph = hoist(merge(graph_of(ROTARY)))
    assert ops(graph).count("sin") == ops(graph).count("cos") == 1
    inner = [one for one in graphs(graph) if one is not graph]
    assert not any(op in ("sin", "cos", "^") for one in inner for op in ops(one))
    inputs = call(body(graph), "rotary_attention").graph.inputs
    assert [item.name for item in inputs][-2:] == ["cos", "sin"]
    same_numbers(ROTARY, (7,))


def test_what_is_made_of_positions_alone_stays_in_float64_until_it_is_done() -> None:
    code = attnc.loads(ROTARY).model("f").source("torch")
    assert "cos = torch.cos(angle).to(dtype)" in code
    assert re.search(r"angle = .*\.double\(\)", code)


def test_a_block_called_once_keeps_its_tables() -> None:
    text = """\
use std.positions: sinusoid
width seq, other
depth d = 4
block place[n: width](x: [n, d]) -> [n, d] {
    return x + sinusoid[n, d]()
}
model f(x: [seq, d], y: [other, d]) -> ([seq, d], [other, d]) {
    return place[seq](x), place[other](y)
}
"""
    graph = graph_of(text.replace("-> ([seq, d], [other, d])", "-> (a: [seq, d], b: [other, d])"))
    assert hoist(graph) is graph  # two widths, two tables: nothing is spared


def test_a_block_called_twice_alike_shares_its_table() -> None:
    text = """\
use std.positions: sinusoid
width seq
depth d = 4
block place[n: width](x: [n, d]) -> [n, d] {
    return x + sinusoid[n, d]()
}
model f(x: [seq, d], y: [seq, d]) -> [seq, d] {
    return place[seq](x) * place[seq](y)
}
"""
    graph = hoist(graph_of(text))
    assert sum(isinstance(node, Call) and node.graph.name == "sinusoid" for node in graph.nodes) == 1
    assert [item.name for item in call(graph, "place").graph.inputs] == ["x", "sinusoid"]
    same_numbers(text, (7,))


LOOP = """\
width n
width m like n
depth d = 4
const layers = 3
model f(x: [n, d]) -> [n, d] {{
    repeat i in layers {{
        x = {body}
    }}
    return x
}}
"""


@pytest.mark.parametrize(
    ("expression", "moves"),
    [
        ("x * sin(n / 3)", True),
        ("dot[m](softmax[m](-abs(n - m)), x[n as m])", True),
        ("x[n = max(n - 1, 0)]", True),
        ("select(n % 2 == 0, x, 0)", True),
        ("x * sin(n / (i + 1))", False),
        ("x * |n|", False),
        ("x * 2 ^ i", False),
        ("exp(x)", False),
        ("dropout(x, 0.1)", False),
    ],
)
def test_what_moves_out_of_a_repeat(expression: str, moves: bool) -> None:
    text = LOOP.format(body=expression)
    graph = graph_of(text)
    found = hoist(graph)
    assert (len(body(found).inputs) > 1) == moves
    assert (found is graph) != moves
    same_numbers(text, (7,))


def test_a_part_that_hangs_on_the_pass_stays_and_the_rest_moves() -> None:
    text = LOOP.format(body="x * cos(sin(n / 3) * (i + 1))")
    found = hoist(graph_of(text))
    assert "sin" in ops(found)
    assert "sin" not in ops(body(found))
    assert "cos" in ops(body(found))
    same_numbers(text, (7,))


def test_one_pass_is_no_repetition() -> None:
    graph = graph_of(LOOP.format(body="x * sin(n / 3)").replace("layers = 3", "layers = 1"))
    assert hoist(graph) is graph


def test_kinds_of_passes_take_the_same_tables() -> None:
    text = LOOP.format(body="x * sin(n / 3)").replace(
        "        x = x * sin(n / 3)",
        """\
        if i % 2 == 0 {
            x = x * sin(n / 3) + broadcast[n](linear.a[d -> d](sum[n](x)))
        } else {
            x = x * cos(n / 3) + x * sin(n / 3)
        }""",
    )
    found = hoist(graph_of(text))
    (node,) = (node for node in found.nodes if isinstance(node, Repeat))
    assert [[item.name for item in one.inputs][1:] for one in node.bodies] == [["sin", "cos"], ["sin", "cos"]]
    same_numbers(text, (7,))


def test_calls_of_one_set_of_weights_stay_of_one_class() -> None:
    text = """\
width n, m
depth d = 4, e = 2
block g[w: width](x: [w, d]) -> [w, d] {
    return linear.O[d -> d](x * sin(w / 3))
}
model f(x: [n, d], y: [m, e, d]) -> (a: [n, d], b: [m, e, d]) {
    share one = g
    return one[n](one[n](x)), one[m](y)
}
"""
    graph = graph_of(text)
    assert hoist(graph) is graph
    same_numbers(text, (7, 5))


def test_what_is_scanned_takes_nothing_more() -> None:
    text = """\
width t
depth d = 4
block cell(x: [d], h: [d]) -> (h: [d]) {
    return tanh(x + h * sin(d))
}
model f(x: [t, d]) -> [t, d] {
    repeat.passes 2 {
        x = scan[t] cell(x, h = 0)
    }
    return x
}
"""
    graph = graph_of(
        text.replace("-> [d] {\n    return tanh(x + h * sin(d))", "-> (h: [d]) {\n    return tanh(x + h * sin(d))")
    )
    assert hoist(graph) is graph


def test_tables_given_by_the_spec_are_of_the_models_type_in_the_loop() -> None:
    text = """\
use std.positions: alibi, heads
use std.attention: attend_offset
width q
width k like q
depth heads = 2, d = 4
model f(x: [q, heads, d]) -> [q, heads, d] {
    near = alibi[heads, q, k]()
    repeat.passes 3 {
        x = x + attend_offset[q, k, d, d](x, x[q as k], x[q as k], near, k <= q)
    }
    return x
}
"""
    code = attnc.loads(text).model("f").source("torch")
    loop = code[code.index("def fpass(") :]
    assert loop.count(".to(") == 1  # once for all passes
    same_numbers(text, (7,))


def test_captured_paths_stay() -> None:
    model = attnc.loads(ROTARY).model("f")
    net = model.torch(seed=0, capture=["layers.1.rotary_attention.rotary:1.angle"])
    _, found = net(torch.zeros(3, 12))
    assert found["layers.1.rotary_attention.rotary:1.angle"].value.shape == (3, 2)


def test_sizes_of_a_class_may_be_changed_in_its_step_too() -> None:
    """A size that only a hoisted table of a step has is worked out from those of the class."""
    spec = ROTARY.replace("x: [seq, model]) ->", "ids: vocab[seq]) ->").replace("depth model", "depth vocab = 5, model")
    spec = spec.replace("model f(", "model net(").replace(
        "    repeat", "    x = embed[vocab -> model](ids)\n    repeat"
    )
    made = run_alone(attnc.loads(spec).model("net"), decoding=True)
    net = made["Net"](key=8, value=8)
    ids = torch.tensor([[1, 4, 2, 0, 3]])
    cache = made["prepare"](net)
    steps = torch.cat([made["step"](net, ids[:, i : i + 1], cache) for i in range(5)], 1)
    torch.testing.assert_close(steps, net(ids), rtol=1e-4, atol=1e-5)


def test_hoisting_leaves_source_independent_of_depth() -> None:
    lines = [len(written(attnc.loads(ROTARY, sizes={"layers": layers}).model("f"), "torch")) for layers in (2, 9)]
    assert lines[0] == lines[1]


def test_passes_are_pure(tmp_path: Path) -> None:
    """None changes the graph that it is given."""
    from attnc.compiler.pipeline import PASSES, rewritten
    from tests.dump import dump

    for file in ("zoo/llama.attn", "transformer.attn"):
        spec = attnc.load(ROOT / "examples" / file)
        graph: Graph = spec.model(spec.models[0])._sized
        before = dump(graph)
        assert isinstance(rewritten(graph, PASSES), Graph)
        assert dump(graph) == before


def nodes_of(graph: Graph) -> list[Node]:
    return [node for one in graphs(graph) for node in one.nodes]


def test_fusing_finds_what_folding_frees() -> None:
    """T5's attention to the memory adds an offset of 0."""
    graph = fold_numbers(fold_truths(attnc.load(ROOT / "examples/zoo/t5.attn").model("t5")._sized)[0])
    fused = fuse_attention(graph)[0]
    assert not any(isinstance(node, Apply) and node.op == "softmax" for node in nodes_of(fused))
