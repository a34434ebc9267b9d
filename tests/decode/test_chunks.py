"""Chunks and prefixes, decoded: random programs of them, step by step against the whole, and nothing made anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attnc

from .chunks import causal
from .steps import apart, each_steps, every, plain

LONGEST = 10


def check(model: attnc.Model, seed: int) -> None:
    """Nothing is made anew for all items; a prompt of n items and single steps are the first n of the whole on the next
    length that it takes.

    What comes behind n is another one than what then comes.
    """
    assert not model.decoding.at_once
    extents = {axis.name: axis.extent or 0 for axis in model.graph.axes}
    at, before = extents.get("at", 1), extents.get("mem", 0)
    draw = np.random.default_rng(seed)
    given, other = draw.standard_normal((2, 2, LONGEST + at, 3))
    for net in (model.numpy(seed=1, dtype="float64"), model.torch(seed=1, dtype=torch.float64).eval()):
        lift: Any = torch.as_tensor if isinstance(net, torch.nn.Module) else np.asarray
        for n in (3, 6, LONGEST - 1, LONGEST):
            upto = n + -(n + before) % at
            whole = every(net(lift(np.concatenate([given[:, :n], other[:, n:upto]], 1))))[0][:, :n]
            for prompt in {1, n // 2, n - 3, n} & {*range(1, n + 1)}:
                cache = net.prepare()
                parts = [(0, prompt), *((i, i + 1) for i in range(prompt, n))]
                found = [plain(net.step(lift(given[:, start:end]), cache)) for start, end in parts]
                assert apart(np.concatenate(found, 1), whole) < 1e-9, (type(net).__name__, n, prompt)


def run(seeds: range) -> int:
    """How many of these programs are causal."""
    return each_steps(causal(seeds), check)


def test_random() -> None:
    assert run(range(12)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("group", range(20))
def test_random_more(group: int) -> None:
    run(range(1000 + group * 25, 1000 + group * 25 + 25))


WRITES = """
width seq
width past like seq
width chunk = seq / at
width at = 4
width other like at
depth d = 8, vocab = 13
block roll(c: [at, d], h: [d]) -> (h: [d], out: [at, d]) {
    return tanh(0.5 * h + mean[at](c)), cumsum[at](c) + broadcast[at](h)
}
model net(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> d](ids)
    repeat.layers 2 {
        y = layernorm.a[d](x)
        weights = softmax[past](dot[d](y, y[seq as past]) where past <= seq)
        x = x + linear.w[d -> d](dot[past](weights, y[seq as past]))
        c = split[seq -> chunk, at](layernorm.b[d](x))
        within = softmax[other](dot[d](c, c[at as other]) where other <= at)
        x = x + merge[chunk, at -> seq](dot[other](within, c[at as other]))
        m = cumsum[chunk](linear.m[at, d -> d](c))
        over = softmax[chunk](dot[d](x, m) where chunk * |at| + |at| - 1 <= int(seq))
        x = x + dot[chunk](over, m)
        ROLL
    }
    return linear.o[d -> vocab](layernorm.last[d](x))
}
"""
ROLL = "_, h = scan[chunk] roll(c, h = 0)\n        x = x + merge[chunk, at -> seq](h)"
PREFIXED = """
width text
width seq = pic + text
width pic
width past like seq
depth d = 8, vocab = 13
model net(ids: vocab[text], picture: [pic, d]) -> [text, vocab] causal text {
    z = concat[pic, text -> seq](picture, embed.E[vocab -> d](ids))
    repeat.layers 2 {
        y = layernorm.a[d](z)
        seen = past < |pic| or (past <= seq and seq - past < 4)
        z = z + linear.w[d -> d](dot[past](softmax[past](dot[d](y, y[seq as past]) where seen), y[seq as past]))
        z = z + cumsum[seq](linear.c[d -> d](y)) * 0.1
    }
    return linear.o[d -> vocab](layernorm.last[d](z[seq = |pic| + int(text)]))
}
"""


def continued(net: Any, prompt: list[int], new: int, step: int, **given: Any) -> list[int]:
    """The likeliest items behind a prompt, by the whole model at lengths that it takes."""
    ids = [*prompt]
    for _ in range(new):
        row = [ids + [0] * (-len(ids) % step)]
        scores = net(ids=torch.tensor(row) if isinstance(net, torch.nn.Module) else np.array(row), **given)
        ids.append(int(scores[0, len(ids) - 1].argmax()))
    return ids[len(prompt) :]


def follow(model: attnc.Model, step: int, pictures: np.ndarray[Any, Any] | None) -> None:
    prompts = [[1, 2, 3], [4, 5, 6, 7, 8], [9], [3, 1, 4, 1]]
    for net in (model.torch(seed=3).eval(), model.numpy(seed=3)):
        is_torch = isinstance(net, torch.nn.Module)
        given = {} if pictures is None else {"picture": torch.as_tensor(pictures) if is_torch else pictures}
        right = [
            continued(net, prompt, 11, step, **{name: x[row : row + 1] for name, x in given.items()})
            for row, prompt in enumerate(prompts)
        ]
        assert len({item for row in right for item in row}) > 3
        found = [net.generate(prompts, 11, **given)]
        if is_torch:
            found.append(net.generate(prompts, 11, static=True, **given))
        for one in found:
            assert [[int(item) for item in row] for row in one] == right
        alone = {name: x[1] for name, x in given.items()}
        assert [int(item) for item in net.stream(prompts[1], 11, **alone)] == right[1]
        assert [int(item) for item in net.generate(prompts[1], 11, beams=1, **alone)] == right[1]


@pytest.mark.parametrize("roll", ["", ROLL], ids=["attends", "rolls"])
def test_a_model_of_chunks_writes(roll: str) -> None:
    model = attnc.loads(WRITES.replace("ROLL", roll)).model("net")
    assert not model.decoding.at_once
    follow(model, 4, None)


def test_a_model_with_a_prefix_writes() -> None:
    model = attnc.loads(PREFIXED).model("net")
    assert not model.decoding.at_once
    follow(model, 1, np.random.default_rng(0).standard_normal((4, 3, 8)).astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("text", [WRITES.replace("ROLL", ""), PREFIXED], ids=["chunks", "prefix"])
def test_programs_for_other_runtimes(text: str) -> None:
    net: Any = attnc.loads(text).model("net").torch(seed=3).eval()
    prompt = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    given = {"picture": torch.randn(2, 3, 8)} if text is PREFIXED else {}
    prepare, step = (program.module() for program in net.export_decoding(prompt, 32, **given))
    for items in (prompt, prompt[:, :3], prompt[:, :2]):
        once, count, kept = prepare(items, given)
        right = net.generate(items, 9, **given)
        for place in range(9):
            scores, count, kept = step(items, once, count, kept)
            items = scores[:, -1].argmax(-1, keepdim=True)
            assert torch.equal(items[:, 0], right[:, place])
