"""Passes, and values that go round, on which no result hangs: what is told of them is so, for without them the model
computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import attnc
from attnc.compiler.advice.meaning.idle import Counting, Needed
from attnc.compiler.graph.nodes import Graph, Repeat
from attnc.compiler.problems.plain import Plain
from attnc.dsl.base.records import replace
from attnc.trials.run import NotTried, RunnableGraph
from tests.soundness.generate import generate
from tests.soundness.judge import lengths, load

HEAD = "depth d = 4\nblock f(x: [d], y: [d]) -> [d] {\n h = x\n"
PASSES, ROUND = Plain.PASSES_IN_VAIN, Plain.ROUND_IN_VAIN

TOLD = [  # the body of a repeat, what it is, and what is told
    ("3 shared", "h = x + linear.a[d -> d](y)", [PASSES]),
    ("3", "h = x + linear.a[d -> d](y)", [Plain.LAST_PASS]),
    ("3", "h = tanh(x)", [PASSES]),
    ("1", "h = tanh(x)", []),
    ("3", "h = tanh(h)", []),
    ("3 shared", "h = x + linear.a[d -> d](h)", []),
    ("3", "m = tanh(m)\n h = h + linear.a[d -> d](h)", [ROUND]),
    ("3", "m = tanh(m)\n h = tanh(h + m)", []),
    ("3", "h = tanh(x + m)\n m = m + x", []),  # `h` of the others is nothing, but they make `m`
    ("3 shared", "c = linear.a[d -> d](h)\n h = x + 0 * y\n m = c", [PASSES, Plain.UNUSED]),
    ("i in 4", "if i == 2 {\n h = x\n } else {\n h = tanh(h)\n }", []),  # a branch reads it, in other passes
    ("3", "if |d| > 3 {\n h = x + y\n } else {\n h = tanh(h)\n }", []),  # at other sizes it is read
    ("2", "repeat.s 3 shared {\n h = x + linear.a[d -> d](y)\n }", [PASSES, Plain.LAST_PASS]),
]


@pytest.mark.parametrize(("head", "body", "told"), TOLD)
def test_what_is_told(head: str, body: str, told: list[Plain]) -> None:
    start = " m = y\n" if "m = " in body else ""
    found = attnc.check(f"{HEAD}{start} repeat.r {head} {{\n {body}\n }}\n return h\n}}\n")
    codes = sorted(each.code for each in found if each.code in ("W0502", "W0521"))
    words = [each.message for each in found]
    assert codes == sorted(one.value[0] for one in told), words
    assert sum("goes round" in each for each in words) == (ROUND in told)


def without(graph: Graph, told: Counting) -> Iterator[Graph]:
    """The model without the passes that count for nothing, and with each value that goes round in vain as it came."""
    node, first, ever = told
    if first:
        body = node.bodies[0]
        inputs = [entry.value for entry in body.inputs[: node.carried]]
        outputs = tuple(replace(each, value=value) for each, value in zip(body.outputs, inputs, strict=True))
        nothing = replace(body, nodes=(), outputs=outputs)
        count = len(node.variant)
        variant = tuple(len(node.bodies) if at < first else node.runs(at) for at in range(count))
        yield _with(graph, node, replace(node, bodies=(*node.bodies, nothing), variant=variant))
    bodies = []
    for body in node.bodies:
        pairs = zip(body.outputs, body.inputs, ever, strict=False)
        kept = (out if needed else replace(out, value=entry.value) for out, entry, needed in pairs)
        bodies.append(replace(body, outputs=tuple(kept)))
    if not all(ever):
        yield _with(graph, node, replace(node, bodies=tuple(bodies)))


def _with(graph: Graph, old: Repeat, new: Repeat) -> Graph:
    return replace(graph, nodes=tuple(new if node is old else node for node in graph.nodes))


def computed(graph: Graph, weights: dict[str, np.ndarray], given: dict[str, np.ndarray]) -> list[np.ndarray]:
    run = RunnableGraph(graph)
    run._values = {path: weights[path] for path in run.weights}
    return run(given, fast=False)


def tried(seeds: range) -> int:
    """How many changes of how many programs were tried."""
    number = 0
    for seed in seeds:
        program = generate(seed, seed % 2 == 1)
        model = load(program.text, program).model("net")
        graph = model.graph
        for told in Needed().of(graph, (True,) * len(graph.outputs)).found:
            for other in without(graph, told):
                try:
                    run = RunnableGraph(graph)
                except NotTried:
                    continue
                run.redraw(np.random.default_rng(seed), positive=False)
                given = {name: arr.data for name, arr in (program.inputs() | lengths(model, program)).items()}
                before, after = computed(graph, run._values, given), computed(other, run._values, given)
                for a, b in zip(before, after, strict=True):
                    assert np.array_equal(a, b, equal_nan=True), seed
                number += 1
    return number


def test_what_counts_for_nothing_changes_no_number() -> None:
    assert tried(range(14, 31)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_what_counts_for_nothing_changes_no_number_in_many(start: int) -> None:
    assert tried(range(start, start + 100)) >= 3
