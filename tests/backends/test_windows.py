"""A decoder with a list of windows, local and global layers in turn, against plain PyTorch: whole, and step by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import attnc
from tests.decode.steps import check_steps

SPEC = """
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 16, heads = 2, vocab = 11
const windows = [0, 4, 2], gains = [1, 0.5, 0.25]

model decoder(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids)
    REPEAT
        seen = layernorm[model](x)
        mask = past <= seq and (WINDOW == 0 or seq - past < WINDOW)
        x = x + gains[NUMBER % |gains|] * multihead[seq, past](seen, seen[seq as past], mask = mask)
    }
    return linear.out[model -> vocab](x)
}
"""
FORMS = {
    "numbered": ("repeat.windows i in 3 {", "windows[i]", "i"),
    "counted": ("repeat i in |windows| {", "windows[i]", "i"),
    "over the list": ("repeat window in windows {", "window", "|windows|"),
    "shared": ("repeat window in windows shared {", "window", "|windows|"),
}


def spec_of(form: str) -> str:
    head, window, number = FORMS[form]
    return SPEC.replace("REPEAT", head).replace("WINDOW", window).replace("NUMBER", number)


def plain(w: dict[str, Tensor], ids: Tensor, windows: list[int], form: str) -> Tensor:
    x, here = w["E.weight"][ids], torch.arange(ids.shape[-1], device=ids.device)
    near = here[:, None] - here
    for i, window in enumerate(windows):
        at = "windows." if form == "shared" else f"windows.{i}."
        gain = [1, 0.5, 0.25][(i if form in ("numbered", "counted") else len(windows)) % 3]
        seen = F.layer_norm(x, x.shape[-1:], w[at + "seen.weight"], w[at + "seen.bias"])
        q, k, v = (
            F.linear(seen, w[f"{at}multihead.{name}.weight"]).unflatten(-1, (2, 8)).transpose(1, 2) for name in "QKV"
        )
        mask = (near >= 0) & ((near < window) if window else near >= 0)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(-2)
        x = x + gain * F.linear(mixed, w[at + "multihead.O.weight"])
    return F.linear(x, w["out.weight"], w["out.bias"])


@pytest.mark.parametrize("windows", [[0, 4, 2], [1, 0, 3]])
@pytest.mark.parametrize("form", FORMS)
def test_windows_are_those_of_the_list(form: str, windows: list[int]) -> None:
    sizes = {} if windows == [0, 4, 2] else {"windows": windows}
    model = attnc.loads(spec_of(form), sizes=sizes).model("decoder")
    net, ids = model.torch().double(), torch.randint(0, 11, (2, 9))
    right = plain(dict(net.state_dict()), ids, windows, form)
    torch.testing.assert_close(net(ids), right, rtol=0, atol=1e-12)
    function = model.numpy({name: weight.numpy() for name, weight in net.state_dict().items()})
    np.testing.assert_allclose(function(ids.numpy()), right.detach().numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("windows", [(5,), (3, 0, 2, 1, 0, 3)])
def test_as_many_layers_as_numbers(windows: tuple[int, ...]) -> None:
    model = attnc.loads(spec_of("over the list"), sizes={"windows": windows}).model("decoder")
    net, ids = model.torch().double(), torch.randint(0, 11, (2, 9))
    right = plain(dict(net.state_dict()), ids, [*windows], "over the list")
    torch.testing.assert_close(net(ids), right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", ["counted", "over the list"])
def test_steps_with_windows(form: str) -> None:
    check_steps(attnc.loads(spec_of(form)).model("decoder"), seeds=(0,))


def test_the_code_reads_the_list() -> None:
    text = attnc.loads(spec_of("counted")).model("decoder").source("numpy")
    assert "windows: tuple[int, ...] = (0, 4, 2)" in text and "gains: tuple[float, ...] = (1.0, 0.5, 0.25)" in text
    assert "windows[i]" in text and "gains[i % len(gains)]" in text
