"""What a device holds in a step of training, part by part."""

from __future__ import annotations

import re
from dataclasses import dataclass

STATES = {"float64": 16, "float32": 8}
"""Bytes that an optimiser keeps for each weight: AdamW's two moments."""
HALF_STATES = 12  # of weights in half precision: the moments, and the weight, in float32
AHEAD = 2  # units whose weights are there at once: the one at work, and the next, which is gathered meanwhile
LOSS = 3  # float32 arrays of the size of the logits: log-probabilities, their gradient, that of the logits
LOSS_BY_PARTS = 4  # where devices have parts of the vocabulary: exponentials of the log-probabilities, too


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes that one device holds in a step of training.

    weights, gradients, optimiser: of which a device has what is not scattered over others (ZeRO).
    gathered:    weights that are scattered, while they are used: those outside of repeats, the pass at work and the
                 next; and the gradients of a pass until they are scattered (Zhao et al. 2023, section 3.2; PyTorch's
                 `fully_shard` with each pass of a repeat as a unit).
    activations: what is kept of the forward pass, of as many micro-batches as are on their way.
    again:       one pass, done again for its gradients.
    loss:        of results that are logits what cross-entropy makes of them in float32.

    All are added, though not all are largest at once: an allocator has a segment that is free for something smaller,
    not for something larger.
    """

    weights: int
    gradients: int
    optimiser: int
    gathered: int
    activations: int
    again: int
    loss: int

    @property
    def all(self) -> int:
        return (
            self.weights + self.gradients + self.optimiser + self.gathered
            + self.activations + self.again + self.loss
        )  # fmt: skip


def unit(path: str) -> str:
    """The unit in which a weight is gathered: a pass of the outermost repeat, or what is outside of these ("")."""
    found = re.match(r"(.*?\.[0-9]+)\.", path)
    return found[1] if found else ""
