"""Which inputs of a block each of its results hangs on."""

from __future__ import annotations

import pytest

from attnc.compiler.check import build
from attnc.compiler.graph.sources import Dependence, over_steps
from attnc.dsl.source import Source

SPEC = """
width t
depth d = 4
op mystery(x: [d], y: [d]) -> [d] = "m:f"
block first(x: [d], y: [d]) -> [d] {
    return 2 * x
}
block turned(x: [d], y: [d]) -> (a: [d], b: [d]) {
    return y, x
}
block cell(x: [d], g: [d], h: [d]) -> (h: [d]) {
    return x + h
}
block two(x: [d], g: [d], h: [d]) -> (g: [d], h: [d]) {
    return tanh(h), x + g
}
block f(x: [t, d], y: [d], z: [d], n: int[]) -> (a: [d], b: [d], c: [d]) {
    BODY
}
"""


# Of each of three results, by their letters.
@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return y, z, y + z", "y z yz"),
        ("a = 2 * y; b = a + z; c = b * 0.5; return a, c, b", "y yz yz"),
        ("a = sum[t](x); return a, a + y, broadcast[d](1.5)", "x xy -"),
        ("a = linear.w[d -> d](y); return linear.v[d -> d](a), z * n, a", "y zn y"),
        ("a, b = turned(y, z); return a, b, first(a, y)", "z y z"),
        ("a = mystery(y, z); return a, first(a, x[t = 0]), first(z, a)", "yz yz z"),
        ("repeat.r 3 { y = first(y, z) }; return y, z, z", "y z z"),
        ("repeat.r 3 { y = y + z }; return y, z, z", "yz z z"),
        ("w = y; repeat.r 3 { y, w = turned(y, w); z = z + w }; return y, w, z", "y y yz"),
        ("w = sum[t](x); repeat.r 3 { z = y; y = w }; return y, z, w", "xy xyz x"),
        ("repeat.r i in 3 { if i == 2 { y = z } else { z = sum[t](x) } }; return y, z, z", "xyz xz xz"),
        ("repeat.r 2 { repeat.s 2 { y = y + z }; z = z * n }; return y, z, z", "yzn zn zn"),
        ("a = scan[t] cell(x, y, h = z); return sum[t](a), y, z", "xz y z"),
        ("a = scan[t] cell(x, y, h = 0); return sum[t](a), y, sum[t](a) + y", "x y xy"),
        ("a, b = scan[t] two(x, g = y, h = z); return sum[t](a), sum[t](b), z", "xyz xyz z"),
        ("a, b = scan[t] two(x, g = y, h = 0); return sum[t](a), sum[t](b), z", "xy xy z"),
    ],
)
def test_what_results_hang_on(body: str, found: str) -> None:
    lines = body.replace("{ ", "{\n").replace(" }", "\n}").replace("; ", "\n")
    program = build(Source("main.attn", SPEC.replace("BODY", lines)))
    assert not program.errors, program.errors[0].message
    graph = program.graph("f")
    names = [item.name for item in graph.inputs]
    shown = ["".join(names[place] for place in sorted(each)) or "-" for each in Dependence().of_results(graph)]
    assert " ".join(shown) == found


def test_what_goes_round() -> None:
    def round(of: list[set[int]], again: dict[int, int]) -> list[set[int]]:
        return [set(each) for each in over_steps(tuple(map(frozenset, of)), again)]

    assert round([{1}, {2}, {3}], {}) == [{1}, {2}, {3}]
    assert round([{1}, {2}, {3}], {1: 1, 2: 2}) == [{1, 2, 3}, {2, 3}, {3}]
    assert round([{1}, {0}], {0: 0, 1: 1}) == [{0, 1}, {0, 1}]
    assert round([{0}, {1, 2}], {2: 0}) == [{0}, {0, 1, 2}]
