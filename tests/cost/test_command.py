"""`attnc cost`: what it prints, and one line for each mistake."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import attnc
from attnc.cli import main

ROOT = Path(__file__).parents[2]
TRANSFORMER, GPT2 = str(ROOT / "examples/transformer.attn"), str(ROOT / "examples/zoo/gpt2.attn")
LAYERS = str(ROOT / "examples/table1/layers.attn")


def printed(capsys: pytest.CaptureFixture[str], *args: str, status: int = 0) -> str:
    assert main(["cost", *args]) == status
    out, err = capsys.readouterr()
    return out if status == 0 else err


def test_python_prints_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, GPT2) == f"{attnc.load(GPT2).model('gpt2').cost()}\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([TRANSFORMER, "--set", "sorce=3"], "did you mean `source`?"),
        ([TRANSFORMER, "--set", "from=3"], "`from` is a copy of `source`: set `source`"),
        ([TRANSFORMER, "--set", "source=1.5"], "a size is a whole number"),
        ([TRANSFORMER, "--dtype", "int8"], "no dtype `int8`"),
        ([TRANSFORMER, "--batch", "0"], "`0` is not a whole number of 1 or more"),
        ([GPT2, "--set", "seq=1025"], "`seq` = 1025, but it is at most 1024"),
        ([f"{TRANSFORMER}:decod"], "did you mean `decode`?"),
        ([], "which spec?"),
        (["--compare", TRANSFORMER], "--compare puts two specs side by side, but 1 are named"),
        ([TRANSFORMER, "--over", "source=2..8"], "--plot OUT.svg goes with --over"),
        ([TRANSFORMER, "--plot", "x.svg", "--over", "source=8..2"], "is not NAME=LOW..HIGH"),
        ([TRANSFORMER, "--plot", "x.attn", "--over", "source=2..8"], "cannot write x.attn"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], args: list[str], said: str) -> None:
    error = printed(capsys, *args, status=2)
    assert said in error and error.count("\n") == 1


def test_a_derived_width(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It follows what it is derived from, which must divide; setting it says what to set instead."""
    spec = tmp_path / "chunked.attn"
    spec.write_text(
        "width seq, chunks = seq / 64\ndepth place = 64, d = 8\n"
        "model net(x: [seq, d]) -> [chunks, d] {\n    return sum[place](split[seq -> chunks, place](x))\n}\n"
    )
    out = printed(capsys, str(spec), "--set", "seq=640")
    assert "chunks = 10" in out and "= d seq" in out and "longest path" not in out
    assert "it must be a whole number" in printed(capsys, str(spec), "--set", "seq=100", status=2)
    assert "`chunks` is seq / 64: set `seq`" in printed(capsys, str(spec), "--set", "chunks=3", status=2)


def test_a_bounded_width_keeps_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, GPT2, "--set", "seq=10", "--depth", "0")
    assert f"{sum(w.size for w in attnc.load(GPT2).model('gpt2').weights.values()):,}" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, f"{LAYERS}:restricted", "--set", "seq=1024", "--json"))
    assert found["totals"]["multiply_adds"] == {"value": 2 * 512 * 1024**2, "formula": "2 d n^2"}
    band = 129 * 1024 - 64 * 65
    assert found["totals"]["multiply_adds_kept"]["value"] == 2 * 512 * band
    assert found["longest_paths"]["seq"]["hops"] == 16
    assert [part["path"] for part in found["parts"]][:2] == ["", "attend"] or found["parts"][0]["kind"] == "model"


