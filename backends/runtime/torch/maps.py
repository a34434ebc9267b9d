"""Learned maps of few rows in generated PyTorch code."""

import weakref
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW = 16  # rows up to which weights so laid out are faster, on a CPU


class Laid(NamedTuple):
    """The weights of some maps side by side, [out, in] by shape, with their biases and how many results each has."""

    weight: Tensor
    bias: Tensor | None
    sizes: list[int]


class Layouts:
    """Weights laid out once and used until they change, whichever way: the copies live as long as the weights do."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, ...], tuple[list[tuple[int, int, int, int]], Laid]] = {}

    def of(self, weights: list[Tensor], biases: list[Tensor | None]) -> Laid:
        given = [*weights, *(bias for bias in biases if bias is not None)]
        key = tuple(map(id, given))
        marks = [mark(x) for x in given]
        if key not in self.known or self.known[key][0] != marks:
            if key not in self.known:
                for x in given:
                    weakref.finalize(x, self.known.pop, key, None)
            self.known[key] = marks, lay_out(weights, biases)
        return self.known[key][1]


LAYOUTS = Layouts()


def mark(x: Tensor) -> tuple[int, int, int, int]:
    """What tells whether a weight is still the same: where it lies, how often it was changed, and what is in it.

    A change by way of `x.data` is not counted. Then the sum of the bits is another, or, where signs changed or items
    have changed places, a product with a vector is.
    """
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    changes, x = 0 if x.is_inference() else x._version, x.detach()
    product = x * torch.arange(1, len(x) + 1) if x.dim() == 1 else x @ torch.arange(x.shape[1]).sin().to(x.dtype)
    return x.data_ptr(), changes, int(x.view(whole).sum(dtype=whole)), hash(product.view(whole).numpy().tobytes())


def lay_out(weights: list[Tensor], biases: list[Tensor | None]) -> Laid:
    """Fewer results than operands are best made of [out, in] in memory, else of [in, out]."""
    weight = weights[0].detach() if len(weights) == 1 else torch.cat([w.detach() for w in weights])
    if weight.shape[0] >= weight.shape[1]:
        weight = weight.T.contiguous().T
    bias = None
    if any(b is not None for b in biases):
        pairs = zip(weights, biases, strict=True)
        bias = torch.cat([w.new_zeros(len(w)) if b is None else b.detach() for w, b in pairs])
    return Laid(weight, bias, [len(w) for w in weights])


def laid_out(parts: tuple[nn.Module | Tensor, ...]) -> Laid | None:
    """The weights of maps laid out; None where one of them is not what it was: it has hooks, or other code, or its
    weights are tensors of another class (quantized, sharded), which alone know how to multiply.
    """
    weights: list[Tensor] = []
    biases: list[Tensor | None] = []
    for part in parts:
        if isinstance(part, Tensor):
            weights.append(part)
            biases.append(None)
        elif type(part) is nn.Linear and not (
            part._forward_hooks or part._forward_pre_hooks or "forward" in vars(part)
        ):
            weights.append(part.weight)
            biases.append(part.bias)
        else:
            return None
    if not all(
        type(x) in (Tensor, nn.Parameter) and x.element_size() > 1 for x in (*weights, *biases) if x is not None
    ):
        return None
    return LAYOUTS.of(weights, biases)


def map_each(x: Tensor, part: nn.Module | Tensor) -> Tensor:
    y: Tensor = F.linear(x, part) if isinstance(part, Tensor) else part(x)
    return y
