"""Other weights for a while, in the user's module itself: its own are put aside in a file, and put back.

No copy: what hangs on the module but is no part of it, a function that has closed over it say, would read the old one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...problem import HubError
from .factory import theirs
from .inputs import Inputs
from .trace import Tensor, tensors

_LARGE = 1 << 23  # elements of all weights: with more, float64 would take too much memory
_PART = 1 << 20  # elements that are rounded at a time


@contextmanager
def redrawn(module: torch.nn.Module, inputs: Inputs, beside: Path) -> Iterator[torch.dtype]:
    """The module with weights drawn anew, in float64 if it runs so and is not large, else in float32: which is given.

    Matrices have a deviation of 2 / sqrt(fan in), tables and biases of 1 and 0.5, what was alike in all its items (the
    gains of norms) 0.5 to 1.5 of it. beside: the folder of the file. Raises HubError where it runs in neither.
    """
    every = [*module.parameters(), *module.buffers()]
    learned = [one.requires_grad for one in every]
    kept = [(one._buffers, dict(one._buffers)) for one in module.modules()]  # a run may put others in their place
    with TemporaryFile(dir=beside) as file:
        try:
            kinds = [_put_aside(file, one) for one in every]
        except (RuntimeError, NotImplementedError, TypeError) as wrong:  # on no device, packed, sparse
            raise HubError(theirs(wrong, "reading its weights")) from None
        try:
            large = sum(one.numel() for one in every) > _LARGE
            own = next((one.dtype for one in every if one.is_floating_point()), torch.float32)
            _draw(module, torch.float32 if large else torch.float64)
            with _Epsilon(own):
                yield _precise(module, inputs, large)
        finally:
            file.seek(0)
            for now, before in kept:
                now.clear()
                now.update(before)
            for one, (shape, dtype), asked in zip(every, kinds, learned, strict=True):
                one.requires_grad_(asked and one.is_floating_point())
                one.data = _put_back(file, shape, dtype).to(one.device)


class _Epsilon(TorchFunctionMode):
    """RMS norms without an epsilon take that of the type of numbers: here of the module's own, not of the run's."""

    def __init__(self, dtype: torch.dtype) -> None:
        start: Any = super().__init__
        start()
        self._eps = torch.finfo(dtype).eps

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.rms_norm and kwargs.get("eps", args[3] if len(args) > 3 else None) is None:
            return func(*args[:3], **{**kwargs, "eps": self._eps})
        return func(*args, **kwargs)


def _put_aside(file: IO[bytes], tensor: Tensor) -> tuple[torch.Size, torch.dtype]:
    """Written behind what the file has."""
    _bytes(tensor.detach().cpu().contiguous()).tofile(file)
    return tensor.shape, tensor.dtype


def _put_back(file: IO[bytes], shape: torch.Size, dtype: torch.dtype) -> Tensor:
    held = torch.empty(shape, dtype=dtype)
    view = _bytes(held)
    view[:] = np.fromfile(file, dtype=np.uint8, count=len(view))
    return held


def _bytes(tensor: Tensor) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    found: np.ndarray[tuple[int], np.dtype[np.uint8]] = tensor.reshape(-1).view(torch.uint8).numpy()
    return found


def _draw(module: torch.nn.Module, dtype: torch.dtype) -> None:
    """With the digits of float32: what theirs casts to that is as it was."""
    draw = torch.Generator().manual_seed(0)
    tables = {id(one.weight) for one in module.modules() if isinstance(one, torch.nn.Embedding)}
    for weight in module.parameters():
        if not weight.is_floating_point():
            continue
        shape, alike = weight.shape, _alike(weight)
        weight.data = torch.empty(0, dtype=dtype)  # its place is free before the next is taken
        new = torch.empty(shape, dtype=dtype)
        if len(shape) < 2:
            factor = 0.5
        else:
            plain = id(weight) in tables or min(shape[:-1]) == 1
            factor = 1.0 if plain else 2 / math.prod(shape[1:]) ** 0.5
        flat = new.view(-1)
        for part in (flat[at : at + _PART] for at in range(0, len(flat), _PART)):
            if alike:
                drawn = (torch.rand(part.shape, generator=draw, dtype=torch.float64) + 0.5) * alike
            else:
                drawn = torch.randn(part.shape, generator=draw, dtype=torch.float64) * factor
            part.copy_(drawn.float())
        weight.data = new
        weight.requires_grad_(True)


def _alike(weight: Tensor) -> float:
    """What all items of a vector are, if it is one number; else 0."""
    flat = weight.detach()
    is_one = weight.ndim == 1 and len(flat) > 0 and bool((flat == flat[0]).all())
    return float(flat[0]) if is_one else 0.0


def _precise(module: torch.nn.Module, inputs: Inputs, large: bool) -> torch.dtype:
    """In float64, if it runs so and is not large, else in float32. Raises HubError where it runs in neither."""
    if not large:
        try:
            with torch.no_grad():
                found = tensors(inputs.call(module.double(), torch.float64))
            if found and all(bool(torch.isfinite(one).all()) for one in found[:1]):
                return torch.float64
        except Exception:
            pass
    try:
        with torch.no_grad():
            inputs.call(module.float(), torch.float32)
    except Exception as wrong:
        raise HubError(theirs(wrong, "with weights drawn anew")) from None
    return torch.float32
