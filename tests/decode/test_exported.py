"""`prepare` and `step` as programs of torch.export, and as ONNX: token by token what `generate` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import attnc

ROOT = Path(__file__).parents[2]
SMALL = {"layers": 2, "model": 32, "vocab": 50}
SOURCE = {
    "source_ids": torch.tensor([[2, 7, 1, 8, 2], [8, 1, 8, 2, 8]]),
    "real": torch.tensor([[True] * 5, [True, True, True, False, False]]),
}
PROMPT = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
ROOM, NEW = 24, 7
STATES = """
width seq
depth model = 6, vocab = 50

block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(linear.x[model -> model](x) + linear.h[model -> model](h))
}

model rnn(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param start: [model] ~ normal(0.5)
    x = embed.E[vocab -> model](ids)
    h = scan[seq] cell(x, h = start)
    return linear.scores[model -> vocab](h + cumsum[seq](x))
}
"""
Call = Callable[..., Any]


def build(name: str) -> nn.Module:
    zoo = ROOT / "examples" / "zoo"
    if name == "gpt":
        model = attnc.load(ROOT / "bench" / "speed" / "gpt.attn", sizes={**SMALL, "heads": 2}).model("gpt")
    elif name == "transformer":
        model = attnc.load(ROOT / "examples" / "transformer.attn", config="tiny").model(name)
    else:
        model = attnc.load(
            zoo / f"{name}.attn", sizes={**SMALL, "groups": 2, "sharing": 2, "key": 8, "inner": 48}
        ).model(name)
    return model.torch(seed=1).eval()


def inputs_of(name: str, rows: int, longer: int = 1) -> dict[str, Tensor]:
    if name != "transformer":
        return {}
    return {key: torch.cat([x] * rows)[:rows].repeat(1, longer) for key, x in SOURCE.items()}


def greedy(prepare: Call, step: Call, prompt: Tensor, inputs: Mapping[str, Tensor], new: int) -> Tensor:
    """The prompt at once, then its continuation item by item, by the two programs alone."""
    once, count, kept = prepare(prompt, inputs)
    assert int(count) == 0 and not any(bool(x.any()) for x in kept.values())  # the prompt is the first step
    items, found = prompt, []
    for _ in range(new):
        scores, count, kept = step(items, once, count, kept)
        items = scores[:, -1].argmax(-1, keepdim=True)
        found.append(items)
    assert int(count) == prompt.shape[1] + new - 1
    return torch.cat(found, 1)


def follow_generate(net: Any, name: str, prepare: Call, step: Call) -> None:
    """Of the example's batch and length, and of others."""
    for prompt, longer in ((PROMPT, 1), (torch.tensor([[1, 2], [3, 4], [5, 6]]), 2), (PROMPT.repeat(3, 2), 3)):
        inputs = inputs_of(name, len(prompt), longer)
        found = greedy(prepare, step, prompt, inputs, NEW)
        assert torch.equal(found, net.generate(prompt, NEW, **inputs))


MODELS = [
    "gpt",
    "llama",
    pytest.param("transformer", marks=pytest.mark.slow),
    pytest.param("mistral", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", MODELS)
def test_programs_follow_generate(name: str) -> None:
    net: Any = build(name)
    prepare, step = net.export_decoding(PROMPT, ROOM, **inputs_of(name, 2))
    follow_generate(net, name, prepare.module(), step.module())


def test_nothing_given_is_changed() -> None:
    net: Any = build("gpt")
    prepare, step = (program.module() for program in net.export_decoding(PROMPT, ROOM))
    once, count, kept = prepare(PROMPT, {})
    before = {name: x.clone() for name, x in kept.items()}
    _, later, changed = step(PROMPT, once, count, kept)
    assert int(count) == 0 and int(later) == PROMPT.shape[1] and once == {}
    assert sorted(kept) == sorted(changed) == [f"layers.{i}.self.{part}" for i in range(2) for part in "KV"]
    for name, x in kept.items():
        assert torch.equal(x, before[name]) and not torch.equal(x, changed[name])


def test_states_go_on_item_by_item() -> None:
    """The steps of a scan are written out, so that its program takes as many items as the example has."""
    net: Any = attnc.loads(STATES).model("rnn").torch(seed=1).eval()
    prepare, step = (program.module() for program in net.export_decoding(PROMPT[:, :1], ROOM))
    for prompt in (PROMPT, PROMPT.repeat(2, 2)):
        items, found = prompt[:, :1], []
        once, count, kept = prepare(items, {})
        for place in range(prompt.shape[1] + NEW - 1):
            scores, count, kept = step(items, once, count, kept)
            known = place + 1 < prompt.shape[1]
            items = prompt[:, place + 1 : place + 2] if known else scores[:, -1].argmax(-1, keepdim=True)
            found += [] if known else [items]
        assert torch.equal(torch.cat(found, 1), net.generate(prompt, NEW))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the exporter
@pytest.mark.parametrize("name", ["gpt", "llama", "transformer", "mistral"])
def test_onnx_follows_generate(name: str, tmp_path: Path) -> None:
    """In onnxruntime: of a program, results go to the next call in the order in which it takes them."""
    pytest.importorskip("onnxscript", reason='needs onnxscript: pip install ".[interop]"')
    runtime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install ".[interop]"')
    net: Any = build(name)
    sessions = []
    for place, program in enumerate(net.export_decoding(PROMPT, ROOM, **inputs_of(name, 2))):
        file = str(tmp_path / f"{place}.onnx")
        torch.onnx.export(program, (), file, dynamo=True, verbose=False)
        sessions.append(runtime.InferenceSession(file))
    first, later = sessions

    def run(session: Any, given: list[Tensor]) -> list[Tensor]:
        named = {item.name: x.numpy() for item, x in zip(session.get_inputs(), given, strict=True)}
        return [torch.from_numpy(x) for x in session.run(None, named)]

    assert len(later.get_inputs()) == 1 + len(first.get_outputs())  # the items, and all that is prepared

    def prepare(items: Tensor, inputs: Mapping[str, Tensor]) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        made = run(first, [items, *inputs.values()])
        count = next(place for place, x in enumerate(made) if x.dtype == torch.int64 and x.shape == (1,))
        return made[:count], made[count], made[count + 1 :]

    def step(
        items: Tensor, once: list[Tensor], count: Tensor, kept: list[Tensor]
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        scores, count, *kept = run(later, [items, *once, count, *kept])
        return scores, count, kept

    follow_generate(net, name, prepare, step)
