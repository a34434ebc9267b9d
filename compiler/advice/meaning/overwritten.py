"""Passes of a repeat of which only the last counts (W0521): each binds over what the one before it has made, and reads
none of it, so that the weights of the others never learn.

Silent: passes that share their weights, what a pass reads of the one before it by a pick or a comparison alone, and
weights that some other pass learns, too: the last pass of two streams may leave one of them aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...base.problems import Problem
from ...graph.flows.learning import Learning
from ...graph.nodes import Graph, Repeat, reads
from ...problems.plain import Plain
from ...sizes.axes import evaluate
from .never_learn import all_learn, ends_gradient, listed, own_weights


def overwritten(graph: Graph) -> Iterator[Problem]:
    """Of a block or a model: each repeat whose passes overwrite one another."""
    repeats = [] if all_learn(graph) else [node for node in graph.nodes if isinstance(node, Repeat)]
    reached = Learning(ends_gradient).whole(graph)[0] if repeats else frozenset()
    for node in repeats:
        for body in node.bodies:
            yield from overwritten(body)
        count = evaluate(node.count)
        if isinstance(count, int) and count > 1 and not node.shared:
            yield from _of(node, count, reached)


def _of(node: Repeat, count: int, reached: frozenset[str]) -> Iterator[Problem]:
    last, before = (node.bodies[node.runs(count - back)] for back in (1, 2))
    read = {value.id for each in last.nodes for value in reads(each)} | {each.value.id for each in last.outputs}
    over = [place for place in range(node.carried) if last.inputs[place].value.id not in read]
    learns = [
        path
        for path in sorted(own_weights(last).keys() & own_weights(before).keys())
        if [at for at in range(count) if f"{node.name}.{at}.{path}" in reached] == [count - 1]
    ]
    if over and learns:
        names, name = listed([f"{node.name}.*.{path}" for path in learns]), last.inputs[over[0]].name
        yield Plain.LAST_PASS.at(last.outputs[over[0]].value.span, names, name, there=node.span)
