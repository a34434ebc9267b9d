"""The table of passes: names, order, and the ways to leave one out."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc
from attnc.cli.main import main
from attnc.compiler.pipeline import NAMES, PASSES, passes_without
from tests.backends.written import written

SPEC = """\
use std.attention: multihead, model, heads
use std.positions: rotary
use std.experts: experts
width seq
width past like seq
depth model = 8, heads = 2, vocab = 5
const layers = 2
depth other like model
block gated(x: [model], h: [model]) -> (h: [model]) {
    return sin(linear.x[model -> model](x) + h)
}
block plain(x: [model], h: [model]) -> (h: [model]) {
    return tanh(linear.x[model -> model](x) + linear.h[model -> model](h))
}
block sums(x: [model], S: [model, other]) -> (S: [model, other], out: [model]) {
    S = S / 2 + x * x[model as other]
    return S, dot[other](x[model as other], S)
}
model net(ids: vocab[seq], next: vocab[seq], near: bool[past, seq]) -> [] {
    param E: [vocab, model]
    x = E[vocab = ids] * 2 * 3
    x = select(seq > 0, sqrt(x), x)
    x = scan[seq] gated(x, h = 0) + scan[seq] plain(x, h = 0)
    _, y = scan[seq] sums(select(x > 0, x + 1, exp(x)), S = 0)
    x = x + dot[model](x, cumsum[seq](x * y[model as other]))[other as model]
    repeat i in layers {
        x = x + multihead.all[seq, past](x, x[seq as past], near)
        seen = i % 2 == 1 or seq - past < 3
        x = x + multihead.self[seq, past](rotary[seq, model](x), x[seq as past], seen and past <= seq)
    }
    x = experts[model = model, inner = 4, expert = 3, chosen = 2](x)
    return mean[seq](cross_entropy[vocab](dot[model](x, E), next))
}
"""
CAUSAL = """\
use std.attention: multihead, model, heads
use std.positions: sinusoid
width seq
width past like seq
depth model = 8, heads = 2, vocab = 5
model net(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids) + sinusoid[seq, model]()
    x = x + multihead.self[seq, past](x, x[seq as past], past <= seq)
    return linear.scores[model -> vocab](x)
}
"""
OF_STEPS = ("unmask", "tabulate", "join_maps")


def test_each_pass_changes_a_model_and_says_where() -> None:
    model, decoder = attnc.loads(SPEC).model("net"), attnc.loads(CAUSAL).model("net")
    report = model.explain()
    assert [change.rewrite for change in report.changes] == [name for name in NAMES if name not in OF_STEPS]
    for change in report.changes:
        assert change.what.partition(": ")[2], f"{change.rewrite} does not say where"
    assert "step: join_maps: 1 product of several maps in a step: self" in decoder.explain().decoding
    assert "step: unmask: 1 mask not made for one new item: net" in decoder.explain().decoding
    assert "step: tabulate: 1 table of places (PyTorch): sinusoid" in decoder.explain().decoding
    for name in NAMES:
        one = decoder if name in OF_STEPS else model
        assert written(one, "torch", [name]) != written(one, "torch"), name
        (left_out,) = (change for change in model.explain(without=[name]).changes if change.rewrite == name)
        assert left_out.what == "left out"


def test_names_are_distinct_and_described() -> None:
    assert len(set(NAMES)) == len(PASSES)
    assert all(one.about and one.about[0].islower() and not one.about.endswith(".") for one in PASSES)


def test_unknown_names() -> None:
    model = attnc.loads(SPEC).model("net")
    for call in (lambda: model.source("torch", without=["spend_logit"]), lambda: passes_without(["spend_logit"])):
        with pytest.raises(ValueError, match=r"no pass `spend_logit` \(did you mean `spend_logits`\?\); .* split_"):
            call()
    with pytest.raises(ValueError, match="no pass `zzz`; the passes are split_passes"):
        model.numpy(without=["merge", "zzz"])
    with pytest.raises(TypeError, match=r"such as \['spend_logits'\], not one"):
        model.torch(without="spend_logits")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.attn"
    file.write_text(SPEC)
    assert main(["compile", str(file), "--to", "torch", "--without", "spend_logits", "--without", "place_masks"]) == 0
    code = capsys.readouterr().out
    assert "F.cross_entropy" in code
    assert "masked_attention" not in code
    assert main(["compile", str(file), "--explain", "--without", "spend_logits"]) == 0
    assert "spend_logits: left out" in capsys.readouterr().out
    assert main(["compile", str(file), "--to", "numpy", "--without", "logits"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert all(name in message for name in NAMES)
    assert main(["compile", "-h"]) == 0
    help = " ".join(capsys.readouterr().out.split())
    assert all(name in help for name in NAMES)


def test_a_number_of_a_mask_is_shown_as_the_spec_has_it() -> None:
    text = """\
width q
width k like q
depth h = 2, d = 4, m = 8
block att(x: [q, m], mask: bool[q, k]) -> [q, m] {
    Q = linear[m -> h, d](x)
    K = linear[m -> h, d](x)
    return linear.O[h, d -> m](dot[k](softmax[k](dot[d](Q, K[q as k]) where mask), K[q as k]))
}
const layers = 4
model f(x: [q, m]) -> [q, m] {
    repeat i in layers shared {
        x = x + att(x, k <= q and (i % 2 == 1 or q - k < 3))
    }
    return x
}
"""
    (one,) = attnc.loads(text).model("f").explain().attended
    assert one.sees == "causal and (switch `(i % 2) == 1` or band .. 2)"


def test_decoding_is_told() -> None:
    first, *lines = attnc.loads(CAUSAL).model("net").explain().decoding
    assert first == "net decodes along seq; `generate` takes `ids`"
    assert any("all items" in line for line in lines)
    assert "step: fuse_attention: 1 attention fused: self.attend" in lines
    assert "not declared causal" in attnc.loads(SPEC).model("net").explain().decoding[0]
