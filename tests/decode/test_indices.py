"""An index into time counts from the first item of all, in a step too."""

from __future__ import annotations

import random

import pytest

import attnc

from .steps import check_steps

HEADER = "width four = 4\nwidth past_four like four\nwidth seq\nwidth past like seq\ndepth m = 3\n"
MODELS = {
    "ahead, in a given extent": "model net(x: [four]) -> four[past_four] causal past_four {\n"
    "    return index[four]((int(past_four) + 1) % |four|)\n}\n",
    "behind, in a given extent": "model net(x: [four, m]) -> (i: four[four] causal four, y: [four, m] causal four) {\n"
    "    return index[four](int(four) % 2), x\n}\n",
    "behind, in an open extent": "model net(x: [seq, m]) -> (i: past[seq] causal seq, y: [seq, m] causal seq) {\n"
    "    return index[past](int(seq) - int(seq) % 2), x\n}\n",
}


@pytest.mark.parametrize("what", MODELS)
def test_indices_as_results(what: str) -> None:
    check_steps(attnc.loads(HEADER + MODELS[what]).model("net"), seeds=(1, 2, 3), dtypes=("float64",))


MODEL = "width t\ndepth d = 2\nmodel f(x: [t, d]) -> [t, d] causal t {\n    return x[t = INDEX]\n}\n"


def index(rng: random.Random, depth: int) -> str:
    """A random index into `t`, not above it for any but a few."""
    if depth == 0:
        return rng.choice(("t", "t - 1", "t - 2", "t - 5", "0", "2", "3", "|t| - 1"))
    one, two = index(rng, depth - 1), index(rng, rng.randrange(depth))
    return rng.choice((f"max({one}, {two})", f"min({one}, {two})", f"clamp({one}, {rng.choice('02')}, {two})", one))


def test_what_an_index_reads_is_kept() -> None:
    rng, proved, windows = random.Random(1), 0, 0
    for _ in range(80):
        text = MODEL.replace("INDEX", f"clamp({index(rng, 2)}, 0, t)")
        try:
            model = attnc.loads(text).model("f")
        except attnc.AttnError as error:
            assert {each.code for each in error.diagnostics} == {"E0701"}
            continue
        proved += 1
        windows += "all items" not in str(model.decoding)
        check_steps(model, widths=(11,), seeds=(1, 2), dtypes=("float64",), backends=("numpy",))
    assert proved > 50
    assert windows > 15


@pytest.mark.parametrize(
    ("index", "kept"),
    [
        ("clamp(t, 0, 3)", "all items"),
        ("clamp(t - 1, 0, |t| - 1)", "the last item"),
        ("clamp(t - 2, 0, max(t - 5, 0))", "the last 5 items"),
        ("min(t - 1, |t| - 1)", "the last item"),
        ("min(max(t - 3, 0), t)", "the last 3 items"),
        ("max(clamp(t, 0, 2), t - 4)", "the last 4 items"),
    ],
)
def test_how_far_back_an_index_reads(index: str, kept: str) -> None:
    assert f", {kept}:" in str(attnc.loads(MODEL.replace("INDEX", index)).model("f").decoding)


SPREAD = """\
width seq
width past like seq
width src
depth d = 4
block pick(x: [seq, d], y: [seq, d], i: seq[seq]) -> [seq, d] {
    return x + tanh(y)[seq = i]
}
block look[w: width](x: [w, d], y: [w, d], i: w[w]) -> [w, d] {
    return linear.L[d -> d](x) + y[w = i]
}
block twice(y: [seq, d]) -> [seq, d] {
    return y * 2
}
model f(x: [seq, d], i: seq[seq], m: [src, d], g: [d]) -> [seq, d] causal seq {
    BODY
}
"""
SPREADS = {
    "a number": "return x + broadcast[seq](0.5)[seq = i[seq = max(seq - 1, 0)]]",
    "a weight": "param P: [d]\n return x + broadcast[seq](P)[seq = i]",
    "an input": "return x + broadcast[seq](g)[seq = i]",
    "over another copy": "return x + broadcast[past](g)[past = i]",
    "renamed": "return pick(x, broadcast[past](g)[past as seq], i)",
    "what is prepared": "return x + broadcast[seq](mean[src](m))[seq = i]",
    "the first item": "return x + broadcast[seq](x[seq = 0])[seq = i]",
    "for the keys": "y = broadcast[past](g)[past = i[seq as past]]\n"
    " return dot[past](softmax[past](dot[d](x, x[seq as past]) where past <= seq), y)",
    "in a block": "return pick(x, broadcast[seq](g), i)",
    "by a block": "return pick(x, twice(broadcast[seq](g)), i)",
    "in a repeat": "y = broadcast[seq](g)\n repeat.r 3 {\n x = look.q[seq](x, y, i)\n }\n return x",
    "in one of two calls": "share h = look\n z = h[seq](x, broadcast[seq](g), i)\n"
    " return h[seq](z, z, max(seq - 1, 0))",
}


@pytest.mark.parametrize("body", SPREADS.values(), ids=SPREADS)
def test_any_item_of_what_is_the_same_for_all(body: str) -> None:
    """The index may be of an item that is still to come: there were not that many in the step, and it raised."""
    model = attnc.loads(SPREAD.replace("BODY", body)).model("f")
    check_steps(model, widths=(7, 3), seeds=(0, 1), dtypes=("float64",))
