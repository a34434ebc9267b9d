"""Work of a repeat on which no result hangs: passes that the next ones bind over (W0521 where their weights never
learn, else W0502), and a value that goes round and is read by its own next pass alone (W0502).

Silent: what a pass reads of the one before it by a pick or a comparison alone, weights that some other pass learns,
too (the last pass of two streams may leave one of them aside), and what a branch reads that is not taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...base.problems import Problem
from ...graph.core.flow import Answer, Flow, Here, Leaf
from ...graph.core.index import Nest, Site, index_of
from ...graph.flows.learning import Learning
from ...graph.nodes import Apply, Graph, Node, Repeat, children, reads
from ...problems.plain import Plain
from ...sizes.axes import known
from .branches import left_out
from .never_learn import all_learn, ends_gradient, listed, own_weights

Counting = tuple[Repeat, int, tuple[bool, ...]]
"""A repeat, the first of its passes that a result hangs on, and of each carried value whether one ever does."""


class Needed(Flow[bool, Counting]):
    """Backward: of each value whether a result hangs on it. Found: what of each repeat counts."""

    nothing = False
    backward = True
    each_pass = True

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def inside(self, node: Nest, here: Here[bool], number: int | None = None) -> Site:
        """What its axes and consts stand for makes no difference."""
        return here.site

    def through(self, node: Leaf, given: tuple[bool, ...], here: Here[bool]) -> Answer[bool, Counting]:
        needed = given[0] or (isinstance(node, Apply) and node.traits.checks)
        return Answer((needed,) * len(reads(node)))

    def at(self, node: Node, given: tuple[bool, ...], here: Here[bool]) -> Answer[bool, Counting]:
        answer = super().at(node, given, here)
        return Answer(answer.values, tuple(self._counting(node, given, here)) if isinstance(node, Repeat) else ())

    def _counting(self, node: Repeat, given: tuple[bool, ...], here: Here[bool]) -> Iterator[Counting]:
        """What lies within a block, or a pass, is asked of that."""
        count = known(node.count)
        if not isinstance(count, int) or count < 2 or not any(given):
            return
        state = ever = given
        first = count
        while first and any(state):
            first -= 1
            state = self.of(node.bodies[node.runs(first)], state, here.site).values[: node.carried]
            ever = tuple(a or b for a, b in zip(ever, state, strict=True))
        yield node, first, ever


def idle(graph: Graph) -> Iterator[Problem]:
    """Of a block or a model: each repeat in it whose passes, or values, count for nothing."""
    if all_learn(graph):
        return
    bodies = [inner for node in graph.nodes for inner in children(node) if inner.kind == "repeat"]
    found = Needed().of(graph, (True,) * len(graph.outputs)).found if bodies else ()
    reached = Learning(ends_gradient).whole(graph)[0] if found else frozenset[str]()
    for body in bodies:
        yield from idle(body)
    for node, first, ever in found:
        yield from _of(node, first, ever, reached)


def _of(node: Repeat, first: int, ever: tuple[bool, ...], reached: frozenset[str]) -> Iterator[Problem]:
    count = known(node.count)
    assert isinstance(count, int)
    last, before = (node.bodies[node.runs(count - back)] for back in (1, 2))
    counts = node.bodies[node.runs(first or count - 1)]
    needed = Needed().of(counts, ever if first else (True,) * node.carried).values
    over = [place for place in range(node.carried) if not needed[place]]
    learns = [
        path
        for path in sorted(own_weights(last).keys() & own_weights(before).keys())
        if [at for at in range(count) if f"{node.name}.{at}.{path}" in reached] == [count - 1]
    ]
    if over and learns and not node.shared:
        names, name = listed([f"{node.name}.*.{path}" for path in learns]), last.inputs[over[0]].name
        yield Plain.LAST_PASS.at(last.outputs[over[0]].value.span, names, name, there=node.span)
        return
    branches = frozenset[str]().union(*map(left_out, node.bodies))
    for place, output in enumerate(counts.outputs):
        name = last.inputs[place].name
        if name in branches or name.startswith("_"):
            continue
        if first and place in over and ever[place]:
            yield Plain.PASSES_IN_VAIN.at(output.value.span, name, count, first, there=node.span)
            return
        if not ever[place] and any(body.inputs[place].value.id in index_of(body).used for body in node.bodies):
            yield Plain.ROUND_IN_VAIN.at(output.value.span, name, there=node.span)
