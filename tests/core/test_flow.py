"""The engine that goes through calls, repeats and scans: forward and backward say the same, and loops end."""

from __future__ import annotations

from typing import ClassVar

import pytest

from attnc.compiler.graph.core.flow import Answer, Flow, Here, Leaf
from attnc.compiler.graph.core.index import Nest, path_of
from attnc.compiler.graph.nodes import Graph, Parameter, Repeat, Scan, nested, reads
from attnc.compiler.sizes.axes import Axis

from .test_index import graph_of, random_graphs

Some = frozenset[int]


class Depends(Flow[Some, str]):
    """What hangs on which: forward the inputs that a value is made of, backward the results that are made of it."""

    nothing: Some = frozenset()

    def join(self, one: Some, other: Some) -> Some:
        return one | other

    def through(self, node: Leaf, given: tuple[Some, ...], here: Here[Some]) -> Answer[Some, str]:
        found = (node.weight.name,) if isinstance(node, Parameter) else ()
        return Answer((self.nothing.union(*given),) * (len(reads(node)) if self.backward else 1), found)

    def outward(self, node: Nest, number: int | None, found: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(path_of(node, number) + path for path in found)


class Needed(Depends):
    backward = True


class DependsEachPass(Depends):
    each_pass = True


class NeededEachPass(Needed):
    each_pass = True


def ones(number: int) -> list[Some]:
    return [frozenset({place}) for place in range(number)]


def turned(sets: tuple[Some, ...], number: int) -> tuple[Some, ...]:
    return tuple(frozenset(place for place, one in enumerate(sets) if n in one) for n in range(number))


def test_backward_is_forward_turned_round() -> None:
    """An input is needed for just the results that hang on it. Of passes taken together although they run other
    bodies, both may say more than is so.
    """
    number = 0
    for graph in nested(*random_graphs(range(40))):
        if graph.target:
            continue
        inputs, results = ones(len(graph.inputs)), ones(len(graph.outputs))
        one_by_one = DependsEachPass().of(graph, inputs).values
        assert NeededEachPass().of(graph, results).values == turned(one_by_one, len(inputs)), graph.name
        together = Depends().of(graph, inputs).values
        needed = turned(Needed().of(graph, results).values, len(results))
        loops = (node for each in nested(graph) for node in each.nodes if isinstance(node, Repeat))
        assert needed == together or any(len(loop.bodies) > 1 for loop in loops), graph.name
        for exact, *others in zip(one_by_one, together, needed, strict=True):
            assert all(exact <= other for other in others)
        number += 1
    assert number > 100


def test_values_that_go_round_for_long() -> None:
    """What moves one place on in each pass comes to the last place, however many these are."""
    names = [f"x{n}" for n in range(12)]
    given = ", ".join(f"{name}: [d]" for name in names)
    moves = "; ".join(f"{a} = {b}" for a, b in zip(names[1:][::-1], names[:-1][::-1], strict=True))
    graph = graph_of(f"depth d = 4; block f({given}) -> [d] {{ repeat.r 20 {{ {moves} }}; return {names[-1]} }}")
    assert Depends().of(graph, ones(12)).values == (frozenset(range(11)),)
    assert DependsEachPass().of(graph, ones(12)).values == (frozenset({0}),)


class Largest(Flow[int | None, tuple[str, int | None]]):
    """At most how often a value has been through `param` nodes' sums; None where there is no bound. A domain that grows
    for ever, so that loops must be widened.
    """

    nothing: int | None = 0

    def join(self, one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else max(one, other)

    def through(
        self, node: Leaf, given: tuple[int | None, ...], here: Here[int | None]
    ) -> Answer[int | None, tuple[str, int | None]]:
        most: int | None = 0
        for one in given:
            most = self.join(most, one)
        made = None if most is None else most + 1
        return Answer((made,), ((here.index.graph.name, made),))

    def widen(self, before: int | None, after: int | None, node: Repeat | Scan) -> int | None:
        return None


class LargestEachPass(Largest):
    each_pass = True


COUNTED = """
width t; depth d = 4
block cell(x: [d], h: [d]) -> (h: [d]) { return tanh(h) }
block f(x: [t, d], y: [d]) -> (a: [d], b: [t, d]) {
    repeat.r 9 { y = tanh(y) }
    z = scan[t] cell(x, h = y)
    return y, z
}
"""


def test_what_grows_for_ever_is_given_up() -> None:
    graph = graph_of(COUNTED)
    assert Largest().of(graph, (0, 0)).values == (None, None)
    assert LargestEachPass().of(graph, (0, 0)).values == (9, None)


class Same(Flow[str | None, str]):
    """Which input a value is, if it is one as it is: what is known in every pass. Found: what each pass is given."""

    nothing: ClassVar[str | None] = None

    def join(self, one: str | None, other: str | None) -> str | None:
        return one if one == other else None

    def through(self, node: Leaf, given: tuple[str | None, ...], here: Here[str | None]) -> Answer[str | None, str]:
        return Answer((None,), tuple(map(str, given)))

    def later(self, value: str | None, axis: Axis) -> str | None:
        return value


def known(body: str) -> tuple[tuple[str | None, ...], tuple[str, ...]]:
    text = "depth d = 4; block f(x: [d], y: [d]) -> (a: [d], b: [d]) { BODY; return x, y }"
    graph: Graph = graph_of(text.replace("BODY", body))
    answer = Same().of(graph, ("x", "y"))
    return answer.values, answer.found


def test_behind_a_loop_its_last_pass_is_known() -> None:
    """`x` may be either in a pass, but the last one leaves `y` there."""
    assert known("repeat.r 3 { x = y }")[0] == ("y", "y")
    assert known("repeat.r 3 { x = y; y = tanh(y) }")[0] == (None, None)
    assert known("repeat.r i in 3 { if i == 2 { x = y } else { x = tanh(x) } }")[0] == ("y", "y")
    assert known("repeat.r i in 3 { if i == 0 { x = y } else { x = tanh(x) } }")[0] == (None, "y")
    assert known("repeat.r 0 { x = y }")[0] == ("x", "y")


@pytest.mark.parametrize(
    ("body", "given"),
    [  # what `tanh` is ever given, by what is known of it
        ("repeat.r 3 { x = tanh(x) }", {"x", None}),
        ("repeat.r i in 4 { if i > 1 { x = tanh(x) } else { x = y } }", {None}),
        ("repeat.r i in 4 { if i > 1 { x = y } else { x = tanh(x) } }", {"x", None}),
    ],
)
def test_what_is_found_in_a_pass_is_true_of_one_that_runs(body: str, given: set[str | None]) -> None:
    """In a body that only later passes run nothing is found of what the first one is given."""
    assert {*known(body)[1]} == {str(one) for one in given}
