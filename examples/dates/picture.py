"""The picture of cross-attention: which German characters each English character looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import attnc
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

from .data import BEGIN, Dates

PATH = "decode.layers.1.cross.weights"  # of the last layer


@dataclass(frozen=True, slots=True)
class Look:
    """One translation and what each of its characters looked at. weights: [heads, target, source]; rows sum to one.

    The last row is that of the END, which is written too.
    """

    german: str
    english: str
    weights: np.ndarray


def look(spec: attnc.Spec, module: nn.Module, dates: Dates, german: str, english: str) -> Look:
    """Run the model once over a translation, with the weights of the last cross-attention captured."""
    watched = spec.model("translate").torch(weights=module.state_dict(), capture=(PATH,)).eval()
    source_ids = torch.tensor([dates.read(german)])
    target_ids = torch.tensor([[BEGIN, *dates.english.encode(english)]])
    with torch.inference_mode():
        _, captured = watched(source_ids, target_ids, torch.ones_like(source_ids, dtype=torch.bool))
    value, axes = captured[PATH].value[0].numpy(), tuple(captured[PATH].axes)
    return Look(german, english, value.transpose([axes.index(name) for name in ("heads", "target", "source")]))


def draw(looks: Sequence[Look]) -> Figure:
    """A column for each translation: the mean over the heads above, each head below."""
    heads = looks[0].weights.shape[0]
    widths = [len(shown.german) + 6 for shown in looks]
    figure = Figure(figsize=(0.22 * sum(widths) + 1, 10.5), layout="constrained")
    figure.suptitle("Cross-attention, last layer: which German characters each English character looked at")
    for column, shown in zip(figure.subfigures(1, len(looks), width_ratios=widths), looks, strict=True):
        grid = column.add_gridspec(2, heads, height_ratios=(3, 1))
        mean = column.add_subplot(grid[0, :])
        mean.imshow(shown.weights.mean(axis=0), cmap="Blues", vmin=0, vmax=1, aspect="auto")
        mean.set_title(f"mean of {heads} heads", fontsize=9)
        mean.set_xticks(range(len(shown.german)), _visible(shown.german), family="monospace")
        mean.set_yticks(range(len(shown.english) + 1), [*_visible(shown.english), "end"], family="monospace")
        mean.tick_params(length=0, labelsize=9)
        mean.xaxis.tick_top()
        for head in range(heads):
            small = column.add_subplot(grid[1, head])
            small.imshow(shown.weights[head], cmap="Blues", vmin=0, vmax=1, aspect="auto")
            small.set_title(f"head {head + 1}", fontsize=8)
            small.set_xticks([])
            small.set_yticks([])
    return figure


def _visible(text: str) -> list[str]:
    """The characters, a space as an open box, or it would be no label at all."""
    return ["␣" if character == " " else character for character in text]
