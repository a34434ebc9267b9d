"""What `attnc reads` says: in lines, as data; and that whatever changes when one item does lies within what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main
from attnc.compiler.graph.nodes import nested
from attnc.compiler.sizes import limits
from tests.soundness.generate import generate
from tests.soundness.judge import load

from .perturb import Tally, perturbed

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = """
width t, u <= 12
width p like t
depth d = 4, chunk = 3, h = 2
width n = t / chunk
width c = t / h
width l = t + h
"""

SAID = [  # what a model is given, what it computes, what is said of it
    ("x: [t, d]", "[t, d]", "x", "x[t]"),
    ("x: [t, d]", "[d]", "sum[t](x)", "x[t]"),
    ("x: [t, d]", "[t, d]", "cumsum[t](x)", "x[t'] where t' <= t"),
    ("x: [t, d]", "[t, p]", "dot[d](x, x[t as p])", "x[t]; x[p]"),
    ("x: [t, d]", "[t, d]", "dot[p](softmax[p](dot[d](x, x[t as p]) where t - p < 3 and p - t <= 1), x[t as p])",
     "x[t'] where t - 2 <= t' <= t + 1"),
    ("x: [t, d]", "[t, d]", "mean[p](x[t as p] where p < 3 and p <= t)", "x[t'] where t' <= 2 and t' <= t"),
    ("x: [t, d]", "[t, d]", "flip[t](x)", "x[-t + |t| - 1]; |t| (how many there are)"),
    ("x: [t, d]", "[t, d]", "select(t >= 1, x[t = max(t - 1, 0)], 0)", "x[t - 1]"),
    ("x: [t, d]", "[d]", "x[t = 0]", "x[0]"),
    ("x: [t, d], i: t[u]", "[u, d]", "x[t = i]", "x[t], picked by `i`; i[u]"),
    ("x: [t, d], i: t[u]", "[u, d]", "x[t = max(i - 1, 0)]", "x[t], picked by `max(i - 1, 0)`; i[u]"),
    ("x: [t, d], i: t[u]", "[u, d]", "x[t = i] + broadcast[u](sum[t](x))", "x[t]; i[u]"),
    ("x: [t, d], real: bool[t]", "[d]", "mean[t](x where real)", "x[t]; real[t]"),
    ("x: [t, d]", "[n, d]", "sum[chunk](split[t -> n, chunk](x))", "x[t] where 3 * n <= t <= 3 * n + 2"),
    ("x: [t, d]", "[h, c, d]", "split[t -> h, c](x)", "x[c + h / 2 * |t|]; |t| (how many there are)"),
    ("x: [t, d]", "[l, d]", "concat[t, h -> l](x, broadcast[h, d](1.5))", "x[l]; |t| (how many there are, up to l)"),
    ("x: [t, d], y: [u]", "[d]", "sum[u](x[t = min(int(u), |t| - 1)])",
     "x[t]; |u| (how many there are)"),
    ("x: [t, d]", "[t, d]", "sum[p](select(t >= 1, x[t = max(t - 1, 0)], 0)[t as p] where p <= t + 1)",
     "x[t'] where t' <= t; |t| (how many there are, up to t + 1)"),
    ("x: [t, d], y: [u, d]", "[d]", "mean[t](x) * |u|", "x[t]; |u| (how many there are)"),
    ("x: [t, d], y: [u, d]", "[t, d]", "x", "x[t]"),
    ("x: [t, d], s: int[] = 3", "[t, d]", "x * broadcast[t](s)", "x[t]; s"),
    ("x: [t, d]", "[t]", "1.0 * t", "no input"),
    ("x: [t, p]", "[p]", "sum[t](x where t <= p)", "x[t, p] where t <= p"),
]  # fmt: skip


def of(given: str, made: str, body: str) -> attnc.Model:
    return attnc.loads(f"{HEAD}\nmodel f({given}) -> {made} {{\n return {body}\n}}\n").model("f")


@pytest.mark.parametrize(("given", "made", "body", "said"), SAID)
def test_what_is_said(given: str, made: str, body: str, said: str) -> None:
    model = of(given, made, body)
    (result,) = model.reads()
    lines = str(result).splitlines()
    head = f"f{made} reads "
    assert all(line.startswith(head) for line in lines)
    assert "; ".join(line.removeprefix(head) for line in lines) == said
    tally = Tally()
    perturbed(model.graph, tally, seeds=(0, 1))
    assert tally.outside == []
    assert tally.changes or said == "no input"


def test_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "a.attn"
    file.write_text("width t, u\nmodel a(x: [t], i: t[u]) -> (y: [u], z: []) {\n    return x[t = i], 1.0 * |u|\n}\n")
    assert main(["reads", str(file), "--json"]) == 0
    place = {"axis": "t", "called": "t", "exact": None, "lowers": [], "uppers": []}
    own = {"axis": "u", "called": "u'", "exact": "u", "lowers": [], "uppers": []}
    read = {"input": "x", "at": [place], "picked": ["i"]}, {"input": "i", "at": [own], "picked": []}
    size = {"input": None, "at": [{**place, "axis": "u", "called": "u"}], "picked": []}
    found = {"name": "a", "results": [
        {"name": "y", "axes": ["u"], "reads": [*read]}, {"name": "z", "axes": [], "reads": [size]}
    ]}  # fmt: skip
    assert json.loads(capsys.readouterr().out) == found
    assert main(["reads", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "y[u] reads x[t], picked by `i`",
        "y[u] reads i[u]",
        "z reads |u| (how many there are)",
    ]


@pytest.mark.parametrize(
    ("read", "most", "proved"),
    [
        ("select(t >= 1, x[t = max(t - 1, 0)], 0)", "t", True),
        ("select(t >= 1, x[t = max(t - 1, 0)], 0)", "t + 1", False),
        ("select(t >= 2, x[t = max(t - 2, 0)], 0)", "t + 1", False),
        ("sum[v](x[t as v] where v <= t - 1)", "t + 1", False),
        ("sum[v](x[t as v] where v <= t - 1)", "t", True),
    ],
)
def test_an_item_that_is_there_is_told_by_no_item_before_it(read: str, most: str, proved: bool) -> None:
    """A sum up to the next item reads `x` no further than its own, but it tells whether there is a next one."""
    text = f"width t\nwidth p like t\nwidth v like t\nmodel f(x: [t]) -> [t] causal t {{\n y = {read}\n"
    found = attnc.check(f"{text} return sum[p](y[t as p] where p <= {most})\n}}\n")
    errors = [each for each in found if each.code == "E0701"]
    assert bool(errors) is not proved
    assert all("it changes by" in " ".join(each.notes) for each in errors)  # a trial has found it, too


@pytest.mark.parametrize("limit", ["PROOF", "BOUNDS", "CASES", "FACTS"])
def test_at_its_limits_it_says_more(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not followed may be anything, sizes too: those of what is given nothing that is read."""
    text = (
        f"{HEAD}\nblock place[n: width]() -> [n] {{\n return flip[n](1.0 * n)\n}}\n"
        "model f(x: [t, d], y: [u]) -> [t] {\n"
        " z = sum[p](sum[d](x)[t as p] where (t - p < 3 and p <= t) or p < 2)\n"
        " return place[t]() + 0 * z + broadcast[t](sum[u](y))\n}\n"
    )
    model = attnc.loads(text).model("f")
    least = 5 if limit == "PROOF" else 1  # so that the block is followed no more, and what calls it is
    for module in ("relation", "ways", "forms", "predicates"):
        monkeypatch.setattr(limits, limit, least)
        home = "attnc.compiler.graph.core" if module in ("relation", "ways") else "attnc.compiler.sizes"
        monkeypatch.setattr(f"{home}.{module}.{limit}", least, raising=False)
    plain = re.sub(r"(?m)^ z = .*$", "", text).replace(" + 0 * z", "")
    assert str(*attnc.loads(plain).model("f").reads()).endswith("|t| (how many there are)")
    tally = Tally()
    perturbed(model.graph, tally, seeds=(0, 1))
    assert tally.outside == [] and tally.changes


