"""What scans and running sums take as they are computed: whole models, against torch's own counter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import attnc
from attnc.cli import main

torch = pytest.importorskip("torch")

from tests.cost.measured import compiled, forward_and_backward, inputs  # noqa: E402
from tests.recurrent.programs import program  # noqa: E402

ATTENTIONS = Path(__file__).parents[2] / "examples/attentions"
WAYS = {
    ("linear_attention", "causal_sum"): [("", "in chunks of 64")],
    ("linear_attention", "recurrent"): [("step", "in chunks of 64")],
    ("retention", "parallel"): [("", "in chunks of 64")],
    ("retention", "recurrent_retention"): [("step", "in chunks of 64")],
    ("retention", "chunkwise"): [("chunk.within", "in chunks of 64"), ("chunk.S", "number by number")],
    ("selective_scan", "selective_scan"): [("step.h", "number by number")],
    ("gated_delta", "recurrent_delta"): [("step", "in chunks of 32")],
    ("gated_delta", "chunkwise_delta"): [("chunked", "item by item")],
    ("lstm", "lstm"): [("cell", "by PyTorch's kernel")],
    ("gru", "gru"): [("cell", "by PyTorch's kernel")],
    ("rnn", "rnn"): [("cell", "by PyTorch's kernel")],
    ("additive", "search"): [("word", "item by item")],
}


def check(model: attnc.Model, sizes: dict[str, int], what: object) -> None:
    found = model.cost(sizes, batch=2)
    told = found.lowered or found
    net = compiled(model, fused=True)
    forward, backward = forward_and_backward(net, inputs(model, dict(found.sizes), (2,)))
    assert (told.flops, 2 * told.backward.value) == (forward, backward), what


SIZES = {
    "linear_attention": {"target": 65},
    "retention": {"target": 128},
    "selective_scan": {"words": 20},
    "gated_delta": {"seq": 128},
    "additive": {"target": 6, "source": 5},
}
FAST = ("causal_sum", "recurrent_delta", "gru")


@pytest.mark.parametrize(
    ("file", "name"), [pytest.param(*way, marks=() if way[1] in FAST else pytest.mark.slow) for way in WAYS]
)
def test_examples(file: str, name: str) -> None:
    model, sizes = attnc.load(ATTENTIONS / f"{file}.attn").model(name), SIZES.get(file, {"words": 3})
    found = model.cost(sizes).lowered
    assert found is not None and list(found.ways) == WAYS[file, name]
    check(model, sizes, sizes)


def random_program(seed: int) -> None:
    text = program(seed)[0].replace("key = 1", "key = 2")  # torch multiplies by one number without a count
    check(attnc.loads(text).model("net"), {"seq": [1, 3, 16, 40, 70, 130][seed % 6]}, seed)


def test_random_programs() -> None:
    for seed in range(3):
        random_program(seed)


@pytest.mark.slow
def test_more_random_programs() -> None:
    for seed in range(3, 500):
        random_program(seed)


LINES = """
as computed by PyTorch: step in chunks of 64
multiply-adds     69,632  = 128 ceil(n / 64) (32 d + 32 e + d e)
other operations   8,736  = ceil(n / 64) (4096 + 64 e + d e)
estimated: 49 µs, as written 2.1 ms: as computed is cheaper
"""


def test_the_command_says_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scan as it is written, and as it is computed; of what is computed as written nothing more is said."""
    spec = tmp_path / "net.attn"
    spec.write_text(
        "width n = 128\ndepth d = 4, e = 4\n"
        "block step(k: [d], v: [e], S: [d, e]) -> (S: [d, e], y: [e]) {\n"
        "    S = S + k * v\n    return S, dot[d](k, S)\n}\n"
        "model net(k: [n, d], v: [n, e]) -> [n, e] {\n    _, y = scan[n] step(k, v, S = 0)\n    return y\n}\n"
        "model plain(k: [n, d]) -> [n, d] {\n    return exp(k)\n}\n"
    )
    assert main(["cost", f"{spec}:net"]) == 0
    assert LINES in capsys.readouterr().out
    assert main(["cost", f"{spec}:net", "--json"]) == 0
    computed = json.loads(capsys.readouterr().out)["computed"]
    assert computed["ways"] == [{"path": "step", "how": "in chunks of 64"}]
    assert computed["multiply_adds"]["value"] == 2 * (2 * 64 * 4 * 4 + 2 * 64 * 64 * 4)
    assert main(["cost", f"{spec}:plain", "--json"]) == 0
    assert "computed" not in json.loads(capsys.readouterr().out)
    assert attnc.load(spec).model("plain").cost().lowered is None
