"""Weights in memory: files mapped into it, arrays and tensors that share it, arrays with memory of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

Array = np.ndarray[Any, np.dtype[Any]]


class MappedFile(np.memmap[Any, np.dtype[np.uint8]]):
    """The bytes of a file, mapped, to read alone: the disk is read where they are looked at.

    Raises OSError if the file cannot be opened, ValueError if it is empty.
    """

    path: Path
    stamp: object

    def __new__(cls, path: str | os.PathLike[str]) -> MappedFile:
        made = super().__new__(cls, os.fspath(path), np.uint8, "r")
        assert isinstance(made, MappedFile)
        made.path = Path(path).absolute()
        made.stamp = _stamp(made.path)
        return made


def _stamp(path: Path) -> object:
    """What is another when the file is another."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


Mappings = dict[object, Array]
"""Mappings of whole files, to share among the weights of one model: each keeps its file open."""


def mapped_anew(array: Array, mappings: Mappings | None = None) -> Array | None:
    """The numbers of a view into a `MappedFile`, in another mapping: to write in, or to forget.

    mappings: where it is looked up, or added; without them it is the array's alone, and what is read through it takes
              memory only as long as it is there.

    None for an array that lies elsewhere, and if the file is no longer what it was.
    """
    whole: Any = array
    while isinstance(whole, np.ndarray) and not (isinstance(whole, MappedFile) and hasattr(whole, "stamp")):
        whole = whole.base
    if not isinstance(whole, MappedFile) or array.size == 0:
        return None
    low, high = np.lib.array_utils.byte_bounds(array)
    start = low - _address(whole)
    try:
        if mappings is None:
            again: Array = np.memmap(whole.path, np.uint8, "c", offset=start, shape=(high - low,))
            start = 0
        else:
            if whole.stamp not in mappings:
                mappings[whole.stamp] = np.memmap(whole.path, np.uint8, "c")
            again = mappings[whole.stamp]
    except (OSError, ValueError):  # it is gone, or shorter
        return None
    if whole.stamp is None or _stamp(whole.path) != whole.stamp:
        return None
    return np.ndarray(array.shape, array.dtype, again, start + _address(array) - low, array.strides)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def as_array(value: Any) -> Array:
    """An array, a torch tensor or nested numbers as an array, without a copy where it can be.

    torch's bfloat16 and its kinds of 8 bits are those of ml_dtypes. Raises TypeError, ValueError or RuntimeError for
    what cannot be an array: a tensor that is sparse, or on the device "meta".
    """
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return np.asarray(value)
    tensor = value.detach().cpu()
    name = str(tensor.dtype).removeprefix("torch.")
    found: Array
    if tensor.is_floating_point() and not hasattr(np, name):
        import ml_dtypes

        if not hasattr(ml_dtypes, name):
            raise TypeError(f"NumPy has no {name}")
        bits = torch.uint8 if tensor.itemsize == 1 else torch.int16
        found = tensor.view(bits).numpy().view(getattr(ml_dtypes, name))
    else:
        found = tensor.resolve_conj().resolve_neg().numpy()
    return found


def as_tensor(array: Array, mappings: Mappings | None = None) -> tuple[torch.Tensor, bool]:
    """An array as a tensor in one piece, and whether its memory is the tensor's alone; else it is the array's.

    A type that torch has not becomes one that holds it, or float64. mappings: see `mapped_anew`.
    """
    import torch

    dtype = array.dtype.newbyteorder("=")
    if dtype == np.longdouble:
        dtype = np.dtype(np.float64)
    elif dtype.kind == "V" and dtype.name != "bfloat16":  # of 8 bits and fewer
        dtype = np.dtype(np.float32)
    stays = dtype == array.dtype and array.flags.c_contiguous and array.flags.aligned
    mapping = mapped_anew(array, mappings if stays else None)
    laid = np.require(array if mapping is None else mapping, dtype, ["C", "W", "A"])
    own = mapping is not None or not np.may_share_memory(laid, array)
    return torch.from_numpy(laid.view(np.int16)).view(torch.bfloat16) if dtype.kind == "V" else torch.from_numpy(
        laid
    ), own
