"""The safetensors format, read and written (https://huggingface.co/docs/safetensors).

Eight bytes with the length of a header in JSON, the header, the arrays one after the other.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from ..backends.load import WeightsError
from ..dsl.files import whole

Array = np.ndarray[Any, np.dtype[Any]]

BF16 = np.dtype([("bfloat16", "<u2")])
"""bfloat16, which NumPy has not: arrays of it can be sliced, reshaped and saved, but not reckoned with."""

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": BF16,
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("<i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors library
_INDEX = ".index.json"


class Weights(Mapping[str, Array]):
    """The arrays of a file by name, read-only and mapped into memory: the disk is read where an array is looked at.

    metadata: what the file says of itself.
    exact:    whether bfloat16 stays as it is (`BF16`).

    Otherwise bfloat16 becomes float32, without loss, each time that an array is taken.
    """

    def __init__(self, arrays: Mapping[str, Array], metadata: Mapping[str, str], exact: bool) -> None:
        self._arrays = dict(arrays)
        self.exact = exact
        self.metadata = dict(metadata)

    def __getitem__(self, name: str) -> Array:
        array = self._arrays[name]
        return array if self.exact or array.dtype != BF16 else widened(array)

    def exactly(self) -> Weights:
        """The same, with bfloat16 as it is."""
        return Weights(self._arrays, self.metadata, True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self._arrays.values())
        return f"<attnc.Weights: {len(self)} arrays, {size:,} bytes>"


def widened(array: Array) -> Array:
    """bfloat16 (dtype `BF16`) as float32: the same numbers."""
    return (array["bfloat16"].astype(np.uint32) << 16).view(np.float32)


def load(path: str | os.PathLike[str], *, exact: bool = False) -> Weights:
    """The weights in a safetensors file, or in several, as their `....safetensors.index.json` lists them.

    exact: bfloat16 stays bfloat16 (dtype `BF16`), for passing on; without it, it becomes float32.

    Raises WeightsError, in one line, if the file is not what the format says: truncated, overlapping, of an unknown
    kind. It is checked as a whole before anything of it is given. OSError if it cannot be read.
    """
    file = Path(path)
    if file.name.endswith(_INDEX):
        return _load_parts(file, exact)
    arrays, metadata = _load_file(file)
    return Weights(arrays, metadata, exact)


def save(path: str | os.PathLike[str], weights: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file: all of it or nothing, through a file beside it that is then renamed.

    weights:  {name: array or torch tensor}; views and mapped arrays are copied one at a time.
    metadata: text about them.

    Raises WeightsError for an array of a kind that the format has not; OSError if the file cannot be written.
    """
    kinds: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
    for name, value in weights.items():
        array = plain(value)
        if array.dtype.newbyteorder("<") not in _NAMES:
            raise WeightsError(f"cannot save {_shown(name)}: safetensors has no {array.dtype}")
        kinds[name] = (array.dtype.newbyteorder("<"), array.shape)
    order = sorted(kinds, key=lambda name: (-kinds[name][0].itemsize, name))  # as the library does: aligned
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name in order:
        dtype, shape = kinds[name]
        end = at + dtype.itemsize * _count(shape)
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)

    target = Path(path).resolve()
    if not target.parent.is_dir():  # or it is the file that is said not to be there
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    with whole(path) as beside, open(beside, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            _write(out, plain(weights[name]), kinds[name][0])
        out.flush()
        os.fsync(out.fileno())


def _write(out: BinaryIO, array: Array, dtype: np.dtype[Any]) -> None:
    whole = np.ascontiguousarray(array).astype(dtype, copy=False)
    if whole.size:
        out.write(whole.reshape(-1).view(np.uint8).data)


def plain(value: Any) -> Array:
    """An array or a torch tensor as an array, without a copy where it can be; torch's bfloat16 keeps its two bytes."""
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu()
        if tensor.dtype == torch.bfloat16:
            halves: Array = tensor.contiguous().view(torch.int16).numpy()
            return halves.view(BF16)
        made: Array = tensor.numpy()
        return made
    return np.asarray(value)


_Broken = Callable[[str], NoReturn]
"""Raises WeightsError with the file's name and why."""


# -- reading -------------------------------------------------------------------------------------------------------


def _load_parts(index: Path, exact: bool) -> Weights:
    """The files that an index lists: {"weight_map": {name: file beside the index}}."""

    def broken(why: str) -> NoReturn:
        raise WeightsError(f"{index} is not a readable index of safetensors: {why}")

    try:
        listed = json.loads(index.read_bytes())["weight_map"].items()
        parts = {name: str(part) for name, part in listed}
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
        broken("it has no weight_map of names to files")
    for part in parts.values():
        if not part or part != Path(part).name or not part.isprintable():
            broken(f"{_shown(part)} is not beside it")
    files = {part: _load_file(index.with_name(part))[0] for part in dict.fromkeys(parts.values())}
    for name, part in parts.items():
        if name not in files[part]:
            broken(f"{_shown(name)} is not in {part}")
    return Weights({name: files[part][name] for name, part in parts.items()}, {}, exact)


def _load_file(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    def broken(why: str) -> NoReturn:
        raise WeightsError(f"{path} is not a readable safetensors file: {why}")

    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            broken(f"it has {size} bytes, too few for a header")
        (length,) = struct.unpack("<Q", file.read(8))
        if length > min(_LONGEST_HEADER, size - 8):
            broken(f"its header would have {length:,} bytes, but the file has {size:,}")
        header = _header(file.read(length), broken)
        whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)[8 + length :]

    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        broken("its metadata are not text")
    arrays: dict[str, Array] = {}
    spans: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        dtype, shape, start, end = _entry(name, entry, broken)
        if end > whole.size:
            broken(f"{_shown(name)} ends at byte {end:,} of {whole.size:,}: is it truncated?")
        if end - start != dtype.itemsize * _count(shape):
            broken(f"{_shown(name)} has {end - start:,} bytes, but its shape needs {dtype.itemsize * _count(shape):,}")
        spans.append((start, end, name))
        try:
            arrays[name] = whole[start:end].view(dtype).reshape(shape)
        except ValueError:  # no bytes, but an extent beyond NumPy's
            broken(f"{_shown(name)} has no proper shape")
    at = 0
    for start, end, name in sorted(spans):
        if start != at:
            broken(f"{_shown(name)} begins at byte {start:,}, but what stands before it ends at {at:,}")
        at = end
    if at != whole.size:
        broken(f"{whole.size - at:,} bytes at its end belong to no array")
    return arrays, metadata


def _header(text: bytes, broken: _Broken) -> dict[str, Any]:
    header: Any

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            broken("a name stands twice in its header")
        return found

    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=once)
    except WeightsError:
        raise
    except (ValueError, RecursionError):
        broken("its header is not JSON")
    if not isinstance(header, dict):
        broken("its header is not a JSON object")
    return header


def _entry(name: str, entry: Any, broken: _Broken) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """One entry of the header: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}."""
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        broken(f"{_shown(name)} lacks its dtype, shape or data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in _DTYPES:
        broken(f"{_shown(name)} is of the kind {_shown(kind)}, which is not supported")
    if not isinstance(shape, list) or len(shape) > 32 or not all(_whole(extent) for extent in shape):
        broken(f"{_shown(name)} has no proper shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_whole(offset) for offset in offsets):
        broken(f"{_shown(name)} has no proper data_offsets")
    if offsets[0] > offsets[1]:
        broken(f"{_shown(name)} ends before it begins")
    return _DTYPES[kind], tuple(shape), offsets[0], offsets[1]


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**63


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _shown(name: Any) -> str:
    """A name from a file, fit for one line of a terminal."""
    text = ascii(name)
    return text if len(text) <= 100 else f"{text[:97]}..."
