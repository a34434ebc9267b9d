"""Attentions in chunks, of picks and behind prefixes, over a ragged width: what stands in the padding moves nothing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from tests.attentions.checking import EXAMPLES
from tests.attentions.test_decoded import CASES, drawn, part
from tests.decode.steps import apart, every, plain

NAMES = [*CASES, "recurrent_delta"]
OF_CHUNKS = (2, 1, 3, 2)  # lengths of the examples, in chunks


def ragged(name: str) -> tuple[attnc.Model, int, bool]:
    """The model, the items of a chunk, and whether its inputs are indices."""
    file, sizes, step = CASES["chunkwise_delta"] if name == "recurrent_delta" else CASES[name]
    text = (EXAMPLES / f"{file}.attn").read_text("utf-8")
    made = re.sub(r"^width ((?:patch, )?)(seq|target|text)$", r"width \1\2 ragged", text, flags=re.M)
    made = made.replace("width patch, text ragged", "width patch\nwidth text ragged")
    assert made != text
    return attnc.loads(made, base=EXAMPLES, sizes=sizes).model(name), step, name == "reads_a_picture"


class Batch:
    """Examples of several lengths in one array, each with other data in its padding by `junk`."""

    def __init__(self, name: str) -> None:
        self.model, step, self.indices = ragged(name)
        decoding = self.model.decoding
        assert decoding.time is not None and decoding.step is not None
        time = decoding.time.name
        self.lengths = [chunks * (step if step > 1 else 3) for chunks in OF_CHUNKS]
        (self.counts,) = (port.name for port in self.model.inputs if port.name.endswith("_lengths"))
        self.items = [str(item.name) for item in decoding.step.inputs]
        places = {p.name: p.axes.index(time) for p in self.model.inputs if time in p.axes}
        self.along = [axis.name for axis in self.model.graph.outputs[0].axes].index(time)
        self.places = {name: places[name] for name in self.items}
        whole = drawn(self.model, time, max(self.lengths), 0)
        whole.pop(self.counts)
        self.given = {key: np.concatenate([x, x[::-1] + (x.dtype.kind != "i")]) for key, x in whole.items()}

    def inputs(self, junk: float) -> dict[str, Any]:
        made = {name: x.copy() for name, x in self.given.items()}
        for name, place in self.places.items():
            for row, length in enumerate(self.lengths):
                behind = (row, *(slice(None),) * place, slice(length, None))
                made[name][behind] = (
                    int(junk) % 11 if self.indices and np.isfinite(junk) else 7 if self.indices else junk
                )
        return made | {self.counts: np.array(self.lengths)}

    def row(self, number: int) -> dict[str, Any]:
        length = self.lengths[number]
        found = {name: x[number : number + 1] for name, x in self.given.items()}
        cut = {name: part(found[name], place + 1, 0, length) for name, place in self.places.items()}
        return found | cut

    def net(self, backend: str) -> Any:
        if backend == "numpy":
            return self.model.numpy(seed=1, dtype="float64")
        return self.model.torch(seed=1, dtype=torch.float64).eval()


def lifted(backend: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return inputs if backend == "numpy" else {name: torch.as_tensor(x) for name, x in inputs.items()}


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("name", NAMES)
def test_padding_moves_nothing(name: str, backend: str) -> None:
    """Each example gives what it gives alone, and what its steps give: a prompt, and single items behind it."""
    batch = Batch(name)
    net, decoding = batch.net(backend), batch.model.decoding
    assert decoding.prepare is not None
    several = [plain(every(net(**lifted(backend, batch.inputs(junk))))[0]) for junk in (0.0, 7.5, np.nan)]
    assert all(np.array_equal(several[0], other) for other in several)
    for number, length in enumerate(batch.lengths):
        row = batch.row(number)
        found = part(several[0][number : number + 1], batch.along + 1, 0, length)
        alone = plain(every(net(**lifted(backend, row | {batch.counts: np.array([length])})))[0])
        assert apart(found, alone) < 1e-10
        prompt = length // 2 + 1
        cache = net.prepare(
            **lifted(backend, {str(item.name): row[str(item.name)] for item in decoding.prepare.inputs})
        )
        steps = []
        for start, end in [(0, prompt), *((i, i + 1) for i in range(prompt, length))]:
            piece = {name: part(row[name], batch.places[name] + 1, start, end) for name in batch.items}
            steps.append(plain(every(net.step(**lifted(backend, piece), cache=cache))[0]))
        assert apart(np.concatenate(steps, batch.along + 1), found) < 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_gradients_do_not_see_the_padding(name: str) -> None:
    batch = Batch(name)
    grads = []
    for junk in (0.0, 50.0):
        net = batch.net("torch")
        inputs = lifted("torch", batch.inputs(junk))
        reals = [x.requires_grad_() for x in inputs.values() if x.is_floating_point()]
        made = net(**inputs)
        (made[0] if isinstance(made, tuple) else made).square().sum().backward()
        known = [p.grad for p in net.parameters() if p.grad is not None]
        grads.append([*known, *(x.grad for x in reals)])
        assert all(torch.isfinite(grad).all() for grad in grads[-1])
        for name_, place in batch.places.items():
            grad = inputs[name_].grad
            for row, length in enumerate(batch.lengths):
                assert grad is None or not part(grad[row], place, length, grad.shape[place + 1]).any()
    for a, b in zip(*grads, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)
