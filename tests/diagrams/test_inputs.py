"""What an input is shows at its name: what its numbers point into, truth values, a default, a copy of another axis."""

from __future__ import annotations

from itertools import combinations

import pytest

from attnc.spec import Model, loads

from .geometry import faults
from .twins.signature import seen

HEAD = "width x\nwidth y like x\nwidth z\nwidth r ragged\ndepth m = 8, n = 30, k = 30\n"
KINDS = {  # what is declared of an input, and a body that reads it as every kind is read
    "real": "t: [x]",
    "whole": "t: int[x]",
    "into n": "t: n[x]",
    "into k": "t: k[x]",
    "into x": "t: x[x]",
    "truth": "t: bool[x]",
    "a copy": "t: [y]",
    "a width": "t: [z]",
    "ragged": "t: [r]",
    "may be 1": "t: [x] = 1",
    "may be 2": "t: [x] = 2",
    "perhaps": "t: bool[x] = true",
    "perhaps not": "t: bool[x] = false",
}


def model(kind: str) -> Model:
    declared = KINDS[kind]
    result = declared.partition(": ")[2].partition(" = ")[0]
    body = "return u, t"
    return loads(f"{HEAD}model f(u: [x], {declared}) -> (u: [x], t: {result}) {{\n    {body}\n}}\n").model("f")


def test_inputs_of_two_kinds_are_drawn_otherwise() -> None:
    figures = {kind: seen(model(kind).graph) for kind in KINDS}
    assert not [pair for pair in combinations(KINDS, 2) if figures[pair[0]] == figures[pair[1]]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_there_is_free(kind: str) -> None:
    assert faults(model(kind).draw()._sheet) == []


READ_TWICE = """
model f(u: [x, m], real: bool[x]{0}) -> [x, m] {{
    a = select(broadcast[m](real), u, tanh(u))
    return a * broadcast[x](sum[x](u where real))
}}
"""


def test_a_mask_that_is_drawn_with_wires_says_its_default() -> None:
    one, other = (loads(HEAD + READ_TWICE.format(default)).model("f") for default in ("", " = true"))
    assert seen(one.graph) != seen(other.graph)
