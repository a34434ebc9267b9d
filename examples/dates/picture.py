"""The picture of cross-attention: which German characters each English character looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

import attnc

from .data import BEGIN, END, Dates
from .evaluate import greedy
from .train import from_torch

WATCHED = "decode.layers.1.cross.weights"  # of the last layer


@dataclass(frozen=True, slots=True)
class Look:
    """A translation, and what each of its characters looked at. weights: [heads, target, source]; rows sum to one."""

    german: tuple[str, ...]
    english: tuple[str, ...]
    weights: np.ndarray


def look(spec: attnc.Spec, module: nn.Module, dates: Dates, german: str) -> Look:
    """Translate, then run once over the translation with the weights of the last cross-attention captured."""
    source_ids = np.array([dates.read(german)], dtype=np.int64)
    decoded = greedy(from_torch(module), source_ids)
    written = decoded.ids[decoded.counts].tolist()
    english = [*_visible(dates.english.decode(written)), *(["end"] if END in written else [])]

    watched = spec.model("translate").torch(weights=module.state_dict(), capture=(WATCHED,)).eval()
    fed = torch.tensor([[BEGIN, *written[:-1]]])  # from what stands before it, each place writes the next
    sources = torch.from_numpy(source_ids)
    with torch.inference_mode():
        _, captured = watched(sources, fed, torch.ones_like(sources, dtype=torch.bool))
    seen = captured[WATCHED]
    order = [tuple(seen.axes).index(name) for name in ("heads", "q", "k")]  # so `attend` calls target and source
    return Look(tuple(_visible(german)), tuple(english), seen.value[0].numpy().transpose(order))


def draw(looks: Sequence[Look]) -> Figure:
    """A column for each translation: the mean over the heads above, each head below."""
    heads = looks[0].weights.shape[0]
    widths = [len(shown.german) + 6 for shown in looks]
    figure = Figure(figsize=(0.24 * sum(widths) + 1, 10.5), layout="constrained")
    figure.suptitle("Cross-attention of the last layer: which German characters each English character looked at")
    columns = figure.subfigures(1, len(looks), width_ratios=widths, squeeze=False)[0]
    for column, shown in zip(columns, looks, strict=True):
        grid = column.add_gridspec(2, heads, height_ratios=(3, 1))
        mean = column.add_subplot(grid[0, :])
        heat = mean.imshow(shown.weights.mean(axis=0), cmap="Blues", vmin=0, vmax=1, aspect="auto")
        mean.set_title(f"mean of {heads} heads", fontsize=9)
        mean.set_xticks(range(len(shown.german)), shown.german, family="monospace")
        mean.set_yticks(range(len(shown.english)), shown.english, family="monospace")
        mean.tick_params(length=0, labelsize=9)
        mean.xaxis.tick_top()
        for head in range(heads):
            small = column.add_subplot(grid[1, head])
            small.imshow(shown.weights[head], cmap="Blues", vmin=0, vmax=1, aspect="auto")
            small.set_title(f"head {head + 1}", fontsize=8)
            small.set_xticks([])
            small.set_yticks([])
    column.colorbar(heat, ax=mean, label="weight; each row sums to one")
    return figure


def _visible(text: str) -> list[str]:
    """The characters, a space as an open box, or it would be no label at all."""
    return ["␣" if character == " " else character for character in text]
