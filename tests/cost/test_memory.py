"""Peak memory and what is saved for gradients, within 15 % of what torch holds (`measured.LiveBytes`, saved tensors).

The compiled modules run as the spec is written, in eager mode on the CPU: no fused attention, no dropout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import attnc

torch = pytest.importorskip("torch")

from tests.cost.measured import compiled, inputs, peak, saved  # noqa: E402
from tests.cost.test_flops import widths  # noqa: E402

ROOT = Path(__file__).parents[2]
ZOO = "examples/zoo"
SMALL: dict[str, Any] = dict(layers=2, vocab=500, model=128, inner=512, heads=4)
LLAMA: dict[str, Any] = dict(layers=2, vocab=500, model=256, inner=512, groups=2, sharing=2, key=64)
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "transformer": ("examples/transformer.attn", "transformer", {**SMALL, "drop": 0.0}),
    "gpt2": (f"{ZOO}/gpt2.attn", "gpt2", SMALL),
    "bert": (f"{ZOO}/bert.attn", "bert", SMALL),
    "bart": (f"{ZOO}/bart.attn", "bart", SMALL),
    "t5": (f"{ZOO}/t5.attn", "t5", SMALL),
    "vit": (f"{ZOO}/vit.attn", "vit", dict(layers=2, model=128, inner=512, heads=4)),
    "llama": (f"{ZOO}/llama.attn", "llama", LLAMA),
    "mixtral": (f"{ZOO}/mixtral.attn", "mixtral", LLAMA),
    "lstm": ("examples/attentions/lstm.attn", "lstm", {}),
    "convolution": ("examples/attentions/convolution.attn", "encoder", {}),
}
NEAR = 0.15


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("batch", "length"), [(1, 192), (3, 64)])
def test_memory(name: str, batch: int, length: int) -> None:
    path, which, sizes = CASES[name]
    model = attnc.load(ROOT / path, sizes=sizes).model(which)
    cost = model.cost(dict.fromkeys(widths(model), length), batch=batch)
    net, given = compiled(model, "cpu"), inputs(model, dict(cost.sizes), (batch,), "cpu")
    held, kept = peak(lambda: net(*given)), saved(net, given)
    print(f"{name}: peak {cost.peak.value / held:.3f} of {held:,}, saved {cost.saved.value / kept:.3f} of {kept:,}")
    assert cost.peak.value == pytest.approx(held, rel=NEAR)
    assert cost.saved.value == pytest.approx(kept, rel=NEAR)


def test_the_measurement() -> None:
    """What is measured: arrays alive at once, views free of charge, what is freed not counted."""

    def run() -> torch.Tensor:
        x = torch.ones(1000)  # 4 kB
        y = (x * 2).view(10, 100).T  # 8 kB
        del x
        return y + 1 + 2  # 12 kB at the most

    assert peak(run) == 12_000
