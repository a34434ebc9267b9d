"""Look-ups: the formula of a known index, the arrow from an index of data, what is learned and what positions say."""

from __future__ import annotations

import pytest

import attnc
from attnc.diagrams import Diagram
from attnc.diagrams.base.text import plain
from attnc.diagrams.draw.sheet import Sheet
from attnc.diagrams.scene.steps import DrawStep

from .geometry import faults

SPEC = """
width q
width k like q
width s = q / 4
depth m = 8, e = 4, c = 2, b = 33
"""


def figure(body: str, **more: str) -> Diagram:
    name = body.split("(")[0].split()[-1]
    diagram = attnc.loads(SPEC + body).block(name).draw(**more)  # type: ignore[arg-type]
    assert faults(diagram._sheet) == []
    return diagram


def steps(body: str, mark: str, **more: str) -> list[DrawStep]:
    return [s for column in figure(body, **more)._sheet.columns for s in column.steps if s.mark == mark]


@pytest.mark.parametrize(
    ("index", "to", "said"),
    [
        ("(q + 1) % |q|", "q", "= (q + 1) mod |q|"),
        ("(q + 2) % |q|", "q", "= (q + 2) mod |q|"),
        ("max(q - 1, 0)", "q", "= max(q − 1, 0)"),
        ("4 * int(s)", "s", "= 4 s"),
        ("4 * int(s) + 1", "s", "= 4 s + 1"),
        ("|q| - 1 - q", "q", "= |q| − 1 − q"),
    ],
)
def test_a_known_index_is_written(index: str, to: str, said: str) -> None:
    (pill,) = steps(f"block f(x: [q, m]) -> [{to}, m] {{ return x[q = {index}] }}", "pill")
    assert plain(pill.text) == said


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("clamp(k - q, -16, 16) + 16", "= clamp(k − q, −16, 16) + 16"),
        ("min(abs(k - q), 32)", "= min(|k − q|, 32)"),
        ("index[b](min(abs(k - q), 32))", "= min(|k − q|, 32)"),
    ],
)
def test_a_learned_table_keeps_its_own_axis(index: str, said: str) -> None:
    body = f"""block f(x: [q, k]) -> [q, k] {{
        param table: [b] ~ normal(0.02)
        return x + table[b = {index}]
    }}"""
    (table,), (pill,) = steps(body, "learned"), steps(body, "pill")
    assert [axis.name for axis in table.outs[0].axes] == ["b"]
    assert [axis.name for axis in pill.eaten] == ["b"]
    assert plain(pill.text) == said


def test_a_long_index_has_its_parts_defined_beneath() -> None:
    body = """block f(x: [q, k]) -> [q, k] {
        param table: [b] ~ normal(0.02)
        far = abs(k - q) + 3 * abs(k + q)
        near = min(far, 16) + max(far, 4)
        return x + table[b = min(near, 30 - near) + min(far, 2)]
    }"""
    (pill,) = steps(body, "pill")
    assert plain(pill.text).split("\n") == [
        "= min(far, 2) + min(near, 30 − near)",
        "far = |k − q| + 3 |q + k|",
        "near = min(far, 16) + max(far, 4)",
    ]


def test_a_known_table_at_a_known_index_is_one_formula() -> None:
    body = """block f(x: [s]) -> [s] {
        slope = sqrt(q + 1)
        return x + slope[q = 4 * int(s)]
    }"""
    (table,) = steps(body, "table")
    assert "(4 s + 1)1/2" in plain(table.text) + plain(table.note)


PICK = "block f(x: [q, m], i: q[{axes}]) -> [{to}m] {{ return x[q = i] }}"


@pytest.mark.parametrize(("axes", "to"), [("s", "s, "), ("q", "q, "), ("", ""), ("m", "")])
def test_a_pick_is_tied_to_its_index(axes: str, to: str) -> None:
    body = PICK.format(axes=axes, to=to)
    (pick,) = steps(body, "pick")
    assert plain(pick.text) == "= i"
    sheet = figure(body)._sheet
    (pill,) = [id for id, _, step in sheet.glyphs if step.mark == "pick"]
    if axes:
        assert [edge.head for edge in sheet.picture.edges if edge.tail == f"{pill}_t_0"] == [f"{pill}_t_1"]
    else:  # its wire ends there
        (wire,) = sheet.meetings[id(pick_of(sheet))].ins[1]
        assert sheet.ends[wire.number].node == pill


def pick_of(sheet: Sheet) -> DrawStep:
    return next(step for _, _, step in sheet.glyphs if step.mark == "pick")


def test_the_same_pick_of_another_axis_differs() -> None:
    one = figure("block f(x: [q, k], i: q[s], j: k[s]) -> [s, k] { return x[q = i] }").dot
    other = figure("block f(x: [q, k], i: q[s], j: k[s]) -> [q, s] { return x[k = j] }").dot
    assert one != other


ROUTE = """block route(x: [m]) -> [e] {
    scores = linear.router[m -> e](x, bias = false)
    best = topk[e -> c](scores)
    weights = softmax[c](scores[e = best])
    return sum[c](select(SIDES, weights, 0))
}"""


@pytest.mark.parametrize(
    ("sides", "said"), [("e == best", "[e = best]"), ("e != best", "[e ≠ best]"), ("e < best", "[e < best]")]
)
def test_a_router_says_what_it_compares(sides: str, said: str) -> None:
    pills = steps(ROUTE.replace("SIDES", sides), "pill")
    (compared,) = [pill for pill in pills if not pill.eaten]
    assert plain(compared.text) == said
    assert [axis.name for axis in compared.made] == ["e"]


def test_a_block_that_makes_an_index_stands_with_what_it_is_given() -> None:
    text = """use std.positions: relative_bias
width target
width source like target
block t5(scores: [target, source]) -> [target, source] {
    return scores + sum[heads](relative_bias[target, source, far = 64]())
}
"""
    block = attnc.loads(text.replace("relative_bias\n", "relative_bias, heads\n", 1)).block("t5")
    said = [[plain(s.text) for c in block.draw(**more)._sheet.columns for s in c.steps if s.mark == "pill"]
            for more in ({}, {"open": "relative_bucket"})]  # fmt: skip
    assert said[0][0] == "= relative bucket(target, source, far = 64, both = true)"
    assert said[1][0].startswith("= start + (away if away < ")
    assert "\naway = |source − target|" in said[1][0]
