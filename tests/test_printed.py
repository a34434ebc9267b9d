"""What a prompt or a notebook shows of what the API gives: a page, however large the model is."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main

PAGE = 10_000  # characters
GPT = """\
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 64, heads = 4, vocab = 1000
const layers = 100

block layer(x: [seq, model]) -> [seq, model] {
    x = x + multihead.self[seq, past](x, x[seq as past], mask = past <= seq)
    return layernorm.out[model](x)
}

model gpt(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(0.02) frozen
    x = E[vocab = ids]
    repeat layers {
        x = layer(x)
    }
    return dot[model](x, E)
}
"""


def many(blocks: int) -> attnc.Model:
    """A model of blocks that are all different."""
    lines = ["width s", "depth d = 4"]
    for n in range(blocks):
        lines += [f"block b{n}(x: [s, d]) -> [s, d] {{", "    return linear.a[d -> d](x)", "}"]
    lines += ["model m(x: [s, d]) -> [s, d] {", *(f"    x = b{n}.c{n}(x)" for n in range(blocks)), "    return x", "}"]
    return attnc.loads("\n".join(lines) + "\n").model("m")


@pytest.fixture(scope="module")
def gpt() -> attnc.Model:
    return attnc.loads(GPT).model("gpt")


def test_nothing_shown_is_longer_than_a_page(gpt: attnc.Model) -> None:
    cost = gpt.cost(seq=128)
    shown = [
        gpt,
        gpt.inputs,
        gpt.outputs,
        gpt.weights,
        cost,
        cost.macs,
        cost.part,
        cost.paths,
        gpt.decoding,
        gpt.explain(),
    ]
    for each in (*shown, many(200).weights, many(200).cost()):
        assert len(repr(each)) < PAGE, type(each)
        assert len(str(each)) < PAGE, type(each)


def test_a_cost_is_its_report(gpt: attnc.Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = gpt.cost(seq=128)
    (file := tmp_path / "gpt.attn").write_text(GPT)
    assert main(["cost", str(file), "--set", "seq=128"]) == 0
    assert repr(cost) == str(cost) == capsys.readouterr().out.rstrip("\n")
    assert repr(cost.parameters) == f"<Figure {cost.parameters.value:,} = {cost.parameters}>"
    assert repr(cost.part) == "<Part model gpt: 4 parts>"


def test_of_very_many_parts_the_first() -> None:
    report = repr(many(50).cost()).splitlines()
    assert "... 11 more ..." in report  # of 51, the whole counted
    (place,) = (n for n, line in enumerate(report) if line.startswith("... "))
    assert report[place - 1].split()[:2] == ["c38", "(b38)"]
    assert any(line.startswith("parameters") and "1,000" in line for line in report)
    assert "more ..." not in repr(many(39).cost())


def test_weights_are_a_table(gpt: attnc.Model, capsys: pytest.CaptureFixture[str]) -> None:
    few = many(20).weights
    assert len(few) == 40
    lines = repr(few).splitlines()
    assert lines[0].split() == ["path", "axes", "shape", "init", "parameters"]
    assert [line.split()[0] for line in lines[1:41]] == list(few)
    assert lines[41:] == ["", "400 parameters in 40 weights"]
    shown = repr(gpt.weights).splitlines()
    assert len(shown) == 1 + 30 + 1 + 10 + 2
    assert shown[1].split() == ["E", "[vocab,", "model]", "1000", "x", "64", "normal(0.02)", "frozen", "64,000"]
    assert shown[31] == f"... {len(gpt.weights) - 40:,} more ..."
    assert shown[-3].split()[0] == list(gpt.weights)[-1]
    assert shown[-1].endswith(f"in {len(gpt.weights):,} weights (64,000 of them frozen)")


def test_weights_are_a_mapping_still(gpt: attnc.Model) -> None:
    one = gpt.weights["E"]
    assert dict(gpt.weights) == gpt.weights
    assert repr(one) == "<WeightSpec E [vocab = 1000, model = 64]: normal(0.02) frozen>"
    assert str(one) == "E [vocab = 1000, model = 64]"


def test_decoding_is_what_it_keeps(gpt: attnc.Model) -> None:
    assert repr(gpt.decoding) == str(gpt.decoding)
    assert repr(gpt.decoding).startswith("gpt decodes along seq; `generate` takes `ids`\n")
