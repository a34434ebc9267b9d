"""Every model of examples/zoo and examples/attentions at a tiny size, with inputs, and how it is decoded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import attnc

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BATCH = 2
LENGTHS = (64, 48, 56, 128, 192)  # the first that all derived widths allow

GROUPED = {"layers": 2, "model": 64, "inner": 96, "vocab": 97, "groups": 2, "sharing": 2, "key": 16}
PAIR = {"layers": 2, "model": 64, "vocab": 97, "heads": 4}
ZOO: Mapping[str, Mapping[str, Any]] = {
    "gpt2": PAIR,
    "decoder": GROUPED | {"windows": [16, 0], "qk_norms": 1},
    "llama": GROUPED,
    "mistral": GROUPED,
    "mixtral": {**GROUPED, "expert": 4},
    "t5": {**PAIR, "key": 16, "inner": 96},
    "marian": PAIR,
    "bart": PAIR,
    "bert": PAIR,
    "vit": {"layers": 2, "model": 64, "heads": 4, "label": 10, "high": 32, "wide": 32, "down": 8, "across": 8},
}
ATTENTIONS: Mapping[str, Mapping[str, Any]] = {  # those whose own sizes are large
    "additive": {"input": 32, "annotation": 48, "state": 32, "hidden": 24},
    "convolution": {"model": 64, "layers": 3},
    "perceiver": {"channels": 24, "latent": 64, "latents": 16, "blocks": 2, "layers": 2},
    "positions": {"model": 64, "vocab": 97},
}


@dataclass(frozen=True)
class Subject:
    """A model, and the sizes of its free widths. picks: it chooses items, so that rounding may change which."""

    file: str
    model: attnc.Model
    picks: bool

    @property
    def name(self) -> str:
        return f"{self.file}:{self.model.name}"

    @cached_property
    def sizes(self) -> dict[str, int]:
        graph = self.model.graph
        first: dict[int, str] = {}
        for axis in sorted(graph.axes, key=lambda axis: axis.id):
            first.setdefault(axis.family, axis.name)
        free = [
            a for a in graph.axes if a.is_width and a.extent is None and a.size is None and first[a.family] == a.name
        ]
        for length in LENGTHS:
            with contextlib.suppress(ValueError):
                return dict(self.model.cost({a.name: min(a.bound or length, length) for a in free}).sizes)
        raise ValueError(f"{self.name}: none of {LENGTHS} fits")

    def inputs(self, seed: int = 0) -> dict[str, Tensor]:
        """Those without a default, with batch axes: reals of float64, indices, and truth of which most holds."""
        draw = torch.Generator().manual_seed(seed)
        found: dict[str, Tensor] = {}
        for port in self.model.inputs:
            if port.optional:
                continue
            shape = (BATCH, *(self.sizes[axis] for axis in port.axes))
            if port.element == "real":
                x = torch.randn(shape, generator=draw, dtype=torch.float64)
            elif port.element == "bool":
                x = torch.rand(shape, generator=draw) < 0.8
            else:
                x = torch.randint(4 if port.element == "int" else self.sizes[port.element], shape, generator=draw)
            found[str(port.name)] = x
        return found

    @property
    def steps(self) -> bool:
        return self.model.decoding.step is not None

    def stepped(self, net: Any, given: Mapping[str, Tensor]) -> list[Tensor]:
        """The results of all steps, joined: of half of the items as a prompt, then of four single ones."""
        decoding = self.model.decoding
        assert decoding.step is not None and decoding.prepare is not None and decoding.step.stepped is not None
        new, tail = decoding.step.stepped.new, decoding.step.stepped.tail
        cache = net.prepare(**{item.name: given[item.name] for item in decoding.prepare.inputs if item.name in given})
        places = {
            item.name: next(i - len(axes) for i, axis in enumerate(axes) if axis.family == new)
            for item in decoding.step.inputs
            if item.name in given
            for axes in [item.value.type.axes]
        }
        total = next(given[name].shape[dim] for name, dim in places.items())
        parts: list[tuple[Tensor, ...]] = []
        at = 0
        for size in (total // 2, 1, 1, 1, 1):
            piece = {name: given[name].narrow(dim, at, size) for name, dim in places.items()}
            at += size
            found = net.step(**piece, cache=cache)
            parts.append(found if isinstance(found, tuple) else (found,))
        dims = [output.axes.index(tail) - len(output.axes) for output in decoding.step.outputs]
        return [torch.cat([part[n] for part in parts], dim) for n, dim in enumerate(dims)]

    def first(self, result: Any) -> list[Tensor]:
        """Of all at once what `stepped` gives."""
        decoding = self.model.decoding
        assert decoding.step is not None and decoding.step.stepped is not None
        parts = result if isinstance(result, tuple) else (result,)
        outputs = zip(self.model.graph.outputs, parts, strict=True)
        parts = [part for output, part in outputs if (output.name or "result") not in decoding.left_out]
        tail = decoding.step.stepped.tail
        dims = [output.axes.index(tail) - len(output.axes) for output in decoding.step.outputs]
        return [x.narrow(dim, 0, x.shape[dim] // 2 + 4) for x, dim in zip(parts, dims, strict=True)]


def subjects(folder: str = "") -> Iterator[Subject]:
    """folder: "zoo" or "attentions" alone."""
    for each in [folder] if folder else ["zoo", "attentions"]:
        for path in sorted((EXAMPLES / each).glob("*.attn")):
            spec = attnc.load(path, sizes=(ZOO if each == "zoo" else ATTENTIONS).get(path.stem, {}))
            for name in spec.models:
                model = spec.model(name)
                source = model.source("torch")
                yield Subject(path.stem, model, any(word in source for word in ("topk", "sort(", "argmax")))