def test_masks_count_what_they_keep() -> None:
    """Every pair that a mask of indices keeps, at sizes on both sides of its limits; others count in full."""
    masks = {
        "past <= seq": lambda q, k: k <= q,
        "past < seq": lambda q, k: k < q,
        "past <= seq and seq - past < near": lambda q, k: k <= q and q - k < 5,
        "abs(seq - past) <= near": lambda q, k: abs(q - k) <= 5,
        "not (past <= seq)": lambda q, k: not k <= q,
        "past >= seq + 2": lambda q, k: k >= q + 2,
        "past > seq - 3": lambda q, k: k > q - 3,
        "seq - near <= past and past < seq": lambda q, k: q - 5 <= k < q,
        "-(past - seq) < 2": lambda q, k: q - k < 2,
        "seq - past < 2 ^ 2": lambda q, k: q - k < 4,
        "2 * seq - seq >= past": lambda q, k: q >= k,
        "past - seq <= 1 and past - seq <= 2 and seq - past <= 3 and seq - past <= 1": lambda q, k: -1 <= k - q <= 1,
        "abs(past - seq) < 1": lambda q, k: k == q,
        "abs(past - seq) < 0": lambda q, k: False,
        "past - seq >= 3 and past - seq <= 1": lambda q, k: False,
        "past < seq and past >= seq": lambda q, k: False,
        "past <= seq and near > 3": lambda q, k: k <= q,
        "past <= seq or near < 3": lambda q, k: True,  # a const that may be set is not looked into
        "past <= seq or near > 3": lambda q, k: True,
        "past <= seq and not (near < 3)": lambda q, k: k <= q,
        "past <= seq or past <= seq + 2": lambda q, k: k <= q + 2,
        "not (past < seq or past <= seq)": lambda q, k: True,  # no band is known of this, so all counts
        "past <= seq and true": lambda q, k: k <= q,
        "false or past <= seq": lambda q, k: k <= q,
        "past <= seq or true": lambda q, k: True,
        "not false and past < seq": lambda q, k: k < q,
        "past <= seq and not (past <= seq - 3)": lambda q, k: q - 3 < k <= q,
        "past + seq <= 4": lambda q, k: True,
        "2 * past <= seq": lambda q, k: True,
        "past <= 3 and 2 <= seq": lambda q, k: True,
        "abs(2 * past - seq) <= 3": lambda q, k: True,
        "abs(past - seq) <= past": lambda q, k: True,
        "past % 2 == 0": lambda q, k: True,
    }
    for mask, keeps in masks.items():
        text = (
            "use std.attention: attend\nwidth seq\nwidth past like seq\ndepth d = 3\nconst near = 5\n"
            "model net(x: [seq, d], real: bool[seq]) -> [seq, d] {\n    return attend[seq, past, d, d]"
            f"(x, x[seq as past], x[seq as past], mask = ({mask}) and real[seq as past])\n}}\n"
        )
        model = attnc.loads(text).model("net")
        for n in (1, 2, 4, 6, 7, 30):
            pairs = sum(keeps(q, k) for q in range(n) for k in range(n))
            assert model.cost(seq=n).kept.value == 6 * pairs, (mask, n)


def test_compare_finds_the_crossing(capsys: pytest.CaptureFixture[str]) -> None:
    """2 d n^2 and 2 d^2 n cross where n is d."""
    out = printed(capsys, "--compare", f"{LAYERS}:self_attention", f"{LAYERS}:recurrent", "--set", "model=100")
    assert "multiply-adds: from seq = 101 on, recurrent is cheaper" in out
    found = json.loads(printed(capsys, f"{LAYERS}:self_attention", "--compare", f"{LAYERS}:recurrent", "--json"))
    assert {"figure": "macs", "width": "seq", "size": 513, "cheaper": "recurrent"} in found["crossings"]


def test_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    args = ["--compare", f"{LAYERS}:self_attention", f"{LAYERS}:recurrent", "--over", "seq=16..4096", "--plot"]
    pictures = []
    for name in ("a.svg", "b.svg"):
        assert main(["cost", *args, str(tmp_path / name)]) == 0
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1] and b"<svg" in pictures[0]
    huge = tmp_path / "huge.attn"
    huge.write_text("width t\nwidth s = 2 ^ t\nmodel f(x: [t]) -> [s] {\n    return pad[t -> s](x, left = 0)\n}\n")
    assert main(["cost", str(huge), "--over", "t=1..9", "--plot", str(tmp_path / "none.svg")]) == 0  # no multiply-adds
    said = printed(
        capsys, str(huge), "--over", "t=1..2000", "--formula", "peak", "--plot", str(tmp_path / "c.svg"), status=2
    )
    assert "more than a float can hold" in said
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "matplotlib>=3.9"' in printed(capsys, *args, str(tmp_path / "c.svg"), status=2)
    assert not (tmp_path / "c.svg").exists()


