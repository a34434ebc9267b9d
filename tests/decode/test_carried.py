"""What a repeat carries beside the stream: weights, numbers, encodings; in the step, or made once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc

from .steps import check_steps

HEADER = "width seq, other\ndepth d = 2\nmodel net(x: [seq, d], y: [other, d]) -> [seq, d] causal seq {\n"
LOOP = "    repeat.r 2 shared {\n        x = tanh(x)USE\n        z = NEXT\n    }\n    return x END\n}\n"
# Where it begins, how a pass makes the next one, how the stream reads it.
CARRIED = {
    "weights": ("w * 1", "z * 2", "{}"),
    "a number": ("1.5", "z * 2", "{}"),
    "data": ("mean[other](y)", "w * z", "broadcast[seq]({})"),
    "data of a width": ("y", "tanh(z)", "broadcast[seq](mean[other]({}))"),
    "made anew": ("y", "y + w", "broadcast[seq](mean[other]({}))"),
    "positions": ("sin(seq / 3)", "z * 2", "{}"),
}
READS = {"in each pass": (" + {}", ""), "at the end": ("", " + {}"), "both": (" + {}", " * {}"), "nowhere": ("", "")}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("carried", CARRIED)
def test_what_is_carried_beside_the_stream(carried: str, reads: str) -> None:
    first, following, read = CARRIED[carried]
    use, end = (text.format(read.format("z")) for text in READS[reads])
    loop = LOOP.replace("USE", use).replace("NEXT", following).replace("END", end)
    model = attnc.loads(f"{HEADER}    param w: [d]\n    z = {first}\n{loop}").model("net")
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(2, 4, 2)), draw.normal(size=(2, 3, 2))
    run = model.numpy(seed=0, dtype="float64")
    net = model.torch(seed=0, dtype=torch.float64)
    whole = run(x, y)
    with torch.no_grad():
        np.testing.assert_allclose(net(torch.as_tensor(x), torch.as_tensor(y)), whole, atol=1e-12)
        cache, again = run.prepare(y=y), net.prepare(y=torch.as_tensor(y))
        for start, stop in ((0, 1), (1, 3), (3, 4)):
            part, want = x[:, start:stop], whole[:, start:stop]
            np.testing.assert_allclose(run.step(part, cache), want, atol=1e-12)
            np.testing.assert_allclose(net.step(torch.as_tensor(part), again), want, atol=1e-12)


def test_a_call_of_which_the_step_wants_a_table_alone() -> None:
    """It is the same in every pass, but has its module in the pass: `forward` makes the other result there."""
    text = (
        "width seq\nwidth past like seq\n"
        "block two[t: width, s: width like t](x: [t], p: [t]) -> (a: [t], b: [t]) {\n"
        "    return sum[s](broadcast[t](x[t as s]) where s <= t), sum[s](broadcast[t](p[t as s]) where s <= t)\n}\n"
        "model net(x: [seq]) -> [seq] causal seq {\n    z = x\n    repeat.r 3 {\n"
        "        unread, z = two[seq, past](z * 2, sin(seq))\n    }\n    return x + z\n}\n"
    )
    check_steps(attnc.loads(text).model("net"), dtypes=("float64",))


def test_a_state_of_a_number_goes_on_with_its_axes() -> None:
    text = (
        "width seq\ndepth m = 3, h = 2\n"
        "block cell(x: bool[m, h], y: [m]) -> (x: bool[h, m]) {\n    return broadcast[h, m](true)\n}\n"
        "model net(y: [seq, m]) -> bool[seq, m, h] causal seq {\n"
        "    return scan[seq] cell(x = broadcast[h](broadcast[m](true)), y = y)\n}\n"
    )
    check_steps(attnc.loads(text).model("net"), dtypes=("float64",))