# -- one item changed, or one more: what changes is said to be read ------------------------------------------------


def of_programs(seeds: range, picks: bool = False) -> Tally:
    tally = Tally()
    for seed in seeds:
        program = generate(seed, picks)
        spec = load(program.text, program)
        for name in spec.models:
            before = len(tally.outside)
            perturbed(spec.model(name).graph, tally, seeds=(seed % 4,))
            assert tally.outside[before:] == [], f"seed {seed}{' with picks' * picks}"
    return tally


QUICK = ["additive", "convolution", "memory_tokens", "selective_scan", "sinks", "vision_prefix"]


@pytest.mark.parametrize("name", QUICK)
def test_examples_read_no_more_than_they_say(name: str) -> None:
    spec, tally = attnc.load(EXAMPLES / f"attentions/{name}.attn"), Tally()
    for model in spec.models:
        perturbed(spec.model(model).graph, tally)
    assert tally.outside == [] and tally.changes


@pytest.mark.parametrize("picks", [False, True])
def test_programs_read_no_more_than_they_say(picks: bool) -> None:
    assert of_programs(range(6), picks).changes > 500


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.rglob("*.attn")), ids=lambda path: path.relative_to(EXAMPLES).as_posix()
)
def test_all_examples_read_no_more_than_they_say(path: Path) -> None:
    """Each model, and each block in it by itself; those that a call lifts have axes that they do not say."""
    spec, tally = attnc.load(path), Tally()
    for graph in nested(*(spec.model(name).graph for name in spec.models)):
        if graph.kind != "repeat" and not graph.target and not graph.lifted:
            perturbed(graph, tally, beyond=2)
    assert tally.outside == []


@pytest.mark.slow
@pytest.mark.parametrize("picks", [False, True])
def test_many_programs_read_no_more_than_they_say(shard: int, picks: bool) -> None:
    assert of_programs(range(shard, shard + SHARD), picks).changes


SHARD = 200  # programs of one test


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shard" in metafunc.fixturenames:
        first, last = (int(end) for end in metafunc.config.getoption("--seeds").split(":"))
        metafunc.parametrize("shard", range(first, last, SHARD))