def test_an_op_of_ones_own_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "own.attn"
    spec.write_text(
        'width seq\ndepth d = 8\nop magic[n: width](x: [n, d]) -> [n, d] = "nowhere:magic"\n'
        "model net(x: [seq, d]) -> [seq, d] {\n    return magic[seq](x)\n}\n"
    )
    assert "`magic` is an op of your own: what it costs is not known" in printed(capsys, str(spec))


def test_weights_of_passes_that_differ() -> None:
    """Each kind of pass has its own, though they are called alike."""
    spec = attnc.loads(
        "width n\ndepth d = 5\nconst layers = 7\n"
        "model f(x: [n, d]) -> [n, d] {\n"
        "    repeat i in layers {\n"
        "        if i % 3 == 0 {\n            x = tanh(linear.a[d -> d](x))\n        } else {\n"
        "            x = linear.a[d -> d](x) + linear.b[d -> d](x)\n        }\n"
        "    }\n    return x\n}\n"
    )
    assert spec.model("f").cost().parameters.value == (3 + 2 * 4) * (5 * 5 + 5)


def test_weights_of_no_pass() -> None:
    """The one set of a shared repeat is there, though nothing runs it; a set for each pass of none is not."""
    cost = attnc.loads(
        "width n\ndepth d = 4\nmodel net(x: [n, d]) -> [n, d] {\n"
        "    repeat.r 0 shared { x = x + linear.l[d -> d](x) }\n"
        "    repeat.s 0 { x = x + linear.l[d -> d](x) }\n"
        "    return linear.o[d -> d](x)\n}\n"
    ).model("net").cost({"n": 1})  # fmt: skip
    assert (cost.parameters.value, cost.macs.value) == (2 * (4 * 4 + 4), 4 * 4)


@pytest.mark.parametrize(
    ("body", "weights"),
    [
        ("x = x + linear.l[d -> d](x) * (1 / i)", 20),  # what no pass works out need have no value
        ("x = scaled[c = 1 / i](x)", 20),
        ("x = x + magic(linear.l[d -> d](x))", 20),
        ("repeat.s j in 3 { x = x + linear.l[d -> d](x) }", 60),
        ("repeat.s j in 3 shared { x = x + linear.l[d -> d](x) }\nparam P: [d] ~ normal(1.0)\nx = x * P", 24),
        ("repeat.s j in i shared { x = x + linear.l[d -> d](x) }", 20),
        ("repeat.s j in i { x = x + linear.l[d -> d](x) }", 0),
        ("repeat.s j in 3 {\ndepth e = j + 1\nx = x + linear.m[e -> d](linear.l[d -> e](x))\n}", 66),
        ("repeat.s j in 3 {\nif j == 1 { x = x + linear.l[d -> d](x) } else { x = x * 2 }\n}", 20),
    ],
)
def test_what_is_in_no_pass_costs_its_weights_alone(body: str, weights: int) -> None:
    model = attnc.loads(
        'width n\ndepth d = 4\nop magic(x: [n, d]) -> [n, d] = "some.module:magic"\n'
        "block scaled[c: const](x: [n, d]) -> [n, d] {\n    return x + linear.l[d -> d](x) * c\n}\n"
        f"model net(x: [n, d]) -> [n, d] {{\nrepeat.r i in 0 shared {{\n{body}\n}}\n"
        "return linear.o[d -> d](x)\n}\n"
    ).model("net")
    cost = model.cost({"n": 3})
    assert cost.parameters.value == sum(weight.size for weight in model.weights.values()) == weights + 20
    assert (cost.macs.value, cost.part.unknown, cost.peak.value) == (3 * 4 * 4, frozenset(), 4 * 3 * 4)


def test_experts_that_are_picked() -> None:
    """2 of 8 are computed, and weighed."""
    cost = attnc.load(ROOT / "examples/zoo/mixtral.attn").model("mixtral").cost()
    assert cost.routed is not None
    experts = 32 * 1024 * 4096 * (3 * 14336 + 1) * 8
    assert cost.kept.value - cost.routed.value == experts * 6 // 8


def test_sizes_of_a_block_standing_alone() -> None:
    block = attnc.load(ROOT / "compiler/std/attention.attn").block("attend")
    with pytest.raises(ValueError, match="depth `d` of `attend` has no size"):
        block.cost(v=8)
    assert block.cost(q=3, k=5, d=7, v=11).macs.value == 3 * 5 * (7 + 11)


def test_bytes_follow_the_dtype() -> None:
    model = attnc.load(TRANSFORMER).block("feed_forward")
    assert model.cost(dtype="bfloat16").moved.value * 2 == model.cost().moved.value
    assert model.cost(batch=3).macs.value == 3 * model.cost().macs.value


def test_scores_that_others_read_count_in_full() -> None:
    """What a mask leaves out need not be computed where the masked op alone reads it; zeros stay zeros in sums."""
    head = "width n = 6\nwidth k like n\ndepth h = 3, d = 4\n"
    scores = "    s = dot[d](x, x[n as k])\n    w = softmax[k](s where k <= n)\n"
    heads = "model net(x: [n, h, d]) -> "
    kept = {
        f"{heads}[n, h, d] {{\n{scores}    return dot[k](w, x[n as k])\n}}": (21 + 21) * 12,
        f"{heads}(a: [n, h, d], b: [h, n, k]) {{\n{scores}    return dot[k](w, x[n as k]), s\n}}": (21 + 36) * 12,
        f"{heads}(b: [h, n, k], a: [n, h, d]) {{\n{scores}    return s, dot[k](w, x[n as k])\n}}": (21 + 36) * 12,
        f"{heads}[n, h, d] {{\n{scores}    return dot[k](w, x[n as k]) + 0 * broadcast[d](sum[k](s))\n}}": (21 + 36)
        * 12,
        f"{heads}[n, h, d] {{\n{scores}    return dot[k](sum[h](w), x[n as k])\n}}": (21 + 21) * 12,
        f"{heads}[n, h, d] {{\n{scores}    return dot[k](relu(w) * 2, x[n as k])\n}}": (21 + 36) * 12,
    }
    found = {text: attnc.loads(head + text).model("net").cost().kept.value for text in kept}
    assert found == kept


@pytest.mark.parametrize("factors", ["a, x[n as k], b, x[n as m]", "b, x[n as m], a, x[n as k]"])
def test_each_sum_of_a_product_of_several_is_under_its_own_mask(factors: str) -> None:
    text = f"""width n = 6
width k like n, m like n
depth d = 4
model net(x: [n, d]) -> [n, d] {{
    a = softmax[k](dot[d](x, x[n as k]) where k <= n)
    b = softmax[m](dot[d](x, x[n as m]) where m >= n and m < n + 2)
    return dot[k, m]({factors})
}}
"""
    assert attnc.loads(text).model("net").cost().kept.value == 2 * (21 + 11) * 4


def test_an_op_of_ones_own_passes_the_batch_on() -> None:
    text = (
        'width n = 5\ndepth d = 4\nop magic[a: width](x: [a, d], y: [d]) -> [a, d] = "nowhere:magic"\n'
        "model net(x: [n, d]) -> [n, d] {\n    param p: [d]\n"
        "    return linear.a[d -> d](magic[n](x, p), bias = false)\n}\n"
    )
    cost = attnc.loads(text).model("net").cost(batch=3)
    assert (cost.macs.value, cost.backward.value) == (3 * 5 * 16, 2 * 3 * 5 * 16)
